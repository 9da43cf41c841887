#!/usr/bin/env bash
# The shard-equivalence experiment: isotome's pieces are the whole's bits on
# every line, for any number of ranks and kernel family; plain BLIS's are not.
. "$ISO_SOURCE_DIR/tests/support/lib.sh"

# -- isotome: every line is equal --

on 1 "$ISOTOME" equiv --quick >one.txt || fail "pieces differ from the whole"
axes="batch out-channel rows cols group in-channel height reduction threads"
[ "$(awk '/^axis/ {on = 1; next} /^$/ {on = 0} on {print $1}' one.txt | xargs)" = "$axes" ] ||
    fail "the axes of the quick experiment"
lines=$(grep -cE '^(ResNet-50|BERT-base|GPT-2|odd) ' one.txt)
[ "$lines" -gt 400 ] || fail "$lines lines"
[ "$(grep -cE ' (1|2|3|4|8) +[12]  100\.000 +0 +0$' one.txt)" -eq "$lines" ] ||
    fail "a line that is not equal"
grep -qE "^$lines lines by isotome's arithmetic \([a-z0-9]+\), seed 1: .* equal" one.txt ||
    fail "the last line"
awk 'length > 130 {print; bad = 1} END {exit bad}' one.txt || fail "a wide table"

# Dealt to ranks, it is the same table.
on 2 "$ISOTOME" equiv --quick >two.txt
same one.txt two.txt
on 3 "$ISOTOME" equiv --quick -q --threads 1 --seed 7 >three.txt
$ISOTOME equiv --quick -q --threads 1 --seed 7 | same three.txt -
grep -q "^axis" <(head -1 three.txt) || fail "-q prints lines"

# All families of this CPU have the same bits.
families=()
for family in scalar haswell zen zen2 zen3 skx; do
    if ISOTOME_KERNELS=$family "$ISOTOME" equiv --help >/dev/null &&
        ISOTOME_KERNELS=$family "$ISOTOME" equiv --quick -q --threads 1 \
            >/dev/null 2>family.txt; then
        families+=("$family")
    else
        grep -q "this CPU cannot run" family.txt || fail "kernels of $family"
    fi
done
[ ${#families[@]} -ge 2 ] || fail "only the families ${families[*]}"
mixed=()
for family in "${families[@]}"; do
    mixed+=(: -n 1 -x "ISOTOME_KERNELS=$family" "$ISOTOME" equiv --quick -q
        --threads 1 --all-ranks)
done
"$MPIEXEC" "${mpi_options[@]}" "${mixed[@]:1}" >mixed.txt
grep -qE "^([0-9]+) of \1 lines have the same bits on all ${#families[@]} ranks$" mixed.txt ||
    fail "families differ"

# -- the control --

$ISOTOME equiv --quick --threads 1 --control blis >blis.txt || fail "the control is a measurement"
grep -qE "^[0-9]+ lines by plain BLIS .* differ from the whole$" blis.txt || fail "the control's end"
for axis in in-channel reduction; do
    awk -v axis=$axis '$1 == axis && NF == 6 && $3 < $2 && $4 < 100 && $5 > 0 {found = 1}
        END {exit !found}' blis.txt || fail "plain BLIS is equal along $axis"
done
expect 2 "family 'scalar' is no BLIS" env ISOTOME_KERNELS=scalar \
    "$ISOTOME" equiv --quick --control blis

# -- JSON and columns --

$ISOTOME equiv --quick --threads 1 --control blis --json -o out.h5:/a/blis >blis.json
python=$(command -v python3 || true)
if [ -n "$python" ]; then
    "$python" - <<'END' || fail "the JSON"
import json
table = json.load(open("blis.json"))
lines = [line for line in open("blis.txt") if line.split()[:1] != [] and "[" in line]
assert len(table["lines"]) == len(lines), len(lines)
for line, text in zip(table["lines"], lines):
    words = text.split()
    assert words[0] == line["net"] and words[1] == line["op"]
    assert words[-6:-3] == [line["axis"], str(line["pieces"]), str(line["threads"])]
    assert words[-1] == str(line["max_ulp"])
    assert line["shapes"] in text
    assert (words[-3] == "100.000") == (line["equal"] == line["elements"])
    assert abs(float(words[-3]) - 100 * line["equal"] / line["elements"]) < 0.0011
assert table["arithmetic"] == "blis" and not table["equal"] and table["ranks_agree"]
assert sum(axis["lines"] for axis in table["axes"]) == len(lines)
END
fi
for column in $(grep -oE '^ +"[a-z_]+":' blis.json | tr -d ' ":' | sort -u); do
    grep -qE "^(\.BR? |\.TP|\\\\f|.*\" )?.*\b$column\b" "$ISO_SOURCE_DIR/src/tools/isotome-equiv.1" ||
        fail "equiv.1 has no $column"
done
count=$(grep -c '"digest"' blis.json)
for column in net op shapes axis digest pieces threads elements equal max_ulp max_abs; do
    h5dump -H -d "/a/blis/$column" out.h5 | grep -q "SIMPLE { ( $count" ||
        fail "no column $column of $count lines"
done
h5dump -y -w 1 -d /a/blis/equal -o equal.txt out.h5 >/dev/null
sed -nE 's/^ +"equal": ([0-9]+),/\1/p' blis.json | diff - <(tr -d ' ,' <equal.txt | grep .) ||
    fail "the column of equal elements"
expect 1 "'out.h5' exists; give --force" "$ISOTOME" equiv --quick -o out.h5
$ISOTOME equiv --quick -q --threads 1 -o out.h5 --force >/dev/null
h5dump -H -d /max_abs out.h5 | grep -q "SIMPLE { ( $count" || fail "columns without a group"

# -- refused; no file is left --

mkdir none
expect 1 "there is no folder 'none/x'" "$ISOTOME" equiv --quick -o none/x/e.h5
expect 2 "--output: 'none/e.npy', expected FILE.h5" on 2 "$ISOTOME" equiv --quick -o none/e.npy
expect 2 "--control: 'mkl', expected blis" "$ISOTOME" equiv --control mkl
expect 2 "there is no option '--quik'; did you mean '--quick'" on 2 "$ISOTOME" equiv --quik
expect 2 "'net.h5' is no option; see isotome equiv --help" "$ISOTOME" equiv net.h5
expect 2 "--threads: ''" "$ISOTOME" equiv --threads 1,
expect 2 "--threads: '0'" "$ISOTOME" equiv --threads 0
expect 2 "--threads: more than 16" "$ISOTOME" equiv --threads 1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1
expect 2 "--seed: 'x'" "$ISOTOME" equiv --seed x
expect 2 "--json prints all lines" "$ISOTOME" equiv --json -q
expect 2 "family|ISOTOME_KERNELS" env ISOTOME_KERNELS=magic "$ISOTOME" equiv --quick -o none/e.h5
expect 3 "disagree on the experiment: .*seed 1, .*seed 2" "$MPIEXEC" "${mpi_options[@]}" \
    -n 1 "$ISOTOME" equiv --quick -o none/e.h5 : -n 1 "$ISOTOME" equiv --quick --seed 2
nothing_left none

# -- the figure --

if command -v gnuplot >/dev/null; then
    ISOTOME=$ISOTOME "$ISO_SOURCE_DIR/scripts/experiments/equiv.sh" figure --quick --threads 1 >script.txt
    grep -q '^<svg' figure/equiv.svg || fail "no figure"
    grep -q 'reduction' figure/equiv.svg || fail "a figure without axes"
    grep -q 'plain BLIS' script.txt || fail "the table of the experiment"
fi
