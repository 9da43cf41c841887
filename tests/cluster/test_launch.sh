#!/usr/bin/env bash
# isotome-launch in a Slurm, with small programs in place of isotome: signals
# reach the ranks, and a job is requeued when there is more to do, or a rank was
# lost, and at no other time.
. "$ISO_SOURCE_DIR/tests/cluster/cluster.sh"

export ISOTOME_LAUNCHER ISOTOME_RESTARTS=1
PATH=$scripts:$PATH
hosts_up 2 50 1000
slurm_up 1

cat >job.sbatch <<'END_JOB'
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --requeue
#SBATCH --open-mode=append
exec isotome-launch "$@"
END_JOB

# A rank that waits for USR1 the first time, then is interrupted; it is done
# when it is started again.
cat >rank.sh <<'END_RANK'
if [ "${SLURM_RESTART_COUNT:-0}" -gt 0 ]; then
    touch "done.$(hostname)"
    exit 0
fi
trap 'touch "stopped.$(hostname)"; exit 6' USR1
touch "started.$(hostname)"
while :; do
    sleep 0.1
done
END_RANK

forget() {
    rm -f started.* stopped.* done.*
}
both() { # WHAT: on both hosts
    [ -e "$1.h1" ] && [ -e "$1.h2" ]
}
any() { # WHAT
    compgen -G "$1.*" >/dev/null
}
requeues() { # LOG: how often
    grep -c "requeued$" "$1" || true
}
# begin LOG COMMAND...: a job, number, whose ranks have started.
begin() {
    local log=$1
    shift
    forget
    rm -f "$log"
    number=$(slurm sbatch --parsable --output="$log" job.sbatch "$@")
    until_true both started
}

for ISOTOME_LAUNCHER in srun mpirun; do
    by=$ISOTOME_LAUNCHER

    # Interrupted: it goes on by itself.
    begin usr1.txt bash rank.sh
    slurm scancel --batch --signal=USR1 "$number"
    until_true any stopped # with the first, mpirun ends the others
    until_true job_ended "$number"
    [ "$(job_state "$number")" = "COMPLETED 0:0" ] || fail "$by: $(job_state "$number"): $(cat usr1.txt)"
    both "done" || fail "$by: not started again"
    grep -qx "isotome-launch: job $number: interrupted, can be resumed, requeued" usr1.txt ||
        fail "$by: not said: $(cat usr1.txt)"

    # Cancelled: it does not.
    begin cancelled.txt bash rank.sh
    slurm scancel "$number"
    until_true job_ended "$number"
    [[ "$(job_state "$number")" == CANCELLED* ]] || fail "$by: $(job_state "$number")"
    [ "$(requeues cancelled.txt)" -eq 0 ] || fail "$by: a cancelled job was requeued"

    # A rank is killed each time: the job is started again once.
    rm -f lost.txt
    job_run lost.txt job.sbatch bash -c 'kill -KILL $$'
    [[ "$state" == FAILED* ]] || fail "$by: a lost rank: $state"
    [ "$(requeues lost.txt)" -eq 1 ] || fail "$by: a lost rank: $(cat lost.txt)"
    grep -q "a rank or a node was lost (exit code 1[0-9][0-9])" lost.txt ||
        fail "$by: not said: $(cat lost.txt)"

    # What would end so again is left alone.
    job_run failed.txt job.sbatch bash -c 'exit 4'
    [ "$state" = "FAILED 4:0" ] || fail "$by: exit code 4: $state"
    [ "$(requeues failed.txt)" -eq 0 ] || fail "$by: a failure was repeated"
done
