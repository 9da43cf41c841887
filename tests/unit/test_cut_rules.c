/*
 * Cuts along axes: what was decided for each op, what pieces read, what is
 * refused. That pieces are the whole is test_cut.c's.
 */
#include "isotome/error.h"

#include "graph_text.h"
#include "iso_test.h"
#include "plan/shard/cut.h"

#include <stdio.h>
#include <string.h>

/* ---- What was decided ---- */

#define X  "x = input f32[4,6,5]\n"
#define Z  X "z = input f32[6,1]\n"
#define B  "b = input bool[4,6,5]\nd = input bool[5]\n"
#define IM "x = input f32[2,8,9,6]\n"
#define V  IM "v = param f32[8]\n"

/* Units by axis of the last node of a text; 0: no cut. */
typedef struct decision {
    iso_op_t op;
    const char *units;
    const char *text;
} decision_t;

#define UNARY(op, name)                           \
    {                                             \
        ISO_OP_##op, "1,1,1", X "y = " name "(x)" \
    }
#define BINARY(op, name)                             \
    {                                                \
        ISO_OP_##op, "1,1,1", Z "y = " name "(x, z)" \
    }
#define LOGIC(op, name)                              \
    {                                                \
        ISO_OP_##op, "1,1,1", B "y = " name "(b, d)" \
    }
#define REDUCE(op, name)                                   \
    {                                                      \
        ISO_OP_##op, "1,0,1", X "y = " name "(x) axes=i:1" \
    }
#define POOL(op, name)                                                     \
    {                                                                      \
        ISO_OP_##op, "1,1,1,1",                                            \
            IM "y = " name "(x) kernel=i:3,2 strides=i:2,1 pads=i:1,0,0,1" \
    }

/* clang-format off */
static const decision_t decisions[] = {
    {ISO_OP_INPUT, "0,0,0", X},
    {ISO_OP_PARAM, "0,0", "w = param f32[4,4]"},
    {ISO_OP_CONSTANT, "0", "w = constant f32[2] 1,2"},
    UNARY(ABS, "abs"), UNARY(NEG, "neg"), UNARY(CEIL, "ceil"),
    UNARY(FLOOR, "floor"), UNARY(ROUND, "round"), UNARY(SIGN, "sign"),
    UNARY(SQRT, "sqrt"), UNARY(RECIPROCAL, "reciprocal"), UNARY(EXP, "exp"),
    UNARY(LOG, "log"), UNARY(SIN, "sin"), UNARY(COS, "cos"),
    UNARY(TANH, "tanh"), UNARY(ERF, "erf"), UNARY(SIGMOID, "sigmoid"),
    UNARY(RELU, "relu"), UNARY(LEAKY_RELU, "leaky_relu"), UNARY(ELU, "elu"),
    UNARY(SELU, "selu"), UNARY(HARD_SIGMOID, "hard_sigmoid"),
    UNARY(HARD_SWISH, "hard_swish"), UNARY(SOFTPLUS, "softplus"),
    UNARY(SOFTSIGN, "softsign"), UNARY(CLIP, "clip"),
    {ISO_OP_CAST, "1,1,1", X "y = cast(x) to=t:i32"},
    BINARY(ADD, "add"), BINARY(SUB, "sub"), BINARY(MUL, "mul"),
    BINARY(DIV, "div"), BINARY(POW, "pow"), BINARY(MIN, "min"),
    BINARY(MAX, "max"), {ISO_OP_MOD, "1,1,1", Z "y = mod(x, z) fmod=i:1"},
    BINARY(PRELU, "prelu"), BINARY(EQUAL, "equal"), BINARY(LESS, "less"),
    BINARY(LESS_EQUAL, "less_equal"), BINARY(GREATER, "greater"),
    BINARY(GREATER_EQUAL, "greater_equal"),
    LOGIC(AND, "and"), LOGIC(OR, "or"), LOGIC(XOR, "xor"),
    {ISO_OP_NOT, "1,1,1", B "y = not(b)"},
    {ISO_OP_WHERE, "1,1,1", B Z "y = where(d, x, z)"},
    {ISO_OP_CONV, "1,1,1,1", IM "w = param f32[6,8,3,3]\ny = conv(x, w)"},
    {ISO_OP_CONV, "1,3,1,1",
     IM "w = param f32[6,4,3,3]\ny = conv(x, w) groups=i:2"},
    {ISO_OP_CONV, "1,1,1,1",
     IM "w = param f32[8,1,3,3]\ny = conv(x, w) groups=i:8"},
    {ISO_OP_CONV_TRANSPOSE, "1,1,0,0",
     IM "w = param f32[8,6,3,3]\ny = conv_transpose(x, w)"},
    {ISO_OP_CONV_TRANSPOSE, "1,6,0,0",
     IM "w = param f32[8,6,3,3]\ny = conv_transpose(x, w) groups=i:2"},
    {ISO_OP_MATMUL, "1,1,1,1",
     IM "w = param f32[8,6,7]\ny = matmul(x, w)"},
    {ISO_OP_MATMUL, "0,0,0", IM "w = param f32[6]\ny = matmul(x, w)"},
    {ISO_OP_GEMM, "1,1",
     "x = input f32[4,6]\nw = param f32[4,7]\ny = gemm(x, w) trans_a=i:1"},
    REDUCE(REDUCE_SUM, "reduce_sum"), REDUCE(REDUCE_MEAN, "reduce_mean"),
    REDUCE(REDUCE_MAX, "reduce_max"), REDUCE(REDUCE_MIN, "reduce_min"),
    REDUCE(REDUCE_PROD, "reduce_prod"),
    {ISO_OP_REDUCE_SUM, "1", X "y = reduce_sum(x) axes=i:0,-1 keep_dims=i:0"},
    {ISO_OP_ARG_MAX, "1,1,0", X "y = arg_max(x) axis=i:-1"},
    {ISO_OP_ARG_MIN, "1,1", X "y = arg_min(x) axis=i:1 keep_dims=i:0"},
    {ISO_OP_SOFTMAX, "1,1,0", X "y = softmax(x)"},
    {ISO_OP_LOG_SOFTMAX, "0,1,1", X "y = log_softmax(x) axis=i:0"},
    {ISO_OP_BATCH_NORM, "1,1,1,1", V "y = batch_norm(x, v, v, v, v)"},
    {ISO_OP_INSTANCE_NORM, "1,1,0,0", V "y = instance_norm(x, v, v)"},
    {ISO_OP_LAYER_NORM, "1,0,0",
     X "v = param f32[6,5]\ny = layer_norm(x, v) axis=i:1"},
    {ISO_OP_LRN, "1,0,1,1", IM "y = lrn(x) size=i:3"},
    POOL(MAX_POOL, "max_pool"), POOL(AVG_POOL, "avg_pool"),
    /* Windows over 0-2, 2-4, ... 6-8 and one that sticks out. */
    {ISO_OP_AVG_POOL, "1,1,1,0",
     IM "y = avg_pool(x) kernel=i:3,3 strides=i:2,2 ceil_mode=i:1 count_pad=i:1"},
    {ISO_OP_AVG_POOL, "1,1,1,1",
     IM "y = avg_pool(x) kernel=i:3,3 strides=i:2,2 ceil_mode=i:1"},
    {ISO_OP_RESHAPE, "1,5", X "y = reshape(x) shape=d:4,30"},
    {ISO_OP_RESHAPE, "6,1", X "y = reshape(x) shape=d:-1,5"},
    {ISO_OP_RESHAPE, "1,1,1,0,1", X "y = reshape(x) shape=d:4,1,3,2,5"},
    {ISO_OP_RESHAPE, "2,0,1", X "y = reshape(x) shape=d:8,3,5"},
    {ISO_OP_TRANSPOSE, "1,1,1", X "y = transpose(x)"},
    {ISO_OP_CONCAT, "1,0,1", X "y = concat(x, x) axis=i:1"},
    {ISO_OP_SLICE, "1,0,0",
     X "y = slice(x) starts=d:1,-1 ends=d:4,-9 axes=i:1,2 steps=i:1,-1"},
    {ISO_OP_PAD, "1,1,0", X "y = pad(x) pads=i:0,0,1,0,0,0"},
    {ISO_OP_GATHER, "1,1,1,1",
     X "i = input i64[2,3]\ny = gather(x, i) axis=i:1"},
    {ISO_OP_GATHER_ELEMENTS, "1,1,1",
     X "i = input i64[4,6,2]\ny = gather_elements(x, i) axis=i:2"},
    {ISO_OP_EXPAND, "1,1,1,1", X "y = expand(x) shape=d:2,1,1,5"},
    {ISO_OP_TILE, "1,0,1", X "y = tile(x) repeats=i:1,2,1"},
    {ISO_OP_DEPTH_TO_SPACE, "1,0,2,2", IM "y = depth_to_space(x) block=i:2"},
    {ISO_OP_SPACE_TO_DEPTH, "1,0,1,1", IM "y = space_to_depth(x) block=i:3"},
    {ISO_OP_RESIZE, "1,1,0,0", IM "y = resize(x) shape=d:2,8,18,12"},
    {ISO_OP_RESIZE, "1,0,0,0",
     IM "y = resize(x) shape=d:2,8,18,12 scales=f:1,1.1,2,2"},
    {ISO_OP_DIMS, "0", "y = dims() values=d:3,4"},
    {ISO_OP_IOTA, "0", "y = iota() n=d:5"},
    {ISO_OP_EXCHANGE, "0,0",
     "y = exchange() number=i:0 dtype=t:f32 shape=d:2,3"},
    /* Nothing to cut. */
    {ISO_OP_RELU, "0,0", "x = input f32[0,4]\ny = relu(x)"},
    {ISO_OP_RESHAPE, "0,0", "x = input f32[0,4]\ny = reshape(x) shape=d:2,0"},
    {ISO_OP_RELU, "", "x = input f32[]\ny = relu(x)"},
    {ISO_OP_RESHAPE, "0,0", "x = input f32[]\ny = reshape(x) shape=d:1,1"},
};
/* clang-format on */

static iso_node_id_t make(iso_graph_t **graph, const char *text)
{
    iso_node_id_t id = ISO_NO_NODE;

    CU_ASSERT_EQUAL_FATAL(iso_graph_create(graph), ISO_OK);

    const iso_status_t status = graph_text_add(*graph, text, &id);

    if (status != ISO_OK) {
        (void)fprintf(stderr, "%s\n%s\n", text, iso_error_text());
    }
    CU_ASSERT_EQUAL_FATAL(status, ISO_OK);
    return id;
}

static void test_decisions(void)
{
    bool decided[ISO_OP_COUNT] = {false};

    for (size_t i = 0; i < sizeof decisions / sizeof decisions[0]; i++) {
        const decision_t *decision = &decisions[i];
        iso_graph_t *graph;
        const iso_node_id_t id = make(&graph, decision->text);
        const iso_node_t *node = iso_graph_node(graph, id);
        char found[64] = "";
        size_t length = 0;

        for (int axis = 0; axis < node->shape.rank; axis++) {
            int64_t unit = -1;

            CU_ASSERT_EQUAL(iso_cut_unit(graph, id, axis, &unit), ISO_OK);
            length += (size_t)snprintf(&found[length], sizeof found - length,
                                       "%s%lld", axis > 0 ? "," : "",
                                       (long long)unit);
        }
        if (strcmp(found, decision->units) != 0) {
            (void)fprintf(stderr, "%s\nhas units %s, expected %s\n",
                          decision->text, found, decision->units);
            CU_FAIL("units differ");
        }
        CU_ASSERT_EQUAL(node->op, decision->op);
        decided[node->op] = true;
        iso_graph_destroy(&graph);
    }
    for (int op = 0; op < ISO_OP_COUNT; op++) {
        if (!decided[op]) {
            (void)fprintf(stderr, "%s is not in the table\n",
                          iso_op_string((iso_op_t)op));
            CU_FAIL("an op that nobody has decided about");
        }
    }
}

/* ---- Halos, by hand ---- */

static void check_slab(const iso_graph_t *graph, iso_node_id_t node,
                       iso_range_t piece, int64_t begin, int64_t end)
{
    iso_slab_t slab = {0};

    CU_ASSERT_EQUAL(iso_cut_operand(graph, node, 2, piece, 0, &slab), ISO_OK);
    CU_ASSERT_EQUAL(slab.axis, 2);
    if (begin == end) {
        CU_ASSERT_EQUAL(iso_range_length(slab.range), 0);
        return;
    }
    CU_ASSERT_EQUAL(slab.range.begin, begin);
    CU_ASSERT_EQUAL(slab.range.end, end);
}

static void test_halo(void)
{
    iso_graph_t *graph;
    iso_node_id_t node = make(&graph, "x = input f32[1,2,9,4]\n"
                                      "w = param f32[3,2,3,1]\n"
                                      "y = conv(x, w) pads=i:1,0,1,0");

    check_slab(graph, node, (iso_range_t){0, 9}, 0, 9);
    check_slab(graph, node, (iso_range_t){0, 4}, 0, 5);
    check_slab(graph, node, (iso_range_t){4, 5}, 3, 6);
    check_slab(graph, node, (iso_range_t){8, 9}, 7, 9);
    iso_graph_destroy(&graph);

    /* Stride 2, taps at 0 and 3. */
    node = make(&graph, "x = input f32[1,2,9,4]\n"
                        "w = param f32[3,2,2,1]\n"
                        "y = conv(x, w) strides=i:2,1 dilations=i:3,1");
    check_slab(graph, node, (iso_range_t){1, 2}, 2, 6);
    check_slab(graph, node, (iso_range_t){1, 3}, 2, 8);
    iso_graph_destroy(&graph);

    /* Windows wholly in the padding, on both sides. */
    node = make(&graph, "x = input f32[1,2,2,4]\n"
                        "w = param f32[3,2,2,1]\n"
                        "y = conv(x, w) pads=i:4,0,4,0");
    check_slab(graph, node, (iso_range_t){0, 3}, 0, 0);
    check_slab(graph, node, (iso_range_t){0, 4}, 0, 1);
    check_slab(graph, node, (iso_range_t){6, 9}, 0, 0);
    check_slab(graph, node, (iso_range_t){0, 9}, 0, 2);
    iso_graph_destroy(&graph);
}

/* ---- Refusals ---- */

static void refuse(const iso_graph_t *graph, iso_node_id_t node, int axis,
                   iso_range_t range)
{
    iso_slab_t slab;
    iso_graph_t *local;
    const iso_node_id_t inputs[] = {0, 1};
    iso_node_id_t id;

    CU_ASSERT_EQUAL(iso_cut_operand(graph, node, axis, range, 0, &slab),
                    ISO_INVAL);
    CU_ASSERT_PTR_NOT_NULL(strstr(iso_error_text(), "'y'"));
    CU_ASSERT_EQUAL_FATAL(iso_graph_create(&local), ISO_OK);
    CU_ASSERT_EQUAL(
        iso_cut_add(graph, node, axis, range, local, "y", inputs, &id),
        ISO_INVAL);
    iso_graph_destroy(&local);
}

static void test_refusals(void)
{
    iso_graph_t *graph;
    const iso_node_id_t node = make(&graph, IM "w = param f32[6,4,3,3]\n"
                                               "y = conv(x, w) groups=i:2");
    int64_t unit = -1;

    refuse(graph, node, 1, (iso_range_t){0, 2});
    refuse(graph, node, 1, (iso_range_t){1, 3});
    refuse(graph, node, 1, (iso_range_t){3, 3});
    refuse(graph, node, 1, (iso_range_t){3, 0});
    refuse(graph, node, 1, (iso_range_t){3, 9});
    refuse(graph, node, 0, (iso_range_t){-1, 1});
    refuse(graph, node, 0, (iso_range_t){INT64_MIN, INT64_MAX});
    refuse(graph, node, 4, (iso_range_t){0, 1});
    refuse(graph, node, -1, (iso_range_t){0, 1});
    CU_ASSERT_EQUAL(iso_cut_unit(graph, node, 4, &unit), ISO_OK);
    CU_ASSERT_EQUAL(unit, 0);
    CU_ASSERT_EQUAL(iso_cut_unit(graph, node, -1, &unit), ISO_OK);
    CU_ASSERT_EQUAL(unit, 0);
    iso_graph_destroy(&graph);
}

/* Operands that are not the slabs are not taken. */
static void test_wrong_slabs(void)
{
    iso_graph_t *graph;
    iso_graph_t *local;
    const iso_node_id_t node = make(&graph, Z "y = add(x, z)");
    const iso_range_t range = {1, 3};
    iso_node_id_t inputs[] = {0, 1};
    iso_node_id_t id;

    (void)make(&local, "a = input f32[2,6,5]\nb = input f32[6,1]\n"
                       "c = input f32[3,6,5]");
    CU_ASSERT_EQUAL(iso_cut_add(graph, node, 0, range, local, "y", inputs, &id),
                    ISO_OK);
    inputs[0] = 2;
    CU_ASSERT_EQUAL(iso_cut_add(graph, node, 0, range, local, "v", inputs, &id),
                    ISO_SHAPE);
    CU_ASSERT_PTR_NOT_NULL(strstr(iso_error_text(), "[2,6,5]"));
    inputs[0] = 77;
    CU_ASSERT_EQUAL(iso_cut_add(graph, node, 0, range, local, "v", inputs, &id),
                    ISO_INVAL);
    CU_ASSERT_EQUAL(iso_graph_node_count(local), 4);
    iso_graph_destroy(&local);
    iso_graph_destroy(&graph);
}

/* ---- The rest ---- */

/* An operand that is not given; the whole node. */
static void test_whole(void)
{
    iso_graph_t *graph;
    iso_graph_t *local;
    const iso_node_id_t inputs[] = {0, 1, ISO_NO_NODE};
    const iso_node_id_t node =
        make(&graph, "x = input f32[4,5]\nw = param f32[5,6]\n"
                     "y = gemm(x, w, -) alpha=f:2 activation=t:relu");
    iso_node_id_t id;

    (void)make(&local, "x = input f32[4,5]\nw = param f32[5,6]");
    CU_ASSERT_EQUAL(iso_cut_add_whole(graph, node, local, "y", inputs, &id),
                    ISO_OK);
    CU_ASSERT_EQUAL(iso_graph_node(local, id)->n_attrs, 2);
    CU_ASSERT_EQUAL(iso_cut_add(graph, node, 1, (iso_range_t){0, 6}, local, "z",
                                inputs, &id),
                    ISO_OK);
    CU_ASSERT_EQUAL(iso_graph_node(local, id)->n_inputs, 3);
    iso_graph_destroy(&local);
    iso_graph_destroy(&graph);
}

static void test_names(void)
{
    static const struct {
        const char *text;
        const char *names[4];
    } cases[] = {
        {IM "w = param f32[6,8,3,3]\ny = conv(x, w)",
         {"batch", "out-channel", "height", "axis"}},
        {IM "w = param f32[6,4,3,3]\ny = conv(x, w) groups=i:2",
         {"batch", "group", "height", "axis"}},
        {IM "y = max_pool(x) kernel=i:2,2",
         {"batch", "axis", "height", "axis"}},
        {IM "w = param f32[6,3]\ny = matmul(x, w)",
         {"batch", "batch", "rows", "cols"}},
        {IM "y = relu(x)", {"axis", "axis", "axis", "axis"}},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        iso_graph_t *graph;
        const iso_node_id_t node = make(&graph, cases[i].text);

        for (int axis = 0; axis < 4; axis++) {
            CU_ASSERT_STRING_EQUAL(iso_cut_axis_name(graph, node, axis),
                                   cases[i].names[axis]);
        }
        iso_graph_destroy(&graph);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"what was decided for each op", test_decisions},
        {"halos by hand", test_halo},
        {"cuts that are not allowed", test_refusals},
        {"operands that are not slabs", test_wrong_slabs},
        {"a whole node", test_whole},
        {"names of axes", test_names},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"rules of cuts", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
