#include "plan/node_seconds.h"

#include <math.h>
#include <stdbool.h>

/*
 * Share of a rank's rate that ops of a class reach. Contractions lose some to
 * shapes that do not fill the kernels; elementwise functions and reductions
 * take several instructions for what is counted as one operation.
 */
static double efficiency_of(iso_op_class_t op_class)
{
    switch (op_class) {
    case ISO_OP_CLASS_CONTRACT:
        return 0.6;
    case ISO_OP_CLASS_UNARY:
    case ISO_OP_CLASS_BINARY:
    case ISO_OP_CLASS_COMPARE:
    case ISO_OP_CLASS_LOGIC:
        return 0.1;
    case ISO_OP_CLASS_REDUCE:
    case ISO_OP_CLASS_NORM:
    case ISO_OP_CLASS_POOL:
        return 0.05;
    case ISO_OP_CLASS_LEAF:
    case ISO_OP_CLASS_MOVE:
    case ISO_OP_CLASS_MAKE:
    case ISO_OP_CLASS_EXCHANGE:
        break;
    }
    return 0.02;
}

static bool is_free(const iso_node_t *node)
{
    return iso_node_is_leaf(node) || node->op == ISO_OP_RESHAPE;
}

double iso_cost_seconds(const iso_node_t *node, const iso_node_cost_t *cost,
                        const iso_machine_rank_t *rank)
{
    double rate =
        rank->flops_per_s * efficiency_of(iso_op_info(node->op)->op_class);
    double bytes = (double)cost->operand_bytes + (double)cost->output_bytes;

    if (is_free(node)) {
        return 0.0;
    }
    return fmax(cost->flops / rate, bytes / rank->memory_bytes_per_s);
}

iso_status_t iso_node_seconds(const iso_graph_t *graph, iso_node_id_t node,
                              const iso_machine_rank_t *rank,
                              double *seconds_out)
{
    const iso_node_t *what = iso_graph_node(graph, node);
    iso_node_cost_t cost;

    ISO_TRY(iso_node_cost_of(graph, node, &cost));
    *seconds_out = iso_cost_seconds(what, &cost, rank);
    return ISO_OK;
}

iso_status_t iso_graph_seconds(const iso_graph_t *graph,
                               const iso_machine_rank_t *rank,
                               double *seconds_out)
{
    double sum = 0.0;

    for (iso_node_id_t id = 0; id < iso_graph_node_count(graph); id++) {
        double seconds = 0.0;
        ISO_TRY(iso_node_seconds(graph, id, rank, &seconds));
        sum += seconds;
    }
    *seconds_out = sum;
    return ISO_OK;
}

iso_status_t iso_graph_flops(const iso_graph_t *graph, double *flops_out)
{
    double sum = 0.0;

    for (iso_node_id_t id = 0; id < iso_graph_node_count(graph); id++) {
        iso_node_cost_t cost;

        if (iso_node_is_leaf(iso_graph_node(graph, id))) {
            continue;
        }
        ISO_TRY(iso_node_cost_of(graph, id, &cost));
        sum += cost.flops;
    }
    *flops_out = sum;
    return ISO_OK;
}
