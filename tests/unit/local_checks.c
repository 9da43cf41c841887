#include "local_checks.h"

#include "isotome/error.h"

#include "base/mem.h"
#include "iso_lockstep.h"
#include "iso_test.h"
#include "plan/memory_plan.h"
#include "stage_samples.h"

#include <stdio.h>
#include <string.h>

enum { VALUES_SEED = 12 };

static void print_failure(void)
{
    (void)fprintf(stderr, "%s\n", iso_error_text());
}

bool local_workers_make(const iso_graph_t *stage, const iso_stage_cut_t *cut,
                        local_workers_t *workers)
{
    iso_status_t status = iso_stage_cut_check(cut, stage);

    *workers = (local_workers_t){stage, cut, cut->n_workers, {NULL}};
    for (int i = 0; i < workers->count && status == ISO_OK; i++) {
        status = iso_local_create(stage, cut, i, &workers->locals[i]);
    }
    CU_ASSERT_EQUAL(status, ISO_OK);
    if (status != ISO_OK) {
        print_failure();
    }
    return status == ISO_OK;
}

void local_workers_free(local_workers_t *workers)
{
    for (int i = 0; i < workers->count; i++) {
        iso_local_destroy(&workers->locals[i]);
    }
}

/* -- what holds for every stage and cut -- */

static bool exchange_equal(const iso_exchange_t *a, const iso_exchange_t *b)
{
    return a->kind == b->kind && strcmp(a->value, b->value) == 0 &&
           a->dtype == b->dtype && iso_shape_equal(&a->shape, &b->shape) &&
           a->n_workers == b->n_workers &&
           iso_layout_equal(&a->from, &b->from, a->n_workers) &&
           iso_layout_equal(&a->to, &b->to, a->n_workers);
}

/* All workers make the same list. */
static void check_exchanges(const local_workers_t *workers)
{
    const iso_local_t *first = workers->locals[0];

    for (int i = 1; i < workers->count; i++) {
        const iso_local_t *local = workers->locals[i];

        CU_ASSERT_EQUAL_FATAL(local->n_exchanges, first->n_exchanges);
        for (int k = 0; k < first->n_exchanges; k++) {
            CU_ASSERT(
                exchange_equal(&local->exchanges[k], &first->exchanges[k]));
        }
    }
}

/* Graphs of workers that share what moves are those of workers on their own. */
static void check_shared_moves(const local_workers_t *workers)
{
    iso_moves_t *moves = NULL;

    CU_ASSERT_EQUAL_FATAL(
        iso_moves_create(workers->stage, workers->cut, &moves), ISO_OK);
    for (int i = workers->count - 1; i >= 0; i--) {
        const iso_local_t *own = workers->locals[i];
        iso_local_t *local = NULL;

        CU_ASSERT_EQUAL_FATAL(iso_local_create_from(moves, i, &local), ISO_OK);
        CU_ASSERT_EQUAL(iso_graph_digest(local->graph),
                        iso_graph_digest(own->graph));
        CU_ASSERT_PTR_EQUAL(local->exchanges, moves->exchanges);
        CU_ASSERT_EQUAL(local->n_exchanges, own->n_exchanges);
        CU_ASSERT_EQUAL(local->n_weights, own->n_weights);
        iso_local_destroy(&local);
    }
    iso_moves_destroy(&moves);
}

/* Each weight is a slab of one of the stage's; sorted; there for a reader. */
static void check_weights(const iso_graph_t *stage, const iso_local_t *local)
{
    int n_params = 0;

    for (int32_t id = 0; id < iso_graph_node_count(local->graph); id++) {
        n_params += iso_graph_node(local->graph, id)->op == ISO_OP_PARAM;
    }
    CU_ASSERT_EQUAL(n_params, local->n_weights);
    for (int i = 0; i < local->n_weights; i++) {
        const iso_weight_part_t *part = &local->weights[i];
        const iso_node_t *whole =
            iso_graph_node(stage, iso_graph_find(stage, part->weight));
        const iso_node_t *node = iso_graph_node(
            local->graph, iso_graph_find(local->graph, part->node));
        iso_shape_t shape = whole->shape;

        if (part->slab.axis != ISO_AXIS_WHOLE) {
            CU_ASSERT(part->slab.range.begin >= 0 &&
                      part->slab.range.end <= shape.dim[part->slab.axis].size);
            shape.dim[part->slab.axis].size =
                iso_range_length(part->slab.range);
        }
        CU_ASSERT(iso_shape_equal(&shape, &node->shape));
        CU_ASSERT_EQUAL(node->op, ISO_OP_PARAM);
        CU_ASSERT(i == 0 || strcmp(local->weights[i - 1].node, part->node) < 0);
    }
}

static bool stays(const local_workers_t *workers, int index)
{
    const iso_op_t op =
        iso_graph_node(workers->stage,
                       iso_graph_output(workers->stage, index)->node)
            ->op;

    return workers->cut->keep_outputs[index] && op != ISO_OP_PARAM &&
           op != ISO_OP_CONSTANT;
}

static bool box_equal(const iso_box_t *a, const iso_box_t *b)
{
    bool equal = a->rank == b->rank;

    for (int axis = 0; equal && axis < a->rank; axis++) {
        equal = a->range[axis].begin == b->range[axis].begin &&
                a->range[axis].end == b->range[axis].end;
    }
    return equal;
}

/* Where the output of the stage is expected; its parts here. */
static void check_output(const local_workers_t *workers, int index)
{
    const iso_output_t *output = iso_graph_output(workers->stage, index);
    const iso_node_t *node = iso_graph_node(workers->stage, output->node);
    const iso_layout_t layout = iso_node_cut_layout(
        stays(workers, index) ? &workers->cut->nodes[output->node]
                              : &(iso_node_cut_t){.kind = ISO_CUT_ONE});

    for (int i = 0; i < workers->count; i++) {
        const iso_graph_t *graph = workers->locals[i]->graph;
        iso_node_id_t found = ISO_NO_NODE;
        iso_box_t box;

        iso_layout_box(&layout, &node->shape, i, &box);
        for (int k = 0; k < iso_graph_output_count(graph); k++) {
            if (strcmp(iso_graph_output(graph, k)->name, output->name) == 0) {
                found = iso_graph_output(graph, k)->node;
            }
        }
        CU_ASSERT_EQUAL(found != ISO_NO_NODE,
                        iso_box_count(&box) > 0 ||
                            ((i == 0 || layout.kind == ISO_LAYOUT_ALL) &&
                             iso_shape_count(&node->shape) == 0));
        if (found != ISO_NO_NODE) {
            const iso_origin_t *origin = &workers->locals[i]->origins[found];

            CU_ASSERT_EQUAL(origin->node, output->node);
            CU_ASSERT(box_equal(&origin->box, &box));
        }
    }
}

static void check_outputs(const local_workers_t *workers)
{
    int most = 0;

    for (int i = 0; i < iso_graph_output_count(workers->stage); i++) {
        check_output(workers, i);
    }
    for (int i = 0; i < workers->count; i++) {
        const int count = iso_graph_output_count(workers->locals[i]->graph);

        most = count > most ? count : most;
    }
    CU_ASSERT(most <= iso_graph_output_count(workers->stage));
}

/* Parts of a value have new names: no two nodes of a name, and a piece that
 * is computed has the stage's name. */
static void check_origins(const local_workers_t *workers,
                          const iso_local_t *local)
{
    for (int32_t id = 0; id < iso_graph_node_count(local->graph); id++) {
        const iso_node_t *node = iso_graph_node(local->graph, id);
        const iso_node_id_t named = iso_graph_find(workers->stage, node->name);
        const iso_origin_t *origin = &local->origins[id];

        CU_ASSERT(named == ISO_NO_NODE || named == origin->node);
        if (node->op == ISO_OP_INPUT) {
            CU_ASSERT_EQUAL(named, origin->node);
        }
    }
}

static void check_sent(const local_workers_t *workers,
                       const iso_lockstep_t *lockstep)
{
    for (int k = 0; k < workers->locals[0]->n_exchanges; k++) {
        const iso_exchange_t *exchange = &workers->locals[0]->exchanges[k];
        size_t all = 0;

        for (int i = 0; i < workers->count; i++) {
            const size_t sent = lockstep->sent_bytes[k * workers->count + i];

            CU_ASSERT_EQUAL(iso_exchange_sent_bytes(exchange, i), sent);
            all += sent;
        }
        CU_ASSERT_EQUAL(iso_exchange_bytes(exchange), all);
        /* Nothing that moves nothing is in the list. */
        CU_ASSERT(all > 0);
    }
}

/* The bits of every part of every value are those of the whole. */
static void check_bits(const local_workers_t *workers,
                       const iso_weight_source_t *weights,
                       const iso_weight_source_t *inputs)
{
    iso_lockstep_t lockstep = {0};
    iso_eval_t whole = {0};
    iso_status_t status = iso_eval_run(workers->stage, weights, inputs, &whole);

    CU_ASSERT_EQUAL_FATAL(status, ISO_OK);
    status = iso_lockstep_run(workers->locals, workers->count, weights, inputs,
                              &lockstep);
    if (status == ISO_OK) {
        status = iso_lockstep_check(&lockstep, &whole);
        check_sent(workers, &lockstep);
    }
    CU_ASSERT_EQUAL(status, ISO_OK);
    if (status != ISO_OK) {
        print_failure();
    }
    iso_lockstep_free(&lockstep);
    iso_eval_free(&whole);
}

static void check_memory(const iso_graph_t *graph)
{
    iso_formats_t formats = {0};
    iso_memory_plan_t plan = {0};

    CU_ASSERT_EQUAL_FATAL(iso_formats_create(graph, true, &formats), ISO_OK);
    CU_ASSERT_EQUAL_FATAL(iso_memory_plan_create(graph, &formats, &plan),
                          ISO_OK);
    CU_ASSERT_EQUAL(iso_memory_plan_check(graph, &formats, &plan), ISO_OK);
    iso_memory_plan_free(&plan);
    iso_formats_free(&formats);
}

void local_check_all(const local_workers_t *workers,
                     const iso_weight_source_t *weights,
                     const iso_weight_source_t *inputs)
{
    check_exchanges(workers);
    check_shared_moves(workers);
    for (int i = 0; i < workers->count; i++) {
        check_weights(workers->stage, workers->locals[i]);
        check_origins(workers, workers->locals[i]);
        check_memory(workers->locals[i]->graph);
    }
    check_outputs(workers);
    check_bits(workers, weights, inputs);
}

/* As check_all, with weights and inputs at random. */
void local_check_stage(const local_workers_t *workers)
{
    stage_values_t values;
    iso_weight_source_t source;

    stage_values_begin(&values, workers->stage, VALUES_SEED);
    source = stage_values_source(&values);
    local_check_all(workers, &source, &source);
    stage_values_end(&values);
}
