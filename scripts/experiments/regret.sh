#!/usr/bin/env bash
# How far what the planner takes is from the best, and how far any choice by
# measurement would be: calibrate and bench_choose RUNS times, each in
# processes of their own, on 2 cores that nothing else uses. A minute a run.
#   regret.sh BUILD [RUNS]     BUILD: a release build folder; 3 runs
# For each run it prints the largest regret of what the arranger took
#   here      by the times of that run
#   medians   by the medians of all runs
# and of what was the fastest in that run, by the medians of the others: what
# someone would lose who measures every way once and then takes the best.
# Ops that bench_choose does not count, because the link was another one than
# the calibrated, are left out; how many counted is printed too.
set -euo pipefail
source=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "${1:?the build folder}" && pwd)
runs=${2:-3}
. "$source/scripts/mpi_env.sh"
export OMP_NUM_THREADS=1 BLIS_NUM_THREADS=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

for ((run = 1; run <= runs; run++)); do
    "${MPIEXEC:-mpirun}" -n 2 --bind-to core "$build/src/tools/isotome" \
        calibrate -o "m$run.json" >/dev/null
    "${MPIEXEC:-mpirun}" -n 2 --bind-to core \
        "$build/tests/bench/bench_choose" --machine "m$run.json" --all \
        >"run$run"
done

# Columns of bench_choose: an op is 30 wide, a way 24 after 4 blanks.
awk '
function trim(text) { gsub(/^ +| +$/, "", text); return text }
function median(op, way, without,    n, i, k, t, sorted) {
    n = 0
    for (i = 1; i <= runs; i++) {
        if (i != without && (i, op, way) in ms) sorted[++n] = ms[i, op, way]
    }
    for (i = 2; i <= n; i++) {
        t = sorted[i]
        for (k = i - 1; k > 0 && sorted[k] > t; k--) sorted[k + 1] = sorted[k]
        sorted[k + 1] = t
    }
    return n == 0 ? 0 : (sorted[int((n + 1) / 2)] + sorted[int(n / 2) + 1]) / 2
}
# Of a way by the medians of all runs but one (0: of all).
function regret(op, way, without,    i, one, least) {
    least = 0
    for (i = 1; i <= n_ways[op]; i++) {
        one = median(op, ways[op, i], without)
        if (one > 0 && (least == 0 || one < least)) least = one
    }
    one = median(op, way, without)
    return one > 0 && least > 0 ? 100 * (one / least - 1) : 0
}
FNR == 1 { runs++ }
/^    / && / ms predicted / {
    way = trim(substr($0, 5, 24))
    split(substr($0, 29), figures, " ")
    if (!((op, way) in known)) ways[op, ++n_ways[op]] = way
    known[op, way] = 1
    ms[runs, op, way] = figures[4]
    if (!((runs, op) in fastest) || figures[4] < ms[runs, op, fastest[runs, op]])
        fastest[runs, op] = way
    next
}
/ % .* % .* %$/ && !/regret median/ {
    op = trim(substr($0, 1, 30))
    if (!(op in n_ways)) { ops[++n_ops] = op; n_ways[op] = 0 }
    here[runs, op] = $(NF - 1)
    split(substr($0, 63), parts, "%")
    taken[runs, op] = trim(substr(parts[3], 1, 24))
}
END {
    for (i = 1; i <= runs; i++) {
        a = b = c = n = 0
        for (k = 1; k <= n_ops; k++) {
            op = ops[k]
            if (!((i, op) in here)) continue
            n++
            if (here[i, op] + 0 > a) a = here[i, op] + 0
            r = regret(op, taken[i, op], 0)
            if (r > b) { b = r; where = op ": " taken[i, op] }
            r = regret(op, fastest[i, op], i)
            if (r > c) c = r
        }
        printf "run %d: %d ops, largest regret here %.1f %%, by medians %.1f %% (%s);" \
            " of the fastest, by the other runs, %.1f %%\n", i, n, a, b, where, c
    }
}' run*
