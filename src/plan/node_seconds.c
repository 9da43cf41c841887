#include "plan/node_seconds.h"

#include <math.h>
#include <stdbool.h>

static bool is_free(const iso_node_t *node)
{
    return iso_node_is_leaf(node) || node->op == ISO_OP_RESHAPE;
}

double iso_cost_bytes_seconds(const iso_node_cost_t *cost,
                              const iso_machine_rank_t *rank)
{
    const double bytes =
        (double)cost->operand_bytes + (double)cost->output_bytes;
    const double cached = fmin(bytes, ISO_CACHE_BYTES);

    return cached / iso_machine_rank_rate(rank, ISO_RATE_MOVE).per_s +
           (bytes - cached) / rank->memory_bytes_per_s;
}

double iso_cost_seconds(const iso_node_t *node, const iso_node_cost_t *cost,
                        const iso_machine_rank_t *rank)
{
    const double bytes =
        (double)cost->operand_bytes + (double)cost->output_bytes;
    const double work = iso_rate_class_unit(cost->rate_class) == ISO_RATE_BYTES
                            ? bytes
                            : cost->flops;

    if (is_free(node)) {
        return 0.0;
    }

    const double work_s =
        work / iso_machine_rank_rate(rank, cost->rate_class).per_s;
    const double bytes_s = iso_cost_bytes_seconds(cost, rank);

    return iso_rate_class_waits(cost->rate_class) ? work_s + bytes_s
                                                  : fmax(work_s, bytes_s);
}

bool iso_cost_same_speed(const iso_machine_rank_t *a,
                         const iso_machine_rank_t *b)
{
    bool same = a->memory_bytes_per_s == b->memory_bytes_per_s;

    for (int i = 0; same && i < ISO_RATE_CLASS_COUNT; i++) {
        const iso_rate_class_t rate_class = (iso_rate_class_t)i;
        same = iso_machine_rank_rate(a, rate_class).per_s ==
               iso_machine_rank_rate(b, rate_class).per_s;
    }
    return same;
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
