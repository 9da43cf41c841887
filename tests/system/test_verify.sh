#!/usr/bin/env bash
# isotome verify: random plans, given plans and given inputs, on several
# numbers of ranks; what it prints; how it is misused. Its temporary folder is
# gone in any case.
#   test_verify.sh          fashion_cnn, and how it is used
#   test_verify.sh MODEL... these models alone
. "$ISO_SOURCE_DIR/tests/support/lib.sh"

mkdir folder

# import_model NAME: NAME.h5; skips the test when there is no such file.
import_model() {
    local norm=(--scale 255 --mean .485,.456,.406 --std .229,.224,.225)
    local onnx=$shared/cifar10/$1_cifar10.onnx
    case $1 in
    fashion_*)
        onnx=$data/$1.onnx
        norm=(--scale 255 --mean 0.286 --std 0.353)
        ;;
    esac
    need "$onnx"
    $ISOTOME import "$onnx" -o "$1.h5" "${norm[@]}" >/dev/null
}

# verify RANKS MODEL [OPTION...]: to out.txt; nothing else is said.
verify() {
    local ranks=$1
    shift
    on "$ranks" "$ISOTOME" verify "$@" --folder folder >out.txt 2>err.txt ||
        fail "exit code $?: $* on $ranks: $(cat out.txt err.txt)"
    nothing_left folder
    [ ! -s err.txt ] || fail "unexpected words on stderr: $(cat err.txt)"
}

# says LINES PATTERN: out.txt has so many lines, the last one like that.
says() {
    [ "$(wc -l <out.txt)" -eq "$1" ] ||
        fail "expected $1 lines: $(cat out.txt)"
    tail -1 out.txt | grep -qE -- "^$2$" || fail "expected '$2': $(tail -1 out.txt)"
}

# random RANKS MODEL PLANS SEED
random() {
    local line='plan [0-9]+: [0-9]+ ranks?, grid [0-9,]+, split [0-9,]+'
    line+=', micro-batch [0-9]+, [12] threads?'
    line+='(, cuts at random by seed [0-9]+)?: [0-9]+ pieces equal'
    verify "$1" "$2.h5" --random "$3" --seed "$4"
    says $(($3 + 1)) "$3 plans: [0-9]+ pieces of values and [0-9]+ outputs, all equal to the whole run's"
    [ "$(grep -cxE -- "$line" out.txt)" -eq "$3" ] ||
        fail "expected lines like '$line': $(cat out.txt)"
    # Each plan has its output compared, and a value of each of its ranks.
    tail -1 out.txt | awk -v plans="$3" '{exit !($3 >= plans && $8 >= plans)}' ||
        fail "too little is compared: $(tail -1 out.txt)"
    echo "$2 on $1: $(tail -1 out.txt)"
}

if [ $# -gt 0 ]; then
    for model in "$@"; do
        import_model "$model"
        plans=20
        [ "$model" != resnet56 ] || plans=5
        random 1 "$model" 4 1
        random 3 "$model" $plans 2
        random 4 "$model" $plans 3
    done
    exit
fi

import_model fashion_cnn
net=fashion_cnn.h5
random 1 fashion_cnn 8 1
random 3 fashion_cnn 40 2
grep -q 'cuts at random' out.txt || fail "no cuts at random"
grep -vq 'cuts at random' out.txt || fail "no cuts of the planner's"
grep -qE 'grid [2-9]' out.txt || fail "no stage of several workers"
cp out.txt first.txt
random 3 fashion_cnn 40 2
same first.txt out.txt
random 4 fashion_cnn 40 3

# One plan: what the options ask for, or a file.
verify 3 $net
says 2 "1 plan: [0-9]+ pieces of values and 1 output, all equal to the whole run's"
verify 3 $net --grid 2,1 --micro-batch 1 --samples 5 --threads 2 -q
says 1 "1 plan: [0-9]+ pieces of values and 2 outputs, all .*"
verify 4 $net --workers 4 --device ref
grep -q '^plan 1: 4 ranks, micro-batch 3, 1 thread: [0-9]* pieces equal$' out.txt ||
    fail "unexpected line: $(cat out.txt)"
$ISOTOME plan $net -n 3 --workers 3 -b 2 -o plan.json >/dev/null
verify 3 $net --plan plan.json
grep -q '^plan 1: 3 ranks, plan.json: [0-9]* pieces equal$' out.txt ||
    fail "unexpected line: $(cat out.txt)"
expect 2 "plan.json.* 3 ranks|plan.json.*world" on 2 "$ISOTOME" verify $net --plan plan.json --folder folder
nothing_left folder

# Inputs from files.
$NPY_TOOL head "$data/images_u8.npy" 9 x.npy
verify 3 $net -i x.npy --grid 1,2 -b 4
says 2 "1 plan: [0-9]+ pieces .*"
verify 3 $net -i x.npy --random 5
says 6 "5 plans: [0-9]+ pieces .*"
$NPY_TOOL random float.npy 1 4 1 28 28
$NPY_TOOL head x.npy 0 none.npy
expect 4 "float.npy.*must be u8" on 3 "$ISOTOME" verify $net -i float.npy --folder folder
expect 2 "no samples" on 3 "$ISOTOME" verify $net -i none.npy --folder folder
nothing_left folder

# A model whose batch is fixed, with two outputs.
$MAKE_MODEL fixed.onnx <<'END'
in x f32 2,600
init w f32 600,24 : *.1
m = MatMul(x, w)
y = Relu(m)
out y
out m
END
$ISOTOME import fixed.onnx -o fixed.h5 --weights-seed 3 >/dev/null
$NPY_TOOL random fixed.npy 1 6 600
for ranks in 1 3; do
    verify $ranks fixed.h5 --random 6
    says 7 "6 plans: [0-9]+ pieces of values and 12 outputs, .*"
done
verify 3 fixed.h5 -i fixed.npy --workers 3
says 2 "1 plan: 9 pieces of values and 2 outputs, .*"

# Wrong use, and what is not there: a message, no hang, nothing left behind.
wrong() { # CODE PATTERN [OPTION...]
    local code=$1 pattern=$2 ranks
    shift 2
    for ranks in 1 3; do
        expect "$code" "$pattern" on $ranks "$ISOTOME" verify "$@"
        nothing_left folder
    done
}
wrong 1 "temporary files in 'nowhere': No such file.*--folder" $net --folder nowhere
wrong 1 "temporary files in 'x.npy': Not a directory" $net --folder x.npy
wrong 2 "no model file" --folder folder
wrong 2 "--random: '0' is not" $net --random 0
wrong 2 "--samples: '0' is not" $net --samples 0
wrong 2 "--seed: '-1' is not" $net --seed -1
wrong 2 "device" $net --device tpu --folder folder
wrong 2 "--random decides grid, split and micro-batch" $net --random 2 --grid 3
wrong 2 "--plan decides grid, split and micro-batch" $net --plan plan.json -b 2
wrong 2 "leave out one of them" $net --plan plan.json --random 3
wrong 2 "leave out one of them" $net -i x.npy --samples 3
wrong 2 "leave out --threads" $net --random 2 --threads 2
wrong 2 "leave out --seed" $net -i x.npy --seed 2
wrong 2 "grid of 5 ranks" $net --grid 2,3 --folder folder
wrong 2 "no input 'z'" $net -i z=x.npy --folder folder
wrong 4 "none.h5.*No such file" none.h5 --folder folder
wrong 4 "absent.npy.*No such file" $net -i absent.npy --folder folder
wrong 4 "none.json" $net --plan none.json --folder folder
wrong 4 "none.json" $net --machine none.json --folder folder
# Ranks that were told different things refuse.
told() { # FIRST SECOND: options of rank 0, and of ranks 1 and 2
    # shellcheck disable=SC2086
    "$MPIEXEC" "${mpi_options[@]}" \
        -n 1 "$ISOTOME" verify $net --folder folder $1 : \
        -n 2 "$ISOTOME" verify $net --folder folder $2
}
expect 3 "grid 2,1.*rank 0 .*grid 1,2.*rank 1-2 " told "--grid 2,1 --split 3,3" "--grid 1,2 --split 3,3"
expect 3 "what to verify.*'3 random plans, seed 1.*rank 0 .*'0 random plans.*rank 1-2 " told "--random 3" ""
expect 3 "what to verify.*seed 5, .*seed 6," told "--random 3 --seed 5" "--random 3 --seed 6"
expect 3 "what to verify.*9 samples.*3 samples" told "-i x.npy" ""
expect 3 "what to verify.*1 input files.*0 input files" told "-i x.npy" "--samples 9"
cp x.npy changed.npy
printf '\x55' | dd of=changed.npy bs=1 seek=200 conv=notrunc status=none
expect 3 "the inputs.*changed.npy.*x.npy" told "-i changed.npy" "-i x.npy"
nothing_left folder
