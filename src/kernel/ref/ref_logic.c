#include "kernel/half.h"
#include "kernel/ref/ref_impl.h"

/* ---- Bools ---- */

static bool apply(iso_op_t op, bool x, bool y)
{
    switch (op) {
    case ISO_OP_AND:
        return x && y;
    case ISO_OP_OR:
        return x || y;
    case ISO_OP_XOR:
        return x != y;
    case ISO_OP_EQUAL:
        return x == y;
    default: /* not */
        return !x;
    }
}

iso_status_t iso__ref_logic(const iso_node_t *node,
                            const iso_tensor_t *const *inputs,
                            const iso_tensor_t *output)
{
    const uint8_t *x = inputs[0]->data;
    const iso_tensor_t *other = inputs[node->n_inputs - 1];
    const uint8_t *y = other->data;
    uint8_t *z = output->data;
    const int64_t count = iso_tensor_count(output);
    iso__walk_t walk;

    iso__walk_begin(&walk, output->rank, output->dims);
    (void)iso__walk_add_broadcast(&walk, inputs[0]);
    (void)iso__walk_add_broadcast(&walk, other);
    for (int64_t i = 0; i < count; i++, iso__walk_next(&walk)) {
        z[i] = apply(node->op, x[walk.offset[0]] != 0, y[walk.offset[1]] != 0);
    }
    return ISO_OK;
}

/* ---- Comparisons of f16 and bf16, which are exact as f32 ---- */

static float load_half(const iso_tensor_t *tensor, int64_t index)
{
    const uint16_t bits = ((const uint16_t *)tensor->data)[index];

    return tensor->dtype == ISO_DTYPE_F16 ? iso__f16_to_f32(bits)
                                          : iso__bf16_to_f32(bits);
}

iso_status_t iso__ref_half_compare(const iso_node_t *node,
                                   const iso_tensor_t *const *inputs,
                                   const iso_tensor_t *output)
{
    uint8_t *z = output->data;
    const int64_t count = iso_tensor_count(output);
    iso__walk_t walk;

    iso__walk_begin(&walk, output->rank, output->dims);

    const int at_x = iso__walk_add_broadcast(&walk, inputs[0]);
    const int at_y = iso__walk_add_broadcast(&walk, inputs[1]);

    for (int64_t i = 0; i < count; i++, iso__walk_next(&walk)) {
        z[i] = iso__ref_holds_f32(node->op,
                                  load_half(inputs[0], walk.offset[at_x]),
                                  load_half(inputs[1], walk.offset[at_y]));
    }
    return ISO_OK;
}
