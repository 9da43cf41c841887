#!/usr/bin/env bash
# Every call that writes fails, one after the other, for good as on a full disk
# or once: one line that says so, exit code 1, and no file is left; or the call
# is one that can be done without, and all files are complete.
. "$ISO_SOURCE_DIR/tests/support/lib.sh"

$ISOTOME import "$data/fashion_cnn.onnx" -o net.h5 --scale 255 --mean 0.286 \
    --std 0.353 >/dev/null
$NPY_TOOL head "$data/images_u8.npy" 20 x.npy
mkdir out expected
export ISO_FAULT_FOLDER=$work/out ISO_FAULT_MARK=$work/mark
asan=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0

# faulty N ERROR RANKS ARGUMENT...: isotome, whose n-th call fails.
faulty() {
    local at=$1 error=$2 ranks=$3
    shift 3
    on "$ranks" env ASAN_OPTIONS="$asan:detect_leaks=0" LD_PRELOAD="$WRITE_FAULT" \
        ISO_FAULT_AT="$at" ISO_FAULT_ERROR="$error" "$ISOTOME" "$@"
}

# What is in out is whole and as it was without faults.
is_complete() {
    local file
    for file in expected/*; do
        cmp -s "$file" "out/${file##*/}" || return 1
    done
}

# is_resumed RANKS ARGUMENT...: of a run whose samples were finished before the
# fault the parts are left, and another try completes them.
is_resumed() {
    local ranks=$1
    shift
    compgen -G 'out/*.ledger' >/dev/null || return
    on "$ranks" "$ISOTOME" "$@" --resume >/dev/null || fail "not resumed: $*"
    rm -f out/*.ledger out/report.json
    is_complete || fail "resumed, but not all of it: $*"
}

# sweep NAME RANKS ARGUMENT...: all calls of one command, until none is left.
sweep() {
    local name=$1 ranks=$2 error n code refused
    shift 2
    rm -rf out expected
    mkdir out
    on "$ranks" "$ISOTOME" "$@" >/dev/null
    mv out expected
    rm -f expected/report.json # has times
    for error in ENOSPC EIO; do
        n=0
        refused=0
        while true; do
            n=$((n + 1))
            [ "$n" -lt 300 ] || fail "$name: no end of faults"
            mkdir out
            rm -f mark
            code=0
            faulty "$n" "$error" "$ranks" "$@" >out.txt 2>err.txt || code=$?
            if [ "$code" -eq 0 ]; then
                is_complete || fail "$name: call $n: done, but not all of it"
            else
                [ "$code" -eq 1 ] || fail "$name: call $n: code $code: $(cat err.txt)"
                [ "$(grep -c '^isotome: ' err.txt)" -eq 1 ] ||
                    fail "$name: call $n: not one line: $(cat err.txt)"
                grep -qE "^isotome: .*out/.*(No space left|Input/output error)" err.txt ||
                    fail "$name: call $n: $(cat err.txt)"
                # A report that fails at the very end does not take the output.
                { grep -q "out/report.json" err.txt && rm -f out/report.json &&
                    is_complete; } || is_resumed "$ranks" "$@" || nothing_left out
                refused=$((refused + 1))
            fi
            rm -rf out
            [ -e mark ] || break
        done
        [ "$refused" -gt 1 ] || fail "$name: only $refused of $n calls matter"
        echo "$name: $error: $((n - 1)) calls, $refused of them refused"
    done
}

sweep import 1 import "$data/fashion_cnn.onnx" -o out/net.h5
sweep plan 1 plan net.h5 -n 2 -o out/plan.json
sweep npy 1 run net.h5 -q -i x.npy -o out/y.npy
sweep hdf5 1 run net.h5 -q -i x.npy -o out/y.h5:/g/y --report out/report.json
sweep ranks 2 run net.h5 -q -i x.npy -o out/y.npy --report out/report.json
