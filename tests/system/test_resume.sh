#!/usr/bin/env bash
# A job that ends before its end, in whatever way, leaves what is finished:
# with --resume it comes to the same bytes, on other ranks, threads and
# micro-batches too.
#   test_resume.sh [KILLS [SECONDS]]    so many jobs of about so many seconds,
#                                       killed at random moments
. "$ISO_SOURCE_DIR/tests/support/lib.sh"
. "$ISO_SOURCE_DIR/tests/support/jobs.sh"
kills=${1:-4} seconds=${2:-6}
seed=${ISO_SEED:-$$}
RANDOM=$seed
echo "seed $seed (ISO_SEED)"

# A job that is slow without computing: on three ranks of a throttled device.
make_long_run
samples=$((seconds * 1000000000 / (2 * 256 * (16 + 8 * 256 + 16))))
$NPY_TOOL random x.npy 1 "$samples" 16
on 1 "$ISOTOME" run long.h5 -q -i x.npy -o whole.npy
on 1 "$ISOTOME" run long.h5 -q -i x.npy -o whole.h5:/y

resume() {
    on 2 "$ISOTOME" run long.h5 -q -i x.npy -o "$1" --micro-batch 37 --resume
}

start_throttled() {
    start 3 x.npy --micro-batch 4 --device throttled:0.34 "$@"
}

# Signals: the micro-batches under way are finished.
for signal in USR1 TERM; do
    start_throttled
    until_true records
    kill -"$signal" "$(process_of $((RANDOM % 3)))"
    ends "one rank is told to end"
    [ "$code" -eq 6 ] || fail "exit code $code after $signal, expected 6"
    grep -qE '^isotome: told to end: [0-9]+ of [0-9]+ samples are finished; run again with --resume' log.txt ||
        fail "unexpected message: $(cat log.txt)"
    resume out/y.npy
    same out/y.npy whole.npy
done

# A file says how far the job is.
is_further() {
    [ "$(sed -n 's/^  "done": \([0-9]*\),$/\1/p' status.json 2>/dev/null || true)" -gt 0 ] 2>/dev/null
}
start_throttled --status status.json
until_true is_further
grep -q '"state": "running"' status.json || fail "not running: $(cat status.json)"
[ "$(grep -c '"heard_s_ago"' status.json)" -eq 3 ] || fail "not three ranks: $(cat status.json)"
kill -USR1 "$job"
ends "a job with a status file"
grep -q '"state": "interrupted"' status.json || fail "not interrupted: $(cat status.json)"
on 2 "$ISOTOME" run long.h5 -q -i x.npy -o out/y.npy --resume --status status.json
grep -q '"state": "finished"' status.json || fail "not finished: $(cat status.json)"
grep -q "\"done\": $samples," status.json || fail "not all done: $(cat status.json)"
same out/y.npy whole.npy
expect 2 "named for an output and for the status" \
    "$ISOTOME" run long.h5 -q -i x.npy -o out/z.npy --status out/z.npy
expect 1 "there is no folder 'none'" \
    on 2 "$ISOTOME" run long.h5 -q -i x.npy -o out/z.npy --status none/s.json

# What is finished is not computed again, and not replaced unasked.
start_throttled
until_true records
kill -USR1 "$job"
ends "mpirun passes the signal on"
[ "$code" -eq 6 ] || fail "exit code $code after USR1 to mpirun, expected 6"
expect 1 "y.npy.ledger' says that [0-9]+ samples are finished; give --resume to go on, --force" \
    "$ISOTOME" run long.h5 -q -i x.npy -o out/y.npy
before=$(finished out/y.npy.ledger)
resume out/y.npy
same out/y.npy whole.npy
went_on_at "$before"

# A finished one is left as it is.
touch -d 2001-01-01 out/y.npy
"$ISOTOME" run long.h5 -i x.npy -o out/y.npy --resume 2>err.txt
grep -qx 'isotome: finished by an earlier job; nothing to do' err.txt ||
    fail "unexpected message: $(cat err.txt)"
[ "$(stat -c %Y out/y.npy)" -eq "$(date -d 2001-01-01 +%s)" ] ||
    fail "a finished output was written again"

# Of another model or input it is refused.
$ISOTOME import long.onnx -o other.h5 --weights-seed 2 >/dev/null
expect 4 "y.npy.ledger' is of another job, in the model's weights" \
    "$ISOTOME" run other.h5 -q -i x.npy -o out/y.npy --resume
$NPY_TOOL random other.npy 2 "$samples" 16
expect 4 "y.npy.ledger' is of another job, in the inputs" \
    "$ISOTOME" run long.h5 -q -i other.npy -o out/y.npy --resume
rm out/y.npy
expect 4 "'out/y.npy' was finished and is not there any more" \
    "$ISOTOME" run long.h5 -q -i x.npy -o out/y.npy --resume

# Rows that are not what the ledger says (after a power failure) are made
# again.
start_throttled
until_true records
kill -KILL "$job"
ends "mpirun is killed"
printf 'x' | dd of=out/y.npy.part bs=1 seek=200 conv=notrunc status=none
resume out/y.npy
same out/y.npy whole.npy

# A short job without --resume leaves no ledger.
rm out/*
$NPY_TOOL head x.npy 10 short.npy
on 2 "$ISOTOME" run long.h5 -q -i short.npy -o out/y.h5:/y
[ "$(ls out)" = y.h5 ] || fail "left behind: $(ls out)"

# kill_one PLACE: a new job, killed at a random moment, by one of its ranks or
# by mpirun.
kill_one() {
    local moment=$((RANDOM * seconds * 1000 / 32768)) victim=$((RANDOM % 4))
    rm -f out/*
    "$MPIEXEC" -n 3 "${mpi_options[@]}" "$ISOTOME" run long.h5 -q -i x.npy \
        -o "$1" --micro-batch 4 --device throttled:0.34 >log.txt 2>&1 &
    job=$!
    sleep "$((moment / 1000)).$(printf %03d $((moment % 1000)))"
    ranks=$(pgrep -P "$job" || true)
    if [ "$victim" -lt 3 ] && [ "$(wc -w <<<"$ranks")" -eq 3 ]; then
        kill -KILL "$(awk -v n="$victim" 'NR == n + 1' <<<"$ranks")" || true
    else
        kill -KILL "$job" || true
    fi
    until_true gone
    wait "$job" || true
    job=
}
equal=0
for ((n = 0; n < kills; n++)); do
    place=out/y.npy whole=whole.npy
    [ $((n % 2)) -eq 0 ] || place=out/y.h5:/y whole=whole.h5
    kill_one "$place"
    resume "$place"
    ! cmp -s "${place%:*}" "$whole" || equal=$((equal + 1))
done
echo "$equal of $kills killed jobs came to the same bytes"
[ "$equal" -eq "$kills" ]
