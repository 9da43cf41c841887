#!/usr/bin/env bash
# ResNet-50 with seeded weights: ONNX Runtime's logits to 1e-4 (recorded, see
# tests/golden), and the same bytes for any ranks, device and micro-batch.
. "$ISO_SOURCE_DIR/tests/support/lib.sh"

onnx=$shared/light/light_resnet50.onnx
need "$onnx"
# r174 is what the softmax at the end takes.
$ISOTOME import "$onnx" -o net.h5 --weights-seed 1 --free-batch --take r174 \
    >/dev/null
$NPY_TOOL random four.npy 7 4 3 224 224
on 1 "$ISOTOME" run net.h5 -i four.npy -o four-out.npy -q --threads 2
$NPY_TOOL compare four-out.npy "$ISO_SOURCE_DIR/tests/golden/resnet50_logits.npy" 1e-4

# any_way REFERENCE INPUT [OPTION...]: for any ranks and micro-batch the bytes
# of REFERENCE.
any_way() {
    local reference=$1 input=$2 ranks batch
    shift 2
    for ranks in 1 2 3 4; do
        for batch in 1 7 64; do
            on $ranks "$ISOTOME" run net.h5 -i "$input" -o out.npy -q --force \
                --micro-batch $batch "$@"
            same "$reference" out.npy
        done
    done
}

$NPY_TOOL random ten.npy 8 10 3 224 224
on 1 "$ISOTOME" run net.h5 -i ten.npy -o ten-out.npy -q --micro-batch 64
any_way ten-out.npy ten.npy

# The definition takes a second for an image: three of the ten.
$NPY_TOOL head ten.npy 3 three.npy
$NPY_TOOL head ten-out.npy 3 three-out.npy
any_way three-out.npy three.npy --device ref
