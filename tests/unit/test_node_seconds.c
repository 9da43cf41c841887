#include "base/mem.h"
#include "iso_test_graph.h"
#include "plan/node_seconds.h"

#include <math.h>

/* -- which class -- */

typedef struct node_case {
    iso_op_t op;
    iso_rate_class_t expected;
    const char *a;
    const char *b; /* NULL: one operand */
    iso_attr_t attr;
} node_case_t;

static const int64_t one = 1;
static const int64_t two = 2;
static const int64_t four = 4;
static const int64_t eight = 8;
static const int64_t kernel[2] = {2, 2};

#define NO_ATTR                 \
    {                           \
        NULL, ISO_ATTR_INTS, 0, \
        {                       \
            NULL                \
        }                       \
    }
#define GROUPS(n)                   \
    {                               \
        "groups", ISO_ATTR_INTS, 1, \
        {                           \
            .ints = &(n)            \
        }                           \
    }

static void expect_classes_of(const node_case_t *cases, size_t count,
                              bool has_weights)
{
    iso_graph_t *graph = test_graph();

    for (size_t i = 0; i < count; i++) {
        const node_case_t *one_case = &cases[i];
        char name[32];
        iso_node_id_t inputs[3] = {ISO_NO_NODE, ISO_NO_NODE, ISO_NO_NODE};
        iso_node_cost_t cost = {0};

        (void)snprintf(name, sizeof name, "a%zu", i);
        inputs[0] = test_input(graph, name, one_case->a);
        if (one_case->b != NULL) {
            (void)snprintf(name, sizeof name, "b%zu", i);
            inputs[1] = has_weights ? test_param(graph, name, one_case->b)
                                    : test_input(graph, name, one_case->b);
        }
        const iso_node_id_t id =
            test_node(graph, NULL, one_case->op, inputs,
                      one_case->attr.name == NULL ? NULL : &one_case->attr);

        CU_ASSERT_EQUAL(iso_node_cost_of(graph, id, &cost), ISO_OK);
        if (cost.rate_class != one_case->expected) {
            (void)fprintf(stderr, "%s %s, %s: %s, expected %s\n",
                          iso_op_string(one_case->op), one_case->a,
                          one_case->b == NULL ? "" : one_case->b,
                          iso_rate_class_string(cost.rate_class),
                          iso_rate_class_string(one_case->expected));
        }
        CU_ASSERT_EQUAL(cost.rate_class, one_case->expected);
    }
    iso_graph_destroy(&graph);
}

/* Second operands are weights. */
static void expect_classes(const node_case_t *cases, size_t count)
{
    expect_classes_of(cases, count, true);
}

static void test_class_of_conv(void)
{
    static const node_case_t cases[] = {
        {ISO_OP_CONV, ISO_RATE_CONV_1X1_SHORT, "1,32,8,8", "4,32,1,1", NO_ATTR},
        {ISO_OP_CONV, ISO_RATE_CONV_1X1_SHORT, "1,127,8,8", "4,127,1,1",
         NO_ATTR},
        {ISO_OP_CONV, ISO_RATE_CONV_1X1, "1,128,8,8", "4,128,1,1", NO_ATTR},
        {ISO_OP_CONV, ISO_RATE_CONV_FEW_CHANNELS, "1,31,8,8", "4,31,1,1",
         NO_ATTR},
        {ISO_OP_CONV, ISO_RATE_CONV_FEW_CHANNELS, "1,3,9,9", "4,3,7,7",
         NO_ATTR},
        {ISO_OP_CONV, ISO_RATE_CONV_3X3, "1,32,8,8", "4,32,3,3", NO_ATTR},
        {ISO_OP_CONV, ISO_RATE_CONV_3X3, "1,32,8", "4,32,2", NO_ATTR},
        {ISO_OP_CONV, ISO_RATE_CONV_LARGE_KERNEL, "1,32,8,9", "4,32,2,5",
         NO_ATTR},
        {ISO_OP_CONV, ISO_RATE_CONV_LARGE_KERNEL, "1,32,5,5,5", "4,32,3,3,3",
         NO_ATTR},
        {ISO_OP_CONV, ISO_RATE_CONV_DEPTHWISE, "1,8,8,8", "8,1,3,3",
         GROUPS(eight)},
        {ISO_OP_CONV, ISO_RATE_CONV_DEPTHWISE, "1,12,8,8", "8,3,3,3",
         GROUPS(four)},
        {ISO_OP_CONV, ISO_RATE_CONV_GROUPED, "1,16,8,8", "8,4,3,3",
         GROUPS(four)},
        {ISO_OP_CONV, ISO_RATE_CONV_GROUPED, "1,128,8,8", "8,64,1,1",
         GROUPS(two)},
        {ISO_OP_CONV_TRANSPOSE, ISO_RATE_CONV_3X3, "1,32,8,8", "32,4,3,3",
         NO_ATTR},
        {ISO_OP_CONV_TRANSPOSE, ISO_RATE_CONV_FEW_CHANNELS, "1,31,8,8",
         "31,64,3,3", NO_ATTR},
        {ISO_OP_CONV_TRANSPOSE, ISO_RATE_CONV_DEPTHWISE, "1,8,8,8", "8,64,3,3",
         GROUPS(eight)},
        {ISO_OP_CONV_TRANSPOSE, ISO_RATE_CONV_GROUPED, "1,8,8,8", "8,1,3,3",
         GROUPS(two)},
    };

    expect_classes(cases, sizeof cases / sizeof *cases);
}

static void test_class_of_matmul(void)
{
    static const node_case_t cases[] = {
        {ISO_OP_MATMUL, ISO_RATE_MATMUL_LARGE, "16,8192", "8192,16", NO_ATTR},
        {ISO_OP_MATMUL, ISO_RATE_MATMUL_SMALL, "16,8191", "8191,16", NO_ATTR},
        {ISO_OP_MATMUL, ISO_RATE_MATMUL_SKINNY, "15,8192", "8192,999", NO_ATTR},
        {ISO_OP_MATMUL, ISO_RATE_MATMUL_SKINNY, "999,8192", "8192,15", NO_ATTR},
        {ISO_OP_MATMUL, ISO_RATE_MATMUL_SKINNY, "8192", "8192,512", NO_ATTR},
        {ISO_OP_MATMUL, ISO_RATE_MATMUL_SKINNY, "512,8192", "8192", NO_ATTR},
        {ISO_OP_MATMUL, ISO_RATE_MATMUL_SKINNY, "7,2,512", "512,512", NO_ATTR},
        {ISO_OP_MATMUL, ISO_RATE_MATMUL_LARGE, "8,2,512", "512,512", NO_ATTR},
        {ISO_OP_MATMUL, ISO_RATE_MATMUL_SMALL, "99,50,64", "99,64,50", NO_ATTR},
        {ISO_OP_MATMUL, ISO_RATE_MATMUL_SKINNY, "99,2,64", "99,64,50", NO_ATTR},
        {ISO_OP_MATMUL, ISO_RATE_MATMUL_SMALL, "64,50", "99,50,64", NO_ATTR},
        {ISO_OP_MATMUL, ISO_RATE_MATMUL_LARGE, "3,128,128", "3,128,128",
         NO_ATTR},
        {ISO_OP_MATMUL, ISO_RATE_MATMUL_SKINNY, "0,9", "9,9", NO_ATTR},
        {ISO_OP_GEMM, ISO_RATE_MATMUL_LARGE, "16,8192", "8192,16", NO_ATTR},
        {ISO_OP_GEMM,
         ISO_RATE_MATMUL_LARGE,
         "8192,16",
         "8192,16",
         {"trans_a", ISO_ATTR_INTS, 1, {.ints = &one}}},
        {ISO_OP_GEMM,
         ISO_RATE_MATMUL_SKINNY,
         "8,512",
         "99,512",
         {"trans_b", ISO_ATTR_INTS, 1, {.ints = &one}}},
    };

    expect_classes(cases, sizeof cases / sizeof *cases);
}

static void test_class_of_values(void)
{
    static const node_case_t cases[] = {
        {ISO_OP_MATMUL, ISO_RATE_MATMUL_VALUES, "16,8192", "8192,16", NO_ATTR},
        {ISO_OP_MATMUL, ISO_RATE_MATMUL_VALUES, "12,64,64", "12,64,64",
         NO_ATTR},
        {ISO_OP_MATMUL, ISO_RATE_MATMUL_SKINNY, "12,1,64", "12,64,99", NO_ATTR},
        {ISO_OP_CONV, ISO_RATE_CONV_3X3, "1,32,8,8", "4,32,3,3", NO_ATTR},
    };

    expect_classes_of(cases, sizeof cases / sizeof *cases, false);
}

static void test_class_of_others(void)
{
    static const node_case_t cases[] = {
        {ISO_OP_ADD, ISO_RATE_ELEMENTWISE, "3,1", "1,5", NO_ATTR},
        {ISO_OP_RELU, ISO_RATE_ELEMENTWISE, "3", NULL, NO_ATTR},
        {ISO_OP_SQRT, ISO_RATE_ELEMENTWISE, "3", NULL, NO_ATTR},
        {ISO_OP_HARD_SWISH, ISO_RATE_ELEMENTWISE, "3", NULL, NO_ATTR},
        {ISO_OP_EQUAL, ISO_RATE_ELEMENTWISE, "3", "3", NO_ATTR},
        {ISO_OP_EXP, ISO_RATE_TRANSCENDENTAL, "3", NULL, NO_ATTR},
        {ISO_OP_TANH, ISO_RATE_TRANSCENDENTAL, "3", NULL, NO_ATTR},
        {ISO_OP_SELU, ISO_RATE_TRANSCENDENTAL, "3", NULL, NO_ATTR},
        {ISO_OP_POW, ISO_RATE_TRANSCENDENTAL, "3", "3", NO_ATTR},
        {ISO_OP_REDUCE_MAX, ISO_RATE_REDUCE, "3,7", NULL, NO_ATTR},
        {ISO_OP_ARG_MAX, ISO_RATE_REDUCE, "3,7", NULL, NO_ATTR},
        {ISO_OP_SOFTMAX, ISO_RATE_NORM, "3,7", NULL, NO_ATTR},
        {ISO_OP_LAYER_NORM, ISO_RATE_NORM, "3,7", "7", NO_ATTR},
        {ISO_OP_MAX_POOL,
         ISO_RATE_POOL,
         "1,2,4,6",
         NULL,
         {"kernel", ISO_ATTR_INTS, 2, {.ints = kernel}}},
        {ISO_OP_TRANSPOSE, ISO_RATE_MOVE, "3,7", NULL, NO_ATTR},
        {ISO_OP_CONCAT,
         ISO_RATE_MOVE,
         "3,7",
         "3,7",
         {"axis", ISO_ATTR_INTS, 1, {.ints = &one}}},
    };

    expect_classes(cases, sizeof cases / sizeof *cases);
}

/* Every op has a class whose name is a name. */
static void test_names(void)
{
    for (int i = 0; i < ISO_RATE_CLASS_COUNT; i++) {
        CU_ASSERT(strlen(iso_rate_class_string((iso_rate_class_t)i)) > 3);
    }
    CU_ASSERT_STRING_EQUAL(iso_rate_class_string(ISO_RATE_CONV_1X1),
                           "conv-1x1");
    CU_ASSERT_EQUAL(iso_rate_class_unit(ISO_RATE_CONV_1X1), ISO_RATE_FLOPS);
    CU_ASSERT_EQUAL(iso_rate_class_unit(ISO_RATE_MOVE), ISO_RATE_BYTES);
}

/* -- seconds -- */

static const iso_machine_rank_t plain_rank = {
    .host = "h", .flops_per_s = 1e9, .memory_bytes_per_s = 1e6};

/* Seconds of a node with 6e6 operations and 3e3 bytes of this class. */
static double seconds_of(iso_rate_class_t rate_class,
                         const iso_machine_rank_t *rank)
{
    const iso_node_t node = {.op = ISO_OP_TRANSPOSE};
    const iso_node_cost_t cost = {.flops = 6e6,
                                  .operand_bytes = 1000,
                                  .output_bytes = 2000,
                                  .rate_class = rate_class};

    return iso_cost_seconds(&node, &cost, rank);
}

static void expect_near(double found, double expected)
{
    CU_ASSERT(fabs(found - expected) <= 1e-12 * expected);
    if (fabs(found - expected) > 1e-12 * expected) {
        (void)fprintf(stderr, "%.17g, expected %.17g\n", found, expected);
    }
}

static void test_default_seconds(void)
{
    expect_near(seconds_of(ISO_RATE_CONV_3X3, &plain_rank),
                6e6 / 0.6e9 + 3e3 / 1e6);
    expect_near(seconds_of(ISO_RATE_MATMUL_SKINNY, &plain_rank),
                6e6 / 0.6e9 + 3e3 / 1e6);
    expect_near(seconds_of(ISO_RATE_ELEMENTWISE, &plain_rank), 6e6 / 0.1e9);
    expect_near(seconds_of(ISO_RATE_NORM, &plain_rank), 6e6 / 0.05e9);
    expect_near(seconds_of(ISO_RATE_MOVE, &plain_rank), 3e3 / 1e6);
}

/* Each class is timed by its own rate, and by memory: beside the work of a
 * contraction, in place of what is faster. */
static void test_measured_seconds(void)
{
    for (int i = 0; i < ISO_RATE_CLASS_COUNT; i++) {
        const iso_rate_class_t rate_class = (iso_rate_class_t)i;
        const bool moves = iso_rate_class_unit(rate_class) == ISO_RATE_BYTES;
        const double work = moves ? 3e3 : 6e6;
        const double waits_s = i <= ISO_RATE_MATMUL_SKINNY ? 3e3 / 1e6 : 0.0;
        iso_machine_rank_t rank = plain_rank;

        rank.rates[i] = (iso_rate_t){.per_s = work / 8.0};
        expect_near(seconds_of(rate_class, &rank), 8.0 + waits_s);
        for (int other = 0; other < ISO_RATE_CLASS_COUNT; other++) {
            if (other != i && i != ISO_RATE_MOVE) {
                expect_near(seconds_of((iso_rate_class_t)other, &rank),
                            seconds_of((iso_rate_class_t)other, &plain_rank));
            }
        }
        rank.rates[i].per_s = 1e300;
        if (!moves) {
            expect_near(seconds_of(rate_class, &rank), 3e3 / 1e6);
        }
    }
}

/* A MiB moves at the rate of copies in the caches, the rest at memory's. */
static void test_cached_bytes(void)
{
    const iso_node_t node = {.op = ISO_OP_CONV};
    const iso_node_cost_t cost = {.flops = 1.0,
                                  .operand_bytes = (1 << 20) + 1000,
                                  .output_bytes = 2000,
                                  .rate_class = ISO_RATE_CONV_3X3};
    iso_machine_rank_t rank = plain_rank;

    rank.rates[ISO_RATE_CONV_3X3].per_s = 1e300;
    rank.rates[ISO_RATE_MOVE].per_s = 1048576.0 / 4.0;
    expect_near(iso_cost_seconds(&node, &cost, &rank), 4.0 + 3e3 / 1e6);
}

static void test_free_nodes(void)
{
    const iso_node_t reshape = {.op = ISO_OP_RESHAPE};
    const iso_node_t param = {.op = ISO_OP_PARAM};
    const iso_node_cost_t cost = {.operand_bytes = 1000, .output_bytes = 1000};

    CU_ASSERT_EQUAL(iso_cost_seconds(&reshape, &cost, &plain_rank), 0.0);
    CU_ASSERT_EQUAL(iso_cost_seconds(&param, &cost, &plain_rank), 0.0);
}

/* A class that nobody calibrated still gives a finite time, so that it can be
 * shown; whoever plans looks at the rank's class. */
static void test_uncalibrated_seconds(void)
{
    iso_machine_rank_t rank = plain_rank;

    rank.rates[ISO_RATE_POOL].cost_class = ISO_COST_UNCALIBRATED;
    expect_near(seconds_of(ISO_RATE_POOL, &rank), 6e6 / 0.05e9);
}

static void test_graph_seconds(void)
{
    const int64_t before = iso_mem_count().blocks;
    iso_graph_t *graph = test_graph();
    iso_machine_rank_t rank = plain_rank;
    const iso_node_id_t x = test_input(graph, "x", "64,128");
    const iso_node_id_t w = test_param(graph, "w", "128,32");
    const iso_node_id_t y = test_binary(graph, "y", ISO_OP_MATMUL, x, w);
    double seconds = 0.0;

    (void)test_unary(graph, "z", ISO_OP_TANH, y);
    rank.memory_bytes_per_s = 1e300;
    rank.rates[ISO_RATE_MATMUL_SMALL].per_s = 2.0 * 64 * 128 * 32;
    rank.rates[ISO_RATE_TRANSCENDENTAL].per_s = 64.0 * 32 / 3.0;
    CU_ASSERT_EQUAL(iso_graph_seconds(graph, &rank, &seconds), ISO_OK);
    expect_near(seconds, 4.0);
    iso_graph_destroy(&graph);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

static void test_same_speed(void)
{
    iso_machine_rank_t a = plain_rank;
    iso_machine_rank_t b = plain_rank;

    b.host = "other";
    b.memory_bytes = 7;
    CU_ASSERT(iso_cost_same_speed(&a, &b));
    b.rates[ISO_RATE_MOVE].per_s = 5.0;
    CU_ASSERT_FALSE(iso_cost_same_speed(&a, &b));
    a.rates[ISO_RATE_MOVE].per_s = 5.0;
    CU_ASSERT(iso_cost_same_speed(&a, &b));
    /* A stated rate that is the default one says the same. */
    a.rates[ISO_RATE_POOL].per_s =
        iso_machine_rank_rate(&plain_rank, ISO_RATE_POOL).per_s;
    CU_ASSERT(iso_cost_same_speed(&a, &b));
    b.memory_bytes_per_s *= 2.0;
    CU_ASSERT_FALSE(iso_cost_same_speed(&a, &b));
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"class of conv", test_class_of_conv},
        {"class of matmul", test_class_of_matmul},
        {"class of a product of values", test_class_of_values},
        {"class of others", test_class_of_others},
        {"names", test_names},
        {"default seconds", test_default_seconds},
        {"measured seconds", test_measured_seconds},
        {"bytes in the caches", test_cached_bytes},
        {"free nodes", test_free_nodes},
        {"uncalibrated seconds", test_uncalibrated_seconds},
        {"graph seconds", test_graph_seconds},
        {"same speed", test_same_speed},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"node_seconds", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
