#!/usr/bin/env bash
# Ranks on different kernel families in one run give the same bytes.
. "$ISO_SOURCE_DIR/tests/support/lib.sh"

can_run() {
    ISOTOME_KERNELS=$1 "$ISOTOME" run net.h5 -i x.npy -o "only-$1.npy" -q \
        2>/dev/null
}

for model in fashion_cnn fashion_vit; do
    $ISOTOME import "$data/$model.onnx" -o net.h5 --scale 255 --mean 0.286 \
        --std 0.353 --force >/dev/null
    $NPY_TOOL head "$data/images_u8.npy" 20 x.npy
    families=()
    rm -f only-*
    for family in scalar haswell zen zen2 zen3 skx; do
        if can_run $family; then families+=($family); fi
    done
    [ ${#families[@]} -ge 1 ] || fail "no kernel family runs here"
    for family in "${families[@]}"; do
        same only-scalar.npy only-$family.npy
    done
    last=${families[-1]}
    for family in "${families[@]}"; do
        "$MPIEXEC" "${mpi_options[@]}" \
            -n 1 -x ISOTOME_KERNELS=$family "$ISOTOME" run net.h5 -i x.npy -o mixed.npy -q --force : \
            -n 2 -x ISOTOME_KERNELS=$last "$ISOTOME" run net.h5 -i x.npy -o mixed.npy -q --force
        same only-scalar.npy mixed.npy
    done
    echo "$model: equal on ${families[*]} and mixed"
done
expect 2 "ISOTOME_KERNELS.*'magic'.*scalar" \
    env ISOTOME_KERNELS=magic "$ISOTOME" run net.h5 -i x.npy -o y.npy
