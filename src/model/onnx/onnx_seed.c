/*
 * Random weights of the usual scale, so that an architecture can be measured
 * without its weights.
 *
 * Element i of a weight is made from the i-th number of a SplitMix64 stream
 * whose start is the seed and the digest (XXH3-64) of the weight's name: it
 * depends on nothing else. A normal number is the sum of the four 16-bit
 * parts of that number, centred and scaled (Irwin-Hall), so that only exact
 * integers and one rounded product are involved and the bits are the same on
 * every machine.
 */
#include "base/digest.h"
#include "base/random.h"
#include "model/onnx/onnx_impl.h"

#include <math.h>
#include <string.h>

enum { ANY_SLOT = -1 };

/* First line that fits wins. */
static const struct {
    const char *op_type;
    int slot;
    iso__role_t role;
} roles[] = {
    {"Conv", 1, ISO__ROLE_CONV},
    {"ConvTranspose", 1, ISO__ROLE_CONV},
    {"Gemm", 1, ISO__ROLE_GEMM},
    {"BatchNormalization", 1, ISO__ROLE_SCALE},
    {"BatchNormalization", 4, ISO__ROLE_SCALE},
    {"BatchNormalization", ANY_SLOT, ISO__ROLE_OFFSET},
    {"InstanceNormalization", 1, ISO__ROLE_SCALE},
    {"LayerNormalization", 1, ISO__ROLE_SCALE},
    {"Unsqueeze", 0, ISO__ROLE_SCALE}, /* of a scale that Mul applies */
    {"Mul", ANY_SLOT, ISO__ROLE_SCALE},
    {"Div", ANY_SLOT, ISO__ROLE_SCALE},
    {"Resize", ANY_SLOT, ISO__ROLE_FIXED},
    {"Upsample", ANY_SLOT, ISO__ROLE_FIXED},
    {"Pow", 1, ISO__ROLE_FIXED},
};

iso__role_t iso__onnx_role(const char *op_type, size_t slot)
{
    for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++) {
        if (op_type != NULL && strcmp(op_type, roles[i].op_type) == 0 &&
            (roles[i].slot == ANY_SLOT || roles[i].slot == (int)slot)) {
            return roles[i].role;
        }
    }
    return ISO__ROLE_OTHER;
}

/* -- numbers -- */

/* Sum of four uniform integers of 16 bits, less its mean: its deviation is
 * normal_unit = sqrt((2^32 - 1) / 3). */
static const double normal_unit = 37837.2272;

static double normal_of(uint64_t bits)
{
    int64_t sum = (int64_t)(bits & 0xffffU) + (int64_t)(bits >> 16 & 0xffffU) +
                  (int64_t)(bits >> 32 & 0xffffU) + (int64_t)(bits >> 48);

    return (double)(sum - 131070);
}

/* In [0.5, 1.5). */
static double near_one(uint64_t bits)
{
    return 0.5 + (double)(bits >> 40) * 0x1p-24;
}

/* Deviation of a weight's numbers. */
static double deviation_of(iso__role_t role, const iso_tensor_t *tensor)
{
    double fan_in = 1.0;

    for (int i = 1; i < tensor->rank; i++) {
        fan_in *= (double)tensor->dims[i];
    }
    fan_in = fan_in > 0.0 ? fan_in : 1.0;
    switch (role) {
    case ISO__ROLE_CONV:
        return sqrt(2.0 / fan_in);
    case ISO__ROLE_GEMM:
        return sqrt(2.0 / fan_in) * 0.02;
    case ISO__ROLE_OFFSET:
        return 0.1;
    default:
        return 0.05;
    }
}

static bool is_replaced(const iso__import_t *import, const iso__value_t *value,
                        const iso_tensor_t *tensor)
{
    bool is_float =
        tensor->dtype == ISO_DTYPE_F32 || tensor->dtype == ISO_DTYPE_F64 ||
        tensor->dtype == ISO_DTYPE_F16 || tensor->dtype == ISO_DTYPE_BF16;
    bool is_lone = value->role == ISO__ROLE_OTHER ||
                   value->role == ISO__ROLE_SCALE; /* an epsilon, a factor */

    return import->options->seed_weights && is_float &&
           value->role != ISO__ROLE_FIXED &&
           !(is_lone && iso_tensor_count(tensor) <= 1);
}

void iso__onnx_seed(const iso__import_t *import, const iso__value_t *value,
                    const iso_tensor_t *tensor)
{
    uint64_t start =
        import->options->seed ^ iso_digest_of(value->name, strlen(value->name));
    int64_t count = iso_tensor_count(tensor);
    size_t size = iso_dtype_bytes(tensor->dtype);
    double unit = deviation_of(value->role, tensor) / normal_unit;

    if (!is_replaced(import, value, tensor)) {
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        uint64_t bits = iso_random_at(start, (uint64_t)i);
        double number = value->role == ISO__ROLE_SCALE ? near_one(bits)
                                                       : normal_of(bits) * unit;

        iso__onnx_store(tensor->dtype, number,
                        (char *)tensor->data + (size_t)i * size);
    }
}
