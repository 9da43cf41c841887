#include "base/mem.h"
#include "graph/pass.h"
#include "iso_test_graph.h"

static iso_node_id_t add_reshape(iso_graph_t *graph, const char *name,
                                 iso_node_id_t x, const char *shape_text)
{
    iso_shape_t shape = test_shape(shape_text);
    iso_attr_t attr = {"shape", ISO_ATTR_DIMS, shape.rank, {.dims = shape.dim}};

    return test_node(graph, name, ISO_OP_RESHAPE,
                     (const iso_node_id_t[]){x, ISO_NO_NODE, ISO_NO_NODE},
                     &attr);
}

static iso_node_id_t add_transpose(iso_graph_t *graph, const char *name,
                                   iso_node_id_t x, int64_t first)
{
    const int64_t perm[2] = {first, 1 - first};
    iso_attr_t attr = {"perm", ISO_ATTR_INTS, 2, {.ints = perm}};

    return test_node(graph, name, ISO_OP_TRANSPOSE,
                     (const iso_node_id_t[]){x, ISO_NO_NODE, ISO_NO_NODE},
                     &attr);
}

static bool has(const iso_graph_t *graph, const char *name)
{
    return iso_graph_find(graph, name) != ISO_NO_NODE;
}

static void test_dead_nodes_go_and_inputs_stay(void)
{
    int64_t before = iso_mem_count().blocks;
    iso_graph_t *graph = test_graph();
    iso_graph_t *pruned = NULL;
    iso_node_id_t x = test_input(graph, "x", "N,2");
    iso_node_id_t unused = test_input(graph, "unused", "N");
    iso_node_id_t w = test_param(graph, "w", "2");
    iso_node_id_t v = test_param(graph, "v", "2");
    iso_node_id_t dead = test_binary(graph, "dead", ISO_OP_MUL, x, v);
    iso_node_id_t live = test_binary(graph, "live", ISO_OP_ADD, x, w);
    const iso_node_t *node;

    (void)test_unary(graph, "deader", ISO_OP_RELU, dead);
    (void)test_unary(graph, "deadest", ISO_OP_RELU, unused);
    iso_graph_set_layer(graph, live, 5);
    test_output(graph, "out", live);
    CU_ASSERT_EQUAL_FATAL(iso_graph_prune(graph, &pruned), ISO_OK);
    CU_ASSERT_EQUAL(iso_graph_node_count(pruned), 4);
    CU_ASSERT(has(pruned, "x") && has(pruned, "unused") && has(pruned, "w"));
    node = iso_graph_node(pruned, iso_graph_find(pruned, "live"));
    CU_ASSERT_EQUAL(node->inputs[1], iso_graph_find(pruned, "w"));
    CU_ASSERT_EQUAL(node->layer, 5);
    iso_graph_destroy(&graph);
    iso_graph_destroy(&pruned);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

static void test_moves_that_change_nothing(void)
{
    int64_t before = iso_mem_count().blocks;
    iso_graph_t *graph = test_graph();
    iso_graph_t *pruned = NULL;
    iso_node_id_t x = test_input(graph, "x", "N,2");
    iso_node_id_t same = add_reshape(graph, "same", x, "N,2");
    iso_node_id_t kept = add_transpose(graph, "kept", same, 0);
    iso_node_id_t turned = add_transpose(graph, "turned", kept, 1);
    iso_node_id_t flat = add_reshape(graph, "flat", turned, "2*N");

    test_output(graph, "flat", flat);
    test_output(graph, "nothing", kept);
    CU_ASSERT_EQUAL_FATAL(iso_graph_prune(graph, &pruned), ISO_OK);
    CU_ASSERT_EQUAL(iso_graph_node_count(pruned), 3);
    CU_ASSERT(has(pruned, "turned") && has(pruned, "flat"));
    CU_ASSERT_EQUAL(iso_graph_output(pruned, 1)->node, 0);
    CU_ASSERT_STRING_EQUAL(iso_graph_output(pruned, 1)->name, "nothing");
    iso_graph_destroy(&graph);
    iso_graph_destroy(&pruned);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

static void test_empty_and_whole(void)
{
    int64_t before = iso_mem_count().blocks;
    iso_graph_t *graph = test_graph();
    iso_graph_t *pruned = NULL;
    iso_node_id_t x;

    CU_ASSERT_EQUAL_FATAL(iso_graph_prune(graph, &pruned), ISO_OK);
    CU_ASSERT_EQUAL(iso_graph_node_count(pruned), 0);
    iso_graph_destroy(&pruned);
    x = test_input(graph, "x", "N,2");
    test_output(graph, "y", test_unary(graph, "y", ISO_OP_RELU, x));
    CU_ASSERT_EQUAL_FATAL(iso_graph_prune(graph, &pruned), ISO_OK);
    CU_ASSERT_EQUAL(iso_graph_digest(pruned), iso_graph_digest(graph));
    iso_graph_destroy(&pruned);
    for (int64_t n = 1; n < 12; n++) {
        iso_mem_fail_at(n);
        CU_ASSERT_EQUAL(iso_graph_prune(graph, &pruned), ISO_NOMEM);
        CU_ASSERT_PTR_NULL(pruned);
    }
    iso_mem_fail_at(0);
    iso_graph_destroy(&graph);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"dead nodes go and inputs stay", test_dead_nodes_go_and_inputs_stay},
        {"moves that change nothing", test_moves_that_change_nothing},
        {"empty and whole", test_empty_and_whole},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"prune", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
