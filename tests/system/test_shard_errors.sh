#!/usr/bin/env bash
# Stages of several workers used wrongly, by mistake or on purpose, and broken
# in the middle: one line that names it, the exit code, no output, no hang.
. "$ISO_SOURCE_DIR/tests/support/lib.sh"
. "$ISO_SOURCE_DIR/tests/support/jobs.sh"

$MAKE_MODEL group.onnx <<'END'
in x f32 N,8,16,16
init w1 f32 8,4,3,3 : *.1
init w2 f32 8,8,3,3 : *.1
c0 = Conv(x, w1) group=2 pads=1,1,1,1
r0 = Relu(c0)
c1 = Conv(r0, w2) pads=1,1,1,1
y = Relu(c1)
out y
END
$ISOTOME import group.onnx -o net.h5 --weights-seed 2 >/dev/null
$NPY_TOOL random x.npy 1 7 8 16 16

# wrong CODE PATTERN RANKS [OPTION...]
wrong() {
    local code=$1 pattern=$2 ranks=$3
    shift 3
    expect "$code" "$pattern" on "$ranks" "$ISOTOME" run net.h5 -i x.npy \
        -o out/y.npy "$@"
    nothing_left out
}

# -- options --
wrong 2 "grid of 4 ranks, but there are 3" 3 --grid 2,2
wrong 2 "grid of 2 ranks, but there are 3" 3 --grid 2
wrong 2 "grid of 2 ranks, but there are 1" 1 --grid 2
wrong 2 "grid of 3 stages for a model of 2 layers" 3 --grid 1,1,1
wrong 2 "3 ranks do not make stages of 2 workers each" 3 --workers 2
wrong 2 "only 2 ranks" 2 --workers 3
wrong 2 "2 stages of 2 workers are 4 ranks, but there are 3|3 ranks do not make" 3 --stages 2 --workers 2
wrong 2 "leave out --stages and --workers" 3 --grid 3 --workers 3
wrong 2 "leave out --stages and --workers" 2 --grid auto --stages 1
# Other texts that are no numbers are a unit test's (grid_option).
wrong 2 "--grid: '' is not a whole number" 3 --grid 2,,1
wrong 2 "--workers: '0' is not a whole number" 3 --workers 0
wrong 2 "--stages: '-1' is not a whole number" 3 --stages -1
wrong 2 "split|stage" 3 --grid 2,1 --split 1,1,0
wrong 2 "1 counts|split.*1|stages" 3 --grid 2,1 --split 2

# -- plans --
$ISOTOME plan net.h5 -n 3 --workers 3 -b 6 -o plan.json >/dev/null
tr -d ' \n' <plan.json >flat.json
on 3 "$ISOTOME" run net.h5 -i x.npy -o out/y.npy -q --plan flat.json
$ISOTOME run net.h5 -i x.npy -o one.npy -q
same one.npy out/y.npy
rm out/y.npy

# edited PATTERN SED: what a changed plan is refused with.
edited() {
    sed "$2" flat.json >bad.json
    ! cmp -s flat.json bad.json || fail "no such place in the plan: $2"
    wrong 4 "^isotome: ([^:]* on [^:]*: )?bad.json: $1" 3 --plan bad.json
}
# One of each kind; the others are a unit test's (plan_file).
piece() { # PATTERN PIECES: of the first node
    edited "$1" "s/\"pieces\":\[2,2,2\]/\"pieces\":$2/"
}
piece ".*'r0' .*the pieces end at 5, expected 6" '[2,1,2]'
# Legal pieces, but not those that the plan's figures are for.
piece "parts\[0\]: 'flops' is not what this program computes" '[3,3,0]'
edited "cuts\[0\]: member 'stage' is missing" 's/"cuts":\[/&{},/'
edited "exchanges\[0\]: 'bytes'" 's/"kind":"scatter","bytes":/&1/'
edited "split: 1 counts, expected 2" 's/"grid":\[3\]/"grid":[1,2]/'
wrong 2 "plan 'plan.json' is for 3 ranks, this job has 2" 2 --plan plan.json
wrong 2 "--plan decides grid, split and micro-batch" 3 --plan plan.json --workers 3
$MAKE_MODEL other.onnx <<'END'
in x f32 N,8,16,16
init w2 f32 8,8,3,3 : *.1
r0 = Relu(x)
c1 = Conv(r0, w2) pads=1,1,1,1
y = Relu(c1)
out y
END
$ISOTOME import other.onnx -o other.h5 --weights-seed 2 >/dev/null
$ISOTOME plan other.h5 -n 3 --workers 3 -o other.json >/dev/null
wrong 3 "other.json.*made for a graph with digest" 3 --plan other.json

# -- machines --
machine() { # RANKS FLOPS
    printf '{"format": "isotome-machine", "format_version": 1, "links": {
        "same_host": {"latency_s": 2e-6, "bytes_per_s": 4e9},
        "other_host": {"latency_s": 30e-6, "bytes_per_s": 1.1e9}}, "ranks": ['
    local i
    for ((i = 0; i < $1; i++)); do
        [ "$i" -eq 0 ] || printf ','
        printf '{"host": "here", "memory_bytes": 1e9, "cost": "default",
            "flops_per_s": %s, "memory_bytes_per_s": 8e9}' "$2"
    done
    printf ']}'
}
machine 3 60e9 | sed 's/1e9, "cost"/1000000000, "cost"/' >good.json
on 3 "$ISOTOME" run net.h5 -i x.npy -o out/y.npy -q --workers 3 --machine good.json
same one.npy out/y.npy
rm out/y.npy
wrong 2 "machine file 'good.json' describes 3 ranks, this job has 2" 2 --workers 2 --machine good.json
# Other rates that are none are a unit test's (machine).
sed "s/60e9/NaN/" good.json >bad.json
wrong 4 "bad.json" 3 --workers 3 --machine bad.json

# -- ranks that were told different things --
two() { # FIRST SECOND: options of rank 0, and of ranks 1 and 2
    # shellcheck disable=SC2086
    "$MPIEXEC" "${mpi_options[@]}" \
        -n 1 "$ISOTOME" run net.h5 -i x.npy -o out/y.npy $1 : \
        -n 2 "$ISOTOME" run net.h5 -i x.npy -o out/y.npy $2
}
expect 3 "the plan.*grid 2,1, .*rank 0 .*grid 1,2, .*rank 1-2 " two "--grid 2,1" "--grid 1,2"
expect 3 "the layer split.*'2'.*rank 0 .*'1,1'.*rank 1-2 " two "--grid 3" "--grid 2,1"
expect 3 "the layer split.*none: grid of 4 ranks.*rank 0 " two "--grid 2,2" "--grid 2,1"
expect 3 "the plan|the layer split" two "--workers 3 -b 2" "--workers 3 -b 3"
# Plans that differ in a cut alone.
$ISOTOME plan net.h5 -n 3 --workers 3 -b 6 --machine good.json -o same.json >/dev/null
sed '0,/60e9/s//240e9/' good.json >uneven.json
$ISOTOME plan net.h5 -n 3 --workers 3 -b 6 --machine uneven.json -o uneven-plan.json >/dev/null
expect 3 "the plan.*'digest [0-9a-f]{16}, .*rank 0 .*'digest [0-9a-f]{16}, .*rank 1-2 " \
    two "--plan same.json" "--plan uneven-plan.json"
nothing_left out

# -- a worker that cannot compute its piece --
make_table table 256 <<'END'
y = Relu(b1)
out y
END
$ISOTOME plan table.h5 -n 3 --workers 3 -b 96 --json >table.json
tr -d ' \n' <table.json |
    grep -q '"node":"rows","cut":"split","axis":0,"along":"axis","pieces":\[32,32,32\]' ||
    fail "the plan does not share the gather"
$NPY_TOOL random tx.npy 1 300 256
# Worker 0, 1 or 2 of the second micro-batch, and one of the last, short one.
for row in 100 140 191 299; do
    make_rows 300 $row
    from=$((row / 96 * 96))
    to=$((row < 288 ? from + 95 : 299))
    for grid in 3 2,1 1,2 2,2; do
        expect 4 "samples $from to $to: node 'rows.*index 99 at place .*expected -16 to 15" \
            on $((${grid//,/+})) "$ISOTOME" run table.h5 -i x=tx.npy \
            -i i=ti.npy -o out/y.npy -b 96 --grid $grid
        nothing_left out
    done
done

# What a worker that failed sends on has no meaning: the worker that looks up
# such numbers is not who is blamed.
make_table twice 256 <<'END'
init big f32 256,4 : *.1
best = ArgMax(b1) axis=1 keepdims=0
y = Gather(big, best) axis=0
out y
END
$ISOTOME plan twice.h5 -n 3 --workers 3 -b 96 --json >twice.json
tr -d ' \n' <twice.json | grep -q '"value":"best","kind":"gather"' ||
    fail "the plan does not gather what the second gather looks up"
make_rows 300 191
expect 4 "rank 2 on .*: samples 96 to 191: node 'rows.*index 99 at place" \
    on 3 "$ISOTOME" run twice.h5 -i x=tx.npy -i i=ti.npy -o out/y.npy \
    --workers 3 -b 96
nothing_left out

# -- a worker that is gone --
make_long_run
$ISOTOME plan long.h5 -n 3 --workers 3 -b 48 --json | grep -q '"scatter"' ||
    fail "the plan gives one worker all of it"
for victim in 0 2; do
    start 3 x.npy --workers 3 --micro-batch 48
    kill -KILL "$(process_of $victim)"
    ends "worker $victim is killed"
done
