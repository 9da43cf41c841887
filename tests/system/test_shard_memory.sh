#!/usr/bin/env bash
# VGG-19 with seeded weights (574 MB) in one stage of four workers: each reads
# its share of every layer and no more, and peaks where the plan says, far
# below what one rank takes. The output is that of one rank.
. "$ISO_SOURCE_DIR/tests/support/lib.sh"

onnx=$shared/light/light_vgg19.onnx
need "$onnx"
$ISOTOME import "$onnx" -o vgg.h5 --weights-seed 1 --free-batch >/dev/null
$NPY_TOOL random x.npy 1 2 3 224 224
for ranks in 1 4; do
    on $ranks "$ISOTOME" run vgg.h5 -i x.npy -o y-$ranks.npy --micro-batch 1 \
        --workers $ranks --report $ranks.json >/dev/null
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
awk 'FNR == NR {model = $1; next}
     $1 >= 0.3 * model {print $1 " bytes of " model " are 30 % or more"; exit 1}
     {sum += $1}
     END {if (sum < model) {print "some weights are read by nobody"; exit 1}}' \
    bytes.txt four.txt || fail "the share of each rank"
awk '{apart = $3 > $4 ? $3 - $4 : $4 - $3
      if (apart > 0.1 * $4 + 32 * 1048576) {print "peak is not the plan'\''s: " $0; exit 1}}' \
    one.txt four.txt || fail "peak memory"
awk 'NR == 1 {whole = $3; next} $3 > most {most = $3}
     END {printf "widest worker: %.2f of one rank'\''s peak\n", most / whole; exit most >= 0.45 * whole}' \
    one.txt four.txt || fail "the widest worker holds 45 % of one rank's memory or more"
