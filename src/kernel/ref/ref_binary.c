#include "kernel/ref/real.h"

/* ---- Two values to one ---- */

/* The exponents 2 and 0.5 are a product and a root, decided for each element,
 * so that it does not matter what else is computed beside it. */
static real_t ref_pow(real_t x, real_t y)
{
    if (y == 2) {
        return x * x;
    }
    if (y == (real_t)0.5) {
        return sqrt(x);
    }
    return REAL_SLEEF(pow)(x, y);
}

static real_t apply(iso_op_t op, real_t x, real_t y)
{
    switch (op) {
    case ISO_OP_ADD:
        return x + y;
    case ISO_OP_SUB:
        return x - y;
    case ISO_OP_MUL:
        return x * y;
    case ISO_OP_DIV:
        return x / y;
    case ISO_OP_POW:
        return ref_pow(x, y);
    case ISO_OP_MIN:
        return real_min(x, y);
    case ISO_OP_MAX:
        return real_max(x, y);
    case ISO_OP_PRELU:
        return x < 0 ? y * x : x;
    default:
        return fmod(x, y);
    }
}

real_t REAL(iso__ref_apply2)(iso_op_t op, real_t x, real_t y)
{
    return real_canonical(apply(op, x, y));
}

iso_status_t REAL(iso__ref_binary)(const iso_node_t *node,
                                   const iso_tensor_t *const *inputs,
                                   const iso_tensor_t *output)
{
    const real_t *x = inputs[0]->data;
    const real_t *y = inputs[1]->data;
    real_t *z = output->data;
    const int64_t count = iso_tensor_count(output);
    iso__walk_t walk;

    iso__walk_begin(&walk, output->rank, output->dims);

    const int at_x = iso__walk_add_broadcast(&walk, inputs[0]);
    const int at_y = iso__walk_add_broadcast(&walk, inputs[1]);

    for (int64_t i = 0; i < count; i++, iso__walk_next(&walk)) {
        z[i] = REAL(iso__ref_apply2)(node->op, x[walk.offset[at_x]],
                                     y[walk.offset[at_y]]);
    }
    return ISO_OK;
}

/* ---- Two values to a bool ---- */

bool REAL(iso__ref_holds)(iso_op_t op, real_t x, real_t y)
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

iso_status_t REAL(iso__ref_compare)(const iso_node_t *node,
                                    const iso_tensor_t *const *inputs,
                                    const iso_tensor_t *output)
{
    const real_t *x = inputs[0]->data;
    const real_t *y = inputs[1]->data;
    uint8_t *z = output->data;
    const int64_t count = iso_tensor_count(output);
    iso__walk_t walk;

    iso__walk_begin(&walk, output->rank, output->dims);

    const int at_x = iso__walk_add_broadcast(&walk, inputs[0]);
    const int at_y = iso__walk_add_broadcast(&walk, inputs[1]);

    for (int64_t i = 0; i < count; i++, iso__walk_next(&walk)) {
        z[i] = REAL(iso__ref_holds)(node->op, x[walk.offset[at_x]],
                                    y[walk.offset[at_y]]);
    }
    return ISO_OK;
}
