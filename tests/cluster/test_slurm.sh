#!/usr/bin/env bash
# The scripts of slurm/ in a Slurm of four nodes: started by srun and by
# mpirun they write the bytes of one rank, on the hosts that they were told;
# memory is what isotome plan --slurm asks for, where a job that takes more is
# ended.
. "$ISO_SOURCE_DIR/tests/cluster/cluster.sh"

export ISOTOME_LAUNCHER ISOTOME_HOSTFILE='' ISOTOME_RUN_OPTIONS='' ISOTOME_RESTARTS=0
PATH=$scripts:$(dirname "$ISOTOME"):$PATH

$ISOTOME import "$data/fashion_cnn.onnx" -o net.h5 --scale 255 --mean 0.286 \
    --std 0.353 >/dev/null
$NPY_TOOL head "$data/images_u8.npy" 64 x.npy
on 1 "$ISOTOME" run net.h5 -i x.npy -o one.npy -q
on 1 "$ISOTOME" equiv --quick -q --threads 1 >equiv-one.txt
for samples in 1 2 3; do
    $NPY_TOOL head x.npy $samples "x$samples.npy"
    $NPY_TOOL head one.npy $samples "one$samples.npy"
done

hosts_up 4 50 10000
slurm_up 2

hosts_of() { # LOG: of the ranks, in the table
    awk '$1 ~ /^[0-9]+$/ && $2 ~ /^[0-9]+\.[0-9]+$/ {print $3}' "$1" | xargs
}

for ISOTOME_LAUNCHER in srun mpirun; do
    by=$ISOTOME_LAUNCHER

    submit "$by.txt" --nodes=4 --ntasks-per-node=1 "$scripts/run.sbatch" net.h5 \
        -i x.npy -o "$by.npy"
    same one.npy "$by.npy"
    [ "$(hosts_of "$by.txt")" = "h1 h2 h3 h4" ] || fail "$by: hosts: $(cat "$by.txt")"

    # Figures of an allocation, a plan for it, and what the plan needs.
    submit m.txt --nodes=2 --ntasks-per-node=1 "$scripts/calibrate.sbatch" -o "$by.json"
    [ "$(grep '"host"' "$by.json" | xargs)" = "host: h1, host: h2," ] ||
        fail "$by: hosts of the machine file: $(grep '"host"' "$by.json")"
    grep -q '^other_host .* measured$' m.txt || fail "$by: links: $(cat m.txt)"
    plan=("$ISOTOME" plan net.h5 -n 2 --machine "$by.json" --split balanced)
    "${plan[@]}" -o plan.json --force --hostfile >hosts.txt
    [ "$(xargs <hosts.txt)" = "h1 h2" ] || fail "$by: seats: $(cat hosts.txt)"
    mapfile -t needs < <("${plan[@]}" --slurm | sed 's/#SBATCH //')
    submit planned.txt "${needs[@]}" "$scripts/run.sbatch" net.h5 -i x.npy \
        -o "$by-planned.npy" --plan plan.json
    same one.npy "$by-planned.npy"

    # The other way round.
    tac hosts.txt >turned.txt
    ISOTOME_HOSTFILE=turned.txt submit turned.log "${needs[@]}" \
        "$scripts/run.sbatch" net.h5 -i x.npy -o "$by-turned.npy" --plan plan.json
    same one.npy "$by-turned.npy"
    [ "$(hosts_of turned.log)" = "h2 h1" ] || fail "$by: turned: $(cat turned.log)"

    submit equiv.txt "$scripts/equiv.sbatch" --quick -q --threads 1
    same equiv-one.txt equiv.txt

    printf "x%s.npy $by%s.npy\n" 1 1 2 2 3 3 >list.txt
    submit "array-%a.txt" --array=1-3 "$scripts/array.sbatch" list.txt net.h5
    for samples in 1 2 3; do
        same "one$samples.npy" "$by$samples.npy"
    done
done

# -- what ends otherwise --

ISOTOME_LAUNCHER=rsh
refused 2 "ISOTOME_LAUNCHER is 'rsh', expected srun or mpirun" "$scripts/run.sbatch" net.h5
ISOTOME_LAUNCHER=srun
ISOTOME_HOSTFILE=nowhere refused 2 "cannot read 'nowhere'" "$scripts/run.sbatch" net.h5
refused 2 "line 4 of 'list.txt' has no input and output" --array=4 \
    "$scripts/array.sbatch" list.txt net.h5
for ISOTOME_LAUNCHER in srun mpirun; do
    refused 4 "nowhere.h5" "$scripts/run.sbatch" nowhere.h5 -i x.npy -o y.npy
done
code=0
isotome-launch true 2>err.txt || code=$?
[ "$code" -eq 2 ] || fail "without a job: exit code $code"
grep -q "no Slurm job here" err.txt || fail "without a job: $(cat err.txt)"

# Memory is counted: a rank that takes more than was asked for is ended.
make_long_run
ISOTOME_LAUNCHER=srun
refused '[1-9][0-9]*' "[Ee]xceeded.* memory|oom|memory limit" --mem=16M \
    "$scripts/run.sbatch" long.h5 -i x.npy -o out/y.npy --device ref
