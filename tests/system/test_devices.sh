#!/usr/bin/env bash
# Rules that place nodes on several devices, as a user gives them: the output
# bytes are those of one rank on "cpu", whatever the rule, the ranks and the
# workers; verify agrees; what is wrong with a rule is said.
#   test_devices.sh MODEL...  these models
#   test_devices.sh           what is said
. "$ISO_SOURCE_DIR/tests/support/lib.sh"

seed=20240607
RANDOM=$seed

# import_model NAME: NAME.h5 and images of it, NAME.npy.
import_model() {
    local norm=(--scale 255 --mean 0.286 --std 0.353)
    local onnx=$data/$1.onnx images=$data/images_u8.npy
    case $1 in
    resnet*)
        norm=(--scale 255 --mean .485,.456,.406 --std .229,.224,.225)
        onnx=$shared/cifar10/$1_cifar10.onnx
        images=$shared/cifar10/images_u8.npy
        ;;
    esac
    need "$onnx" "$images"
    $ISOTOME import "$onnx" -o "$1.h5" "${norm[@]}" >/dev/null
    $NPY_TOOL head "$images" 5 "$1.npy"
}

devices=(ref cpu 'throttled:200|cpu' 'throttled:90|ref' 'cpu|ref' cpu)
patterns=('*Conv*' '*Relu*' '*Add*' '*MatMul*' '*Mul*' '*/n?/*' '*1*' '*2*'
    '*.0*' '*[0-9]*' '*layer2*' '*qkv*' '/f*' '*3*' '*ool*' 'x*')

# random_rule: up to five patterns, then the rest of the nodes.
random_rule() {
    local i
    rule=
    for ((i = RANDOM % 6; i > 0; i--)); do
        rule+=${patterns[RANDOM % ${#patterns[@]}]}=
        rule+=${devices[RANDOM % ${#devices[@]}]},
    done
    rule+="*=${devices[RANDOM % ${#devices[@]}]}"
}

# placed MODEL RULE RANKS [OPTION...]: has the bytes of one rank on "cpu".
placed() {
    local model=$1 rule=$2 ranks=$3
    shift 3
    on "$ranks" "$ISOTOME" run "$model.h5" -i "$model.npy" -o out.npy -q \
        --force --device "$rule" "$@" || fail "$model: --device '$rule' $*"
    cmp "$model-one.npy" out.npy ||
        fail "$model: --device '$rule' on $ranks ranks ($*): other bytes"
}

# Ranks need not have the same rule.
differing() {
    local model=$1
    local run=("$ISOTOME" run "$model.h5" -i "$model.npy" -o out.npy -q
        --force --device)
    "$MPIEXEC" "${mpi_options[@]}" -n 1 "${run[@]}" 'throttled:100|ref' : \
        -n 1 "${run[@]}" '*1*=ref,*=cpu' : -n 1 "${run[@]}" cpu
    same "$model-one.npy" out.npy
}

if [ $# -gt 0 ]; then
    mkdir folder
    echo "seed $seed"
    for model in "$@"; do
        import_model "$model"
        on 1 "$ISOTOME" run "$model.h5" -i "$model.npy" -o "$model-one.npy" -q
        placed "$model" '*=ref' 4
        placed "$model" 'throttled:200|cpu' 1 --threads 2
        placed "$model" '*Add*=ref,*=cpu' 2 --micro-batch 2
        placed "$model" '*1*=ref,*2*=throttled:200|ref,*=cpu' 4 --workers 2
        for ranks in 1 2 3 4; do
            random_rule
            placed "$model" "$rule" $ranks
        done
        random_rule
        placed "$model" "$rule" 2 --workers 2 --micro-batch 5
        random_rule
        placed "$model" "$rule" 4 --grid 1,3 --micro-batch 3
        differing "$model"
        random_rule
        on 3 "$ISOTOME" verify "$model.h5" --random 2 --samples 2 -q \
            --folder folder --device "$rule" >verify.txt
        grep -q 'all equal' verify.txt || fail "verify: $(cat verify.txt)"
        nothing_left folder
        echo "$model: equal by every rule"
    done
    exit
fi

# ---- What is said ----

import_model fashion_cnn
mkdir out
wrong() { # CODE PATTERN RULE
    local ranks
    for ranks in 1 2; do
        expect "$1" "$2" on $ranks "$ISOTOME" run fashion_cnn.h5 \
            -i fashion_cnn.npy -o out/y.npy -q --device "$3"
        nothing_left out
    done
}
wrong 2 "no device 'tpu'; there are: ref, cpu, cuda, cudaN, throttled" tpu
wrong 2 "no device ''" '*=cpu,'
wrong 2 "place '=cpu' has no pattern" '=cpu'
wrong 2 "rate of 0 Gflop/s, expected more" 'throttled:0|cpu'
wrong 2 "'cudaN'.*'99999999'" 'cuda99999999|cpu'
wrong 2 "node '[^']+' is placed nowhere: no pattern matches it.*'\*=cpu'" \
    '*Conv*=cpu,nothing*=ref'
wrong 4 "node '[^']+': device 'throttled' does not compute [a-z_]+ in [a-z0-9]+ exactly; .*'\*=throttled\|cpu'" \
    throttled
wrong 4 "device 'cuda99': .*'\*' has no other device" \
    cuda99
wrong 4 "device 'cuda99': .*'\*Relu\*' has no other device" \
    '*Relu*=cuda99,*=cpu'
expect 2 "no device 'tpu'" on 2 "$ISOTOME" verify fashion_cnn.h5 \
    --folder out --device '*1*=cpu,*=tpu'
nothing_left out

# What a plan says of a rule: two pools between convolutions, five segments.
$ISOTOME explain fashion_cnn.h5 -n 1 --place '@max_pool=ref,*=cpu' >explain.txt
grep -qE '^ +0 +1 +ref +1 .* 1 +3.06 MiB$' explain.txt || fail "a segment"
grep -q '^5 segments; 4 values, 5.74 MiB, cross between them' explain.txt ||
    fail "segments in explain"
[ "$(grep -c "^stage 0: '.* crosses from segment" explain.txt)" -eq 4 ] ||
    fail "crossings in explain"
$ISOTOME plan fashion_cnn.h5 -n 2 --device 'throttled|cpu' >plan.txt
grep -qE '^ +1 +0 +(cpu|throttled) ' plan.txt || fail "segments in plan"
! grep -q crosses plan.txt || fail "plan names each value that crosses"
expect 2 "no device 'tpu'" "$ISOTOME" plan fashion_cnn.h5 -n 2 --place tpu
[ ! -s out.txt ] || fail "a plan was printed before its rule was read"

# A device that is not there, and others behind it: said once by each rank.
on 1 "$ISOTOME" run fashion_cnn.h5 -i fashion_cnn.npy -o one.npy -q
expect 0 "warning: device 'cuda99': .*; what is placed on it falls back" \
    on 1 "$ISOTOME" run fashion_cnn.h5 -i fashion_cnn.npy -o out.npy -q \
    --device 'cuda99|cpu'
same one.npy out.npy
on 2 "$ISOTOME" run fashion_cnn.h5 -i fashion_cnn.npy -o out.npy -q --force \
    --device '*Relu*=cuda99|ref,*=cpu' 2>err.txt
same one.npy out.npy
[ "$(grep -c "warning: device 'cuda99'" err.txt)" -eq 2 ] ||
    fail "expected a warning of each rank: $(cat err.txt)"

# The report names the devices.
on 1 "$ISOTOME" run fashion_cnn.h5 -i fashion_cnn.npy -o out.npy -q --force \
    --device '*ool*=ref,*Relu*=throttled:100|cpu,*=cpu' --report report.json
same one.npy out.npy
grep -qE '"device": "ref, 1 thread \+ throttled to 100 Gflop/s \+ cpu ' report.json ||
    fail "the report: $(grep '"device"' report.json)"

# Boundary values of a device that has its own memory go there directly, at one
# end or at both; the report says so.
direct() { # EXPECTED: bytes of rank 0, of rank 1: none or some
    local found
    found=$(grep -o '"direct_bytes": [0-9]*' report.json |
        awk '{ printf "%s ", ($2 > 0 ? "some" : "none") }')
    [ "$found" = "$1 " ] || fail "direct bytes: $found, expected $1"
}
ends() { # RULE RULE EXPECTED
    local run=("$ISOTOME" run fashion_cnn.h5 -i fashion_cnn.npy -o out.npy
        --force --micro-batch 2 --report report.json --device)
    "$MPIEXEC" "${mpi_options[@]}" -n 1 "${run[@]}" "$1" : \
        -n 1 "${run[@]}" "$2" >table.txt
    same one.npy out.npy
    direct "$3"
    [ "$(grep -c 'of messages went directly from or to' table.txt)" -eq \
        "$(grep -c some <<<"$3")" ] || fail "the table: $(cat table.txt)"
}
ends cpu cpu 'none none'
ends 'throttled:1e5|cpu' cpu 'some none'
ends cpu 'throttled:1e5|cpu' 'none some'
ends 'throttled:1e5|cpu' 'throttled:1e5|ref' 'some some'
