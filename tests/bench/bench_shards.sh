#!/usr/bin/env bash
# Images a second of ResNet-50 (seeded weights) in micro-batches of 16 on two
# workers that share every op, beside one rank; one thread and one core each.
# The runs are interleaved, the medians of 5 are printed, loading is not
# counted. The two outputs must be the same bytes. Not a test.
#   bench_shards.sh BUILD [SAMPLES]
#   bench_shards.sh BUILD --quick      a small network that the project ships,
#                                      planned with default figures
set -euo pipefail
source=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "${1:?the build folder}" && pwd)
shared=${ISO_SHARED_DATA:-$source/../shared/data}
isotome=$build/src/tools/isotome
npy_tool=$build/tests/npy_tool
. "$source/scripts/mpi_env.sh"
mpirun=${MPIEXEC:-mpirun}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

batch=16
if [ "${2:-}" = --quick ]; then
    samples=64
    runs=1
    calibrates=
    bound=("${mpi_options[@]}")
    "$isotome" import "$source/data/fashion_cnn.onnx" -o net.h5 --scale 255 \
        --mean 0.286 --std 0.353 >/dev/null
    "$npy_tool" head "$source/data/images_u8.npy" $samples x.npy
else
    samples=${2:-96}
    runs=5
    calibrates=yes
    bound=(--map-by core --bind-to core)
    onnx=$shared/light/light_resnet50.onnx
    if [ ! -e "$onnx" ]; then
        echo "skipped: no $onnx"
        exit 77
    fi
    # r174 is what the softmax at the end takes.
    "$isotome" import "$onnx" -o net.h5 --weights-seed 1 --free-batch \
        --take r174 >/dev/null
    "$npy_tool" random x.npy 7 "$samples" 3 224 224
fi

echo "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)," \
    "$(getconf _NPROCESSORS_ONLN) processors; $("$isotome" --version | head -n 1)"

# Figures for the cuts, and what the cores and their memory reach.
calibrate() { # RANKS
    "$mpirun" -n "$1" "${bound[@]}" "$isotome" calibrate -o "m$1.json" >"table$1.txt"
}
if [ "$calibrates" ]; then
    calibrate 1
    calibrate 2
    sed '/^$/q' table2.txt
fi

once() { # RANKS: seconds from the first micro-batch to the last
    "$mpirun" -n "$1" "${bound[@]}" "$isotome" run net.h5 -i x.npy \
        -o "y$1.npy" --workers "$1" --micro-batch $batch \
        ${calibrates:+--machine "m$1.json"} --report "r$1.json" --force -q
    sed -n 's/^  "seconds": \([^,]*\),*$/\1/p' "r$1.json" >>"seconds$1.txt"
}
planned() { # RANKS
    sed -n 's/^  "seconds_planned": \([^,]*\),*$/\1/p' "r$1.json"
}
median() { # FILE
    sort -g "$1" | awk '{v[NR] = $1} END {print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2}'
}
for ((run = 0; run < runs; run++)); do
    once 1
    once 2
done
cmp y1.npy y2.npy

one=$(median seconds1.txt)
two=$(median seconds2.txt)
awk -v n="$samples" -v batch=$batch -v runs=$runs -v one="$one" -v two="$two" \
    -v one_planned="$(planned 1)" -v two_planned="$(planned 2)" 'BEGIN {
    printf "%d samples in micro-batches of %d, medians of %d runs\n", n, batch, runs
    printf "1 worker   %8.2f samples/s (planned %8.2f)\n", n / one, n / one_planned
    printf "2 workers  %8.2f samples/s (planned %8.2f)\n", n / two, n / two_planned
    printf "speedup    %8.2f           (planned %8.2f)\n", one / two, one_planned / two_planned
}'
