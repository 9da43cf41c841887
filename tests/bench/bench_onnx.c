#include "bench_onnx.h"

#include "base/arena.h"
#include "base/mem.h"
#include "base/random.h"
#include "bench.h"

#include <errno.h>
#include <math.h>
#include <onnx/onnx.pb-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPSET = 17, IR_VERSION = 8, MOST_ITEMS = 2048, MOST_ATTRS = 8 };

struct bench_net {
    iso_arena_t *arena; /* but for the weights' bytes */
    Onnx__ModelProto model;
    Onnx__GraphProto graph;
    Onnx__OperatorSetIdProto opset;
    Onnx__OperatorSetIdProto *opsets[1];
    Onnx__NodeProto *nodes[MOST_ITEMS];
    Onnx__TensorProto *tensors[MOST_ITEMS];
    Onnx__ValueInfoProto *inputs[MOST_ITEMS];
    Onnx__ValueInfoProto *outputs[MOST_ITEMS];
    Onnx__AttributeProto *attrs[MOST_ATTRS]; /* of the next operator */
    int n_attrs;
};

/* ---- Memory ---- */

__attribute__((returns_nonnull)) static void *take(bench_net_t *net,
                                                   size_t bytes)
{
    void *block = iso_arena_alloc(net->arena, bytes);

    if (block == NULL) {
        (void)fputs("out of memory\n", stderr);
        exit(EXIT_FAILURE);
    }
    return block;
}

#define NEW(net, type, init) \
    ((type *)memcpy(take(net, sizeof(type)), &(const type)init, sizeof(type)))

static char *text_of(bench_net_t *net, const char *text)
{
    char *copy = iso_arena_text(net->arena, text);

    bench_need(copy != NULL ? ISO_OK : ISO_NOMEM);
    return copy;
}

static char *name_of(bench_net_t *net, const char *what, size_t number)
{
    char name[64];

    (void)snprintf(name, sizeof name, "%s%zu", what, number);
    return text_of(net, name);
}

static void need_room(size_t count)
{
    if (count >= MOST_ITEMS) {
        (void)fprintf(stderr, "a network of over %d items\n", MOST_ITEMS);
        exit(EXIT_FAILURE);
    }
}

bench_net_t *bench_net_create(void)
{
    bench_net_t *net = bench_zeroed(1, sizeof *net);

    bench_need(iso_arena_create(&net->arena));
    net->model = (Onnx__ModelProto)ONNX__MODEL_PROTO__INIT;
    net->graph = (Onnx__GraphProto)ONNX__GRAPH_PROTO__INIT;
    net->opset = (Onnx__OperatorSetIdProto)ONNX__OPERATOR_SET_ID_PROTO__INIT;
    net->opset.has_version = 1;
    net->opset.version = OPSET;
    net->opsets[0] = &net->opset;
    net->model.has_ir_version = 1;
    net->model.ir_version = IR_VERSION;
    net->model.producer_name = text_of(net, "isotome bench");
    net->model.n_opset_import = 1;
    net->model.opset_import = net->opsets;
    net->model.graph = &net->graph;
    net->graph.name = text_of(net, "bench");
    net->graph.node = net->nodes;
    net->graph.initializer = net->tensors;
    net->graph.input = net->inputs;
    net->graph.output = net->outputs;
    return net;
}

void bench_net_destroy(bench_net_t **net)
{
    for (size_t i = 0; i < (*net)->graph.n_initializer; i++) {
        iso_free((*net)->tensors[i]->raw_data.data);
    }
    iso_arena_destroy(&(*net)->arena);
    iso_free(*net);
    *net = NULL;
}

/* ---- Inputs and outputs ---- */

static Onnx__TensorShapeProto__Dimension *dim_of(bench_net_t *net, int64_t size)
{
    Onnx__TensorShapeProto__Dimension *dim =
        NEW(net, Onnx__TensorShapeProto__Dimension,
            ONNX__TENSOR_SHAPE_PROTO__DIMENSION__INIT);

    if (size > 0) {
        dim->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
        dim->dim_value = size;
    } else {
        dim->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
        dim->dim_param = text_of(net, "N");
    }
    return dim;
}

/* shape  [in]  NULL: not said */
static Onnx__ValueInfoProto *info_of(bench_net_t *net, const char *name,
                                     Onnx__TensorShapeProto *shape)
{
    Onnx__ValueInfoProto *info =
        NEW(net, Onnx__ValueInfoProto, ONNX__VALUE_INFO_PROTO__INIT);
    Onnx__TypeProto *type = NEW(net, Onnx__TypeProto, ONNX__TYPE_PROTO__INIT);
    Onnx__TypeProto__Tensor *tensor =
        NEW(net, Onnx__TypeProto__Tensor, ONNX__TYPE_PROTO__TENSOR__INIT);

    tensor->has_elem_type = 1;
    tensor->elem_type = ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT;
    tensor->shape = shape;
    type->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    type->tensor_type = tensor;
    info->name = text_of(net, name);
    info->type = type;
    return info;
}

const char *bench_net_input(bench_net_t *net, const char *name, int rank,
                            const int64_t *dims)
{
    Onnx__TensorShapeProto *shape =
        NEW(net, Onnx__TensorShapeProto, ONNX__TENSOR_SHAPE_PROTO__INIT);

    shape->dim = take(net, (size_t)rank * sizeof(void *));
    for (int i = 0; i < rank; i++) {
        shape->dim[shape->n_dim++] = dim_of(net, dims[i]);
    }
    need_room(net->graph.n_input);
    net->inputs[net->graph.n_input] = info_of(net, name, shape);
    return net->inputs[net->graph.n_input++]->name;
}

void bench_net_output(bench_net_t *net, const char *value)
{
    need_room(net->graph.n_output);
    net->outputs[net->graph.n_output++] = info_of(net, value, NULL);
}

/* ---- Tensors ---- */

/* Zeros. */
static Onnx__TensorProto *add_tensor(bench_net_t *net, int type, size_t size,
                                     int rank, const int64_t *dims)
{
    Onnx__TensorProto *tensor =
        NEW(net, Onnx__TensorProto, ONNX__TENSOR_PROTO__INIT);
    size_t count = 1;

    need_room(net->graph.n_initializer);
    tensor->has_data_type = 1;
    tensor->data_type = type;
    tensor->dims = take(net, ((size_t)rank + 1) * sizeof *tensor->dims);
    for (int i = 0; i < rank; i++) {
        tensor->dims[tensor->n_dims++] = dims[i];
        count *= (size_t)dims[i];
    }
    tensor->has_raw_data = 1;
    tensor->raw_data.len = count * size;
    tensor->raw_data.data = bench_zeroed(count, size);
    tensor->name = name_of(net, "w", net->graph.n_initializer);
    net->tensors[net->graph.n_initializer++] = tensor;
    return tensor;
}

const char *bench_net_weight_near(bench_net_t *net, double middle,
                                  double deviation, int rank,
                                  const int64_t *dims)
{
    Onnx__TensorProto *tensor = add_tensor(
        net, ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT, sizeof(float), rank, dims);
    iso_random_t random = {.state = iso_random_mix(net->graph.n_initializer)};
    const double reach = deviation * sqrt(3.0);
    float *values = (float *)(void *)tensor->raw_data.data;

    for (size_t i = 0; i < tensor->raw_data.len / sizeof *values; i++) {
        values[i] = (float)(middle + reach * (double)iso_random_float(&random));
    }
    return tensor->name;
}

const char *bench_net_weight(bench_net_t *net, double deviation, int rank,
                             const int64_t *dims)
{
    return bench_net_weight_near(net, 0.0, deviation, rank, dims);
}

const char *bench_net_values(bench_net_t *net, int rank, const int64_t *dims)
{
    Onnx__TensorProto *tensor = add_tensor(
        net, ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT, sizeof(float), rank, dims);
    float *values =
        bench_values((int64_t)(tensor->raw_data.len / sizeof(float)));

    memcpy(tensor->raw_data.data, values, tensor->raw_data.len);
    iso_free(values);
    return tensor->name;
}

const char *bench_net_scalar(bench_net_t *net, float value)
{
    Onnx__TensorProto *tensor = add_tensor(
        net, ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT, sizeof value, 0, NULL);

    memcpy(tensor->raw_data.data, &value, sizeof value);
    return tensor->name;
}

const char *bench_net_ints(bench_net_t *net, int count, const int64_t *values)
{
    Onnx__TensorProto *tensor =
        add_tensor(net, ONNX__TENSOR_PROTO__DATA_TYPE__INT64, sizeof *values, 1,
                   (const int64_t[]){count});

    memcpy(tensor->raw_data.data, values, (size_t)count * sizeof *values);
    return tensor->name;
}

/* ---- Operators ---- */

static Onnx__AttributeProto *add_attr(bench_net_t *net, const char *name,
                                      int type)
{
    Onnx__AttributeProto *attr =
        NEW(net, Onnx__AttributeProto, ONNX__ATTRIBUTE_PROTO__INIT);

    bench_need(net->n_attrs < MOST_ATTRS ? ISO_OK : ISO_NOMEM);
    attr->name = text_of(net, name);
    attr->has_type = 1;
    attr->type = (Onnx__AttributeProto__AttributeType)type;
    net->attrs[net->n_attrs++] = attr;
    return attr;
}

void bench_net_attr(bench_net_t *net, const char *name, int count,
                    const int64_t *values)
{
    Onnx__AttributeProto *attr =
        add_attr(net, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS);

    attr->n_ints = (size_t)count;
    attr->ints = take(net, (size_t)count * sizeof *values);
    memcpy(attr->ints, values, (size_t)count * sizeof *values);
}

void bench_net_attr_int(bench_net_t *net, const char *name, int64_t value)
{
    Onnx__AttributeProto *attr =
        add_attr(net, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT);

    attr->has_i = 1;
    attr->i = value;
}

void bench_net_attr_float(bench_net_t *net, const char *name, float value)
{
    Onnx__AttributeProto *attr =
        add_attr(net, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT);

    attr->has_f = 1;
    attr->f = value;
}

const char *bench_net_op(bench_net_t *net, const char *type, int n_inputs,
                         const char *const *inputs)
{
    Onnx__NodeProto *node = NEW(net, Onnx__NodeProto, ONNX__NODE_PROTO__INIT);

    need_room(net->graph.n_node);
    node->op_type = text_of(net, type);
    node->input = take(net, (size_t)n_inputs * sizeof *node->input);
    for (int i = 0; i < n_inputs; i++) {
        node->input[node->n_input++] = text_of(net, inputs[i]);
    }
    node->n_output = 1;
    node->output = take(net, sizeof *node->output);
    node->output[0] = name_of(net, "v", net->graph.n_node);
    node->n_attribute = (size_t)net->n_attrs;
    node->attribute = take(net, sizeof net->attrs);
    memcpy(node->attribute, net->attrs, sizeof net->attrs);
    net->n_attrs = 0;
    net->nodes[net->graph.n_node++] = node;
    return node->output[0];
}

const char *bench_net_op1(bench_net_t *net, const char *type, const char *a)
{
    return bench_net_op(net, type, 1, &a);
}

const char *bench_net_op2(bench_net_t *net, const char *type, const char *a,
                          const char *b)
{
    return bench_net_op(net, type, 2, (const char *const[]){a, b});
}

/* ---- Writing ---- */

/* Packs into a file as it goes: a second copy of the weights is not needed. */
typedef struct file_buffer {
    ProtobufCBuffer base;
    FILE *file;
} file_buffer_t;

static void append(ProtobufCBuffer *buffer, size_t length, const uint8_t *data)
{
    /* A failure stays in the file's error flag. */
    (void)fwrite(data, 1, length, ((file_buffer_t *)(void *)buffer)->file);
}

void bench_net_write(const bench_net_t *net, const char *path)
{
    file_buffer_t buffer = {.base = {.append = append},
                            .file = fopen(path, "wb")};

    if (buffer.file != NULL) {
        (void)onnx__model_proto__pack_to_buffer(&net->model, &buffer.base);
    }
    if (buffer.file == NULL || ferror(buffer.file) != 0 ||
        fclose(buffer.file) != 0) {
        (void)fprintf(stderr, "%s: %s\n", path, strerror(errno));
        exit(EXIT_FAILURE);
    }
}
