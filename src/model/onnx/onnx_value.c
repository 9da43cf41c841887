/* The values of a model by name: who makes and uses them, and their nodes. */
#include "isotome/error.h"

#include "base/mem.h"
#include "model/onnx/onnx_impl.h"

#include <string.h>

/* -- names -- */

static int64_t most_values(const Onnx__GraphProto *graph)
{
    size_t count = graph->n_initializer + graph->n_input;

    for (size_t i = 0; i < graph->n_node; i++) {
        count += graph->node[i]->n_output;
    }
    return (int64_t)count;
}

/* A name that is listed twice is one value: an initializer may also be among
 * the inputs. Who makes a value twice is found when it is made. */
static iso_status_t add_name(iso__import_t *import, const char *name)
{
    if (name == NULL || name[0] == '\0' ||
        iso_names_get(import->names, name, NULL)) {
        return ISO_OK;
    }
    import->values[import->n_values] =
        (iso__value_t){.name = name, .node = ISO_NO_NODE};
    ISO_TRY(iso_names_set(import->names, name, import->n_values));
    import->n_values++;
    return ISO_OK;
}

static iso_status_t add_output_names(iso__import_t *import,
                                     const Onnx__NodeProto *node)
{
    for (size_t i = 0; i < node->n_output; i++) {
        ISO_TRY(add_name(import, node->output[i]));
    }
    return ISO_OK;
}

static iso_status_t add_names(iso__import_t *import)
{
    const Onnx__GraphProto *graph = import->model->graph;

    for (size_t i = 0; i < graph->n_initializer; i++) {
        ISO_TRY(add_name(import, graph->initializer[i]->name));
    }
    for (size_t i = 0; i < graph->n_input; i++) {
        ISO_TRY(add_name(import, graph->input[i]->name));
    }
    for (size_t i = 0; i < graph->n_node; i++) {
        ISO_TRY(add_output_names(import, graph->node[i]));
    }
    return ISO_OK;
}

static void count_uses(iso__import_t *import)
{
    const Onnx__GraphProto *graph = import->model->graph;

    for (size_t i = 0; i < graph->n_node; i++) {
        const Onnx__NodeProto *node = graph->node[i];

        for (size_t k = 0; k < node->n_input; k++) {
            iso__value_t *value = iso__onnx_value(import, node->input[k]);

            if (value != NULL && value->n_uses == 0) {
                value->role = iso__onnx_role(node->op_type, k);
            }
            if (value != NULL) {
                value->n_uses++;
            }
        }
    }
    for (size_t i = 0; i < graph->n_output; i++) {
        iso__value_t *value = iso__onnx_value(import, graph->output[i]->name);

        if (value != NULL) {
            value->n_uses++;
        }
    }
}

iso_status_t iso__onnx_values_create(iso__import_t *import)
{
    import->values = iso_alloc_zeroed((size_t)most_values(import->model->graph),
                                      sizeof *import->values);
    if (import->values == NULL) {
        return ISO_NOMEM;
    }
    ISO_TRY(iso_names_create(&import->names));
    ISO_TRY(add_names(import));
    count_uses(import);
    return ISO_OK;
}

void iso__onnx_values_destroy(iso__import_t *import)
{
    iso_names_destroy(&import->names);
    iso_free(import->values);
    import->values = NULL;
}

iso__value_t *iso__onnx_value(const iso__import_t *import, const char *name)
{
    int64_t index;

    if (name == NULL || !iso_names_get(import->names, name, &index)) {
        return NULL;
    }
    return &import->values[index];
}

iso_status_t iso__onnx_value_need_new(const iso__value_t *value)
{
    if (value->is_made) {
        return iso_fail(ISO_INPUT, "value '%s' is made twice", value->name);
    }
    return ISO_OK;
}

iso_status_t iso__onnx_value_make(iso__value_t *value)
{
    ISO_TRY(iso__onnx_value_need_new(value));
    value->is_made = true;
    return ISO_OK;
}

const char *iso__onnx_name(iso__import_t *import, const char *base,
                           const char *part)
{
    const char *name = iso_arena_format(import->arena, "%s.%s", base, part);

    for (int i = 2;
         name != NULL && (iso_names_get(import->names, name, NULL) ||
                          iso_graph_find(import->graph, name) != ISO_NO_NODE);
         i++) {
        name = iso_arena_format(import->arena, "%s.%s_%d", base, part, i);
    }
    return name;
}

/* -- elements -- */

static bool is_float(iso_dtype_t dtype)
{
    return dtype == ISO_DTYPE_F32 || dtype == ISO_DTYPE_F64 ||
           dtype == ISO_DTYPE_F16 || dtype == ISO_DTYPE_BF16;
}

static bool is_weight(const iso_tensor_t *tensor)
{
    return (is_float(tensor->dtype) && iso_tensor_count(tensor) > 1) ||
           iso_tensor_bytes(tensor) > ISO_CONSTANT_BYTES;
}

iso_status_t iso__onnx_add_tensor(iso__import_t *import, iso__value_t *value,
                                  iso_tensor_t *tensor, iso_node_id_t *node_out)
{
    iso_shape_t shape = iso_tensor_shape(tensor);
    iso_status_t status;

    iso__onnx_seed(import, value, tensor);
    if (is_weight(tensor)) {
        status = iso_graph_add_param(import->graph, value->name, tensor->dtype,
                                     &shape, node_out);
        if (status == ISO_OK) {
            status = iso_weights_add(import->weights, value->name, tensor);
        }
        if (status == ISO_OK) {
            tensor->data = NULL;
        }
    } else {
        status = iso_graph_add_constant(import->graph, value->name, tensor,
                                        node_out);
    }
    iso_free(tensor->data);
    tensor->data = NULL;
    return status;
}

iso_status_t iso__onnx_node_elements(const iso__import_t *import,
                                     iso_node_id_t node_id,
                                     iso_tensor_t *tensor_out, bool *known_out)
{
    const iso_node_t *node = iso_graph_node(import->graph, node_id);
    const iso_tensor_t *weight;

    *known_out = node->op == ISO_OP_CONSTANT || node->op == ISO_OP_PARAM;
    if (!*known_out) {
        return ISO_OK;
    }
    if (node->op == ISO_OP_PARAM) {
        weight = iso_weights_find(import->weights, node->name);
        *known_out = weight != NULL;
        if (weight != NULL) {
            *tensor_out = *weight;
        }
        return ISO_OK;
    }
    ISO_TRY(iso_tensor_view(node->dtype, &node->shape, NULL, tensor_out));
    tensor_out->data = (void *)node->data;
    return ISO_OK;
}

/* -- nodes -- */

static iso_status_t node_of_initializer(iso__import_t *import,
                                        iso__value_t *value)
{
    iso_tensor_t tensor;

    ISO_TRY(iso__onnx_tensor_load(import->path, value->initializer, &tensor));
    ISO_TRY(iso__onnx_add_tensor(import, value, &tensor, &value->node));
    value->initializer = NULL;
    return ISO_OK;
}

static iso_status_t node_of_numbers(iso__import_t *import, iso__value_t *value)
{
    iso_tensor_t tensor;

    ISO_TRY(iso_ints_to_tensor(import->arena, value->ints, &tensor));
    return iso_graph_add_constant(import->graph, value->name, &tensor,
                                  &value->node);
}

/* Expressions are computed when there are numbers for their names: a list of
 * dims, given the shape and the type of the value. */
static iso_status_t node_of_dims(iso__import_t *import, iso__value_t *value)
{
    const iso_ints_t *ints = value->ints;
    iso_shape_t shape = iso_shape_of(ints->rank, ints->dims);
    iso_dim_t dims[ISO_MAX_RANK];
    iso__draft_t draft;

    iso__draft_begin(&draft, ISO_OP_DIMS, 0, NULL);
    iso__draft_dims(&draft, "values", ints->values, (int)ints->count);
    ISO_TRY(iso__onnx_add(import, iso__onnx_name(import, value->name, "dims"),
                          &draft, &value->node));
    if (ints->rank != 1) {
        memcpy(dims, shape.dim, sizeof dims);
        iso__draft_begin(&draft, ISO_OP_RESHAPE, 1,
                         &(const iso_node_id_t){value->node});
        iso__draft_dims(&draft, "shape", dims, shape.rank);
        ISO_TRY(iso__onnx_add(import,
                              iso__onnx_name(import, value->name, "shaped"),
                              &draft, &value->node));
    }
    if (ints->dtype != ISO_DTYPE_I64) {
        iso__draft_begin(&draft, ISO_OP_CAST, 1,
                         &(const iso_node_id_t){value->node});
        iso__draft_text(&draft, "to", iso_dtype_string(ints->dtype));
        ISO_TRY(iso__onnx_add(import,
                              iso__onnx_name(import, value->name, "typed"),
                              &draft, &value->node));
    }
    return ISO_OK;
}

/* Make the node of a value from what is known of it. */
static iso_status_t make_node(iso__import_t *import, iso__value_t *value)
{
    if (value->initializer != NULL) {
        return node_of_initializer(import, value);
    }
    return iso_ints_are_static(value->ints) ? node_of_numbers(import, value)
                                            : node_of_dims(import, value);
}

iso_status_t iso__onnx_value_node(iso__import_t *import, iso__value_t *value,
                                  iso_node_id_t *node_out)
{
    if (value->node == ISO_NO_NODE) {
        ISO_TRY(make_node(import, value));
    }
    *node_out = value->node;
    return ISO_OK;
}
