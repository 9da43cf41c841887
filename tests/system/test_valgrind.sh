#!/usr/bin/env bash
# Two ranks under valgrind's memcheck: no error, no memory lost, and the bytes
# of a run without it. valgrind knows no AVX-512: the kernels are those of AVX2.
. "$ISO_SOURCE_DIR/tests/support/lib.sh"

command -v valgrind >/dev/null || {
    echo "skipped: no valgrind"
    exit 77
}
export ISOTOME_KERNELS=haswell
$ISOTOME import "$data/fashion_cnn.onnx" -o net.h5 --scale 255 --mean 0.286 \
    --std 0.353 >/dev/null
$NPY_TOOL head "$data/images_u8.npy" 3 x.npy
on 1 "$ISOTOME" run net.h5 -q -i x.npy -o expected.npy 2>err.txt || {
    grep -q ISOTOME_KERNELS err.txt || fail "$(cat err.txt)"
    echo "skipped: no AVX2 here"
    exit 77
}

suppressions=(--suppressions="$ISO_SOURCE_DIR/tests/support/valgrind.supp")
own=/usr/share/openmpi/openmpi-valgrind.supp
[ ! -e $own ] || suppressions+=(--suppressions=$own)

# memcheck OPTION...: a run of two ranks.
memcheck() {
    on 2 valgrind -q --error-exitcode=99 --num-callers=30 --leak-check=full \
        --show-leak-kinds=definite --errors-for-leak-kinds=definite \
        --log-file="memcheck.%p.txt" "${suppressions[@]}" \
        "$ISOTOME" run net.h5 -q -i x.npy -o y.npy --force "$@" || {
        cat memcheck.*.txt >&2
        fail "valgrind: run $*"
    }
    [ "$(cat memcheck.*.txt | wc -c)" -eq 0 ] || fail "valgrind: $(cat memcheck.*.txt)"
    same expected.npy y.npy
}

memcheck --stages 2 -b 2
memcheck --workers 2 -b 2
