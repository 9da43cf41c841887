#!/usr/bin/env bash
# What breaks in the middle of a run: killed ranks, a killed mpirun, inputs
# that shrink or turn out bad. The job ends, and nothing is under the output's
# name (test_resume.sh goes on with what is left).
. "$ISO_SOURCE_DIR/tests/support/lib.sh"
. "$ISO_SOURCE_DIR/tests/support/jobs.sh"
make_long_run

start 3 x.npy --micro-batch 4
kill -KILL "$(process_of 1)"
ends "a rank is killed"
parts_or_nothing

start 3 x.npy --micro-batch 4
kill -KILL "$(process_of 0)"
ends "the rank that writes is killed"
parts_or_nothing

start 3 x.npy --micro-batch 4
kill -TERM "$job"
ends "mpirun is told to end"
parts_or_nothing

start 3 x.npy --micro-batch 4
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
[ "$code" -eq 6 ] || fail "exit code $code after SIGTERM, expected 6"
parts_or_nothing

# An input shrinks while it is read.
cp x.npy shrinking.npy
start 3 shrinking.npy --micro-batch 4
truncate -s 2000 shrinking.npy
ends "an input shrinks"
[ "$code" -eq 4 ] || fail "exit code $code, expected 4"
grep -qE "^isotome: rank 2 on .*: samples [0-9]+ to [0-9]+: 'shrinking.npy' ends" log.txt ||
    fail "unexpected message: $(cat log.txt)"
parts_or_nothing

rm -f out/*

# A sample that cannot be computed: row 9 asks for row 99 of a table.
make_table table 64 <<'END'
y = Relu(b1)
out y
END
$NPY_TOOL random tx.npy 1 13 64
make_rows 13 9
for ranks in 1 2 3; do
    expect 4 "samples 8 to 11: node .*index 99 at place 1, expected -16 to 15" \
        on $ranks "$ISOTOME" run table.h5 -i x=tx.npy -i i=ti.npy \
        -o out/y.npy --micro-batch 4
    nothing_left out
done
