#!/usr/bin/env bash
# isotome beside oneDNN and ONNX Runtime, in turns on this machine: medians,
# ratios (over 1 is in isotome's favour), and the bars that the project sets
# itself. Minutes; nothing else should run meanwhile. Products with padding
# count, so that GF/s of a convolution may be over the peak.
#
#   scripts/bench.sh [OPTION...] [NAME...]
#
# NAME    conv mobile grouped transposed matmul resnet50 cores vit bert pipeline
#         load memory; all of them by default. cores is ResNet-50 on all cores; its
#         bars are those of a machine of 16
#   --json F       what was measured, a list of objects, each with the machine; the
#                  rows also as F with .tsv, for scripts/experiments/bench.gp
#   --build DIR    a build folder (build/release)
#   --repeats N    of each contestant (9)
#   --threads N    of vit, bert and the first lines of resnet50 (1)
#   --quick        tiny shapes and a network that the project ships, to see
#                  that everything runs; no bars
#
# ISOTOME_ORT names a folder with node_modules/onnxruntime-node; without it, and
# without libdnnl-dev when isotome was built, the rows have no peer.
set -euo pipefail
source=$(cd "$(dirname "$0")/.." && pwd)
. "$source/scripts/mpi_env.sh"
mpirun=${MPIEXEC:-mpirun}
known=(conv mobile grouped transposed matmul resnet50 cores vit bert pipeline load memory)

# ---- Options ----

usage() {
    sed -n '/^#   scripts/,/^# ISOTOME/s/^# \{0,1\}//p' "$0" >&2
    echo "bench: $*" >&2
    exit 2
}

json='' build=$source/build/release repeats=9 threads=1 quick='' names=()
while [ $# -gt 0 ]; do
    case $1 in
    --json | --build | --repeats | --threads)
        [ $# -ge 2 ] || usage "$1 without a value"
        declare "${1#--}=$2"
        shift
        ;;
    --quick) quick=yes ;;
    *)
        [[ " ${known[*]} " == *" $1 "* ]] || usage "there is no '$1'"
        names+=("$1")
        ;;
    esac
    shift
done
[[ $repeats =~ ^[1-9][0-9]*$ ]] || usage "--repeats '$repeats'"
[[ $threads =~ ^[1-9][0-9]*$ ]] || usage "--threads '$threads'"
[ ${#names[@]} -gt 0 ] || names=("${known[@]}")
build=$(cd "$build" && pwd) || usage "no folder '$build'"
[ -z "$json" ] || json=$(realpath -m "$json")
isotome=$build/src/tools/isotome
benches=$build/tests/bench
for program in "$isotome" "$benches/bench_model" \
    "$benches/bench_machine" "$benches/make_onnx"; do
    [ -x "$program" ] || usage "no $program: cmake --build $build"
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
rows=$work/rows.tsv
: >"$rows"

ort=''
if [ -z "${ISOTOME_ORT:-}" ]; then
    echo "bench: ISOTOME_ORT is not set: without ONNX Runtime"
elif ! command -v node >/dev/null; then
    echo "bench: no node: without ONNX Runtime"
    unset ISOTOME_ORT
elif [ ! -d "$ISOTOME_ORT/node_modules/onnxruntime-node" ]; then
    usage "no $ISOTOME_ORT/node_modules/onnxruntime-node"
else
    ISOTOME_ORT=$(cd "$ISOTOME_ORT" && pwd)
    export ISOTOME_ORT
    ort=yes
fi

# One thread stays on one core, the last one.
pin=()
if command -v taskset >/dev/null && [ "$threads" -eq 1 ]; then
    pin=(taskset -c "$(($(getconf _NPROCESSORS_ONLN) - 1))")
fi

# Of the machine: a core with two hardware threads is one.
cores=$({ lscpu -p=SOCKET,CORE 2>/dev/null | grep -v '^#' || seq "$(getconf _NPROCESSORS_ONLN)"; } |
    sort -u | wc -l)

# ---- Rows ----

median() { # numbers, one a line
    sort -g | awk '{v[NR] = $1} END {if (NR) print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2}'
}

# row NAME ISOTOME PEER UNIT BAR PEER_NAME [less]: as bench_rows.h; an empty
# PEER is none, "less" says that less is better.
row() {
    awk -v OFS='\t' -v name="$1" -v own="$2" -v peer="${3:-0}" -v unit="$4" \
        -v bar="$5" -v who="$6" -v less="${7:-}" -v quick="$quick" -v rows="$rows" 'BEGIN {
        ratio = peer > 0 && own > 0 ? (less ? peer / own : own / peer) : 0
        if (quick) bar = 0
        print name, sprintf("%.6g", own), sprintf("%.6g", peer), unit, sprintf("%.4f", ratio),
            sprintf("%.2f", bar), (ratio > 0 ? who : "none") >>rows
        line = sprintf("%-40s %9.2f %-9s", name, own, unit)
        if (ratio > 0) line = line sprintf(" %s %9.2f  ratio %5.2f", who, peer, ratio)
        if (ratio > 0 && bar > 0) line = line sprintf("  bar %.2f %s", bar, ratio >= bar ? "met" : "MISSED")
        print line
    }'
}

# field NAME FILE: all values of a member of a report, one a line.
field() {
    sed -n 's/^ *"'"$1"'": \([0-9.e+-]*\),*$/\1/p' "$2"
}

# ---- Models ----

# model NAME: NAME.onnx and NAME.h5, made once.
model() {
    [ ! -e "$1.h5" ] || return 0
    case $1 in
    fashion_*) cp "$source/data/$1.onnx" . ;;
    *) "$benches/make_onnx" "$1" "$1.onnx" ;;
    esac
    "$isotome" import "$1.onnx" -o "$1.h5" >/dev/null
}

# whole NAME MODEL BATCH BAR: a model in one process.
whole() {
    local bar=()
    model "$2"
    [ "$quick" ] || [ "$threads" -ne 1 ] || bar=(--bar "$4")
    "${pin[@]}" "$benches/bench_model" --name "$1" --model "$2.h5" \
        --onnx "$2.onnx" --batch "$3" --threads "$threads" \
        --repeats "$repeats" --rows "$rows" "${bar[@]}"
}

# samples MODEL COUNT: x.npy
samples() {
    local dims=(3 224 224)
    [ "$1" != fashion_cnn ] || dims=(1 28 28)
    "$build/tests/npy_tool" random x.npy 7 "$2" "${dims[@]}"
}

# run RANKS MODEL OPTION...: report.json; ranks get a core each if there are as
# many.
run() {
    local ranks=$1 net=$2 where=("${mpi_options[@]}")
    shift 2
    if [ "$ranks" -le "$cores" ]; then
        where=(--map-by core --bind-to core)
    fi
    "$mpirun" -n "$ranks" "${where[@]}" "$isotome" run "$net.h5" -i x.npy \
        -o y.npy --force -q --report report.json "$@"
}

# Of report.json, from the first micro-batch to the last.
samples_per_s() {
    awk -v n="$(field samples report.json)" -v s="$(field seconds report.json)" \
        'BEGIN {print n / s}'
}

# own_figure RANKS THREADS MEMBER MODEL BATCH: of isotome bench, with all ranks
# sharing every op.
own_figure() {
    local where=(--map-by "slot:PE=$2" --bind-to core)
    "$mpirun" -n "$1" "${where[@]}" "$isotome" bench "$4.h5" --micro-batch "$5" \
        --workers "$1" --threads "$2" --repeats 1 --json bench.json --force -q
    field "$3" bench.json
}

# ort MODEL BATCH THREADS RUNS: one line of JSON in ort.json.
ort() {
    node "$source/tests/bench/ort_bench.js" "$1.onnx" --batch "$2" \
        --threads "$3" --runs "$4" >ort.json
}
ort_ms() {
    sed 's/.*"ms":\[\([^]]*\)\].*/\1/; s/,/\n/g' ort.json | median
}
ort_field() { # NAME
    sed 's/.*"'"$1"'":\([0-9]*\).*/\1/' ort.json
}

# ---- Benches ----

image_net=resnet50 load_net=vgg19 count=192
convs=resnet50 mobile=mobile grouped=grouped transposed=transposed products=all
if [ "$quick" ]; then
    image_net=fashion_cnn load_net=fashion_cnn count=64 repeats=1
    convs=tiny mobile=tiny grouped=tiny transposed=tiny products=tiny
fi

convolutions() { # LIST
    "${pin[@]}" "$benches/bench_conv" --list "$1" --repeats "$repeats" \
        --rows "$rows" | tail -n +2
}

bench_conv() {
    convolutions "$convs"
}

bench_mobile() {
    convolutions "$mobile"
}

bench_grouped() {
    convolutions "$grouped"
}

bench_transposed() {
    convolutions "$transposed"
}

bench_matmul() {
    local list=$products m n k copies
    if [ "$ort" ]; then
        "$benches/bench_matmul" --list $list --print-models |
            while read -r m n k copies; do
                "$benches/make_onnx" products . "$m" "$n" "$k" "$copies"
            done
    fi
    "${pin[@]}" "$benches/bench_matmul" --list $list --repeats "$repeats" \
        --rows "$rows" --models . | tail -n +2
    rm -f products-*.onnx
}

bench_resnet50() {
    whole "$image_net batch 1" $image_net 1 1.1
    whole "$image_net batch 16" $image_net 16 1.1
    two_ranks
}

# Two ranks, as a pipeline and sharing every op, beside two threads.
two_ranks() {
    local i
    samples $image_net $count
    : >stages.txt
    : >workers.txt
    : >ort.txt
    for ((i = 0; i < repeats; i++)); do
        run 2 $image_net --stages 2 --micro-batch 4
        samples_per_s >>stages.txt
        run 2 $image_net --workers 2 --micro-batch 16
        samples_per_s >>workers.txt
        if [ "$ort" ]; then
            ort $image_net 16 2 3
            ort_ms | awk '{print 16e3 / $1}' >>ort.txt
        fi
    done
    local peer stages workers best
    peer=$(median <ort.txt)
    stages=$(median <stages.txt)
    workers=$(median <workers.txt)
    best=$(printf '%s\n' "$stages" "$workers" | sort -g | tail -n 1)
    row "$image_net 2 ranks in a pipeline" "$stages" "$peer" samples/s 0 "ONNX Runtime"
    row "$image_net 2 ranks sharing ops" "$workers" "$peer" samples/s 0 "ONNX Runtime"
    row "$image_net 2 ranks, the better" "$best" "$peer" samples/s 1.1 "ONNX Runtime"
}

# All cores: many images with a rank on each, one image by the ranks together
# or by the threads of one, beside as many threads.
bench_cores() {
    local i many=64 least=0 fast=0
    [ "$quick" ] && many=4
    if [ "$cores" -ge 16 ]; then
        least=1.8
        fast=0.8
    fi
    model $image_net
    : >many.txt
    : >ranks.txt
    : >threads.txt
    : >ort_many.txt
    : >ort_one.txt
    for ((i = 0; i < repeats; i++)); do
        own_figure "$cores" 1 samples_per_s $image_net $many >>many.txt
        own_figure "$cores" 1 latency_s $image_net 1 >>ranks.txt
        own_figure 1 "$cores" latency_s $image_net 1 >>threads.txt
        if [ "$ort" ]; then
            ort $image_net $many "$cores" 3
            ort_ms | awk -v n="$many" '{print 1e3 * n / $1}' >>ort_many.txt
            ort $image_net 1 "$cores" 15
            ort_ms >>ort_one.txt
        fi
    done
    local ranks threads best
    ranks=$(median <ranks.txt | awk '{print 1e3 * $1}')
    threads=$(median <threads.txt | awk '{print 1e3 * $1}')
    best=$(printf '%s\n' "$ranks" "$threads" | sort -g | head -n 1)
    row "$image_net batch $many, $cores ranks" "$(median <many.txt)" \
        "$(median <ort_many.txt)" samples/s $least "ONNX Runtime"
    row "$image_net batch 1, $cores ranks" "$ranks" "$(median <ort_one.txt)" ms 0 \
        "ONNX Runtime" less
    row "$image_net batch 1, $cores threads" "$threads" "$(median <ort_one.txt)" ms 0 \
        "ONNX Runtime" less
    row "$image_net batch 1, $cores cores, the better" "$best" \
        "$(median <ort_one.txt)" ms $fast "ONNX Runtime" less
}

bench_vit() {
    whole "vit batch 64" fashion_vit 64 1.0
}

bench_bert() {
    local layers=12
    if [ "$quick" ]; then
        layers=1
        "$benches/make_onnx" bert bert.onnx $layers
        "$isotome" import bert.onnx -o bert.h5 >/dev/null
    fi
    whole "bert encoder, $layers layers, 128 tokens" bert 1 1.0
}

# Two stages together, beside the slower of them alone on a core.
bench_pipeline() {
    local i
    model $image_net
    samples $image_net $count
    "$isotome" plan $image_net.h5 -n 2 --micro-batch 4 -o plan.json >/dev/null
    : >stages.txt
    : >slowest.txt
    for ((i = 0; i < repeats; i++)); do
        run 2 $image_net --plan plan.json
        samples_per_s >>stages.txt
        rm -f alone.tsv
        "${pin[@]}" "$benches/bench_model" --model $image_net.h5 \
            --plan plan.json --batch 4 --repeats 3 --rows alone.tsv >/dev/null
        cut -f 2 alone.tsv | sort -g | head -n 1 >>slowest.txt
    done
    row "pipeline of 2 stages" "$(median <stages.txt)" "$(median <slowest.txt)" \
        samples/s 0.95 "slowest stage alone"
}

# Loading from a file that the system has cached, and from weights that a run
# before kept packed, beside reading the file.
bench_load() {
    local i ranks bytes
    model $load_net
    samples $load_net 1
    bytes=$(stat -c %s $load_net.h5)
    for ranks in 1 4; do
        run $ranks $load_net --micro-batch 1 --packed packed
    done
    rm -f dd.txt load*.txt
    for ((i = 0; i < repeats; i++)); do
        LC_ALL=C dd if=$load_net.h5 of=/dev/null bs=1M 2>&1 |
            sed -n 's/.*copied, \([0-9.e+-]*\) s.*/\1/p' >>dd.txt
        for ranks in 1 4; do
            run $ranks $load_net --micro-batch 1
            field load_s report.json | sort -g | tail -n 1 >>load$ranks.txt
            run $ranks $load_net --micro-batch 1 --packed packed
            field load_s report.json | sort -g | tail -n 1 >>load-packed$ranks.txt
        done
    done
    gb_per_s() {
        median | awk -v b="$bytes" '{print b / $1 * 1e-9}'
    }
    for ranks in 1 4; do
        local name="$ranks rank$([ $ranks -eq 1 ] || echo s)"
        row "load, $name" "$(gb_per_s <load$ranks.txt)" \
            "$(gb_per_s <dd.txt)" GB/s 0.7 "dd"
        row "load again, packed, $name" "$(gb_per_s <load-packed$ranks.txt)" \
            "$(gb_per_s <dd.txt)" GB/s 0.7 "dd"
    done
}

# Largest resident memory of one image at a time.
bench_memory() {
    local i
    model $image_net
    samples $image_net 4
    : >own.txt
    : >peak.txt
    : >beyond.txt
    for ((i = 0; i < repeats; i++)); do
        run 1 $image_net --micro-batch 1
        field peak_bytes report.json >>own.txt
        if [ "$ort" ]; then
            ort $image_net 1 1 3
            ort_field peak_bytes >>peak.txt
            echo $(($(ort_field peak_bytes) - $(ort_field base_bytes))) >>beyond.txt
        fi
    done
    mib() {
        median | awk '{print $1 / 1048576}'
    }
    row "memory of $image_net batch 1" "$(mib <own.txt)" "$(mib <peak.txt)" MiB 1.0 \
        "ONNX Runtime" less
    [ ! "$ort" ] || row "memory, of ONNX Runtime without node" \
        "$(mib <own.txt)" "$(mib <beyond.txt)" MiB 0 "ONNX Runtime" less
}

# ---- Results ----

write_json() {
    local machine
    cp "$rows" "${json%.json}.tsv"
    machine=$(sed "s/}\$/, \"repeats\": $repeats}/" machine.json)
    awk -F '\t' -v machine="$machine" 'BEGIN {printf "["}
        {
            printf "%s\n{\"name\": \"%s\", \"isotome\": %s, \"unit\": \"%s\",", (NR > 1 ? "," : ""), $1, $2, $4
            if ($5 > 0) {
                printf " \"peer\": %s, \"peer_name\": \"%s\", \"ratio\": %s,", $3, $7, $5
            } else {
                printf " \"peer\": null, \"peer_name\": null, \"ratio\": null,"
            }
            printf " \"bar\": %s, \"machine\": %s}", ($6 > 0 ? $6 : "null"), machine
        }
        END {printf "\n]\n"}' "$rows" >"$json"
}

print_bars() {
    awk -F '\t' '$5 > 0 && $6 > 0 {
        if (!n++) printf "\n%-40s %10s %10s %-9s %6s %5s\n", "bar", "isotome", "peer", "unit", "ratio", "bar"
        met += $5 >= $6
        printf "%-40s %10.2f %10.2f %-9s %6.2f %5.2f  %s\n", $1, $2, $3, $4, $5, $6, ($5 >= $6 ? "met" : "MISSED")
    }
    END {if (n) printf "%d of %d bars are met\n", met, n}' "$rows"
}

"$benches/bench_machine" --json machine.json
# One that fails (a wrong result, say) does not keep the others from running.
failed=()
for name in "${names[@]}"; do
    echo "-- $name --"
    set +e
    (
        set -e
        "bench_$name"
    )
    [ $? -eq 0 ] || failed+=("$name")
    set -e
done
[ -z "$json" ] || write_json
print_bars
if [ ${#failed[@]} -gt 0 ]; then
    echo "bench: failed: ${failed[*]}" >&2
    exit 1
fi
