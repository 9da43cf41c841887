#include "base/mem.h"
#include "graph/pass.h"
#include "iso_test_graph.h"

/* x [N,T,4] sliced to [N,P...], flattened and put through w; two free names
 * in shapes, one dim expression in attributes. */
static iso_graph_t *make_graph(void)
{
    iso_graph_t *graph = test_graph();
    iso_node_id_t x = test_input(graph, "x", "N,P+T,4");
    iso_node_id_t w = test_param(graph, "w", "4,8");
    iso_node_id_t y = test_binary(graph, "y", ISO_OP_MATMUL, x, w);
    iso_shape_t shape = test_shape("N,8*P+8*T");
    iso_attr_t attr = {"shape", ISO_ATTR_DIMS, 2, {.dims = shape.dim}};
    iso_node_id_t flat =
        test_node(graph, "flat", ISO_OP_RESHAPE,
                  (const iso_node_id_t[]){y, ISO_NO_NODE, ISO_NO_NODE}, &attr);

    iso_graph_set_layer(graph, y, 0);
    iso_graph_set_layer(graph, flat, 1);
    test_output(graph, "out", flat);
    test_output(graph, "echo", x);
    return graph;
}

static void check_shape(const iso_graph_t *graph, const char *name,
                        const char *shape)
{
    iso_shape_t expected = test_shape(shape);
    iso_node_id_t id = iso_graph_find(graph, name);

    CU_ASSERT_NOT_EQUAL_FATAL(id, ISO_NO_NODE);
    CU_ASSERT(iso_shape_equal(&iso_graph_node(graph, id)->shape, &expected));
}

static void test_bind_all(void)
{
    static const iso_binding_t bindings[] = {{"T", 3}, {"N", 2}, {"P", 1}};
    int64_t before = iso_mem_count().blocks;
    iso_graph_t *graph = make_graph();
    iso_graph_t *bound = NULL;
    const iso_attr_t *attr;

    CU_ASSERT_EQUAL_FATAL(iso_graph_bind(graph, bindings, 3, &bound), ISO_OK);
    iso_graph_destroy(&graph);
    check_shape(bound, "x", "2,4,4");
    check_shape(bound, "w", "4,8");
    check_shape(bound, "y", "2,4,8");
    check_shape(bound, "flat", "2,32");
    attr = iso_node_attr(iso_graph_node(bound, iso_graph_find(bound, "flat")),
                         "shape");
    CU_ASSERT_EQUAL(attr->value.dims[1].size, 32);
    CU_ASSERT_EQUAL(iso_graph_layer_count(bound), 2);
    CU_ASSERT_EQUAL(iso_graph_output_count(bound), 2);
    CU_ASSERT_STRING_EQUAL(iso_graph_output(bound, 1)->name, "echo");
    CU_ASSERT_EQUAL(iso_graph_output(bound, 1)->node, 0);
    for (iso_node_id_t id = 0; id < iso_graph_node_count(bound); id++) {
        CU_ASSERT(iso_shape_is_static(&iso_graph_node(bound, id)->shape));
    }
    iso_graph_destroy(&bound);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

/* Binding in two steps gives the graph of one step; binding nothing gives
 * the same graph. */
static void test_bind_in_steps(void)
{
    static const iso_binding_t all[] = {{"N", 7}, {"P", 5}, {"T", 1}};
    int64_t before = iso_mem_count().blocks;
    iso_graph_t *graph = make_graph();
    iso_graph_t *same = NULL;
    iso_graph_t *once = NULL;
    iso_graph_t *half = NULL;
    iso_graph_t *full = NULL;

    CU_ASSERT_EQUAL_FATAL(iso_graph_bind(graph, NULL, 0, &same), ISO_OK);
    CU_ASSERT_EQUAL(iso_graph_digest(same), iso_graph_digest(graph));
    CU_ASSERT_EQUAL_FATAL(iso_graph_bind(graph, all, 3, &once), ISO_OK);
    CU_ASSERT_EQUAL_FATAL(iso_graph_bind(graph, &all[1], 1, &half), ISO_OK);
    check_shape(half, "flat", "N,8*T+40");
    CU_ASSERT_EQUAL(iso_graph_bind(half, all, 3, &full), ISO_INVAL);
    CU_ASSERT_PTR_NULL(full);
    CU_ASSERT_EQUAL_FATAL(
        iso_graph_bind(half, (const iso_binding_t[]){all[0], all[2]}, 2, &full),
        ISO_OK);
    CU_ASSERT_EQUAL(iso_graph_digest(full), iso_graph_digest(once));
    CU_ASSERT_NOT_EQUAL(iso_graph_digest(half), iso_graph_digest(once));
    iso_graph_destroy(&full);
    iso_graph_destroy(&half);
    iso_graph_destroy(&once);
    iso_graph_destroy(&same);
    iso_graph_destroy(&graph);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

static void check_bind_fails(const iso_binding_t *bindings, int count,
                             iso_status_t expected, const char *text)
{
    iso_graph_t *graph = make_graph();
    iso_graph_t *bound = graph;

    CU_ASSERT_EQUAL(iso_graph_bind(graph, bindings, count, &bound), expected);
    CU_ASSERT_PTR_NULL(bound);
    CU_ASSERT(test_failed_with(text));
    iso_graph_destroy(&graph);
}

static void test_wrong_bindings(void)
{
    int64_t before = iso_mem_count().blocks;
    const iso_binding_t unknown = {"M", 3};
    const iso_binding_t zero = {"N", 0};
    const iso_binding_t negative = {"N", -4};
    const iso_binding_t huge = {"T", INT64_C(1) << 61};
    const iso_binding_t twice[] = {{"N", 1}, {"N", 1}};
    const iso_binding_t many[] = {
        {"N", INT64_C(1) << 32}, {"P", INT64_C(1) << 32}, {"T", 1}};

    check_bind_fails(&unknown, 1, ISO_INVAL, "it has: N, P, T");
    check_bind_fails(&zero, 1, ISO_INVAL, "N is 0, expected at least 1");
    check_bind_fails(&negative, 1, ISO_INVAL, "N is -4");
    check_bind_fails(twice, 2, ISO_INVAL, "N is given twice");
    check_bind_fails(&huge, 1, ISO_INVAL, "'flat'");
    check_bind_fails(many, 3, ISO_SHAPE, "'x'");
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

/* A kernel of 3 needs 3 rows: seen once H is a number, at the node's name. */
static void test_numbers_that_do_not_fit(void)
{
    int64_t before = iso_mem_count().blocks;
    iso_graph_t *graph = test_graph();
    iso_graph_t *bound = NULL;
    iso_node_id_t x = test_input(graph, "x", "1,2,H,8");
    iso_node_id_t w = test_param(graph, "w", "4,2,3,3");
    iso_binding_t binding = {"H", 3};

    (void)test_binary(graph, "conv1", ISO_OP_CONV, x, w);
    CU_ASSERT_EQUAL(iso_graph_bind(graph, &binding, 1, &bound), ISO_OK);
    check_shape(bound, "conv1", "1,4,1,6");
    iso_graph_destroy(&bound);
    binding.size = 2;
    CU_ASSERT_EQUAL(iso_graph_bind(graph, &binding, 1, &bound), ISO_SHAPE);
    CU_ASSERT_PTR_NULL(bound);
    CU_ASSERT(test_failed_with("'conv1'"));
    iso_graph_destroy(&graph);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

/* The end of a slice is a free dim: its length is known once bound. */
static void test_slice_to_a_free_end(void)
{
    int64_t before = iso_mem_count().blocks;
    iso_graph_t *graph = test_graph();
    iso_graph_t *bound = NULL;
    iso_node_id_t table = test_param(graph, "table", "10,4");
    iso_node_id_t x = test_input(graph, "x", "T,4");
    iso_dim_t start = iso_dim_of(0);
    iso_shape_t end = test_shape("T");
    const int64_t axis = 0;
    iso_attr_t attrs[] = {{"starts", ISO_ATTR_DIMS, 1, {.dims = &start}},
                          {"ends", ISO_ATTR_DIMS, 1, {.dims = end.dim}},
                          {"axes", ISO_ATTR_INTS, 1, {.ints = &axis}}};
    iso_node_spec_t spec = {.name = "rows",
                            .op = ISO_OP_SLICE,
                            .n_inputs = 1,
                            .inputs = &table,
                            .n_attrs = 3,
                            .attrs = attrs};
    iso_node_id_t rows = ISO_NO_NODE;
    const iso_binding_t binding = {"T", 3};

    CU_ASSERT_EQUAL_FATAL(iso_graph_add(graph, &spec, &rows), ISO_OK);
    (void)test_binary(graph, "sum", ISO_OP_ADD, rows, x);
    CU_ASSERT_EQUAL_FATAL(iso_graph_bind(graph, &binding, 1, &bound), ISO_OK);
    check_shape(bound, "rows", "3,4");
    check_shape(bound, "sum", "3,4");
    iso_graph_destroy(&bound);
    iso_graph_destroy(&graph);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

static void test_out_of_memory(void)
{
    static const iso_binding_t bindings[] = {{"T", 3}, {"N", 2}, {"P", 1}};
    int64_t before = iso_mem_count().blocks;
    iso_graph_t *graph = make_graph();
    int64_t held = iso_mem_count().blocks;
    int failures = 0;

    for (int64_t n = 1; n < 60; n++) {
        iso_graph_t *bound = NULL;
        iso_status_t status;

        iso_mem_fail_at(n);
        status = iso_graph_bind(graph, bindings, 3, &bound);
        iso_mem_fail_at(0);
        CU_ASSERT(status == ISO_OK || status == ISO_NOMEM);
        failures += status == ISO_NOMEM;
        iso_graph_destroy(&bound);
        CU_ASSERT_EQUAL(iso_mem_count().blocks, held);
    }
    CU_ASSERT(failures > 5 && failures < 59);
    iso_graph_destroy(&graph);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"bind all", test_bind_all},
        {"bind in steps", test_bind_in_steps},
        {"wrong bindings", test_wrong_bindings},
        {"numbers that do not fit", test_numbers_that_do_not_fit},
        {"slice to a free end", test_slice_to_a_free_end},
        {"out of memory", test_out_of_memory},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"graph_bind", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
