/* Adding a compute node: everything is checked before anything is kept. */
#include "isotome/error.h"

#include "base/text.h"
#include "graph/graph_impl.h"
#include "graph/infer.h"
#include "graph/op_attrs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SHORT_TEXT_BYTES = 64 };

/* "conv_7" for a node without a name, past those that are taken; NULL when
 * memory ran out. */
static const char *numbered_name(iso_graph_t *graph, iso_op_t op)
{
    char name[SHORT_TEXT_BYTES];

    do {
        (void)snprintf(name, sizeof name, "%s_%d", iso_op_string(op),
                       graph->next_number);
        graph->next_number++;
    } while (iso_graph_find(graph, name) != ISO_NO_NODE);
    return iso_arena_text(graph->arena, name);
}

/* -- checks -- */

static iso_status_t check_op(const iso_node_spec_t *spec, const char *name)
{
    if ((unsigned)spec->op >= ISO_OP_COUNT) {
        return iso_fail(ISO_INVAL, "node '%s': op %d is not known", name,
                        (int)spec->op);
    }
    if (iso_op_info(spec->op)->op_class == ISO_OP_CLASS_LEAF) {
        return iso_fail(ISO_INVAL,
                        "node '%s': a leaf (%s) has its own function to be "
                        "added with",
                        name, iso_op_string(spec->op));
    }
    return ISO_OK;
}

static iso_status_t check_arity(const iso_node_spec_t *spec, const char *name)
{
    const iso_op_info_t *info = iso_op_info(spec->op);
    int most = info->most_inputs;
    char range[SHORT_TEXT_BYTES];

    if (spec->n_inputs >= info->least_inputs &&
        (most < 0 || spec->n_inputs <= most)) {
        return ISO_OK;
    }
    if (most == info->least_inputs) {
        (void)snprintf(range, sizeof range, "%d", most);
    } else if (most < 0) {
        (void)snprintf(range, sizeof range, "at least %d", info->least_inputs);
    } else {
        (void)snprintf(range, sizeof range, "%d to %d", info->least_inputs,
                       most);
    }
    return iso_fail(ISO_INVAL, "node '%s' (%s): %d inputs, expected %s", name,
                    info->text, spec->n_inputs, range);
}

static iso_status_t check_inputs(const iso_graph_t *graph,
                                 const iso_node_spec_t *spec, const char *name)
{
    const iso_op_info_t *info = iso_op_info(spec->op);

    ISO_TRY(check_arity(spec, name));
    for (int i = 0; i < spec->n_inputs; i++) {
        iso_node_id_t input = spec->inputs[i];
        bool optional = i >= info->least_inputs && info->most_inputs > 0;

        if (input == ISO_NO_NODE && !optional) {
            return iso_fail(ISO_INVAL, "node '%s' (%s): input %d is required",
                            name, info->text, i);
        }
        if (input != ISO_NO_NODE && (input < 0 || input >= graph->n_nodes)) {
            return iso_fail(ISO_INVAL,
                            "node '%s' (%s): input %d is node %d, expected an "
                            "earlier one (0 to %d)",
                            name, info->text, i, input, graph->n_nodes - 1);
        }
    }
    return ISO_OK;
}

static bool is_listed(const char *text, const char *const *names)
{
    while (*names != NULL && strcmp(*names, text) != 0) {
        names++;
    }
    return *names != NULL;
}

static iso_status_t check_attr_name(const iso_node_spec_t *spec, int index,
                                    const char *name)
{
    const char *const *known = iso_op_attr_names(spec->op);
    const char *attr = spec->attrs[index].name;

    if (attr == NULL || !is_listed(attr, known)) {
        const char *near = attr == NULL ? NULL : iso_text_nearest(attr, known);

        return iso_fail(ISO_INVAL,
                        "node '%s' (%s): attribute '%s' is not known%s%s%s",
                        name, iso_op_string(spec->op), attr == NULL ? "" : attr,
                        near == NULL ? "" : "; did you mean '",
                        near == NULL ? "" : near, near == NULL ? "" : "'?");
    }
    for (int i = 0; i < index; i++) {
        if (strcmp(spec->attrs[i].name, attr) == 0) {
            return iso_fail(ISO_INVAL,
                            "node '%s' (%s): attribute '%s' is given twice",
                            name, iso_op_string(spec->op), attr);
        }
    }
    return ISO_OK;
}

/* What iso_dim_names hands on: the first name that no input shape has. */
typedef struct unknown_name {
    const iso_graph_t *graph;
    char *text;
    size_t bytes;
} unknown_name_t;

static void visit_dim_name(const char *name, void *arg)
{
    unknown_name_t *unknown = arg;

    if (unknown->text[0] == '\0' &&
        !iso_names_get(unknown->graph->free_names, name, NULL)) {
        (void)snprintf(unknown->text, unknown->bytes, "%s", name);
    }
}

static iso_status_t check_dims(const iso_graph_t *graph, const iso_attr_t *attr,
                               const char *name)
{
    char text[SHORT_TEXT_BYTES] = "";
    unknown_name_t unknown = {graph, text, sizeof text};

    for (int i = 0; i < attr->count; i++) {
        if (!iso_dim_is_static(attr->value.dims[i])) {
            iso_dim_names(attr->value.dims[i], visit_dim_name, &unknown);
        }
    }
    if (text[0] == '\0') {
        return ISO_OK;
    }
    return iso_fail(ISO_INVAL,
                    "node '%s': attribute '%s' has the size '%s', which no "
                    "input's shape has",
                    name, attr->name, text);
}

static iso_status_t check_floats(const iso_attr_t *attr, const char *name)
{
    for (int i = 0; i < attr->count; i++) {
        if (isnan(attr->value.floats[i])) {
            return iso_fail(ISO_INVAL,
                            "node '%s': attribute '%s' is not a number", name,
                            attr->name);
        }
    }
    return ISO_OK;
}

static iso_status_t check_attr(const iso_graph_t *graph, const iso_attr_t *attr,
                               const char *name)
{
    if (attr->count < 0 ||
        (attr->kind == ISO_ATTR_TEXT && attr->value.text == NULL)) {
        return iso_fail(ISO_INVAL, "node '%s': attribute '%s' is empty", name,
                        attr->name);
    }
    switch (attr->kind) {
    case ISO_ATTR_DIMS:
        return check_dims(graph, attr, name);
    case ISO_ATTR_FLOATS:
        return check_floats(attr, name);
    default:
        return ISO_OK;
    }
}

static iso_status_t check_attrs(const iso_graph_t *graph,
                                const iso_node_spec_t *spec, const char *name)
{
    for (int i = 0; i < spec->n_attrs; i++) {
        ISO_TRY(check_attr_name(spec, i, name));
        ISO_TRY(check_attr(graph, &spec->attrs[i], name));
    }
    return ISO_OK;
}

/* -- copies -- */

static const void *copy_array(iso_arena_t *arena, const void *array, int count,
                              size_t size)
{
    void *copy = iso_arena_array(arena, count > 0 ? (size_t)count : 1, size);

    if (copy != NULL && count > 0) {
        memcpy(copy, array, (size_t)count * size);
    }
    return copy;
}

static iso_status_t copy_attr(iso_arena_t *arena, const iso_attr_t *attr,
                              iso_attr_t *copy)
{
    const void *value = NULL;

    *copy = (iso_attr_t){.kind = attr->kind, .count = attr->count};
    copy->name = iso_arena_text(arena, attr->name);
    switch (attr->kind) {
    case ISO_ATTR_INTS:
        value = copy_array(arena, attr->value.ints, attr->count,
                           sizeof *attr->value.ints);
        copy->value.ints = value;
        break;
    case ISO_ATTR_FLOATS:
        value = copy_array(arena, attr->value.floats, attr->count,
                           sizeof *attr->value.floats);
        copy->value.floats = value;
        break;
    case ISO_ATTR_DIMS:
        value = copy_array(arena, attr->value.dims, attr->count,
                           sizeof *attr->value.dims);
        copy->value.dims = value;
        break;
    case ISO_ATTR_TEXT:
        value = iso_arena_text(arena, attr->value.text);
        copy->value.text = value;
        copy->count = 1;
        break;
    }
    return copy->name == NULL || value == NULL ? ISO_NOMEM : ISO_OK;
}

/* Insertion by name: a node has few attributes. */
static iso_status_t copy_attrs(iso_arena_t *arena, const iso_node_spec_t *spec,
                               const iso_attr_t **attrs_out)
{
    iso_attr_t *attrs;

    *attrs_out = NULL;
    if (spec->n_attrs == 0) {
        return ISO_OK;
    }
    attrs = iso_arena_array(arena, (size_t)spec->n_attrs, sizeof *attrs);
    if (attrs == NULL) {
        return ISO_NOMEM;
    }
    for (int i = 0; i < spec->n_attrs; i++) {
        int place = i;

        while (place > 0 &&
               strcmp(attrs[place - 1].name, spec->attrs[i].name) > 0) {
            attrs[place] = attrs[place - 1];
            place--;
        }
        ISO_TRY(copy_attr(arena, &spec->attrs[i], &attrs[place]));
    }
    *attrs_out = attrs;
    return ISO_OK;
}

static iso_status_t copy_spec(iso_arena_t *arena, const iso_node_spec_t *spec,
                              const char *name, iso_node_t *node_out)
{
    *node_out = (iso_node_t){.op = spec->op,
                             .n_inputs = spec->n_inputs,
                             .n_attrs = spec->n_attrs,
                             .layer = -1};
    node_out->name = iso_arena_text(arena, name);
    node_out->inputs =
        copy_array(arena, spec->inputs, spec->n_inputs, sizeof *spec->inputs);
    if (node_out->name == NULL || node_out->inputs == NULL) {
        return ISO_NOMEM;
    }
    return copy_attrs(arena, spec, &node_out->attrs);
}

/* -- entries -- */

iso_status_t iso_graph_add(iso_graph_t *graph, const iso_node_spec_t *spec,
                           iso_node_id_t *node_out)
{
    const char *name = spec->name;
    iso_node_t node;

    if (name == NULL) {
        name = numbered_name(graph, spec->op);
        if (name == NULL) {
            return ISO_NOMEM;
        }
    }
    ISO_TRY(iso__graph_check_name(graph, name));
    ISO_TRY(check_op(spec, name));
    ISO_TRY(check_inputs(graph, spec, name));
    ISO_TRY(check_attrs(graph, spec, name));
    ISO_TRY(copy_spec(graph->arena, spec, name, &node));
    ISO_TRY(iso_infer(graph, &node, &node.dtype, &node.shape));
    return iso__graph_push(graph, &node, node_out);
}

iso_status_t iso__graph_add_copy(iso_graph_t *graph, const iso_node_t *node,
                                 const iso_node_id_t *inputs,
                                 iso_node_id_t *node_out)
{
    iso_node_spec_t spec = {.name = node->name,
                            .op = node->op,
                            .n_inputs = node->n_inputs,
                            .inputs = inputs,
                            .n_attrs = node->n_attrs,
                            .attrs = node->attrs};
    iso_tensor_t value;

    switch (node->op) {
    case ISO_OP_INPUT:
        return iso_graph_add_input(graph, node->name, node->dtype, &node->shape,
                                   node_out);
    case ISO_OP_PARAM:
        return iso_graph_add_param(graph, node->name, node->dtype, &node->shape,
                                   node_out);
    case ISO_OP_CONSTANT:
        ISO_TRY(iso_tensor_view(node->dtype, &node->shape, NULL, &value));
        value.data = (void *)node->data;
        return iso_graph_add_constant(graph, node->name, &value, node_out);
    default:
        ISO_TRY(iso_graph_add(graph, &spec, node_out));
        iso_graph_set_layer(graph, *node_out, node->layer);
        return ISO_OK;
    }
}
