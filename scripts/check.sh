#!/usr/bin/env bash
# House rules that no compiler knows. Run from the top folder after a build:
#   scripts/check.sh [build/dev]
set -euo pipefail
build=${1:-build/dev}
mapfile -t sources < <(git ls-files --cached --others --exclude-standard \
    'src/*.[ch]' 'include/*.h' 'tests/*.[ch]' | xargs ls 2>/dev/null)
mapfile -t kernels < <(git ls-files --cached --others --exclude-standard \
    'src/*.cu' 'src/*.cuh' | xargs ls 2>/dev/null)
mapfile -t compiled < <(printf '%s\n' "${sources[@]}" | grep '\.c$')
jobs=$(nproc)
bad=0
note() {
    echo "check: $*" >&2
    bad=1
}

clang-format --dry-run -Werror "${sources[@]}" "${kernels[@]}" || note "clang-format"

# Every header compiles on its own.
for header in $(printf '%s\n' "${sources[@]}" | grep -E '^(include|src)/.*\.h$'); do
    case $header in
    src/kernel/cpu/*vec_* | *_body.h) continue ;; # compiled once for each ISA
    esac
    mpicc -std=c11 -D_POSIX_C_SOURCE=200809L -Iinclude -Isrc \
        $(pkg-config --cflags jansson hdf5 2>/dev/null) \
        -I"$build/src/model/proto" -fsyntax-only -x c "$header" ||
        note "$header needs other headers"
done

# MPI is called in src/par, src/exec, src/lab and src/tools only.
if grep -nE '(^|[^A-Za-z0-9_])MPI_[A-Z][a-z_]+[ ]*\(' -r src --include='*.[ch]' --include='*.cu*' |
    grep -vE '^src/(par|exec|lab|tools)/'; then
    note "MPI call outside src/par, src/exec, src/lab and src/tools"
fi

# A layer includes only itself and those before it.
layers=(base tensor graph io kernel model plan device par exec lab tools)
before=
for layer in "${layers[@]}"; do
    before="$before|$layer"
    if grep -nE '#include "[a-z]+/' -r "src/$layer" --include='*.[ch]' --include='*.cu*' |
        grep -vE "#include \"(isotome${before})/"; then
        note "src/$layer includes a later layer"
    fi
done
if grep -rnE '#include "(kernel/cpu|device|model|io|par|exec|lab)/|blis|hdf5|mpi\.h' \
    src/plan src/kernel/ref --include='*.[ch]' | grep '#include'; then
    note "planning and the definition link no MPI, BLIS or HDF5"
fi

# Exported names carry the prefix.
while read -r archive; do
    if nm -g --defined-only "$archive" 2>/dev/null |
        awk 'NF == 3 && $3 !~ /^iso_/ && $3 !~ /^__/ && $3 !~ /_GLOBAL__N_/ {print $3}' | grep .; then
        note "name without prefix in $archive"
    fi
done < <(find "$build/src" -name 'libiso_*.a')

# Files and functions stay short.
for file in "${sources[@]}" "${kernels[@]}"; do
    awk -v file="$file" '
        /^\{/ { start = NR }
        /^\}/ && start { if (NR - start > 70) { printf "%s:%d: a function of %d lines\n", file, start, NR - start; bad = 1 } start = 0 }
        END { if (NR > 600) { printf "%s: %d lines\n", file, NR; bad = 1 } exit bad }' \
        "$file" || note "too long: $file"
done

cppcheck --project="$build/compile_commands.json" -j "$jobs" --quiet \
    --error-exitcode=1 --enable=warning,style,performance,portability \
    --inline-suppr --suppress=missingIncludeSystem \
    --suppress=variableScope --suppress='*:*/proto/onnx/*' || note "cppcheck"
printf '%s\n' "${compiled[@]}" | grep -Ev '^tests/(bench|fuzz)/' |
    xargs -P "$jobs" -n 1 clang-tidy --quiet -p "$build" 2>/dev/null ||
    note "clang-tidy"
exit $bad
