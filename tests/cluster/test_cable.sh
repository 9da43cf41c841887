#!/usr/bin/env bash
# A cable that is pulled while a job runs over four hosts: the job ends within
# 15 seconds and says which host is missing. Plugged in again after 5 seconds
# nothing is lost, and the output is the same.
. "$ISO_SOURCE_DIR/tests/cluster/cluster.sh"
make_long_run
$NPY_TOOL head x.npy 40000 short.npy

# mpirun, too, is to notice: isotome-run(1).
export OMPI_MCA_oob_tcp_keepalive_time=5 OMPI_MCA_oob_tcp_keepalive_intvl=2 \
    OMPI_MCA_oob_tcp_keepalive_probes=3

on 1 "$ISOTOME" run long.h5 -q -i short.npy -o one.npy
hosts_up 4 50 1000

# begin INPUT [OPTION...]: in the background on four hosts, until rows come out.
begin() {
    local input=$1
    shift
    rm -rf "${work:?}"/out/*
    across 4 --map-by node "$ISOTOME" run long.h5 -q -i "$input" -o out/y.npy \
        --device ref --micro-batch 4 "$@" >log.txt 2>&1 &
    job=$!
    until_true is_writing
}

# finish: code is the job's exit code.
finish() {
    code=0
    wait "$job" || code=$?
    job=
}

for host in 2 3; do
    begin x.npy
    SECONDS=0
    cable_cut "$host"
    finish
    took_s=$SECONDS
    cable_heal "$host"
    echo "cable of h$host cut: code $code after $took_s s"
    [ "$took_s" -le 15 ] || fail "the job ended after $took_s s"
    [ "$code" -ne 0 ] || fail "a broken job ended with 0"
    # One of our lines, unless mpirun was the first to notice.
    [ "$(grep -c '^isotome: ' log.txt)" -le 1 ] || fail "more than one line: $(cat log.txt)"
    grep -qE "^isotome: .*host h$host \(rank $((host - 1))\) does not answer|Remote daemon: .* on node h$host" log.txt ||
        fail "the host is not named: $(cat log.txt)"
    [ ! -e out/y.npy ] || fail "there is an output"
done

begin short.npy
cable_cut 3
sleep 5 # is how long the cable is out, not a guess
cable_heal 3
finish
[ "$code" -eq 0 ] || fail "code $code after the cable was plugged in again: $(cat log.txt)"
[ "$(grep -c '^isotome: ' log.txt)" -eq 0 ] || fail "a false alarm: $(cat log.txt)"
same one.npy out/y.npy
echo "cable of h3 out for 5 s: the same bytes"
