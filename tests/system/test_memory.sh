#!/usr/bin/env bash
# VGG-19 on four ranks of 512 MiB each, none of which could hold it alone (one
# layer has 72 % of the weights): every rank reads its own weights and no
# others, and peaks where the plan says.
. "$ISO_SOURCE_DIR/tests/support/lib.sh"
. "$ISO_SOURCE_DIR/tests/support/vgg.sh"

$NPY_TOOL random x.npy 1 4 3 224 224
ranks_of_512_mib() {
    printf '{"format": "isotome-machine", "format_version": 1, "links": {
        "same_host": {"latency_s": 2e-6, "bytes_per_s": 4e9},
        "other_host": {"latency_s": 30e-6, "bytes_per_s": 1.1e9}}, "ranks": ['
    local comma=
    for _ in $(seq "$1"); do
        printf '%s{"host": "here", "memory_bytes": 536870912, "cost": "default",
            "flops_per_s": 60e9, "memory_bytes_per_s": 8e9}' "$comma"
        comma=,
    done
    printf ']}'
}
ranks_of_512_mib 4 >four-machine.json
ranks_of_512_mib 1 >one-machine.json
expect 2 "does not fit on 1 rank" "$ISOTOME" plan vgg.h5 -n 1 --machine one-machine.json
run_vgg 1
run_vgg 4 --machine four-machine.json
compare_with_plan
awk '{sum += $1} END {print sum}' four.txt >sum.txt
same sum.txt <(awk '{print $1 + 0}' one.txt)
fullest_under 0.8
