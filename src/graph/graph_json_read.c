/* The text may come from anyone: every member is checked before it is used,
 * and what it claims is compared with what is inferred. */
#include "isotome/error.h"

#include "base/arena.h"
#include "graph/graph_impl.h"
#include "graph/graph_json_impl.h"
#include "graph/print.h"

#include <math.h>
#include <string.h>

/* Where nodes go, and an arena for what is on its way there. */
typedef struct reader {
    iso_graph_t *graph;
    iso_arena_t *scratch;
} reader_t;

/* -- parts of a node -- */

static iso_status_t count_of(const iso_json_t *list, int *count_out)
{
    if (iso_json_size(list) > INT32_MAX) {
        return iso_json_fail(list, "too many elements");
    }
    *count_out = (int)iso_json_size(list);
    return ISO_OK;
}

static iso_status_t read_dim(const iso_json_t *in, int64_t least,
                             iso_dim_t *dim_out)
{
    const char *text;
    int64_t size = 0;
    iso_status_t status;

    if (!json_is_string(in->value)) {
        ISO_TRY(iso_json_as_int(in, least, INT64_MAX, &size));
        *dim_out = iso_dim_of(size);
        return ISO_OK;
    }
    ISO_TRY(iso_json_as_text(in, &text));
    status = iso_dim_parse(text, dim_out);
    if (status == ISO_INVAL) {
        return iso_json_fail(in, "'%.64s' is not a dim", text);
    }
    return status;
}

static iso_status_t read_shape(const iso_json_t *node, iso_shape_t *shape_out)
{
    iso_json_t dims;

    ISO_TRY(iso_json_array(node, "shape", &dims));
    if (iso_json_size(&dims) > ISO_MAX_RANK) {
        return iso_json_fail(&dims, "%zu dims, expected at most %d",
                             iso_json_size(&dims), ISO_MAX_RANK);
    }
    *shape_out = (iso_shape_t){.rank = (int)iso_json_size(&dims)};
    for (int i = 0; i < shape_out->rank; i++) {
        iso_json_t dim = iso_json_at(&dims, (size_t)i);

        ISO_TRY(read_dim(&dim, 0, &shape_out->dim[i]));
    }
    return ISO_OK;
}

static iso_status_t read_dtype(const iso_json_t *node, iso_dtype_t *dtype_out)
{
    const char *text;

    ISO_TRY(iso_json_text(node, "dtype", &text));
    *dtype_out = iso_dtype_from_string(text);
    if (*dtype_out == ISO_DTYPE_COUNT) {
        return iso_json_fail(node, "dtype '%.64s' is not known", text);
    }
    return ISO_OK;
}

static iso_status_t read_float(const iso_json_t *in, double *value_out)
{
    if (json_is_number(in->value)) {
        *value_out = json_number_value(in->value);
        return ISO_OK;
    }
    if (json_is_string(in->value)) {
        const char *text = json_string_value(in->value);

        *value_out = text[0] == '-' ? -HUGE_VAL : HUGE_VAL;
        if (strcmp(text, "inf") == 0 || strcmp(text, "-inf") == 0) {
            return ISO_OK;
        }
    }
    return iso_json_fail(in, "expected a number, \"inf\" or \"-inf\"");
}

/* -- attributes -- */

static iso_status_t read_ints(reader_t *reader, const iso_json_t *list,
                              iso_attr_t *attr)
{
    int64_t *ints =
        iso_arena_array(reader->scratch, (size_t)attr->count, sizeof *ints);

    if (ints == NULL) {
        return ISO_NOMEM;
    }
    for (int i = 0; i < attr->count; i++) {
        iso_json_t at = iso_json_at(list, (size_t)i);

        ISO_TRY(iso_json_as_int(&at, INT64_MIN, INT64_MAX, &ints[i]));
    }
    attr->value.ints = ints;
    return ISO_OK;
}

static iso_status_t read_floats(reader_t *reader, const iso_json_t *list,
                                iso_attr_t *attr)
{
    double *floats =
        iso_arena_array(reader->scratch, (size_t)attr->count, sizeof *floats);

    if (floats == NULL) {
        return ISO_NOMEM;
    }
    for (int i = 0; i < attr->count; i++) {
        iso_json_t at = iso_json_at(list, (size_t)i);

        ISO_TRY(read_float(&at, &floats[i]));
    }
    attr->value.floats = floats;
    return ISO_OK;
}

static iso_status_t read_dims(reader_t *reader, const iso_json_t *list,
                              iso_attr_t *attr)
{
    iso_dim_t *dims =
        iso_arena_array(reader->scratch, (size_t)attr->count, sizeof *dims);

    if (dims == NULL) {
        return ISO_NOMEM;
    }
    for (int i = 0; i < attr->count; i++) {
        iso_json_t at = iso_json_at(list, (size_t)i);

        ISO_TRY(read_dim(&at, INT64_MIN, &dims[i]));
    }
    attr->value.dims = dims;
    return ISO_OK;
}

/* Which kind of value an attribute's object holds. */
static iso_status_t read_kind(const iso_json_t *holder, iso_attr_kind_t *kind)
{
    static const char *const kinds[] = ISO__ATTR_KIND_TEXTS;

    ISO_TRY(iso_json_only(holder, kinds));
    if (json_object_size(holder->value) != 1) {
        return iso_json_fail(holder,
                             "expected one of ints, floats, dims, text");
    }
    for (int i = 0; kinds[i] != NULL; i++) {
        if (iso_json_has(holder, kinds[i])) {
            *kind = (iso_attr_kind_t)i;
        }
    }
    return ISO_OK;
}

static iso_status_t read_attr(reader_t *reader, const iso_json_t *holder,
                              iso_attr_t *attr)
{
    static const char *const kinds[] = ISO__ATTR_KIND_TEXTS;
    iso_json_t list;

    ISO_TRY(read_kind(holder, &attr->kind));
    if (attr->kind == ISO_ATTR_TEXT) {
        attr->count = 1;
        return iso_json_text(holder, kinds[attr->kind], &attr->value.text);
    }
    ISO_TRY(iso_json_array(holder, kinds[attr->kind], &list));
    ISO_TRY(count_of(&list, &attr->count));
    switch (attr->kind) {
    case ISO_ATTR_INTS:
        return read_ints(reader, &list, attr);
    case ISO_ATTR_FLOATS:
        return read_floats(reader, &list, attr);
    default:
        return read_dims(reader, &list, attr);
    }
}

static iso_status_t read_attrs(reader_t *reader, const iso_json_t *node,
                               iso_node_spec_t *spec)
{
    iso_json_t object;
    iso_attr_t *attrs;
    const char *key = NULL;
    json_t *value = NULL;

    if (!iso_json_has(node, "attrs")) {
        return ISO_OK;
    }
    ISO_TRY(iso_json_object(node, "attrs", &object));
    attrs = iso_arena_array(reader->scratch, json_object_size(object.value),
                            sizeof *attrs);
    if (attrs == NULL) {
        return ISO_NOMEM;
    }
    json_object_foreach(object.value, key, value)
    {
        iso_json_t holder = {.value = value, .parent = &object, .key = key};

        attrs[spec->n_attrs].name = key;
        ISO_TRY(read_attr(reader, &holder, &attrs[spec->n_attrs]));
        spec->n_attrs++;
    }
    spec->attrs = attrs;
    return ISO_OK;
}

/* -- nodes -- */

static iso_status_t find_input(const iso_graph_t *graph, const iso_json_t *in,
                               iso_node_id_t *id_out)
{
    const char *name;

    *id_out = ISO_NO_NODE;
    if (json_is_null(in->value)) {
        return ISO_OK;
    }
    ISO_TRY(iso_json_as_text(in, &name));
    *id_out = iso_graph_find(graph, name);
    if (*id_out == ISO_NO_NODE) {
        return iso_json_fail(in, "there is no node '%.256s' before", name);
    }
    return ISO_OK;
}

static iso_status_t read_inputs(reader_t *reader, const iso_json_t *node,
                                iso_node_spec_t *spec)
{
    iso_json_t list;
    iso_node_id_t *inputs;

    if (!iso_json_has(node, "inputs")) {
        return ISO_OK;
    }
    ISO_TRY(iso_json_array(node, "inputs", &list));
    ISO_TRY(count_of(&list, &spec->n_inputs));
    inputs = iso_arena_array(reader->scratch, (size_t)spec->n_inputs,
                             sizeof *inputs);
    if (inputs == NULL) {
        return ISO_NOMEM;
    }
    for (int i = 0; i < spec->n_inputs; i++) {
        iso_json_t at = iso_json_at(&list, (size_t)i);

        ISO_TRY(find_input(reader->graph, &at, &inputs[i]));
    }
    spec->inputs = inputs;
    return ISO_OK;
}

static iso_status_t check_claim(const reader_t *reader, const iso_json_t *node,
                                iso_node_id_t id)
{
    const iso_node_t *made = iso_graph_node(reader->graph, id);
    iso_dtype_t dtype;
    iso_shape_t shape;

    ISO_TRY(read_dtype(node, &dtype));
    ISO_TRY(read_shape(node, &shape));
    if (dtype != made->dtype || !iso_shape_equal(&shape, &made->shape)) {
        char claimed[ISO_SHAPE_TEXT_BYTES];
        char inferred[ISO_SHAPE_TEXT_BYTES];

        return iso_json_fail(node, "'%.256s' is said to be %s %s, but is %s %s",
                             made->name, iso_dtype_string(dtype),
                             iso_shape_text(&shape, claimed),
                             iso_dtype_string(made->dtype),
                             iso_shape_text(&made->shape, inferred));
    }
    return ISO_OK;
}

static iso_status_t read_compute(reader_t *reader, const iso_json_t *node,
                                 iso_op_t op, const char *name)
{
    static const char *const members[] = {"name",  "op",    "inputs", "attrs",
                                          "dtype", "shape", "layer",  NULL};
    iso_node_spec_t spec = {.name = name, .op = op};
    int64_t layer = -1;
    iso_node_id_t id;

    ISO_TRY(iso_json_only(node, members));
    ISO_TRY(read_inputs(reader, node, &spec));
    ISO_TRY(read_attrs(reader, node, &spec));
    if (iso_json_has(node, "layer")) {
        ISO_TRY(iso_json_int(node, "layer", 0, ISO__MOST_LAYERS - 1, &layer));
    }
    ISO_TRY(iso_graph_add(reader->graph, &spec, &id));
    iso_graph_set_layer(reader->graph, id, (int)layer);
    return check_claim(reader, node, id);
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static iso_status_t read_data(reader_t *reader, const iso_json_t *node,
                              size_t bytes, void **data_out)
{
    const char *text;
    unsigned char *data;

    ISO_TRY(iso_json_text(node, "data", &text));
    if (strlen(text) / 2 != bytes || strlen(text) % 2 != 0) {
        return iso_json_fail(node, "data has %zu digits, expected 2 * %zu",
                             strlen(text), bytes);
    }
    data = iso_arena_alloc(reader->scratch, bytes);
    if (data == NULL) {
        return ISO_NOMEM;
    }
    for (size_t i = 0; i < bytes; i++) {
        int high = hex_digit(text[2 * i]);
        int low = hex_digit(text[2 * i + 1]);

        if (high < 0 || low < 0) {
            return iso_json_fail(node, "data is not hexadecimal at digit %zu",
                                 2 * i);
        }
        data[i] = (unsigned char)(high * 16 + low);
    }
    *data_out = data;
    return ISO_OK;
}

static iso_status_t read_constant(reader_t *reader, const iso_json_t *node,
                                  const char *name, iso_dtype_t dtype,
                                  const iso_shape_t *shape)
{
    iso_tensor_t value;
    size_t bytes = 0;
    iso_node_id_t id;

    if (!iso_shape_is_static(shape) || iso_shape_count(shape) < 0) {
        return iso_json_fail(node, "a constant needs a shape of numbers");
    }
    ISO_TRY(iso_tensor_bytes_of(dtype, shape, &bytes));
    ISO_TRY(iso_tensor_view(dtype, shape, NULL, &value));
    ISO_TRY(read_data(reader, node, bytes, &value.data));
    return iso_graph_add_constant(reader->graph, name, &value, &id);
}

static iso_status_t read_leaf(reader_t *reader, const iso_json_t *node,
                              iso_op_t op, const char *name)
{
    static const char *const members[] = {"name",  "op",   "dtype",
                                          "shape", "data", NULL};
    iso_dtype_t dtype;
    iso_shape_t shape;
    iso_node_id_t id;

    ISO_TRY(iso_json_only(node, members));
    ISO_TRY(read_dtype(node, &dtype));
    ISO_TRY(read_shape(node, &shape));
    if (op == ISO_OP_CONSTANT) {
        return read_constant(reader, node, name, dtype, &shape);
    }
    if (iso_json_has(node, "data")) {
        return iso_json_fail(node, "only a constant has data");
    }
    if (op == ISO_OP_PARAM) {
        return iso_graph_add_param(reader->graph, name, dtype, &shape, &id);
    }
    return iso_graph_add_input(reader->graph, name, dtype, &shape, &id);
}

static iso_status_t read_node(reader_t *reader, const iso_json_t *node)
{
    const char *name;
    const char *text;
    iso_op_t op;

    ISO_TRY(iso_json_text(node, "name", &name));
    ISO_TRY(iso_json_text(node, "op", &text));
    op = iso_op_from_string(text);
    if (op == ISO_OP_COUNT) {
        return iso_json_fail(node, "op '%.64s' is not known", text);
    }
    if (iso_op_info(op)->op_class == ISO_OP_CLASS_EXCHANGE) {
        return iso_json_fail(node, "op '%s' is made by plans only", text);
    }
    if (iso_op_info(op)->op_class == ISO_OP_CLASS_LEAF) {
        return read_leaf(reader, node, op, name);
    }
    return read_compute(reader, node, op, name);
}

/* -- graph -- */

static iso_status_t read_output(reader_t *reader, const iso_json_t *output)
{
    static const char *const members[] = {"name", "node", NULL};
    const char *name;
    const char *text;
    iso_node_id_t node;

    ISO_TRY(iso_json_only(output, members));
    ISO_TRY(iso_json_text(output, "name", &name));
    ISO_TRY(iso_json_text(output, "node", &text));
    node = iso_graph_find(reader->graph, text);
    if (node == ISO_NO_NODE) {
        return iso_json_fail(output, "there is no node '%.256s'", text);
    }
    return iso_graph_add_output(reader->graph, name, node);
}

static iso_status_t read_graph(reader_t *reader, const iso_json_t *json)
{
    static const char *const members[] = {"nodes", "outputs", NULL};
    iso_json_t nodes;
    iso_json_t outputs;

    ISO_TRY(iso_json_only(json, members));
    ISO_TRY(iso_json_array(json, "nodes", &nodes));
    ISO_TRY(iso_json_array(json, "outputs", &outputs));
    for (size_t i = 0; i < iso_json_size(&nodes); i++) {
        iso_json_t node = iso_json_at(&nodes, i);

        ISO_TRY(read_node(reader, &node));
    }
    for (size_t i = 0; i < iso_json_size(&outputs); i++) {
        iso_json_t output = iso_json_at(&outputs, i);

        ISO_TRY(read_output(reader, &output));
    }
    return ISO_OK;
}

iso_status_t iso_graph_from_json(const iso_json_t *json,
                                 iso_graph_t **graph_out)
{
    reader_t reader = {0};
    iso_status_t status;

    *graph_out = NULL;
    ISO_TRY(iso_arena_create(&reader.scratch));
    status = iso_graph_create(&reader.graph);
    if (status == ISO_OK) {
        status = read_graph(&reader, json);
    }
    if (status == ISO_OK) {
        *graph_out = reader.graph;
    } else {
        iso_graph_destroy(&reader.graph);
    }
    iso_arena_destroy(&reader.scratch);
    return status;
}
