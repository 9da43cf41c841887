#!/usr/bin/env bash
# One flipped bit in what a rank receives: in a header it is always found, in
# the elements with --verify-transfers; all ranks end with 3 and one line.
. "$ISO_SOURCE_DIR/tests/support/lib.sh"
. "$ISO_SOURCE_DIR/tests/support/jobs.sh"
make_long_run
$NPY_TOOL head x.npy 200 few.npy
run=("$ISOTOME" run long.h5 -q -i few.npy --micro-batch 8)
on 1 "${run[@]}" -o one.npy

# flipped WHAT RANK COMMAND...: the sanitizers want to come first otherwise.
flipped() {
    local what=$1 rank=$2
    shift 2
    FLIP=$what FLIP_RANK=$rank \
        ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0" \
        "$MPIEXEC" -n 2 "${mpi_options[@]}" -x FLIP -x FLIP_RANK \
        -x LD_PRELOAD="$FLIP_MESSAGE" "$@"
}

expect 3 "rank 0 on .*: message from rank 1 for micro-batch 2 is damaged|message from rank 1: expected tensor .* of micro-batch 2, " \
    flipped header 0 "${run[@]}" -o out/y.npy
nothing_left out
expect 3 "rank 0 on .*: '[a-z0-9]+' of micro-batch 2 from rank 1 was damaged on its way: digest [0-9a-f]{16}, expected [0-9a-f]{16}; see to" \
    flipped payload 0 "${run[@]}" -o out/y.npy --verify-transfers
nothing_left out
for rank in 0 1; do
    expect 3 "rank $rank on .*: samples [0-9]+ to [0-9]+: exchange \(all-gather\) of '[a-z0-9]+': what came from rank $((1 - rank)) was damaged" \
        flipped exchange $rank "${run[@]}" -o out/y.npy --workers 2 --verify-transfers
    nothing_left out
done

# Nobody looks: the job ends well, with other bytes. So the bit was flipped.
for what in payload exchange; do
    workers=$([ $what = payload ] && echo 1 || echo 2)
    flipped $what 0 "${run[@]}" -o out/y.npy --workers "$workers"
    ! cmp -s one.npy out/y.npy || fail "no bit was flipped: $what"
    rm out/y.npy
done

# Where nothing is flipped nothing is found.
for workers in 1 2; do
    on 4 "${run[@]}" -o out/y.npy --workers $workers --verify-transfers
    same one.npy out/y.npy
    rm out/y.npy
done

# Ranks must all do it.
expect 3 "ranks disagree on --verify-transfers: 'yes' .* on rank 0 .*; 'no' .* on rank 1" \
    "$MPIEXEC" "${mpi_options[@]}" -n 1 "${run[@]}" -o out/y.npy --verify-transfers \
    : -n 1 "${run[@]}" -o out/y.npy
nothing_left out
