#include "isotome/error.h"

#include "base/mem.h"
#include "graph/graph_json_impl.h"
#include "graph/print.h"

#include <math.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "elements of constants are written as they lie in memory");

/*
 * json_*_set_new() take the value over, also when they fail, and fail for
 * NULL; so a chain of makers is checked where its result is put.
 */
static iso_status_t put(json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value) != 0) {
        return iso_fail(ISO_NOMEM, "out of memory: cannot build JSON");
    }
    return ISO_OK;
}

static iso_status_t append(json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) != 0) {
        return iso_fail(ISO_NOMEM, "out of memory: cannot build JSON");
    }
    return ISO_OK;
}

static iso_status_t put_text(json_t *object, const char *key, const char *text)
{
    json_t *value = json_string(text);

    if (value == NULL) {
        /* jansson does not say why; any bytes fit where there is memory. */
        value = json_string_nocheck(text);
        if (value == NULL) {
            return iso_fail(ISO_NOMEM, "out of memory: cannot build JSON");
        }
        json_decref(value);
        return iso_fail(ISO_INVAL,
                        "'%s' cannot be written as JSON; is it UTF-8?", text);
    }
    return put(object, key, value);
}

/* Put an empty array or object; *child_out is borrowed. */
static iso_status_t put_new(json_t *object, const char *key, json_t *child,
                            json_t **child_out)
{
    *child_out = child;
    return put(object, key, child);
}

/* -- parts of a node -- */

static json_t *json_of_dim(iso_dim_t dim)
{
    return iso_dim_is_static(dim) ? json_integer(dim.size)
                                  : json_string(dim.sym);
}

/* JSON has no infinity. */
static json_t *json_of_float(double value)
{
    if (isinf(value)) {
        return json_string(value > 0.0 ? "inf" : "-inf");
    }
    return json_real(value);
}

static iso_status_t put_shape(json_t *object, const iso_shape_t *shape)
{
    json_t *dims;

    ISO_TRY(put_new(object, "shape", json_array(), &dims));
    for (int i = 0; i < shape->rank; i++) {
        ISO_TRY(append(dims, json_of_dim(shape->dim[i])));
    }
    return ISO_OK;
}

static iso_status_t put_attr(json_t *attrs, const iso_attr_t *attr)
{
    static const char *const kinds[] = ISO__ATTR_KIND_TEXTS;
    json_t *holder;
    json_t *list;

    ISO_TRY(put_new(attrs, attr->name, json_object(), &holder));
    if (attr->kind == ISO_ATTR_TEXT) {
        return put_text(holder, kinds[attr->kind], attr->value.text);
    }
    ISO_TRY(put_new(holder, kinds[attr->kind], json_array(), &list));
    for (int i = 0; i < attr->count; i++) {
        json_t *value;

        switch (attr->kind) {
        case ISO_ATTR_INTS:
            value = json_integer(attr->value.ints[i]);
            break;
        case ISO_ATTR_FLOATS:
            value = json_of_float(attr->value.floats[i]);
            break;
        default:
            value = json_of_dim(attr->value.dims[i]);
            break;
        }
        ISO_TRY(append(list, value));
    }
    return ISO_OK;
}

static iso_status_t put_attrs(json_t *object, const iso_node_t *node)
{
    json_t *attrs;

    if (node->n_attrs == 0) {
        return ISO_OK;
    }
    ISO_TRY(put_new(object, "attrs", json_object(), &attrs));
    for (int i = 0; i < node->n_attrs; i++) {
        ISO_TRY(put_attr(attrs, &node->attrs[i]));
    }
    return ISO_OK;
}

static iso_status_t put_inputs(json_t *object, const iso_graph_t *graph,
                               const iso_node_t *node)
{
    json_t *inputs;

    if (node->n_inputs == 0) {
        return ISO_OK;
    }
    ISO_TRY(put_new(object, "inputs", json_array(), &inputs));
    for (int i = 0; i < node->n_inputs; i++) {
        iso_node_id_t input = node->inputs[i];

        ISO_TRY(append(inputs,
                       input == ISO_NO_NODE
                           ? json_null()
                           : json_string(iso_graph_node(graph, input)->name)));
    }
    return ISO_OK;
}

static iso_status_t put_data(json_t *object, const iso_node_t *node)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *data = node->data;
    size_t bytes = 0;
    char *text;
    iso_status_t status;

    if (data == NULL) {
        return ISO_OK;
    }
    ISO_TRY(iso_tensor_bytes_of(node->dtype, &node->shape, &bytes));
    text = iso_alloc(2 * bytes + 1);
    if (text == NULL) {
        return ISO_NOMEM;
    }
    for (size_t i = 0; i < bytes; i++) {
        text[2 * i] = digits[data[i] >> 4];
        text[2 * i + 1] = digits[data[i] & 15];
    }
    text[2 * bytes] = '\0';
    status = put_text(object, "data", text);
    iso_free(text);
    return status;
}

/* -- graph -- */

static iso_status_t put_node(json_t *nodes, const iso_graph_t *graph,
                             const iso_node_t *node)
{
    json_t *object = json_object();

    ISO_TRY(append(nodes, object));
    ISO_TRY(put_text(object, "name", node->name));
    ISO_TRY(put_text(object, "op", iso_op_string(node->op)));
    ISO_TRY(put_inputs(object, graph, node));
    ISO_TRY(put_attrs(object, node));
    ISO_TRY(put_text(object, "dtype", iso_dtype_string(node->dtype)));
    ISO_TRY(put_shape(object, &node->shape));
    ISO_TRY(put_data(object, node));
    return node->layer < 0 ? ISO_OK
                           : put(object, "layer", json_integer(node->layer));
}

static iso_status_t put_output(json_t *outputs, const iso_graph_t *graph,
                               const iso_output_t *output)
{
    json_t *object = json_object();

    ISO_TRY(append(outputs, object));
    ISO_TRY(put_text(object, "name", output->name));
    return put_text(object, "node", iso_graph_node(graph, output->node)->name);
}

static iso_status_t put_graph(json_t *json, const iso_graph_t *graph)
{
    json_t *nodes;
    json_t *outputs;

    ISO_TRY(put_new(json, "nodes", json_array(), &nodes));
    for (iso_node_id_t id = 0; id < iso_graph_node_count(graph); id++) {
        ISO_TRY(put_node(nodes, graph, iso_graph_node(graph, id)));
    }
    ISO_TRY(put_new(json, "outputs", json_array(), &outputs));
    for (int i = 0; i < iso_graph_output_count(graph); i++) {
        ISO_TRY(put_output(outputs, graph, iso_graph_output(graph, i)));
    }
    return ISO_OK;
}

iso_status_t iso_graph_to_json(const iso_graph_t *graph, json_t **json_out)
{
    json_t *json = json_object();
    iso_status_t status;

    *json_out = NULL;
    if (json == NULL) {
        return iso_fail(ISO_NOMEM, "out of memory: cannot build JSON");
    }
    status = put_graph(json, graph);
    if (status != ISO_OK) {
        json_decref(json);
        return status;
    }
    *json_out = json;
    return ISO_OK;
}
