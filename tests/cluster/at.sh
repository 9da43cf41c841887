#!/usr/bin/env bash
# at.sh N COMMAND...: the command on host N of the cluster in $ISO_CLUSTER, in
# this folder. MPI talks over the cable there.
set -euo pipefail
host=h$1
shift
exec nsenter --target "$(cat "$ISO_CLUSTER/$host.pid")" --net --uts --ipc --mount \
    --wdns="$PWD" -- env HOSTNAME="$host" TMPDIR="$ISO_CLUSTER/$host" \
    OMPI_MCA_btl_tcp_if_include=e0 OMPI_MCA_oob_tcp_if_include=e0 "$@"
