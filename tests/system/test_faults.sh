#!/usr/bin/env bash
# What breaks in the middle of a run: killed ranks, a killed mpirun, inputs
# that shrink or turn out bad. The job ends, and nothing is under the output's
# name.
. "$ISO_SOURCE_DIR/tests/support/lib.sh"

job=
trap '[ -z "$job" ] || kill -KILL "$job"; rm -rf "$work"' EXIT

{
    echo "in x f32 N,16"
    echo "init first f32 16,256 : *.1"
    echo "init w f32 256,256 : *.1"
    echo "init last f32 256,16 : *.1"
    echo "r0 = MatMul(x, first)"
    for i in 1 2 3 4 5 6 7 8; do
        echo "m$i = MatMul(r$((i - 1)), w)"
        echo "r$i = Relu(m$i)"
    done
    echo "y = MatMul(r8, last)"
    echo "out y"
} | $MAKE_MODEL long.onnx
$ISOTOME import long.onnx -o long.h5 --weights-seed 1 >/dev/null
# A minute of work for the ref device.
$NPY_TOOL random x.npy 1 200000 16
mkdir out

# until_true COMMAND...: within a minute, or the test fails.
until_true() {
    local tries=0
    until "$@"; do
        tries=$((tries + 1))
        [ "$tries" -lt 1200 ] || fail "waited in vain for: $*"
        sleep 0.05
    done
}

# Rows of the output have been written, under the temporary name.
is_writing() {
    local files=(out/y.npy.*.tmp)
    [ -e "${files[0]}" ] &&
        [ "$(tail -c +129 "${files[0]}" | head -c 1024 | tr -d '\0' | wc -c)" -gt 0 ]
}

# start RANKS INPUT: a long run in the background, job is its process.
start() {
    rm -rf "${work:?}"/out/*
    "$MPIEXEC" -n "$1" "${mpi_options[@]}" "$ISOTOME" run long.h5 -q \
        -i "$2" -o out/y.npy --device ref --micro-batch 4 >log.txt 2>&1 &
    job=$!
    until_true is_writing
    ranks=$(pgrep -P "$job")
}

# The process of a rank of the job.
process_of() {
    local process
    for process in $ranks; do
        if tr '\0' '\n' <"/proc/$process/environ" |
            grep -qx "OMPI_COMM_WORLD_RANK=$1"; then
            echo "$process"
            return
        fi
    done
    fail "rank $1 has no process"
}

gone() {
    local process
    for process in "$job" $ranks; do
        ! kill -0 "$process" 2>/dev/null || return 1
    done
}

# The job and all its processes end; code is its exit code.
ends() {
    code=0
    until_true gone
    wait "$job" || code=$?
    job=
    [ "$code" -ne 0 ] || fail "$1: a broken run ended with 0"
    [ ! -e out/y.npy ] || fail "$1: an output is under its name"
}

start 3 x.npy
kill -KILL "$(process_of 1)"
ends "a rank is killed"
nothing_left out

start 3 x.npy
kill -KILL "$(process_of 0)"
ends "the rank that writes is killed"

start 3 x.npy
kill -TERM "$job"
ends "mpirun is told to end"
nothing_left out

start 3 x.npy
kill -KILL "$job"
ends "mpirun is killed"

# Without mpirun.
rm -rf "${work:?}"/out/*
"$ISOTOME" run long.h5 -q -i x.npy -o out/y.npy --device ref --micro-batch 4 &
job=$!
ranks=
until_true is_writing
kill -TERM "$job"
ends "one process is told to end"
[ "$code" -eq 143 ] || fail "exit code $code after SIGTERM, expected 143"
nothing_left out

# An input shrinks while it is read.
cp x.npy shrinking.npy
start 3 shrinking.npy
truncate -s 2000 shrinking.npy
ends "an input shrinks"
[ "$code" -eq 4 ] || fail "exit code $code, expected 4"
[ "$(grep -c '^isotome: ' log.txt)" -eq 1 ] || fail "expected one line: $(cat log.txt)"
grep -qE "^isotome: rank 2 on .*: samples [0-9]+ to [0-9]+: 'shrinking.npy' ends" log.txt ||
    fail "unexpected message: $(cat log.txt)"
nothing_left out

# A sample that cannot be computed: row 9 asks for row 99 of a table.
$MAKE_MODEL table.onnx <<'END'
in x f32 N,64
in i f32 N
init w f32 64,64 : *.1
init table f32 16,64 : *.1
a0 = MatMul(x, w)
a1 = Relu(a0)
a2 = MatMul(a1, w)
numbers = Cast(i) to=7
rows = Gather(table, numbers) axis=0
b0 = Add(a2, rows)
b1 = MatMul(b0, w)
y = Relu(b1)
out y
END
$ISOTOME import table.onnx -o table.h5 --weights-seed 2 >/dev/null
$NPY_TOOL random tx.npy 1 13 64
$NPY_TOOL random ti.npy 2 13
printf '\x00\x00\xc6\x42' |
    dd of=ti.npy bs=1 seek=$((128 + 4 * 9)) conv=notrunc status=none
for ranks in 1 2 3; do
    expect 4 "samples 8 to 11: node .*index 99 at place 1, expected -16 to 15" \
        on $ranks "$ISOTOME" run table.h5 -i x=tx.npy -i i=ti.npy \
        -o out/y.npy --micro-batch 4
    nothing_left out
done
