#!/usr/bin/env bash
# Ranks that were told different things refuse to run: exit code 3, one line
# with both values and the ranks and hosts that hold them, no output.
. "$ISO_SOURCE_DIR/tests/support/lib.sh"

norm=(--scale 255 --mean 0.286 --std 0.353)
$ISOTOME import "$data/fashion_cnn.onnx" -o net.h5 "${norm[@]}" >/dev/null
$ISOTOME import "$data/fashion_cnn.onnx" -o other.h5 "${norm[@]}" \
    --weights-seed 1 >/dev/null
$ISOTOME import "$data/fashion_vit.onnx" -o vit.h5 "${norm[@]}" >/dev/null
$NPY_TOOL head "$data/images_u8.npy" 10 x.npy
mkdir out
common=(-i x.npy -o out/y.npy)
host=$(hostname)

# two WORD... : WORD...: rank 0 is told the first words, ranks 1 and 2 the second.
two() {
    local first=() second=()
    while [ "$1" != : ]; do first+=("$1"); shift; done
    shift
    second=("$@")
    "$MPIEXEC" "${mpi_options[@]}" -n 1 "$ISOTOME" run "${first[@]}" \
        "${common[@]}" : -n 2 "$ISOTOME" run "${second[@]}" "${common[@]}"
}

layers=$($ISOTOME inspect net.h5 | awk '$1 == "layers" {print $2}')
expect 3 "layer split.*'1,1,$((layers - 2))'.*rank 0 \($host\).*'1,2,$((layers - 3))'.*rank 1-2 \($host\)" \
    two net.h5 --split 1,1,$((layers - 2)) : net.h5 --split 1,2,$((layers - 3))
expect 3 "graph.*net.h5.*rank 0 \($host\).*vit.h5.*rank 1-2 \($host\)" two net.h5 : vit.h5
expect 3 "weights.*net.h5.*rank 0 \($host\).*other.h5.*rank 1-2 \($host\)" two net.h5 : other.h5
expect 3 "plan.*micro-batch 4.*rank 0 \($host\).*micro-batch 5.*rank 1-2 \($host\)" \
    two net.h5 --micro-batch 4 : net.h5 --micro-batch 5

$ISOTOME plan net.h5 -n 3 --micro-batch 4 -o a.json >/dev/null
$ISOTOME plan net.h5 -n 3 --micro-batch 6 -o b.json >/dev/null
expect 3 "plan.*rank 0 \($host\).*rank 1-2 \($host\)" \
    two net.h5 --plan a.json : net.h5 --plan b.json
# A split that only one rank can plan with is still shown as a difference.
expect 3 "layer split" two net.h5 --split 1,1,1000 : net.h5
# A machine file that only one rank was given.
expect 3 "layer split.*none: .*none.json.*rank 0 \($host\)" \
    two net.h5 --machine none.json : net.h5
# A plan of another model.
$ISOTOME plan vit.h5 -n 1 -o vit.json >/dev/null
expect 3 "vit.json.*made for a graph with digest [0-9a-f]+, but the model.s is [0-9a-f]+" on 1 "$ISOTOME" run net.h5 --plan vit.json "${common[@]}"
# Inputs: also the ranks that do not need them must have been told the same.
with_input() {
    "$MPIEXEC" "${mpi_options[@]}" \
        -n 1 "$ISOTOME" run net.h5 -i "$1" -o out/y.npy : \
        -n 2 "$ISOTOME" run net.h5 -i x.npy -o out/y.npy
}
$NPY_TOOL head "$data/images_u8.npy" 11 longer.npy
cp x.npy changed.npy
printf '\x55' | dd of=changed.npy bs=1 seek=$(($(stat -c %s x.npy) - 100)) conv=notrunc status=none
for input in longer changed; do
    expect 3 "the inputs.* samples, $input.npy'.*rank 0 \($host\).*'10 samples, x.npy'.*rank 1-2 \($host\)" \
        with_input $input.npy
done
nothing_left out
