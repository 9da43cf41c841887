#include "onnx_text.h"

#include "base/log.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64 };

typedef struct text {
    iso_arena_t *arena;
    Onnx__GraphProto *graph;
} text_t;

static void *take(text_t *text, size_t bytes)
{
    void *block = iso_arena_alloc(text->arena, bytes);

    ISO_ASSERT(block != NULL);
    return block;
}

/* A list of pointers of any kind. */
static void *take_pointers(text_t *text)
{
    return take(text, MOST * sizeof(char *));
}

#define NEW(text, type, init) \
    ((type *)memcpy(take(text, sizeof(type)), &(const type)init, sizeof(type)))

/* Next word up to one of the ends; the text goes on behind it. */
static char *word(char **at, const char *ends)
{
    char *begin = *at + strspn(*at, " ");
    size_t length = strcspn(begin, ends);

    *at = begin + length;
    if (**at != '\0') {
        **at = '\0';
        (*at)++;
    }
    while (length > 0 && begin[length - 1] == ' ') {
        begin[--length] = '\0';
    }
    return begin;
}

static char *name_of(char *name)
{
    return strcmp(name, "_") == 0 ? (name + 1) : name;
}

/* -- tensors -- */

static int code_of(const char *name)
{
    static const struct {
        const char *name;
        int code;
    } codes[] = {{"f32", 1},  {"u8", 2},   {"i8", 3},    {"u16", 4},
                 {"i32", 6},  {"i64", 7},  {"str", 8},   {"bool", 9},
                 {"f16", 10}, {"f64", 11}, {"bf16", 16}, {NULL, 99}};
    int i = 0;

    while (codes[i].name != NULL && strcmp(codes[i].name, name) != 0) {
        i++;
    }
    return codes[i].code;
}

static void set_dims(text_t *text, Onnx__TensorProto *tensor, char *dims)
{
    tensor->dims = take(text, MOST * sizeof *tensor->dims);
    while (*dims != '\0') {
        tensor->dims[tensor->n_dims++] = strtoll(word(&dims, ","), NULL, 10);
    }
}

static void add_element(Onnx__TensorProto *tensor, const char *value)
{
    switch (tensor->data_type) {
    case 1:
        tensor->float_data[tensor->n_float_data++] = strtof(value, NULL);
        break;
    case 7:
        tensor->int64_data[tensor->n_int64_data++] = strtoll(value, NULL, 10);
        break;
    case 11:
        tensor->double_data[tensor->n_double_data++] = strtod(value, NULL);
        break;
    default:
        tensor->int32_data[tensor->n_int32_data++] =
            (int32_t)strtol(value, NULL, 10);
        break;
    }
}

static void set_elements(text_t *text, Onnx__TensorProto *tensor, char *values)
{
    size_t count = 1;

    for (size_t i = 0; i < tensor->n_dims; i++) {
        count *= (size_t)tensor->dims[i];
    }
    count = count < 100000 ? count : 100000;
    count += MOST; /* texts may have too many */
    tensor->float_data = take(text, count * sizeof(float));
    tensor->int64_data = take(text, count * sizeof(int64_t));
    tensor->double_data = take(text, count * sizeof(double));
    tensor->int32_data = take(text, count * sizeof(int32_t));
    values += strspn(values, " ");
    if (*values == '*') {
        for (size_t i = MOST; i < count; i++) {
            add_element(tensor, values + 1);
        }
        return;
    }
    while (*values != '\0') {
        add_element(tensor, word(&values, " "));
        values += strspn(values, " ");
    }
}

/* "f32 2,3 : 1 2 3 4 5 6" */
static Onnx__TensorProto *read_tensor(text_t *text, char *rest)
{
    Onnx__TensorProto *tensor =
        NEW(text, Onnx__TensorProto, ONNX__TENSOR_PROTO__INIT);

    tensor->has_data_type = 1;
    tensor->data_type = code_of(word(&rest, " "));
    set_dims(text, tensor, word(&rest, ":"));
    set_elements(text, tensor, rest);
    return tensor;
}

/* -- inputs and outputs -- */

static Onnx__TensorShapeProto__Dimension *read_dim(text_t *text, char *dim)
{
    Onnx__TensorShapeProto__Dimension *proto =
        NEW(text, Onnx__TensorShapeProto__Dimension,
            ONNX__TENSOR_SHAPE_PROTO__DIMENSION__INIT);
    char *end;
    long long size = strtoll(dim, &end, 10);

    if (*dim != '?' && *end == '\0') {
        proto->value_case =
            ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
        proto->dim_value = size;
    } else if (*dim != '?') {
        proto->value_case =
            ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
        proto->dim_param = dim;
    }
    return proto;
}

static Onnx__ValueInfoProto *read_info(text_t *text, char *rest)
{
    Onnx__ValueInfoProto *info =
        NEW(text, Onnx__ValueInfoProto, ONNX__VALUE_INFO_PROTO__INIT);
    Onnx__TypeProto *type = NEW(text, Onnx__TypeProto, ONNX__TYPE_PROTO__INIT);
    Onnx__TypeProto__Tensor *tensor =
        NEW(text, Onnx__TypeProto__Tensor, ONNX__TYPE_PROTO__TENSOR__INIT);
    Onnx__TensorShapeProto *shape =
        NEW(text, Onnx__TensorShapeProto, ONNX__TENSOR_SHAPE_PROTO__INIT);
    const char *dtype;

    info->name = word(&rest, " ");
    dtype = word(&rest, " ");
    shape->dim = take_pointers(text);
    while (*rest != '\0') {
        shape->dim[shape->n_dim++] = read_dim(text, word(&rest, ","));
    }
    tensor->has_elem_type = 1;
    tensor->elem_type = code_of(dtype);
    tensor->shape = shape;
    type->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    type->tensor_type = tensor;
    info->type = type;
    return info;
}

/* -- operators -- */

static void set_text(Onnx__AttributeProto *attr, char *value)
{
    value[strlen(value) - 1] = '\0';
    attr->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING;
    attr->has_s = 1;
    attr->s.data = (uint8_t *)value + 1;
    attr->s.len = strlen(value + 1);
}

static void set_numbers(text_t *text, Onnx__AttributeProto *attr, char *value)
{
    bool is_list = strchr(value, ',') != NULL;
    bool is_float = strchr(value, '.') != NULL;

    attr->floats = take(text, MOST * sizeof *attr->floats);
    attr->ints = take(text, MOST * sizeof *attr->ints);
    attr->has_f = is_float && !is_list;
    attr->has_i = !is_float && !is_list;
    attr->f = strtof(value, NULL);
    attr->i = strtoll(value, NULL, 10);
    if (!is_list) {
        attr->type = is_float ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT
                              : ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT;
        return;
    }
    attr->type = is_float ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS
                          : ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS;
    while (*value != '\0') {
        const char *part = word(&value, ",");

        if (is_float) {
            attr->floats[attr->n_floats++] = strtof(part, NULL);
        } else {
            attr->ints[attr->n_ints++] = strtoll(part, NULL, 10);
        }
    }
}

static Onnx__AttributeProto *read_attr(text_t *text, char **rest)
{
    Onnx__AttributeProto *attr =
        NEW(text, Onnx__AttributeProto, ONNX__ATTRIBUTE_PROTO__INIT);

    attr->name = word(rest, "=");
    attr->has_type = 1;
    if (**rest == ':') { /* a tensor is the last attribute of its line */
        attr->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR;
        attr->t = read_tensor(text, *rest + 1);
        *rest += strlen(*rest);
    } else if (**rest == '\'') {
        set_text(attr, word(rest, " "));
    } else {
        set_numbers(text, attr, word(rest, " "));
    }
    *rest += strspn(*rest, " ");
    return attr;
}

static Onnx__NodeProto *read_node(text_t *text, char *rest)
{
    Onnx__NodeProto *node = NEW(text, Onnx__NodeProto, ONNX__NODE_PROTO__INIT);
    char *outputs = word(&rest, "=");
    char *inputs;

    node->op_type = word(&rest, "(");
    inputs = word(&rest, ")");
    node->input = take_pointers(text);
    node->output = take_pointers(text);
    node->attribute = take_pointers(text);
    while (*inputs != '\0') {
        node->input[node->n_input++] = name_of(word(&inputs, ","));
    }
    while (*outputs != '\0') {
        node->output[node->n_output++] = name_of(word(&outputs, ","));
    }
    rest += strspn(rest, " ");
    while (*rest != '\0') {
        node->attribute[node->n_attribute++] = read_attr(text, &rest);
    }
    return node;
}

/* -- models -- */

static void read_line(text_t *text, char *line)
{
    Onnx__GraphProto *graph = text->graph;

    line += strspn(line, " ");
    if (strncmp(line, "in ", 3) == 0) {
        graph->input[graph->n_input++] = read_info(text, line + 3);
    } else if (strncmp(line, "out ", 4) == 0) {
        graph->output[graph->n_output++] = read_info(text, line + 4);
    } else if (strncmp(line, "init ", 5) == 0) {
        char *rest = line + 5;
        char *name = word(&rest, " ");
        Onnx__TensorProto *tensor = read_tensor(text, rest);

        tensor->name = name;
        graph->initializer[graph->n_initializer++] = tensor;
    } else if (*line != '\0') {
        graph->node[graph->n_node++] = read_node(text, line);
    }
}

Onnx__ModelProto *onnx_text_model(iso_arena_t *arena, int opset,
                                  const char *source)
{
    text_t text = {.arena = arena};
    Onnx__ModelProto *model =
        NEW(&text, Onnx__ModelProto, ONNX__MODEL_PROTO__INIT);
    Onnx__OperatorSetIdProto *set =
        NEW(&text, Onnx__OperatorSetIdProto, ONNX__OPERATOR_SET_ID_PROTO__INIT);
    char *lines = iso_arena_text(arena, source);

    text.graph = NEW(&text, Onnx__GraphProto, ONNX__GRAPH_PROTO__INIT);
    text.graph->node = take_pointers(&text);
    text.graph->input = take_pointers(&text);
    text.graph->output = take_pointers(&text);
    text.graph->initializer = take_pointers(&text);
    set->has_version = 1;
    set->version = opset;
    model->has_ir_version = 1;
    model->ir_version = 7;
    model->graph = text.graph;
    model->n_opset_import = 1;
    model->opset_import = take_pointers(&text);
    model->opset_import[0] = set;
    while (*lines != '\0') {
        read_line(&text, word(&lines, "\n"));
    }
    return model;
}

void onnx_text_write(const Onnx__ModelProto *model, const char *path)
{
    size_t size = onnx__model_proto__get_packed_size(model);
    uint8_t *bytes = iso_alloc(size);
    FILE *file = fopen(path, "wb");

    if (bytes != NULL && file != NULL) {
        (void)onnx__model_proto__pack(model, bytes);
        bool is_written = fwrite(bytes, 1, size, file) == size;

        ISO_ASSERT(fclose(file) == 0 && is_written);
        iso_free(bytes);
        return;
    }
    ISO_UNREACHABLE("a test can write to its own folder");
}

iso_status_t onnx_text_import(int opset, const char *text,
                              const iso_onnx_options_t *options,
                              iso_onnx_t **onnx_out)
{
    static const char path[] = "text.onnx";
    iso_arena_t *arena;
    iso_status_t status;

    ISO_ASSERT(iso_arena_create(&arena) == ISO_OK);
    onnx_text_write(onnx_text_model(arena, opset, text), path);
    iso_arena_destroy(&arena);
    status = iso_onnx_import(path, options, onnx_out);
    (void)remove(path);
    return status;
}
