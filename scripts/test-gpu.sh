#!/usr/bin/env bash
# Builds isotome with CUDA on a machine with a GPU, and runs what needs one.
#
#   scripts/test-gpu.sh --pack DIR      where isotome builds: collect libraries
#                                       and headers that the other one may lack
#   scripts/test-gpu.sh [OPTION...]     on the machine with the GPU
#     --deps DIR     that folder; without it all are installed here
#     --build DIR    build folder (build/gpu)
#     --data DIR     the models of the tests; without them those are skipped
#     --mpi DIR      an Open MPI that is installed, or was moved, there, with
#                    CUDA say; without it the one of the system
#     --tests REGEX  only tests of such names
#     --bench        measure, too: tests/bench/bench_cuda, and ResNet-50 beside
#                    PyTorch where python3 has it
#
# The GPU machine has a C compiler, CMake, Ninja, nvcc, Open MPI and HDF5.
#
# The Open MPI of most systems knows no CUDA; messages then go through the
# host's memory. One that does is made from the sources of Open MPI 4.1 by
#     ./configure --prefix=DIR --with-cuda=/usr/local/cuda && make install
# and a build folder serves one MPI.
set -euo pipefail
source=$(cd "$(dirname "$0")/.." && pwd)

usage() {
    sed -n '/^#   scripts/,/^#     --bench/s/^# \{0,1\}//p' "$0" >&2
    echo "test-gpu: $*" >&2
    exit 2
}

pack='' deps='' build=$source/build/gpu data='' bench='' mpi='' tests=.
while [ $# -gt 0 ]; do
    case $1 in
    --pack | --deps | --build | --data | --mpi | --tests)
        [ $# -ge 2 ] || usage "$1 without a value"
        declare "${1#--}=$2"
        shift
        ;;
    --bench) bench=yes ;;
    *) usage "there is no '$1'" ;;
    esac
    shift
done

# ---- Collecting ----

modules=(jansson libxxhash libprotobuf-c cunit)
libraries=(libblis sleef jansson xxhash protobuf-c cunit protobuf protoc)

# copy_libraries: each with the names that point to it.
copy_libraries() {
    local name file
    for name in "${libraries[@]}"; do
        name=lib${name#lib}
        file=$(ldconfig -p | awk -v n="$name.so" '
            index($1, n) == 1 && /x86-64|AArch64/ {print $NF; exit}')
        [ -n "$file" ] || { echo "test-gpu: no $name here" >&2; exit 1; }
        file=$(realpath "$file")
        cp "$file" "$pack/lib/"
        ln -sf "${file##*/}" "$pack/lib/$name.so"
        soname=$(objdump -p "$file" | awk '$1 == "SONAME" {print $2}')
        [ "$soname" = "${file##*/}" ] || ln -sf "${file##*/}" "$pack/lib/$soname"
    done
}

copy_headers() {
    local header
    for header in sleef.h jansson.h jansson_config.h xxhash.h xxh3.h \
        xxh_x86dispatch.h protobuf-c CUnit blis; do
        for folder in /usr/include "/usr/include/$(gcc -print-multiarch)" \
            "/usr/include/$(gcc -print-multiarch)/blis"; do
            [ ! -e "$folder/$header" ] ||
                cp -rL "$folder/$header" "$pack/include/"
        done
    done
    cp "$(find /usr/include -name blis.h | head -1)" "$pack/include/"
    mkdir -p "$pack/include/onnx"
    cp /usr/include/onnx/*.proto "$pack/include/onnx/"
}

collect() {
    mkdir -p "$pack"/{lib,include,bin,pkgconfig}
    copy_libraries
    copy_headers
    cp "$(command -v protoc-c)" "$pack/bin/"
    for module in "${modules[@]}"; do
        sed 's|^prefix=.*|prefix=${pcfiledir}/..|; s|^libdir=.*|libdir=${prefix}/lib|
             s|^includedir=.*|includedir=${prefix}/include|' \
            "$(pkg-config --variable=pcfiledir "$module")/$module.pc" \
            >"$pack/pkgconfig/$module.pc"
    done
}

if [ -n "$pack" ]; then
    collect
    du -sh "$pack"
    exit
fi

# ---- Building and testing ----

command -v nvcc >/dev/null || PATH=$PATH:/usr/local/cuda/bin
command -v nvcc >/dev/null || { echo "test-gpu: no nvcc" >&2; exit 77; }
nvidia-smi -L || { echo "test-gpu: no GPU" >&2; exit 77; }
options=(-DISOTOME_CUDA=ON -DCMAKE_BUILD_TYPE=Release)
if [ -n "$deps" ]; then
    deps=$(cd "$deps" && pwd)
    export PKG_CONFIG_PATH=$deps/pkgconfig
    export LD_LIBRARY_PATH=$deps/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    export PATH=$deps/bin:$PATH
    options+=("-DCMAKE_PREFIX_PATH=$deps")
fi
if [ -n "$mpi" ]; then
    mpi=$(cd "$mpi" && pwd)
    export OPAL_PREFIX=$mpi PATH=$mpi/bin:$PATH
    export LD_LIBRARY_PATH=$mpi/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    options+=("-DMPI_C_COMPILER=$mpi/bin/mpicc"
        "-DMPIEXEC_EXECUTABLE=$mpi/bin/mpiexec")
    ompi_info --parsable --all |
        sed -n 's/^mca:mpi:base:param:\(mpi_built_with_cuda_support\):value:/\1: /p'
fi
[ -z "$data" ] || options+=("-DISO_SHARED_DATA=$(cd "$data" && pwd)")
cmake -S "$source" -B "$build" -G Ninja "${options[@]}"
cmake --build "$build"
ctest --test-dir "$build" -L 'gpu|device' -R "$tests" --output-on-failure
[ -n "$bench" ] || exit 0
"$build/tests/bench/bench_cuda"

# A whole network, beside PyTorch where that is there.
model=$build/bench_resnet50
"$build/tests/bench/make_onnx" resnet50 "$model.onnx"
"$build/src/tools/isotome" import "$model.onnx" -o "$model.h5" \
    --weights-seed 1 --force >/dev/null
"$build/src/tools/isotome" bench "$model.h5" --device 'cuda|cpu' \
    --micro-batch 1,64
if python3 -c 'import torch' 2>/dev/null; then
    python3 "$source/tests/bench/torch_bench.py" 1 64
fi
