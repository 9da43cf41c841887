#include "bench_ops.h"

#include "isotome/error.h"

/* clang-format off */
#define CONV(what, n, in, size, out, kernel, stride, groups) \
    {what, {n, in, size, size}, {out, (in) / (groups), kernel, kernel}, \
     (kernel) / 2, stride, groups, ISO_OP_CONV, true}
#define DENSE(what, m, k, n) \
    {what, {m, k}, {k, n}, 0, 0, 0, ISO_OP_MATMUL, true}
/* Tokens of a batch times a weight. */
#define TOKENS(what, b, m, k, n) \
    {what, {b, m, k}, {k, n}, 0, 0, 0, ISO_OP_MATMUL, true}
/* Heads of attention: products of two values. */
#define HEADS(what, b, h, m, k, n) \
    {what, {b, h, m, k}, {b, h, k, n}, 0, 0, 0, ISO_OP_MATMUL, false}
/* clang-format on */

/* The first ones are those of --quick. */
static const bench_op_t ops[] = {
    CONV("conv odd 3x3 n1 5>7 @9", 1, 5, 9, 7, 3, 1, 1),
    DENSE("product odd 7x33x65", 7, 33, 65),
    DENSE("product 16x1000x64", 16, 1000, 64),
    HEADS("scores small 2x4x16x8", 2, 4, 16, 8, 16),
    CONV("ResNet-50 7x7 s2 n8 3>64 @224", 8, 3, 224, 64, 7, 2, 1),
    CONV("ResNet-50 1x1 n8 64>64 @56", 8, 64, 56, 64, 1, 1, 1),
    CONV("ResNet-50 3x3 n8 64>64 @56", 8, 64, 56, 64, 3, 1, 1),
    CONV("ResNet-50 1x1 n8 64>256 @56", 8, 64, 56, 256, 1, 1, 1),
    CONV("ResNet-50 1x1 n8 256>64 @56", 8, 256, 56, 64, 1, 1, 1),
    CONV("ResNet-50 3x3 s2 n8 128 @56", 8, 128, 56, 128, 3, 2, 1),
    CONV("ResNet-50 3x3 n8 128 @28", 8, 128, 28, 128, 3, 1, 1),
    CONV("ResNet-50 1x1 n8 512>128 @28", 8, 512, 28, 128, 1, 1, 1),
    CONV("ResNet-50 1x1 s2 n8 512>1024", 8, 512, 28, 1024, 1, 2, 1),
    CONV("ResNet-50 3x3 n8 256 @14", 8, 256, 14, 256, 3, 1, 1),
    CONV("ResNet-50 1x1 n8 1024>256 @14", 8, 1024, 14, 256, 1, 1, 1),
    CONV("ResNet-50 3x3 n8 512 @7", 8, 512, 7, 512, 3, 1, 1),
    CONV("ResNet-50 1x1 n8 2048>512 @7", 8, 2048, 7, 512, 1, 1, 1),
    CONV("ResNet-50 3x3 n1 64 @56", 1, 64, 56, 64, 3, 1, 1),
    CONV("ResNet-50 3x3 n1 512 @7", 1, 512, 7, 512, 3, 1, 1),
    CONV("ResNet-20 3x3 n16 16 @32", 16, 16, 32, 16, 3, 1, 1),
    CONV("ResNeXt 3x3 n8 128 g32 @56", 8, 128, 56, 128, 3, 1, 32),
    CONV("depthwise 3x3 n8 128 @56", 8, 128, 56, 128, 3, 1, 128),
    DENSE("ResNet-50 head 16x2048x1000", 16, 2048, 1000),
    DENSE("VGG head 1x4096x4096", 1, 4096, 4096),
    TOKENS("BERT dense 8x128 768>768", 8, 128, 768, 768),
    TOKENS("BERT up 8x128 768>3072", 8, 128, 768, 3072),
    TOKENS("BERT down 8x128 3072>768", 8, 128, 3072, 768),
    TOKENS("BERT dense 1x128 768>768", 1, 128, 768, 768),
    TOKENS("GPT-2 qkv 1x512 768>2304", 1, 512, 768, 2304),
    DENSE("GPT-2 one token 768>3072", 1, 768, 3072),
    DENSE("GPT-2 four tokens 3072>768", 4, 3072, 768),
    HEADS("BERT scores 8x12 128x64", 8, 12, 128, 64, 128),
    HEADS("BERT values 8x12 128x128", 8, 12, 128, 128, 64),
    HEADS("GPT-2 scores 1x12 512x64", 1, 12, 512, 64, 512),
    DENSE("product 512x512x512", 512, 512, 512),
    DENSE("product 128x8192x128", 128, 8192, 128),
    DENSE("product 61x127x251", 61, 127, 251),
};

enum { N_OPS = sizeof ops / sizeof *ops, N_QUICK = 4 };
_Static_assert((int)N_OPS <= (int)BENCH_OPS_MOST, "room for results");

const bench_op_t *bench_ops(bool is_quick, int *count_out)
{
    *count_out = is_quick ? N_QUICK : N_OPS;
    return ops;
}

static iso_shape_t shape_of(const int64_t *dims)
{
    int rank = 0;

    while (rank < ISO_MAX_RANK && dims[rank] > 0) {
        rank++;
    }
    return iso_shape_of(rank, dims);
}

static iso_status_t add_op(const bench_op_t *op, iso_graph_t *graph,
                           iso_node_id_t *node_out)
{
    const iso_shape_t x = shape_of(op->x);
    const iso_shape_t w = shape_of(op->w);
    const int64_t pads[] = {op->pad, op->pad, op->pad, op->pad};
    const int64_t strides[] = {op->stride, op->stride};
    const iso_attr_t attrs[] = {
        {"pads", ISO_ATTR_INTS, 4, {.ints = pads}},
        {"strides", ISO_ATTR_INTS, 2, {.ints = strides}},
        {"groups", ISO_ATTR_INTS, 1, {.ints = &op->groups}}};
    iso_node_id_t inputs[2];
    const iso_node_spec_t spec = {.name = "op",
                                  .op = op->op,
                                  .n_inputs = 2,
                                  .inputs = inputs,
                                  .n_attrs = op->op == ISO_OP_CONV ? 3 : 0,
                                  .attrs = attrs};

    ISO_TRY(iso_graph_add_input(graph, "x", ISO_DTYPE_F32, &x, &inputs[0]));
    ISO_TRY(
        op->is_weight
            ? iso_graph_add_param(graph, "w", ISO_DTYPE_F32, &w, &inputs[1])
            : iso_graph_add_input(graph, "w", ISO_DTYPE_F32, &w, &inputs[1]));
    ISO_TRY(iso_graph_add(graph, &spec, node_out));
    return iso_graph_add_output(graph, "y", *node_out);
}

iso_status_t bench_op_graph(const bench_op_t *op, iso_graph_t **graph_out,
                            iso_node_id_t *node_out)
{
    ISO_TRY(iso_graph_create(graph_out));
    const iso_status_t status = add_op(op, *graph_out, node_out);

    if (status != ISO_OK) {
        iso_graph_destroy(graph_out);
    }
    return status;
}
