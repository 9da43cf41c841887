#include "graph_text.h"

#include "isotome/error.h"

#include "base/arena.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_OPERANDS = 16, MOST_ATTRS = 8, MOST_VALUES = 64 };

/* Parts of text between separators, into at most most places. */
static int split(char *text, const char *separators, char **parts, int most)
{
    char *rest = NULL;
    int count = 0;

    for (char *part = strtok_r(text, separators, &rest);
         part != NULL && count < most;
         part = strtok_r(NULL, separators, &rest)) {
        parts[count++] = part;
    }
    return count;
}

static iso_status_t unreadable(const char *what)
{
    return iso_fail(ISO_INTERNAL, "the test's text cannot be read: '%s'", what);
}

/* "f32[N,3]" */
static iso_status_t read_type(char *text, iso_dtype_t *dtype_out,
                              iso_shape_t *shape_out)
{
    char *dims[ISO_MAX_RANK] = {NULL};
    char *bracket = strchr(text, '[');

    if (bracket == NULL) {
        return unreadable(text);
    }
    *bracket = '\0';
    *dtype_out = iso_dtype_from_string(text);
    *shape_out =
        (iso_shape_t){.rank = split(bracket + 1, ",]", dims, ISO_MAX_RANK)};
    for (int i = 0; i < shape_out->rank; i++) {
        ISO_TRY(iso_dim_parse(dims[i], &shape_out->dim[i]));
    }
    return *dtype_out == ISO_DTYPE_COUNT ? unreadable(text) : ISO_OK;
}

static void put_number(const iso_tensor_t *tensor, int64_t index,
                       const char *text)
{
    switch (tensor->dtype) {
    case ISO_DTYPE_F32:
        ((float *)tensor->data)[index] = strtof(text, NULL);
        break;
    case ISO_DTYPE_F64:
        ((double *)tensor->data)[index] = strtod(text, NULL);
        break;
    case ISO_DTYPE_I64:
        ((int64_t *)tensor->data)[index] = strtoll(text, NULL, 10);
        break;
    default:
        break;
    }
}

static iso_status_t add_constant(iso_graph_t *graph, iso_arena_t *arena,
                                 const char *name, char *numbers,
                                 iso_tensor_t *value, iso_node_id_t *id_out)
{
    char *rest = NULL;
    int64_t count = iso_tensor_count(value);
    char *number = numbers == NULL ? NULL : strtok_r(numbers, ",", &rest);

    value->data = iso_arena_alloc(arena, iso_tensor_bytes(value) + 1);
    if (value->data == NULL) {
        return ISO_NOMEM;
    }
    for (int64_t i = 0; number != NULL && i < count; i++) {
        put_number(value, i, number);
        number = strtok_r(NULL, ",", &rest);
    }
    return iso_graph_add_constant(graph, name, value, id_out);
}

/* words: kind, type, numbers of a constant */
static iso_status_t add_leaf(iso_graph_t *graph, iso_arena_t *arena,
                             const char *name, char **words,
                             iso_node_id_t *id_out)
{
    iso_dtype_t dtype = ISO_DTYPE_COUNT;
    iso_shape_t shape = {0};
    iso_tensor_t value = {0};

    ISO_TRY(read_type(words[1], &dtype, &shape));
    if (strcmp(words[0], "input") == 0) {
        return iso_graph_add_input(graph, name, dtype, &shape, id_out);
    }
    if (strcmp(words[0], "param") == 0) {
        return iso_graph_add_param(graph, name, dtype, &shape, id_out);
    }
    ISO_TRY(iso_tensor_view(dtype, &shape, NULL, &value));
    return add_constant(graph, arena, name, words[2], &value, id_out);
}

/* One value of a list of this kind. */
static iso_status_t read_value(char kind, const char *text, iso_dim_t *dim_out,
                               double *float_out)
{
    char *end;

    *dim_out = iso_dim_of(strtoll(text, &end, 10));
    *float_out = strtod(text, NULL);
    return kind == 'd' && *end != '\0' ? iso_dim_parse(text, dim_out) : ISO_OK;
}

/* The list behind "name=k:". */
static iso_status_t read_values(iso_arena_t *arena, char kind, char *text,
                                iso_attr_t *attr)
{
    char *parts[MOST_VALUES] = {NULL};
    int count = split(text, ",", parts, MOST_VALUES);
    int64_t *ints = iso_arena_array(arena, MOST_VALUES, sizeof *ints);
    double *floats = iso_arena_array(arena, MOST_VALUES, sizeof *floats);
    iso_dim_t *dims = iso_arena_array(arena, MOST_VALUES, sizeof *dims);

    if (ints == NULL || floats == NULL || dims == NULL) {
        return ISO_NOMEM;
    }
    for (int i = 0; i < count; i++) {
        ISO_TRY(read_value(kind, parts[i], &dims[i], &floats[i]));
        ints[i] = dims[i].size;
    }
    attr->count = count;
    switch (kind) {
    case 'i':
        attr->kind = ISO_ATTR_INTS;
        attr->value.ints = ints;
        return ISO_OK;
    case 'f':
        attr->kind = ISO_ATTR_FLOATS;
        attr->value.floats = floats;
        return ISO_OK;
    case 'd':
        attr->kind = ISO_ATTR_DIMS;
        attr->value.dims = dims;
        return ISO_OK;
    default:
        return unreadable(text);
    }
}

static iso_status_t read_attr(iso_arena_t *arena, char *word, iso_attr_t *attr)
{
    char *equals = strchr(word, '=');

    if (equals == NULL || equals[1] == '\0' || equals[2] != ':') {
        return unreadable(word);
    }
    *equals = '\0';
    attr->name = word;
    if (equals[1] != 't') {
        return read_values(arena, equals[1], equals + 3, attr);
    }
    attr->kind = ISO_ATTR_TEXT;
    attr->count = 1;
    attr->value.text = equals + 3;
    return ISO_OK;
}

static iso_status_t read_attrs(iso_arena_t *arena, char *text,
                               iso_attr_t *attrs, int *count_out)
{
    char *words[MOST_ATTRS] = {NULL};

    *count_out = split(text, " ", words, MOST_ATTRS);
    for (int i = 0; i < *count_out; i++) {
        ISO_TRY(read_attr(arena, words[i], &attrs[i]));
    }
    return ISO_OK;
}

/* "conv(x, w) strides=i:2,2" */
static iso_status_t add_compute(iso_graph_t *graph, iso_arena_t *arena,
                                const char *name, char *text,
                                iso_node_id_t *id_out)
{
    char *open = strchr(text, '(');
    char *close = strchr(text, ')');
    char *operands[MOST_OPERANDS] = {NULL};
    iso_node_id_t inputs[MOST_OPERANDS];
    iso_attr_t attrs[MOST_ATTRS];
    iso_node_spec_t spec = {.name = name, .inputs = inputs, .attrs = attrs};

    if (open == NULL || close == NULL) {
        return unreadable(text);
    }
    *open = '\0';
    *close = '\0';
    spec.op = iso_op_from_string(text);
    spec.n_inputs = split(open + 1, ", ", operands, MOST_OPERANDS);
    for (int i = 0; i < spec.n_inputs; i++) {
        bool given = strcmp(operands[i], "-") != 0;

        inputs[i] = given ? iso_graph_find(graph, operands[i]) : ISO_NO_NODE;
        if (given && inputs[i] == ISO_NO_NODE) {
            return unreadable(operands[i]);
        }
    }
    ISO_TRY(read_attrs(arena, close + 1, attrs, &spec.n_attrs));
    return iso_graph_add(graph, &spec, id_out);
}

static iso_status_t add_line(iso_graph_t *graph, iso_arena_t *arena, char *line,
                             iso_node_id_t *id_out)
{
    char *words[4] = {NULL};
    char *equals = strstr(line, " = ");

    if (strncmp(line, "return ", strlen("return ")) == 0) {
        const char *name = line + strlen("return ");

        return iso_graph_add_output(graph, name, iso_graph_find(graph, name));
    }
    if (equals == NULL) {
        return unreadable(line);
    }
    *equals = '\0';
    if (strchr(equals + 3, '(') != NULL) {
        return add_compute(graph, arena, line, equals + 3, id_out);
    }
    if (split(equals + 3, " ", words, 3) < 2) {
        return unreadable(equals + 3);
    }
    return add_leaf(graph, arena, line, words, id_out);
}

iso_status_t graph_text_add(iso_graph_t *graph, const char *text,
                            iso_node_id_t *last_out)
{
    iso_node_id_t last = ISO_NO_NODE;
    iso_status_t status = ISO_OK;
    char *rest = NULL;
    iso_arena_t *arena;
    char *copy;

    ISO_TRY(iso_arena_create(&arena));
    copy = iso_arena_text(arena, text);
    for (char *line = copy == NULL ? NULL : strtok_r(copy, "\n", &rest);
         line != NULL && status == ISO_OK; line = strtok_r(NULL, "\n", &rest)) {
        status = add_line(graph, arena, line, &last);
    }
    iso_arena_destroy(&arena);
    if (last_out != NULL) {
        *last_out = last;
    }
    return copy == NULL ? ISO_NOMEM : status;
}

const char *graph_text_value(const iso_node_t *node, char *buffer)
{
    char shape[ISO_SHAPE_TEXT_BYTES];

    (void)snprintf(buffer, ISO_SHAPE_TEXT_BYTES + 16, "%s%s",
                   iso_dtype_string(node->dtype),
                   iso_shape_text(&node->shape, shape));
    return buffer;
}
