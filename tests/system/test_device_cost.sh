#!/usr/bin/env bash
# Placement by cost: calibrate measures the devices of a rule, run places by
# what it wrote, and no bit of the output depends on it.
. "$ISO_SOURCE_DIR/tests/support/lib.sh"

rule='throttled:4|cpu'
$ISOTOME import "$data/fashion_cnn.onnx" -o net.h5 --scale 255 --mean 0.286 \
    --std 0.353 >/dev/null
$NPY_TOOL head "$data/images_u8.npy" 20 x.npy
on 1 "$ISOTOME" run net.h5 -i x.npy -o plain.npy -q

# -- measured --

on 1 "$ISOTOME" calibrate --device "$rule" -o m1.json >table.txt
on 2 "$ISOTOME" calibrate --device "cost:$rule" -o m2.json -q
for ranks in 1 2; do
    [ "$(grep -c '"devices"' "m$ranks.json")" -eq "$ranks" ] || fail "ranks with devices"
    for name in throttled:4 cpu; do
        [ "$(grep -c "\"name\": \"$name\"" "m$ranks.json")" -eq "$ranks" ] ||
            fail "$name in m$ranks.json"
    done
    [ "$(grep -c '"crossing_bytes_per_s"' "m$ranks.json")" -eq $((2 * ranks)) ] ||
        fail "crossings in m$ranks.json"
done
# A throttled device computes products and sums, and no more than it may: all
# else stays as usual. The rank's figures are its.
grep -qE '^throttled:4 +0 +[1-4]\.[0-9]+ GF/s +[1-4]\.[0-9]+ GF/s .* default$' table.txt ||
    fail "a throttled device"
grep -qE '^cpu +0 .* measured$' table.txt || fail "a cpu"
grep -qE '^ +0 .* default$' table.txt || fail "the rank's figures"
grep -qE '^pool .* default$' table.txt || fail "a class that was not measured"
awk 'length > 130 {print; bad = 1} END {exit bad}' table.txt || fail "a wide table"
for word in $(grep '^device ' table.txt); do
    grep -qE "^\.BR? (.*\" )?$word( |\$)" "$ISO_SOURCE_DIR/src/tools/isotome-calibrate.1" ||
        fail "calibrate.1 has no $word"
done

# -- placed --

# A cpu that is a thousand times slower, so that products go elsewhere.
for ranks in 1 2; do
    awk '/"name":/ {cpu = /"cpu"/}
        cpu && /"flops_per_s":/ {
            match($0, /[0-9][0-9.e+-]*/)
            figure = substr($0, RSTART, RLENGTH) / 1000
            $0 = substr($0, 1, RSTART - 1) figure substr($0, RSTART + RLENGTH)
        }
        {print}' "m$ranks.json" >"slow$ranks.json"
    cmp -s "m$ranks.json" "slow$ranks.json" && fail "nothing was made slower"
    for machine in m slow; do
        on $ranks "$ISOTOME" run net.h5 -i x.npy -o y.npy --force -q -b 7 \
            --device "cost:$rule" --machine "$machine$ranks.json"
        same plain.npy y.npy
    done
done
on 2 "$ISOTOME" run net.h5 -i x.npy -o y.npy --force -q --grid 2 \
    --device "cost:cpu|throttled:4" --machine slow2.json
same plain.npy y.npy
# The plan is made from the rank's figures, whatever devices there are.
awk '/"devices":/ {skip = 1; sub(/.*/, "")}
    !skip && NF {if (held != "") print held; held = $0}
    /^ *\]/ && skip {skip = 0; sub(/,$/, "", held)}
    END {print held}' m1.json >none1.json
$ISOTOME plan net.h5 -n 1 --machine m1.json -o p1.json >/dev/null
$ISOTOME plan net.h5 -n 1 --machine none1.json -o p2.json >/dev/null
same p1.json p2.json

# -- refused --

expect 2 "figures of device 'throttled:4' for this rank: write one with isotome calibrate --device 'throttled:4\|cpu'" \
    on 1 "$ISOTOME" run net.h5 -i x.npy -o z.npy --device "cost:$rule"
expect 2 "figures of device 'throttled:3'" \
    on 2 "$ISOTOME" run net.h5 -i x.npy -o z.npy --device "cost:cpu|throttled:3" \
    --machine m2.json
[ ! -e z.npy ] || fail "an output in spite of missing figures"
expect 2 "no device 'gpu'; there are" on 1 "$ISOTOME" calibrate --device gpu -o z.json
expect 4 "device 'cuda1023' is not there" \
    on 2 "$ISOTOME" calibrate --device 'cpu|cuda1023' -o z.json
expect 3 "the devices" "$MPIEXEC" "${mpi_options[@]}" \
    -n 1 "$ISOTOME" calibrate --device cpu -o z.json : \
    -n 1 "$ISOTOME" calibrate --device 'cpu|ref' -o z.json
[ ! -e z.json ] || fail "a machine file in spite of a failure"
sed 's/"name": "cpu"/"name": "cpus"/' m1.json >bad.json
expect 4 "bad.json: ranks\[0\].devices\[1\]: 'name': no device 'cpus'" \
    "$ISOTOME" plan net.h5 -n 1 --machine bad.json
