/*
 * Values that go from the workers of one stage straight to those of the next,
 * as they are cut: where both stages have as many workers, the value is made
 * in pieces, and a reader wants these very pieces.
 *
 * The decision is the cut of the input in the stage that reads: SPLIT instead
 * of ONE. That the stage before keeps its output in pieces follows from it.
 */
#include "isotome/error.h"

#include "base/mem.h"
#include "plan/plan_impl.h"
#include "plan/shard/cut.h"

#include <string.h>

static const iso_graph_t *graph_of(const iso_plan_t *plan, int stage)
{
    return iso_partition_stage(plan->partition, stage)->graph;
}

/* The node's cut in the stage that makes the value, or reads it. */
static iso_node_cut_t *cut_of(const iso_plan_t *plan, int stage,
                              const char *name)
{
    iso_node_id_t id = iso_graph_find(graph_of(plan, stage), name);

    return id == ISO_NO_NODE ? NULL : &plan->cuts[stage]->nodes[id];
}

bool iso__plan_is_direct(const iso_plan_t *plan, const iso_boundary_t *value)
{
    const iso_node_cut_t *cut = cut_of(plan, value->to_stage, value->name);

    return cut != NULL && cut->kind == ISO_CUT_SPLIT &&
           iso_graph_node(
               graph_of(plan, value->to_stage),
               iso_graph_find(graph_of(plan, value->to_stage), value->name))
                   ->op == ISO_OP_INPUT;
}

bool iso_plan_passes_pieces(const iso_plan_t *plan, int index)
{
    return iso__plan_is_direct(plan, iso_plan_boundary(plan, index));
}

iso_range_t iso__plan_direct_range(const iso_plan_t *plan,
                                   const iso_boundary_t *value, int worker,
                                   int *axis_out)
{
    const iso_node_cut_t *cut = cut_of(plan, value->to_stage, value->name);

    *axis_out = cut->axis;
    return cut->ranges[worker];
}

/* -- choosing -- */

/* Nobody else gets it, and nobody but the next stage. */
static bool goes_to_next_alone(const iso_plan_t *plan,
                               const iso_boundary_t *value)
{
    if (value->to_stage != value->from_stage + 1) {
        return false;
    }
    for (int i = 0; i < plan->n_boundaries; i++) {
        const iso_boundary_t *other = &plan->boundaries[i];

        if (other != value && strcmp(other->name, value->name) == 0) {
            return false;
        }
    }
    return true;
}

/* Does the reader's piece need just the same range of the value? */
static iso_status_t wants_pieces(const iso_graph_t *graph,
                                 const iso_stage_cut_t *stage,
                                 iso_node_id_t reader, int operand,
                                 const iso_node_cut_t *made, bool *wants_out)
{
    const iso_node_cut_t *cut = &stage->nodes[reader];

    *wants_out = cut->kind == ISO_CUT_SPLIT;
    for (int worker = 0; *wants_out && worker < stage->n_workers; worker++) {
        iso_range_t range = cut->ranges[worker];
        iso_range_t piece = made->ranges[worker];
        iso_slab_t slab = {.axis = made->axis};

        if (iso_range_length(range) == 0) {
            *wants_out = iso_range_length(piece) == 0;
            continue;
        }
        ISO_TRY(
            iso_cut_operand(graph, reader, cut->axis, range, operand, &slab));
        *wants_out = slab.axis == made->axis &&
                     slab.range.begin == piece.begin &&
                     slab.range.end == piece.end;
    }
    return ISO_OK;
}

/* The operand of a node that is this value, -1 when none is. */
static int operand_of(const iso_node_t *node, iso_node_id_t value)
{
    int i = node->n_inputs - 1;

    while (i >= 0 && node->inputs[i] != value) {
        i--;
    }
    return i;
}

static iso_status_t some_reader_wants(const iso_plan_t *plan, int stage,
                                      iso_node_id_t input,
                                      const iso_node_cut_t *made,
                                      bool *wants_out)
{
    const iso_graph_t *graph = graph_of(plan, stage);

    *wants_out = false;
    for (iso_node_id_t id = input + 1;
         !*wants_out && id < iso_graph_node_count(graph); id++) {
        int operand = operand_of(iso_graph_node(graph, id), input);

        if (operand < 0) {
            continue;
        }
        ISO_TRY(wants_pieces(graph, plan->cuts[stage], id, operand, made,
                             wants_out));
    }
    return ISO_OK;
}

/* A value that may be cut anywhere keeps equal pieces in both stages for any
 * batch. */
static iso_status_t can_be_direct(const iso_plan_t *plan,
                                  const iso_boundary_t *value, bool *can_out)
{
    const iso_graph_t *from = graph_of(plan, value->from_stage);
    iso_node_id_t id = iso_graph_find(from, value->name);
    const iso_node_cut_t *made = cut_of(plan, value->from_stage, value->name);
    int64_t unit = 0;

    *can_out = goes_to_next_alone(plan, value) && made != NULL &&
               made->kind == ISO_CUT_SPLIT &&
               iso_graph_find(graph_of(plan, value->to_stage), value->name) !=
                   ISO_NO_NODE &&
               iso_plan_width(plan, value->from_stage) ==
                   iso_plan_width(plan, value->to_stage);
    if (*can_out && iso_graph_node(from, id)->op != ISO_OP_INPUT) {
        ISO_TRY(iso_cut_unit(from, id, made->axis, &unit));
        *can_out = unit == 1;
    }
    return ISO_OK;
}

static iso_status_t choose_one(iso_plan_t *plan, const iso_boundary_t *value)
{
    bool direct = false;

    ISO_TRY(can_be_direct(plan, value, &direct));
    if (!direct) {
        return ISO_OK;
    }
    const iso_node_cut_t *made = cut_of(plan, value->from_stage, value->name);
    iso_node_id_t input =
        iso_graph_find(graph_of(plan, value->to_stage), value->name);

    ISO_TRY(some_reader_wants(plan, value->to_stage, input, made, &direct));
    return direct ? iso_stage_cut_set(plan->cuts[value->to_stage], input, made)
                  : ISO_OK;
}

iso_status_t iso__plan_choose_direct(iso_plan_t *plan)
{
    for (int i = 0; i < plan->n_boundaries; i++) {
        ISO_TRY(choose_one(plan, &plan->boundaries[i]));
    }
    return ISO_OK;
}

/* -- what follows -- */

static bool same_pieces(const iso_node_cut_t *a, const iso_node_cut_t *b,
                        int n_workers)
{
    bool same = a->kind == ISO_CUT_SPLIT && a->axis == b->axis;

    for (int i = 0; same && i < n_workers; i++) {
        same = iso_range_length(a->ranges[i]) == iso_range_length(b->ranges[i]);
    }
    return same;
}

static iso_status_t keep_output(iso_plan_t *plan, const iso_boundary_t *value)
{
    const iso_graph_t *graph = graph_of(plan, value->from_stage);
    iso_stage_cut_t *stage = plan->cuts[value->from_stage];
    const iso_node_cut_t *made = cut_of(plan, value->from_stage, value->name);
    bool can = false;

    ISO_TRY(can_be_direct(plan, value, &can));
    if (!can || !same_pieces(made, cut_of(plan, value->to_stage, value->name),
                             stage->n_workers)) {
        return iso_fail(ISO_INVAL,
                        "'%s' enters stage %d in pieces that stage %d does "
                        "not make",
                        value->name, value->to_stage, value->from_stage);
    }
    for (int i = 0; i < iso_graph_output_count(graph); i++) {
        const iso_output_t *output = iso_graph_output(graph, i);

        if (strcmp(output->name, value->name) == 0) {
            stage->keep_outputs[i] = true;
        }
    }
    return ISO_OK;
}

/* A model input comes whole: worker 0 reads it. */
static iso_status_t check_inputs(const iso_plan_t *plan, int stage)
{
    const iso_stage_t *part = iso_partition_stage(plan->partition, stage);

    for (int i = 0; i < part->n_inputs; i++) {
        if (cut_of(plan, stage, part->inputs[i])->kind != ISO_CUT_ONE) {
            return iso_fail(ISO_INVAL,
                            "model input '%s' is cut in stage %d, but worker "
                            "0 reads all of it",
                            part->inputs[i], stage);
        }
    }
    return ISO_OK;
}

static iso_status_t follow_one(iso_plan_t *plan, const iso_boundary_t *value)
{
    return iso__plan_is_direct(plan, value) ? keep_output(plan, value) : ISO_OK;
}

iso_status_t iso__plan_follow_direct(iso_plan_t *plan)
{
    for (int stage = 0; stage < plan->n_stages; stage++) {
        ISO_TRY(check_inputs(plan, stage));
    }
    for (int i = 0; i < plan->n_boundaries; i++) {
        ISO_TRY(follow_one(plan, &plan->boundaries[i]));
    }
    return ISO_OK;
}
