#!/usr/bin/env bash
# What starts a plan's ranks: the lines for Slurm, and the host of each rank,
# for any machine file. (tests/cluster gives them to a Slurm.)
. "$ISO_SOURCE_DIR/tests/support/lib.sh"

$ISOTOME import "$data/fashion_cnn.onnx" -o net.h5 --scale 255 --mean 0.286 \
    --std 0.353 >/dev/null

# Peak bytes of the ranks of a plan, one to a line.
peaks() {
    sed -n 's/^ *"peak_bytes": \([0-9]*\),$/\1/p' "$1"
}
# Of the sum of some peaks: a tenth more and 64 MiB, in whole MiB.
megabytes() {
    awk '{sum += $1} END {bytes = sum + int(sum / 10) + 64 * 2 ^ 20
        print int((bytes + 2 ^ 20 - 1) / 2 ^ 20)}'
}
slurm() { # OPTION...: the lines, as one
    $ISOTOME plan net.h5 "$@" --slurm | sed 's/^#SBATCH //' | xargs
}
equal() {
    [ "$1" = "$2" ] || fail "found '$1', expected '$2'"
}

$ISOTOME plan net.h5 -n 4 -o four.json >/dev/null
equal "$(slurm -n 4)" "--nodes=1 --ntasks=4 --ntasks-per-node=4 --cpus-per-task=1 --mem=$(
    peaks four.json | megabytes
)M"
first=$(peaks four.json | head -2 | megabytes)
last=$(peaks four.json | tail -2 | megabytes)
equal "$(slurm -n 4 --ranks-per-host 2 --threads 3)" "--nodes=2 --ntasks=4 --ntasks-per-node=2 --cpus-per-task=3 --mem=$(
    printf '%s\n' "$first" "$last" | sort -n | tail -1
)M"
# The last node has fewer; a rank without layers has the program's 28 MiB.
layers=$(sed -n 's/^ *"layer_count": \([0-9]*\),$/\1/p' four.json)
$ISOTOME plan net.h5 -n "$layers" -o most.json >/dev/null
equal "$(slurm -n $((layers + 2)))" "--nodes=1 --ntasks=$((layers + 2)) --ntasks-per-node=$((layers + 2)) --cpus-per-task=1 --mem=$(
    { peaks most.json; echo $((28 << 20)); echo $((28 << 20)); } | megabytes
)M"
[[ "$(slurm -n 3 --ranks-per-host 2)" == "--nodes=2 --ntasks=3 --cpus-per-task=1 --mem="* ]] ||
    fail "nodes that are not alike"

# A machine file whose ranks are on hosts of these names.
machine() {
    local host ranks=
    for host in "$@"; do
        ranks+="${ranks:+, }{\"host\": \"$host\", \"memory_bytes\": 4e9,
            \"flops_per_s\": 1e9, \"memory_bytes_per_s\": 1e9, \"cost\": \"measured\"}"
    done
    echo "{\"format\": \"isotome-machine\", \"format_version\": 1, \"links\": {
        \"same_host\": {\"latency_s\": 1e-6, \"bytes_per_s\": 1e9},
        \"other_host\": {\"latency_s\": 1e-4, \"bytes_per_s\": 1e8}}, \"ranks\": [$ranks]}" |
        sed 's/4e9/4000000000/'
}
hosts() { # OPTION...: of each rank
    $ISOTOME plan net.h5 --machine m.json "$@" --hostfile | xargs
}
machine north south north south >m.json
equal "$(hosts -n 4)" "north north south south"
equal "$(hosts -n 4 --grid 2,2)" "north north south south"
[[ "$(slurm -n 4 --machine m.json)" == "--nodes=2 --nodelist=north,south --ntasks=4 --ntasks-per-node=2 "* ]] ||
    fail "nodes by name"
machine a a a b b b >m.json
equal "$(hosts -n 6 --grid 2,3,1)" "b b a a a b"
# The plan is for these seats, and is the same with --slurm.
$ISOTOME plan net.h5 -n 6 --grid 2,3,1 --machine m.json --hostfile -o seated.json >/dev/null
$ISOTOME plan net.h5 -n 6 --grid 2,3,1 --machine m.json --slurm -o again.json >/dev/null
same seated.json again.json
equal "$(sed -n 's/^ *"host": "\(.*\)",$/\1/p' seated.json | xargs)" "b b a a a b"

expect 2 "no names of hosts; give --machine" "$ISOTOME" plan net.h5 -n 2 --hostfile
expect 2 "give one of them" "$ISOTOME" plan net.h5 -n 2 --slurm --json
expect 2 "--threads is for --slurm alone" "$ISOTOME" plan net.h5 -n 2 --threads 2
expect 2 "--threads: '0'" "$ISOTOME" plan net.h5 -n 2 --slurm --threads 0
