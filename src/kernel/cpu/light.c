#include "kernel/cpu/light.h"

#include "kernel/cpu/light_impl.h"

const iso__light_isa_t *iso__light_isa_of(iso_family_t family)
{
    switch (family) {
    case ISO_FAMILY_SKX:
        return &iso__light_avx512;
    case ISO_FAMILY_HASWELL:
    case ISO_FAMILY_ZEN:
    case ISO_FAMILY_ZEN2:
    case ISO_FAMILY_ZEN3:
        return &iso__light_avx2;
    default:
        return &iso__light_portable;
    }
}

static iso__light_fn *move_function(iso_op_t op)
{
    switch (op) {
    case ISO_OP_WHERE:
        return iso__light_where;
    case ISO_OP_RESHAPE:
        return iso__light_reshape;
    case ISO_OP_TRANSPOSE:
    case ISO_OP_SLICE:
    case ISO_OP_EXPAND:
    case ISO_OP_TILE:
    case ISO_OP_DEPTH_TO_SPACE:
    case ISO_OP_SPACE_TO_DEPTH:
        return iso__light_steps;
    case ISO_OP_CONCAT:
        return iso__light_concat;
    case ISO_OP_PAD:
        return iso__light_pad;
    case ISO_OP_GATHER:
        return iso__light_gather;
    default:
        return NULL;
    }
}

static iso__light_fn *norm_function(iso_op_t op)
{
    switch (op) {
    case ISO_OP_SOFTMAX:
    case ISO_OP_LOG_SOFTMAX:
        return iso__light_softmax;
    case ISO_OP_BATCH_NORM:
        return iso__light_batch_norm;
    case ISO_OP_LRN:
        return iso__light_lrn;
    default:
        return iso__light_row_norm;
    }
}

/* NULL: none. */
static iso__light_fn *function_of(iso_op_t op)
{
    switch (iso_op_info(op)->op_class) {
    case ISO_OP_CLASS_UNARY:
        return op == ISO_OP_CAST ? iso__light_cast : iso__light_unary;
    case ISO_OP_CLASS_BINARY:
        return op == ISO_OP_MOD ? NULL : iso__light_binary;
    case ISO_OP_CLASS_COMPARE:
        return iso__light_compare;
    case ISO_OP_CLASS_REDUCE:
        return op == ISO_OP_ARG_MAX || op == ISO_OP_ARG_MIN ? NULL
                                                            : iso__light_reduce;
    case ISO_OP_CLASS_NORM:
        return norm_function(op);
    case ISO_OP_CLASS_POOL:
        return iso__light_pool;
    case ISO_OP_CLASS_MOVE:
        return move_function(op);
    default:
        return NULL;
    }
}

/* Does the op look at the type of its elements? */
static bool is_move(iso_op_t op)
{
    return op == ISO_OP_CAST || iso_op_info(op)->op_class == ISO_OP_CLASS_MOVE;
}

bool iso__light_run(const iso__light_t *light, const iso_node_t *node,
                    const iso_tensor_t *const *inputs,
                    const iso_tensor_t *output)
{
    iso__light_fn *function = function_of(node->op);

    if (function == NULL ||
        (!is_move(node->op) && inputs[0]->dtype != ISO_DTYPE_F32)) {
        return false;
    }
    if (iso_tensor_count(output) == 0) {
        return true;
    }
    return function(light, node, inputs, output);
}
