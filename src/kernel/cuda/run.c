#include "kernel/cuda/run.h"

iso__cuda_walk_t iso__cuda_walk_of(iso__walk_t *walk)
{
    iso__cuda_walk_t to = {.count = (int32_t)iso__walk_count(walk)};

    iso__walk_merge(walk);
    to.rank = walk->rank;
    for (int axis = 0; axis < walk->rank; axis++) {
        to.dims[axis] = iso__cuda_divisor_of(walk->dims[axis]);
    }
    for (int k = 0; k < walk->n_arrays; k++) {
        to.first[k] = (int32_t)walk->offset[k];
        for (int axis = 0; axis < walk->rank; axis++) {
            to.step[k][axis] = (int32_t)walk->step[k][axis];
        }
    }
    return to;
}

iso__cuda_activation_t iso__cuda_activation_of(iso_op_t op,
                                               const iso__coeff_t *coeff)
{
    return (iso__cuda_activation_t){
        .op = op, .a = (float)coeff->a, .b = (float)coeff->b};
}

/* ---- Elementwise ---- */

iso_status_t iso__cuda_run_unary(const iso_cuda_t *cuda, const iso_node_t *node,
                                 const iso_tensor_t *const *inputs,
                                 const iso_tensor_t *output,
                                 iso__cuda_error_t *error_out)
{
    iso__coeff_t coeff;

    ISO_TRY(iso__coeff_of(node, &coeff));

    const iso__cuda_activation_t op = iso__cuda_activation_of(node->op, &coeff);

    *error_out =
        iso__cuda_unary(cuda->stream, &op, inputs[0]->data, output->data,
                        (int32_t)iso_tensor_count(output));
    return ISO_OK;
}

/* The walk of two operands that are broadcast. */
static iso__cuda_walk_t walk_of_two(const iso_tensor_t *const *inputs,
                                    const iso_tensor_t *output)
{
    iso__walk_t walk;

    iso__walk_begin(&walk, output->rank, output->dims);
    (void)iso__walk_add_broadcast(&walk, inputs[0]);
    (void)iso__walk_add_broadcast(&walk, inputs[1]);
    return iso__cuda_walk_of(&walk);
}

iso_status_t iso__cuda_run_binary(const iso_cuda_t *cuda,
                                  const iso_node_t *node,
                                  const iso_tensor_t *const *inputs,
                                  const iso_tensor_t *output,
                                  iso__cuda_error_t *error_out)
{
    const iso__cuda_walk_t walk = walk_of_two(inputs, output);

    *error_out =
        iso__cuda_binary(cuda->stream, node->op, &walk, inputs[0]->data,
                         inputs[1]->data, output->data);
    return ISO_OK;
}

iso_status_t iso__cuda_run_compare(const iso_cuda_t *cuda,
                                   const iso_node_t *node,
                                   const iso_tensor_t *const *inputs,
                                   const iso_tensor_t *output,
                                   iso__cuda_error_t *error_out)
{
    const iso__cuda_walk_t walk = walk_of_two(inputs, output);

    *error_out =
        iso__cuda_compare(cuda->stream, node->op, &walk, inputs[0]->data,
                          inputs[1]->data, output->data);
    return ISO_OK;
}

/* ---- Any node ---- */

static iso__cuda_run_fn *function_of(iso_op_t op)
{
    switch (iso_op_info(op)->op_class) {
    case ISO_OP_CLASS_UNARY:
        return iso__cuda_run_unary;
    case ISO_OP_CLASS_BINARY:
        return iso__cuda_run_binary;
    case ISO_OP_CLASS_COMPARE:
        return iso__cuda_run_compare;
    case ISO_OP_CLASS_REDUCE:
        return iso__cuda_run_reduce;
    case ISO_OP_CLASS_NORM:
        return iso__cuda_run_norm;
    case ISO_OP_CLASS_POOL:
        return iso__cuda_run_pool;
    default:
        return iso__cuda_run_move;
    }
}

iso_status_t iso_cuda_run(iso_cuda_t *cuda, const iso_node_t *node,
                          const iso_tensor_t *const *inputs,
                          const iso_tensor_t *output, void *scratch)
{
    iso__cuda_error_t error = 0;

    if (!iso__cuda_does(node, inputs, output)) {
        return iso_fail(ISO_UNSUPPORTED,
                        "node '%s': %s of these types and sizes is not "
                        "computed on a GPU; place it on cpu",
                        node->name, iso_op_string(node->op));
    }
    if (iso_tensor_count(output) == 0) {
        return ISO_OK;
    }
    ISO_TRY(iso__cuda_select(cuda));
    if (iso_op_info(node->op)->op_class == ISO_OP_CLASS_CONTRACT) {
        ISO_TRY(iso__cuda_run_contract(cuda, node, inputs, output, scratch,
                                       &error));
    } else {
        ISO_TRY(function_of(node->op)(cuda, node, inputs, output, &error));
    }
    if (error != 0) {
        return iso_fail_context(iso__cuda_tried(cuda, "launch", error),
                                "node '%s'", node->name);
    }
    return ISO_OK;
}
