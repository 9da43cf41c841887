# To be sourced by the system tests. ctest gives ISOTOME, NPY_TOOL, MPIEXEC,
# ISO_SOURCE_DIR and ISO_SHARED_DATA.
set -euo pipefail
. "$ISO_SOURCE_DIR/scripts/mpi_env.sh"

data=$ISO_SOURCE_DIR/data
shared=$ISO_SHARED_DATA
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

# Models that the project does not ship: without them the test is skipped,
# unless it must not be.
need() {
    local file
    for file in "$@"; do
        if [ ! -e "$file" ]; then
            [ -z "${ISO_TEST_DATA_REQUIRED:-}" ] || fail "missing $file"
            echo "skipped: no $file"
            exit 77
        fi
    done
}

# on RANKS COMMAND...: one rank needs no mpirun. Without it MPI starts a daemon
# of its own, beside which the leak sanitizer sometimes dies; leaks are looked
# for in the runs of several ranks.
on() {
    local ranks=$1
    shift
    if [ "$ranks" -eq 1 ]; then
        env ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0" "$@"
        return
    fi
    "$MPIEXEC" -n "$ranks" "${mpi_options[@]}" "$@"
}

# same A B: byte for byte.
same() {
    cmp "$1" "$2" || fail "$1 and $2 differ"
}

# expect CODE PATTERN COMMAND...: the exit code, and exactly one line of
# isotome's on stderr, which matches the pattern.
expect() {
    local code=$1 pattern=$2 found=0
    shift 2
    "$@" >"$work/out.txt" 2>"$work/err.txt" || found=$?
    if [ "$found" -ne "$code" ]; then
        cat "$work/out.txt" "$work/err.txt" >&2
        fail "exit code $found, expected $code: $*"
    fi
    if [ "$(grep -c '^isotome: ' "$work/err.txt")" -ne 1 ]; then
        cat "$work/err.txt" >&2
        fail "expected one line of isotome's: $*"
    fi
    if ! grep '^isotome: ' "$work/err.txt" | grep -qE -- "$pattern"; then
        cat "$work/err.txt" >&2
        fail "expected a message like '$pattern': $*"
    fi
}

# nothing_left DIR: no file there, also no temporary one.
nothing_left() {
    [ -z "$(ls -A "$1")" ] || fail "left behind in $1: $(ls -A "$1")"
}
