/* Which values of a stage move between its workers, and when: decided from
 * the layouts of the versions of each value, which all workers know. */
#include "isotome/error.h"

#include "base/arena.h"
#include "base/log.h"
#include "base/mem.h"
#include "plan/shard/local_impl.h"

#include <string.h>

/* -- needs -- */

void iso__need_begin(iso__need_t *need, const iso__deciding_t *deciding)
{
    *need = (iso__need_t){.ranges = deciding->ranges,
                          .n_workers = deciding->cut->n_workers,
                          .axis = ISO_AXIS_WHOLE};
    memset(need->ranges, 0, (size_t)need->n_workers * sizeof *need->ranges);
}

void iso__need_add(iso__need_t *need, int worker, const iso_slab_t *slab)
{
    iso_range_t *range = &need->ranges[worker];

    ISO_ASSERT(need->n_slabs == 0 || need->axis == slab->axis);
    need->n_slabs++;
    need->axis = slab->axis;
    if (iso_range_length(*range) == 0) {
        *range = slab->range;
    } else if (iso_range_length(slab->range) > 0) {
        range->begin =
            slab->range.begin < range->begin ? slab->range.begin : range->begin;
        range->end =
            slab->range.end > range->end ? slab->range.end : range->end;
    }
}

iso_layout_t iso__need_end(const iso__need_t *need)
{
    if (need->axis == ISO_AXIS_WHOLE) {
        return (iso_layout_t){.kind = ISO_LAYOUT_ALL};
    }
    return (iso_layout_t){
        .kind = ISO_LAYOUT_SPLIT, .axis = need->axis, .ranges = need->ranges};
}

/* -- versions -- */

static iso_status_t add_version(iso__deciding_t *deciding, iso_node_id_t id,
                                const iso_layout_t *layout)
{
    iso__versions_t *versions = &deciding->values[id];
    iso__version_t *version =
        iso_arena_alloc(deciding->moves->arena, sizeof *version);

    if (version == NULL) {
        return ISO_NOMEM;
    }
    *version = (iso__version_t){.layout = *layout};
    if (versions->last == NULL) {
        versions->home = version;
    } else {
        versions->last->next = version;
    }
    versions->last = version;
    return ISO_OK;
}

static bool version_has(const iso__deciding_t *deciding,
                        const iso_shape_t *shape, const iso_layout_t *version,
                        const iso_layout_t *need)
{
    const int n_workers = deciding->cut->n_workers;
    bool has = true;

    /* By far the most frequent case, and quicker to see. */
    if (iso_layout_equal(version, need, n_workers)) {
        return true;
    }
    for (int worker = 0; has && worker < n_workers; worker++) {
        iso_box_t box;
        iso_box_t part;

        iso_layout_box(version, shape, worker, &box);
        iso_layout_box(need, shape, worker, &part);
        has = iso__box_contains(&box, &part);
    }
    return has;
}

/* The ranges of a need are in a room that the next need uses. */
static iso_status_t keep_layout(const iso__deciding_t *deciding,
                                const iso_layout_t *layout,
                                iso_layout_t *kept_out)
{
    *kept_out = *layout;
    if (layout->kind == ISO_LAYOUT_SPLIT) {
        kept_out->ranges = iso_arena_copy(
            deciding->moves->arena, layout->ranges,
            (size_t)deciding->cut->n_workers * sizeof *layout->ranges);
        return kept_out->ranges == NULL ? ISO_NOMEM : ISO_OK;
    }
    return ISO_OK;
}

iso_status_t iso__decide_move(iso__deciding_t *deciding,
                              const iso__move_t *move, const iso_layout_t *from,
                              const iso_layout_t *to)
{
    const iso_node_t *node = iso_graph_node(deciding->stage, move->id);
    iso_exchange_t *exchange =
        iso__list_add(&deciding->exchanges, sizeof *exchange);
    iso__move_t *added = iso__list_add(&deciding->list, sizeof *added);

    if (exchange == NULL || added == NULL) {
        return ISO_NOMEM;
    }
    *added = *move;
    *exchange = (iso_exchange_t){.kind = iso_exchange_kind_of(from, to),
                                 .value = node->name,
                                 .dtype = node->dtype,
                                 .shape = node->shape,
                                 .n_workers = deciding->cut->n_workers,
                                 .from = *from,
                                 .to = *to};
    return ISO_OK;
}

iso_status_t iso__decide_need(iso__deciding_t *deciding, iso_node_id_t reader,
                              int operand, const iso_layout_t *need)
{
    const iso_node_id_t id = iso__operand_of(deciding->stage, reader, operand);
    const iso__move_t move = {id, reader, operand};
    const iso_node_t *node;
    iso_layout_t to;

    if (id == ISO_NO_NODE) {
        return ISO_OK;
    }
    node = iso_graph_node(deciding->stage, id);
    if (node->op == ISO_OP_PARAM || node->op == ISO_OP_CONSTANT) {
        return ISO_OK;
    }
    for (const iso__version_t *v = deciding->values[id].home; v != NULL;
         v = v->next) {
        if (version_has(deciding, &node->shape, &v->layout, need)) {
            return ISO_OK;
        }
    }
    if (deciding->values[id].home == NULL) {
        return iso_fail(ISO_INTERNAL, "'%s' is read before it is computed",
                        node->name);
    }
    ISO_TRY(keep_layout(deciding, need, &to));
    ISO_TRY(iso__decide_move(deciding, &move,
                             &deciding->values[id].home->layout, &to));
    return add_version(deciding, id, &to);
}

/* -- the walk -- */

/* Whole, by one worker or by all. */
static iso_status_t decide_whole(iso__deciding_t *deciding, iso_node_id_t id)
{
    const iso_node_t *node = iso_graph_node(deciding->stage, id);
    const iso_layout_t layout = iso_node_cut_layout(&deciding->cut->nodes[id]);

    for (int i = 0; i < node->n_inputs; i++) {
        ISO_TRY(iso__decide_need(deciding, id, i, &layout));
    }
    return ISO_OK;
}

/* The slabs of an operand that all pieces need. */
static iso_status_t decide_slabs(iso__deciding_t *deciding, iso_node_id_t id,
                                 int operand)
{
    const iso_node_cut_t *cut = &deciding->cut->nodes[id];
    iso_layout_t layout;
    iso__need_t need;

    if (iso__operand_of(deciding->stage, id, operand) == ISO_NO_NODE) {
        return ISO_OK;
    }
    iso__need_begin(&need, deciding);
    for (int worker = 0; worker < need.n_workers; worker++) {
        iso_slab_t slab;

        if (iso_range_length(cut->ranges[worker]) == 0) {
            continue;
        }
        ISO_TRY(iso_cut_operand(deciding->stage, id, cut->axis,
                                cut->ranges[worker], operand, &slab));
        iso__need_add(&need, worker, &slab);
    }
    layout = iso__need_end(&need);
    return iso__decide_need(deciding, id, operand, &layout);
}

static iso_status_t decide_split(iso__deciding_t *deciding, iso_node_id_t id)
{
    const iso_node_t *node = iso_graph_node(deciding->stage, id);

    for (int i = 0; i < node->n_inputs; i++) {
        ISO_TRY(decide_slabs(deciding, id, i));
    }
    return ISO_OK;
}

static iso_status_t decide_node(iso__deciding_t *deciding, iso_node_id_t id)
{
    const iso_node_cut_t *cut = &deciding->cut->nodes[id];
    const iso_op_t op = iso_graph_node(deciding->stage, id)->op;
    const iso_layout_t layout = iso_node_cut_layout(cut);

    if (op == ISO_OP_PARAM || op == ISO_OP_CONSTANT) {
        return ISO_OK;
    }
    if (op != ISO_OP_INPUT) {
        ISO_TRY(cut->kind == ISO_CUT_SPLIT ? decide_split(deciding, id)
                : cut->kind == ISO_CUT_PARTIAL
                    ? iso__decide_partial(deciding, id)
                    : decide_whole(deciding, id));
    }
    return add_version(deciding, id, &layout);
}

static iso_status_t decide_output(iso__deciding_t *deciding, int index)
{
    static const iso_layout_t one = {.kind = ISO_LAYOUT_ONE};

    return iso__output_stays(deciding->stage, deciding->cut, index)
               ? ISO_OK
               : iso__decide_need(deciding, ISO_NO_NODE, index, &one);
}

static iso_status_t decide_stage(iso__deciding_t *deciding)
{
    for (iso_node_id_t id = 0; id < iso_graph_node_count(deciding->stage);
         id++) {
        ISO_TRY(decide_node(deciding, id));
    }
    /* At the end: a version that a reader needed may serve. */
    for (int i = 0; i < iso_graph_output_count(deciding->stage); i++) {
        ISO_TRY(decide_output(deciding, i));
    }
    return ISO_OK;
}

/* -- life -- */

static iso_status_t finish(iso__deciding_t *deciding)
{
    iso_moves_t *moves = deciding->moves;
    const size_t count = (size_t)deciding->list.count;

    moves->count = deciding->list.count;
    moves->exchanges = iso_arena_copy(moves->arena, deciding->exchanges.items,
                                      count * sizeof *moves->exchanges);
    moves->list = iso_arena_copy(moves->arena, deciding->list.items,
                                 count * sizeof *moves->list);
    return moves->exchanges == NULL || moves->list == NULL ? ISO_NOMEM : ISO_OK;
}

static iso_status_t decide(iso_moves_t *moves)
{
    const size_t n_nodes = (size_t)iso_graph_node_count(moves->stage);
    iso__deciding_t deciding = {
        .stage = moves->stage, .cut = moves->cut, .moves = moves};
    iso_status_t status = ISO_NOMEM;

    deciding.values = iso_alloc_zeroed(n_nodes, sizeof *deciding.values);
    deciding.ranges = iso_alloc_zeroed((size_t)moves->cut->n_workers,
                                       sizeof *deciding.ranges);
    if (deciding.values != NULL && deciding.ranges != NULL) {
        status = decide_stage(&deciding);
    }
    if (status == ISO_OK) {
        status = finish(&deciding);
    }
    iso_free(deciding.values);
    iso_free(deciding.ranges);
    iso_free(deciding.exchanges.items);
    iso_free(deciding.list.items);
    return status;
}

iso_status_t iso_moves_create(const iso_graph_t *stage,
                              const iso_stage_cut_t *cut,
                              iso_moves_t **moves_out)
{
    iso_moves_t *moves = iso_alloc_zeroed(1, sizeof *moves);
    iso_status_t status;

    *moves_out = NULL;
    if (moves == NULL) {
        return ISO_NOMEM;
    }
    moves->stage = stage;
    moves->cut = cut;
    status = iso_arena_create(&moves->arena);
    if (status == ISO_OK && cut->n_workers > 1) {
        status = decide(moves);
    }
    if (status != ISO_OK) {
        iso_moves_destroy(&moves);
    }
    *moves_out = moves;
    return status;
}

void iso_moves_destroy(iso_moves_t **moves)
{
    iso_moves_t *dead = *moves;

    if (dead == NULL) {
        return;
    }
    iso_arena_destroy(&dead->arena);
    iso_free(dead);
    *moves = NULL;
}
