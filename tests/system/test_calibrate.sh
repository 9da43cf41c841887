#!/usr/bin/env bash
# Calibration: the machine file of any number of ranks is one that plan and
# run take, and it changes no bit of the output; what goes wrong is said in
# one line and leaves no file.
. "$ISO_SOURCE_DIR/tests/support/lib.sh"

$ISOTOME import "$data/fashion_cnn.onnx" -o net.h5 --scale 255 --mean 0.286 \
    --std 0.353 >/dev/null
$NPY_TOOL head "$data/images_u8.npy" 20 x.npy
on 1 "$ISOTOME" run net.h5 -i x.npy -o plain.npy -q

# -- a file for plan and run --

measured() { # FILE: figures that were measured
    grep -c '"cost": "measured"' "$1"
}
for ranks in 1 2 3; do
    on $ranks "$ISOTOME" calibrate -o "m$ranks.json" >table.txt
    # A rank and its 15 classes of work.
    [ "$(measured "m$ranks.json")" -ge $((ranks * 16)) ] ||
        fail "figures of $ranks ranks that are not measured"
    [ "$(grep -c '"host"' "m$ranks.json")" -eq "$ranks" ] || fail "ranks in m$ranks.json"
    [ "$(grep -cE '^ +[0-9]+  .*GF/s .*GB/s .* measured$' table.txt)" -eq "$ranks" ] ||
        fail "ranks in the table"
    grep -q '^other_host .* default$' table.txt || fail "one host has no links to others"
    awk 'length > 130 {print; bad = 1} END {exit bad}' table.txt || fail "a wide table"
    $ISOTOME plan net.h5 -n "$ranks" --machine "m$ranks.json" >plan.txt
    grep -q "default figures" plan.txt && fail "measured figures are not default ones"
    on $ranks "$ISOTOME" run net.h5 -i x.npy -o "y$ranks.npy" --machine "m$ranks.json" -q
    same plain.npy "y$ranks.npy"
done
# One rank sends no messages; two do.
grep -q '^same_host .* default$' <($ISOTOME calibrate -o m1.json --force) ||
    fail "the links of one rank"
grep -A6 '"same_host"' m3.json | grep -q '"cost": "measured"' || fail "the links of three"

# Every column is in the page.
page=$ISO_SOURCE_DIR/src/tools/isotome-calibrate.1
for word in $(grep -E '^(rank|work|link|collective) ' table.txt); do
    grep -qE "^\.BR? (.*\" )?$word( |\$)" "$page" || fail "calibrate.1 has no $word"
done
for class in $(awk '/^work/ {on = 1; next} /^$/ {on = 0} on {print $1}' table.txt); do
    grep -qE "^\.BR? (.*\" )?$class( |\$)" "$ISO_SOURCE_DIR/src/plan/isotome-machine.5" ||
        fail "machine.5 has no $class"
done

# -- refused --

expect 1 "'m2.json' exists; give --force" on 2 "$ISOTOME" calibrate -o m2.json
cp m2.json before.json
expect 2 "describes 3 ranks, this job has 2" on 2 "$ISOTOME" run net.h5 \
    -i x.npy -o z.npy --machine m3.json
expect 2 "3 ranks, expected 1 to 2" "$ISOTOME" plan net.h5 -n 3 --machine m2.json
same before.json m2.json
on 2 "$ISOTOME" calibrate -o m2.json --force -q --threads 2 >quiet.txt
[ ! -s quiet.txt ] || fail "-q is not quiet"
cmp -s before.json m2.json && fail "--force did not replace the file"

mkdir out
expect 1 "nowhere/m.json.*nowhere" on 2 "$ISOTOME" calibrate -o nowhere/m.json
expect 1 "'out'" on 2 "$ISOTOME" calibrate -o out --force
expect 2 "no machine file to write; give -o M.json" on 2 "$ISOTOME" calibrate
expect 2 "'net.h5' is no option; see isotome calibrate --help" \
    on 2 "$ISOTOME" calibrate net.h5 -o out/m.json
expect 2 "--threads: '0'" on 2 "$ISOTOME" calibrate -o out/m.json --threads 0
expect 2 "there is no option '--forse'; did you mean '--force'" \
    "$ISOTOME" calibrate -o out/m.json --forse
nothing_left out
on 2 "$ISOTOME" calibrate --help >help.txt
grep -q '^Usage: isotome calibrate' help.txt || fail "help in a job"

# -- files that were tampered with --

tamper() { # SED-EXPRESSION PATTERN: exit code 4 of plan and of run
    sed -E "$1" m2.json >bad.json
    cmp -s m2.json bad.json && fail "nothing was changed by $1"
    expect 4 "bad.json: $2" "$ISOTOME" plan net.h5 -n 2 --machine bad.json
    expect 4 "bad.json: $2" on 2 "$ISOTOME" run net.h5 -i x.npy -o z.npy \
        --machine bad.json
    [ ! -e z.npy ] || fail "an output in spite of a bad machine file"
}
tamper 's/"copy_bytes_per_s": .*,/"copy_bytes_per_s": 0,/' \
    "ranks\[0\]: 'copy_bytes_per_s' is 0"
tamper 's/"bytes_factor": .*,/"bytes_factor": -1.5,/' \
    "collectives.bcast: 'bytes_factor' is -1.5"
tamper 's/"conv-3x3"/"conv-3x4"/' \
    "ranks\[0\].rates: unknown member 'conv-3x4'; did you mean 'conv-3x3'"
tamper 's/"cost": "measured"/"cost": "perfect"/' "'cost' is 'perfect'|.*cost.*perfect"
tamper 's/"spread": .*,/"spread": NaN,/' "line"
