# To be sourced after lib.sh by tests that break a run in its middle: a long
# run in the background, its processes, and its end.
job=
trap '[ -z "$job" ] || kill -KILL "$job"; rm -rf "$work"' EXIT
mkdir out

# A model, and an input of a minute's work for the ref device: long.h5, x.npy.
make_long_run() {
    {
        echo "in x f32 N,16"
        echo "init first f32 16,256 : *.1"
        echo "init w f32 256,256 : *.1"
        echo "init last f32 256,16 : *.1"
        echo "r0 = MatMul(x, first)"
        for i in 1 2 3 4 5 6 7 8; do
            echo "m$i = MatMul(r$((i - 1)), w)"
            echo "r$i = Relu(m$i)"
        done
        echo "y = MatMul(r8, last)"
        echo "out y"
    } | $MAKE_MODEL long.onnx
    $ISOTOME import long.onnx -o long.h5 --weights-seed 1 >/dev/null
    $NPY_TOOL random x.npy 1 200000 16
}

# make_table NAME WIDTH: NAME.h5, a model whose sample says by i which row of a
# table of 16 it takes; its end, made from b1, is read.
make_table() {
    {
        echo "in x f32 N,$2"
        echo "in i f32 N"
        echo "init w f32 $2,$2 : *.1"
        echo "init table f32 16,$2 : *.1"
        echo "a0 = MatMul(x, w)"
        echo "a1 = Relu(a0)"
        echo "a2 = MatMul(a1, w)"
        echo "numbers = Cast(i) to=7"
        echo "rows = Gather(table, numbers) axis=0"
        echo "b0 = Add(a2, rows)"
        echo "b1 = MatMul(b0, w)"
        cat
    } | $MAKE_MODEL "$1.onnx"
    $ISOTOME import "$1.onnx" -o "$1.h5" --weights-seed 2 >/dev/null
}

# make_rows SAMPLES BAD: ti.npy for input i, where sample BAD takes row 99.
make_rows() {
    $NPY_TOOL random ti.npy 2 "$1"
    printf '\x00\x00\xc6\x42' |
        dd of=ti.npy bs=1 seek=$((128 + 4 * $2)) conv=notrunc status=none
}

# until_true COMMAND...: within a minute, or the test fails.
until_true() {
    local tries=0
    until "$@"; do
        tries=$((tries + 1))
        [ "$tries" -lt 1200 ] || fail "waited in vain for: $*"
        sleep 0.05
    done
}

# Rows of the output have been written, under the temporary name.
is_writing() {
    [ -e out/y.npy.part ] &&
        [ "$(tail -c +129 out/y.npy.part | head -c 1024 | tr -d '\0' | wc -c)" -gt 0 ]
}

# Samples that the ledger says are finished.
finished() {
    awk '$1 == "range" { done = $3 } END { print done + 0 }' "$1"
}

# There is a ledger, and a job can go on with it.
records() {
    [ -e out/y.npy.ledger ] && [ "$(finished out/y.npy.ledger)" -gt 0 ]
}

# went_on_at SAMPLE: a job that finished by --resume did not begin anew.
went_on_at() {
    grep -q "^range $1 " out/y.npy.ledger ||
        fail "it did not go on at $1: $(cat out/y.npy.ledger)"
}

# start RANKS INPUT [OPTION...]: the long run in the background, job is its
# process, ranks those of its ranks.
start() {
    local count=$1 input=$2
    shift 2
    rm -rf "${work:?}"/out/*
    "$MPIEXEC" -n "$count" "${mpi_options[@]}" "$ISOTOME" run long.h5 -q \
        -i "$input" -o out/y.npy --device ref "$@" >log.txt 2>&1 &
    job=$!
    until_true is_writing
    ranks=$(pgrep -P "$job")
}

# The process of a rank of the job.
process_of() {
    local process
    for process in $ranks; do
        if tr '\0' '\n' <"/proc/$process/environ" |
            grep -cx "OMPI_COMM_WORLD_RANK=$1" >/dev/null; then # reads all
            echo "$process"
            return
        fi
    done
    fail "rank $1 has no process"
}

gone() {
    local process
    for process in "$job" $ranks; do
        ! kill -0 "$process" 2>/dev/null || return 1
    done
}

# parts_or_nothing: what a later job can go on with, or nothing.
parts_or_nothing() {
    case "$(ls out | tr '\n' ' ')" in
    "" | "y.npy.ledger y.npy.part ") ;;
    *) fail "left behind in out: $(ls out)" ;;
    esac
}

# ends WHAT: the job and all its processes end; code is its exit code.
ends() {
    code=0
    until_true gone
    wait "$job" || code=$?
    job=
    [ "$code" -ne 0 ] || fail "$1: a broken run ended with 0"
    [ ! -e out/y.npy ] || fail "$1: an output is under its name"
}
