#include "kernel/ref/ref_impl.h"

static bool apply(iso_op_t op, bool x, bool y)
{
    switch (op) {
    case ISO_OP_AND:
        return x && y;
    case ISO_OP_OR:
        return x || y;
    case ISO_OP_XOR:
        return x != y;
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
