#!/usr/bin/env bash
# Stages of several workers, as a user runs them: whatever the grid and the
# micro-batch, the output bytes are those of one rank, and what the workers
# send is what the plan says.
. "$ISO_SOURCE_DIR/tests/support/lib.sh"

# report_is_planned FILE: every exchange's bytes are the plan's.
report_is_planned() {
    tr -d ' ,"' <"$1" | awk -F: '
        $1 == "value" {value = $2}
        $1 == "bytes" {bytes = $2}
        $1 == "bytes_planned" {
            n++
            if (bytes != $2) {
                print value ": " bytes " bytes sent, " $2 " planned"
                exit 1
            }
        }
        END {if (n < '"$2"') {print n " exchanges, expected '"$2"' or more"; exit 1}}' ||
        fail "$1: exchanges"
}

# kinds FILE: "stage kind" of each exchange in a plan or report.
kinds() {
    sed -n '/"exchanges"/,$p' "$1" | tr -d ' ,"' |
        awk -F: '$1 == "stage" {stage = $2} $1 == "kind" {print stage, $2}'
}

# cut GRID MODEL BATCH INPUT OUT [OPTION...]: run on the grid's ranks.
cut() {
    local grid=$1 model=$2 batch=$3 input=$4 out=$5
    shift 5
    on $((${grid//,/+})) "$ISOTOME" run "$model" -i "$input" -o "$out" \
        --grid "$grid" --micro-batch "$batch" -q --force "$@"
}

$NPY_TOOL head "$data/images_u8.npy" 66 x.npy
$NPY_TOOL head x.npy 3 few.npy
$NPY_TOOL head x.npy 0 none.npy
for model in fashion_cnn fashion_vit; do
    net=$model.h5
    $ISOTOME import "$data/$model.onnx" -o $net --scale 255 --mean 0.286 \
        --std 0.353 >/dev/null
    $ISOTOME run $net -i x.npy -o one.npy -q --force
    $ISOTOME run $net -i few.npy -o few-one.npy -q --force

    # 66 samples: 64 + 2, 9 x 7 + 3, and 66 micro-batches of one, which no
    # worker can have a part of along the batch.
    for run in 2/1 2/64 3/7 3/64 4/1 4/7 4/64 2,2/7 2,2/64 1,3/7 1,3/64 \
        2,1,1/1 2,1,1/64; do
        grid=${run%/*} batch=${run#*/}
        cut $grid $net $batch x.npy cut.npy --report report.json
        same one.npy cut.npy
        report_is_planned report.json 1
        [ "$(grep -c '"weight_bytes_read"' report.json)" -eq $((${grid//,/+})) ] ||
            fail "not all ranks are in the report"
    done

    # The definition is slow.
    for grid in 4 2,1; do
        cut $grid $net 2 few.npy cut.npy --device ref
        same few-one.npy cut.npy
    done

    # More workers than samples, and stages that have no micro-batch to do.
    for run in 4/64 4/2 1,1,2/64 2,3/1 2,2/2; do
        cut ${run%/*} $net ${run#*/} few.npy cut.npy
        same few-one.npy cut.npy
    done
    cut 2,2 $net 64 none.npy cut.npy
    [ "$(stat -c %s cut.npy)" -eq 128 ] ||
        fail "no samples should give a header alone"

    # A plan, made by somebody else: the same bytes, and exchanges.
    $ISOTOME plan $net -n 4 --workers 4 -b 64 -o plan.json --force >/dev/null
    on 4 "$ISOTOME" run $net -i x.npy -o cut.npy -q --force \
        --plan plan.json --report report.json
    same one.npy cut.npy
    report_is_planned report.json 2
    same <(kinds plan.json) <(kinds report.json)
    on 4 "$ISOTOME" run $net -i x.npy -o told.npy -q --force \
        --workers 4 -b 64 --report told.json
    same one.npy told.npy
    same <(kinds plan.json) <(kinds told.json)

    on 3 "$ISOTOME" run $net -i x.npy -o $model-out.h5:/deep/logits -q --stages 2
    h5dump -d /deep/logits -b LE -o cut.bin $model-out.h5 >/dev/null
    tail -c "$(stat -c %s cut.bin)" one.npy | cmp - cut.bin ||
        fail "the HDF5 output differs from the .npy output"
    on 5 "$ISOTOME" run $net -i x.npy -o cut.npy -q --force --grid auto
    same one.npy cut.npy

    # Workers of one stage on different kernel families.
    families=()
    for family in scalar haswell zen3 skx; do
        if ISOTOME_KERNELS=$family $ISOTOME run $net -i none.npy -o family.npy \
            -q --force 2>/dev/null; then
            families+=($family)
        fi
    done
    last=${families[-1]}
    mixed=("$ISOTOME" run $net -i x.npy -o cut.npy -q --force --workers 3 -b 7)
    "$MPIEXEC" "${mpi_options[@]}" \
        -n 1 -x ISOTOME_KERNELS=scalar "${mixed[@]}" : \
        -n 1 -x ISOTOME_KERNELS="$last" "${mixed[@]}" : \
        -n 1 -x ISOTOME_KERNELS=scalar "${mixed[@]}"
    same one.npy cut.npy
    echo "$model: equal on every grid, and on scalar beside $last"
done

# A chain of convolutions is scattered once and gathered once; between stages
# of as many workers it stays in pieces.
$ISOTOME plan fashion_cnn.h5 -n 4 --workers 4 -b 64 --json >chain.json
same <(kinds chain.json) <(printf '0 scatter\n0 gather\n')
cut 2,2 fashion_cnn.h5 64 x.npy cut.npy --report pieces.json
same <(kinds pieces.json) <(printf '0 scatter\n1 gather\n')
[ "$(tr -d ' ,"' <pieces.json | awk -F: '$1 == "sent_bytes" && $2 > 0' | wc -l)" -eq 2 ] ||
    fail "each of the two first workers should send its pieces to the next stage"
