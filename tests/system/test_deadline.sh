#!/usr/bin/env bash
# A rank that is stopped for good: --deadline ends the job with 5 and one line
# that says who waits for whom, and no process stays.
. "$ISO_SOURCE_DIR/tests/support/lib.sh"
. "$ISO_SOURCE_DIR/tests/support/jobs.sh"
make_long_run
host=$(hostname)

# stopped RANK PATTERN [OPTION...]: stop that rank of a job of four.
stopped() {
    local rank=$1 pattern="^isotome: $2; it was lost, is stopped, or .*--deadline"
    shift 2
    start 4 x.npy --micro-batch 4 --deadline 3 "$@"
    kill -STOP "$(process_of "$rank")"
    ends "rank $rank is stopped"
    [ "$code" -eq 5 ] || fail "exit code $code, expected 5: $(cat log.txt)"
    [ "$(grep -c '^isotome: ' log.txt)" -eq 1 ] ||
        fail "expected one line: $(cat log.txt)"
    grep -qE -- "$pattern" log.txt ||
        fail "expected a message like '$pattern': $(cat log.txt)"
    parts_or_nothing
}

value="'[a-z0-9]+' of micro-batch [0-9]+"
stopped 3 "rank 2 on $host \(stage 1\): waited [0-9]+ s for $value from rank 3 on $host"
stopped 1 "rank 0 on $host \(stage 3\): waited [0-9]+ s for $value from rank 1 on $host"
stopped 0 "rank 1 on $host \(stage 2\): waited [0-9]+ s for rank 0 on $host to take $value"
# In an exchange it is the other worker; elsewhere the stage is.
stopped 1 "rank [02] on $host \(stage [01]\): waited [0-9]+ s for .*rank [01] .*" --workers 2

# A rank that computes slowly, here on a slow device, is named at the end.
$NPY_TOOL head x.npy 400 few.npy
run=("$ISOTOME" run long.h5 -i few.npy --force)
"$MPIEXEC" "${mpi_options[@]}" -n 2 "${run[@]}" -o out/y.npy --report out/r.json \
    : -n 1 "${run[@]}" -o out/y.npy --report out/r.json --device throttled:0.05 >table.txt 2>err.txt ||
    fail "a slow rank: $(cat err.txt)"
grep -qE "^rank 2 on $host is slow: it computed for [0-9.]+ s, [0-9]+ times as long as predicted" table.txt ||
    fail "the slow rank is not named: $(cat table.txt)"
[ "$(grep -c ' is slow: ' table.txt)" -eq 1 ] || fail "others are named: $(cat table.txt)"
[ "$(sed -n 's/^ *"slow": \(.*\)$/\1/p' out/r.json | xargs)" = "false false true" ] ||
    fail "the report: $(cat out/r.json)"

# The numbers that are allowed.
expect 2 "--deadline.*-1" on 1 "$ISOTOME" run long.h5 -i x.npy -o out/y.npy --deadline -1
expect 2 "--deadline.*soon" on 1 "$ISOTOME" run long.h5 -i x.npy -o out/y.npy --deadline soon
