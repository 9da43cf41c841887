# Figure of scripts/bench.sh: isotome over its peer, a bar for each kind of work,
# and what the project asks for as a mark on it. With all = 1 also each shape.
#
#   scripts/bench.sh --json F.json
#   gnuplot -e "tsv = 'F.tsv'; out = 'bench.svg'" scripts/experiments/bench.gp
#   gnuplot -e "tsv = 'F.tsv'; out = 'bench.svg'; all = 1" scripts/experiments/bench.gp
#
# Without a peer there is no ratio; those lines are left away.
if (!exists("all")) { all = 0 }
which = all ? "$5 > 0" : "$5 > 0 && $6 > 0 && $1 !~ /@/"
picked = "< awk -F '\t' '".which."' '".tsv."'"
rows = int(system(picked[3:]." | wc -l"))
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

high = 0.35
plot picked using (0):0:(0):5:($0 - high):($0 + high):ytic(strcol(1)."  (".strcol(7).")") \
         with boxxyerror lc rgb "#1f5fa8" title "ratio", \
     picked using ($6 > 0 ? $6 : NaN):0 with points pt 7 ps 0.6 lc rgb "#d95f02" title "bar"
