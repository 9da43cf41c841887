#!/usr/bin/env bash
# Packed weights that are kept for the next run: the outputs are the same with
# and without, on any grid; what cannot be used is said and replaced.
. "$ISO_SOURCE_DIR/tests/support/lib.sh"

{
    echo "in x f32 N,16,10,10"
    echo "init w f32 128,16,3,3 : *.1"
    echo "init s i64 2 : -1 1152"
    echo "init a f32 1152,80 : *.1"
    echo "init b f32 80,768 : *.1"
    echo "c = Conv(x, w) strides=3,3"
    echo "r = Relu(c)"
    echo "f = Reshape(r, s)"
    echo "m = MatMul(f, a)"
    echo "n = Tanh(m)"
    echo "y = MatMul(n, b)"
    echo "out y"
} | $MAKE_MODEL net.onnx
$ISOTOME import net.onnx -o net.h5 --weights-seed 1 >/dev/null
$ISOTOME import net.onnx -o other.h5 --weights-seed 2 >/dev/null
$NPY_TOOL random x.npy 1 3 16 10 10
for model in net other; do
    on 1 "$ISOTOME" run $model.h5 -i x.npy -o $model.npy -q
done

# again RANKS [OPTION...]: a run of net.h5 that keeps packed weights in kept; its
# messages in err.txt.
again() {
    local ranks=$1
    shift
    on "$ranks" "$ISOTOME" run net.h5 -i x.npy -o y.npy --micro-batch 1 -q \
        --force --packed kept --report report.json "$@" 2>err.txt ||
        fail "$(cat err.txt)"
    same net.npy y.npy
}

# of NAME: the sum of a member of all ranks.
of() {
    sed -n 's/^ *"weight_bytes_'"$1"'": \([0-9.e+]*\),*$/\1/p' report.json |
        awk '{sum += $1} END {print sum + 0}'
}

silent() {
    [ ! -s err.txt ] || fail "said: $(cat err.txt)"
}

first() { # nothing is there yet
    [ "$(of packed)" -eq 0 ] || fail "packed weights from nowhere"
    [ "$(of read)" -eq "$(of planned)" ] || fail "read $(of read) of $(of planned)"
    silent
}

second() { # all that is large comes packed, and nothing is read twice
    [ "$(of packed)" -gt 600000 ] || fail "only $(of packed) bytes came packed"
    [ $(($(of packed) + $(of read))) -eq "$(of planned)" ] ||
        fail "$(of packed) packed and $(of read) read of $(of planned)"
    silent
}

again 1
first
[ "$(stat -c %a kept kept/* | sort -u | tr '\n' ' ')" = "600 700 " ] ||
    fail "modes: $(stat -c '%a %n' kept kept/*)"
again 1
second
again 2 --stages 2 # the same weights
second

# Slabs, which the workers check together.
rm -r kept
again 2 --workers 2
first
again 2 --workers 2
second
again 2 --workers 2 --device ref # plain elements are kept as others
again 2 --workers 2 --device ref
second
again 3 --grid 1,2
again 3 --grid 1,2
second

# One rank finds its slabs, the other does not.
files=(kept/*)
rm "${files[@]:0:${#files[@]}/2}"
again 2 --workers 2
silent
again 2 --workers 2
second

# Damage is said, and gone the next time.
rm -r kept
again 2 --workers 2
for file in kept/*; do
    printf 'x' | dd of="$file" bs=1 seek=5000 conv=notrunc status=none
done
again 2 --workers 2
grep -q "warning: file of packed weights 'kept/.*: it is damaged; .* replaced" err.txt ||
    fail "damage was not seen: $(cat err.txt)"
[ "$(of read)" -eq "$(of planned)" ] || fail "damaged weights were used"
again 2 --workers 2
second
for file in kept/*; do
    truncate -s 4096 "$file"
done
again 2 --workers 2
grep -q "it is truncated" err.txt || fail "truncation was not seen"
again 2 --workers 2
second

# Another model's are others.
on 1 "$ISOTOME" run other.h5 -i x.npy -o y.npy -q --force --packed kept
same other.npy y.npy
again 2 --workers 2
second

# A damaged model does not get in: what is kept was verified.
cp net.h5 good.h5
rm -r kept
printf 'xxxx' | dd of=net.h5 bs=1 seek=$(($(stat -c %s net.h5) / 2)) conv=notrunc status=none
expect 4 "the file is damaged" on 2 "$ISOTOME" run net.h5 -i x.npy -o y.npy -q \
    --force --workers 2 --packed kept
nothing_left kept
mv good.h5 net.h5

# The environment names the folder, too; an empty name turns it off.
ISOTOME_PACKED=from_environment on 1 "$ISOTOME" run net.h5 -i x.npy -o y.npy -q --force
[ -n "$(ls from_environment)" ] || fail "ISOTOME_PACKED"
ISOTOME_PACKED=unused on 1 "$ISOTOME" run net.h5 -i x.npy -o y.npy -q --force --packed ''
[ ! -e unused ] || fail "--packed '' is not off"

# Folders that are not the user's own.
mkdir -m 1777 open
expect 1 "others may write in the folder of packed weights 'open': chmod go-w" \
    on 2 "$ISOTOME" run net.h5 -i x.npy -o z.npy -q --packed open
[ ! -e z.npy ] || fail "an output of a run that was refused"
expect 1 "cannot make the folder of packed weights 'none/kept'" \
    on 2 "$ISOTOME" run net.h5 -i x.npy -o z.npy -q --packed none/kept

# No space: a warning, and the run goes on.
mkdir small
if mount -t tmpfs -o size=64k,mode=700 none small 2>/dev/null; then
    trap 'umount "$work/small"; rm -rf "$work"' EXIT
    on 2 "$ISOTOME" run net.h5 -i x.npy -o y.npy -q --force --packed small 2>err.txt
    same net.npy y.npy
    grep -q "warning: packed weights are not kept.*disk full" err.txt ||
        fail "a full disk was not said: $(cat err.txt)"
    nothing_left small
fi
