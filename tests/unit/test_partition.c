#include "isotome/partition.h"

#include "base/mem.h"
#include "iso_test_call.h"
#include "iso_test_graph.h"
#include "iso_test_memory.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { SEED = 271828, TRIALS = 300, MOST_NODES = 60 };

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

static iso_node_id_t add_constant(iso_graph_t *graph, const char *name)
{
    float element = 0.5F;
    iso_tensor_t value = {.dtype = ISO_DTYPE_F32, .data = &element};
    iso_node_id_t id = ISO_NO_NODE;

    CU_ASSERT_EQUAL_FATAL(iso_graph_add_constant(graph, name, &value, &id),
                          ISO_OK);
    return id;
}

static iso_node_id_t add_node(iso_graph_t *graph, const char *name, iso_op_t op,
                              iso_node_id_t a, iso_node_id_t b, int layer)
{
    const iso_node_id_t inputs[2] = {a, b};
    iso_node_spec_t spec = {.name = name,
                            .op = op,
                            .n_inputs = b == ISO_NO_NODE ? 1 : 2,
                            .inputs = inputs};
    iso_node_id_t id = ISO_NO_NODE;

    CU_ASSERT_EQUAL_FATAL(iso_graph_add(graph, &spec, &id), ISO_OK);
    iso_graph_set_layer(graph, id, layer);
    return id;
}

/* x[2,4] . w1[4,8] + b1[8] -> . w2[8,4] + b2[4] */
static iso_graph_t *make_mlp(void)
{
    iso_graph_t *graph = test_graph();
    iso_node_id_t x = test_input(graph, "x", "2,4");
    iso_node_id_t w1 = test_param(graph, "w1", "4,8");
    iso_node_id_t b1 = test_param(graph, "b1", "8");
    iso_node_id_t w2 = test_param(graph, "w2", "8,4");
    iso_node_id_t b2 = test_param(graph, "b2", "4");
    iso_node_id_t m1 = add_node(graph, "m1", ISO_OP_MATMUL, x, w1, 0);
    iso_node_id_t a1 = add_node(graph, "a1", ISO_OP_ADD, m1, b1, 0);
    iso_node_id_t m2 = add_node(graph, "m2", ISO_OP_MATMUL, a1, w2, 1);
    iso_node_id_t a2 = add_node(graph, "a2", ISO_OP_ADD, m2, b2, 1);

    test_output(graph, "y", a2);
    return graph;
}

static iso_partition_t *cut(const iso_graph_t *graph, int n_stages)
{
    iso_partition_t *partition = NULL;

    CU_ASSERT_EQUAL_FATAL(iso_partition_create(graph, n_stages, &partition),
                          ISO_OK);
    return partition;
}

/* -- what is expected of a stage -- */

/* "b1,w1" of the names. */
static void expect_names(const char **names, int count, const char *text)
{
    char found[256] = "";

    for (int i = 0; i < count; i++) {
        size_t length = strlen(found);
        (void)snprintf(found + length, sizeof found - length, "%s%s",
                       i == 0 ? "" : ",", names[i]);
    }
    CU_ASSERT_STRING_EQUAL(found, text);
}

static void expect_stage(const iso_partition_t *partition, int index,
                         const char *inputs, const char *params)
{
    const iso_stage_t *stage = iso_partition_stage(partition, index);

    expect_names(stage->inputs, stage->n_inputs, inputs);
    expect_names(stage->params, stage->n_params, params);
}

/* "name:[2,8]" of each graph input and output of a stage. */
static void expect_ends(const iso_partition_t *partition, int index,
                        const char *inputs, const char *outputs)
{
    const iso_graph_t *graph = iso_partition_stage(partition, index)->graph;
    char found[512] = "";
    char shape[ISO_SHAPE_TEXT_BYTES];

    for (iso_node_id_t id = 0; id < iso_graph_node_count(graph); id++) {
        const iso_node_t *node = iso_graph_node(graph, id);
        size_t length = strlen(found);
        if (node->op == ISO_OP_INPUT) {
            (void)snprintf(found + length, sizeof found - length, "%s%s:%s",
                           length == 0 ? "" : " ", node->name,
                           iso_shape_text(&node->shape, shape));
        }
    }
    CU_ASSERT_STRING_EQUAL(found, inputs);
    found[0] = '\0';
    for (int i = 0; i < iso_graph_output_count(graph); i++) {
        const iso_output_t *output = iso_graph_output(graph, i);
        const iso_node_t *node = iso_graph_node(graph, output->node);
        size_t length = strlen(found);
        CU_ASSERT_STRING_EQUAL(output->name, node->name);
        (void)snprintf(found + length, sizeof found - length, "%s%s:%s",
                       length == 0 ? "" : " ", node->name,
                       iso_shape_text(&node->shape, shape));
    }
    CU_ASSERT_STRING_EQUAL(found, outputs);
}

/* -- golden -- */

static void test_one_stage_is_the_graph(void)
{
    iso_graph_t *graph = make_mlp();
    iso_partition_t *partition = cut(graph, 1);

    CU_ASSERT_EQUAL(iso_partition_stage_count(partition), 1);
    CU_ASSERT_EQUAL(iso_partition_boundary_count(partition), 0);
    expect_stage(partition, 0, "x", "b1,b2,w1,w2");
    expect_ends(partition, 0, "x:[2,4]", "a2:[2,4]");
    CU_ASSERT_EQUAL(
        iso_graph_node_count(iso_partition_stage(partition, 0)->graph),
        iso_graph_node_count(graph));
    iso_partition_destroy(&partition);
    iso_graph_destroy(&graph);
}

static void test_two_stages(void)
{
    iso_graph_t *graph = make_mlp();
    iso_partition_t *partition = cut(graph, 2);

    expect_stage(partition, 0, "x", "b1,w1");
    expect_ends(partition, 0, "x:[2,4]", "a1:[2,8]");
    expect_stage(partition, 1, "", "b2,w2");
    expect_ends(partition, 1, "a1:[2,8]", "a2:[2,4]");
    CU_ASSERT_EQUAL_FATAL(iso_partition_boundary_count(partition), 1);
    const iso_boundary_t *boundary = iso_partition_boundary(partition, 0);
    CU_ASSERT_STRING_EQUAL(boundary->name, "a1");
    CU_ASSERT_EQUAL(boundary->node, iso_graph_find(graph, "a1"));
    CU_ASSERT_EQUAL(boundary->dtype, ISO_DTYPE_F32);
    CU_ASSERT_EQUAL(boundary->from_stage, 0);
    CU_ASSERT_EQUAL(boundary->to_stage, 1);
    CU_ASSERT_EQUAL(iso_partition_output_stage(partition, 0), 1);
    CU_ASSERT_EQUAL(iso_partition_tied_count(partition), 0);
    iso_partition_destroy(&partition);
    iso_graph_destroy(&graph);
}

static void test_three_stages(void)
{
    iso_graph_t *graph = make_mlp();
    iso_partition_t *partition = cut(graph, 3);

    expect_stage(partition, 0, "x", "b1,w1");
    expect_stage(partition, 1, "", "w2");
    expect_stage(partition, 2, "", "b2");
    expect_ends(partition, 1, "a1:[2,8]", "m2:[2,4]");
    iso_partition_destroy(&partition);
    iso_graph_destroy(&graph);
}

static void test_by_layers(void)
{
    iso_graph_t *graph = make_mlp();
    iso_partition_t *partition = NULL;

    CU_ASSERT_EQUAL_FATAL(iso_partition_create_by_layers(
                              graph, (const int64_t[]){1, 1}, 2, &partition),
                          ISO_OK);
    expect_stage(partition, 0, "x", "b1,w1");
    expect_stage(partition, 1, "", "b2,w2");
    iso_partition_destroy(&partition);
    expect_error(iso_partition_create_by_layers(graph, (const int64_t[]){1, 2},
                                                2, &partition),
                 ISO_INVAL, "stage 1 has 2 layers, expected 1 to 1");
    expect_error(iso_partition_create_by_layers(graph, (const int64_t[]){1}, 1,
                                                &partition),
                 ISO_INVAL, "the stages hold 1 layers, but the graph has 2");
    expect_error(iso_partition_create_by_layers(graph, (const int64_t[]){2, 0},
                                                2, &partition),
                 ISO_INVAL, "stage 1 has 0 layers");
    iso_graph_destroy(&graph);
}

static void test_unmarked_layers(void)
{
    iso_graph_t *graph = test_graph();
    iso_partition_t *partition = NULL;
    iso_node_id_t x = test_input(graph, "x", "2,2");

    (void)add_node(graph, "a", ISO_OP_RELU, x, ISO_NO_NODE, 0);
    (void)add_node(graph, "b", ISO_OP_RELU, x, ISO_NO_NODE, -1);
    expect_error(iso_partition_create_by_layers(graph, (const int64_t[]){1}, 1,
                                                &partition),
                 ISO_INVAL, "node 'b' is in no layer");
    iso_graph_destroy(&graph);
}

/* -- outputs -- */

/* Outputs by stages 0 and 1, a duplicate, and leaves of every kind. */
static void test_outputs_keep_order_and_duplicates(void)
{
    iso_graph_t *graph = test_graph();
    iso_node_id_t x = test_input(graph, "x", "2,2");
    iso_node_id_t unused = test_input(graph, "unused", "3,3");
    iso_node_id_t half = add_constant(graph, "half");
    iso_node_id_t p = test_param(graph, "p", "2,2");
    iso_node_id_t a = add_node(graph, "a", ISO_OP_RELU, x, ISO_NO_NODE, 0);
    iso_node_id_t b = add_node(graph, "b", ISO_OP_ADD, a, p, 1);

    test_output(graph, "last", b);
    test_output(graph, "early", a);
    test_output(graph, "again", b);
    test_output(graph, "input", x);
    test_output(graph, "constant", half);
    test_output(graph, "param", p);
    test_output(graph, "other", unused);
    iso_partition_t *partition = cut(graph, 2);
    const int stages[] = {1, 0, 1, 0, 0, 0, 0};
    for (int i = 0; i < 7; i++) {
        CU_ASSERT_EQUAL(iso_partition_output_stage(partition, i), stages[i]);
    }
    expect_stage(partition, 0, "unused,x", "p");
    expect_ends(partition, 0, "unused:[3,3] x:[2,2]",
                "x:[2,2] unused:[3,3] half:[] p:[2,2] a:[2,2]");
    expect_stage(partition, 1, "", "p");
    expect_ends(partition, 1, "a:[2,2]", "b:[2,2]");
    CU_ASSERT_EQUAL_FATAL(iso_partition_tied_count(partition), 1);
    CU_ASSERT_STRING_EQUAL(iso_partition_tied(partition, 0), "p");
    iso_partition_destroy(&partition);
    iso_graph_destroy(&graph);
}

/* A skip from stage 0 to stage 2 goes there directly; the constant and the
 * tied weight are in both stages that use them. */
static void test_skip_tied_and_constants(void)
{
    iso_graph_t *graph = test_graph();
    iso_node_id_t x = test_input(graph, "x", "4,4");
    iso_node_id_t w = test_param(graph, "w", "4,4");
    iso_node_id_t half = add_constant(graph, "half");
    iso_node_id_t a = add_node(graph, "a", ISO_OP_MATMUL, x, w, 0);
    iso_node_id_t b = add_node(graph, "b", ISO_OP_MUL, a, half, 1);
    iso_node_id_t c = add_node(graph, "c", ISO_OP_MATMUL, b, w, 1);
    iso_node_id_t d = add_node(graph, "d", ISO_OP_ADD, c, a, 2);
    iso_node_id_t e = add_node(graph, "e", ISO_OP_MUL, d, half, 2);
    iso_node_id_t f = add_node(graph, "f", ISO_OP_ADD, e, a, 2);
    iso_partition_t *partition = NULL;

    test_output(graph, "y", f);
    CU_ASSERT_EQUAL_FATAL(iso_partition_create_by_layers(
                              graph, (const int64_t[]){1, 1, 1}, 3, &partition),
                          ISO_OK);
    expect_ends(partition, 0, "x:[4,4]", "a:[4,4]");
    expect_ends(partition, 1, "a:[4,4]", "c:[4,4]");
    expect_ends(partition, 2, "a:[4,4] c:[4,4]", "f:[4,4]");
    CU_ASSERT_EQUAL_FATAL(iso_partition_boundary_count(partition), 3);
    const iso_boundary_t *skip = iso_partition_boundary(partition, 1);
    CU_ASSERT_STRING_EQUAL(skip->name, "a");
    CU_ASSERT(skip->from_stage == 0 && skip->to_stage == 2);
    CU_ASSERT_STRING_EQUAL(iso_partition_boundary(partition, 2)->name, "c");
    CU_ASSERT_EQUAL_FATAL(iso_partition_tied_count(partition), 1);
    CU_ASSERT_STRING_EQUAL(iso_partition_tied(partition, 0), "w");
    for (int stage = 1; stage <= 2; stage++) {
        const iso_graph_t *part = iso_partition_stage(partition, stage)->graph;
        iso_node_id_t id = iso_graph_find(part, "half");
        CU_ASSERT_NOT_EQUAL_FATAL(id, ISO_NO_NODE);
        CU_ASSERT_EQUAL(*(const float *)iso_graph_node(part, id)->data, 0.5F);
    }
    iso_partition_destroy(&partition);
    iso_graph_destroy(&graph);
}

/* Boundaries carry their dtype. */
static void test_boundary_dtype(void)
{
    iso_graph_t *graph = test_graph();
    iso_node_id_t x = test_input(graph, "x", "2,3");
    iso_node_id_t y = test_input(graph, "y", "2,3");
    iso_node_id_t less = add_node(graph, "less", ISO_OP_LESS, x, y, 0);
    iso_node_id_t not =
        add_node(graph, "not", ISO_OP_NOT, less, ISO_NO_NODE, 1);

    test_output(graph, "z", not );
    iso_partition_t *partition = cut(graph, 2);
    CU_ASSERT_EQUAL(iso_partition_boundary(partition, 0)->dtype,
                    ISO_DTYPE_BOOL);
    iso_partition_destroy(&partition);
    iso_graph_destroy(&graph);
}

/* -- errors -- */

static void test_stage_count_errors(void)
{
    iso_graph_t *graph = make_mlp();
    iso_graph_t *leaves = test_graph();
    iso_partition_t *partition = NULL;

    test_output(leaves, "y", test_input(leaves, "x", "1,1"));
    expect_error(iso_partition_create(graph, 5, &partition), ISO_INVAL,
                 "5 stages of a graph with 4 compute nodes");
    expect_error(iso_partition_create(graph, 0, &partition), ISO_INVAL,
                 "0 stages");
    expect_error(iso_partition_create(graph, -7, &partition), ISO_INVAL,
                 "-7 stages");
    expect_error(iso_partition_create(leaves, 1, &partition), ISO_INVAL,
                 "1 stages of a graph with 0 compute nodes");
    CU_ASSERT_PTR_NULL(partition);
    iso_graph_destroy(&leaves);
    iso_graph_destroy(&graph);
}

static void test_assignment_errors(void)
{
    static const struct {
        int stage_of[4]; /* of m1 a1 m2 a2 */
        const char *message;
    } cases[] = {
        {{0, 1, 0, 1}, "node 'm2': stage 0 after stage 1"},
        {{0, 0, 2, 2}, "stage 1 is empty: node 'm2'"},
        {{1, 1, 2, 2}, "stage 0 is empty: node 'm1'"},
        {{0, 0, 1, 1}, "stage 2 is empty"},
        {{0, 1, 2, 3}, "node 'a2': stage 3, expected 0 to 2"},
        {{-1, 1, 2, 2}, "node 'm1': stage -1"},
    };
    iso_graph_t *graph = make_mlp();
    iso_partition_t *partition = NULL;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int stage_of[9] = {99, -5, 99, 99, 99};
        memcpy(stage_of + 5, cases[i].stage_of, sizeof cases[i].stage_of);
        expect_error(iso_partition_create_with(graph, stage_of, 3, &partition),
                     ISO_INVAL, cases[i].message);
    }
    iso_graph_destroy(&graph);
}

static void test_unbound_dim(void)
{
    iso_graph_t *graph = test_graph();
    iso_partition_t *partition = NULL;
    iso_shape_t shape = iso_shape_of(2, (const int64_t[]){0, 4});
    iso_node_id_t x;

    CU_ASSERT_EQUAL_FATAL(iso_dim_parse("N", &shape.dim[0]), ISO_OK);
    CU_ASSERT_EQUAL_FATAL(
        iso_graph_add_input(graph, "x", ISO_DTYPE_F32, &shape, &x), ISO_OK);
    (void)add_node(graph, "a", ISO_OP_RELU, x, ISO_NO_NODE, 0);
    expect_error(iso_partition_create(graph, 1, &partition), ISO_SHAPE,
                 "node 'x': dim 0 of [N,4] is not bound");
    iso_graph_destroy(&graph);
}

/* -- random graphs -- */

static iso_graph_t *random_graph(void)
{
    iso_graph_t *graph = test_graph();
    int n_leaves = 1 + next_random(6);
    int n_nodes = 1 + next_random(MOST_NODES);
    char name[32];

    for (int i = 0; i < n_leaves; i++) {
        (void)snprintf(name, sizeof name, "leaf%d", i);
        if (next_random(2) == 0) {
            (void)test_input(graph, name, "2,2");
        } else {
            (void)test_param(graph, name, "2,2");
        }
    }
    for (int i = 0; i < n_nodes; i++) {
        int count = iso_graph_node_count(graph);
        (void)snprintf(name, sizeof name, "n%d", 997 * i % 1000);
        (void)add_node(graph, name, ISO_OP_ADD, next_random(count),
                       next_random(count), 0);
    }
    for (int i = 0; i < 1 + next_random(5); i++) {
        (void)snprintf(name, sizeof name, "out%d", i);
        test_output(graph, name, next_random(iso_graph_node_count(graph)));
    }
    return graph;
}

/* Which stages have been able to run: run them in order on names alone. */
static bool runs_by_names(const iso_graph_t *graph,
                          const iso_partition_t *partition)
{
    bool known[MOST_NODES + 10] = {false};
    int32_t computed = 0;

    for (iso_node_id_t id = 0; id < iso_graph_node_count(graph); id++) {
        known[id] = iso_graph_node(graph, id)->op == ISO_OP_INPUT;
    }
    for (int s = 0; s < iso_partition_stage_count(partition); s++) {
        const iso_graph_t *stage = iso_partition_stage(partition, s)->graph;
        for (iso_node_id_t id = 0; id < iso_graph_node_count(stage); id++) {
            const iso_node_t *node = iso_graph_node(stage, id);
            iso_node_id_t whole = iso_graph_find(graph, node->name);
            if (whole == ISO_NO_NODE ||
                (node->op == ISO_OP_INPUT && !known[whole])) {
                return false;
            }
            computed += iso_node_is_leaf(node) ? 0 : 1;
        }
        for (int i = 0; i < iso_graph_output_count(stage); i++) {
            known[iso_graph_find(graph, iso_graph_output(stage, i)->name)] =
                true;
        }
    }
    for (int i = 0; i < iso_graph_output_count(graph); i++) {
        const iso_output_t *output = iso_graph_output(graph, i);
        const iso_stage_t *stage = iso_partition_stage(
            partition, iso_partition_output_stage(partition, i));
        const char *name = iso_graph_node(graph, output->node)->name;
        if (!known[output->node] ||
            iso_graph_find(stage->graph, name) == ISO_NO_NODE) {
            return false;
        }
    }
    for (iso_node_id_t id = 0; id < iso_graph_node_count(graph); id++) {
        computed -= iso_node_is_leaf(iso_graph_node(graph, id)) ? 0 : 1;
    }
    return computed == 0;
}

static bool boundaries_in_order(const iso_partition_t *partition)
{
    for (int i = 0; i < iso_partition_boundary_count(partition); i++) {
        const iso_boundary_t *b = iso_partition_boundary(partition, i);
        const iso_boundary_t *a =
            iso_partition_boundary(partition, i == 0 ? 0 : i - 1);
        if (b->from_stage >= b->to_stage || a->to_stage > b->to_stage ||
            (i > 0 && a->to_stage == b->to_stage &&
             (a->from_stage > b->from_stage || a->node >= b->node))) {
            return false;
        }
    }
    return true;
}

static void test_random_graphs(void)
{
    (void)printf("  seed %d\n", SEED);
    for (int trial = 0; trial < TRIALS; trial++) {
        iso_graph_t *graph = random_graph();
        int n_stages = 1 + next_random(8);
        iso_partition_t *partition = NULL;
        iso_status_t status = iso_partition_create(graph, n_stages, &partition);
        if (status == ISO_OK) {
            CU_ASSERT_EQUAL(iso_partition_stage_count(partition), n_stages);
            CU_ASSERT(runs_by_names(graph, partition));
            CU_ASSERT(boundaries_in_order(partition));
        } else {
            expect_error(status, ISO_INVAL, "compute nodes");
        }
        iso_partition_destroy(&partition);
        iso_graph_destroy(&graph);
    }
}

/* -- size -- */

static iso_graph_t *make_chain(int n_nodes)
{
    iso_graph_t *graph = test_graph();
    iso_node_id_t at = test_input(graph, "x", "1,1");

    for (int i = 0; i < n_nodes; i++) {
        at = add_node(graph, NULL, ISO_OP_RELU, at, ISO_NO_NODE, 0);
    }
    test_output(graph, "y", at);
    return graph;
}

static void test_many_nodes(void)
{
    iso_graph_t *graph = make_chain(1000000);
    iso_partition_t *partition = cut(graph, 64);

    CU_ASSERT_EQUAL(iso_partition_boundary_count(partition), 63);
    CU_ASSERT_EQUAL(
        iso_graph_node_count(iso_partition_stage(partition, 63)->graph),
        1000000 / 64 + 1);
    iso_partition_destroy(&partition);
    iso_graph_destroy(&graph);
}

static void test_out_of_memory(void)
{
    iso_graph_t *graph = make_mlp();
    int64_t blocks = iso_mem_count().blocks;
    iso_status_t status = ISO_NOMEM;
    int failures = 0;

    for (int64_t n = 1; status == ISO_NOMEM && n < 1000; n++) {
        iso_partition_t *partition = NULL;
        iso_mem_fail_at(n);
        status = iso_partition_create_by_layers(graph, (const int64_t[]){1, 1},
                                                2, &partition);
        iso_mem_fail_at(0);
        failures += status == ISO_NOMEM ? 1 : 0;
        iso_partition_destroy(&partition);
        CU_ASSERT_EQUAL(iso_mem_count().blocks, blocks);
    }
    CU_ASSERT_EQUAL(status, ISO_OK);
    CU_ASSERT(failures > 10);
    iso_graph_destroy(&graph);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"one stage is the graph", test_one_stage_is_the_graph},
        {"two stages", test_two_stages},
        {"three stages", test_three_stages},
        {"by layers", test_by_layers},
        {"unmarked layers", test_unmarked_layers},
        {"outputs keep order and duplicates",
         test_outputs_keep_order_and_duplicates},
        {"skip, tied and constants", test_skip_tied_and_constants},
        {"boundary dtype", test_boundary_dtype},
        {"stage count errors", test_stage_count_errors},
        {"assignment errors", test_assignment_errors},
        {"unbound dim", test_unbound_dim},
        {"random graphs", test_random_graphs},
        {"many nodes", test_many_nodes},
        {"out of memory", test_out_of_memory},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"partition", NULL, NULL, test_remember_blocks, test_check_blocks,
         tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
