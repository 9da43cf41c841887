#include "kernel/ref/ref_impl.h"

#include <string.h>

/*
 * Every integer type is loaded as an i64, computed in two's complement and
 * wrapped to its width when it is stored.
 */

int64_t iso__ref_int_load(const iso_tensor_t *tensor, int64_t index)
{
    switch (tensor->dtype) {
    case ISO_DTYPE_I8:
        return ((const int8_t *)tensor->data)[index];
    case ISO_DTYPE_I32:
        return ((const int32_t *)tensor->data)[index];
    case ISO_DTYPE_I64:
        return ((const int64_t *)tensor->data)[index];
    default: /* u8, bool */
        return ((const uint8_t *)tensor->data)[index];
    }
}

void iso__ref_int_store(const iso_tensor_t *tensor, int64_t index,
                        int64_t value)
{
    switch (tensor->dtype) {
    case ISO_DTYPE_I8:
        ((int8_t *)tensor->data)[index] = (int8_t)value;
        break;
    case ISO_DTYPE_I32:
        ((int32_t *)tensor->data)[index] = (int32_t)value;
        break;
    case ISO_DTYPE_I64:
        ((int64_t *)tensor->data)[index] = value;
        break;
    case ISO_DTYPE_BOOL:
        ((uint8_t *)tensor->data)[index] = value != 0;
        break;
    default:
        ((uint8_t *)tensor->data)[index] = (uint8_t)value;
        break;
    }
}

/* ---- Arithmetic that wraps ---- */

static int64_t wrapped(uint64_t value)
{
    int64_t result;

    memcpy(&result, &value, sizeof result);
    return result;
}

static int64_t negate(int64_t x)
{
    return wrapped(0 - (uint64_t)x);
}

/* Toward zero; what C leaves undefined: x / 0 is 0, and the least i64 over -1
 * wraps to itself. */
static int64_t divide(int64_t x, int64_t y)
{
    if (y == 0) {
        return 0;
    }
    return y == -1 ? negate(x) : x / y;
}

/* x - y * divide(x, y); 0 when y is 0. */
static int64_t remainder_of(int64_t x, int64_t y)
{
    return y == 0 || y == -1 ? 0 : x % y;
}

int64_t iso__ref_int_apply2(iso_op_t op, int64_t x, int64_t y)
{
    switch (op) {
    case ISO_OP_ADD:
        return wrapped((uint64_t)x + (uint64_t)y);
    case ISO_OP_SUB:
        return wrapped((uint64_t)x - (uint64_t)y);
    case ISO_OP_MUL:
        return wrapped((uint64_t)x * (uint64_t)y);
    case ISO_OP_DIV:
        return divide(x, y);
    case ISO_OP_MIN:
        return x < y ? x : y;
    default: /* max */
        return x > y ? x : y;
    }
}

static int64_t modulo(bool sign_of_divisor, int64_t x, int64_t y)
{
    const int64_t rest = remainder_of(x, y);

    return sign_of_divisor && rest != 0 && (rest < 0) != (y < 0) ? rest + y
                                                                 : rest;
}

iso_status_t iso__ref_int_binary(const iso_node_t *node,
                                 const iso_tensor_t *const *inputs,
                                 const iso_tensor_t *output)
{
    const int64_t count = iso_tensor_count(output);
    int64_t fmod = 0;
    iso__walk_t walk;

    ISO_TRY(iso_attr_int(node, "fmod", 0, &fmod));
    iso__walk_begin(&walk, output->rank, output->dims);

    const int at_x = iso__walk_add_broadcast(&walk, inputs[0]);
    const int at_y = iso__walk_add_broadcast(&walk, inputs[1]);

    for (int64_t i = 0; i < count; i++, iso__walk_next(&walk)) {
        const int64_t x = iso__ref_int_load(inputs[0], walk.offset[at_x]);
        const int64_t y = iso__ref_int_load(inputs[1], walk.offset[at_y]);

        iso__ref_int_store(output, i,
                           node->op == ISO_OP_MOD
                               ? modulo(fmod == 0, x, y)
                               : iso__ref_int_apply2(node->op, x, y));
    }
    return ISO_OK;
}

iso_status_t iso__ref_int_unary(const iso_node_t *node,
                                const iso_tensor_t *const *inputs,
                                const iso_tensor_t *output)
{
    const int64_t count = iso_tensor_count(output);

    for (int64_t i = 0; i < count; i++) {
        const int64_t x = iso__ref_int_load(inputs[0], i);
        const bool keeps = node->op == ISO_OP_ABS && x >= 0;

        iso__ref_int_store(output, i, keeps ? x : negate(x));
    }
    return ISO_OK;
}

/* ---- Comparisons ---- */

static bool compare(iso_op_t op, int64_t x, int64_t y)
{
    switch (op) {
    case ISO_OP_EQUAL:
        return x == y;
    case ISO_OP_LESS:
        return x < y;
    case ISO_OP_LESS_EQUAL:
        return x <= y;
    case ISO_OP_GREATER:
        return x > y;
    default:
        return x >= y;
    }
}

iso_status_t iso__ref_int_compare(const iso_node_t *node,
                                  const iso_tensor_t *const *inputs,
                                  const iso_tensor_t *output)
{
    const int64_t count = iso_tensor_count(output);
    iso__walk_t walk;

    iso__walk_begin(&walk, output->rank, output->dims);

    const int at_x = iso__walk_add_broadcast(&walk, inputs[0]);
    const int at_y = iso__walk_add_broadcast(&walk, inputs[1]);

    for (int64_t i = 0; i < count; i++, iso__walk_next(&walk)) {
        iso__ref_int_store(
            output, i,
            compare(node->op, iso__ref_int_load(inputs[0], walk.offset[at_x]),
                    iso__ref_int_load(inputs[1], walk.offset[at_y])));
    }
    return ISO_OK;
}
