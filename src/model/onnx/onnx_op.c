/* Inputs and outputs of an operator, in the forms that converters want. */
#include "isotome/error.h"

#include "kernel/half.h"
#include "model/onnx/onnx_impl.h"

#include <string.h>

/* -- inputs -- */

int iso__onnx_n_inputs(const iso__onnx_op_t *op)
{
    return (int)op->proto->n_input;
}

bool iso__onnx_has(const iso__onnx_op_t *op, int index)
{
    return index < iso__onnx_n_inputs(op) && op->proto->input[index][0] != '\0';
}

/* A value that is made already: a model lists its operators in order. */
static iso_status_t input_value(const iso__onnx_op_t *op, int index,
                                iso__value_t **value_out)
{
    if (!iso__onnx_has(op, index)) {
        return iso_fail(ISO_INPUT, "input %d is missing", index);
    }
    *value_out = iso__onnx_value(op->import, op->proto->input[index]);
    if (*value_out == NULL || !(*value_out)->is_made) {
        return iso_fail(ISO_INPUT,
                        "input '%s' is made by nothing that comes before",
                        op->proto->input[index]);
    }
    return ISO_OK;
}

iso_status_t iso__onnx_data(iso__onnx_op_t *op, int index,
                            iso_node_id_t *node_out)
{
    iso__value_t *value = NULL;

    ISO_TRY(input_value(op, index, &value));
    return iso__onnx_value_node(op->import, value, node_out);
}

iso_status_t iso__onnx_data_or_none(iso__onnx_op_t *op, int index,
                                    iso_node_id_t *node_out)
{
    *node_out = ISO_NO_NODE;
    return iso__onnx_has(op, index) ? iso__onnx_data(op, index, node_out)
                                    : ISO_OK;
}

iso_status_t iso__onnx_shape_of(iso__onnx_op_t *op, int index,
                                iso_shape_t *shape_out)
{
    iso__value_t *value = NULL;
    iso_node_id_t node;

    ISO_TRY(input_value(op, index, &value));
    if (value->ints != NULL) {
        *shape_out = iso_shape_of(value->ints->rank, value->ints->dims);
        return ISO_OK;
    }
    ISO_TRY(iso__onnx_data(op, index, &node));
    *shape_out = iso__onnx_node(op, node)->shape;
    return ISO_OK;
}

iso_status_t iso__onnx_elements(iso__onnx_op_t *op, int index,
                                iso_tensor_t *tensor_out, bool *known_out)
{
    iso__value_t *value = NULL;
    iso_node_id_t node;

    ISO_TRY(input_value(op, index, &value));
    *known_out = false;
    if (value->ints != NULL && !iso_ints_are_static(value->ints)) {
        return ISO_OK;
    }
    ISO_TRY(iso__onnx_data(op, index, &node));
    return iso__onnx_node_elements(op->import, node, tensor_out, known_out);
}

/* Integers of a value that is a constant are kept with it. */
static iso_status_t look_for_ints(iso__onnx_op_t *op, int index,
                                  iso__value_t *value)
{
    iso_tensor_t tensor;
    iso_ints_t ints;
    bool known = false;

    ISO_TRY(iso__onnx_elements(op, index, &tensor, &known));
    if (known) {
        ISO_TRY(iso_ints_of_tensor(op->import->arena, &tensor, &ints, &known));
    }
    if (known) {
        value->ints = iso_arena_copy(op->import->arena, &ints, sizeof ints);
        return value->ints == NULL ? ISO_NOMEM : ISO_OK;
    }
    return ISO_OK;
}

iso_status_t iso__onnx_ints(iso__onnx_op_t *op, int index,
                            const iso_ints_t **ints_out)
{
    iso__value_t *value = NULL;

    *ints_out = NULL;
    if (!iso__onnx_has(op, index)) {
        return ISO_OK;
    }
    ISO_TRY(input_value(op, index, &value));
    if (value->ints == NULL) {
        ISO_TRY(look_for_ints(op, index, value));
    }
    *ints_out = value->ints;
    return ISO_OK;
}

iso_status_t iso__onnx_symbolic(iso__onnx_op_t *op, int index,
                                const iso_ints_t **ints_out)
{
    iso__value_t *value = NULL;

    *ints_out = NULL;
    ISO_TRY(input_value(op, index, &value));
    if (value->ints != NULL && !iso_ints_are_static(value->ints)) {
        *ints_out = value->ints;
    }
    return ISO_OK;
}

iso_status_t iso__onnx_need_ints(iso__onnx_op_t *op, int index,
                                 const char *what, const iso_ints_t **ints_out)
{
    if (!iso__onnx_has(op, index)) {
        return iso_fail(ISO_INPUT, "input %d (%s) is missing", index, what);
    }
    ISO_TRY(iso__onnx_ints(op, index, ints_out));
    if (*ints_out == NULL) {
        return iso_fail(ISO_UNSUPPORTED,
                        "its %s '%s' depends on the model's inputs, expected "
                        "constants or dims",
                        what, op->proto->input[index]);
    }
    return ISO_OK;
}

iso_status_t iso__onnx_numbers(iso__onnx_op_t *op, int index, const char *what,
                               iso__numbers_t *numbers_out)
{
    const iso_ints_t *ints = NULL;

    *numbers_out = (iso__numbers_t){0};
    if (!iso__onnx_has(op, index)) {
        return ISO_OK;
    }
    ISO_TRY(iso__onnx_need_ints(op, index, what, &ints));
    if (ints->count > ISO__MOST_NUMBERS) {
        return iso_fail(ISO_INPUT, "%s has %lld values, expected at most %d",
                        what, (long long)ints->count, (int)ISO__MOST_NUMBERS);
    }
    numbers_out->is_given = true;
    numbers_out->count = (int)ints->count;
    for (int i = 0; i < numbers_out->count; i++) {
        if (!iso_dim_is_static(ints->values[i])) {
            return iso_fail(ISO_UNSUPPORTED,
                            "%s has the free size '%s', "
                            "expected numbers",
                            what, ints->values[i].sym);
        }
        numbers_out->value[i] = ints->values[i].size;
    }
    return ISO_OK;
}

double iso__onnx_element(const iso_tensor_t *tensor, int64_t index)
{
    const char *at = (const char *)tensor->data +
                     (size_t)index * iso_dtype_bytes(tensor->dtype);
    union {
        float f32;
        double f64;
        uint16_t half;
        int32_t i32;
        int64_t i64;
        int8_t i8;
        uint8_t u8;
    } element = {0};

    memcpy(&element, at, iso_dtype_bytes(tensor->dtype));
    switch (tensor->dtype) {
    case ISO_DTYPE_F32:
        return (double)element.f32;
    case ISO_DTYPE_F64:
        return element.f64;
    case ISO_DTYPE_F16:
        return (double)iso__f16_to_f32(element.half);
    case ISO_DTYPE_BF16:
        return (double)iso__bf16_to_f32(element.half);
    case ISO_DTYPE_I32:
        return (double)element.i32;
    case ISO_DTYPE_I64:
        return (double)element.i64;
    case ISO_DTYPE_I8:
        return (double)element.i8;
    default:
        return (double)element.u8;
    }
}

iso_status_t iso__onnx_scalar(iso__onnx_op_t *op, int index, double *value_out,
                              bool *known_out)
{
    iso_tensor_t tensor = {0};

    *known_out = false;
    if (!iso__onnx_has(op, index)) {
        return ISO_OK;
    }
    ISO_TRY(iso__onnx_elements(op, index, &tensor, known_out));
    *known_out = *known_out && iso_tensor_count(&tensor) == 1;
    if (*known_out) {
        *value_out = iso__onnx_element(&tensor, 0);
    }
    return ISO_OK;
}

/* -- outputs -- */

static iso_status_t output_value(const iso__onnx_op_t *op, int index,
                                 iso__value_t **value_out)
{
    *value_out = NULL;
    if (index >= (int)op->proto->n_output ||
        op->proto->output[index][0] == '\0') {
        return ISO_OK;
    }
    *value_out = iso__onnx_value(op->import, op->proto->output[index]);
    return *value_out == NULL ? ISO_OK : iso__onnx_value_make(*value_out);
}

iso_status_t iso__onnx_bind(iso__onnx_op_t *op, int index, iso_node_id_t node)
{
    iso__value_t *value = NULL;

    ISO_TRY(output_value(op, index, &value));
    if (value != NULL) {
        value->node = node;
    }
    return ISO_OK;
}

iso_status_t iso__onnx_bind_ints(iso__onnx_op_t *op, int index,
                                 const iso_ints_t *ints)
{
    iso__value_t *value = NULL;

    ISO_TRY(output_value(op, index, &value));
    if (value != NULL) {
        value->ints = iso_arena_copy(op->import->arena, ints, sizeof *ints);
        return value->ints == NULL ? ISO_NOMEM : ISO_OK;
    }
    return ISO_OK;
}

iso_status_t iso__onnx_bind_tensor(iso__onnx_op_t *op, iso_tensor_t *tensor)
{
    iso__value_t *value = iso__onnx_value(op->import, op->proto->output[0]);
    iso_node_id_t node;

    ISO_TRY(iso__onnx_add_tensor(op->import, value, tensor, &node));
    return iso__onnx_bind(op, 0, node);
}

iso_status_t iso__onnx_pass_on(iso__onnx_op_t *op)
{
    const iso_ints_t *ints = NULL;
    iso_node_id_t node;

    ISO_TRY(iso__onnx_symbolic(op, 0, &ints));
    if (ints != NULL) {
        return iso__onnx_bind_ints(op, 0, ints);
    }
    ISO_TRY(iso__onnx_data(op, 0, &node));
    return iso__onnx_bind(op, 0, node);
}
