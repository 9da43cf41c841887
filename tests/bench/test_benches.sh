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

machine="kernels [a-z0-9]+; peak of one core $number GF/s, copies $number GB/s\$"

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

# -- two workers --

"$ISO_SOURCE_DIR/tests/bench/bench_shards.sh" "$BENCHES/../.." --quick >shards.txt
lines 2 "^[12] workers? +$number samples/s \(planned +$number\)" shards.txt
lines 1 "^speedup +$number +\(planned +$number\)" shards.txt
