#!/usr/bin/env bash
# Whole networks on a GPU as a user runs them, alone and on two ranks of which
# one or both have a GPU: byte for byte what one rank of the CPU gives.
#   test_gpu_models.sh MODEL...    fashion_vit, resnet56, resnet50
. "$ISO_SOURCE_DIR/tests/support/lib.sh"

if ! nvidia-smi -L >/dev/null 2>&1; then
    echo "skipped: no GPU"
    exit 77
fi

# import MODEL: net.h5 and x.npy, some samples of its input.
import() {
    case $1 in
    fashion_*)
        need "$data/$1.onnx"
        $ISOTOME import "$data/$1.onnx" -o net.h5 --force --scale 255 \
            --mean 0.286 --std 0.353 >/dev/null
        $NPY_TOOL head "$data/images_u8.npy" 33 x.npy
        ;;
    resnet50)
        need "$shared/light/light_resnet50.onnx"
        $ISOTOME import "$shared/light/light_resnet50.onnx" -o net.h5 --force \
            --weights-seed 1 --free-batch --take r174 >/dev/null
        $NPY_TOOL random x.npy 7 3 3 224 224
        ;;
    *)
        need "$shared/cifar10/$1_cifar10.onnx"
        $ISOTOME import "$shared/cifar10/$1_cifar10.onnx" -o net.h5 --force \
            >/dev/null
        $NPY_TOOL random x.npy 7 9 3 32 32
        ;;
    esac
}

# run OUT [OPTION...]
run() {
    local out=$1
    shift
    on 1 "$ISOTOME" run net.h5 -i x.npy -o "$out" -q --force "$@"
}

for model in "$@"; do
    import "$model"
    run cpu.npy
    run y.npy --place 'cuda|cpu' --report report.json
    same cpu.npy y.npy
    grep '"device"' report.json | head -1
    run y.npy --place 'cuda|cpu' --micro-batch 2
    same cpu.npy y.npy
    run y.npy --place '@conv=cuda|cpu,*=cpu'
    same cpu.npy y.npy
    # One rank has the GPU, the other has none: in a pipeline and as workers.
    for grid in 1,1 2; do
        "$MPIEXEC" "${mpi_options[@]}" -n 1 "$ISOTOME" run net.h5 -i x.npy \
            -o y.npy -q --force --grid $grid --place cpu : \
            -n 1 "$ISOTOME" run net.h5 -i x.npy -o y.npy -q --force \
            --grid $grid --place 'cuda|cpu'
        same cpu.npy y.npy
    done
    # Both share it.
    on 2 "$ISOTOME" run net.h5 -i x.npy -o y.npy -q --force --workers 2 \
        --place 'cuda|cpu'
    same cpu.npy y.npy
    on 1 "$ISOTOME" verify net.h5 -i x.npy --random 3 --device 'cuda|cpu' -q
    echo "$model: equal"
done
