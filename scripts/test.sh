#!/usr/bin/env bash
# Sets up, builds and runs all tests and checks.
#   scripts/test.sh [PRESET]     dev (default: tests and house rules), asan
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-dev}

scripts/setup.sh
cmake --preset "$preset" >/dev/null
cmake --build --preset "$preset"
ctest --preset "$preset"
if [ "$preset" = dev ]; then
    scripts/check.sh "build/$preset"
fi
