#!/usr/bin/env bash
# A full disk is known before the work is done, and leaves nothing behind.
. "$ISO_SOURCE_DIR/tests/support/lib.sh"

$ISOTOME import "$data/fashion_cnn.onnx" -o net.h5 --scale 255 --mean 0.286 \
    --std 0.353 >/dev/null
export ISOTOME
expect 1 "standard output" bash -c '"$ISOTOME" inspect net.h5 >/dev/full'
mkdir small
mount -t tmpfs -o size=64k none small 2>/dev/null || {
    echo "skipped: cannot mount a small file system here"
    exit 77
}
trap 'umount "$work/small"; rm -rf "$work"' EXIT

for place in small/y.npy small/y.h5:/logits; do
    expect 1 "small/y.*(No space|disk full)" on 2 "$ISOTOME" run net.h5 \
        -i "$data/images_u8.npy" -o $place
    nothing_left small
done
expect 1 "small/net.h5.*(No space|disk full)" "$ISOTOME" import \
    "$data/fashion_vit.onnx" -o small/net.h5
nothing_left small
