#include "arrange_price.h"

#include "isotome/error.h"

#include "iso_test.h"
#include "plan/node_seconds.h"
#include "plan/shard/local.h"

#include <math.h>
#include <stdio.h>

/* A node's part on a worker. */
typedef struct part {
    double flops; /* share of the node's */
    double made;  /* values of this size */
    double read;  /* bytes */
} part_t;

static const iso_machine_rank_t *rank_of(const iso_arrange_options_t *options,
                                         int worker)
{
    return iso_machine_rank(options->machine, options->ranks[worker]);
}

static double bytes_of(const iso_node_t *node)
{
    return (double)iso_shape_count(&node->shape) *
           (double)iso_dtype_bytes(node->dtype);
}

static double share_of_slab(const iso_node_t *operand, const iso_slab_t *slab)
{
    return slab->axis == ISO_AXIS_WHOLE
               ? 1.0
               : (double)iso_range_length(slab->range) /
                     (double)operand->shape.dim[slab->axis].size;
}

/* The share of an operand that a worker's part needs. Subtrees follow each
 * other, and so do their slabs. */
static double share_needed(const iso_graph_t *stage, iso_node_id_t id,
                           const iso_node_cut_t *cut, int worker, int operand)
{
    const iso_node_t *node = iso_graph_node(stage, id);
    const iso_node_t *input = iso_graph_node(stage, node->inputs[operand]);
    iso_range_t subtrees[ISO_MOST_SUBTREES];
    int64_t blocks = 0;
    double share = 0.0;
    iso_slab_t slab;

    if (cut->kind == ISO_CUT_ONE || cut->kind == ISO_CUT_ALL) {
        return 1.0;
    }
    if (cut->kind == ISO_CUT_SPLIT) {
        CU_ASSERT_EQUAL(iso_cut_operand(stage, id, cut->axis,
                                        cut->ranges[worker], operand, &slab),
                        ISO_OK);
        return share_of_slab(input, &slab);
    }
    if (operand == 2) {
        return worker == 0 ? 1.0 : 0.0;
    }
    CU_ASSERT_EQUAL(iso_cut_blocks(stage, id, &blocks), ISO_OK);
    const int n = iso_cut_subtrees(blocks, cut->ranges[worker], subtrees);

    for (int i = 0; i < n; i++) {
        CU_ASSERT_EQUAL(
            iso_cut_partial_operand(stage, id, subtrees[i], operand, &slab),
            ISO_OK);
        share += share_of_slab(input, &slab);
    }
    return share;
}

static part_t part_of(const iso_graph_t *stage, iso_node_id_t id,
                      const iso_node_cut_t *cut, int worker)
{
    const iso_node_t *node = iso_graph_node(stage, id);
    iso_range_t subtrees[ISO_MOST_SUBTREES];
    iso_node_cost_t cost;
    part_t part = {1.0, 1.0, 0.0};
    int64_t blocks = 0;

    CU_ASSERT_EQUAL(iso_node_cost_of(stage, id, &cost), ISO_OK);
    double first_bytes = (double)cost.operand_bytes;

    if (cut->kind == ISO_CUT_SPLIT) {
        part.flops = (double)iso_range_length(cut->ranges[worker]) /
                     (double)node->shape.dim[cut->axis].size;
        part.made = part.flops;
    }
    if (cut->kind == ISO_CUT_PARTIAL) {
        CU_ASSERT_EQUAL(iso_cut_blocks(stage, id, &blocks), ISO_OK);
        part.flops =
            (double)iso_range_length(cut->ranges[worker]) / (double)blocks;
        part.made = iso_cut_subtrees(blocks, cut->ranges[worker], subtrees);
    }
    for (int i = node->n_inputs - 1; i >= 0; i--) {
        if (node->inputs[i] != ISO_NO_NODE) {
            const double bytes =
                bytes_of(iso_graph_node(stage, node->inputs[i]));
            part.read += share_needed(stage, id, cut, worker, i) *
                         (i == 0 ? first_bytes : bytes);
            first_bytes -= bytes;
        }
    }
    return part;
}

static bool has_part(const iso_node_cut_t *cut, int worker)
{
    return cut->kind == ISO_CUT_ALL ||
           (cut->kind == ISO_CUT_ONE && worker == 0) ||
           (cut->ranges != NULL && iso_range_length(cut->ranges[worker]) > 0);
}

/* Adding n partial sums up on worker 0. */
static double sum_seconds(const iso_node_t *node,
                          const iso_arrange_options_t *options, double n)
{
    const iso_node_t add = {.op = ISO_OP_ADD};
    const double bytes = bytes_of(node) * (n - 1.0);
    const iso_node_cost_t cost = {
        .flops = (n - 1.0) * (double)iso_shape_count(&node->shape),
        .operand_bytes = (size_t)(2.0 * bytes),
        .output_bytes = (size_t)bytes,
        .rate_class = ISO_RATE_ELEMENTWISE};

    return iso_cost_seconds(&add, &cost, rank_of(options, 0));
}

static double node_seconds(const iso_graph_t *stage,
                           const iso_arrange_options_t *options,
                           iso_node_id_t id, const iso_node_cut_t *cut)
{
    const iso_node_t *node = iso_graph_node(stage, id);
    iso_node_cost_t cost;
    double slowest_s = 0.0;
    double n_partials = 0.0;

    CU_ASSERT_EQUAL(iso_node_cost_of(stage, id, &cost), ISO_OK);
    for (int i = 0; i < options->n_workers; i++) {
        if (has_part(cut, i)) {
            const part_t part = part_of(stage, id, cut, i);
            const iso_node_cost_t piece = {
                .flops = cost.flops * part.flops,
                .operand_bytes = (size_t)(part.read + 0.5),
                .output_bytes =
                    (size_t)((double)cost.output_bytes * part.made + 0.5),
                .rate_class = cost.rate_class};
            slowest_s = fmax(
                slowest_s, iso_cost_seconds(node, &piece, rank_of(options, i)));
            n_partials += part.made;
        }
    }
    return cut->kind == ISO_CUT_PARTIAL
               ? slowest_s + sum_seconds(node, options, n_partials)
               : slowest_s;
}

double arrange_price(const iso_graph_t *stage,
                     const iso_arrange_options_t *options,
                     const iso_stage_cut_t *cut)
{
    iso_local_t *local = NULL;
    double seconds = 0.0;

    if (iso_local_create(stage, cut, 0, &local) != ISO_OK) {
        CU_FAIL("a cut that cannot be lowered");
        (void)fprintf(stderr, "%s\n", iso_error_text());
        return -1.0;
    }
    for (int i = 0; i < local->n_exchanges; i++) {
        seconds += iso_exchange_seconds(&local->exchanges[i], options->machine,
                                        options->ranks);
    }
    iso_local_destroy(&local);
    for (iso_node_id_t id = 0; id < iso_graph_node_count(stage); id++) {
        if (!iso_node_is_leaf(iso_graph_node(stage, id))) {
            seconds += node_seconds(stage, options, id, &cut->nodes[id]);
        }
    }
    return seconds;
}

double arrange_weight_bytes(const iso_graph_t *stage,
                            const iso_stage_cut_t *cut, int worker)
{
    iso_local_t *local = NULL;
    double bytes = 0.0;

    CU_ASSERT_EQUAL_FATAL(iso_local_create(stage, cut, worker, &local), ISO_OK);
    for (int i = 0; i < local->n_weights; i++) {
        bytes += bytes_of(iso_graph_node(
            local->graph,
            iso_graph_find(local->graph, local->weights[i].node)));
    }
    iso_local_destroy(&local);
    return bytes;
}
