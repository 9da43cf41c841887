#include "graph/cost.h"

#include "base/log.h"
#include "graph/param.h"

/*
 * Operations for each output element, for classes where that says it all.
 * Exponentials and the like count as one, as is usual when a model's FLOPs
 * are stated.
 */
enum {
    SOFTMAX_FLOPS = 5,    /* max, subtract, exp, sum, divide */
    BATCH_NORM_FLOPS = 2, /* scale, shift */
    NORM_FLOPS = 8,       /* mean, variance, normalise, scale, shift */
};

static double count_of(const iso_node_t *node)
{
    return (double)iso_shape_count(&node->shape);
}

static const iso_node_t *operand(const iso_graph_t *graph,
                                 const iso_node_t *node, int index)
{
    return iso_graph_node(graph, node->inputs[index]);
}

/* Product of the dims from axis on. */
static double product_from(const iso_shape_t *shape, int axis)
{
    double product = 1.0;

    for (int i = axis; i < shape->rank; i++) {
        product *= (double)shape->dim[i].size;
    }
    return product;
}

/* Two for each multiply-add of the sum of products; bias and activation come
 * for free. */
static double contract_flops(const iso_graph_t *graph, const iso_node_t *node)
{
    const iso_node_t *a = operand(graph, node, 0);
    const iso_node_t *b = operand(graph, node, 1);
    iso_gemm_param_t gemm;

    switch (node->op) {
    case ISO_OP_CONV: /* weights (out, in / groups, kernel...) */
        return 2.0 * count_of(node) * product_from(&b->shape, 1);
    case ISO_OP_CONV_TRANSPOSE: /* weights (in, out / groups, kernel...) */
        return 2.0 * count_of(a) * product_from(&b->shape, 1);
    case ISO_OP_GEMM:
        ISO_ASSERT(iso_gemm_param_of(node, &gemm) == ISO_OK);
        return 2.0 * count_of(node) *
               (double)a->shape.dim[gemm.trans_a ? 0 : 1].size;
    default:
        return 2.0 * count_of(node) *
               (double)a->shape.dim[a->shape.rank - 1].size;
    }
}

static double norm_flops(const iso_node_t *node)
{
    iso_norm_param_t param;

    switch (node->op) {
    case ISO_OP_SOFTMAX:
    case ISO_OP_LOG_SOFTMAX:
        return SOFTMAX_FLOPS * count_of(node);
    case ISO_OP_BATCH_NORM:
        return BATCH_NORM_FLOPS * count_of(node);
    case ISO_OP_LRN:
        ISO_ASSERT(iso_norm_param_of(node, node->shape.rank, &param) == ISO_OK);
        return (2.0 * (double)param.lrn_size + 3.0) * count_of(node);
    default:
        return NORM_FLOPS * count_of(node);
    }
}

static double pool_flops(const iso_node_t *node)
{
    iso_pool_param_t param;
    double taps = 1.0;

    ISO_ASSERT(iso_pool_param_of(node, &param) == ISO_OK);
    for (int i = 0; i < param.window.n_spatial; i++) {
        taps *= (double)param.window.kernel[i];
    }
    return taps * count_of(node);
}

static double flops_of(const iso_graph_t *graph, const iso_node_t *node)
{
    switch (iso_op_info(node->op)->op_class) {
    case ISO_OP_CLASS_UNARY:
    case ISO_OP_CLASS_BINARY:
    case ISO_OP_CLASS_COMPARE:
    case ISO_OP_CLASS_LOGIC:
        return count_of(node);
    case ISO_OP_CLASS_CONTRACT:
        return contract_flops(graph, node);
    case ISO_OP_CLASS_REDUCE:
        return count_of(operand(graph, node, 0));
    case ISO_OP_CLASS_NORM:
        return norm_flops(node);
    case ISO_OP_CLASS_POOL:
        return pool_flops(node);
    case ISO_OP_CLASS_LEAF:
    case ISO_OP_CLASS_MOVE:
    case ISO_OP_CLASS_MAKE:
    case ISO_OP_CLASS_EXCHANGE:
        break;
    }
    return 0.0;
}

/* Ops that read as much of their first operand as they write. */
static bool picks_elements(iso_op_t op)
{
    return op == ISO_OP_GATHER || op == ISO_OP_GATHER_ELEMENTS ||
           op == ISO_OP_SLICE;
}

iso_status_t iso_node_cost_of(const iso_graph_t *graph, iso_node_id_t node,
                              iso_node_cost_t *cost_out)
{
    const iso_node_t *made = iso_graph_node(graph, node);
    iso_node_cost_t cost = {0};

    ISO_TRY(iso_tensor_bytes_of(made->dtype, &made->shape, &cost.output_bytes));
    for (int i = 0; i < made->n_inputs; i++) {
        const iso_node_t *input;
        size_t bytes = 0;

        if (made->inputs[i] == ISO_NO_NODE) {
            continue;
        }
        input = operand(graph, made, i);
        ISO_TRY(iso_tensor_bytes_of(input->dtype, &input->shape, &bytes));
        if (i == 0 && picks_elements(made->op)) {
            bytes = cost.output_bytes;
        }
        cost.operand_bytes += bytes;
    }
    cost.flops = flops_of(graph, made);
    cost.rate_class = iso_rate_class_of(graph, made);
    *cost_out = cost;
    return ISO_OK;
}
