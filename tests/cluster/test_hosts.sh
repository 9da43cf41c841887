#!/usr/bin/env bash
# Four hosts, 1 Gbit/s and 50 us between them: every model has the bytes of one
# rank, with a rank on each host and with stages of two workers.
. "$ISO_SOURCE_DIR/tests/cluster/cluster.sh"

need "$shared/fashion" "$shared/cifar10" "$shared/light/light_resnet50.onnx"
hosts_up 4 50 1000

fashion=(--scale 255 --mean 0.286 --std 0.353)
cifar=(--scale 255 --mean '.485,.456,.406' --std '.229,.224,.225')
$NPY_TOOL head "$shared/fashion/images_u8.npy" 130 fashion.npy
$NPY_TOOL head "$shared/cifar10/images_u8.npy" 66 cifar.npy
$NPY_TOOL random imagenet.npy 8 4 3 224 224

# everywhere NAME INPUT ONNX [OPTION-OF-IMPORT...]
everywhere() {
    local name=$1 input=$2 onnx=$3
    shift 3
    $ISOTOME import "$onnx" -o net.h5 --force "$@" >/dev/null
    on 1 "$ISOTOME" run net.h5 -i "$input" -o one.npy -q --force
    across 4 --map-by node "$ISOTOME" run net.h5 -i "$input" -o four.npy --force \
        --report r.json -q
    same one.npy four.npy
    [ "$(sed -n 's/^ *"host": "\(.*\)",$/\1/p' r.json | xargs)" = "h1 h2 h3 h4" ] ||
        fail "$name: not on four hosts: $(cat r.json)"
    across 8 "$ISOTOME" run net.h5 -i "$input" -o eight.npy --force -q --workers 2 \
        --micro-batch 7
    same one.npy eight.npy
    echo "$name: $(sed -n 's/^ *"seconds": //p' r.json) s"
}
everywhere fashion_cnn fashion.npy "$shared/fashion/fashion_cnn.onnx" "${fashion[@]}"
everywhere fashion_vit fashion.npy "$shared/fashion/fashion_vit.onnx" "${fashion[@]}"
everywhere resnet20 cifar.npy "$shared/cifar10/resnet20_cifar10.onnx" "${cifar[@]}"
everywhere resnet56 cifar.npy "$shared/cifar10/resnet56_cifar10.onnx" "${cifar[@]}"
everywhere resnet50 imagenet.npy "$shared/light/light_resnet50.onnx" \
    --weights-seed 1 --free-batch --take r174
