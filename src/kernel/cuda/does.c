/* Which nodes the kernels of the GPU compute. */
#include "kernel/cuda/plan.h"
#include "kernel/walk.h"

/* Sizes and offsets have 31 bits; some room for what is only compared. */
static const int64_t most_elements = INT32_MAX - (1 << 20);

static bool fits(const iso_node_t *node, const iso_tensor_t *const *inputs,
                 const iso_tensor_t *output)
{
    bool all = iso_tensor_count(output) <= most_elements;

    for (int i = 0; i < node->n_inputs; i++) {
        all = all && (inputs[i] == NULL ||
                      iso_tensor_count(inputs[i]) <= most_elements);
    }
    return all;
}

static bool are_f32(const iso_node_t *node, const iso_tensor_t *const *inputs)
{
    for (int i = 0; i < node->n_inputs; i++) {
        if (inputs[i] != NULL && inputs[i]->dtype != ISO_DTYPE_F32) {
            return false;
        }
    }
    return true;
}

/* Functions that have no kernel here; sin and cos need many digits of pi. */
static bool has_function(iso_op_t op)
{
    return op != ISO_OP_SIN && op != ISO_OP_COS && op != ISO_OP_CAST &&
           op != ISO_OP_MOD;
}

/* Do the offsets of all taps fit beside the tiles? */
static bool has_room(const iso_node_t *node, const iso_tensor_t *const *inputs,
                     const iso_tensor_t *output)
{
    return iso__cuda_is_direct(node, inputs, output) ||
           iso__dims_product(inputs[1]->dims, 2, inputs[1]->rank) <=
               ISO__CUDA_TAPS_MOST;
}

static bool does_norm(const iso_node_t *node, const iso_tensor_t *const *inputs)
{
    return node->op != ISO_OP_LRN && are_f32(node, inputs);
}

static bool does_contract(const iso_node_t *node,
                          const iso_tensor_t *const *inputs,
                          const iso_tensor_t *output)
{
    if (!are_f32(node, inputs)) {
        return false;
    }
    return (node->op != ISO_OP_CONV && node->op != ISO_OP_CONV_TRANSPOSE) ||
           has_room(node, inputs, output);
}

/* Elements of any type are moved. */
static bool does_move(const iso_node_t *node, const iso_tensor_t *output)
{
    switch (node->op) {
    case ISO_OP_RESIZE:
        return false;
    case ISO_OP_TILE: /* each axis may become two */
        return 2 * output->rank <= ISO_MAX_RANK;
    default:
        return true;
    }
}

bool iso__cuda_does(const iso_node_t *node, const iso_tensor_t *const *inputs,
                    const iso_tensor_t *output)
{
    if (!fits(node, inputs, output)) {
        return false;
    }
    switch (iso_op_info(node->op)->op_class) {
    case ISO_OP_CLASS_UNARY:
    case ISO_OP_CLASS_BINARY:
        return has_function(node->op) && are_f32(node, inputs);
    case ISO_OP_CLASS_COMPARE:
    case ISO_OP_CLASS_REDUCE:
    case ISO_OP_CLASS_POOL:
        return are_f32(node, inputs);
    case ISO_OP_CLASS_CONTRACT:
        return does_contract(node, inputs, output);
    case ISO_OP_CLASS_NORM:
        return does_norm(node, inputs);
    case ISO_OP_CLASS_MOVE:
        return does_move(node, output);
    default:
        return false;
    }
}
