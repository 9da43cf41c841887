/*
 * Predicted seconds of a node on one rank, from its work at the rank's rate
 * for its rate class (isotome/rate.h) and its bytes: the sum of both for
 * contractions, the longer one for all else. The first bytes, as many as stay
 * in a core's own caches, are read and written at the rank's rate of class
 * "move", the others at its memory bandwidth.
 * Leaves and reshapes, which do nothing, take no time.
 */
#ifndef ISO_NODE_SECONDS_H
#define ISO_NODE_SECONDS_H

#include "isotome/graph.h"
#include "isotome/machine.h"

#include "graph/cost.h"

#include <stdbool.h>

enum { ISO_CACHE_BYTES = 1 << 20 };

/* Of the bytes alone. */
double iso_cost_bytes_seconds(const iso_node_cost_t *cost,
                              const iso_machine_rank_t *rank);

/* Of an op that costs this much: a node, or a piece of it (with a share of
 * its cost). */
double iso_cost_seconds(const iso_node_t *node, const iso_node_cost_t *cost,
                        const iso_machine_rank_t *rank);

/* Whether two ranks take the same seconds for every node. */
bool iso_cost_same_speed(const iso_machine_rank_t *a,
                         const iso_machine_rank_t *b);

/* Errors: ISO_SHAPE when a dim is not bound. */
iso_status_t iso_node_seconds(const iso_graph_t *graph, iso_node_id_t node,
                              const iso_machine_rank_t *rank,
                              double *seconds_out);

/* Sum over all nodes of a graph, and of their floating-point operations. */
iso_status_t iso_graph_seconds(const iso_graph_t *graph,
                               const iso_machine_rank_t *rank,
                               double *seconds_out);
iso_status_t iso_graph_flops(const iso_graph_t *graph, double *flops_out);

#endif
