#!/usr/bin/env bash
# A cable that is pulled while a job runs over four hosts: the job ends within
# 15 seconds and says which host is missing; with --resume it goes on, to the
# bytes of a run without a break. Plugged in again after 5 seconds nothing is
# lost, and the output is the same.
. "$ISO_SOURCE_DIR/tests/cluster/cluster.sh"
make_long_run
$NPY_TOOL head x.npy 30000 short.npy

# mpirun, too, is to notice: isotome-run(1).
export OMPI_MCA_oob_tcp_keepalive_time=3 OMPI_MCA_oob_tcp_keepalive_intvl=2 \
    OMPI_MCA_oob_tcp_keepalive_probes=3

on 1 "$ISOTOME" run long.h5 -q -i short.npy -o one.npy
hosts_up 4 50 1000

on_hosts() {
    across 4 --map-by node "$ISOTOME" run long.h5 -q -i short.npy -o out/y.npy "$@"
}

# begin: in the background on four hosts, until a part is finished; so slowly
# that it takes another ten seconds at least.
begin() {
    rm -rf "${work:?}"/out/*
    on_hosts --device throttled:1 --micro-batch 4 >log.txt 2>&1 &
    job=$!
    until_true records
}

# finish: code is the job's exit code.
finish() {
    code=0
    wait "$job" || code=$?
    job=
}

for host in 2 3; do
    begin
    SECONDS=0
    cable_cut "$host"
    finish
    took_s=$SECONDS
    cable_heal "$host"
    echo "cable of h$host cut: code $code after $took_s s"
    [ "$took_s" -le 15 ] || fail "the job ended after $took_s s"
    # Open MPI's launcher has 205 where it is the first to notice.
    [ "$code" -eq 5 ] || [ "$code" -eq 205 ] || fail "exit code $code: $(cat log.txt)"
    [ "$(grep -c '^isotome: ' log.txt)" -le 1 ] || fail "more than one line: $(cat log.txt)"
    grep -qE "^isotome: .*host h$host \(rank $((host - 1))\) does not answer|Remote daemon: .* on node h$host" log.txt ||
        fail "the host is not named: $(cat log.txt)"
    parts_or_nothing
    before=$(finished out/y.npy.ledger)
    on_hosts --resume
    same one.npy out/y.npy
    went_on_at "$before"
done

begin
cable_cut 3
sleep 5 # is how long the cable is out, not a guess
cable_heal 3
[ ! -e out/y.npy ] || fail "the job was over before the cable was plugged in"
finish
[ "$code" -eq 0 ] || fail "code $code after the cable was plugged in again: $(cat log.txt)"
[ "$(grep -c '^isotome: ' log.txt)" -eq 0 ] || fail "a false alarm: $(cat log.txt)"
same one.npy out/y.npy
echo "cable of h3 out for 5 s: the same bytes"
