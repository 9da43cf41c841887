#include "isotome/error.h"

#include "kernel/arith.h"
#include "kernel/half.h"
#include "kernel/ref/ref_impl.h"

#include <string.h>

static bool is_float(iso_dtype_t dtype)
{
    return dtype == ISO_DTYPE_F32 || dtype == ISO_DTYPE_F64 ||
           dtype == ISO_DTYPE_F16 || dtype == ISO_DTYPE_BF16;
}

/* Every float is exact as an f64. */
static double load_f64(const iso_tensor_t *tensor, int64_t index)
{
    switch (tensor->dtype) {
    case ISO_DTYPE_F32:
        return (double)((const float *)tensor->data)[index];
    case ISO_DTYPE_F64:
        return ((const double *)tensor->data)[index];
    case ISO_DTYPE_F16:
        return (double)iso__f16_to_f32(((const uint16_t *)tensor->data)[index]);
    default:
        return (double)iso__bf16_to_f32(
            ((const uint16_t *)tensor->data)[index]);
    }
}

/* ---- Float to integer: toward zero, saturated, a NaN is 0 ---- */

typedef struct int_range {
    int64_t least;
    int64_t most;
} int_range_t;

static int_range_t range_of(iso_dtype_t dtype)
{
    switch (dtype) {
    case ISO_DTYPE_I8:
        return (int_range_t){INT8_MIN, INT8_MAX};
    case ISO_DTYPE_U8:
        return (int_range_t){0, UINT8_MAX};
    case ISO_DTYPE_I32:
        return (int_range_t){INT32_MIN, INT32_MAX};
    default:
        return (int_range_t){INT64_MIN, INT64_MAX};
    }
}

static int64_t saturated(double value, int_range_t range)
{
    if (value != value) {
        return 0;
    }
    if (value <= (double)range.least) {
        return range.least;
    }
    /* The greatest i64 rounds up as a double: not below it is beyond it. */
    return value >= (double)range.most ? range.most : (int64_t)value;
}

/* ---- Storing ---- */

static double canonical_f64(double value)
{
    const uint64_t bits = UINT64_C(0x7ff8000000000000);

    if (value != value) {
        memcpy(&value, &bits, sizeof value);
    }
    return value;
}

void iso__ref_store_f64(const iso_tensor_t *tensor, int64_t index, double value)
{
    switch (tensor->dtype) {
    case ISO_DTYPE_F32:
        ((float *)tensor->data)[index] = iso_canonical((float)value);
        break;
    case ISO_DTYPE_F64:
        ((double *)tensor->data)[index] = canonical_f64(value);
        break;
    case ISO_DTYPE_F16:
        ((uint16_t *)tensor->data)[index] = iso__f16_of_f64(value);
        break;
    case ISO_DTYPE_BF16:
        ((uint16_t *)tensor->data)[index] = iso__bf16_of_f64(value);
        break;
    case ISO_DTYPE_BOOL:
        iso__ref_int_store(tensor, index, value != 0.0);
        break;
    default:
        iso__ref_int_store(tensor, index,
                           saturated(value, range_of(tensor->dtype)));
        break;
    }
}

/*
 * An integer as an f64 that rounds to any narrower float as the integer
 * itself would: of two neighbours with 11 zero bits at the end the one with
 * an odd bit before them.
 */
static double to_f64_odd(int64_t value)
{
    const int64_t low = (INT64_C(1) << 11) - 1;
    const int64_t exact = INT64_C(1) << 53;

    if (value > -exact && value < exact) {
        return (double)value;
    }
    return (double)((value & ~low) | ((value & low) != 0 ? low + 1 : 0));
}

static void store_int(const iso_tensor_t *tensor, int64_t index, int64_t value)
{
    if (tensor->dtype == ISO_DTYPE_F64) {
        ((double *)tensor->data)[index] = (double)value;
    } else if (is_float(tensor->dtype)) {
        iso__ref_store_f64(tensor, index, to_f64_odd(value));
    } else {
        iso__ref_int_store(tensor, index, value);
    }
}

iso_status_t iso__ref_cast(const iso_node_t *node,
                           const iso_tensor_t *const *inputs,
                           const iso_tensor_t *output)
{
    const iso_tensor_t *x = inputs[0];
    const int64_t count = iso_tensor_count(output);

    (void)node;
    if (x->dtype == output->dtype) {
        memcpy(output->data, x->data, iso_tensor_bytes(output));
        return ISO_OK;
    }
    for (int64_t i = 0; i < count; i++) {
        if (is_float(x->dtype)) {
            iso__ref_store_f64(output, i, load_f64(x, i));
        } else {
            store_int(output, i, iso__ref_int_load(x, i));
        }
    }
    return ISO_OK;
}
