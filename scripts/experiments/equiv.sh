#!/usr/bin/env bash
# The shard-equivalence experiment, isotome beside plain BLIS: both tables,
# a table of the axes, and a figure (equiv.svg, where gnuplot is installed).
#
#   scripts/experiments/equiv.sh OUT_DIR [option of isotome equiv...]
#
# ISOTOME names the program, ISOTOME_KERNELS the kernel family of both.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
isotome=${ISOTOME:-$here/../../build/release/src/tools/isotome}
out=${1:?usage: equiv.sh OUT_DIR [option of isotome equiv...]}
shift

mkdir -p "$out"
"$isotome" equiv "$@" >"$out/isotome.txt"
"$isotome" equiv --control blis "$@" >"$out/blis.txt"

# Of each line: the place of its axis in the figure, equal elements in
# hundred, largest difference. Cells from axis on have no blanks.
axes=(batch group out-channel height rows cols in-channel reduction threads)
for who in isotome blis; do
    awk -v axes="${axes[*]}" '
        BEGIN { n = split(axes, name, " "); for (i = 1; i <= n; i++) place[name[i]] = i }
        $4 ~ /^\[/ || $3 ~ /^\[/ { print place[$(NF - 5)], $(NF - 2), $(NF - 1) }' \
        "$out/$who.txt" >"$out/$who.dat"
done

# The axes of both, as a table in Markdown.
echo "| axis | cuts | isotome: exact | plain BLIS: exact | fewest equal elements | largest difference |"
echo "|---|---|---|---|---|---|"
awk '
    FNR == 1 { file++; on = 0 }
    /^axis / { on = 1; next }
    /^$/ { on = 0 }
    on && file == 1 { exact[$1] = $3 }
    on && file == 2 {
        if ($3 == $2) { rest = "all | 0" } else { rest = $4 " % | " $5 }
        printf "| %s | %d | %d | %d | %s |\n", $1, $2, exact[$1], $3, rest
    }' "$out/isotome.txt" "$out/blis.txt"
tail -qn 1 "$out/isotome.txt" "$out/blis.txt"

if command -v gnuplot >/dev/null; then
    gnuplot -e "out = '$out'; axes = '${axes[*]}'" "$here/equiv.gp"
    echo "$out/equiv.svg"
else
    echo "equiv: no gnuplot, no figure" >&2
fi
