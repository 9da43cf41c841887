# shellcheck shell=bash
# To be sourced, instead of lib.sh, by the tests of several hosts: hosts h1, h2
# and so on as namespaces of this machine, with a network of a given latency and
# bandwidth between them whose cables can be cut, and a Slurm of which they are
# the nodes. ctest gives VSWITCH beside what lib.sh needs.
#
#     . "$ISO_SOURCE_DIR/tests/cluster/cluster.sh"
#     hosts_up 4 50 1000              50 us, 1000 Mbit/s
#     at 2 COMMAND...                 on host h2
#     across 8 COMMAND...             8 ranks by mpirun, two on each host
#     cable_cut 3; cable_heal 3       of h3
#     kill_host 3                     all its processes die, its kernel says so
#     power_off 3                     they die, and nobody is told; what was
#                                     temporary is gone
#     slurm_up 2                      each host is a node of 2 CPUs
#     slurm sbatch ...
#
# The test runs again as process 1 of namespaces of its own: what it starts,
# mounts or calls by a name (a socket in /run, say) is not seen outside, and is
# gone when it ends, however that is.

# cannot WHAT: there is no cluster here.
cannot() {
    if [ -n "${ISO_TEST_DATA_REQUIRED:-}" ]; then
        echo "FAILED: no cluster: $*" >&2
        exit 1
    fi
    echo "skipped: no cluster: $*"
    exit 77
}

room=(unshare --mount --net --pid --fork --kill-child --mount-proc)
if [ -z "${ISO_CLUSTER_ROOM:-}" ]; then
    [ "$(id -u)" -eq 0 ] || cannot "root makes namespaces"
    for command in unshare nsenter ip munged slurmctld slurmd sbatch; do
        command -v "$command" >/dev/null || cannot "no $command; see scripts/setup.sh"
    done
    [ -c /dev/net/tun ] || cannot "no /dev/net/tun"
    "${room[@]}" true || cannot "namespaces are not allowed"
    ISO_CLUSTER_ROOM=1 exec "${room[@]}" bash "$0" "$@"
fi
trap 'exit 130' INT
trap 'exit 143' TERM
mount -t tmpfs -o mode=755 tmpfs /run
ip link set lo up
. "$ISO_SOURCE_DIR/tests/support/lib.sh"
. "$ISO_SOURCE_DIR/tests/support/jobs.sh"

# All processes but this one, so that nobody writes to what is removed.
trap 'kill -KILL -1 2>/dev/null || true
    until rm -rf "$work" 2>/dev/null; do sleep 0.05; done' EXIT

# The hosts share the cores of this machine: ranks that wait give way.
export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_hwloc_base_binding_policy=none

tools=$ISO_SOURCE_DIR/tests/cluster
# shellcheck disable=SC2034 # for the tests
scripts=$ISO_SOURCE_DIR/slurm
export ISO_CLUSTER=$work/cluster SLURM_CONF=$work/cluster/slurm.conf
hosts=0

# -- hosts --

# A process that holds the namespaces of a host: network, name, shared memory.
host_start() {
    local folder=$ISO_CLUSTER/h$1
    mkdir "$folder"
    # shellcheck disable=SC2016
    unshare --net --uts --ipc --mount bash -c '
        hostname "$1" && mount -t tmpfs tmpfs /dev/shm &&
            mount --bind "$2/etc_hosts" /etc/hosts && ip link set lo up &&
            touch "$2/$1/ready" && exec sleep infinity' host "h$1" "$ISO_CLUSTER" &
    echo $! >"$folder.pid"
    disown
    until_true test -e "$folder/ready"
}

# hosts_up N LATENCY_US RATE_MBIT
hosts_up() {
    local host networks
    hosts=$1
    mkdir "$ISO_CLUSTER"
    echo "127.0.0.1 localhost" >"$ISO_CLUSTER/etc_hosts"
    for host in $(seq "$hosts"); do
        echo "10.99.0.$host h$host" >>"$ISO_CLUSTER/etc_hosts"
        echo "h$host slots=2" >>"$ISO_CLUSTER/hostfile"
    done
    for host in $(seq "$hosts"); do
        host_start "$host"
    done
    mapfile -t networks < <(sed 's:.*:/proc/&/ns/net:' "$ISO_CLUSTER"/h*.pid)
    mkfifo "$ISO_CLUSTER/cables"
    "$VSWITCH" "$2" "$3" "${networks[@]}" \
        <>"$ISO_CLUSTER/cables" >"$ISO_CLUSTER/vswitch.txt" &
    disown
    until_true grep -qs ready "$ISO_CLUSTER/vswitch.txt"
    for host in $(seq "$hosts"); do
        at "$host" ip addr add "10.99.0.$host/24" dev e0
        at "$host" ip link set e0 mtu 9000 up
    done
}

at() {
    "$tools/at.sh" "$@"
}

across() {
    local ranks=$1
    shift
    at 1 "$MPIEXEC" -n "$ranks" "${mpi_options[@]}" \
        --mca plm_rsh_agent "$tools/rsh_agent.sh" \
        --hostfile "$ISO_CLUSTER/hostfile" "$@"
}

cable_cut() {
    echo "cut $1" >"$ISO_CLUSTER/cables"
}

cable_heal() {
    echo "heal $1" >"$ISO_CLUSTER/cables"
}

# Processes of a host, but for the one that holds its namespaces.
processes_at() {
    local holder process
    holder=$(cat "$ISO_CLUSTER/h$1.pid")
    for process in /proc/[0-9]*; do
        if [ "$process/ns/net" -ef "/proc/$holder/ns/net" ] &&
            [ "$process" != "/proc/$holder" ]; then
            echo "${process#/proc/}"
        fi
    done
}

kill_host() {
    local process
    for process in $(processes_at "$1"); do
        kill -KILL "$process" 2>/dev/null || true # it has just ended
    done
}

power_off() {
    cable_cut "$1"
    kill_host "$1"
    # As at a boot: Slurm starts no ranks where an earlier PMIx folder of the
    # same job lies.
    rm -rf "${ISO_CLUSTER:?}/h$1"/* "$ISO_CLUSTER/spool.h$1"
}

# -- Slurm --

slurm() {
    at 1 "$@"
}

slurm_conf() { # CPUS
    local host
    cat <<CONF
ClusterName=test
SlurmctldHost=h1(10.99.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=cred_expire=5
StateSaveLocation=$ISO_CLUSTER/state
SlurmdSpoolDir=$ISO_CLUSTER/spool.%n
TmpFS=$ISO_CLUSTER/%n
SlurmctldPidFile=$ISO_CLUSTER/slurmctld.pid
SlurmdPidFile=$ISO_CLUSTER/slurmd.%n.pid
SlurmctldLogFile=$ISO_CLUSTER/slurmctld.log
SlurmdLogFile=$ISO_CLUSTER/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=1
JobAcctGatherParams=OverMemoryKill
MpiDefault=pmix
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=1000
SchedulerParameters=sched_interval=2,bf_interval=2
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SlurmctldParameters=preempt_send_user_signal
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=5
SlurmdTimeout=10
SlurmctldTimeout=10
MessageTimeout=5
TCPTimeout=2
MailProg=/bin/true
PartitionName=low Nodes=h[1-$hosts] Default=YES PriorityTier=1 PreemptMode=REQUEUE GraceTime=20
PartitionName=high Nodes=h[1-$hosts] PriorityTier=10 PreemptMode=OFF
CONF
    for host in $(seq "$hosts"); do
        echo "NodeName=h$host NodeAddr=10.99.0.$host CPUs=$1 Sockets=1 CoresPerSocket=$1 ThreadsPerCore=1 RealMemory=4000"
    done
}

nodes_idle() { # N
    [ "$(slurm sinfo -h -N -p low -t idle -o %N | wc -l)" -eq "$1" ]
}

node_start() { # N
    at "$1" slurmd -N "h$1"
}

# slurm_up CPUS: of each node, which is to say how many are given out.
slurm_up() {
    local host
    mkdir "$ISO_CLUSTER/state"
    install -d -m 755 /run/munge
    head -c 1024 /dev/urandom >/run/munge/key
    chmod 400 /run/munge/key
    munged --force --key-file=/run/munge/key --pid-file=/run/munge/pid \
        --seed-file=/run/munge/seed --log-file=/run/munge/log
    slurm_conf "$1" >"$SLURM_CONF"
    slurm slurmctld
    for host in $(seq "$hosts"); do
        node_start "$host"
    done
    until_true nodes_idle "$hosts"
}

job_state() { # JOB: of each of its jobs, if it is an array
    slurm scontrol --oneliner show job "$1" |
        sed 's/.* JobState=\([^ ]*\) .* ExitCode=\([^ ]*\) .*/\1 \2/'
}

job_ended() { # JOB
    sleep 0.5 # to ask more often takes more than the jobs
    ! job_state "$1" | grep -qvE '^(COMPLETED|FAILED|CANCELLED|TIMEOUT|OUT_OF_MEMORY|NODE_FAIL) '
}

# job_run LOG ARGUMENT...: a job of sbatch from its start to its end; state has
# a line for each of its jobs, "COMPLETED 0:0".
job_run() {
    local log=$1 number
    shift
    rm -f "${log%%%*}"* # sbatch appends
    number=$(slurm sbatch --parsable --output="$log" "$@")
    until_true job_ended "$number"
    state=$(job_state "$number")
}

# submit LOG ARGUMENT...: it must come to a good end.
submit() {
    job_run "$@"
    if grep -qvx 'COMPLETED 0:0' <<<"$state"; then
        cat "${1//%a/1}" >&2
        fail "$state: sbatch $*"
    fi
}

# refused CODE PATTERN ARGUMENT...: it must not; the pattern is in its log.
refused() {
    local code=$1 pattern=$2
    shift 2
    job_run refused.txt "$@"
    if ! grep -qxE "[A-Z_]+ $code:[0-9]+" <<<"$state" || ! grep -qE "$pattern" refused.txt; then
        cat refused.txt >&2
        fail "$state, expected $code and '$pattern': sbatch $*"
    fi
}
