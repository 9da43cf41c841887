#!/usr/bin/env bash
# What a user sees: help, versions, usage errors, the text of inspect and
# plan, JSON, man pages, and what cmake --install puts where.
. "$ISO_SOURCE_DIR/tests/support/lib.sh"

commands=(import inspect calibrate plan explain run bench verify equiv)
$ISOTOME import "$data/fashion_cnn.onnx" -o net.h5 --scale 255 --mean 0.286 \
    --std 0.353 >import.txt
$NPY_TOOL head "$data/images_u8.npy" 20 x.npy

# like FILE: the same text but for digests and the version.
like() {
    diff <(sed -E 's/\b[0-9a-f]{16}\b/DIGEST/g; s/isotome [0-9.]+$/isotome VERSION/' "$1") - ||
        fail "unexpected text in $1"
}

# -- help and versions --

version=$($ISOTOME --version)
[[ $version =~ ^isotome\ [0-9]+\.[0-9]+\.[0-9]+$ ]] || fail "version: $version"
[ "$($ISOTOME -V)" = "$version" ] || fail "-V"
$ISOTOME --help >help.txt
for command in help '-?'; do
    $ISOTOME "$command" | same help.txt -
done
[ "$(sed -nE 's/^  ([a-z]+) .*/\1/p' help.txt | xargs)" = "${commands[*]}" ] ||
    fail "the commands of isotome --help"
for command in "${commands[@]}"; do
    [ "$($ISOTOME "$command" --version)" = "$version" ] || fail "$command --version"
    $ISOTOME "$command" --help >"help-$command.txt" 2>&1
    $ISOTOME "$command" '-?' | same "help-$command.txt" -
    head -1 "help-$command.txt" | grep -qE "^Usage: isotome $command \[OPTION...\]( NET| -o M|$)" ||
        fail "usage line of $command"
    $ISOTOME "$command" --usage | grep -qE "^Usage: isotome $command " ||
        fail "$command --usage"
    awk 'length > 80 {bad = 1} END {exit bad}' "help-$command.txt" ||
        fail "$command --help is wider than a terminal"
done

# -- usage errors: one line, exit code 2 --

expect 2 "no command; see isotome --help" "$ISOTOME"
expect 2 "there is no command 'pln'; did you mean 'plan'\?" "$ISOTOME" pln
expect 2 "there is no command '--jsn'; see isotome --help" "$ISOTOME" --jsn
for command in import inspect plan explain run bench verify; do
    operand='model file'
    [ "$command" = import ] && operand='ONNX file'
    expect 2 "no $operand; see isotome $command --help" on 1 "$ISOTOME" "$command"
    expect 2 "one $operand, not also 'b'" on 1 "$ISOTOME" "$command" a b
    expect 2 "there is no option '--xyz=3'; see isotome $command --help" \
        on 1 "$ISOTOME" "$command" a --xyz=3
done
expect 2 "one model file, not also '-b'" "$ISOTOME" plan a -- -b
expect 2 "there is no option '-zq'; see" "$ISOTOME" plan a -zq
expect 2 "there is no option '--x{58}'; see" "$ISOTOME" plan \
    "--$(printf 'x%.0s' {1..3000})"
expect 2 "there is no option '--outptu=x'; did you mean '--output'" \
    "$ISOTOME" plan --outptu=x a
expect 2 "option '--output' needs a value \(.*; see isotome plan" \
    "$ISOTOME" plan a --output
expect 2 "option '-o' needs a value" "$ISOTOME" plan a -o
expect 2 "option '--force' takes no value" "$ISOTOME" plan --force=1 a
# The first error counts, and nothing after it.
expect 2 "no option '--xyz'" "$ISOTOME" plan --xyz --help
expect 2 "--ranks: 'x'" "$ISOTOME" plan -n x --xyz a b
expect 2 "option '--batch' needs a value" "$ISOTOME" plan net.h5 --batch
expect 2 "there is no option '--ba'|needs a value" "$ISOTOME" plan net.h5 --ba
expect 2 "no model file to write; give -o NET.h5" "$ISOTOME" import net.onnx
expect 2 "no number of ranks; give -n RANKS" "$ISOTOME" plan net.h5
expect 2 "--ranks: '0' is not a whole number from 1" "$ISOTOME" plan net.h5 -n 0
expect 2 "--batch: '1e3' is not a whole number" "$ISOTOME" inspect net.h5 --batch 1e3
expect 2 "--graph: 'svg', expected text or dot" "$ISOTOME" inspect net.h5 --graph svg
expect 2 "leave out --json and --weights" "$ISOTOME" inspect net.h5 --graph dot --json
expect 2 "--scale: '0', expected more than 0" "$ISOTOME" import a -o b --scale 0
expect 2 "'--mean'|--mean" "$ISOTOME" import a -o b --mean 1,,2

# Rank 0 speaks for all ranks of a job; all give the same code.
for words in 'net.h5 a' 'net.h5 --xyz' 'net.h5 --threads 0'; do
    # shellcheck disable=SC2086
    expect 2 "^isotome: [^r]" on 3 "$ISOTOME" run $words
done
on 2 "$ISOTOME" run --help >help-job.txt
grep -q '^Usage: isotome run' help-job.txt || fail "help in a job"

# -- files that are there, or not --

expect 4 "none.onnx.*No such file" "$ISOTOME" import none.onnx -o none.h5
expect 4 "none.h5.*No such file" "$ISOTOME" inspect none.h5
expect 4 "none.h5.*No such file" "$ISOTOME" plan none.h5 -n 2
expect 4 "none.json.*No such file" "$ISOTOME" plan net.h5 -n 2 --machine none.json
expect 1 "'net.h5' exists; give --force" "$ISOTOME" import "$data/fashion_cnn.onnx" -o net.h5
echo precious >plan.json
expect 1 "'plan.json' exists; give --force" "$ISOTOME" plan net.h5 -n 2 -o plan.json
[ "$(cat plan.json)" = precious ] || fail "an existing plan was touched"

# -- import and inspect --

like import.txt <<'EOF'
operators 14
layers 6
nodes 13
weights 12
parameters 35514
bytes 142056 (139 KiB)
EOF
$ISOTOME inspect net.h5 >inspect.txt
like inspect.txt <<'EOF'
model net.h5
producer isotome VERSION
root digest DIGEST
input x u8 [N,1,28,28]
output logits f32 [N,10]
free N
layers 6
nodes 13
weights 12
parameters 35514
bytes 142056 (139 KiB)
flops 11090176 (11.1 M, batch 1)
EOF
grep -qx "root digest 03bf638f1f022807" inspect.txt || fail "root digest"
$ISOTOME inspect net.h5 --weights --batch 100 >weights.txt
grep -qx "flops 1109017600 (1.11 G, batch 100)" weights.txt || fail "flops of a batch"
tail -n 12 weights.txt | head -n 3 >list.txt
like list.txt <<'EOF'
weight fc.bias f32 [10] 40 DIGEST
weight fc.weight f32 [10,64] 2560 DIGEST
weight onnx::Conv_53 f32 [16,1,3,3] 576 DIGEST
EOF
[ "$(awk '$1 == "weight" {sum += $5} END {print sum}' weights.txt)" -eq 142056 ] ||
    fail "bytes of the listed weights"
$ISOTOME inspect net.h5 --graph dot | grep -q '^digraph' || fail "--graph dot"
$ISOTOME inspect net.h5 --graph text | grep -q 'x = input u8 \[N,1,28,28\]' || fail "--graph text"

# -- plan --

decided=(--micro-batch 32 --samples 1000 --split 1,2,3)
$ISOTOME plan net.h5 -n 3 "${decided[@]}" --ranks-per-host 2 >plan.txt
like plan.txt <<'EOF'
6 layers on 3 of 3 ranks, micro-batch 32
split 1,2,3 (explicit), rank 0 holds the last layers; fingerprint 4616629
plan DIGEST, graph DIGEST

rank  stage  host   layers   weights  activations   buffers      peak  received     sent  flops  compute     send
   0      2  host0       5  8.04 KiB     1.25 KiB  16.2 KiB  36.7 MiB     8 KiB      0 B   41 k  2.65 us     0 ns
   1      1  host0     3-4   108 KiB      980 KiB  1.55 MiB  39.3 MiB   784 KiB    8 KiB  174 M  5.28 ms  4.05 us
   2      0  host1     0-2  37.4 KiB     3.25 MiB  1.56 MiB  41.5 MiB       0 B  784 KiB  181 M  6.13 ms   760 us
 all                     6   139 KiB                                                      355 M

weights to peak are bytes in memory; received to send are for one micro-batch: bytes,
floating-point operations, predicted times
1000 samples in 32 micro-batches: 226 ms, 42.4 % of the ranks' time idle while the pipeline fills and drains
note: times are from default figures, not from measurements of the machine
EOF
$ISOTOME plan net.h5 -n 8 >idle.txt
grep -qx "6 layers on 6 of 8 ranks, micro-batch 64" idle.txt || fail "ranks that are idle"
grep -qx "note: ranks 6 to 7 stay idle: the model has only 6 layers" idle.txt ||
    fail "note on idle ranks"
# Another grid is proposed when nobody asked for one, and not for many ranks.
grep -qE '^note: --grid [0-9,]+ is predicted to be faster: .* for 1024 samples,$' idle.txt ||
    fail "no grid is proposed"
for words in '8 --split even' '8 --stages 2' 65 100000; do
    # shellcheck disable=SC2086
    $ISOTOME plan net.h5 -n $words >asked.txt || fail "plan -n $words"
    ! grep -q "predicted to be faster" asked.txt || fail "plan -n $words proposes"
done
expect 2 "8 ranks for a model of 6 layers: at most 6" "$ISOTOME" plan net.h5 -n 8 --strict
expect 2 "the layer split holds 7 layers, but the model has 6" \
    "$ISOTOME" plan net.h5 -n 2 --split 3,4

machine() { # BYTES OF MEMORY
    local rank='"flops_per_s": 110e9, "memory_bytes_per_s": 12e9, "cost": "measured"'
    cat <<EOF
{"format": "isotome-machine", "format_version": 1,
 "links": {"same_host": {"latency_s": 1e-6, "bytes_per_s": 6e9},
           "other_host": {"latency_s": 3e-6, "bytes_per_s": 11e9}},
 "ranks": [{"host": "n1", "memory_bytes": $1, $rank},
           {"host": "n2.with.a.long.name", "memory_bytes": $1, $rank}]}
EOF
}
machine 17179869184 >machine.json
machine 1000000 >small.json
$ISOTOME plan net.h5 -n 2 --machine machine.json >measured.txt
grep -q "^ *1 *0  n2.with.a.long.n  " measured.txt || fail "hosts of the machine file"
grep -q "default figures" measured.txt && fail "measured figures are not default ones"
awk 'length > 130 {print; bad = 1} END {exit bad}' measured.txt plan.txt idle.txt ||
    fail "a line over 130 columns"
expect 2 "3 ranks, expected 1 to 2, which the machine has" \
    "$ISOTOME" plan net.h5 -n 3 --machine machine.json
expect 2 "leave out --ranks-per-host" \
    "$ISOTOME" plan net.h5 -n 2 --machine machine.json --ranks-per-host 1
expect 2 "does not fit.* rank [01] .*would need .* but has" \
    "$ISOTOME" plan net.h5 -n 2 --machine small.json
expect 2 "does not fit: rank 0 on n1 would need 4.* MiB but has 977 KiB" \
    "$ISOTOME" plan net.h5 -n 2 --machine small.json --split even

# -- a plan is replayed --

$ISOTOME plan net.h5 -n 3 "${decided[@]}" -o plan.json --force >/dev/null
$ISOTOME plan net.h5 -n 3 "${decided[@]}" --json | diff plan.json - ||
    fail "plan -o and plan --json differ"
on 3 "$ISOTOME" run net.h5 -i x.npy -o y.npy --plan plan.json >table.txt
on 1 "$ISOTOME" run net.h5 -i x.npy -o one.npy -q >quiet.txt 2>&1
same one.npy y.npy
[ ! -s quiet.txt ] || fail "-q is not quiet"
grep -q "^20 samples in micro-batches of 20 took .* samples/s on cpu" table.txt ||
    fail "the line under the table"
awk 'length > 130 {print; bad = 1}
     NR > 2 && $1 ~ /^[0-9]$/ && ($2 != 2 - $1 ".0" || NF != 21) {print; bad = 1}
     END {exit bad}' table.txt || fail "the table of a run"
expect 2 "leave out --grid, .*--micro-batch" on 1 "$ISOTOME" run net.h5 -i x.npy \
    -o z.npy --plan plan.json --micro-batch 4

# -- JSON --

# holds FILE EXPRESSION: of JavaScript, of the value j.
holds() {
    command -v node >/dev/null || return 0
    node -e "const j = JSON.parse(require('fs').readFileSync('$1'));
             if (!($2)) { process.exit(1); }" || fail "$1: $2"
}
$ISOTOME inspect net.h5 --json --weights --batch 2 >inspect.json
holds inspect.json "j.model == 'net.h5' && j.root_digest == '03bf638f1f022807'"
holds inspect.json "j.layers == 6 && j.nodes == 13 && j.weights == 12"
holds inspect.json "j.parameters == 35514 && j.bytes == 142056"
holds inspect.json "j.flops == 22180352 && j.batch == 2 && j.free[0] == 'N'"
holds inspect.json "j.inputs[0].dtype == 'u8' && j.inputs[0].shape[0] == 'N'"
holds inspect.json "j.outputs[0].name == 'logits' && j.outputs[0].shape[1] === 10"
holds inspect.json "j.weight_list.reduce((sum, w) => sum + w.bytes, 0) == j.bytes"
holds plan.json "j.split.join() == '1,2,3' && j.micro_batch == 32 && j.world == 3"
holds plan.json "j.parts.every((s, i) => s.rank == i && s.stage == 2 - i)"

# -- man pages --

# Options of the page and of --help are the same, in any order.
options='--[a-z-]+|-[A-Za-z?]'
in_page() {
    awk '/^\.SH/ {on = $2 == "OPTIONS"}
         on && tag && /^\.B/ {gsub(/\\-/, "-"); print}
         {tag = /^\.T[PQ]/}' "$1" | grep -oE -- "$options" | sort -u
}
in_help() {
    sed -nE '/^ {2,6}-/ {s/^ +//; s/  .*//; p}' "$1" |
        grep -oE -- "(^|[ ,])($options)" | grep -oE -- "$options" | sort -u
}
pages=$ISO_SOURCE_DIR/src
for command in "${commands[@]}"; do
    page=$pages/tools/isotome-$command.1
    [ "$(in_help "help-$command.txt" | wc -l)" -ge 7 ] || fail "options of $command --help"
    diff <(in_help "help-$command.txt") <(in_page "$page") ||
        fail "options of --help (<) and of $page (>)"
    grep -q "isotome-$command (1)" "$pages/tools/isotome.1" ||
        fail "isotome.1 does not name $command"
done
# What inspect, plan and run print is in their pages.
for word in $(awk '{print $1}' inspect.txt); do
    grep -q "\"$word " "$pages/tools/isotome-inspect.1" || fail "inspect.1 has no $word"
done
for word in $(grep '^rank ' plan.txt); do
    grep -qE "^\.BR? (.*\" )?$word( |\$)" "$pages/tools/isotome-plan.1" ||
        fail "plan.1 has no $word"
done
for word in $(grep '^rank ' table.txt); do
    grep -qE "^\.BR? .*\b$word\b" "$pages/tools/isotome-run.1" || fail "run.1 has no $word"
done
if command -v man >/dev/null; then
    for page in "$pages"/*/*.[157] "$ISO_SOURCE_DIR"/slurm/*.7; do
        warnings=$(man --warnings -E UTF-8 -l -Tutf8 "$page" 2>&1 >/dev/null)
        [ -z "$warnings" ] || fail "$page: $warnings"
    done
fi

# -- nothing that everybody may write to, whatever the umask --

(
    umask 000
    mkdir open
    $ISOTOME import "$data/fashion_cnn.onnx" -o open/net.h5 >/dev/null
    $ISOTOME plan open/net.h5 -n 2 -o open/plan.json >/dev/null
    on 1 "$ISOTOME" run net.h5 -q -i x.npy -o open/y.npy --report open/report.json
    on 1 "$ISOTOME" run net.h5 -q -i x.npy -o open/y.h5:/y
)
[ "$(find open -mindepth 1 | wc -l)" -eq 5 ] || fail "files in $(ls open)"
[ -z "$(find open -mindepth 1 -perm -o+w)" ] || fail "everybody may write: $(ls -l open)"

# -- installing --

if command -v cmake >/dev/null; then
    cmake --install "$(dirname "$ISOTOME")/../.." --prefix "$work/prefix" >/dev/null
    [ "$(prefix/bin/isotome --version)" = "$version" ] || fail "the installed program"
    for page in "$pages"/*/*.[157] "$ISO_SOURCE_DIR"/slurm/*.7; do
        same "$page" "prefix/share/man/man${page: -1}/$(basename "$page")"
    done
    for header in "$ISO_SOURCE_DIR"/include/isotome/*.h; do
        same "$header" "prefix/include/isotome/$(basename "$header")"
    done
    for script in "$ISO_SOURCE_DIR"/slurm/*.sbatch; do
        same "$script" "prefix/share/isotome/slurm/$(basename "$script")"
    done
    same "$ISO_SOURCE_DIR/slurm/isotome-launch" prefix/bin/isotome-launch
    [ -x prefix/bin/isotome-launch ] || fail "isotome-launch is no program"
fi
