#!/usr/bin/env bash
# Two hosts, one with the kernels of an old processor: calibrated, the balanced
# split gives it less to do than the even one and is predicted to be faster.
# The bytes are the same. What the two took is printed, and decides nothing.
. "$ISO_SOURCE_DIR/tests/cluster/cluster.sh"

need "$shared/cifar10"
hosts_up 2 50 1000

$ISOTOME import "$shared/cifar10/resnet20_cifar10.onnx" -o net.h5 --scale 255 \
    --mean .485,.456,.406 --std .229,.224,.225 >/dev/null
$NPY_TOOL head "$shared/cifar10/images_u8.npy" 300 x.npy
on 1 "$ISOTOME" run net.h5 -i x.npy -o one.npy -q

uneven() { # ARGUMENT...: isotome's, with a rank on each host
    across 1 --map-by node "$ISOTOME" "$@" : -n 1 -x ISOTOME_KERNELS=scalar "$ISOTOME" "$@"
}
uneven calibrate -o m.json -q
of() { # MEMBER FILE: of a plan or a report, of every part or rank
    sed -nE "s/^ *\"$1\": ([^,]*),?$/\1/p" "$2"
}
for split in even balanced; do
    $ISOTOME plan net.h5 -n 2 --machine m.json --split $split --samples 300 \
        -o $split.json >/dev/null
    uneven run net.h5 -i x.npy -o $split.npy -q --plan $split.json --report $split-report.json
    same one.npy $split.npy
    echo "$split: flops $(of flops $split.json | xargs), predicted $(
        of seconds $split.json
    ) s, took $(of seconds $split-report.json) s"
done
less() { # A B: as numbers
    awk -v a="$1" -v b="$2" 'BEGIN {exit !(a + 0 < b + 0)}'
}
less "$(of flops balanced.json | tail -1)" "$(of flops even.json | tail -1)" ||
    fail "the slow host has as much to do as in the even split"
less "$(of seconds balanced.json)" "$(of seconds even.json)" ||
    fail "balanced is not predicted to be faster"
