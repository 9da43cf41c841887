/* Values on their way: a worker's parts of them. */
#include "isotome/error.h"

#include "base/arena.h"
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
bool iso__box_contains(const iso_box_t *box, const iso_box_t *part)
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

/* -- readers -- */

iso_node_id_t iso__operand_of(const iso_graph_t *stage, iso_node_id_t reader,
                              int operand)
{
    return reader == ISO_NO_NODE
               ? iso_graph_output(stage, operand)->node
               : iso_graph_node(stage, reader)->inputs[operand];
}

bool iso__output_stays(const iso_graph_t *stage, const iso_stage_cut_t *cut,
                       int output)
{
    const iso_node_id_t id = iso_graph_output(stage, output)->node;
    const iso_op_t op = iso_graph_node(stage, id)->op;

    return cut->keep_outputs[output] && op != ISO_OP_PARAM &&
           op != ISO_OP_CONSTANT;
}

/* -- pieces that arrive -- */

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

    lowering->values[id].home = node;
    if (node == ISO_NO_NODE) {
        return ISO_OK;
    }
    iso_layout_box(layout, &whole->shape, lowering->worker, &box);
    ISO_TRY(iso__note_origin(lowering, id, &box));
    return iso__value_add_piece(lowering, id, &box, node);
}

/* The next exchange, if it is for this operand. */
iso_status_t iso__value_need(iso__lowering_t *lowering, iso_node_id_t reader,
                             int operand)
{
    const iso__move_t *move = &lowering->moves->list[lowering->n_moved];
    iso_node_id_t added;
    iso_box_t box;

    if (lowering->n_moved == lowering->moves->count || move->reader != reader ||
        move->operand != operand) {
        return ISO_OK;
    }
    ISO_TRY(iso__add_exchange(lowering, lowering->values[move->id].home, &box,
                              &added));
    ISO_TRY(iso__note_origin(lowering, move->id, &box));
    return iso_box_count(&box) == 0
               ? ISO_OK
               : iso__value_add_piece(lowering, move->id, &box, added);
}

/* -- the exchange itself -- */

iso_status_t iso__add_exchange(iso__lowering_t *lowering, iso_node_id_t operand,
                               iso_box_t *box_out, iso_node_id_t *node_out)
{
    const int64_t number = lowering->n_moved++;
    const iso_exchange_t *exchange = &lowering->moves->exchanges[number];
    iso_shape_t shape;
    iso_node_spec_t spec = {.op = ISO_OP_EXCHANGE,
                            .n_inputs = operand != ISO_NO_NODE,
                            .inputs = &operand};
    const char *text = iso_arena_format(lowering->local->arena, "%s>%lld",
                                        exchange->value, (long long)number);

    iso_layout_box(&exchange->to, &exchange->shape, lowering->worker, box_out);
    shape = iso__box_shape(box_out);

    const iso_attr_t attrs[] = {
        {"number", ISO_ATTR_INTS, 1, {.ints = &number}},
        {"dtype",
         ISO_ATTR_TEXT,
         1,
         {.text = iso_dtype_string(exchange->dtype)}},
        {"shape", ISO_ATTR_DIMS, shape.rank, {.dims = shape.dim}},
    };

    spec.n_attrs = sizeof attrs / sizeof attrs[0];
    spec.attrs = attrs;
    spec.name = text == NULL ? NULL : iso__unique_name(lowering, text);
    if (spec.name == NULL) {
        return ISO_NOMEM;
    }
    return iso_graph_add(lowering->local->graph, &spec, node_out);
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
        if (iso__box_contains(&piece->box, box)) {
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

iso_status_t iso__value_whole(iso__lowering_t *lowering, iso_node_id_t reader,
                              int operand, const iso_layout_t *layout,
                              iso_node_id_t *node_out)
{
    const iso_node_id_t id = iso__operand_of(lowering->stage, reader, operand);
    iso_box_t whole;

    *node_out = ISO_NO_NODE;
    if (id == ISO_NO_NODE) {
        return ISO_OK;
    }
    ISO_TRY(iso__value_need(lowering, reader, operand));
    if (!iso__layout_has(layout, lowering->worker)) {
        return ISO_OK;
    }
    whole = iso__box_whole(&iso_graph_node(lowering->stage, id)->shape);
    return iso__value_piece(lowering, id, &whole, node_out);
}
