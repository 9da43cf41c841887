
#include "iso_test_call.h"
#include "iso_test_graph.h"
#include "iso_test_memory.h"
#include "plan/memory_plan.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { SEED = 141421, TRIALS = 400, MOST_NODES = 80 };

static uint64_t random_state = SEED;

static int next_random(int below)
{
    return (int)test_random_int(&random_state, 0, below - 1);
}

static void expect_error(iso_status_t found, iso_status_t expected,
                         const char *text)
{
    CU_ASSERT_EQUAL(found, expected);
    CU_ASSERT(test_failed_with(text));
}

/* -- building -- */

static iso_graph_t *new_graph(void)
{
    iso_graph_t *graph = NULL;

    CU_ASSERT_EQUAL_FATAL(iso_graph_create(&graph), ISO_OK);
    return graph;
}

static iso_node_id_t add_input(iso_graph_t *graph, int64_t size)
{
    iso_shape_t shape = iso_shape_of(1, &size);
    char name[32];
    iso_node_id_t id = ISO_NO_NODE;

    (void)snprintf(name, sizeof name, "x%d", iso_graph_node_count(graph));
    CU_ASSERT_EQUAL_FATAL(
        iso_graph_add_input(graph, name, ISO_DTYPE_F32, &shape, &id), ISO_OK);
    return id;
}

static iso_node_id_t add_node(iso_graph_t *graph, iso_op_t op, int n_inputs,
                              const iso_node_id_t *inputs, int n_attrs,
                              const iso_attr_t *attrs)
{
    iso_node_spec_t spec = {.op = op,
                            .n_inputs = n_inputs,
                            .inputs = inputs,
                            .n_attrs = n_attrs,
                            .attrs = attrs};
    iso_node_id_t id = ISO_NO_NODE;

    CU_ASSERT_EQUAL_FATAL(iso_graph_add(graph, &spec, &id), ISO_OK);
    return id;
}

static iso_node_id_t add_relu(iso_graph_t *graph, iso_node_id_t a)
{
    return add_node(graph, ISO_OP_RELU, 1, &a, 0, NULL);
}

static iso_node_id_t add_concat(iso_graph_t *graph, iso_node_id_t a,
                                iso_node_id_t b)
{
    const int64_t axis = 0;
    const iso_attr_t attr = {
        .name = "axis", .kind = ISO_ATTR_INTS, .count = 1, .value.ints = &axis};

    return add_node(graph, ISO_OP_CONCAT, 2, (const iso_node_id_t[]){a, b}, 1,
                    &attr);
}

static iso_node_id_t add_reshape(iso_graph_t *graph, iso_node_id_t a)
{
    iso_dim_t size =
        iso_dim_of(iso_shape_count(&iso_graph_node(graph, a)->shape));
    const iso_attr_t attr = {.name = "shape",
                             .kind = ISO_ATTR_DIMS,
                             .count = 1,
                             .value.dims = &size};

    return add_node(graph, ISO_OP_RESHAPE, 1, &a, 1, &attr);
}

static void add_output(iso_graph_t *graph, iso_node_id_t id)
{
    char name[32];

    (void)snprintf(name, sizeof name, "y%d", iso_graph_output_count(graph));
    CU_ASSERT_EQUAL_FATAL(iso_graph_add_output(graph, name, id), ISO_OK);
}

static iso_memory_plan_t make_plan(const iso_graph_t *graph)
{
    iso_memory_plan_t plan = {0};

    CU_ASSERT_EQUAL_FATAL(iso_memory_plan_create(graph, NULL, &plan), ISO_OK);
    CU_ASSERT_EQUAL(iso_memory_plan_check(graph, NULL, &plan), ISO_OK);
    return plan;
}

/* -- by hand -- */

/* However long a chain is, two places are enough. */
static void test_chain_takes_two_places(void)
{
    iso_graph_t *graph = new_graph();
    iso_node_id_t at = add_input(graph, 1000);

    for (int i = 0; i < 50; i++) {
        at = add_relu(graph, at);
    }
    add_output(graph, at);
    iso_memory_plan_t plan = make_plan(graph);
    /* 4000 B are 63 lines of 64 B. */
    CU_ASSERT_EQUAL(plan.total_bytes, (size_t)2 * 63 * 64);
    CU_ASSERT_EQUAL(plan.offset_bytes[0], ISO_MEMORY_NONE);
    iso_memory_plan_free(&plan);
    iso_graph_destroy(&graph);
}

static void test_leaves_alone(void)
{
    iso_graph_t *graph = new_graph();
    iso_graph_t *empty = new_graph();

    add_output(graph, add_input(graph, 5));
    iso_memory_plan_t plan = make_plan(graph);
    CU_ASSERT_EQUAL(plan.total_bytes, 0);
    CU_ASSERT_EQUAL(plan.offset_bytes[0], ISO_MEMORY_NONE);
    CU_ASSERT_EQUAL(plan.alias[0], ISO_NO_NODE);
    iso_memory_plan_free(&plan);
    plan = make_plan(empty);
    CU_ASSERT_EQUAL(plan.total_bytes, 0);
    iso_memory_plan_free(&plan);
    iso_graph_destroy(&empty);
    iso_graph_destroy(&graph);
}

/* A reshape keeps its operand's bytes alive until its own last use, also
 * through a chain. */
static void test_reshape_shares(void)
{
    iso_graph_t *graph = new_graph();
    iso_node_id_t x = add_input(graph, 16);
    iso_node_id_t a = add_relu(graph, x);
    iso_node_id_t r1 = add_reshape(graph, a);
    iso_node_id_t r2 = add_reshape(graph, r1);
    iso_node_id_t b = add_relu(graph, x);
    iso_node_id_t c = add_concat(graph, b, r2);
    iso_node_id_t d = add_relu(graph, x);

    add_output(graph, c);
    add_output(graph, d);
    iso_memory_plan_t plan = make_plan(graph);
    CU_ASSERT_EQUAL(plan.alias[r1], a);
    CU_ASSERT_EQUAL(plan.alias[r2], a);
    CU_ASSERT_EQUAL(plan.offset_bytes[r2], plan.offset_bytes[a]);
    CU_ASSERT_NOT_EQUAL(plan.offset_bytes[b], plan.offset_bytes[a]);
    /* a, b and c are alive at once; d takes the place of a or b. */
    CU_ASSERT_EQUAL(plan.total_bytes, 64 + 64 + 128);
    iso_memory_plan_free(&plan);
    iso_graph_destroy(&graph);
}

static void test_reshape_of_a_leaf(void)
{
    iso_graph_t *graph = new_graph();
    iso_node_id_t x = add_input(graph, 16);
    iso_node_id_t r1 = add_reshape(graph, x);
    iso_node_id_t r2 = add_reshape(graph, r1);

    add_output(graph, r2);
    iso_memory_plan_t plan = make_plan(graph);
    CU_ASSERT_EQUAL(plan.alias[r1], x);
    CU_ASSERT_EQUAL(plan.alias[r2], x);
    CU_ASSERT_EQUAL(plan.offset_bytes[r2], ISO_MEMORY_NONE);
    CU_ASSERT_EQUAL(plan.total_bytes, 0);
    iso_memory_plan_free(&plan);
    iso_graph_destroy(&graph);
}

/* An output keeps its bytes to the end, and so does what it is an alias of. */
static void test_outputs_stay(void)
{
    iso_graph_t *graph = new_graph();
    iso_node_id_t x = add_input(graph, 16);
    iso_node_id_t a = add_relu(graph, x);
    iso_node_id_t r = add_reshape(graph, a);
    iso_node_id_t b = add_relu(graph, r);
    iso_node_id_t c = add_relu(graph, b);
    iso_node_id_t d = add_relu(graph, c);

    add_output(graph, d);
    add_output(graph, r);
    iso_memory_plan_t plan = make_plan(graph);
    for (iso_node_id_t id = b; id <= d; id++) {
        CU_ASSERT_NOT_EQUAL(plan.offset_bytes[id], plan.offset_bytes[a]);
    }
    CU_ASSERT_EQUAL(plan.total_bytes, (size_t)3 * 64);
    iso_memory_plan_free(&plan);
    iso_graph_destroy(&graph);
}

/* A value that nothing uses needs a place while it is made, not longer. */
static void test_unused_value(void)
{
    iso_graph_t *graph = new_graph();
    iso_node_id_t x = add_input(graph, 16);
    iso_node_id_t a = add_relu(graph, x);
    iso_node_id_t dead = add_relu(graph, a);
    iso_node_id_t b = add_relu(graph, a);

    add_output(graph, b);
    iso_memory_plan_t plan = make_plan(graph);
    CU_ASSERT_EQUAL(plan.offset_bytes[dead], plan.offset_bytes[b]);
    CU_ASSERT_NOT_EQUAL(plan.offset_bytes[dead], plan.offset_bytes[a]);
    iso_memory_plan_free(&plan);
    iso_graph_destroy(&graph);
}

static void test_empty_value(void)
{
    iso_graph_t *graph = new_graph();
    iso_node_id_t a = add_relu(graph, add_input(graph, 0));

    add_output(graph, a);
    iso_memory_plan_t plan = make_plan(graph);
    CU_ASSERT_EQUAL(plan.offset_bytes[a], 0);
    CU_ASSERT_EQUAL(plan.total_bytes, 64);
    iso_memory_plan_free(&plan);
    iso_graph_destroy(&graph);
}

/* -- errors -- */

static void test_unbound_dim(void)
{
    iso_graph_t *graph = new_graph();
    iso_shape_t shape = {.rank = 1};
    iso_memory_plan_t plan;
    iso_node_id_t x;

    CU_ASSERT_EQUAL_FATAL(iso_dim_parse("N", &shape.dim[0]), ISO_OK);
    CU_ASSERT_EQUAL_FATAL(
        iso_graph_add_input(graph, "x", ISO_DTYPE_F32, &shape, &x), ISO_OK);
    (void)add_relu(graph, x);
    expect_error(iso_memory_plan_create(graph, NULL, &plan), ISO_SHAPE,
                 "relu_0");
    CU_ASSERT_PTR_NULL(plan.offset_bytes);
    iso_graph_destroy(&graph);
}

/* More than 2^63 bytes alive at once: each value has 2^60 of them. */
static void test_too_many_bytes(void)
{
    iso_graph_t *graph = new_graph();
    iso_node_id_t x = add_input(graph, INT64_C(1) << 58);
    iso_memory_plan_t plan;

    for (int i = 0; i < 9; i++) {
        add_output(graph, add_relu(graph, x));
    }
    expect_error(iso_memory_plan_create(graph, NULL, &plan), ISO_SHAPE,
                 "take more than 9223372036854775807 bytes");
    iso_graph_destroy(&graph);
}

/* The check sees what a wrong plan does. */
static void test_check_finds_damage(void)
{
    iso_graph_t *graph = new_graph();
    iso_node_id_t x = add_input(graph, 16);
    iso_node_id_t a = add_relu(graph, x);
    iso_node_id_t b = add_relu(graph, a);
    iso_memory_plan_t plan;

    add_output(graph, b);
    plan = make_plan(graph);
    const int64_t right = plan.offset_bytes[b];
    plan.offset_bytes[b] = plan.offset_bytes[a];
    expect_error(iso_memory_plan_check(graph, NULL, &plan), ISO_INTERNAL,
                 "overlap");
    plan.offset_bytes[b] = right + 1;
    expect_error(iso_memory_plan_check(graph, NULL, &plan), ISO_INTERNAL,
                 "outside");
    plan.offset_bytes[b] = (int64_t)plan.total_bytes;
    expect_error(iso_memory_plan_check(graph, NULL, &plan), ISO_INTERNAL,
                 "outside");
    plan.offset_bytes[b] = ISO_MEMORY_NONE;
    expect_error(iso_memory_plan_check(graph, NULL, &plan), ISO_INTERNAL,
                 "offset -1");
    plan.offset_bytes[b] = right;
    plan.alias[b] = a;
    expect_error(iso_memory_plan_check(graph, NULL, &plan), ISO_INTERNAL,
                 "alias");
    plan.alias[b] = ISO_NO_NODE;
    plan.n_nodes--;
    expect_error(iso_memory_plan_check(graph, NULL, &plan), ISO_INTERNAL,
                 "nodes");
    iso_memory_plan_free(&plan);
    iso_graph_destroy(&graph);
}

/* -- random graphs -- */

static iso_graph_t *random_graph(void)
{
    iso_graph_t *graph = new_graph();
    int n_nodes = 1 + next_random(MOST_NODES);

    for (int i = 0; i < 1 + next_random(3); i++) {
        (void)add_input(graph, next_random(200));
    }
    for (int i = 0; i < n_nodes; i++) {
        int count = iso_graph_node_count(graph);
        int back = 1 + next_random(count < 10 ? count : 10);
        iso_node_id_t a = count - back;
        int64_t size = iso_shape_count(&iso_graph_node(graph, a)->shape);
        switch (next_random(4)) {
        case 0:
            (void)add_reshape(graph, a);
            break;
        case 1:
            (void)(size < 100000 ? add_concat(graph, a, next_random(count))
                                 : add_relu(graph, 0));
            break;
        default:
            (void)add_relu(graph, a);
            break;
        }
    }
    for (int i = 0; i < 1 + next_random(4); i++) {
        add_output(graph, next_random(iso_graph_node_count(graph)));
    }
    return graph;
}

static void test_random_graphs(void)
{
    (void)printf("  seed %d\n", SEED);
    for (int trial = 0; trial < TRIALS; trial++) {
        iso_graph_t *graph = random_graph();
        iso_memory_plan_t plan = make_plan(graph);
        iso_memory_plan_free(&plan);
        iso_graph_destroy(&graph);
    }
}

/* 100,000 nodes whose lives are long and of many sizes. */
static void test_many_nodes(void)
{
    enum { NODES = 100000, WINDOW = 1000 };
    iso_graph_t *graph = new_graph();

    for (int i = 0; i < 300; i++) {
        (void)add_input(graph, 1 + 7 * i);
    }
    for (int i = 0; i < NODES; i++) {
        int count = iso_graph_node_count(graph);
        (void)add_relu(graph, i < WINDOW ? next_random(300)
                                         : count - 1 - next_random(WINDOW));
    }
    iso_memory_plan_t plan = make_plan(graph);
    iso_memory_plan_free(&plan);
    iso_graph_destroy(&graph);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"chain takes two places", test_chain_takes_two_places},
        {"leaves alone", test_leaves_alone},
        {"reshape shares", test_reshape_shares},
        {"reshape of a leaf", test_reshape_of_a_leaf},
        {"outputs stay", test_outputs_stay},
        {"unused value", test_unused_value},
        {"empty value", test_empty_value},
        {"unbound dim", test_unbound_dim},
        {"too many bytes", test_too_many_bytes},
        {"check finds damage", test_check_finds_damage},
        {"random graphs", test_random_graphs},
        {"many nodes", test_many_nodes},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"memory_plan", NULL, NULL, test_remember_blocks, test_check_blocks,
         tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
