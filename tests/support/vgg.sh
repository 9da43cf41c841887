# To be sourced after lib.sh: VGG-19 with seeded weights (574 MB) on one rank
# and on four, and what each rank read and took of what was planned.
onnx=$shared/light/light_vgg19.onnx
need "$onnx"
$ISOTOME import "$onnx" -o vgg.h5 --weights-seed 1 --free-batch >/dev/null

# run_vgg RANKS [OPTION...]: y-RANKS.npy and RANKS.json.
run_vgg() {
    local ranks=$1
    shift
    on "$ranks" "$ISOTOME" run vgg.h5 -i x.npy -o "y-$ranks.npy" \
        --micro-batch 1 "$@" --report "$ranks.json" >/dev/null
}

# One "rank weight_bytes_read planned peak planned" line for each rank.
figures() {
    tr -d ' ,"' <"$1" | awk -F: '
        $1 == "weight_bytes_read" {read = $2}
        $1 == "weight_bytes_planned" {planned = $2}
        $1 == "peak_bytes" {peak = $2}
        $1 == "peak_bytes_planned" {print read, planned, peak, $2}'
}

# one.txt and four.txt: the figures of the two runs, as they were planned; the
# outputs are the same.
compare_with_plan() {
    same y-1.npy y-4.npy
    figures 1.json >one.txt
    figures 4.json >four.txt
    [ "$(wc -l <four.txt)" -eq 4 ] || fail "no figures of four ranks"
    cat one.txt four.txt
    awk '$1 != $2 {print "weights read differ from the plan: " $0; exit 1}' \
        one.txt four.txt || fail "bytes read"
    awk '{apart = $3 > $4 ? $3 - $4 : $4 - $3
          if (apart > 0.1 * $4 + 32 * 1048576) {print "peak is not the plan'\''s: " $0; exit 1}}' \
        one.txt four.txt || fail "peak memory"
}

# The fullest of four ranks takes less than this share of one rank's peak.
fullest_under() {
    awk -v share="$1" 'NR == 1 {whole = $3; next} $3 > most {most = $3}
        END {printf "fullest rank: %.2f of one rank'\''s peak\n", most / whole
             exit most >= share * whole}' \
        one.txt four.txt || fail "the fullest rank takes $1 of one rank's memory or more"
}
