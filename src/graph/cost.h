/*
 * What a node costs: floating-point operations and bytes, from static
 * shapes, and the rate class that says how fast they go.
 */
#ifndef ISO_COST_H
#define ISO_COST_H

#include "isotome/graph.h"
#include "isotome/rate.h"

typedef struct iso_node_cost {
    double flops;         /* a fused multiply-add is 2 */
    size_t operand_bytes; /* values read, params included */
    size_t output_bytes;
    iso_rate_class_t rate_class; /* a piece of a node keeps the node's */
} iso_node_cost_t;

/* Errors: ISO_SHAPE when a dim is not bound. */
iso_status_t iso_node_cost_of(const iso_graph_t *graph, iso_node_id_t node,
                              iso_node_cost_t *cost_out);

/* Leaves, and what computes nothing, belong with moves. Dims are bound. */
iso_rate_class_t iso_rate_class_of(const iso_graph_t *graph,
                                   const iso_node_t *node);

#endif
