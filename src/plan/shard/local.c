#include "plan/shard/local.h"

#include "base/log.h"
#include "base/mem.h"
#include "graph/pass.h"
#include "plan/shard/local_impl.h"

#include <stdlib.h>
#include <string.h>

iso_status_t iso__note_origin(iso__lowering_t *lowering, iso_node_id_t id,
                              const iso_box_t *box)
{
    const int32_t count = iso_graph_node_count(lowering->local->graph);

    while (lowering->origins.count < count) {
        iso_origin_t *origin =
            iso__list_add(&lowering->origins, sizeof *origin);

        if (origin == NULL) {
            return ISO_NOMEM;
        }
        origin->node = ISO_NO_NODE;
        if (lowering->origins.count == count) {
            *origin = (iso_origin_t){id, *box};
        }
    }
    return ISO_OK;
}

/* -- one node -- */

static iso_status_t lower_input(iso__lowering_t *lowering, iso_node_id_t id)
{
    const iso_node_t *node = iso_graph_node(lowering->stage, id);
    const iso_layout_t layout = iso_node_cut_layout(&lowering->cut->nodes[id]);
    iso_node_id_t added = ISO_NO_NODE;

    if (iso__layout_has(&layout, lowering->worker)) {
        iso_shape_t shape;
        iso_box_t box;

        iso_layout_box(&layout, &node->shape, lowering->worker, &box);
        shape = iso__box_shape(&box);
        ISO_TRY(iso_graph_add_input(lowering->local->graph, node->name,
                                    node->dtype, &shape, &added));
    }
    return iso__value_begin(lowering, id, &layout, added);
}

/* Whole, by one worker or by all. */
static iso_status_t lower_whole(iso__lowering_t *lowering, iso_node_id_t id)
{
    const iso_node_t *node = iso_graph_node(lowering->stage, id);
    const iso_layout_t layout = iso_node_cut_layout(&lowering->cut->nodes[id]);
    iso_node_id_t added = ISO_NO_NODE;

    for (int i = 0; i < node->n_inputs; i++) {
        ISO_TRY(
            iso__value_whole(lowering, id, i, &layout, &lowering->operands[i]));
    }
    if (iso__layout_has(&layout, lowering->worker)) {
        ISO_TRY(iso_cut_add_whole(lowering->stage, id, lowering->local->graph,
                                  node->name, lowering->operands, &added));
    }
    return iso__value_begin(lowering, id, &layout, added);
}

static iso_status_t lower_split_operand(iso__lowering_t *lowering,
                                        iso_node_id_t id, int operand)
{
    const iso_node_cut_t *cut = &lowering->cut->nodes[id];
    const iso_range_t own = cut->ranges[lowering->worker];
    const iso_node_id_t input =
        iso_graph_node(lowering->stage, id)->inputs[operand];
    iso_slab_t slab;
    iso_box_t box;

    lowering->operands[operand] = ISO_NO_NODE;
    if (input == ISO_NO_NODE) {
        return ISO_OK;
    }
    ISO_TRY(iso__value_need(lowering, id, operand));
    if (iso_range_length(own) == 0) {
        return ISO_OK;
    }
    ISO_TRY(
        iso_cut_operand(lowering->stage, id, cut->axis, own, operand, &slab));
    box = iso__box_slab(&iso_graph_node(lowering->stage, input)->shape, &slab);
    return iso__value_piece(lowering, input, &box,
                            &lowering->operands[operand]);
}

static iso_status_t lower_split(iso__lowering_t *lowering, iso_node_id_t id)
{
    const iso_node_t *node = iso_graph_node(lowering->stage, id);
    const iso_node_cut_t *cut = &lowering->cut->nodes[id];
    const iso_layout_t layout = iso_node_cut_layout(cut);
    const iso_range_t own = cut->ranges[lowering->worker];
    iso_node_id_t added = ISO_NO_NODE;

    for (int i = 0; i < node->n_inputs; i++) {
        ISO_TRY(lower_split_operand(lowering, id, i));
    }
    if (iso_range_length(own) > 0) {
        ISO_TRY(iso_cut_add(lowering->stage, id, cut->axis, own,
                            lowering->local->graph, node->name,
                            lowering->operands, &added));
    }
    return iso__value_begin(lowering, id, &layout, added);
}

static iso_status_t lower_node(iso__lowering_t *lowering, iso_node_id_t id)
{
    switch (iso_graph_node(lowering->stage, id)->op) {
    case ISO_OP_PARAM:
    case ISO_OP_CONSTANT:
        return ISO_OK; /* added where it is read */
    case ISO_OP_INPUT:
        return lower_input(lowering, id);
    default:
        break;
    }
    switch (lowering->cut->nodes[id].kind) {
    case ISO_CUT_SPLIT:
        return lower_split(lowering, id);
    case ISO_CUT_PARTIAL:
        return iso__lower_partial(lowering, id);
    default:
        return lower_whole(lowering, id);
    }
}

/* -- outputs -- */

static iso_status_t lower_output(iso__lowering_t *lowering, int index)
{
    static const iso_layout_t one = {.kind = ISO_LAYOUT_ONE};
    const iso_output_t *output = iso_graph_output(lowering->stage, index);
    iso_node_id_t part = ISO_NO_NODE;

    if (iso__output_stays(lowering->stage, lowering->cut, index)) {
        part = lowering->values[output->node].home;
    } else {
        ISO_TRY(iso__value_whole(lowering, ISO_NO_NODE, index, &one, &part));
    }
    return part == ISO_NO_NODE ? ISO_OK
                               : iso_graph_add_output(lowering->local->graph,
                                                      output->name, part);
}

static iso_status_t lower_stage(iso__lowering_t *lowering)
{
    ISO_TRY(iso_graph_create(&lowering->local->graph));
    for (iso_node_id_t id = 0; id < iso_graph_node_count(lowering->stage);
         id++) {
        ISO_TRY(lower_node(lowering, id));
    }
    for (int i = 0; i < iso_graph_output_count(lowering->stage); i++) {
        ISO_TRY(lower_output(lowering, i));
    }
    return ISO_OK;
}

/* -- one worker -- */

static iso_status_t note_whole(iso__lowering_t *lowering, iso_node_id_t id)
{
    const iso_node_t *node = iso_graph_node(lowering->stage, id);
    iso_origin_t *origin = iso__list_add(&lowering->origins, sizeof *origin);
    iso_weight_part_t *part;

    if (origin == NULL) {
        return ISO_NOMEM;
    }
    *origin = (iso_origin_t){id, iso__box_whole(&node->shape)};
    if (node->op != ISO_OP_PARAM) {
        return ISO_OK;
    }
    part = iso__list_add(&lowering->weights, sizeof *part);
    if (part == NULL) {
        return ISO_NOMEM;
    }
    *part =
        (iso_weight_part_t){node->name, node->name, {.axis = ISO_AXIS_WHOLE}};
    return ISO_OK;
}

/* A graph bound to nothing is a copy, with the same ids. */
static iso_status_t copy_stage(iso__lowering_t *lowering)
{
    const iso_graph_t *stage = lowering->stage;

    ISO_TRY(iso_graph_bind(stage, NULL, 0, &lowering->local->graph));
    for (iso_node_id_t id = 0; id < iso_graph_node_count(stage); id++) {
        ISO_TRY(note_whole(lowering, id));
    }
    return ISO_OK;
}

/* -- life -- */

static int most_inputs(const iso_graph_t *stage)
{
    int most = 0;

    for (iso_node_id_t id = 0; id < iso_graph_node_count(stage); id++) {
        const int n_inputs = iso_graph_node(stage, id)->n_inputs;

        most = n_inputs > most ? n_inputs : most;
    }
    return most;
}

static iso_status_t begin_lowering(iso__lowering_t *lowering)
{
    const size_t n_nodes = (size_t)iso_graph_node_count(lowering->stage);

    lowering->values = iso_alloc_zeroed(n_nodes, sizeof *lowering->values);
    lowering->operands = iso_alloc_zeroed((size_t)most_inputs(lowering->stage),
                                          sizeof *lowering->operands);
    if (lowering->values == NULL || lowering->operands == NULL) {
        return ISO_NOMEM;
    }
    for (size_t i = 0; i < n_nodes; i++) {
        lowering->values[i].home = ISO_NO_NODE;
    }
    return ISO_OK;
}

static int compare_weights(const void *a, const void *b)
{
    return strcmp(((const iso_weight_part_t *)a)->node,
                  ((const iso_weight_part_t *)b)->node);
}

/* The lists into the arena, in their order. */
static iso_status_t finish_lowering(iso__lowering_t *lowering)
{
    iso_local_t *local = lowering->local;
    const iso__list_t *weights = &lowering->weights;
    const iso__list_t *origins = &lowering->origins;

    if (weights->count > 1) {
        qsort(weights->items, (size_t)weights->count, sizeof *local->weights,
              compare_weights);
    }
    local->n_exchanges = lowering->moves->count;
    local->exchanges = lowering->moves->exchanges;
    local->n_weights = weights->count;
    local->weights =
        iso_arena_copy(local->arena, weights->items,
                       (size_t)weights->count * sizeof *local->weights);
    local->origins =
        iso_arena_copy(local->arena, origins->items,
                       (size_t)origins->count * sizeof *local->origins);
    return local->weights == NULL || local->origins == NULL ? ISO_NOMEM
                                                            : ISO_OK;
}

static void free_lowering(iso__lowering_t *lowering)
{
    iso_free(lowering->values);
    iso_free(lowering->operands);
    iso_free(lowering->weights.items);
    iso_free(lowering->origins.items);
}

static iso_status_t fill_local(const iso_moves_t *moves, iso_local_t *local)
{
    iso__lowering_t lowering = {.stage = moves->stage,
                                .cut = moves->cut,
                                .moves = moves,
                                .local = local,
                                .worker = local->worker,
                                .n_workers = local->n_workers};
    iso_status_t status = iso_arena_create(&local->arena);

    if (status == ISO_OK) {
        status = begin_lowering(&lowering);
    }
    if (status == ISO_OK) {
        status = local->n_workers == 1 ? copy_stage(&lowering)
                                       : lower_stage(&lowering);
    }
    if (status == ISO_OK) {
        status = finish_lowering(&lowering);
    }
    free_lowering(&lowering);
    return status;
}

iso_status_t iso_local_create_from(const iso_moves_t *moves, int worker,
                                   iso_local_t **local_out)
{
    iso_local_t *local = iso_alloc_zeroed(1, sizeof *local);
    iso_status_t status;

    ISO_ASSERT(worker >= 0 && worker < moves->cut->n_workers);
    *local_out = NULL;
    if (local == NULL) {
        return ISO_NOMEM;
    }
    local->worker = worker;
    local->n_workers = moves->cut->n_workers;
    status = fill_local(moves, local);
    if (status != ISO_OK) {
        iso_local_destroy(&local);
    }
    *local_out = local;
    return status;
}

iso_status_t iso_local_create(const iso_graph_t *stage,
                              const iso_stage_cut_t *cut, int worker,
                              iso_local_t **local_out)
{
    iso_moves_t *moves = NULL;
    iso_status_t status;

    *local_out = NULL;
    ISO_TRY(iso_moves_create(stage, cut, &moves));
    status = iso_local_create_from(moves, worker, local_out);
    if (status != ISO_OK) {
        iso_moves_destroy(&moves);
        return status;
    }
    (*local_out)->moves = moves;
    return ISO_OK;
}

void iso_local_destroy(iso_local_t **local)
{
    iso_local_t *dead = *local;

    if (dead == NULL) {
        return;
    }
    iso_graph_destroy(&dead->graph);
    iso_arena_destroy(&dead->arena);
    iso_moves_destroy(&dead->moves);
    iso_free(dead);
    *local = NULL;
}
