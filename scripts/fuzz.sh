#!/usr/bin/env bash
# Builds the targets of tests/fuzz and runs each for some seconds, as many at
# once as there are processors.
#   scripts/fuzz.sh [SECONDS [TARGET...]]     30 seconds, all targets
# What breaks a reader is left in build/fuzz/found; build/fuzz/tests/fuzz/fuzz_TARGET FILE
# does it again. What libFuzzer learns stays in build/fuzz/corpus for the next run.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-30}
shift || true
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(model graph plan machine npy split device_map)

cmake --preset fuzz >/dev/null
cmake --build --preset fuzz
cd build/fuzz
rm -rf tmp
mkdir -p corpus found tmp
export TMPDIR=$PWD/tmp
tests/fuzz/make_seeds corpus

# One target: a last line of its counts, or all that it said.
run_target() {
    local target=$1 log=corpus/$1.log
    mkdir -p "corpus/$target"
    if ! ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=0 \
        UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 \
        "tests/fuzz/fuzz_$target" -max_total_time="$seconds" -timeout=10 \
        -max_len=65536 -len_control=0 -malloc_limit_mb=64 -rss_limit_mb=2048 \
        -artifact_prefix="found/$target-" -print_final_stats=1 \
        "corpus/$target" "corpus/$target-seeds" >"$log" 2>&1; then
        grep -aE '^fuzz: |ERROR: |SUMMARY: |runtime error: |/(src|tests)/|Test unit written' \
            "$log" >&2
        echo "fuzz: $target: broken; all of it is in build/fuzz/$log" >&2
        return 1
    fi
    echo "fuzz: $target: $(grep -oE 'number_of_executed_units: *[0-9]+' "$log" |
        grep -oE '[0-9]+$') runs"
}
export -f run_target
export seconds
printf '%s\n' "${targets[@]}" |
    xargs -P "$(nproc)" -I '{}' bash -c 'run_target {}'
