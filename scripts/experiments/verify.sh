#!/usr/bin/env bash
# Random plans (grids, splits, cuts, micro-batches, threads) of four networks
# on 1 to 8 ranks: every value of every plan against a run on one rank, bit by
# bit. Minutes on two cores.
#   verify.sh BUILD [PLANS]     BUILD: a build folder; 200 plans each
set -euo pipefail
source=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "${1:?the build folder}" && pwd)
plans=${2:-200}
shared=${ISO_SHARED_DATA:-$source/../shared/data}
isotome=$build/src/tools/isotome
. "$source/scripts/mpi_env.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# verify ONNX SAMPLES OPTION...: import with the options, then verify.
verify() {
    local onnx=$1 samples=$2
    shift 2
    if [ ! -e "$onnx" ]; then
        echo "skipped: no $onnx"
        return
    fi
    "$isotome" import "$onnx" -o net.h5 --force "$@" >/dev/null
    echo "$(basename "$onnx" .onnx):"
    "${MPIEXEC:-mpirun}" -n 8 "${mpi_options[@]}" "$isotome" verify net.h5 \
        --random "$plans" --samples "$samples" -q
}

for model in fashion_cnn fashion_vit; do
    verify "$source/data/$model.onnx" 3 --scale 255 --mean 0.286 --std 0.353
done
verify "$shared/cifar10/resnet56_cifar10.onnx" 3 --scale 255 \
    --mean .485,.456,.406 --std .229,.224,.225
# r174 is what the softmax at the end takes.
verify "$shared/light/light_resnet50.onnx" 2 --weights-seed 1 --free-batch \
    --take r174
