#include "base/mem.h"
#include "graph/pass.h"
#include "graph_text.h"
#include "iso_test.h"
#include "iso_test_graph.h"
#include "iso_test_memory.h"

static iso_graph_t *network(void)
{
    iso_graph_t *graph = test_graph();

    CU_ASSERT_EQUAL_FATAL(graph_text_add(graph,
                                         "x = input f32[2,2]\n"
                                         "a = relu(x)\n"
                                         "b = abs(x)\n"
                                         "c = sub(a, b)\n"
                                         "return c\n",
                                         NULL),
                          ISO_OK);
    return graph;
}

static void test_reorder(void)
{
    iso_graph_t *graph = network();
    iso_graph_t *found = NULL;

    iso_graph_set_layer(graph, 2, 7);
    CU_ASSERT_EQUAL_FATAL(
        iso_graph_reorder(graph, (const iso_node_id_t[]){0, 2, 1, 3}, &found),
        ISO_OK);
    CU_ASSERT_STRING_EQUAL(iso_graph_node(found, 1)->name, "b");
    CU_ASSERT_EQUAL(iso_graph_node(found, 1)->layer, 7);
    CU_ASSERT_STRING_EQUAL(iso_graph_node(found, 2)->name, "a");
    CU_ASSERT_EQUAL(iso_graph_node(found, 3)->inputs[0], 2);
    CU_ASSERT_EQUAL(iso_graph_node(found, 3)->inputs[1], 1);
    CU_ASSERT_EQUAL(iso_graph_output(found, 0)->node, 3);
    iso_graph_destroy(&found);
    iso_graph_destroy(&graph);
}

static void test_reorder_errors(void)
{
    static const struct {
        iso_node_id_t order[4];
        const char *message;
    } cases[] = {
        {{0, 3, 1, 2}, "node 'c' comes before its operand 0"},
        {{0, 1, 3, 2}, "node 'c' comes before its operand 1"},
        {{1, 0, 2, 3}, "node 'a' comes before its operand 0"},
        {{0, 1, 1, 3}, "node 'a' comes twice"},
        {{0, 0, 1, 2}, "node 'x' comes twice"},
        {{0, 1, 2, 2}, "node 'b' comes twice"},
    };
    iso_graph_t *graph = network();

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        iso_graph_t *found = NULL;

        CU_ASSERT_EQUAL(iso_graph_reorder(graph, cases[i].order, &found),
                        ISO_INVAL);
        CU_ASSERT(test_failed_with(cases[i].message));
        CU_ASSERT_PTR_NULL(found);
    }
    iso_graph_destroy(&graph);
}

/* The same order gives the same graph. */
static void test_same_order(void)
{
    iso_graph_t *graph = network();
    iso_graph_t *found = NULL;

    CU_ASSERT_EQUAL_FATAL(
        iso_graph_reorder(graph, (const iso_node_id_t[]){0, 1, 2, 3}, &found),
        ISO_OK);
    CU_ASSERT_EQUAL(iso_graph_digest(found), iso_graph_digest(graph));
    iso_graph_destroy(&found);
    iso_graph_destroy(&graph);
}

static void test_out_of_memory(void)
{
    iso_graph_t *graph = network();
    const int64_t blocks = iso_mem_count().blocks;
    iso_status_t status = ISO_NOMEM;
    int failures = 0;

    for (int64_t n = 1; status == ISO_NOMEM && n < 100; n++) {
        iso_graph_t *found = NULL;

        iso_mem_fail_at(n);
        status = iso_graph_reorder(graph, (const iso_node_id_t[]){0, 2, 1, 3},
                                   &found);
        iso_mem_fail_at(0);
        failures += status == ISO_NOMEM ? 1 : 0;
        CU_ASSERT_EQUAL(status == ISO_OK, found != NULL);
        iso_graph_destroy(&found);
        CU_ASSERT_EQUAL(iso_mem_count().blocks, blocks);
    }
    CU_ASSERT_EQUAL(status, ISO_OK);
    CU_ASSERT(failures > 2);
    iso_graph_destroy(&graph);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"another order", test_reorder},
        {"the same order", test_same_order},
        {"orders that are none", test_reorder_errors},
        {"out of memory", test_out_of_memory},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"reorder", NULL, NULL, test_remember_blocks, test_check_blocks, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
