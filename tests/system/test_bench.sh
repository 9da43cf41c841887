#!/usr/bin/env bash
# isotome bench: columns and JSON on 1, 2 and 3 ranks, figures that fit
# together (not how large they are), and what is refused.
. "$ISO_SOURCE_DIR/tests/support/lib.sh"

$ISOTOME import "$data/fashion_cnn.onnx" -o net.h5 --scale 255 --mean 0.286 \
    --std 0.353 >/dev/null

# holds FILE EXPRESSION: of JavaScript, of the value j.
holds() {
    command -v node >/dev/null || return 0
    node -e "const j = JSON.parse(require('fs').readFileSync('$1'));
             const near = (a, b) => Math.abs(a - b) <= 1e-6 * Math.abs(b);
             const m = j.micro_batches;
             const stages = m.flatMap((s) => s.stages);
             if (!($2)) { process.exit(1); }" || fail "$1: $2"
}
rows() { # of table.txt: lines from the one that begins with a word to an empty one
    awk -v word="$1" '$0 ~ "^ *" word {on = 1; next} /^$/ {on = 0} on' table.txt
}

# -- figures --

for ranks in 1 2 3; do
    options=(--micro-batch 8,1,8 --repeats 2)
    [ "$ranks" -ne 3 ] || options+=(--grid 2,1)
    on "$ranks" "$ISOTOME" bench net.h5 "${options[@]}" --json "r$ranks.json" >table.txt
    awk 'length > 130 {print; bad = 1} END {exit bad}' table.txt || fail "a wide table"
    head -1 table.txt | grep -qE "^net.h5 on $ranks ranks? of cpu .*: medians of 2 repeats$" ||
        fail "the head: $(head -1 table.txt)"
    [ "$(rows 'rank  *host' | grep -c ' GF/s .* GB/s$')" -eq "$ranks" ] || fail "ranks"
    rows 'micro-batch  *latency' >sizes.txt
    [ "$(awk '{print $1}' sizes.txt | xargs)" = "1 8" ] || fail "sizes: $(cat sizes.txt)"
    n_stages=$((ranks < 3 ? ranks : 2))
    [ "$(rows 'micro-batch  *stage' | grep -c '%$')" -eq $((2 * n_stages)) ] || fail "stages"
    grep -qE "^loading .* of weights took .* GB/s; the first time " table.txt || fail "load"

    file=r$ranks.json
    holds "$file" "j.format == 'isotome-bench' && j.build.startsWith(j.version)"
    holds "$file" "/^[A-Za-z]+ [0-9.]+$/.test(j.compiler) && /-O/.test(j.flags)"
    holds "$file" "j.model == 'net.h5' && j.root_digest == '03bf638f1f022807'"
    holds "$file" "j.device.startsWith('cpu ') && j.threads == 1"
    holds "$file" "j.repeats == 2 && j.seed == 1 && j.ranks.length == $ranks"
    holds "$file" "j.ranks.every((r, i) => r.rank == i && r.host && r.cpu && r.cores)"
    holds "$file" "j.ranks.every((r) => r.peak_flops_per_s > 1e8 && r.read_bytes_per_s > 1e7)"
    holds "$file" "j.load.bytes >= 142056 && j.load.seconds > 0 && j.load.first_s > 0"
    holds "$file" "near(j.load.bytes_per_s, j.load.bytes / j.load.seconds)"
    holds "$file" "m.length == 2 && m[0].micro_batch == 1 && m[1].micro_batch == 8"
    holds "$file" "m[0].flops == 11090176 && m[1].flops == 8 * m[0].flops"
    holds "$file" "m.every((s) => s.latency_s > 0 && s.samples_per_s > 0)"
    holds "$file" "m.every((s) => s.latency_spread >= 0 && s.samples_spread >= 0)"
    holds "$file" "m.every((s) => near(s.flops_per_s, s.samples_per_s * s.flops / s.micro_batch))"
    holds "$file" "m.every((s) => near(s.latency_error + 1, s.latency_s / s.latency_planned_s))"
    holds "$file" "m.every((s) => near(s.samples_error + 1, s.samples_planned_per_s / s.samples_per_s))"
    holds "$file" "m.every((s) => s.micro_batches_in_stream >= 4 * $n_stages)"
    holds "$file" "near(m[0].peak_share, m[0].flops_per_s / j.ranks.reduce((sum, r) => sum + r.peak_flops_per_s, 0))"
    holds "$file" "m.every((s) => s.peak_bytes > 1e6 && s.peak_bytes_planned > 1e6)"
    holds "$file" "m[0].peak_bytes <= m[1].peak_bytes"
    holds "$file" "m.every((s) => s.stages.length == $n_stages)"
    holds "$file" "stages.every((t) => near(t.busy, 1 - t.wait) && t.compute > 0)"
    holds "$file" "stages.every((t) => t.compute + t.exchange + t.wait < 1.001)"
    holds "$file" "m.every((s) => s.stages.every((t) => t.busy <= s.stages[s.slowest_stage].busy))"
    holds "$file" "m[0].stages.reduce((sum, t) => sum + t.workers, 0) == $ranks"
done
holds r1.json "stages.every((t) => t.wait == 0 || t.wait < 0.5)"
holds r3.json "m.every((s) => s.stages[1].workers == 2 && s.stages[1].exchange > 0)"

# Every column and member is in the page.
page=$ISO_SOURCE_DIR/src/tools/isotome-bench.1
for word in $(grep -E '^ *(rank|micro-batch) ' table.txt | sed 's/of peak/peak/'); do
    grep -qE "^\.BR? (.*\b)?$word\b" "$page" || fail "bench.1 has no $word"
done
for word in $(grep -oE '"[a-z_]+":' r3.json | tr -d '":' | sort -u); do
    grep -qE "\b$word\b" "$page" || fail "bench.1 has no $word"
done

# -- other models and plans --

$ISOTOME plan net.h5 -n 2 --micro-batch 5 -o plan.json >/dev/null
on 2 "$ISOTOME" bench net.h5 --plan plan.json --repeats 1 --json plan.bench -q >quiet.txt
holds plan.bench "m.length == 1 && m[0].micro_batch == 5 && m[0].stages.length == 2"
[ ! -s quiet.txt ] || fail "-q is not quiet"
on 1 "$ISOTOME" bench net.h5 -b 2 --repeats 1 --threads 2 --device ref --json ref.json -q
holds ref.json "j.device.startsWith('ref') && j.threads == 2 && m[0].micro_batch == 2"

# A fixed batch, two inputs, integers among them, an output on its way.
$MAKE_MODEL fixed.onnx <<'END'
in x f32 2,16
in i i64 2
init table f32 2,16 : *.1
init w f32 16,16 : *.1
rows = Gather(table, i) axis=0
a = Add(x, rows)
b = MatMul(a, w)
c = Relu(b)
out c
out a
END
$ISOTOME import fixed.onnx -o fixed.h5 >/dev/null
on 2 "$ISOTOME" bench fixed.h5 --repeats 1 --json fixed.json -q
holds fixed.json "m.length == 1 && m[0].micro_batch == 1"

# A rank without layers does not count.
printf '%s\n' "in x f32 N,16" "init w f32 16,16 : *.1" "y = MatMul(x, w)" "out y" |
    $MAKE_MODEL small.onnx
$ISOTOME import small.onnx -o small.h5 >/dev/null
on 2 "$ISOTOME" bench small.h5 -b 4 --repeats 1 --json idle.json >table.txt
holds idle.json "near(m[0].peak_share, m[0].flops_per_s / j.ranks[0].peak_flops_per_s)"
holds idle.json "j.ranks.length == 2 && m[0].stages.length == 1"

# -- refused --

mkdir out
expect 1 "'r1.json' exists; give --force" on 2 "$ISOTOME" bench net.h5 --json r1.json
on 1 "$ISOTOME" bench net.h5 -b 3 --repeats 1 --json r1.json --force -q
holds r1.json "m[0].micro_batch == 3"
expect 2 "--force replaces the file of --json" on 1 "$ISOTOME" bench net.h5 --force
expect 2 "--micro-batch: '0'" on 2 "$ISOTOME" bench net.h5 -b 1,0
expect 2 "--micro-batch: ''" on 2 "$ISOTOME" bench net.h5 -b 1,
expect 2 "--micro-batch: more than 16 sizes" \
    on 1 "$ISOTOME" bench net.h5 -b "$(seq -s , 1 17)"
expect 2 "--repeats: '0'" on 1 "$ISOTOME" bench net.h5 --repeats 0
expect 2 "leave out --grid, .*--micro-batch" \
    on 2 "$ISOTOME" bench net.h5 --plan plan.json -b 1
expect 2 "'fixed.h5' has a fixed batch: leave out --micro-batch" \
    on 2 "$ISOTOME" bench fixed.h5 -b 2 --json out/f.json
expect 4 "none.h5.*No such file" on 2 "$ISOTOME" bench none.h5 --json out/f.json
expect 1 "nowhere/f.json" on 2 "$ISOTOME" bench net.h5 --json nowhere/f.json
expect 2 "this job has 3|is for 2 ranks" on 3 "$ISOTOME" bench net.h5 --plan plan.json \
    --json out/f.json
expect 3 "what to measure.*seed 1.*rank 0.*seed 2.*rank 1" "$MPIEXEC" "${mpi_options[@]}" \
    -n 1 "$ISOTOME" bench net.h5 -b 1 --json out/f.json \
    : -n 1 "$ISOTOME" bench net.h5 -b 1 --json out/f.json --seed 2
nothing_left out
