#!/usr/bin/env bash
# Graphs that are no chains: several inputs and outputs, values that skip
# stages, outputs of early stages, leaves as outputs, whole inputs, a fixed
# batch. The same bytes on 1 to 5 ranks, with ref and cpu.
. "$ISO_SOURCE_DIR/tests/support/lib.sh"

# Wide layers between narrow places, so that the skips cross layers: t over
# four, x to the last, m and k in the first and the last. "late" and "same"
# are one value; u is used by nothing; k is a constant once it is folded.
$MAKE_MODEL net.onnx <<'END'
in x f32 N,2
in z f32 N,2
in u f32 N,3
in m f32 2,2
init w0 f32 2,64 : *.1
init w1 f32 64,2 : *.1
init w2 f32 2,64 : *.1
init w3 f32 64,2 : *.1
init w4 f32 2,64 : *.1
init w5 f32 64,2 : *.1
init w6 f32 2,64 : *.1
init w7 f32 64,2 : *.1
init tied f32 2,64 : *.1
shape = Shape(w0)
numbers = Cast(shape) to=1
k = ReduceSum(numbers) keepdims=1
xk = Mul(x, k)
xm = MatMul(xk, m)
a0 = MatMul(xm, tied)
a1 = Relu(a0)
a2 = MatMul(a1, w1)
t = Tanh(a2)
b0 = MatMul(t, w2)
b1 = Relu(b0)
b2 = MatMul(b1, w3)
early = Add(b2, z)
c0 = MatMul(early, w4)
c1 = Relu(c0)
c2 = MatMul(c1, w5)
c3 = Tanh(c2)
d0 = MatMul(c3, tied)
d1 = Relu(d0)
d2 = MatMul(d1, w7)
d3 = Add(d2, t)
e0 = MatMul(d3, w6)
e1 = Relu(e0)
e2 = MatMul(e1, w1)
e3 = Add(e2, t)
e4 = Mul(e3, x)
e5 = MatMul(e4, m)
late = Mul(e5, k)
same = Identity(late)
out late
out t
out same
out x
out early
out k
out w3
END
$ISOTOME import net.onnx -o net.h5 --weights-seed 7 >/dev/null
layers=$($ISOTOME inspect net.h5 | awk '$1 == "layers" {print $2}')
[ "$layers" -ge 5 ] || fail "the model should have 5 layers, not $layers"

$NPY_TOOL random m.npy 1 2 2
for samples in 13 7 1 0; do
    $NPY_TOOL random x$samples.npy 2 $samples 2
    $NPY_TOOL random z$samples.npy 3 $samples 2
    $NPY_TOOL random u$samples.npy 4 $samples 3
done

# run RANKS SAMPLES DIR [OPTION...]
run() {
    local ranks=$1 samples=$2 dir=$3
    shift 3
    mkdir "$dir"
    on "$ranks" "$ISOTOME" run net.h5 -q -i x="x$samples.npy" \
        -i z="z$samples.npy" -i u="u$samples.npy" -i m=m.npy \
        -o late="$dir/late.npy" -o t="$dir/deep.h5:/a/t" \
        -o same="$dir/deep.h5:/same" -o x="$dir/x.npy" \
        -o early="$dir/early.npy" "$@"
}

same_folders() {
    diff -rq "$1" "$2" || fail "$1 and $2 differ"
}

run 1 13 whole --device ref --micro-batch 64
same whole/x.npy x13.npy
cmp -s whole/late.npy whole/early.npy && fail "two different outputs are equal"
for ranks in 1 2 3 4 5; do
    run $ranks 13 ref$ranks --device ref --micro-batch 4
    run $ranks 13 cpu$ranks --micro-batch $ranks
    same_folders whole ref$ranks
    same_folders whole cpu$ranks
done

# A smaller job gives the first rows of a larger one; so does an empty one.
for samples in 7 0; do
    run 3 $samples few$samples --micro-batch 5
    $NPY_TOOL head whole/late.npy $samples late.npy
    same late.npy few$samples/late.npy
    same x$samples.npy few$samples/x.npy
done

# Inputs from an HDF5 file; only some outputs are wanted.
on 1 "$ISOTOME" run net.h5 -q -i x=x13.npy -i z=z13.npy -i u=u13.npy \
    -i m=m.npy -o x=in.h5:/deep/x -o early=in.h5:/z
on 3 "$ISOTOME" run net.h5 -q -i x=in.h5:/deep/x -i z=z13.npy -i u=u13.npy \
    -i m=m.npy -o same=same.npy
same whole/late.npy same.npy

# Params and constants are outputs of a job of one sample.
for ranks in 1 4; do
    run $ranks 1 one$ranks -o k=one$ranks/k.npy -o w3=one$ranks/w3.npy
done
same_folders one1 one4
expect 2 "output 'k' does not follow the samples" run 3 13 refused -o k=k.npy
nothing_left refused

# A fixed batch: four rows for each pass. One pass's z serves all passes.
$MAKE_MODEL fixed.onnx <<'END'
in x f32 4,2
in z f32 4,2
init w f32 2,64 : *.1
init v f32 64,2 : *.1
a0 = MatMul(x, w)
a1 = Relu(a0)
a2 = MatMul(a1, v)
a3 = Tanh(a2)
b0 = MatMul(a3, w)
b1 = Relu(b0)
b2 = MatMul(b1, v)
b3 = Add(b2, z)
rows = ReduceSum(b3) keepdims=0
y = Mul(b3, rows)
out y
END
$ISOTOME import fixed.onnx -o fixed.h5 --weights-seed 8 >/dev/null
$NPY_TOOL random fx.npy 5 12 2
$NPY_TOOL random fz.npy 6 4 2
for ranks in 1 2 3; do
    on $ranks "$ISOTOME" run fixed.h5 -q -i x=fx.npy -i z=fz.npy -o fy$ranks.npy
    same fy1.npy fy$ranks.npy
done
$NPY_TOOL head fx.npy 4 fx4.npy
$NPY_TOOL head fy1.npy 4 fy4.npy
on 2 "$ISOTOME" run fixed.h5 -q -i x=fx4.npy -i z=fz.npy -o pass.npy
same fy4.npy pass.npy
$NPY_TOOL head fx.npy 11 fx11.npy
expect 4 "fx11.npy.*\[4,2\].*\[11,2\]" on 2 "$ISOTOME" run fixed.h5 \
    -i x=fx11.npy -i z=fz.npy -o no.npy

# A mean over the batch would depend on the micro-batch: refused.
$MAKE_MODEL mean.onnx <<'END'
in x f32 N,2
mean = ReduceMean(x) axes=0, keepdims=1
y = Sub(x, mean)
out y
END
$ISOTOME import mean.onnx -o mean.h5 >/dev/null
expect 4 "node 'mean' \(reduce_mean\) combines .* samples" \
    on 2 "$ISOTOME" run mean.h5 -i x13.npy -o no.npy
expect 4 "node 'mean'" on 1 "$ISOTOME" plan mean.h5 -n 2

# NaN in weights is allowed, and is the same NaN everywhere.
$MAKE_MODEL nan.onnx <<'END'
in x f32 N,2
init w f32 2,64 : *.1
init v f32 64,2 : *.2
init b f32 2 : nan .5
init s f32 2,64 : *.3
init f f32 64,3 : *nan
h0 = MatMul(x, w)
h1 = Relu(h0)
h2 = MatMul(h1, v)
h3 = Add(h2, b)
h4 = MatMul(h3, s)
h5 = Tanh(h4)
h6 = MatMul(h5, f)
out h3
out h6
END
$ISOTOME import nan.onnx -o nan.h5 >/dev/null
for ranks in 1 2 3; do
    for device in ref cpu; do
        on $ranks "$ISOTOME" run nan.h5 -q -i x7.npy -o h3=a.npy -o h6=b.npy \
            --force --device $device --micro-batch $((ranks + 1))
        cat a.npy b.npy >nan-$ranks-$device.bin
        same nan-1-ref.bin nan-$ranks-$device.bin
    done
done
# The last element is the canonical NaN, 0x7fc00000.
[ "$(tail -c 4 b.npy | od -An -tx1 | tr -d ' ')" = 0000c07f ] ||
    fail "a NaN weight should give the canonical NaN"
