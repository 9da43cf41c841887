#include "base/mem.h"
#include "graph/cost.h"
#include "iso_test_graph.h"

static iso_node_cost_t cost_of(const iso_graph_t *graph, iso_node_id_t node)
{
    iso_node_cost_t cost = {.flops = -1.0};

    CU_ASSERT_EQUAL(iso_node_cost_of(graph, node, &cost), ISO_OK);
    return cost;
}

static iso_node_id_t add(iso_graph_t *graph, iso_op_t op, const char *a,
                         const char *b, const iso_attr_t *attr)
{
    char name[32];
    iso_node_id_t ids[3] = {ISO_NO_NODE, ISO_NO_NODE, ISO_NO_NODE};

    (void)snprintf(name, sizeof name, "a%d", iso_graph_node_count(graph));
    ids[0] = test_input(graph, name, a);
    if (b != NULL) {
        (void)snprintf(name, sizeof name, "b%d", iso_graph_node_count(graph));
        ids[1] = test_param(graph, name, b);
    }
    return test_node(graph, NULL, op, ids, attr);
}

static void test_contractions(void)
{
    const int64_t one = 1;
    const int64_t four = 4;
    int64_t before = iso_mem_count().blocks;
    iso_graph_t *graph = test_graph();
    iso_attr_t groups = {"groups", ISO_ATTR_INTS, 1, {.ints = &four}};
    iso_attr_t trans = {"trans_a", ISO_ATTR_INTS, 1, {.ints = &one}};
    iso_node_cost_t cost;

    /* 8 x 16 x 6 x 6 outputs of 4 x 3 x 3 products */
    cost = cost_of(graph, add(graph, ISO_OP_CONV, "8,4,8,8", "16,4,3,3", NULL));
    CU_ASSERT_EQUAL(cost.flops, 2.0 * 4608.0 * 36.0);
    CU_ASSERT_EQUAL(cost.operand_bytes, 10496);
    CU_ASSERT_EQUAL(cost.output_bytes, 18432);
    cost =
        cost_of(graph, add(graph, ISO_OP_CONV, "8,8,8,8", "8,2,3,3", &groups));
    CU_ASSERT_EQUAL(cost.flops, 2.0 * 2304.0 * 18.0);
    /* each of 1 x 3 x 5 inputs meets 7 x 2 weights */
    cost = cost_of(graph,
                   add(graph, ISO_OP_CONV_TRANSPOSE, "1,3,5", "3,7,2", NULL));
    CU_ASSERT_EQUAL(cost.flops, 2.0 * 15.0 * 14.0);
    cost = cost_of(graph, add(graph, ISO_OP_MATMUL, "5,64,32", "32,16", NULL));
    CU_ASSERT_EQUAL(cost.flops, 2.0 * 5.0 * 64.0 * 16.0 * 32.0);
    cost = cost_of(graph, add(graph, ISO_OP_MATMUL, "32", "32,16", NULL));
    CU_ASSERT_EQUAL(cost.flops, 2.0 * 16.0 * 32.0);
    cost = cost_of(graph, add(graph, ISO_OP_GEMM, "64,32", "32,16", NULL));
    CU_ASSERT_EQUAL(cost.flops, 2.0 * 64.0 * 16.0 * 32.0);
    cost = cost_of(graph, add(graph, ISO_OP_GEMM, "32,64", "32,16", &trans));
    CU_ASSERT_EQUAL(cost.flops, 2.0 * 64.0 * 16.0 * 32.0);
    iso_graph_destroy(&graph);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

static void test_other_classes(void)
{
    const int64_t kernel[2] = {2, 3};
    const int64_t size = 5;
    int64_t before = iso_mem_count().blocks;
    iso_graph_t *graph = test_graph();
    iso_attr_t window = {"kernel", ISO_ATTR_INTS, 2, {.ints = kernel}};
    iso_attr_t local = {"size", ISO_ATTR_INTS, 1, {.ints = &size}};
    iso_node_id_t id = add(graph, ISO_OP_RELU, "3,7", NULL, NULL);

    CU_ASSERT_EQUAL(cost_of(graph, id).flops, 21.0);
    CU_ASSERT_EQUAL(cost_of(graph, id).operand_bytes, 84);
    CU_ASSERT_EQUAL(cost_of(graph, iso_graph_node(graph, id)->inputs[0]).flops,
                    0.0);
    id = add(graph, ISO_OP_ADD, "3,1", "1,5", NULL);
    CU_ASSERT_EQUAL(cost_of(graph, id).flops, 15.0);
    CU_ASSERT_EQUAL(cost_of(graph, id).operand_bytes, 32);
    id = add(graph, ISO_OP_REDUCE_SUM, "3,7", NULL, NULL);
    CU_ASSERT_EQUAL(cost_of(graph, id).flops, 21.0);
    CU_ASSERT_EQUAL(cost_of(graph, id).output_bytes, 4);
    id = add(graph, ISO_OP_SOFTMAX, "3,7", NULL, NULL);
    CU_ASSERT_EQUAL(cost_of(graph, id).flops, 105.0);
    id = add(graph, ISO_OP_LAYER_NORM, "3,7", "7", NULL);
    CU_ASSERT_EQUAL(cost_of(graph, id).flops, 168.0);
    id = add(graph, ISO_OP_LRN, "1,6,2,2", NULL, &local);
    CU_ASSERT_EQUAL(cost_of(graph, id).flops, 13.0 * 24.0);
    id = add(graph, ISO_OP_MAX_POOL, "1,2,4,6", NULL, &window);
    CU_ASSERT_EQUAL(cost_of(graph, id).flops, 6.0 * 2.0 * 3.0 * 4.0);
    id = add(graph, ISO_OP_TRANSPOSE, "3,7", NULL, NULL);
    CU_ASSERT_EQUAL(cost_of(graph, id).flops, 0.0);
    id = add(graph, ISO_OP_RELU, "0,7", NULL, NULL);
    CU_ASSERT_EQUAL(cost_of(graph, id).flops, 0.0);
    CU_ASSERT_EQUAL(cost_of(graph, id).output_bytes, 0);
    iso_graph_destroy(&graph);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

/* A table costs what is taken from it. */
static void test_gather(void)
{
    int64_t before = iso_mem_count().blocks;
    iso_graph_t *graph = test_graph();
    iso_shape_t shape = test_shape("3");
    iso_node_id_t table = test_param(graph, "table", "1000,8");
    iso_node_id_t ids = ISO_NO_NODE;
    iso_node_id_t rows;

    CU_ASSERT_EQUAL(
        iso_graph_add_input(graph, "ids", ISO_DTYPE_I64, &shape, &ids), ISO_OK);
    rows = test_binary(graph, "rows", ISO_OP_GATHER, table, ids);
    CU_ASSERT_EQUAL(cost_of(graph, rows).operand_bytes, (size_t)(96 + 24));
    CU_ASSERT_EQUAL(cost_of(graph, rows).output_bytes, 96);
    iso_graph_destroy(&graph);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

static void test_huge_and_free(void)
{
    int64_t before = iso_mem_count().blocks;
    iso_graph_t *graph = test_graph();
    iso_node_cost_t cost = {.flops = 7.0};
    iso_node_id_t id = add(graph, ISO_OP_MATMUL, "2147483649,3", "3,5", NULL);

    CU_ASSERT_EQUAL(cost_of(graph, id).flops, 30.0 * 2147483649.0);
    CU_ASSERT_EQUAL(cost_of(graph, id).output_bytes,
                    (size_t)20 * (size_t)2147483649);
    id = add(graph, ISO_OP_MATMUL, "N,3", "3,5", NULL);
    CU_ASSERT_EQUAL(iso_node_cost_of(graph, id, &cost), ISO_SHAPE);
    CU_ASSERT_EQUAL(cost.flops, 7.0);
    iso_graph_destroy(&graph);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"contractions", test_contractions},
        {"other classes", test_other_classes},
        {"gather", test_gather},
        {"huge and free", test_huge_and_free},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"cost", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
