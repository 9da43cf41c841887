# Figure of equiv.sh, which sets out and axes: a point for each cut of an op.
set terminal svg size 900,680 font "sans,13" background "white"
set output out."/equiv.svg"

# Points of an axis lie beside each other, not on top.
beside(row) = (int(row) % 29 - 14) / 42.0
floor = 3e-9 # where 0 is drawn

set xrange [0.5:words(axes) + 0.5]
set xtics ("" 0.5)
do for [i = 1:words(axes)] { set xtics add (word(axes, i) i) }
set tics nomirror
set border 3
set grid ytics lc rgb "#dddddd"
set style line 1 pt 7 ps 0.45 lc rgb "#d95f02"
set style line 2 pt 7 ps 0.45 lc rgb "#1f5fa8"

set multiplot layout 2,1 title "Convolutions and products of known networks in 2, 3, 4 and 8 pieces, against the whole" font ",15"
set key outside top right horizontal Left reverse samplen 1

set ylabel "equal elements, %"
set yrange [0:104]
plot out."/blis.dat" using ($1 + beside($0)):2 with points ls 1 title "plain BLIS", \
     out."/isotome.dat" using ($1 + beside($0)):2 with points ls 2 title "isotome"

unset key
set ylabel "largest difference"
set logscale y
set yrange [floor / 2:1e-4]
set format y "10^{%T}"
set ytics (1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
set ytics add ("0" floor)
plot out."/blis.dat" using ($1 + beside($0)):($3 > 0 ? $3 : floor) with points ls 1, \
     out."/isotome.dat" using ($1 + beside($0)):($3 > 0 ? $3 : floor) with points ls 2
unset multiplot
