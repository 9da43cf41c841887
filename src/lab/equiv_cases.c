/*
 * The ops of the experiment. Batches are large enough for 8 pieces where that
 * is cheap; the whole experiment takes well below a minute on two cores.
 */
#include "isotome/error.h"

#include "base/mem.h"
#include "base/random.h"
#include "graph/param.h"
#include "lab/equiv_impl.h"

enum { MOST_ATTRS = 4 };

/* A convolution of square images with an odd kernel that keeps the size but
 * for the stride. */
#define IMAGE(net_, quick_, n, in, size, out, kernel, stride_)               \
    {                                                                        \
        .net = (net_), .quick = (quick_), .op = ISO_OP_CONV, .rank = {4, 4}, \
        .dims = {{n, in, size, size}, {out, in, kernel, kernel}},            \
        .stride = (stride_), .pad = (kernel) / 2,                            \
    }

/* a (m, k) times b (k, n) */
#define PRODUCT(net_, quick_, m, k, n)                                         \
    {                                                                          \
        .net = (net_), .quick = (quick_), .op = ISO_OP_MATMUL, .rank = {2, 2}, \
        .dims = {{m, k}, {k, n}},                                              \
    }

/* Batched, of the same number of matrices each. */
#define PRODUCTS(net_, quick_, b, m, k, n)                                     \
    {                                                                          \
        .net = (net_), .quick = (quick_), .op = ISO_OP_MATMUL, .rank = {3, 3}, \
        .dims = {{b, m, k}, {b, k, n}},                                        \
    }

static const char resnet[] = "ResNet-50";
static const char bert[] = "BERT-base";
static const char gpt2[] = "GPT-2";
static const char odd[] = "odd";

static const iso__equiv_case_t cases[] = {
    /* The first of each kind of ResNet-50's convolutions. */
    IMAGE(resnet, false, 2, 3, 224, 64, 7, 2),
    IMAGE(resnet, false, 4, 64, 56, 64, 1, 1),
    IMAGE(resnet, false, 4, 64, 56, 64, 3, 1),
    IMAGE(resnet, false, 4, 64, 56, 256, 1, 1),
    IMAGE(resnet, false, 4, 256, 56, 64, 1, 1),
    IMAGE(resnet, false, 4, 256, 56, 128, 1, 1),
    IMAGE(resnet, false, 4, 128, 56, 128, 3, 2),
    IMAGE(resnet, false, 4, 128, 28, 512, 1, 1),
    IMAGE(resnet, false, 4, 256, 56, 512, 1, 2),
    IMAGE(resnet, false, 4, 512, 28, 128, 1, 1),
    IMAGE(resnet, false, 4, 128, 28, 128, 3, 1),
    IMAGE(resnet, false, 4, 512, 28, 256, 1, 1),
    IMAGE(resnet, false, 4, 256, 28, 256, 3, 2),
    IMAGE(resnet, false, 8, 256, 14, 1024, 1, 1),
    IMAGE(resnet, false, 4, 512, 28, 1024, 1, 2),
    IMAGE(resnet, false, 8, 1024, 14, 256, 1, 1),
    IMAGE(resnet, false, 8, 256, 14, 256, 3, 1),
    IMAGE(resnet, false, 8, 1024, 14, 512, 1, 1),
    IMAGE(resnet, false, 8, 512, 14, 512, 3, 2),
    IMAGE(resnet, true, 8, 512, 7, 2048, 1, 1),
    IMAGE(resnet, false, 8, 1024, 14, 2048, 1, 2),
    IMAGE(resnet, true, 8, 2048, 7, 512, 1, 1),
    IMAGE(resnet, false, 8, 512, 7, 512, 3, 1),
    {.net = resnet, /* the classifier, whose weights lie the other way */
     .quick = true,
     .op = ISO_OP_GEMM,
     .rank = {2, 2},
     .dims = {{8, 2048}, {1000, 2048}},
     .trans_b = true},

    /* 128 tokens: projection, feed-forward, 12 heads; two texts at once. */
    PRODUCT(bert, true, 128, 768, 768),
    PRODUCT(bert, false, 128, 768, 3072),
    PRODUCT(bert, false, 128, 3072, 768),
    PRODUCTS(bert, true, 12, 128, 64, 128),
    PRODUCTS(bert, false, 12, 128, 128, 64),
    {.net = bert,
     .op = ISO_OP_MATMUL,
     .rank = {3, 2},
     .dims = {{2, 128, 768}, {768, 768}}},
    /* 64 tokens at once, then one by one. */
    PRODUCT(gpt2, false, 64, 768, 2304),
    PRODUCTS(gpt2, false, 12, 64, 64, 64),
    PRODUCT(gpt2, true, 1, 768, 2304),
    PRODUCT(gpt2, false, 1, 768, 3072),
    PRODUCT(gpt2, false, 1, 3072, 768),

    /* One row, one column, one product, primes; blocks that are not full. */
    PRODUCT(odd, true, 7, 5, 3),
    PRODUCT(odd, true, 1, 512, 7),
    PRODUCT(odd, true, 31, 700, 1),
    PRODUCT(odd, true, 31, 1, 29),
    PRODUCT(odd, true, 13, 257, 31),
    PRODUCT(odd, true, 101, 1031, 97),
    PRODUCT(odd, false, 67, 2311, 211),
    PRODUCT(odd, false, 300, 300, 300),
    PRODUCTS(odd, true, 5, 17, 523, 19),
    {.net = odd,
     .quick = true,
     .op = ISO_OP_MATMUL,
     .rank = {3, 2},
     .dims = {{3, 7, 311}, {311, 13}}},
    IMAGE(odd, true, 3, 7, 11, 13, 3, 1),
    IMAGE(odd, true, 5, 89, 13, 17, 1, 1),
    IMAGE(odd, false, 2, 61, 17, 37, 5, 1),
    {.net = odd, /* of one sample, as all below that say 1 */
     .quick = true,
     .op = ISO_OP_CONV,
     .rank = {4, 4},
     .dims = {{1, 33, 1, 47}, {23, 33, 1, 5}}},
    {.net = odd,
     .quick = true,
     .op = ISO_OP_CONV,
     .rank = {4, 4},
     .dims = {{2, 31, 29, 23}, {19, 31, 3, 3}},
     .stride = 2,
     .pad = 2,
     .dilation = 2},
    {.net = odd, /* depthwise */
     .quick = true,
     .op = ISO_OP_CONV,
     .rank = {4, 4},
     .dims = {{4, 32, 28, 28}, {32, 1, 3, 3}},
     .pad = 1,
     .groups = 32},
    {.net = odd,
     .quick = true,
     .op = ISO_OP_CONV,
     .rank = {4, 4},
     .dims = {{4, 96, 14, 14}, {64, 24, 3, 3}},
     .pad = 1,
     .groups = 4},
    {.net = odd,
     .quick = true,
     .op = ISO_OP_CONV,
     .rank = {3, 3},
     .dims = {{3, 67, 101}, {41, 67, 7}},
     .pad = 3},
    {.net = odd,
     .quick = true,
     .op = ISO_OP_CONV,
     .rank = {5, 5},
     .dims = {{2, 31, 7, 11, 9}, {17, 31, 3, 3, 3}},
     .pad = 1},
};

int iso__equiv_case_count(void)
{
    return sizeof cases / sizeof *cases;
}

const iso__equiv_case_t *iso__equiv_case(int index)
{
    return &cases[index];
}

static void add_number(iso_text_t *text, const char *what, int64_t value,
                       int64_t fallback)
{
    if (value != 0 && value != fallback) {
        iso_text_add(text, " %s %lld", what, (long long)value);
    }
}

void iso__equiv_case_shape(const iso__equiv_case_t *of, iso_text_t *text)
{
    for (int i = 0; i < ISO__EQUIV_OPERANDS; i++) {
        const iso_shape_t shape = iso_shape_of(of->rank[i], of->dims[i]);
        char buffer[ISO_SHAPE_TEXT_BYTES];

        iso_text_add(text, i == 0 ? "%s" : " %s",
                     iso_shape_text(&shape, buffer));
    }
    add_number(text, "stride", of->stride, 1);
    add_number(text, "pad", of->pad, 0);
    add_number(text, "dilation", of->dilation, 1);
    add_number(text, "groups", of->groups, 1);
    iso_text_add(text, "%s", of->trans_b ? " trans_b" : "");
}

/* -- as a graph -- */

/* Room for the numbers of a node's attributes. */
typedef struct numbers {
    int64_t strides[ISO_MAX_SPATIAL];
    int64_t dilations[ISO_MAX_SPATIAL];
    int64_t pads[2 * ISO_MAX_SPATIAL];
    int64_t groups;
    int64_t trans_b;
} numbers_t;

static iso_attr_t attr_of(const char *name, int count, const int64_t *ints)
{
    return (iso_attr_t){.name = name,
                        .kind = ISO_ATTR_INTS,
                        .count = count,
                        .value.ints = ints};
}

static int conv_attrs(const iso__equiv_case_t *from, numbers_t *numbers,
                      iso_attr_t *attrs)
{
    const int n = from->rank[0] - 2;

    for (int i = 0; i < n; i++) {
        numbers->strides[i] = from->stride != 0 ? from->stride : 1;
        numbers->dilations[i] = from->dilation != 0 ? from->dilation : 1;
        numbers->pads[i] = from->pad;
        numbers->pads[n + i] = from->pad;
    }
    numbers->groups = from->groups != 0 ? from->groups : 1;
    attrs[0] = attr_of("strides", n, numbers->strides);
    attrs[1] = attr_of("dilations", n, numbers->dilations);
    attrs[2] = attr_of("pads", 2 * n, numbers->pads);
    attrs[3] = attr_of("groups", 1, &numbers->groups);
    return MOST_ATTRS;
}

/* attrs [out] (MOST_ATTRS); the number of them is returned. */
static int attrs_of(const iso__equiv_case_t *from, numbers_t *numbers,
                    iso_attr_t *attrs)
{
    if (from->op == ISO_OP_CONV) {
        return conv_attrs(from, numbers, attrs);
    }
    numbers->trans_b = 1;
    attrs[0] = attr_of("trans_b", 1, &numbers->trans_b);
    return from->trans_b ? 1 : 0;
}

/* Layers have weights that are known before; attention multiplies values. */
static bool is_weight(const iso__equiv_case_t *from, int operand)
{
    return operand == 1 && (from->op == ISO_OP_CONV || from->rank[1] <= 2);
}

iso_status_t iso__equiv_op_create(const iso__equiv_case_t *from,
                                  iso__equiv_op_t *op_out)
{
    static const char *const names[ISO__EQUIV_OPERANDS] = {"a", "b"};
    iso_node_id_t inputs[ISO__EQUIV_OPERANDS];
    iso_attr_t attrs[MOST_ATTRS];
    numbers_t numbers;
    iso_node_spec_t spec = {.name = "y",
                            .op = from->op,
                            .n_inputs = ISO__EQUIV_OPERANDS,
                            .inputs = inputs,
                            .n_attrs = attrs_of(from, &numbers, attrs),
                            .attrs = attrs};

    *op_out = (iso__equiv_op_t){.node = ISO_NO_NODE};
    ISO_TRY(iso_graph_create(&op_out->graph));
    for (int i = 0; i < ISO__EQUIV_OPERANDS; i++) {
        const iso_shape_t shape = iso_shape_of(from->rank[i], from->dims[i]);

        ISO_TRY(is_weight(from, i)
                    ? iso_graph_add_param(op_out->graph, names[i],
                                          ISO_DTYPE_F32, &shape, &inputs[i])
                    : iso_graph_add_input(op_out->graph, names[i],
                                          ISO_DTYPE_F32, &shape, &inputs[i]));
    }
    ISO_TRY(iso_graph_add(op_out->graph, &spec, &op_out->node));
    return iso_graph_add_output(op_out->graph, "y", op_out->node);
}

static int64_t elements_of(const iso__equiv_op_t *op, iso_node_id_t node)
{
    return iso_shape_count(&iso_graph_node(op->graph, node)->shape);
}

int64_t iso__equiv_op_elements(const iso__equiv_op_t *op)
{
    return elements_of(op, op->node);
}

iso_status_t iso__equiv_op_fill(iso__equiv_op_t *op, uint64_t seed)
{
    const iso_node_t *node = iso_graph_node(op->graph, op->node);
    iso_random_t random = {.state = seed};

    for (int i = 0; i < ISO__EQUIV_OPERANDS; i++) {
        const int64_t count = elements_of(op, node->inputs[i]);

        op->operands[i] = iso_alloc((size_t)count * sizeof(float));
        if (op->operands[i] == NULL) {
            return ISO_NOMEM;
        }
        for (int64_t k = 0; k < count; k++) {
            op->operands[i][k] = iso_random_float(&random);
        }
    }
    return ISO_OK;
}

void iso__equiv_op_free(iso__equiv_op_t *op)
{
    for (int i = 0; i < ISO__EQUIV_OPERANDS; i++) {
        iso_free(op->operands[i]);
        op->operands[i] = NULL;
    }
    iso_graph_destroy(&op->graph);
}
