/* What a choice needs of each operand, and how long it computes. */
#include "plan/node_seconds.h"
#include "plan/shard/arrange_impl.h"
#include "plan/shard/cut.h"

/* -- what pieces need -- */

/* Empty where the cut has none. */
static iso_range_t piece_of(const iso_node_cut_t *cut, int worker)
{
    iso_range_t piece = {0};

    if (cut->ranges != NULL) {
        piece = cut->ranges[worker];
    }
    return piece;
}

static iso_range_t reach_of(const iso_range_t *subtrees, int count)
{
    return (iso_range_t){subtrees[0].begin, subtrees[count - 1].end};
}

/* The slab of an operand that a worker's part of the node needs. */
static iso_status_t slab_of(const iso__maker_t *maker,
                            const iso_node_cut_t *cut, int worker, int operand,
                            iso_slab_t *slab_out)
{
    const iso_graph_t *stage = maker->arrange->stage;
    iso_range_t subtrees[ISO_MOST_SUBTREES];
    iso_slab_t last;

    if (cut->kind == ISO_CUT_SPLIT) {
        return iso_cut_operand(stage, maker->id, cut->axis,
                               piece_of(cut, worker), operand, slab_out);
    }
    const int n =
        iso_cut_subtrees(maker->blocks, piece_of(cut, worker), subtrees);

    ISO_TRY(iso_cut_partial_operand(stage, maker->id, subtrees[0], operand,
                                    slab_out));
    ISO_TRY(iso_cut_partial_operand(stage, maker->id, subtrees[n - 1], operand,
                                    &last));
    slab_out->range =
        reach_of((const iso_range_t[]){slab_out->range, last.range}, 2);
    return ISO_OK;
}

/* Slabs of all workers into maker->needs, along one axis; ISO_AXIS_WHOLE
 * when there is no such axis: all workers get all then, as in local.h. */
static iso_status_t gather_slabs(iso__maker_t *maker, const iso_node_cut_t *cut,
                                 int index, int *axis_out)
{
    const iso_node_t *operand =
        iso_graph_node(maker->arrange->stage, maker->node->inputs[index]);
    int axis = ISO_AXIS_WHOLE;
    bool one_axis = true;

    for (int i = 0; i < maker->n_workers; i++) {
        iso_slab_t slab;
        maker->needs[i] = (iso_range_t){0};
        if (iso_range_length(piece_of(cut, i)) == 0) {
            continue;
        }
        ISO_TRY(slab_of(maker, cut, i, index, &slab));
        if (slab.axis == ISO_AXIS_WHOLE) {
            maker->needs[i].end = INT64_MAX; /* of an axis not known yet */
            continue;
        }
        one_axis = one_axis && (axis == ISO_AXIS_WHOLE || axis == slab.axis);
        axis = slab.axis;
        if (iso_range_length(slab.range) > 0) {
            maker->needs[i] = slab.range;
        }
    }
    *axis_out = one_axis ? axis : ISO_AXIS_WHOLE;
    for (int i = 0; *axis_out != ISO_AXIS_WHOLE && i < maker->n_workers; i++) {
        const int64_t length = operand->shape.dim[axis].size;
        if (maker->needs[i].end > length) {
            maker->needs[i].end = length;
        }
    }
    return ISO_OK;
}

static bool is_brought_together(const iso_node_cut_t *cut, int operand)
{
    return cut->kind == ISO_CUT_ONE ||
           (cut->kind == ISO_CUT_PARTIAL && operand >= 2);
}

/* Of a weight, a worker without a piece loads nothing. */
static void leave_out_idle(iso__maker_t *maker, const iso_node_cut_t *cut,
                           const iso_shape_t *shape, iso_layout_t *need)
{
    need->kind = ISO_LAYOUT_SPLIT;
    need->axis = 0;
    need->ranges = maker->needs;
    for (int i = 0; i < maker->n_workers; i++) {
        maker->needs[i] = (iso_range_t){
            0, iso_range_length(piece_of(cut, i)) > 0 ? shape->dim[0].size : 0};
    }
}

static iso_status_t need_of(iso__maker_t *maker, const iso_node_cut_t *cut,
                            int index, iso_layout_t *need_out)
{
    const iso_node_t *operand =
        iso_graph_node(maker->arrange->stage, maker->node->inputs[index]);

    *need_out = (iso_layout_t){.kind = ISO_LAYOUT_ALL};
    if (is_brought_together(cut, index)) {
        need_out->kind = ISO_LAYOUT_ONE;
        return ISO_OK;
    }
    if (cut->kind == ISO_CUT_ALL) {
        return ISO_OK;
    }
    ISO_TRY(gather_slabs(maker, cut, index, &need_out->axis));
    if (need_out->axis != ISO_AXIS_WHOLE) {
        need_out->kind = ISO_LAYOUT_SPLIT;
        need_out->ranges = maker->needs;
    } else if (iso__is_weight(operand) && operand->shape.rank > 0) {
        leave_out_idle(maker, cut, &operand->shape, need_out);
    }
    return ISO_OK;
}

/* The layout in which an operand is needed; adds to what the pieces read. */
static iso_status_t find_need(iso__maker_t *maker, const iso_node_cut_t *cut,
                              int index, int32_t *need_out)
{
    const iso_shape_t *shape =
        &iso_graph_node(maker->arrange->stage, maker->node->inputs[index])
             ->shape;
    const int64_t count = iso_shape_count(shape);
    iso_layout_t need;

    ISO_TRY(need_of(maker, cut, index, &need));
    for (int i = 0; count > 0 && i < maker->n_workers; i++) {
        iso_box_t box;
        iso_layout_box(&need, shape, i, &box);
        maker->piece_read[i] +=
            maker->read[index] * (double)iso_box_count(&box) / (double)count;
    }
    return iso__places_layout(&maker->arrange->places, &need, need_out);
}

/* -- seconds -- */

static double seconds_on(const iso__maker_t *maker, const iso_node_t *node,
                         int worker, double share, double read, double made)
{
    const iso_arrange_options_t *options = maker->arrange->options;
    const iso_node_cost_t cost = {.flops = maker->cost.flops * share,
                                  .operand_bytes = (size_t)(read + 0.5),
                                  .output_bytes = (size_t)(made + 0.5),
                                  .rate_class = maker->cost.rate_class};

    return iso_cost_seconds(
        node, &cost,
        iso_machine_rank(options->machine, options->ranks[worker]));
}

/* The slowest worker's. */
static double slowest_seconds(const iso__maker_t *maker,
                              const iso_node_cut_t *cut, int64_t length)
{
    const double made = (double)maker->cost.output_bytes;
    double slowest_s = 0.0;

    for (int i = 0; i < maker->n_workers; i++) {
        double share = 1.0;
        double made_share = 1.0;
        if (cut->ranges != NULL) {
            share = (double)iso_range_length(piece_of(cut, i)) / (double)length;
            made_share = share;
        }
        if (cut->kind == ISO_CUT_PARTIAL && share > 0.0) {
            iso_range_t subtrees[ISO_MOST_SUBTREES];
            made_share =
                iso_cut_subtrees(maker->blocks, piece_of(cut, i), subtrees);
        }
        if (share > 0.0 && (cut->kind != ISO_CUT_ONE || i == 0)) {
            const double seconds =
                seconds_on(maker, maker->node, i, share, maker->piece_read[i],
                           made * made_share);
            slowest_s = seconds > slowest_s ? seconds : slowest_s;
        }
    }
    return slowest_s;
}

/* Partial sums go to worker 0 one by one, and are added there. */
static iso_status_t add_sum_seconds(const iso__maker_t *maker,
                                    iso__choice_t *choice)
{
    const iso_node_t add = {.op = ISO_OP_ADD};
    iso__arrange_t *arrange = maker->arrange;
    const double bytes = (double)maker->cost.output_bytes;
    double adds = -1.0;

    for (int i = 0; i < maker->n_workers; i++) {
        iso_range_t subtrees[ISO_MOST_SUBTREES];
        const iso_layout_t from = {.kind = ISO_LAYOUT_ONE, .worker = i};
        iso__transfer_t transfer;
        int32_t layout;
        int32_t place;
        if (iso_range_length(piece_of(&choice->cut, i)) == 0) {
            continue;
        }
        const int n = iso_cut_subtrees(maker->blocks, piece_of(&choice->cut, i),
                                       subtrees);
        ISO_TRY(iso__places_layout(&arrange->places, &from, &layout));
        ISO_TRY(iso__places_made(&arrange->places, layout, &place));
        ISO_TRY(iso__places_transfer(&arrange->places,
                                     arrange->form_of[maker->id], place,
                                     choice->made, true, &transfer));
        choice->seconds += n * transfer.seconds;
        choice->exchanges += n * transfer.exchanges;
        adds += n;
    }
    const iso_node_cost_t cost = {
        .flops = adds * (double)iso_shape_count(&maker->node->shape),
        .operand_bytes = (size_t)(2.0 * adds * bytes),
        .output_bytes = (size_t)(adds * bytes),
        .rate_class = ISO_RATE_ELEMENTWISE};

    choice->seconds +=
        iso_cost_seconds(&add, &cost,
                         iso_machine_rank(arrange->options->machine,
                                          arrange->options->ranks[0]));
    return ISO_OK;
}

/* -- a choice -- */

/* The layout of the value; empty pieces all look the same in it. */
iso_status_t iso__choice_find_made(iso__maker_t *maker,
                                   const iso_node_cut_t *cut, int32_t *made_out)
{
    iso_layout_t layout = iso_node_cut_layout(cut);

    if (layout.kind == ISO_LAYOUT_SPLIT) {
        for (int i = 0; i < maker->n_workers; i++) {
            maker->needs[i] = iso_range_length(piece_of(cut, i)) > 0
                                  ? piece_of(cut, i)
                                  : (iso_range_t){0};
        }
        layout.ranges = maker->needs;
    }
    return iso__places_layout(&maker->arrange->places, &layout, made_out);
}

static iso_status_t find_needs(iso__maker_t *maker, const iso_node_cut_t *cut,
                               int32_t *needs)
{
    for (int i = 0; i < maker->n_workers; i++) {
        maker->piece_read[i] = 0.0;
    }
    for (int i = 0; i < maker->node->n_inputs; i++) {
        needs[i] = ISO__NO_LAYOUT;
        ISO_TRY(maker->node->inputs[i] == ISO_NO_NODE
                    ? ISO_OK
                    : find_need(maker, cut, i, &needs[i]));
    }
    return ISO_OK;
}

iso_status_t iso__choice_fill(iso__maker_t *maker, int64_t length,
                              iso__choice_t *choice)
{
    iso_arena_t *arena = maker->arrange->arena;
    const size_t n_workers = (size_t)maker->n_workers;
    const size_t n_inputs = (size_t)maker->node->n_inputs;
    int32_t *needs = iso_arena_array(arena, n_inputs, sizeof *needs);

    if (needs == NULL) {
        return ISO_NOMEM;
    }
    choice->needs = needs;
    if (choice->cut.ranges != NULL) {
        choice->cut.ranges = iso_arena_copy(
            arena, choice->cut.ranges, n_workers * sizeof *choice->cut.ranges);
        if (choice->cut.ranges == NULL) {
            return ISO_NOMEM;
        }
    }
    ISO_TRY(find_needs(maker, &choice->cut, needs));
    choice->seconds = slowest_seconds(maker, &choice->cut, length);
    return choice->cut.kind == ISO_CUT_PARTIAL ? add_sum_seconds(maker, choice)
                                               : ISO_OK;
}
