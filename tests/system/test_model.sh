#!/usr/bin/env bash
# One model end to end: the output bytes are the same for 1 to 4 ranks, both
# devices and every micro-batch; the logits are ONNX Runtime's to 1e-4; the
# number of right answers is the known one.
#   test_model.sh fashion_cnn|fashion_vit|resnet20|resnet56
. "$ISO_SOURCE_DIR/tests/support/lib.sh"

case $1 in
fashion_cnn) right='8979 of 10000' folder=$shared/fashion file=fashion_cnn ;;
fashion_vit) right='7859 of 10000' folder=$shared/fashion file=fashion_vit ;;
resnet20) right='822 of 1000' folder=$shared/cifar10 file=resnet20_cifar10 ;;
resnet56) right='847 of 1000' folder=$shared/cifar10 file=resnet56_cifar10 ;;
esac
case $folder in
*fashion) norm=(--scale 255 --mean 0.286 --std 0.353) ;;
*) norm=(--scale 255 --mean .485,.456,.406 --std .229,.224,.225) ;;
esac
onnx=$folder/$file.onnx
[ -e "$data/$file.onnx" ] && onnx=$data/$file.onnx
images=$folder/images_u8.npy
golden=$folder/$1_logits.npy
need "$onnx" "$images" "$golden" "$folder/labels_u8.npy"

$ISOTOME import "$onnx" -o net.h5 "${norm[@]}" >/dev/null

# 66 samples: 64 + 2, 9 x 7 + 3, and 66 micro-batches of one.
$NPY_TOOL head "$images" 66 some.npy
reference=
for ranks in 1 2 3 4; do
    for batch in 1 7 64; do
        out=$ranks-cpu-$batch.npy
        on $ranks "$ISOTOME" run net.h5 -i some.npy -o "$out" -q \
            --micro-batch $batch
        reference=${reference:-$out}
        same "$reference" "$out"
    done
done

# The definition is slow: nine samples.
$NPY_TOOL head some.npy 9 few.npy
$NPY_TOOL head "$reference" 9 few-reference.npy
for ranks in 1 2 3 4; do
    for batch in 1 7 64; do
        on $ranks "$ISOTOME" run net.h5 -i few.npy -o out.npy -q --force \
            --device ref --micro-batch $batch
        same few-reference.npy out.npy
    done
done

on 3 "$ISOTOME" run net.h5 -i "$images" -o all.npy -q
on 1 "$ISOTOME" run net.h5 -i "$images" -o all-h5.h5:/logits -q --threads 2
found=$($NPY_TOOL accuracy all.npy "$folder/labels_u8.npy")
[ "$found" = "$right" ] || fail "right answers: $found, expected $right"
$NPY_TOOL compare all.npy "$golden" 1e-4
$NPY_TOOL head all.npy 66 first.npy
same first.npy "$reference"
h5dump -d /logits -b LE -o all.bin all-h5.h5 >/dev/null
tail -c "$(stat -c %s all.bin)" all.npy | cmp - all.bin ||
    fail "the HDF5 output differs from the .npy output"
