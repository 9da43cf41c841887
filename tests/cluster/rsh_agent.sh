#!/usr/bin/env bash
# rsh_agent.sh hN WORD...: the words as a line for the shell of host N. mpirun
# starts its daemons by it (plm_rsh_agent), so that hosts need no sshd.
set -euo pipefail
host=$1
shift
exec "$(dirname "$0")/at.sh" "${host#h}" /bin/sh -c "$*"
