#!/usr/bin/env bash
# The benches run, briefly, and print what they should: one line for each
# thing that is measured, numbers in it, and a sum. No time is looked at.
# ctest gives BENCHES, their folder, besides what support/lib.sh is given.
. "$ISO_SOURCE_DIR/tests/support/lib.sh"

number='-?[0-9]+\.[0-9]+'

# lines COUNT PATTERN FILE
lines() {
    local found
    found=$(grep -cE -- "$2" "$3" || true)
    if [ "$found" -ne "$1" ]; then
        cat "$3" >&2
        fail "$found lines like '$2', expected $1"
    fi
}

machine="kernels [a-z0-9]+; peak of one core $number GF/s, copies $number GB/s, reads $number GB/s\$"

# -- blocks and tree --

"$BENCHES/bench_tree" --quick >tree.txt
lines 1 "$machine" tree.txt
lines 5 "^matmul .* +[0-9]+ x +[0-9]+  chain +$number GF/s  blocks and tree +$number GF/s  cost +$number %" tree.txt
lines 4 "^conv [13]x[13] .*  chain +$number GF/s  blocks and tree +$number GF/s  cost +$number %" tree.txt
lines 3 "^(products|convolutions|all): [0-9]+ shapes, median cost $number %, worst $number %" tree.txt

# -- choosing --

on 2 "$BENCHES/bench_choose" --quick --all >choose.txt
lines 1 "$machine" choose.txt
lines 1 "^2 workers, default figures: give those of this machine" choose.txt
lines 4 "^[a-z].* $number %" <(grep -vE '^(chooser|arranger|predictions)' choose.txt)
lines 4 "^    whole .* predicted .* measured .* error" choose.txt
for way in 'out-channel 2' 'height 2' 'reduction 2' 'batch\(0\) 2' 'batch\(1\) 2'; do
    lines 1 "^    $way " choose.txt
done
lines 3 "^    rows 2 " choose.txt
lines 2 "^(chooser|arranger): 4 ops, regret median $number %, worst $number %" choose.txt
lines 1 "^predictions: .error. median $number % of what was chosen, $number % of all [0-9]+ ways" choose.txt
expect_usage() { # PATTERN COMMAND...
    local pattern=$1
    shift
    "$@" >usage.txt 2>&1 && fail "not refused: $*"
    grep -qE -- "$pattern" usage.txt || fail "expected '$pattern': $(cat usage.txt)"
}
expect_usage "'--qick' is none of: --repeats N --quick" "$BENCHES/bench_tree" --qick
expect_usage "--repeats.*'0'" "$BENCHES/bench_tree" --repeats 0
expect_usage "--repeats without a value" "$BENCHES/bench_tree" --repeats
expect_usage "run it on 2 to 64 ranks" "$BENCHES/bench_choose" --quick

# -- planning --

"$BENCHES/bench_plan" --quick >plan.txt
lines 6 "^(residual|attention) +[0-9]+ nodes, +[0-9]+ layers, grid [0-9a-z]+ +$number s to plan" plan.txt
"$BENCHES/bench_plan" --quick --only 8x2 >plan.txt
lines 2 " grid 8x2 " plan.txt
"$BENCHES/bench_arrange" --quick >arrange.txt
lines 15 "^(residual|attention|different) .* workers: +$number s to arrange" arrange.txt
"$BENCHES/bench_place" --quick >place.txt
lines 18 "^(chain|residual|attention) +[0-9]+ nodes, [238] devices, (near|far ): +$number s to place" place.txt

# -- two workers --

"$ISO_SOURCE_DIR/tests/bench/bench_shards.sh" "$BENCHES/../.." --quick >shards.txt
lines 2 "^[12] workers? +$number samples/s \(planned +$number\)" shards.txt
lines 1 "^speedup +$number +\(planned +$number\)" shards.txt

# -- beside other libraries --

# Whatever is missing has no row of its own, or a row without a peer.
unset ISOTOME_ORT
peer=".* ratio +$number"
"$BENCHES/bench_conv" --list tiny --repeats 1 --rows conv.tsv >conv.txt
if grep -q '^built without oneDNN' conv.txt; then
    peer=
else
    lines 1 "^tiny geomean +$number GF/s +oneDNN [0-9.]+ +$number +ratio +$number\$" conv.txt
fi
lines 1 "$machine" conv.txt
lines 6 "^tiny .*[0-9]>[0-9]+ @[0-9]+ +$number GF/s$peer" conv.txt
tab=$'\t'
lines 6 "^tiny [^$tab]*[0-9]$tab[0-9.e+-]+$tab[0-9.e+-]+${tab}GF/s$tab$number${tab}0.00$tab" conv.tsv
"$BENCHES/bench_matmul" --list tiny --print-models >models.txt
printf '1 1 1 1\n7 33 65 1\n1 40 300 2\n4 64 16 2\n' >expected.txt
same models.txt expected.txt
"$BENCHES/bench_matmul" --list tiny --repeats 1 >matmul.txt
lines 3 "^matmul [0-9x]+ +$number GF/s$peer" matmul.txt
lines 2 "^matmul [14]x[0-9x]+ weights +$number GB/s +reading +$number +ratio +$number\$" matmul.txt
expect_usage "no list 'huge'" "$BENCHES/bench_conv" --list huge
expect_usage "no list 'huge'" "$BENCHES/bench_matmul" --list huge
expect_usage "over 101 repeats" "$BENCHES/bench_conv" --repeats 102
expect_usage "usage: make_onnx" "$BENCHES/make_onnx" vgg16 net.onnx
expect_usage "--model M.h5 is needed" "$BENCHES/bench_model"

# -- networks that are made, and all of it together --

"$BENCHES/make_onnx" bert bert.onnx 1
"$ISOTOME" import bert.onnx -o bert.h5 >import.txt
lines 1 "^parameters 7087872\$" import.txt
"$BENCHES/make_onnx" resnet50 resnet50.onnx
"$ISOTOME" import resnet50.onnx -o resnet50.h5 >import.txt
lines 1 "^parameters 25530472\$" import.txt
"$BENCHES/bench_model" --model bert.h5 --repeats 1 --batch 2 --name both >model.txt
lines 1 "^both +$number samples/s" model.txt
rm resnet50.* bert.*

"$ISO_SOURCE_DIR/scripts/bench.sh" --build "$BENCHES/../.." --quick --json b.json >bench.txt
lines 1 "^bench: ISOTOME_ORT is not set: without ONNX Runtime\$" bench.txt
lines 12 "^-- [a-z0-9]+ --\$" bench.txt
lines 2 "^load, [14] ranks? +$number GB/s +dd +$number +ratio +$number\$" bench.txt
lines 2 "^load again, packed, [14] ranks? +$number GB/s +dd +$number +ratio +$number\$" bench.txt
lines 1 "^pipeline of 2 stages +$number samples/s +slowest stage alone +$number +ratio" bench.txt
lines 3 "^fashion_cnn 2 ranks,? .* $number samples/s" bench.txt
lines 1 "^fashion_cnn batch 4, [0-9]+ ranks +$number samples/s" bench.txt
lines 3 "^fashion_cnn batch 1, [0-9]+ (ranks|threads|cores, the better) +$number ms" bench.txt
lines 1 "^memory of fashion_cnn batch 1 +$number MiB" bench.txt
lines 0 "MISSED| bars are met" bench.txt
lines "$(wc -l <b.tsv)" '^\{"name": "[^"]+", "isotome": [0-9.e+-]+, "unit": "[^"]+", "peer": (null, "peer_name": null, "ratio": null|[0-9.e+-]+, "peer_name": "[^"]+", "ratio": [0-9.]+), "bar": null, "machine": \{"cpu": "[^"]+", "processors": [0-9]+, "fma_peak_gflops": [0-9.]+, "copy_gb_per_s": [0-9.]+, "read_gb_per_s": [0-9.]+, "compiler": "[^"]+", "flags": "[^"]+", "kernels": "[a-z0-9]+", "commit": "[^"]+", "repeats": 1\}\},?$' b.json
expect_usage "there is no 'fast'" "$ISO_SOURCE_DIR/scripts/bench.sh" fast
expect_usage "--repeats '0'" "$ISO_SOURCE_DIR/scripts/bench.sh" --repeats 0
