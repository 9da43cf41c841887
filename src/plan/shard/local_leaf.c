/* Parts of weights and constants, and how parts are named. */
#include "base/arena.h"
#include "base/mem.h"
#include "base/text.h"
#include "kernel/walk.h"
#include "plan/shard/local_impl.h"

#include <string.h>

/* -- names -- */

static bool is_taken(const iso__lowering_t *lowering, const char *name)
{
    return iso_graph_find(lowering->stage, name) != ISO_NO_NODE ||
           iso_graph_find(lowering->local->graph, name) != ISO_NO_NODE;
}

const char *iso__unique_name(const iso__lowering_t *lowering, const char *text)
{
    const char *name = text;

    for (int i = 2; name != NULL && is_taken(lowering, name); i++) {
        name = iso_arena_format(lowering->local->arena, "%s.%d", text, i);
    }
    return name;
}

static bool is_whole(iso_range_t range, iso_dim_t dim)
{
    return range.begin == 0 && range.end == dim.size;
}

const char *iso__part_name(const iso__lowering_t *lowering, iso_node_id_t id,
                           const iso_box_t *box)
{
    const iso_node_t *node = iso_graph_node(lowering->stage, id);
    const char *before = "[";
    const char *name = NULL;
    iso_text_t text = {0};

    iso_text_add(&text, "%s", node->name);
    for (int axis = 0; axis < box->rank; axis++) {
        const iso_range_t range = box->range[axis];

        if (axis >= node->shape.rank ||
            !is_whole(range, node->shape.dim[axis])) {
            iso_text_add(&text, "%s%d %lld:%lld", before, axis,
                         (long long)range.begin, (long long)range.end);
            before = ", ";
        }
    }
    iso_text_add(&text, "%s", before[0] == ',' ? "]" : "");
    if (text.status == ISO_OK) {
        name = iso_arena_text(lowering->local->arena, text.data);
    }
    iso_text_free(&text);
    return name == NULL ? NULL : iso__unique_name(lowering, name);
}

/* -- leaves -- */

/* The slab that a part of a weight is; it is cut along one axis at most. */
static iso_slab_t slab_of(const iso_node_t *node, const iso_box_t *box)
{
    for (int axis = 0; axis < box->rank; axis++) {
        if (!is_whole(box->range[axis], node->shape.dim[axis])) {
            return (iso_slab_t){axis, box->range[axis]};
        }
    }
    return (iso_slab_t){.axis = ISO_AXIS_WHOLE};
}

static iso_status_t note_weight(iso__lowering_t *lowering,
                                const iso_node_t *param, const char *name,
                                const iso_slab_t *slab)
{
    iso_weight_part_t *part = iso__list_add(&lowering->weights, sizeof *part);

    if (part == NULL) {
        return ISO_NOMEM;
    }
    *part = (iso_weight_part_t){name, param->name, *slab};
    return ISO_OK;
}

/* data: room for the elements of the box */
static void copy_elements(const iso_node_t *node, const iso_box_t *box,
                          char *data)
{
    const size_t size = iso_dtype_bytes(node->dtype);
    const int64_t count = iso_box_count(box);
    int64_t dims[ISO_MAX_RANK];
    int64_t whole[ISO_MAX_RANK];
    int64_t strides[ISO_MAX_RANK];
    int64_t first = 0;
    iso__walk_t walk;

    for (int axis = 0; axis < box->rank; axis++) {
        dims[axis] = iso_range_length(box->range[axis]);
        whole[axis] = node->shape.dim[axis].size;
    }
    iso__strides_of(box->rank, whole, strides);
    for (int axis = 0; axis < box->rank; axis++) {
        first += box->range[axis].begin * strides[axis];
    }
    iso__walk_begin(&walk, box->rank, dims);
    (void)iso__walk_add(&walk, first, strides);
    for (int64_t i = 0; i < count; i++, iso__walk_next(&walk)) {
        memcpy(data + (size_t)i * size,
               (const char *)node->data + (size_t)walk.offset[0] * size, size);
    }
}

static iso_status_t add_constant_part(iso__lowering_t *lowering,
                                      const iso_node_t *node,
                                      const iso_box_t *box, const char *name,
                                      iso_node_id_t *node_out)
{
    const iso_shape_t shape = iso__box_shape(box);
    iso_tensor_t part;
    iso_status_t status;

    ISO_TRY(iso_tensor_view(node->dtype, &shape, NULL, &part));
    part.data = iso_alloc(iso_tensor_bytes(&part));
    if (part.data == NULL) {
        return ISO_NOMEM;
    }
    copy_elements(node, box, part.data);
    status =
        iso_graph_add_constant(lowering->local->graph, name, &part, node_out);
    iso_free(part.data);
    return status;
}

iso_status_t iso__add_leaf_part(iso__lowering_t *lowering, iso_node_id_t id,
                                const iso_box_t *box, iso_node_id_t *node_out)
{
    const iso_node_t *node = iso_graph_node(lowering->stage, id);
    const iso_slab_t slab = slab_of(node, box);
    const iso_shape_t shape = iso__box_shape(box);
    const char *name = node->name;

    if (slab.axis != ISO_AXIS_WHOLE) {
        name = iso__part_name(lowering, id, box);
        if (name == NULL) {
            return ISO_NOMEM;
        }
    }
    if (node->op == ISO_OP_CONSTANT) {
        return add_constant_part(lowering, node, box, name, node_out);
    }
    ISO_TRY(note_weight(lowering, node, name, &slab));
    return iso_graph_add_param(lowering->local->graph, name, node->dtype,
                               &shape, node_out);
}

iso_status_t iso__add_empty(iso__lowering_t *lowering, iso_node_id_t id,
                            const iso_box_t *box, iso_node_id_t *node_out)
{
    const iso_node_t *node = iso_graph_node(lowering->stage, id);
    const iso_shape_t shape = iso__box_shape(box);
    const char *name = iso__part_name(lowering, id, box);
    iso_tensor_t part;

    if (name == NULL) {
        return ISO_NOMEM;
    }
    ISO_TRY(iso_tensor_view(node->dtype, &shape, NULL, &part));
    return iso_graph_add_constant(lowering->local->graph, name, &part,
                                  node_out);
}
