/* A model's inputs, operators and outputs, one after the other. */
#include "isotome/error.h"

#include "base/text.h"
#include "model/onnx/onnx_impl.h"

#include <string.h>

/* -- inputs -- */

/* Any text as the name of a size: what a name may not have becomes "_". */
static iso_status_t dim_of_text(const iso__import_t *import, const char *text,
                                iso_dim_t *dim_out)
{
    char *name;

    if (iso_dim_parse(text, dim_out) == ISO_OK) {
        return ISO_OK;
    }
    name = iso_arena_format(import->arena, "_%s", text);
    if (name == NULL) {
        return ISO_NOMEM;
    }
    for (char *c = name; *c != '\0'; c++) {
        if (strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                   "0123456789_",
                   *c) == NULL) {
            *c = '_';
        }
    }
    return iso_dim_parse(name, dim_out);
}

/* A number, a name, or (nothing known) a name of its own. */
static iso_status_t dim_of_proto(const iso__import_t *import,
                                 const Onnx__TensorShapeProto__Dimension *proto,
                                 const char *input, int axis,
                                 iso_dim_t *dim_out)
{
    const char *text;

    if (proto->value_case ==
        ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE) {
        *dim_out = iso_dim_of(proto->dim_value);
        if (proto->dim_value < 0) {
            return iso_fail(ISO_INPUT,
                            "dim %d is %lld, expected at least 0, or a name "
                            "when it is free",
                            axis, (long long)proto->dim_value);
        }
        return ISO_OK;
    }
    if (proto->value_case ==
            ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM &&
        proto->dim_param[0] != '\0') {
        return dim_of_text(import, proto->dim_param, dim_out);
    }
    text = iso_arena_format(import->arena, "%s_%d", input, axis);
    return text == NULL ? ISO_NOMEM : dim_of_text(import, text, dim_out);
}

static iso_status_t shape_of_proto(const iso__import_t *import,
                                   const Onnx__TensorShapeProto *proto,
                                   const char *input, iso_shape_t *shape_out)
{
    if (proto == NULL || proto->n_dim > ISO_MAX_RANK) {
        return iso_fail(
            ISO_UNSUPPORTED, "its shape is %s, expected at most %d dims",
            proto == NULL ? "not given" : "too long", (int)ISO_MAX_RANK);
    }
    *shape_out = (iso_shape_t){.rank = (int)proto->n_dim};
    for (int i = 0; i < shape_out->rank; i++) {
        ISO_TRY(
            dim_of_proto(import, proto->dim[i], input, i, &shape_out->dim[i]));
    }
    if (import->options->free_batch && shape_out->rank > 1 &&
        iso_dim_equal(shape_out->dim[0], iso_dim_of(1))) {
        shape_out->dim[0] = import->batch;
    }
    return ISO_OK;
}

static iso_status_t add_input(iso__import_t *import,
                              const Onnx__ValueInfoProto *proto,
                              iso__value_t *value)
{
    const Onnx__TypeProto *type = proto->type;
    iso_dtype_t dtype = ISO_DTYPE_COUNT;
    iso_shape_t shape;

    if (type == NULL ||
        type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE) {
        return iso_fail(ISO_UNSUPPORTED, "it is not a tensor");
    }
    dtype = iso_dtype_from_onnx(type->tensor_type->elem_type);
    if (dtype == ISO_DTYPE_COUNT) {
        return iso_fail(ISO_UNSUPPORTED, "element type %d is not supported",
                        (int)type->tensor_type->elem_type);
    }
    ISO_TRY(
        shape_of_proto(import, type->tensor_type->shape, value->name, &shape));
    ISO_TRY(iso__onnx_value_make(value));
    return iso__onnx_add_input(import, value, dtype, &shape);
}

/* Models before IR version 4 list their initializers among the inputs. */
static iso_status_t add_inputs(iso__import_t *import)
{
    const Onnx__GraphProto *graph = import->model->graph;

    for (size_t i = 0; i < graph->n_input; i++) {
        iso__value_t *value = iso__onnx_value(import, graph->input[i]->name);
        iso_status_t status;

        if (value == NULL) {
            return iso_fail(ISO_INPUT, "input %zu of the model has no name", i);
        }
        if (value->initializer != NULL) {
            continue;
        }
        status = add_input(import, graph->input[i], value);
        if (status != ISO_OK) {
            return iso_fail_context(status, "input '%s'", value->name);
        }
    }
    return ISO_OK;
}

static iso_status_t list_initializers(iso__import_t *import)
{
    const Onnx__GraphProto *graph = import->model->graph;

    if (graph->n_sparse_initializer > 0) {
        return iso_fail(ISO_UNSUPPORTED,
                        "sparse initializers are not supported");
    }
    for (size_t i = 0; i < graph->n_initializer; i++) {
        iso__value_t *value =
            iso__onnx_value(import, graph->initializer[i]->name);

        if (value == NULL) {
            return iso_fail(ISO_INPUT, "initializer %zu has no name", i);
        }
        ISO_TRY(iso__onnx_value_make(value));
        value->initializer = graph->initializer[i];
    }
    return ISO_OK;
}

/* -- operators -- */

/* Nothing may be left over: an attribute that was not understood, an output
 * that is used and was not made. */
static iso_status_t check_converted(const iso__onnx_op_t *op)
{
    ISO_TRY(iso__onnx_attr_check(op));
    for (size_t i = 0; i < op->proto->n_output; i++) {
        const iso__value_t *value =
            iso__onnx_value(op->import, op->proto->output[i]);

        if (value != NULL && !value->is_made && value->n_uses > 0) {
            return iso_fail(ISO_UNSUPPORTED,
                            "its output %zu '%s' is used, and is not supported",
                            i, value->name);
        }
    }
    return ISO_OK;
}

static iso_status_t convert_operator(iso__onnx_op_t *op)
{
    if (op->proto->n_output == 0 || op->proto->output[0][0] == '\0') {
        return iso_fail(ISO_UNSUPPORTED, "its first output has no name");
    }
    for (size_t i = 0; i < op->proto->n_output; i++) {
        const iso__value_t *value =
            iso__onnx_value(op->import, op->proto->output[i]);

        ISO_TRY(value == NULL ? ISO_OK : iso__onnx_value_need_new(value));
    }
    ISO_TRY(op->entry->convert(op));
    return check_converted(op);
}

static iso_status_t convert_operators(iso__import_t *import)
{
    const Onnx__GraphProto *graph = import->model->graph;

    for (size_t i = 0; i < graph->n_node; i++) {
        iso__onnx_op_t op = {
            .import = import,
            .proto = graph->node[i],
            .entry = iso__onnx_find(graph->node[i], import->opset),
            .name = iso__onnx_node_name(graph->node[i]),
        };
        iso_status_t status = convert_operator(&op);

        if (status != ISO_OK) {
            return iso_fail_context(status, "operator '%s' (%s)", op.name,
                                    op.proto->op_type);
        }
    }
    return ISO_OK;
}

/* -- outputs -- */

static iso_status_t add_output(iso__import_t *import, const char *name)
{
    iso__value_t *value = iso__onnx_value(import, name);
    iso_node_id_t node;

    if (value == NULL || !value->is_made) {
        return iso_fail(ISO_INPUT,
                        "output '%s' of the model is made by nothing",
                        name != NULL ? name : "");
    }
    ISO_TRY(iso__onnx_value_node(import, value, &node));
    return iso_graph_add_output(import->graph, name, node);
}

static iso_status_t add_outputs(iso__import_t *import)
{
    const Onnx__GraphProto *graph = import->model->graph;
    const iso_onnx_options_t *options = import->options;

    for (int i = 0; i < options->n_outputs; i++) {
        ISO_TRY(add_output(import, options->outputs[i]));
    }
    if (options->n_outputs > 0) {
        return ISO_OK;
    }
    if (graph->n_output == 0) {
        return iso_fail(ISO_INPUT, "the model has no outputs");
    }
    for (size_t i = 0; i < graph->n_output; i++) {
        ISO_TRY(add_output(import, graph->output[i]->name));
    }
    return ISO_OK;
}

iso_status_t iso__onnx_convert(iso__import_t *import)
{
    ISO_TRY(iso__onnx_check_operators(import));
    ISO_TRY(list_initializers(import));
    ISO_TRY(iso__onnx_choose_image(import));
    ISO_TRY(add_inputs(import));
    ISO_TRY(convert_operators(import));
    return add_outputs(import);
}
