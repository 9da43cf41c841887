#include "isotome/error.h"

#include "base/mem.h"
#include "iso_test.h"
#include "iso_test_call.h"
#include "iso_test_graph.h"
#include "stage_samples.h"

#include <limits.h>
#include <stdio.h>

enum { SEED = 577215, TRIALS = 60, W = 3 };

static int64_t blocks_before;

static int suite_begin(void)
{
    blocks_before = iso_mem_count().blocks;
    return 0;
}

static void expect_nothing_left(void)
{
    CU_ASSERT_EQUAL(iso_mem_count().blocks, blocks_before);
}

/* Convolutions of one and of two groups, a sum of 3 blocks. */
static iso_graph_t *make_stage(int batch)
{
    char text[512];

    (void)snprintf(text, sizeof text,
                   "x = input f32[%d,4,8,5]\n"
                   "w = param f32[6,4,3,3]\n"
                   "v = param f32[6,3,1,1]\n"
                   "k = constant f32[] 2\n"
                   "a = conv(x, w) pads=i:1,1,1,1\n"
                   "g = conv(a, v) groups=i:2\n"
                   "s = softmax(g) axis=i:-1\n"
                   "f = reshape(s) shape=d:%d,240\n"
                   "u = concat(f, f, f) axis=i:1\n"
                   "p = param f32[720,2]\n"
                   "m = matmul(u, p)\n"
                   "y = mul(m, k)\n"
                   "return y\n"
                   "return s\n",
                   batch, batch);
    return stage_of_text(text);
}

/* -- making -- */

static void test_all_one(void)
{
    iso_graph_t *stage = make_stage(2);
    iso_stage_cut_t *cut = stage_cut_one(stage, W);

    CU_ASSERT_EQUAL(cut->n_workers, W);
    CU_ASSERT_EQUAL(cut->n_nodes, iso_graph_node_count(stage));
    for (int32_t i = 0; i < cut->n_nodes; i++) {
        CU_ASSERT_EQUAL(cut->nodes[i].kind, ISO_CUT_ONE);
    }
    CU_ASSERT_FALSE(cut->keep_outputs[0]);
    CU_ASSERT_FALSE(cut->keep_outputs[1]);
    CU_ASSERT_EQUAL(iso_stage_cut_check(cut, stage), ISO_OK);
    iso_stage_cut_destroy(&cut);
    CU_ASSERT_PTR_NULL(cut);
    iso_stage_cut_destroy(&cut);
    iso_graph_destroy(&stage);
    expect_nothing_left();
}

static void test_set_copies(void)
{
    iso_graph_t *stage = make_stage(3);
    iso_stage_cut_t *cut = stage_cut_one(stage, W);
    const iso_range_t ranges[W] = {{0, 1}, {1, 2}, {2, 3}};
    const iso_node_cut_t split = {ISO_CUT_SPLIT, 0, ranges};
    const iso_node_id_t a = iso_graph_find(stage, "a");

    CU_ASSERT_EQUAL(iso_stage_cut_set(cut, a, &split), ISO_OK);
    CU_ASSERT(cut->nodes[a].ranges != ranges);
    CU_ASSERT_EQUAL(cut->nodes[a].ranges[1].end, 2);
    CU_ASSERT_EQUAL(iso_stage_cut_check(cut, stage), ISO_OK);
    CU_ASSERT_EQUAL(iso_stage_cut_set(cut, -1, &split), ISO_INVAL);
    CU_ASSERT_EQUAL(iso_stage_cut_set(cut, cut->n_nodes, &split), ISO_INVAL);
    CU_ASSERT(test_failed_with("node 12, expected one of 12 nodes"));
    iso_stage_cut_destroy(&cut);
    iso_graph_destroy(&stage);
    expect_nothing_left();
}

static void test_layouts(void)
{
    const iso_range_t ranges[W] = {{0, 1}, {1, 1}, {1, 3}};
    const iso_node_cut_t one = {.kind = ISO_CUT_ONE};
    const iso_node_cut_t all = {.kind = ISO_CUT_ALL};
    const iso_node_cut_t split = {ISO_CUT_SPLIT, 2, ranges};
    const iso_node_cut_t partial = {ISO_CUT_PARTIAL, 0, ranges};

    CU_ASSERT_EQUAL(iso_node_cut_layout(&one).kind, ISO_LAYOUT_ONE);
    CU_ASSERT_EQUAL(iso_node_cut_layout(&one).worker, 0);
    CU_ASSERT_EQUAL(iso_node_cut_layout(&all).kind, ISO_LAYOUT_ALL);
    CU_ASSERT_EQUAL(iso_node_cut_layout(&split).kind, ISO_LAYOUT_SPLIT);
    CU_ASSERT_EQUAL(iso_node_cut_layout(&split).axis, 2);
    CU_ASSERT_PTR_EQUAL(iso_node_cut_layout(&split).ranges, ranges);
    CU_ASSERT_EQUAL(iso_node_cut_layout(&partial).kind, ISO_LAYOUT_ONE);
    CU_ASSERT_EQUAL(iso_node_cut_layout(&partial).worker, 0);
}

/* -- checking -- */

/* A cut of one node; text NULL: it is legal. */
typedef struct hostile {
    const char *node;
    iso_node_cut_t cut;
    const char *text;
} hostile_t;

#define RANGES(...)        \
    (const iso_range_t[W]) \
    {                      \
        __VA_ARGS__        \
    }

static void expect_check(const iso_graph_t *stage, const hostile_t *hostile)
{
    iso_stage_cut_t *cut = stage_cut_one(stage, W);
    const iso_status_t expected = hostile->text == NULL ? ISO_OK : ISO_INVAL;

    CU_ASSERT_EQUAL_FATAL(
        iso_stage_cut_set(cut, iso_graph_find(stage, hostile->node),
                          &hostile->cut),
        ISO_OK);
    CU_ASSERT_EQUAL(iso_stage_cut_check(cut, stage), expected);
    if (hostile->text != NULL) {
        CU_ASSERT(test_failed_with(hostile->text));
        CU_ASSERT(test_failed_with(hostile->node));
    }
    iso_stage_cut_destroy(&cut);
}

static void expect_checks(const hostile_t *cuts, size_t count)
{
    iso_graph_t *stage = make_stage(3);

    for (size_t i = 0; i < count; i++) {
        expect_check(stage, &cuts[i]);
    }
    iso_graph_destroy(&stage);
    expect_nothing_left();
}

static void test_legal(void)
{
    const hostile_t cuts[] = {
        {"a", {ISO_CUT_SPLIT, 0, RANGES({0, 1}, {1, 2}, {2, 3})}, NULL},
        {"a", {ISO_CUT_SPLIT, 0, RANGES({0, 0}, {0, 3}, {3, 3})}, NULL},
        {"a", {ISO_CUT_SPLIT, 0, RANGES({0, 1}, {0, 0}, {1, 3})}, NULL},
        {"a", {ISO_CUT_SPLIT, 2, RANGES({0, 7}, {7, 8}, {0, 0})}, NULL},
        {"g", {ISO_CUT_SPLIT, 1, RANGES({0, 3}, {3, 6}, {6, 6})}, NULL},
        {"x", {ISO_CUT_SPLIT, 3, RANGES({0, 2}, {2, 4}, {4, 5})}, NULL},
        {"m", {ISO_CUT_PARTIAL, 0, RANGES({0, 1}, {1, 2}, {2, 3})}, NULL},
        {"m", {ISO_CUT_PARTIAL, 99, RANGES({0, 3}, {0, 0}, {0, 0})}, NULL},
        {"y", {.kind = ISO_CUT_ALL}, NULL},
        /* Those of weights and constants are not looked at. */
        {"w", {ISO_CUT_SPLIT, 99, NULL}, NULL},
        {"k", {ISO_CUT_PARTIAL, -1, NULL}, NULL},
    };

    expect_checks(cuts, sizeof cuts / sizeof cuts[0]);
}

static void test_hostile_pieces(void)
{
    const hostile_t cuts[] = {
        {"a",
         {ISO_CUT_SPLIT, 0, RANGES({0, 1}, {2, 3}, {3, 3})},
         "axis 0: piece 1 is [2, 3), expected it to begin at 1"},
        {"a",
         {ISO_CUT_SPLIT, 0, RANGES({0, 2}, {1, 3}, {3, 3})},
         "piece 1 is [1, 3), expected it to begin at 2"},
        {"a",
         {ISO_CUT_SPLIT, 0, RANGES({1, 3}, {0, 1}, {3, 3})},
         "piece 0 is [1, 3), expected it to begin at 0"},
        {"a",
         {ISO_CUT_SPLIT, 0, RANGES({0, 1}, {1, 2}, {2, 2})},
         "the pieces end at 2, expected 3"},
        {"a",
         {ISO_CUT_SPLIT, 0, RANGES({0, 0}, {0, 0}, {0, 0})},
         "the pieces end at 0, expected 3"},
        {"a",
         {ISO_CUT_SPLIT, 0, RANGES({0, 1}, {1, 2}, {2, 4})},
         "piece 2 is [2, 4), expected a range within [0, 3)"},
        {"a",
         {ISO_CUT_SPLIT, 0, RANGES({-1, 1}, {1, 2}, {2, 3})},
         "piece 0 is [-1, 1)"},
        {"a",
         {ISO_CUT_SPLIT, 0, RANGES({0, 3}, {3, 2}, {3, 3})},
         "piece 1 is [3, 2)"},
        {"a",
         {ISO_CUT_SPLIT, 0, RANGES({0, 3}, {INT64_MIN, INT64_MAX}, {3, 3})},
         "expected a range within [0, 3)"},
        {"g",
         {ISO_CUT_SPLIT, 1, RANGES({0, 2}, {2, 6}, {6, 6})},
         "axis 1: piece 0 is [0, 2), expected multiples of 3"},
        {"a", {ISO_CUT_SPLIT, 0, NULL}, "no pieces given, expected 3"},
        {"m", {ISO_CUT_PARTIAL, 0, NULL}, "no pieces given"},
        {"m",
         {ISO_CUT_PARTIAL, 0, RANGES({0, 1}, {1, 2}, {2, 4})},
         "reduction: piece 2 is [2, 4), expected a range within [0, 3)"},
        {"m",
         {ISO_CUT_PARTIAL, 0, RANGES({0, 1}, {1, 2}, {0, 0})},
         "reduction: the pieces end at 2, expected 3"},
    };

    expect_checks(cuts, sizeof cuts / sizeof cuts[0]);
}

static void test_hostile_axes(void)
{
    const iso_range_t *thirds = RANGES({0, 1}, {1, 2}, {2, 3});
    const hostile_t cuts[] = {
        {"s", {ISO_CUT_SPLIT, 3, thirds}, "axis 3: cannot be cut along it"},
        {"a", {ISO_CUT_SPLIT, -1, thirds}, "axis -1: cannot be cut"},
        {"a", {ISO_CUT_SPLIT, 4, thirds}, "axis 4: cannot be cut"},
        {"a", {ISO_CUT_SPLIT, INT_MAX, thirds}, "cannot be cut"},
        {"x", {ISO_CUT_SPLIT, 4, thirds}, "axis 4: cannot be cut"},
        {"s", {ISO_CUT_PARTIAL, 0, thirds}, "reduction: cannot be cut"},
        {"a", {ISO_CUT_PARTIAL, 0, thirds}, "reduction: cannot be cut"},
        {"x", {ISO_CUT_PARTIAL, 0, thirds}, "reduction: cannot be cut"},
        {"x", {.kind = ISO_CUT_ALL}, "expected it on one or split"},
        {"a", {.kind = (iso_cut_kind_t)7}, "has cut kind 7"},
    };

    expect_checks(cuts, sizeof cuts / sizeof cuts[0]);
}

static void test_hostile_sizes(void)
{
    iso_graph_t *stage = make_stage(3);
    iso_stage_cut_t *cut = stage_cut_one(stage, W);

    cut->n_workers = 0;
    CU_ASSERT_EQUAL(iso_stage_cut_check(cut, stage), ISO_INVAL);
    CU_ASSERT(test_failed_with("0 workers, expected at least 1"));
    cut->n_workers = W;
    cut->n_nodes--;
    CU_ASSERT_EQUAL(iso_stage_cut_check(cut, stage), ISO_INVAL);
    CU_ASSERT(test_failed_with("11 nodes, expected the stage's 12"));
    iso_stage_cut_destroy(&cut);
    iso_graph_destroy(&stage);
    expect_nothing_left();
}

/* -- another batch size -- */

static void expect_ranges(const iso_stage_cut_t *cut, const iso_graph_t *stage,
                          const char *name, const iso_range_t *expected)
{
    const iso_node_cut_t *node_cut = &cut->nodes[iso_graph_find(stage, name)];

    CU_ASSERT_PTR_NOT_NULL_FATAL(node_cut->ranges);
    for (int i = 0; i < W; i++) {
        CU_ASSERT_EQUAL(node_cut->ranges[i].begin, expected[i].begin);
        CU_ASSERT_EQUAL(node_cut->ranges[i].end, expected[i].end);
    }
}

static void test_rescale(void)
{
    iso_graph_t *stage = make_stage(8);
    iso_graph_t *other = make_stage(4);
    iso_stage_cut_t *cut = stage_cut_one(stage, W);
    iso_stage_cut_t *scaled = NULL;
    const iso_node_cut_t partial = {ISO_CUT_PARTIAL, 0,
                                    RANGES({0, 2}, {2, 3}, {3, 3})};

    stage_split(cut, stage, "x", 0, (const int64_t[]){4, 6, 8});
    stage_split(cut, stage, "a", 0, (const int64_t[]){4, 6, 8});
    stage_split(cut, stage, "g", 1, (const int64_t[]){3, 3, 6});
    stage_split(cut, stage, "s", 2, (const int64_t[]){1, 2, 8});
    stage_set(cut, stage, "f", ISO_CUT_ALL);
    CU_ASSERT_EQUAL(
        iso_stage_cut_set(cut, iso_graph_find(stage, "m"), &partial), ISO_OK);
    cut->keep_outputs[1] = true;
    CU_ASSERT_EQUAL(iso_stage_cut_check(cut, stage), ISO_OK);

    CU_ASSERT_EQUAL_FATAL(iso_stage_cut_rescale(cut, stage, other, &scaled),
                          ISO_OK);
    CU_ASSERT_EQUAL(iso_stage_cut_check(scaled, other), ISO_OK);
    expect_ranges(scaled, other, "x", RANGES({0, 2}, {2, 3}, {3, 4}));
    expect_ranges(scaled, other, "a", RANGES({0, 2}, {2, 3}, {3, 4}));
    expect_ranges(scaled, other, "g", RANGES({0, 3}, {3, 3}, {3, 6}));
    expect_ranges(scaled, other, "s", RANGES({0, 1}, {1, 2}, {2, 8}));
    expect_ranges(scaled, other, "m", RANGES({0, 2}, {2, 3}, {3, 3}));
    CU_ASSERT_EQUAL(scaled->nodes[iso_graph_find(other, "m")].kind,
                    ISO_CUT_PARTIAL);
    CU_ASSERT_EQUAL(scaled->nodes[iso_graph_find(other, "f")].kind,
                    ISO_CUT_ALL);
    CU_ASSERT_FALSE(scaled->keep_outputs[0]);
    CU_ASSERT(scaled->keep_outputs[1]);
    iso_stage_cut_destroy(&scaled);
    iso_stage_cut_destroy(&cut);
    iso_graph_destroy(&other);
    iso_graph_destroy(&stage);
    expect_nothing_left();
}

/* Nodes that the other stage cuts otherwise, or does not have. */
static void test_rescale_to_one(void)
{
    iso_graph_t *stage = stage_of_text("x = input f32[4,6]\n"
                                       "a = relu(x)\n"
                                       "b = softmax(a) axis=i:1\n"
                                       "return b\n");
    iso_graph_t *other = stage_of_text("x = input f32[2,6]\n"
                                       "q = relu(x)\n"
                                       "a = reduce_sum(q) keep_dims=i:0\n"
                                       "b = softmax(q) axis=i:0\n"
                                       "return q\n"
                                       "return b\n");
    iso_stage_cut_t *cut = stage_cut_one(stage, 2);
    iso_stage_cut_t *scaled = NULL;

    stage_split_all(cut, stage, 0, (const char *const[]){"a", "b", NULL});
    cut->keep_outputs[0] = true;
    CU_ASSERT_EQUAL_FATAL(iso_stage_cut_rescale(cut, stage, other, &scaled),
                          ISO_OK);
    for (int32_t i = 0; i < scaled->n_nodes; i++) {
        CU_ASSERT_EQUAL(scaled->nodes[i].kind, ISO_CUT_ONE);
    }
    CU_ASSERT_FALSE(scaled->keep_outputs[0]);
    CU_ASSERT(scaled->keep_outputs[1]);
    iso_stage_cut_destroy(&scaled);
    iso_stage_cut_destroy(&cut);
    iso_graph_destroy(&other);
    iso_graph_destroy(&stage);
    expect_nothing_left();
}

/* A cut of a random stage is legal, and so is what becomes of it for another
 * batch size. */
static void test_rescale_random(void)
{
    (void)printf("seed %d ", SEED);
    for (int trial = 0; trial < TRIALS; trial++) {
        uint64_t state = (uint64_t)SEED + (uint64_t)trial;
        uint64_t again = state;
        iso_graph_t *stage =
            stage_random(&state, test_random_int(&state, 1, 9));
        iso_stage_cut_t *cut =
            stage_random_cut(&state, stage, (int)test_random_int(&state, 1, 5));
        iso_stage_cut_t *scaled = NULL;

        (void)test_random(&again); /* as the batch above took one */
        iso_graph_t *other = stage_random(&again, 4);

        CU_ASSERT_EQUAL(iso_stage_cut_check(cut, stage), ISO_OK);
        CU_ASSERT_EQUAL_FATAL(iso_stage_cut_rescale(cut, stage, other, &scaled),
                              ISO_OK);
        CU_ASSERT_EQUAL(iso_stage_cut_check(scaled, other), ISO_OK);
        if (iso_stage_cut_check(scaled, other) != ISO_OK) {
            (void)fprintf(stderr, "trial %d: %s\n", trial, iso_error_text());
        }
        iso_stage_cut_destroy(&scaled);
        iso_stage_cut_destroy(&cut);
        iso_graph_destroy(&other);
        iso_graph_destroy(&stage);
    }
    expect_nothing_left();
}

static void test_out_of_memory(void)
{
    iso_graph_t *stage = make_stage(8);
    iso_graph_t *other = make_stage(4);
    iso_stage_cut_t *cut = stage_cut_one(stage, W);
    iso_stage_cut_t *scaled = NULL;
    iso_status_t status = ISO_NOMEM;

    stage_split(cut, stage, "a", 0, (const int64_t[]){4, 6, 8});
    for (int n = 1; status == ISO_NOMEM && n < 100; n++) {
        iso_mem_fail_at(n);
        status = iso_stage_cut_rescale(cut, stage, other, &scaled);
        CU_ASSERT(status == ISO_OK || scaled == NULL);
    }
    iso_mem_fail_at(0);
    CU_ASSERT_EQUAL(status, ISO_OK);
    iso_stage_cut_destroy(&scaled);
    iso_stage_cut_destroy(&cut);
    iso_graph_destroy(&other);
    iso_graph_destroy(&stage);
    expect_nothing_left();
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"all nodes on one worker", test_all_one},
        {"set copies the pieces", test_set_copies},
        {"layouts", test_layouts},
        {"legal cuts", test_legal},
        {"hostile pieces", test_hostile_pieces},
        {"hostile axes", test_hostile_axes},
        {"hostile sizes", test_hostile_sizes},
        {"another batch size", test_rescale},
        {"cuts that another stage does not allow", test_rescale_to_one},
        {"random cuts for another batch size", test_rescale_random},
        {"out of memory", test_out_of_memory},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"stage cut", suite_begin, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
