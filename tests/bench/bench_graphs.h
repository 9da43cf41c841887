/*
 * Large graphs that planning is timed on.
 *
 *     iso_graph_t *graph = bench_graph(bench_make_residual, "N", 5000);
 */
#ifndef ISO_BENCH_GRAPHS_H
#define ISO_BENCH_GRAPHS_H

#include "isotome/graph.h"

/* Adds nodes to an empty graph until it has n_nodes, or a few more; returns
 * the last one. */
typedef iso_node_id_t bench_make_t(iso_graph_t *graph, iso_dim_t batch,
                                   int n_nodes);

/* A residual network of 3 x 3 convolutions. */
bench_make_t bench_make_residual;
/* Blocks of attention, 256 tokens in each sample. */
bench_make_t bench_make_attention;
/* Convolutions of which no two have the same number of channels, so that
 * nothing is seen twice. */
bench_make_t bench_make_different;

/* batch  [in]  a number or a name. A failure ends the program. */
iso_graph_t *bench_graph(bench_make_t *make, const char *batch, int n_nodes);

#endif
