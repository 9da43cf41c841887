#!/usr/bin/env bash
# What goes wrong: one clear line, the right exit code on all ranks, nothing
# under the output's name, no hang.
. "$ISO_SOURCE_DIR/tests/support/lib.sh"

norm=(--scale 255 --mean 0.286 --std 0.353)
$ISOTOME import "$data/fashion_cnn.onnx" -o net.h5 "${norm[@]}" >/dev/null
$NPY_TOOL head "$data/images_u8.npy" 20 x.npy
mkdir out

try() { # CODE PATTERN MODEL INPUT [OPTION...]
    local code=$1 pattern=$2 model=$3 input=$4 ranks
    shift 4
    for ranks in 1 3; do
        expect "$code" "$pattern" on $ranks "$ISOTOME" run "$model" \
            -i "$input" -o out/y.npy "$@"
        nothing_left out
    done
}

# Model files.
: >empty.h5
head -c 20000 net.h5 >truncated.h5
echo 'not HDF5 at all' >text.h5
try 4 "none.h5.*No such file" none.h5 x.npy
try 4 "empty.h5" empty.h5 x.npy
try 4 "truncated.h5" truncated.h5 x.npy
try 4 "text.h5" text.h5 x.npy
if [ -e "$shared/fer2013_mini_XCEPTION.102-0.66.hdf5" ]; then
    try 4 "fer2013.*not an isotome model" \
        "$shared/fer2013_mini_XCEPTION.102-0.66.hdf5" x.npy
fi

# A flipped byte in a weight is found by name.
weight=$($ISOTOME inspect net.h5 --weights | awk '$1 == "weight" && $3 == "f32" {print $2; exit}')
offset=$(h5dump -p -H -d "/weights/$weight" net.h5 | awk '/OFFSET/ {print $2; exit}')
cp net.h5 flipped.h5
printf '\x55' | dd of=flipped.h5 bs=1 seek=$((offset + 5)) conv=notrunc status=none
try 4 "flipped.h5.*$weight.*digest" flipped.h5 x.npy

# Inputs.
try 4 "none.npy.*No such file" net.h5 none.npy
: >empty.npy
try 4 "empty.npy" net.h5 empty.npy
head -c 5000 x.npy >short.npy
try 4 "short.npy" net.h5 short.npy
$NPY_TOOL random float.npy 1 4 1 28 28
try 4 "float.npy.*u8 \[N,1,28,28\].*f32 \[4,1,28,28\]" net.h5 float.npy
$ISOTOME import "$data/fashion_cnn.onnx" -o plain.h5 >/dev/null
$NPY_TOOL random wide.npy 1 4 1 28 30
try 4 "wide.npy.*\[N,1,28,28\].*\[4,1,28,30\]" plain.h5 wide.npy
try 2 "no input 'z'" net.h5 z=x.npy
try 4 "net.h5.*no dataset.*/absent|absent" net.h5 net.h5:/absent

# Outputs.
expect 1 "nowhere/y.npy.*No such file|nowhere" on 2 "$ISOTOME" run net.h5 -i x.npy -o nowhere/y.npy
echo precious >out/y.npy
expect 1 "out/y.npy.*--force" on 2 "$ISOTOME" run net.h5 -i x.npy -o out/y.npy
[ "$(cat out/y.npy)" = precious ] || fail "an existing output was touched"
on 2 "$ISOTOME" run net.h5 -i x.npy -o out/y.npy --force -q
rm out/y.npy
expect 2 "no output 'z'" on 2 "$ISOTOME" run net.h5 -i x.npy -o z=out/y.npy
expect 2 "no output is named" on 2 "$ISOTOME" run net.h5 -i x.npy
try 2 "y.txt" net.h5 x.npy -o out/y.txt

# What a job reads is not replaced, also with --force.
cp net.h5 own.h5
cp x.npy own.npy
expect 2 "own.h5.*the model of this job" on 2 "$ISOTOME" run own.h5 -i x.npy -o ./own.h5:/y --force
expect 2 "own.npy.*an input of this job" on 2 "$ISOTOME" run net.h5 -i own.npy -o own.npy --force
expect 2 "own.npy.*an input of this job" on 1 "$ISOTOME" run net.h5 -i own.npy -o out/y.npy --report own.npy
expect 2 "out/y.npy.*for an output and for the report" on 1 "$ISOTOME" run net.h5 -i x.npy -o out/y.npy --report ./out/y.npy
same own.h5 net.h5
same own.npy x.npy

# A report that cannot be written is known before the work.
expect 1 "nowhere/r.json.*no folder 'nowhere'" on 2 "$ISOTOME" run net.h5 -i x.npy -o out/y.npy --report nowhere/r.json
expect 1 "'out': it is a folder" on 2 "$ISOTOME" run net.h5 -i x.npy -o out/y.npy --report out
nothing_left out

# Usage.
try 2 "device" net.h5 x.npy --device tpu
try 2 "--threads" net.h5 x.npy --threads 0
try 2 "layer split '1,,1': count 2 .* is empty" net.h5 x.npy --split 1,,1
try 2 "--plan" net.h5 x.npy --plan none.json --split even
try 4 "none.json" net.h5 x.npy --plan none.json
try 4 "none.json" net.h5 x.npy --machine none.json
expect 2 "layers" on 2 "$ISOTOME" run net.h5 -i x.npy -o out/y.npy --split 1,1
expect 2 "counts|ranks" on 2 "$ISOTOME" run net.h5 -i x.npy -o out/y.npy --split 1,1,1

# More ranks than layers: extra ranks idle, or an error.
layers=$($ISOTOME inspect net.h5 | awk '$1 == "layers" {print $2}')
on $((layers + 2)) "$ISOTOME" run net.h5 -i x.npy -o out/y.npy >table.txt
grep -q idle table.txt || fail "idle ranks are not shown"
on 1 "$ISOTOME" run net.h5 -i x.npy -o one.npy -q
same one.npy out/y.npy
rm out/y.npy
expect 2 "$layers" on $((layers + 2)) "$ISOTOME" run net.h5 -i x.npy -o out/y.npy --strict

# An empty job is a job.
$NPY_TOOL head x.npy 0 nothing.npy
on 3 "$ISOTOME" run net.h5 -i nothing.npy -o out/y.npy -q
[ "$(stat -c %s out/y.npy)" -eq 128 ] || fail "no samples should give a header alone"
rm out/y.npy
nothing_left out

# What one rank alone lacks: memory, the input.
run=("$ISOTOME" run net.h5 -q -o out/y.npy --micro-batch 4000)
# shellcheck disable=SC2016
expect 1 "rank 1 on .*: out of memory: cannot allocate [0-9]+ bytes" \
    "$MPIEXEC" "${mpi_options[@]}" -n 1 "${run[@]}" -i "$data/images_u8.npy" : \
    -n 1 bash -c 'ulimit -v 450000; exec "$@"' limited "${run[@]}" -i "$data/images_u8.npy"
nothing_left out
expect 4 "rank 1 on .*gone.npy.*No such file" \
    "$MPIEXEC" "${mpi_options[@]}" -n 1 "${run[@]}" -i x.npy : -n 1 "${run[@]}" -i gone.npy
nothing_left out
