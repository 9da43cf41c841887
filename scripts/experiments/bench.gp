# Figure of scripts/bench.sh: isotome over its peer, a bar for each shape or
# network, and what the project asks for as a mark on it.
#
#   scripts/bench.sh --json F.json
#   gnuplot -e "tsv = 'F.tsv'; out = 'bench.svg'" scripts/experiments/bench.gp
rows = int(system("awk -F '\t' '$5 > 0' '".tsv."' | wc -l"))
if (rows == 0) { print "no row has a peer: ".tsv; exit }
set terminal svg size 900,(120 + 17 * rows) font "sans,12" background "white"
set output out
set datafile separator "\t"

set title "isotome / peer; right of the line is in isotome's favour"
set tics nomirror
set border 1
set grid xtics lc rgb "#dddddd"
set xrange [0:*]
set yrange [rows - 0.4:-0.6]
set ytics scale 0
set style fill solid
set boxwidth 0.7
set key outside bottom center horizontal samplen 1
set arrow 1 from 1, graph 0 to 1, graph 1 nohead lw 1.5 lc rgb "#444444" front

# Without a peer there is no ratio; those lines are left away.
picked = "< awk -F '\t' '$5 > 0' '".tsv."'"
high = 0.35
plot picked using (0):0:(0):5:($0 - high):($0 + high):ytic(1) \
         with boxxyerror lc rgb "#1f5fa8" title "ratio", \
     picked using ($6 > 0 ? $6 : NaN):0 with points pt 7 ps 0.6 lc rgb "#d95f02" title "bar"
