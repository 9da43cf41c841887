#!/usr/bin/env bash
# The main job on real data: two networks from ONNX files, 10,000 images, on
# 1 rank and on 4, the right answers counted and the outputs compared.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh
cmake --preset release >/dev/null
cmake --build --preset release --target isotome npy_tool
. scripts/mpi_env.sh

isotome=build/release/src/tools/isotome
npy_tool=build/release/tests/npy_tool
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

show() {
    printf '\n$ %s\n' "$*"
    "$@"
}

for model in fashion_cnn fashion_vit; do
    show $isotome import "data/$model.onnx" -o "$work/$model.h5" \
        --scale 255 --mean 0.286 --std 0.353
    show $isotome plan "$work/$model.h5" -n 4
    for ranks in 1 4; do
        show mpirun -n $ranks "${mpi_options[@]}" \
            $isotome run "$work/$model.h5" -i data/images_u8.npy \
            -o "$work/$model-$ranks.npy"
    done
    printf '\n%s: right answers ' "$model"
    $npy_tool accuracy "$work/$model-1.npy" data/labels_u8.npy
    if cmp "$work/$model-1.npy" "$work/$model-4.npy"; then
        echo "$model: the output bytes of 1 and 4 ranks are equal"
    else
        echo "$model: THE OUTPUT BYTES DIFFER" >&2
        exit 1
    fi
done
