/* Which rate class a node belongs to: isotome/rate.h. */
#include "isotome/rate.h"

#include "base/log.h"
#include "graph/cost.h"
#include "graph/param.h"

/* Where a class ends; below and at these speeds change most. */
enum {
    FEW_CHANNELS = 32,       /* a conv of fewer does not fill its blocks */
    SHORT_CHANNELS = 128,    /* in a 1x1 of fewer, packing shows */
    DEPTHWISE_CHANNELS = 4,  /* nor a group of fewer a vector */
    SMALL_KERNEL_TAPS = 9,   /* 3 x 3 */
    SKINNY = 16,             /* rows or columns of a tile of the result */
    SMALL_PRODUCTS = 1 << 21 /* 128^3: packing shows in smaller ones */
};

static const struct {
    const char *text;
    iso_rate_unit_t unit;
} infos[] = {
#define X(name, text, unit) {text, ISO_RATE_##unit},
    ISO_RATE_MAP(X)
#undef X
};

const char *iso_rate_class_string(iso_rate_class_t rate_class)
{
    ISO_ASSERT((unsigned)rate_class < ISO_RATE_CLASS_COUNT);
    return infos[rate_class].text;
}

iso_rate_unit_t iso_rate_class_unit(iso_rate_class_t rate_class)
{
    ISO_ASSERT((unsigned)rate_class < ISO_RATE_CLASS_COUNT);
    return infos[rate_class].unit;
}

bool iso_rate_class_waits(iso_rate_class_t rate_class)
{
    return rate_class <= ISO_RATE_MATMUL_SKINNY;
}

static const iso_shape_t *shape_of(const iso_graph_t *graph,
                                   const iso_node_t *node, int operand)
{
    return &iso_graph_node(graph, node->inputs[operand])->shape;
}

/* Weights are (out, in / groups, kernel...), those of a transposed
 * convolution (in, out / groups, kernel...). */
static iso_rate_class_t class_of_conv(const iso_node_t *node,
                                      const iso_shape_t *weights)
{
    int64_t groups = 1;
    int64_t taps = 1;

    ISO_ASSERT(iso_attr_int(node, "groups", 1, &groups) == ISO_OK);
    const int64_t in = node->op == ISO_OP_CONV ? weights->dim[1].size
                                               : weights->dim[0].size / groups;

    for (int i = 2; i < weights->rank; i++) {
        taps *= weights->dim[i].size;
    }
    if (groups > 1) {
        return in < DEPTHWISE_CHANNELS ? ISO_RATE_CONV_DEPTHWISE
                                       : ISO_RATE_CONV_GROUPED;
    }
    if (in < FEW_CHANNELS) {
        return ISO_RATE_CONV_FEW_CHANNELS;
    }
    if (taps == 1) {
        return in < SHORT_CHANNELS ? ISO_RATE_CONV_1X1_SHORT
                                   : ISO_RATE_CONV_1X1;
    }
    return taps <= SMALL_KERNEL_TAPS ? ISO_RATE_CONV_3X3
                                     : ISO_RATE_CONV_LARGE_KERNEL;
}

/* One matrix product of the node. */
typedef struct product {
    int64_t rows;
    int64_t columns;
    int64_t depth;
} product_t;

static product_t product_of_gemm(const iso_node_t *node, const iso_shape_t *a)
{
    iso_gemm_param_t gemm;

    ISO_ASSERT(iso_gemm_param_of(node, &gemm) == ISO_OK);
    return (product_t){.rows = node->shape.dim[0].size,
                       .columns = node->shape.dim[1].size,
                       .depth = a->dim[gemm.trans_a ? 0 : 1].size};
}

/* Matrices that meet one and the same B are one product. */
static product_t product_of_matmul(const iso_shape_t *a, const iso_shape_t *b)
{
    product_t product = {.rows = 1,
                         .columns = b->rank > 1 ? b->dim[b->rank - 1].size : 1,
                         .depth = a->dim[a->rank - 1].size};
    const int first = b->rank > 2 && a->rank > 2 ? a->rank - 2 : 0;

    for (int i = first; i < a->rank - 1; i++) {
        product.rows *= a->dim[i].size;
    }
    return product;
}

static bool has_weights(const iso_graph_t *graph, const iso_node_t *node)
{
    return iso_graph_node(graph, node->inputs[0])->op == ISO_OP_PARAM ||
           iso_graph_node(graph, node->inputs[1])->op == ISO_OP_PARAM;
}

static iso_rate_class_t class_of_matmul(const iso_graph_t *graph,
                                        const iso_node_t *node)
{
    const iso_shape_t *a = shape_of(graph, node, 0);
    const product_t product =
        node->op == ISO_OP_GEMM
            ? product_of_gemm(node, a)
            : product_of_matmul(a, shape_of(graph, node, 1));

    if (product.rows < SKINNY || product.columns < SKINNY) {
        return ISO_RATE_MATMUL_SKINNY;
    }
    if (!has_weights(graph, node)) { /* one of them is packed each time */
        return ISO_RATE_MATMUL_VALUES;
    }
    const double products =
        (double)product.rows * (double)product.columns * (double)product.depth;

    return products < SMALL_PRODUCTS ? ISO_RATE_MATMUL_SMALL
                                     : ISO_RATE_MATMUL_LARGE;
}

static iso_rate_class_t class_of_elementwise(iso_op_t op)
{
    switch (op) {
    case ISO_OP_EXP:
    case ISO_OP_LOG:
    case ISO_OP_SIN:
    case ISO_OP_COS:
    case ISO_OP_TANH:
    case ISO_OP_ERF:
    case ISO_OP_SIGMOID:
    case ISO_OP_ELU:
    case ISO_OP_SELU:
    case ISO_OP_SOFTPLUS:
    case ISO_OP_POW:
        return ISO_RATE_TRANSCENDENTAL;
    default:
        return ISO_RATE_ELEMENTWISE;
    }
}

iso_rate_class_t iso_rate_class_of(const iso_graph_t *graph,
                                   const iso_node_t *node)
{
    switch (iso_op_info(node->op)->op_class) {
    case ISO_OP_CLASS_CONTRACT:
        return node->op == ISO_OP_CONV || node->op == ISO_OP_CONV_TRANSPOSE
                   ? class_of_conv(node, shape_of(graph, node, 1))
                   : class_of_matmul(graph, node);
    case ISO_OP_CLASS_UNARY:
    case ISO_OP_CLASS_BINARY:
    case ISO_OP_CLASS_COMPARE:
    case ISO_OP_CLASS_LOGIC:
        return class_of_elementwise(node->op);
    case ISO_OP_CLASS_REDUCE:
        return ISO_RATE_REDUCE;
    case ISO_OP_CLASS_NORM:
        return node->op == ISO_OP_BATCH_NORM ? ISO_RATE_ELEMENTWISE
                                             : ISO_RATE_NORM;
    case ISO_OP_CLASS_POOL:
        return ISO_RATE_POOL;
    case ISO_OP_CLASS_LEAF:
    case ISO_OP_CLASS_MOVE:
    case ISO_OP_CLASS_MAKE:
    case ISO_OP_CLASS_EXCHANGE:
        break;
    }
    return ISO_RATE_MOVE;
}
