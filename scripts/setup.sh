#!/usr/bin/env bash
# Installs what isotome needs to build, test and be checked. Safe to repeat:
# on Debian and its relatives it installs only what is missing; elsewhere it
# prints the list, and CMake will name what it does not find.
set -euo pipefail

build_packages=(
    gcc cmake ninja-build pkg-config     # compiler and build
    libopenmpi-dev openmpi-bin           # MPI
    libblis-dev                          # BLIS micro-kernels
    libhdf5-openmpi-dev                  # HDF5, parallel build
    libsleef-dev                         # exp, erf, tanh with fixed bits
    libjansson-dev libxxhash-dev         # JSON, digests
    libprotobuf-c-dev protobuf-c-compiler libonnx-dev # ONNX files
)
test_packages=(
    libcunit1-dev libonnx-testdata hdf5-tools man-db # tests
    valgrind                                         # tests/system
    clang libclang-rt-14-dev                         # scripts/fuzz.sh
    gnuplot-nox                                      # scripts/experiments
    libdnnl-dev                                      # a rival, in tests/bench
    slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge iproute2 # tests/cluster
    clang-format clang-tidy cppcheck                 # scripts/check.sh
)
packages=("${build_packages[@]}" "${test_packages[@]}")

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    echo "setup: no apt-get here; isotome needs the equivalents of these Debian packages:" >&2
    printf '  %s\n' "${packages[@]}" >&2
    exit 0
fi

missing=()
for package in "${packages[@]}"; do
    if ! dpkg-query -W -f='${Status}' "$package" 2>/dev/null |
        grep -q 'install ok installed'; then
        missing+=("$package")
    fi
done
if [ ${#missing[@]} -eq 0 ]; then
    exit 0
fi

echo "setup: installing ${missing[*]}" >&2
as_root=()
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "setup: only root can install packages; ask for those above" >&2
        exit 1
    fi
    as_root=(sudo)
fi
"${as_root[@]}" apt-get -q update >&2
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get -q install -y --no-install-recommends "${missing[@]}" >&2
