/* Nodes in the making, and the short ways to common ones. */
#include "isotome/error.h"

#include "base/log.h"
#include "base/mem.h"
#include "kernel/half.h"
#include "kernel/ref.h"
#include "model/onnx/onnx_impl.h"

#include <string.h>

void iso__draft_begin(iso__draft_t *draft, iso_op_t op, int n_inputs,
                      const iso_node_id_t *inputs)
{
    draft->op = op;
    draft->n_inputs = n_inputs;
    draft->inputs = inputs;
    draft->n_attrs = 0;
}

static iso_attr_t *next_attr(iso__draft_t *draft, const char *name,
                             iso_attr_kind_t kind, int count)
{
    iso_attr_t *attr = &draft->attrs[draft->n_attrs];

    ISO_ASSERT(draft->n_attrs < ISO__MOST_ATTRS);
    draft->n_attrs++;
    *attr = (iso_attr_t){.name = name, .kind = kind, .count = count};
    return attr;
}

void iso__draft_int(iso__draft_t *draft, const char *name, int64_t value)
{
    int64_t *kept = &draft->ints[draft->n_attrs];

    *kept = value;
    next_attr(draft, name, ISO_ATTR_INTS, 1)->value.ints = kept;
}

void iso__draft_ints(iso__draft_t *draft, const char *name,
                     const int64_t *values, int count)
{
    next_attr(draft, name, ISO_ATTR_INTS, count)->value.ints = values;
}

void iso__draft_float(iso__draft_t *draft, const char *name, double value)
{
    double *kept = &draft->floats[draft->n_attrs];

    *kept = value;
    next_attr(draft, name, ISO_ATTR_FLOATS, 1)->value.floats = kept;
}

void iso__draft_floats(iso__draft_t *draft, const char *name,
                       const double *values, int count)
{
    next_attr(draft, name, ISO_ATTR_FLOATS, count)->value.floats = values;
}

void iso__draft_text(iso__draft_t *draft, const char *name, const char *text)
{
    next_attr(draft, name, ISO_ATTR_TEXT, 1)->value.text = text;
}

void iso__draft_dims(iso__draft_t *draft, const char *name,
                     const iso_dim_t *dims, int count)
{
    next_attr(draft, name, ISO_ATTR_DIMS, count)->value.dims = dims;
}

/* -- adding -- */

enum { MOST_OPERANDS = 64 };

/* An operand that is known, and small or not given. */
static iso_status_t known_operand(const iso__import_t *import,
                                  iso_node_id_t node, iso_tensor_t *tensor,
                                  const iso_tensor_t **input, bool *known_out)
{
    *input = NULL;
    *known_out = true;
    if (node == ISO_NO_NODE) {
        return ISO_OK;
    }
    ISO_TRY(iso__onnx_node_elements(import, node, tensor, known_out));
    *known_out = *known_out && iso_tensor_bytes(tensor) <= ISO_CONSTANT_BYTES;
    *input = tensor;
    return ISO_OK;
}

/* Are all operands so? Fills tensors, and inputs to point at them. */
static iso_status_t known_operands(const iso__import_t *import,
                                   const iso_node_t *node,
                                   iso_tensor_t *tensors,
                                   const iso_tensor_t **inputs, bool *known_out)
{
    *known_out = node->n_inputs > 0 && node->n_inputs <= MOST_OPERANDS;
    for (int i = 0; *known_out && i < node->n_inputs; i++) {
        ISO_TRY(known_operand(import, node->inputs[i], &tensors[i], &inputs[i],
                              known_out));
    }
    return ISO_OK;
}

static bool is_small(const iso_node_t *node)
{
    size_t bytes;

    return iso_shape_is_static(&node->shape) &&
           iso_tensor_bytes_of(node->dtype, &node->shape, &bytes) == ISO_OK &&
           bytes <= ISO_CONSTANT_BYTES;
}

static iso_status_t add_computed(iso__import_t *import, const iso_node_t *node,
                                 const iso_tensor_t *const *inputs,
                                 iso_node_id_t *node_out)
{
    const char *name = iso__onnx_name(import, node->name, "value");
    iso_tensor_t value;
    iso_status_t status;

    if (name == NULL) {
        return ISO_NOMEM;
    }
    ISO_TRY(iso_tensor_view(node->dtype, &node->shape, NULL, &value));
    value.data = iso_alloc(iso_tensor_bytes(&value));
    if (value.data == NULL) {
        return ISO_NOMEM;
    }
    status = iso_ref_run(node, inputs, &value);
    if (status == ISO_OK) {
        status = iso_graph_add_constant(import->graph, name, &value, node_out);
    } else if (status == ISO_UNSUPPORTED) {
        status = ISO_OK; /* stays a node, as it would with large operands */
    }
    iso_free(value.data);
    return status;
}

iso_status_t iso__onnx_add(iso__import_t *import, const char *name,
                           const iso__draft_t *draft, iso_node_id_t *node_out)
{
    iso_node_spec_t spec = {.name = name,
                            .op = draft->op,
                            .n_inputs = draft->n_inputs,
                            .inputs = draft->inputs,
                            .n_attrs = draft->n_attrs,
                            .attrs = draft->attrs};
    iso_tensor_t tensors[MOST_OPERANDS];
    const iso_tensor_t *inputs[MOST_OPERANDS];
    const iso_node_t *node;
    iso_node_id_t id;
    bool known = false;

    if (name == NULL) {
        return ISO_NOMEM;
    }
    ISO_TRY(iso_graph_add(import->graph, &spec, &id));
    *node_out = id;
    node = iso_graph_node(import->graph, id);
    if (is_small(node)) {
        ISO_TRY(known_operands(import, node, tensors, inputs, &known));
    }
    return known ? add_computed(import, node, inputs, node_out) : ISO_OK;
}

/* -- steps -- */

iso_status_t iso__onnx_step(iso__onnx_op_t *op, const char *part,
                            const iso__draft_t *draft, iso_node_id_t *node_out)
{
    return iso__onnx_add(op->import,
                         iso__onnx_name(op->import, op->proto->output[0], part),
                         draft, node_out);
}

iso_status_t iso__onnx_step_unary(iso__onnx_op_t *op, const char *part,
                                  iso_op_t kind, iso_node_id_t a,
                                  iso_node_id_t *node_out)
{
    iso__draft_t draft;

    iso__draft_begin(&draft, kind, 1, &a);
    return iso__onnx_step(op, part, &draft, node_out);
}

iso_status_t iso__onnx_step_binary(iso__onnx_op_t *op, const char *part,
                                   iso_op_t kind, iso_node_id_t a,
                                   iso_node_id_t b, iso_node_id_t *node_out)
{
    const iso_node_id_t inputs[] = {a, b};
    iso__draft_t draft;

    iso__draft_begin(&draft, kind, 2, inputs);
    return iso__onnx_step(op, part, &draft, node_out);
}

iso_status_t iso__onnx_step_reshape(iso__onnx_op_t *op, const char *part,
                                    iso_node_id_t a, const iso_shape_t *shape,
                                    iso_node_id_t *node_out)
{
    iso__draft_t draft;

    if (iso_shape_equal(&iso__onnx_node(op, a)->shape, shape)) {
        *node_out = a;
        return ISO_OK;
    }
    iso__draft_begin(&draft, ISO_OP_RESHAPE, 1, &a);
    iso__draft_dims(&draft, "shape", shape->dim, shape->rank);
    return iso__onnx_step(op, part, &draft, node_out);
}

iso_status_t iso__onnx_step_cast(iso__onnx_op_t *op, const char *part,
                                 iso_node_id_t a, iso_dtype_t dtype,
                                 iso_node_id_t *node_out)
{
    iso__draft_t draft;

    if (iso__onnx_node(op, a)->dtype == dtype) {
        *node_out = a;
        return ISO_OK;
    }
    iso__draft_begin(&draft, ISO_OP_CAST, 1, &a);
    iso__draft_text(&draft, "to", iso_dtype_string(dtype));
    return iso__onnx_step(op, part, &draft, node_out);
}

/* -- numbers -- */

void iso__onnx_store(iso_dtype_t dtype, double value, void *element)
{
    bool is_whole = value >= -9e18 && value <= 9e18;
    int64_t whole = is_whole ? (int64_t)value : 0;
    union {
        float f32;
        double f64;
        uint16_t half;
        int32_t i32;
        int64_t i64;
        uint8_t u8;
    } number;

    switch (dtype) {
    case ISO_DTYPE_F32:
        number.f32 = (float)value;
        break;
    case ISO_DTYPE_F64:
        number.f64 = value;
        break;
    case ISO_DTYPE_F16:
        number.half = iso__f16_of_f64(value);
        break;
    case ISO_DTYPE_BF16:
        number.half = iso__bf16_of_f64(value);
        break;
    case ISO_DTYPE_I64:
        number.i64 = whole;
        break;
    case ISO_DTYPE_I32:
        number.i32 = (int32_t)whole;
        break;
    default:
        number.u8 = (uint8_t)whole;
        break;
    }
    memcpy(element, &number, iso_dtype_bytes(dtype));
}

iso_status_t iso__onnx_step_number(iso__onnx_op_t *op, const char *part,
                                   iso_dtype_t dtype, double value,
                                   iso_node_id_t *node_out)
{
    _Alignas(8) char element[8];
    iso_tensor_t tensor = {.dtype = dtype, .data = element};
    const char *name = iso__onnx_name(op->import, op->proto->output[0], part);

    if (name == NULL) {
        return ISO_NOMEM;
    }
    iso__onnx_store(dtype, value, element);
    return iso_graph_add_constant(op->import->graph, name, &tensor, node_out);
}

/* -- last steps -- */

iso_status_t iso__onnx_finish(iso__onnx_op_t *op, const iso__draft_t *draft)
{
    iso_node_id_t node;

    ISO_TRY(iso__onnx_add(op->import, op->proto->output[0], draft, &node));
    return iso__onnx_bind(op, 0, node);
}

iso_status_t iso__onnx_finish_unary(iso__onnx_op_t *op, iso_op_t kind,
                                    iso_node_id_t a)
{
    iso__draft_t draft;

    iso__draft_begin(&draft, kind, 1, &a);
    return iso__onnx_finish(op, &draft);
}

iso_status_t iso__onnx_finish_binary(iso__onnx_op_t *op, iso_op_t kind,
                                     iso_node_id_t a, iso_node_id_t b)
{
    const iso_node_id_t inputs[] = {a, b};
    iso__draft_t draft;

    iso__draft_begin(&draft, kind, 2, inputs);
    return iso__onnx_finish(op, &draft);
}

iso_status_t iso__onnx_finish_reshape(iso__onnx_op_t *op, iso_node_id_t a,
                                      const iso_shape_t *shape)
{
    iso__draft_t draft;

    if (iso_shape_equal(&iso__onnx_node(op, a)->shape, shape)) {
        return iso__onnx_bind(op, 0, a);
    }
    iso__draft_begin(&draft, ISO_OP_RESHAPE, 1, &a);
    iso__draft_dims(&draft, "shape", shape->dim, shape->rank);
    return iso__onnx_finish(op, &draft);
}
