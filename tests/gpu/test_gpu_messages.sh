#!/usr/bin/env bash
# Boundary tensors between two ranks of which one or both have a GPU (the same
# one, where there is one only): byte for byte what one rank of the CPU gives,
# whether MPI takes them from the GPU's memory or they go through the host's.
# The report says which; with an MPI without CUDA it is always the host's.
#   test_gpu_messages.sh MODEL...    of the source tree
. "$ISO_SOURCE_DIR/tests/support/lib.sh"

if ! nvidia-smi -L >/dev/null 2>&1; then
    echo "skipped: no GPU"
    exit 77
fi

# Settings of MPI: as it is by itself; by the host's memory, inside of MPI; switched off.
settings=(btl_smcuda_use_cuda_ipc=1 btl_smcuda_use_cuda_ipc=0 opal_cuda_support=0)

is_aware=no
if "$(dirname "$(command -v "$MPIEXEC")")/ompi_info" --parsable --all |
    grep -q '^mca:mpi:base:param:mpi_built_with_cuda_support:value:true'; then
    is_aware=yes
fi
echo "MPI takes a GPU's memory: $is_aware"

# ends SETTING RANK_0 RANK_1 [OPTION...]: places of the two ranks. A rank with a
# GPU, and none other, has its tensors there when MPI can and may.
ends() {
    local setting=$1 run=("$ISOTOME" run net.h5 -i x.npy -o y.npy --force
        --report report.json "${@:4}" --place)
    env "OMPI_MCA_${setting%=*}=${setting#*=}" \
        "$MPIEXEC" "${mpi_options[@]}" -n 1 "${run[@]}" "$2" : \
        -n 1 "${run[@]}" "$3" >table.txt 2>err.txt ||
        { cat err.txt >&2; fail "$*"; }
    same cpu.npy y.npy
    expected='' place=''
    for place in "$2" "$3"; do
        if [ $is_aware = yes ] && [ "$setting" != opal_cuda_support=0 ] &&
            [[ $place = cuda* ]]; then
            expected+='some '
        else
            expected+='none '
        fi
    done
    found=$(grep -o '"direct_bytes": [0-9]*' report.json |
        awk '{ printf "%s ", ($2 > 0 ? "some" : "none") }')
    [ "$found" = "$expected" ] ||
        fail "direct bytes: $found, expected $expected: $*"
    echo "  $*: equal, direct: $found, $(tail -n 1 table.txt)"
}

for model in "$@"; do
    "$ISOTOME" import "$data/$model.onnx" -o net.h5 --force --scale 255 \
        --mean 0.286 --std 0.353 >/dev/null
    "$NPY_TOOL" head "$data/images_u8.npy" 517 x.npy
    on 1 "$ISOTOME" run net.h5 -i x.npy -o cpu.npy -q --force
    echo "$model"
    for setting in "${settings[@]}"; do
        # From tensors that fit in MPI's first message to some that do not.
        for size in 1 16 128; do
            ends "$setting" cpu 'cuda|cpu' --micro-batch $size
            ends "$setting" 'cuda|cpu' cpu --micro-batch $size
            ends "$setting" 'cuda|cpu' 'cuda|cpu' --micro-batch $size
        done
        # Several segments, and several ranks on one GPU.
        env "OMPI_MCA_${setting%=*}=${setting#*=}" "$MPIEXEC" \
            "${mpi_options[@]}" -n 4 "$ISOTOME" run net.h5 -i x.npy -o y.npy \
            -q --force --micro-batch 16 --place '@relu=cpu,*=cuda|cpu'
        same cpu.npy y.npy
    done
    on 2 "$ISOTOME" verify net.h5 --random 2 --samples 3 -q \
        --device 'cuda|cpu'
done
