#!/usr/bin/env bash
# VGG-19 with seeded weights (574 MB) on four ranks of 512 MiB each, none of
# which could hold it alone (one layer has 72 % of the weights): every rank
# reads its own weights and no others, and peaks where the plan says.
. "$ISO_SOURCE_DIR/tests/support/lib.sh"

onnx=$shared/light/light_vgg19.onnx
need "$onnx"
$ISOTOME import "$onnx" -o vgg.h5 --weights-seed 1 --free-batch >/dev/null
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
for ranks in 1 4; do
    machine=()
    [ $ranks -eq 1 ] || machine=(--machine four-machine.json)
    on $ranks "$ISOTOME" run vgg.h5 -i x.npy -o y-$ranks.npy --micro-batch 1 \
        "${machine[@]}" --report $ranks.json >/dev/null
done
same y-1.npy y-4.npy
$ISOTOME inspect vgg.h5 | awk '$1 == "bytes" {print $2}' >bytes.txt

# One "rank weight_bytes_read planned peak planned" line for each rank.
figures() {
    tr -d ' ,"' <"$1" | awk -F: '
        $1 == "weight_bytes_read" {read = $2}
        $1 == "weight_bytes_planned" {planned = $2}
        $1 == "peak_bytes" {peak = $2}
        $1 == "peak_bytes_planned" {print read, planned, peak, $2}'
}
figures 1.json >one.txt
figures 4.json >four.txt
[ "$(wc -l <four.txt)" -eq 4 ] || fail "no figures of four ranks"
cat one.txt four.txt
awk '$1 != $2 {print "weights read differ from the plan: " $0; exit 1}' \
    one.txt four.txt || fail "bytes read"
awk '{sum += $1} END {print sum}' four.txt >sum.txt
same sum.txt <(awk '{print $1 + 0}' one.txt)
awk '{apart = $3 > $4 ? $3 - $4 : $4 - $3
      if (apart > 0.1 * $4 + 32 * 1048576) {print "peak is not the plan'\''s: " $0; exit 1}}' \
    one.txt four.txt || fail "peak memory"
awk 'NR == 1 {whole = $3; next} $3 > most {most = $3}
     END {printf "widest rank: %.2f of one rank'\''s peak\n", most / whole; exit most >= 0.8 * whole}' \
    one.txt four.txt || fail "the widest rank holds 80 % of one rank's memory or more"
