#!/usr/bin/env bash
# Cores: the report says which ones each rank may run on, and rank 0 warns in
# one line when ranks share one, or have more threads than cores; else nothing
# is said, also not where ranks take turns on purpose.
. "$ISO_SOURCE_DIR/tests/support/lib.sh"

$ISOTOME import "$data/fashion_cnn.onnx" -o net.h5 --scale 255 --mean 0.286 \
    --std 0.353 >/dev/null
$NPY_TOOL head "$data/images_u8.npy" 20 x.npy

# run RANKS WORDS-BEFORE-ISOTOME... -- OPTION...: table.txt, err.txt, r.json
run() {
    local ranks=$1 before=()
    shift
    while [ "$1" != -- ]; do
        before+=("$1")
        shift
    done
    shift
    on "$ranks" "${before[@]}" "$ISOTOME" run net.h5 -i x.npy -o y.npy --force \
        --report r.json "$@" >table.txt 2>err.txt
}
cores() { # of all ranks, as the report has them
    sed -n 's/^ *"cores": "\(.*\)",$/\1/p' r.json | xargs
}
column() { # of all ranks, as the table has them
    awk '$1 ~ /^[0-9]+$/ && $2 ~ /^([0-9]+\.[0-9]+|idle)$/ {print $4}' table.txt | xargs
}
silent() {
    [ ! -s err.txt ] || fail "not silent: $(cat err.txt)"
}
warned() { # PATTERN: one line, and this one
    [ "$(grep -c '^isotome: ' err.txt)" -eq 1 ] || fail "one warning: $(cat err.txt)"
    grep -qE "^isotome: warning: host [^ ]*: $1" err.txt || fail "no '$1': $(cat err.txt)"
}

allowed() { # PROCESS: its cores
    sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' "/proc/$1/status"
}
all=$(allowed self)
run 1 -- --threads 1
silent
[ "$(cores)" = "$all" ] || fail "cores: $(cores), not $all"
[ "$(column)" = "${all:0:7}" ] || [ "${#all}" -gt 7 ] || fail "the column: $(column)"

# More ranks than cores, bound to none.
run 4 --
silent
[ "$(cores)" = "$all $all $all $all" ] || fail "cores of four: $(cores)"

# More threads than cores.
few=$(env -u OMP_NUM_THREADS nproc)
run 1 -- --threads $((few + 1))
warned "rank 0 has $((few + 1)) threads and may use cores? $all alone: .*PE=$((few + 1)).*fewer --threads"

# Bound, which takes two cores that can be told apart.
if [ "$few" -lt 2 ] || [ "$(allowed 1)" != "$all" ]; then
    echo "skipped: bound ranks, with $few cores"
    exit 0
fi
first=${all%%[-,]*}
run 1 taskset -c "$first" --
silent
[ "$(cores)" = "$first" ] || fail "cores of one bound rank: $(cores)"
run 2 taskset -c "$first" --
warned "ranks 0-1, of 2 threads together, share core $first: .*mpirun --bind-to core, or fewer"
[ "$(cores)" = "$first $first" ] || fail "cores of two bound ranks: $(cores)"
[ "$(column)" = "$first $first" ] || fail "the column of two: $(column)"
run 3 taskset -c "$first" -- -q
warned "ranks 0-2, of 3 threads"
[ ! -s table.txt ] || fail "-q has a table"
run 2 taskset -c "$first" -- --threads 2
warned "rank 0 has 2 threads and may use core $first alone"
on 2 taskset -c "$first" "$ISOTOME" calibrate -o m.json -q 2>all.txt
grep 'warning: host ' all.txt >err.txt # what it measures is odd as well
warned "ranks 0-1, of 2 threads"
# Watched values are not timed: verify says nothing.
on 2 taskset -c "$first" "$ISOTOME" verify net.h5 >/dev/null 2>err.txt
silent
