#!/usr/bin/env bash
# Jobs of run.sbatch that end early go on where they were, and write the bytes
# of a run without a break.
#   test_slurm_requeue.sh usr1|preempted|node|time
. "$ISO_SOURCE_DIR/tests/cluster/cluster.sh"

export ISOTOME_LAUNCHER
PATH=$scripts:$(dirname "$ISOTOME"):$PATH
make_long_run

# 3800 samples take a second below.
case $1 in
usr1) samples=40000 ;;
time) samples=130000 ;;
*) samples=60000 ;;
esac
$NPY_TOOL head x.npy $samples part.npy
on 1 "$ISOTOME" run long.h5 -i part.npy -o one.npy -q
hosts_up 4 50 1000
slurm_up 2

restarts() {
    slurm scontrol --oneliner show job "$number" | sed 's/.* Restarts=\([0-9]*\) .*/\1/'
}
node_is_down() { # N
    slurm sinfo -h -N -n "h$1" -o %T | grep -q down
}
# begin OPTION...: a job, number, on all hosts; some of its output is done.
begin() {
    number=$(slurm sbatch --parsable --output=log.txt --nodes=4 --ntasks-per-node=1 \
        "$@" "$scripts/run.sbatch" "$work/long.h5" -i "$work/part.npy" -o out/y.npy -q \
        --device throttled:1 --micro-batch 16)
    until_true records
}
# broken_off: before is how much the ranks that told it had finished, when a
# signal ended them the first time.
broken_off() {
    before=$(sed -n 's/^isotome: told to end: \([0-9]*\) of .*/\1/p' log.txt | head -n 1)
    [ -n "$before" ] || fail "by $ISOTOME_LAUNCHER: the ranks did not tell: $(cat log.txt)"
}
# ended WHAT: by itself, after a restart, with the right bytes and nothing else;
# it went on where it was.
ended() {
    until_true job_ended "$number"
    [ "$(job_state "$number")" = "COMPLETED 0:0" ] ||
        fail "$1 by $ISOTOME_LAUNCHER: $(job_state "$number"): $(cat log.txt)"
    [ "$(restarts)" -ge 1 ] || fail "$1 by $ISOTOME_LAUNCHER: it was not started again"
    same "$work/one.npy" out/y.npy
    [ ! -e out/y.npy.part ] || fail "$1 by $ISOTOME_LAUNCHER: a part is left"
    [ -n "${before:-}" ] || broken_off
    went_on_at "$before"
    echo "$1 by $ISOTOME_LAUNCHER: $(restarts) restarts, went on at $before"
    before=
}

# both WHAT: the job of the other launcher has come as far.
both() {
    touch "$1"
    until_true test -e "$work/srun/$1" -a -e "$work/mpirun/$1"
}

# break_off CASE: a job of ISOTOME_LAUNCHER, in a folder of its own.
break_off() {
    mkdir -p "$work/$ISOTOME_LAUNCHER/out"
    cd "$work/$ISOTOME_LAUNCHER"
    case $1-$ISOTOME_LAUNCHER in
    usr1-*)
        begin
        slurm scancel --batch --signal=USR1 "$number"
        ended "interrupted"
        grep -q "interrupted, can be resumed, requeued" log.txt ||
            fail "the launcher did not requeue: $(cat log.txt)"
        ;;
    preempted-*)
        begin --partition=low
        both begun
        if [ "$ISOTOME_LAUNCHER" = mpirun ]; then # one takes the nodes of both
            ended "preempted"
            return
        fi
        other=$(slurm sbatch --parsable --output=other.txt --partition=high --nodes=4 \
            --exclusive --wrap "srun --mpi=none hostname")
        until_true job_ended "$other"
        [ "$(job_state "$other")" = "COMPLETED 0:0" ] || fail "the other job: $(cat other.txt)"
        ended "preempted"
        ;;
    node-*)
        begin
        both begun
        [ "$ISOTOME_LAUNCHER" = mpirun ] || power_off 3 # it is a node of both
        until_true node_is_down 3
        before=$(finished out/y.npy.ledger) # the job waits for the node
        both noted
        if [ "$ISOTOME_LAUNCHER" = srun ]; then
            cable_heal 3
            node_start 3
        fi
        ended "a node lost power"
        ;;
    time-srun)
        # A minute; Slurm tells it by USR1 before, half a minute or more.
        begin --time=1 --signal=B:USR1@30
        ended "told before its limit"
        ;;
    time-mpirun)
        # Ended by Slurm at its limit, and not told before. Whoever looks at it
        # in the morning has it go on.
        begin --signal=B:CONT@1
        slurm scontrol update "JobId=$number" "EndTime=$(date -d '+1 second' +%FT%T)"
        until_true job_ended "$number"
        [[ "$(job_state "$number")" == TIMEOUT* ]] || fail "at its limit: $(job_state "$number")"
        before=$(finished out/y.npy.ledger)
        slurm scontrol requeue "$number"
        ended "killed at its limit"
        ;;
    esac
}

started=()
for ISOTOME_LAUNCHER in srun mpirun; do
    break_off "$1" &
    started+=($!)
done
for process in "${started[@]}"; do
    wait "$process"
done
