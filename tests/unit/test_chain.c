/*
 * Chains: nodes that are computed in one visit of each row give the bits of
 * the reference device, whatever the shapes and the values, and so do the
 * same nodes when each makes its value.
 */
#include "device_checks.h"
#include "iso_test.h"
#include "iso_test_call.h"
#include "iso_test_graph.h"
#include "kernel/chain.h"
#include "kernel/panels.h"

#include <stdio.h>
#include <string.h>

enum {
    SEED = 662607,
    NETS = 400,
    VALUES = 64,
};

/* ---- Graphs by chance ---- */

typedef struct net {
    iso_graph_t *graph;
    uint64_t *state;
    int rank;
    int64_t dims[ISO_MAX_RANK];
    int n_values;
    iso_node_id_t values[VALUES]; /* rows, or one number of each row */
} net_t;

static int64_t pick(net_t *net, int64_t below)
{
    return test_random_int(net->state, 0, below - 1);
}

static void add(net_t *net, iso_op_t op, int n_inputs,
                const iso_node_id_t *inputs, int n_attrs,
                const iso_attr_t *attrs)
{
    net->values[net->n_values++] =
        test_add(net->graph, op, n_inputs, inputs, n_attrs, attrs);
}

/* Most often one of the last two. */
static iso_node_id_t pick_value(net_t *net)
{
    const int64_t back = pick(net, 3) == 0 ? pick(net, net->n_values)
                                           : pick(net, net->n_values) % 2;

    return net->values[net->n_values - 1 - back];
}

static bool is_full(const net_t *net, iso_node_id_t id)
{
    return iso_graph_node(net->graph, id)->shape.dim[net->rank - 1].size ==
           net->dims[net->rank - 1];
}

static iso_node_id_t pick_full(net_t *net)
{
    iso_node_id_t id = pick_value(net);

    while (!is_full(net, id)) {
        id = net->values[pick(net, net->n_values)];
    }
    return id;
}

static void add_unary(net_t *net)
{
    static const iso_op_t ops[] = {ISO_OP_ERF,  ISO_OP_TANH,    ISO_OP_SIGMOID,
                                   ISO_OP_SQRT, ISO_OP_EXP,     ISO_OP_RELU,
                                   ISO_OP_NEG,  ISO_OP_ABS,     ISO_OP_LOG,
                                   ISO_OP_CLIP, ISO_OP_SOFTPLUS};
    const double limits[] = {-0.5, 1.5};
    const iso_attr_t attrs[] = {{.name = "min",
                                 .kind = ISO_ATTR_FLOATS,
                                 .count = 1,
                                 .value.floats = &limits[0]},
                                {.name = "max",
                                 .kind = ISO_ATTR_FLOATS,
                                 .count = 1,
                                 .value.floats = &limits[1]}};
    const iso_op_t op = ops[pick(net, 11)];
    const iso_node_id_t x = pick_value(net);

    add(net, op, 1, &x, op == ISO_OP_CLIP ? 2 : 0, attrs);
}

/* An operand from outside that is broadcast: axes left out or of 1. */
static iso_node_id_t add_operand(net_t *net)
{
    const int kind = (int)pick(net, 5);
    const int skip = kind == 0 ? net->rank : kind == 1 ? net->rank - 1 : 0;
    int64_t dims[ISO_MAX_RANK];

    for (int axis = 0; axis < net->rank; axis++) {
        dims[axis] = kind == 4 && pick(net, 2) == 0 ? 1 : net->dims[axis];
    }
    if (kind == 2) {
        dims[net->rank - 1] = 1;
    }
    return test_leaf(net->graph, kind < 2 && pick(net, 2) == 0,
                     net->rank - skip, dims + skip);
}

/* One of the operands is of full rank, so that the result is a row or one
 * number for each row. */
static void add_binary(net_t *net)
{
    static const iso_op_t ops[] = {ISO_OP_ADD, ISO_OP_SUB, ISO_OP_MUL,
                                   ISO_OP_DIV, ISO_OP_POW, ISO_OP_MAX,
                                   ISO_OP_MIN};
    iso_node_id_t inputs[2] = {pick_value(net)};

    inputs[1] = pick(net, 2) == 0 ? pick_value(net) : add_operand(net);
    if (pick(net, 2) == 0) {
        const iso_node_id_t swapped = inputs[0];

        inputs[0] = inputs[1];
        inputs[1] = swapped;
    }
    add(net, ops[pick(net, 7)], 2, inputs, 0, NULL);
}

static void add_row_op(net_t *net)
{
    static const iso_op_t ops[] = {ISO_OP_REDUCE_MEAN, ISO_OP_REDUCE_SUM,
                                   ISO_OP_REDUCE_MAX,  ISO_OP_REDUCE_MIN,
                                   ISO_OP_REDUCE_PROD, ISO_OP_SOFTMAX,
                                   ISO_OP_LOG_SOFTMAX, ISO_OP_LAYER_NORM};
    const iso_op_t op = ops[pick(net, 8)];
    const int64_t axis = net->rank - 1;
    const iso_attr_t attr = test_ints(
        iso_op_info(op)->op_class == ISO_OP_CLASS_REDUCE ? "axes" : "axis", 1,
        &axis);
    iso_node_id_t inputs[3] = {pick_full(net)};
    int n_inputs = 1;

    if (op == ISO_OP_LAYER_NORM) {
        n_inputs = 2 + (int)pick(net, 2);
        for (int i = 1; i < n_inputs; i++) {
            inputs[i] = test_leaf(net->graph, true, 1, &net->dims[axis]);
        }
    }
    add(net, op, n_inputs, inputs, 1, &attr);
}

/* A product, most often by constant weights. */
static void add_product(net_t *net)
{
    static const int64_t lengths[] = {1, 5, 64, 300};
    const int64_t length = lengths[pick(net, 4)];
    const int64_t n = net->dims[net->rank - 1];
    int64_t dims[ISO_MAX_RANK];
    iso_node_id_t inputs[3];
    const int n_inputs = 2 + (int)pick(net, 2);

    memcpy(dims, net->dims, sizeof dims);
    dims[net->rank - 1] = length;
    inputs[0] = test_leaf(net->graph, false, net->rank, dims);
    inputs[1] = test_leaf(net->graph, pick(net, 3) > 0, 2,
                          (const int64_t[]){length, n});
    inputs[2] = test_leaf(net->graph, true, 1, &n);
    add(net, ISO_OP_MATMUL, n_inputs, inputs, 0, NULL);
}

static net_t random_chain(uint64_t *state, bool has_product)
{
    static const int64_t rows[] = {1, 2, 3, 5, 7, 0};
    static const int64_t sizes[] = {1,  2,  7,   16,  17,   33,
                                    64, 50, 129, 511, 1031, 4099};
    net_t net = {.graph = test_graph(),
                 .state = state,
                 .rank = (int)test_random_int(state, 1, 4)};
    const int n_links = (int)test_random_int(state, 2, 12);

    for (int axis = 0; axis < net.rank; axis++) {
        net.dims[axis] = rows[pick(&net, pick(&net, 30) == 0 ? 6 : 5)];
    }
    net.dims[net.rank - 1] = sizes[pick(&net, 12)];
    if (has_product) {
        add_product(&net);
    } else {
        net.values[net.n_values++] =
            test_leaf(net.graph, false, net.rank, net.dims);
    }
    for (int i = 0; i < n_links; i++) {
        const int64_t kind = has_product ? 2 + pick(&net, 6) : pick(&net, 8);

        (kind < 2 ? add_row_op : kind < 4 ? add_unary : add_binary)(&net);
    }
    test_output(net.graph, "y", net.values[net.n_values - 1]);
    if (pick(&net, 4) == 0) {
        test_output(net.graph, "z", pick_value(&net));
    }
    return net;
}

/* ---- Running ---- */

static bool begins_with_product(const iso_graph_t *graph)
{
    iso_formats_t formats;
    bool begins = false;

    CU_ASSERT_EQUAL_FATAL(iso_formats_create(graph, true, &formats), ISO_OK);
    for (iso_node_id_t id = 0; id < formats.n_nodes; id++) {
        const iso_node_id_t reader = formats.joined[id];

        begins =
            begins || (iso_panels_of(graph, id, NULL) && reader != ISO_NO_NODE);
    }
    iso_formats_free(&formats);
    return begins;
}

static void test_random_chains(void)
{
    uint64_t state = SEED;
    int n_joined = 0;
    int n_products = 0;

    (void)printf("  seed %d\n", SEED);
    for (int i = 0; i < NETS; i++) {
        const uint64_t at = state;
        net_t net;
        unsigned failures = CU_get_number_of_failures();

        if (i % 50 == 0) {
            device_checks_fill(&state, i % 100 == 0);
        }
        net = random_chain(&state, i % 3 == 0);
        n_joined += device_checks_plan(net.graph);
        n_products += begins_with_product(net.graph) ? 1 : 0;
        device_checks_run(net.graph, 1 + i % 2);
        if (CU_get_number_of_failures() != failures) {
            (void)printf("  net %d, state %llu\n", i, (unsigned long long)at);
        }
        iso_graph_destroy(&net.graph);
    }
    CU_ASSERT(n_joined > NETS);
    CU_ASSERT(n_products > NETS / 40);
}

/* ---- Chains as they are met ---- */

static void test_gelu(void)
{
    device_checks_text("x = input f32[7,50,64]\n"
                       "w = param f32[64,96]\n"
                       "b = param f32[96]\n"
                       "a = matmul(x, w, b)\n"
                       "r = constant f32[] 1.4142135\n"
                       "d = div(a, r)\n"
                       "e = erf(d)\n"
                       "one = constant f32[] 1\n"
                       "s = add(e, one)\n"
                       "m = mul(a, s)\n"
                       "half = constant f32[] 0.5\n"
                       "y = mul(m, half)\n"
                       "return y\n",
                       5);
}

static void test_tanh_gelu(void)
{
    device_checks_text("x = input f32[3,5,333]\n"
                       "three = constant f32[] 3\n"
                       "p = pow(x, three)\n"
                       "c = constant f32[] 0.044715\n"
                       "q = mul(p, c)\n"
                       "s = add(x, q)\n"
                       "k = constant f32[] 0.7978845\n"
                       "u = mul(s, k)\n"
                       "t = tanh(u)\n"
                       "one = constant f32[] 1\n"
                       "v = add(t, one)\n"
                       "m = mul(x, v)\n"
                       "half = constant f32[] 0.5\n"
                       "y = mul(m, half)\n"
                       "return y\n",
                       7);
}

static void test_norm_in_parts(void)
{
    device_checks_text("x = input f32[5,13,64]\n"
                       "m = reduce_mean(x) axes=i:2 keep_dims=i:1\n"
                       "d = sub(x, m)\n"
                       "two = constant f32[] 2\n"
                       "p = pow(d, two)\n"
                       "v = reduce_mean(p) axes=i:2 keep_dims=i:1\n"
                       "eps = constant f32[] 0.00001\n"
                       "e = add(v, eps)\n"
                       "s = sqrt(e)\n"
                       "q = div(d, s)\n"
                       "w = param f32[64]\n"
                       "g = mul(q, w)\n"
                       "b = param f32[64]\n"
                       "y = add(g, b)\n"
                       "return y\n",
                       8);
}

/* Attention: a scale and a softmax behind a product of two values, of many
 * rows, of few, and with a mask. */
static void test_behind_products(void)
{
    static const int rows[] = {50, 3};
    char text[512];

    for (int i = 0; i < 2; i++) {
        (void)snprintf(text, sizeof text,
                       "q = input f32[3,4,%d,16]\n"
                       "k = input f32[3,4,16,50]\n"
                       "mask = input f32[3,1,1,50]\n"
                       "p = matmul(q, k)\n"
                       "r = constant f32[] 4\n"
                       "d = div(p, r)\n"
                       "m = add(d, mask)\n"
                       "s = softmax(m) axis=i:-1\n"
                       "return s\n",
                       rows[i]);
        device_checks_text(text, 3);
    }
    /* one matrix for all; the product is read twice */
    device_checks_text("q = input f32[5,20,16]\n"
                       "k = input f32[16,33]\n"
                       "p = matmul(q, k)\n"
                       "m = reduce_max(p) axes=i:2 keep_dims=i:1\n"
                       "s = sub(p, m)\n"
                       "return s\n",
                       2);
    /* of another shape in the end */
    device_checks_text("q = input f32[5,20,16]\n"
                       "k = input f32[5,16,33]\n"
                       "p = matmul(q, k)\n"
                       "e = exp(p)\n"
                       "m = reduce_max(e) axes=i:2 keep_dims=i:1\n"
                       "return m\n",
                       1);
}

/* A mask for each sample, between others that are the same for all. */
static void test_masked_softmax(void)
{
    device_checks_text("x = input f32[3,4,10,17]\n"
                       "mask = input f32[3,1,1,17]\n"
                       "r = constant f32[] 8\n"
                       "d = div(x, r)\n"
                       "s = add(d, mask)\n"
                       "p = softmax(s) axis=i:-1\n"
                       "return p\n",
                       2);
    device_checks_text("x = input f32[3,4,10,17]\n"
                       "mask = input f32[1,4,1,17]\n"
                       "s = add(x, mask)\n"
                       "p = log_softmax(s) axis=i:-1\n"
                       "return p\n",
                       1);
    /* axes that are broadcast on both sides of one that is not */
    device_checks_text("x = input f32[3,4,10,17]\n"
                       "mask = input f32[3,1,10,17]\n"
                       "s = add(x, mask)\n"
                       "p = softmax(s) axis=i:-1\n"
                       "return p\n",
                       0);
}

/* What others read makes a value, and a chain ends with it. */
static void test_ends(void)
{
    device_checks_text("x = input f32[3,40]\n"
                       "a = exp(x)\n"
                       "b = neg(a)\n"
                       "c = abs(b)\n"
                       "return b\n"
                       "return c\n",
                       1);
    device_checks_text("x = input f32[3,40]\n"
                       "a = exp(x)\n"
                       "t = transpose(a) perm=i:1,0\n"
                       "b = neg(a)\n"
                       "c = abs(b)\n"
                       "return t\n"
                       "return c\n",
                       1);
    device_checks_text("x = input f32[3,40]\n"
                       "a = exp(x)\n"
                       "m = reduce_max(a) axes=i:0 keep_dims=i:1\n"
                       "c = abs(m)\n"
                       "return c\n",
                       0);
    /* a row that is too long to be kept */
    device_checks_text("x = input f32[2,5000]\n"
                       "a = exp(x)\n"
                       "b = softmax(a) axis=i:1\n"
                       "return b\n",
                       0);
}

/* ---- How rows lie ---- */

static void expect_rows(const int64_t operand[3], int64_t inner, int64_t count,
                        int64_t width)
{
    const int64_t dims[] = {2, 3, 4, 5};
    iso_chain_rows_t rows = {0};
    int64_t own[] = {operand[0], operand[1], operand[2], width};

    CU_ASSERT(iso_chain_rows_of(4, dims, 4, own, &rows));
    CU_ASSERT_EQUAL(rows.inner, inner);
    CU_ASSERT_EQUAL(rows.count, count);
    CU_ASSERT_EQUAL(rows.width, width);
}

static void test_rows(void)
{
    iso_chain_rows_t rows;

    expect_rows((const int64_t[]){2, 3, 4}, 1, 24, 5);
    expect_rows((const int64_t[]){2, 1, 1}, 12, 2, 1);
    expect_rows((const int64_t[]){1, 3, 1}, 4, 3, 5);
    expect_rows((const int64_t[]){1, 1, 4}, 1, 4, 5);
    expect_rows((const int64_t[]){1, 1, 1}, 24, 1, 5);
    CU_ASSERT_FALSE(iso_chain_rows_of(4, (const int64_t[]){2, 3, 4, 5}, 4,
                                      (const int64_t[]){2, 1, 4, 5}, &rows));
    CU_ASSERT(iso_chain_rows_of(2, (const int64_t[]){4, 5}, 0, NULL, &rows));
    CU_ASSERT_EQUAL(rows.count, 1);
    CU_ASSERT_EQUAL(rows.width, 1);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"random chains", test_random_chains},
        {"gelu", test_gelu},
        {"gelu by tanh", test_tanh_gelu},
        {"norm in parts", test_norm_in_parts},
        {"masked softmax", test_masked_softmax},
        {"behind products", test_behind_products},
        {"ends", test_ends},
        {"rows", test_rows},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"chain", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
