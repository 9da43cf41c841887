/* Stages are the same for every batch, whatever folds away for some. */
#include "iso_test_memory.h"
#include "plan_model.h"

/* -- stages for any batch -- */

/*
 * x[N,64] reshaped to [1,64 N], which changes nothing for one sample, plus
 * as many sevens, which are few enough to be folded for one sample.
 */
static iso_graph_t *make_shape_arithmetic(void)
{
    iso_graph_t *graph = test_graph();
    iso_node_id_t x = test_input(graph, "x", "N,64");
    iso_dim_t flat[2] = {iso_dim_of(1)};

    CU_ASSERT_EQUAL_FATAL(iso_dim_parse("64*N", &flat[1]), ISO_OK);
    const iso_attr_t size = {"shape", ISO_ATTR_DIMS, 1, {.dims = &flat[1]}};
    const iso_attr_t shape = {"shape", ISO_ATTR_DIMS, 2, {.dims = flat}};
    const iso_attr_t to = {"to", ISO_ATTR_TEXT, 1, {.text = "f32"}};
    int64_t seven = 7;
    const iso_shape_t one = iso_shape_of(1, (const int64_t[]){1});
    iso_tensor_t value;
    iso_node_id_t inputs[3] = {ISO_NO_NODE, ISO_NO_NODE, ISO_NO_NODE};

    CU_ASSERT_EQUAL_FATAL(iso_tensor_view(ISO_DTYPE_I64, &one, &seven, &value),
                          ISO_OK);
    CU_ASSERT_EQUAL_FATAL(
        iso_graph_add_constant(graph, "seven", &value, &inputs[0]), ISO_OK);
    iso_node_id_t sevens =
        test_node(graph, "sevens", ISO_OP_EXPAND, inputs, &size);
    inputs[0] = sevens;
    iso_node_id_t cast = test_node(graph, "cast", ISO_OP_CAST, inputs, &to);
    inputs[0] = x;
    iso_node_id_t reshape =
        test_node(graph, "reshape", ISO_OP_RESHAPE, inputs, &shape);
    iso_node_id_t sum = test_binary(graph, "sum", ISO_OP_ADD, reshape, cast);

    iso_graph_set_layer(graph, sevens, 0);
    iso_graph_set_layer(graph, cast, 0);
    iso_graph_set_layer(graph, reshape, 0);
    iso_graph_set_layer(graph, sum, 1);
    test_output(graph, "y", sum);
    return graph;
}

/* Stages and names are the same, whatever folding finds. */
static void expect_cut(const iso_plan_t *plan, const iso_graph_t *graph,
                       int64_t samples, iso_op_t op_of_cast)
{
    iso_partition_t *partition = NULL;

    CU_ASSERT_EQUAL_FATAL(iso_plan_partition(plan, graph, samples, &partition),
                          ISO_OK);
    CU_ASSERT_EQUAL_FATAL(iso_partition_boundary_count(partition), 2);
    CU_ASSERT_STRING_EQUAL(iso_partition_boundary(partition, 0)->name, "cast");
    CU_ASSERT_STRING_EQUAL(iso_partition_boundary(partition, 1)->name,
                           "reshape");
    const iso_graph_t *first = iso_partition_stage(partition, 0)->graph;
    iso_node_id_t id = iso_graph_find(first, "cast");
    CU_ASSERT_NOT_EQUAL_FATAL(id, ISO_NO_NODE);
    CU_ASSERT_EQUAL(iso_graph_node(first, id)->op, op_of_cast);
    CU_ASSERT_STRING_EQUAL(iso_graph_output(first, 0)->name, "cast");
    iso_partition_destroy(&partition);
}

static void test_partition_is_the_same_for_any_batch(void)
{
    iso_graph_t *graph = make_shape_arithmetic();
    iso_plan_options_t options = {.world = 2, .micro_batch = 100};
    iso_plan_t *plan = make_plan(graph, &options);
    iso_partition_t *partition = NULL;

    expect_cut(plan, graph, 1, ISO_OP_CONSTANT);
    expect_cut(plan, graph, 100, ISO_OP_CAST);
    CU_ASSERT_EQUAL(iso_plan_partition(plan, graph, 0, &partition), ISO_INVAL);
    CU_ASSERT(test_failed_with("0 samples, expected 1 to 100"));
    CU_ASSERT_EQUAL(iso_plan_partition(plan, graph, 101, &partition),
                    ISO_INVAL);
    CU_ASSERT_PTR_NULL(partition);
    iso_plan_destroy(&plan);
    iso_graph_destroy(&graph);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"partition is the same for any batch",
         test_partition_is_the_same_for_any_batch},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"plan cut", NULL, NULL, test_remember_blocks, test_check_blocks,
         tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
