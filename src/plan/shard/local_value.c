/* Values on their way: in which layouts they are, and this worker's parts. */
#include "isotome/error.h"

#include "base/arena.h"
#include "base/log.h"
#include "base/mem.h"
#include "plan/shard/local_impl.h"

#include <string.h>

void *iso__list_add(iso__list_t *list, size_t size)
{
    char *items = list->items;

    if (list->count == list->most) {
        const int most = list->most == 0 ? 16 : 2 * list->most;

        items = iso_realloc(list->items, (size_t)most * size);
        if (items == NULL) {
            return NULL;
        }
        list->items = items;
        list->most = most;
    }
    items += (size_t)list->count * size;
    memset(items, 0, size);
    list->count++;
    return items;
}

/* -- boxes -- */

iso_box_t iso__box_whole(const iso_shape_t *shape)
{
    const iso_layout_t all = {.kind = ISO_LAYOUT_ALL};
    iso_box_t box;

    iso_layout_box(&all, shape, 0, &box);
    return box;
}

iso_box_t iso__box_slab(const iso_shape_t *shape, const iso_slab_t *slab)
{
    iso_box_t box = iso__box_whole(shape);

    if (slab->axis != ISO_AXIS_WHOLE) {
        box.range[slab->axis] = slab->range;
    }
    return box;
}

iso_shape_t iso__box_shape(const iso_box_t *box)
{
    iso_shape_t shape = {.rank = box->rank};

    for (int axis = 0; axis < box->rank; axis++) {
        shape.dim[axis] = iso_dim_of(iso_range_length(box->range[axis]));
    }
    return shape;
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

/* Nothing is a part of anything. */
static bool box_contains(const iso_box_t *box, const iso_box_t *part)
{
    bool contains = box->rank == part->rank;

    if (iso_box_count(part) == 0) {
        return true;
    }
    for (int axis = 0; contains && axis < box->rank; axis++) {
        contains = box->range[axis].begin <= part->range[axis].begin &&
                   part->range[axis].end <= box->range[axis].end;
    }
    return contains;
}

bool iso__layout_has(const iso_layout_t *layout, int worker)
{
    switch (layout->kind) {
    case ISO_LAYOUT_ONE:
        return layout->worker == worker;
    case ISO_LAYOUT_ALL:
        return true;
    case ISO_LAYOUT_SPLIT:
        return iso_range_length(layout->ranges[worker]) > 0;
    }
    return false;
}

/* -- needs -- */

void iso__need_begin(iso__need_t *need, iso__lowering_t *lowering)
{
    *need = (iso__need_t){.ranges = lowering->ranges,
                          .n_workers = lowering->n_workers,
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

static iso_status_t add_version(iso__lowering_t *lowering, iso_node_id_t id,
                                const iso_layout_t *layout)
{
    iso__value_t *value = &lowering->values[id];
    iso__version_t *version =
        iso_arena_alloc(lowering->local->arena, sizeof *version);

    if (version == NULL) {
        return ISO_NOMEM;
    }
    version->layout = *layout;
    if (value->last == NULL) {
        value->versions = version;
    } else {
        value->last->next = version;
    }
    value->last = version;
    return ISO_OK;
}

iso_status_t iso__value_add_piece(iso__lowering_t *lowering, iso_node_id_t id,
                                  const iso_box_t *box, iso_node_id_t node)
{
    iso__value_t *value = &lowering->values[id];
    iso__piece_t *piece =
        iso_arena_alloc(lowering->local->arena, sizeof *piece);

    if (piece == NULL) {
        return ISO_NOMEM;
    }
    *piece = (iso__piece_t){*box, node, value->pieces};
    value->pieces = piece;
    return ISO_OK;
}

iso_status_t iso__value_begin(iso__lowering_t *lowering, iso_node_id_t id,
                              const iso_layout_t *layout, iso_node_id_t node)
{
    const iso_node_t *whole = iso_graph_node(lowering->stage, id);
    iso_box_t box;

    ISO_TRY(add_version(lowering, id, layout));
    lowering->values[id].home = node;
    if (node == ISO_NO_NODE) {
        return ISO_OK;
    }
    iso_layout_box(layout, &whole->shape, lowering->worker, &box);
    ISO_TRY(iso__note_origin(lowering, id, &box));
    return iso__value_add_piece(lowering, id, &box, node);
}

static bool version_has(const iso__lowering_t *lowering,
                        const iso_shape_t *shape, const iso_layout_t *version,
                        const iso_layout_t *need)
{
    bool has = true;

    for (int worker = 0; has && worker < lowering->n_workers; worker++) {
        iso_box_t box;
        iso_box_t part;

        iso_layout_box(version, shape, worker, &box);
        iso_layout_box(need, shape, worker, &part);
        has = box_contains(&box, &part);
    }
    return has;
}

/* The ranges of a need are in the lowering's room; those of an exchange stay.
 */
static iso_status_t keep_layout(const iso__lowering_t *lowering,
                                const iso_layout_t *layout,
                                iso_layout_t *kept_out)
{
    *kept_out = *layout;
    if (layout->kind == ISO_LAYOUT_SPLIT) {
        kept_out->ranges = iso_arena_copy(
            lowering->local->arena, layout->ranges,
            (size_t)lowering->n_workers * sizeof *layout->ranges);
        return kept_out->ranges == NULL ? ISO_NOMEM : ISO_OK;
    }
    return ISO_OK;
}

iso_status_t iso__value_need(iso__lowering_t *lowering, iso_node_id_t id,
                             const iso_layout_t *need)
{
    const iso_node_t *node = iso_graph_node(lowering->stage, id);
    const iso__value_t *value = &lowering->values[id];
    iso__move_t move = {.id = id};
    iso_node_id_t added;
    iso_box_t box;

    if (node->op == ISO_OP_PARAM || node->op == ISO_OP_CONSTANT) {
        return ISO_OK;
    }
    for (const iso__version_t *v = value->versions; v != NULL; v = v->next) {
        if (version_has(lowering, &node->shape, &v->layout, need)) {
            return ISO_OK;
        }
    }
    if (value->versions == NULL) {
        return iso_fail(ISO_INTERNAL, "'%s' is read before it is computed",
                        node->name);
    }
    move.from = value->versions->layout;
    move.operand = value->home;
    ISO_TRY(keep_layout(lowering, need, &move.to));
    ISO_TRY(iso__add_exchange(lowering, &move, &box, &added));
    ISO_TRY(iso__note_origin(lowering, id, &box));
    ISO_TRY(add_version(lowering, id, &move.to));
    return iso_box_count(&box) == 0
               ? ISO_OK
               : iso__value_add_piece(lowering, id, &box, added);
}

/* -- the exchange itself -- */

/* Node of an exchange whose part for this worker has this box. */
static iso_status_t add_exchange_node(iso__lowering_t *lowering,
                                      const iso__move_t *move, int64_t number,
                                      const iso_box_t *box,
                                      iso_node_id_t *node_out)
{
    const iso_node_t *node = iso_graph_node(lowering->stage, move->id);
    const iso_shape_t shape = iso__box_shape(box);
    const iso_attr_t attrs[] = {
        {"number", ISO_ATTR_INTS, 1, {.ints = &number}},
        {"dtype", ISO_ATTR_TEXT, 1, {.text = iso_dtype_string(node->dtype)}},
        {"shape", ISO_ATTR_DIMS, shape.rank, {.dims = shape.dim}},
    };
    iso_node_spec_t spec = {.op = ISO_OP_EXCHANGE,
                            .n_inputs = move->operand != ISO_NO_NODE,
                            .inputs = &move->operand,
                            .n_attrs = sizeof attrs / sizeof attrs[0],
                            .attrs = attrs};
    const char *text = iso_arena_format(lowering->local->arena, "%s>%lld",
                                        node->name, (long long)number);

    spec.name = text == NULL ? NULL : iso__unique_name(lowering, text);
    if (spec.name == NULL) {
        return ISO_NOMEM;
    }
    return iso_graph_add(lowering->local->graph, &spec, node_out);
}

iso_status_t iso__add_exchange(iso__lowering_t *lowering,
                               const iso__move_t *move, iso_box_t *box_out,
                               iso_node_id_t *node_out)
{
    const iso_node_t *node = iso_graph_node(lowering->stage, move->id);
    const int number = lowering->exchanges.count;
    iso_exchange_t *exchange =
        iso__list_add(&lowering->exchanges, sizeof *exchange);

    if (exchange == NULL) {
        return ISO_NOMEM;
    }
    *exchange =
        (iso_exchange_t){.kind = iso_exchange_kind_of(&move->from, &move->to),
                         .value = node->name,
                         .dtype = node->dtype,
                         .shape = node->shape,
                         .n_workers = lowering->n_workers,
                         .from = move->from,
                         .to = move->to};
    iso_layout_box(&move->to, &node->shape, lowering->worker, box_out);
    return add_exchange_node(lowering, move, number, box_out, node_out);
}

/* -- pieces -- */

static iso_status_t add_slice(iso__lowering_t *lowering, iso_node_id_t id,
                              const iso__piece_t *from, const iso_box_t *box,
                              iso_node_id_t *node_out)
{
    iso_node_spec_t spec = {.name = iso__part_name(lowering, id, box),
                            .op = ISO_OP_SLICE,
                            .n_inputs = 1,
                            .inputs = &from->node};
    iso_dim_t starts[ISO_MAX_RANK];
    iso_dim_t ends[ISO_MAX_RANK];

    if (spec.name == NULL) {
        return ISO_NOMEM;
    }
    for (int axis = 0; axis < box->rank; axis++) {
        const int64_t first = from->box.range[axis].begin;

        starts[axis] = iso_dim_of(box->range[axis].begin - first);
        ends[axis] = iso_dim_of(box->range[axis].end - first);
    }

    const iso_attr_t attrs[] = {
        {"starts", ISO_ATTR_DIMS, box->rank, {.dims = starts}},
        {"ends", ISO_ATTR_DIMS, box->rank, {.dims = ends}},
    };

    spec.n_attrs = sizeof attrs / sizeof attrs[0];
    spec.attrs = attrs;
    return iso_graph_add(lowering->local->graph, &spec, node_out);
}

static iso_status_t make_piece(iso__lowering_t *lowering, iso_node_id_t id,
                               const iso_box_t *box, iso_node_id_t *node_out)
{
    const iso_node_t *node = iso_graph_node(lowering->stage, id);

    if (iso_box_count(box) == 0) {
        return iso__add_empty(lowering, id, box, node_out);
    }
    if (node->op == ISO_OP_PARAM || node->op == ISO_OP_CONSTANT) {
        return iso__add_leaf_part(lowering, id, box, node_out);
    }
    for (const iso__piece_t *piece = lowering->values[id].pieces; piece != NULL;
         piece = piece->next) {
        if (box_contains(&piece->box, box)) {
            return add_slice(lowering, id, piece, box, node_out);
        }
    }
    return iso_fail(ISO_INTERNAL,
                    "worker %d does not have the part of '%s' that it needs",
                    lowering->worker, node->name);
}

iso_status_t iso__value_piece(iso__lowering_t *lowering, iso_node_id_t id,
                              const iso_box_t *box, iso_node_id_t *node_out)
{
    for (const iso__piece_t *piece = lowering->values[id].pieces; piece != NULL;
         piece = piece->next) {
        if (box_equal(&piece->box, box)) {
            *node_out = piece->node;
            return ISO_OK;
        }
    }
    ISO_TRY(make_piece(lowering, id, box, node_out));
    ISO_TRY(iso__note_origin(lowering, id, box));
    return iso__value_add_piece(lowering, id, box, *node_out);
}

iso_status_t iso__value_whole(iso__lowering_t *lowering, iso_node_id_t id,
                              const iso_layout_t *layout,
                              iso_node_id_t *node_out)
{
    iso_box_t whole;

    *node_out = ISO_NO_NODE;
    if (id == ISO_NO_NODE) {
        return ISO_OK;
    }
    ISO_TRY(iso__value_need(lowering, id, layout));
    if (!iso__layout_has(layout, lowering->worker)) {
        return ISO_OK;
    }
    whole = iso__box_whole(&iso_graph_node(lowering->stage, id)->shape);
    return iso__value_piece(lowering, id, &whole, node_out);
}
