/*
 * Single ops that bench_choose measures: forms of known networks.
 */
#ifndef ISO_BENCH_OPS_H
#define ISO_BENCH_OPS_H

#include "isotome/graph.h"

typedef struct bench_op {
    const char *what;
    int64_t x[ISO_MAX_RANK]; /* dims of the first operand; 0 ends them */
    int64_t w[ISO_MAX_RANK]; /* of the second one */
    int64_t pad;             /* of a convolution, at all sides */
    int64_t stride;
    int64_t groups;
    iso_op_t op;
    bool is_weight; /* the second operand is; else an input too */
} bench_op_t;

enum { BENCH_OPS_MOST = 64 };

/* The list, or a few small ones of it. */
const bench_op_t *bench_ops(bool is_quick, int *count_out);

/* A graph of one op, node_out, whose value is the output "y". */
iso_status_t bench_op_graph(const bench_op_t *op, iso_graph_t **graph_out,
                            iso_node_id_t *node_out);

#endif
