#!/usr/bin/env bash
# Jobs of run.sbatch that end early go on by themselves, and write the bytes of
# a run without a break.
#   test_slurm_requeue.sh usr1|preempted|node|time
. "$ISO_SOURCE_DIR/tests/cluster/cluster.sh"

export ISOTOME_LAUNCHER
PATH=$scripts:$(dirname "$ISOTOME"):$PATH
make_long_run
$NPY_TOOL head x.npy 40000 part.npy
on 1 "$ISOTOME" run long.h5 -i part.npy -o one.npy -q
hosts_up 4 50 1000
slurm_up 2

ranges_done() {
    [ -s out/y.npy.ledger ]
}
restarts() {
    slurm scontrol --oneliner show job "$number" | sed 's/.* Restarts=\([0-9]*\) .*/\1/'
}
node_is_down() { # N
    slurm sinfo -h -N -n "h$1" -o %T | grep -q down
}
# begin OPTION...: a job, number, on all hosts; some of its output is done.
begin() {
    rm -rf out/* log.txt
    number=$(slurm sbatch --parsable --output=log.txt --nodes=4 --ntasks-per-node=1 \
        "$@" "$scripts/run.sbatch" long.h5 -i part.npy -o out/y.npy -q \
        --device ref --micro-batch 16)
    until_true ranges_done
}
# ended WHAT: by itself, after a restart, with the right bytes and nothing else.
ended() {
    until_true job_ended "$number"
    [ "$(job_state "$number")" = "COMPLETED 0:0" ] ||
        fail "$1 by $ISOTOME_LAUNCHER: $(job_state "$number"): $(cat log.txt)"
    [ "$(restarts)" -ge 1 ] || fail "$1 by $ISOTOME_LAUNCHER: it was not started again"
    same one.npy out/y.npy
    [ ! -e out/y.npy.part ] || fail "$1 by $ISOTOME_LAUNCHER: a part is left"
    echo "$1 by $ISOTOME_LAUNCHER: $(restarts) restarts"
}

for ISOTOME_LAUNCHER in srun mpirun; do
    case $1 in
    usr1)
        begin
        slurm scancel --batch --signal=USR1 "$number"
        ended "interrupted"
        grep -q "interrupted, can be resumed, requeued" log.txt ||
            fail "the launcher did not requeue: $(cat log.txt)"
        ;;
    preempted)
        begin --partition=low
        other=$(slurm sbatch --parsable --output=other.txt --partition=high --nodes=4 \
            --exclusive --wrap "srun --mpi=none hostname")
        until_true job_ended "$other"
        [ "$(job_state "$other")" = "COMPLETED 0:0" ] || fail "the other job: $(cat other.txt)"
        ended "preempted"
        ;;
    node)
        begin
        power_off 3
        until_true node_is_down 3
        cable_heal 3
        node_start 3
        ended "a node lost power"
        ;;
    time)
        # A minute, and USR1 at about half of it, for two minutes of work.
        $NPY_TOOL random part.npy 1 400000 16
        on 1 "$ISOTOME" run long.h5 -i part.npy -o one.npy -q --force
        begin --time=1 --signal=B:USR1@30
        ended "out of time"
        ;;
    esac
done
