#include "base/mem.h"
#include "iso_test_graph.h"

#include <math.h>

static void test_build_and_read(void)
{
    int64_t before = iso_mem_count().blocks;
    iso_graph_t *graph = test_graph();
    iso_node_id_t x = test_input(graph, "x", "N,4");
    iso_node_id_t w = test_param(graph, "w", "4,8");
    iso_node_id_t y = test_binary(graph, "y", ISO_OP_MATMUL, x, w);
    const iso_node_t *node = iso_graph_node(graph, y);
    iso_shape_t expected = test_shape("N,8");

    test_output(graph, "out", y);
    test_output(graph, "again", y);
    test_output(graph, "leaf", x);
    CU_ASSERT_EQUAL(iso_graph_node_count(graph), 3);
    CU_ASSERT_STRING_EQUAL(node->name, "y");
    CU_ASSERT_EQUAL(node->op, ISO_OP_MATMUL);
    CU_ASSERT_EQUAL(node->dtype, ISO_DTYPE_F32);
    CU_ASSERT(iso_shape_equal(&node->shape, &expected));
    CU_ASSERT_EQUAL(node->n_inputs, 2);
    CU_ASSERT_EQUAL(node->inputs[1], w);
    CU_ASSERT_PTR_NULL(node->data);
    CU_ASSERT_FALSE(iso_node_is_leaf(node));
    CU_ASSERT(iso_node_is_leaf(iso_graph_node(graph, w)));
    CU_ASSERT_EQUAL(iso_graph_node(graph, w)->layer, -1);
    CU_ASSERT_EQUAL(iso_graph_find(graph, "w"), w);
    CU_ASSERT_EQUAL(iso_graph_find(graph, "none"), ISO_NO_NODE);
    CU_ASSERT_EQUAL(iso_graph_output_count(graph), 3);
    CU_ASSERT_STRING_EQUAL(iso_graph_output(graph, 1)->name, "again");
    CU_ASSERT_EQUAL(iso_graph_output(graph, 2)->node, x);
    iso_graph_destroy(&graph);
    CU_ASSERT_PTR_NULL(graph);
    iso_graph_destroy(&graph);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

static void test_constants_are_copied(void)
{
    int64_t before = iso_mem_count().blocks;
    iso_graph_t *graph = test_graph();
    float values[3] = {1.0F, -0.0F, 3.0F};
    iso_tensor_t tensor = {ISO_DTYPE_F32, 1, {3}, values};
    iso_tensor_t empty = {ISO_DTYPE_F32, 1, {0}, NULL};
    iso_tensor_t lost = {ISO_DTYPE_F32, 1, {3}, NULL};
    iso_tensor_t huge = {
        ISO_DTYPE_F64, 2, {INT64_C(1) << 40, INT64_C(1) << 40}, values};
    iso_node_id_t c = ISO_NO_NODE;
    iso_node_id_t e = ISO_NO_NODE;
    const float *data;

    CU_ASSERT_EQUAL(iso_graph_add_constant(graph, "c", &tensor, &c), ISO_OK);
    memset(values, 0, sizeof values);
    data = iso_graph_node(graph, c)->data;
    CU_ASSERT_EQUAL(data[0], 1.0F);
    CU_ASSERT(signbit(data[1]) != 0);
    CU_ASSERT_EQUAL(iso_graph_add_constant(graph, "e", &empty, &e), ISO_OK);
    CU_ASSERT_PTR_NOT_NULL(iso_graph_node(graph, e)->data);
    CU_ASSERT_EQUAL(iso_graph_add_constant(graph, "l", &lost, &e), ISO_INVAL);
    CU_ASSERT_EQUAL(iso_graph_add_constant(graph, "h", &huge, &e), ISO_SHAPE);
    CU_ASSERT_EQUAL(iso_graph_node_count(graph), 2);
    iso_graph_destroy(&graph);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

/* -- errors -- */

static void check_spec_fails(iso_graph_t *graph, const iso_node_spec_t *spec,
                             const char *text)
{
    int32_t count = iso_graph_node_count(graph);
    uint64_t digest = iso_graph_digest(graph);
    iso_node_id_t id = ISO_NO_NODE;

    CU_ASSERT_EQUAL(iso_graph_add(graph, spec, &id), ISO_INVAL);
    CU_ASSERT(test_failed_with(text));
    CU_ASSERT_EQUAL(id, ISO_NO_NODE);
    CU_ASSERT_EQUAL(iso_graph_node_count(graph), count);
    CU_ASSERT_EQUAL(iso_graph_digest(graph), digest);
}

/* A node on x (node 0) and three times second. */
static void check_inputs_fail(iso_graph_t *graph, iso_op_t op, int n_inputs,
                              iso_node_id_t second, const char *text)
{
    const iso_node_id_t ids[] = {0, second, second, second};
    const iso_node_spec_t spec = {
        .name = "y", .op = op, .n_inputs = n_inputs, .inputs = ids};

    check_spec_fails(graph, &spec, text);
}

static void test_wrong_inputs(void)
{
    int64_t before = iso_mem_count().blocks;
    iso_graph_t *graph = test_graph();

    (void)test_input(graph, "x", "2,2");
    check_inputs_fail(graph, ISO_OP_ADD, 0, 0, "0 inputs, expected 2");
    check_inputs_fail(graph, ISO_OP_ADD, -1, 0, "-1 inputs");
    check_inputs_fail(graph, ISO_OP_ADD, 3, 0, "3 inputs");
    check_inputs_fail(graph, ISO_OP_CONV, 4, 0, "4 inputs, expected 2 to 3");
    check_inputs_fail(graph, ISO_OP_CONCAT, 0, 0, "expected at least 1");
    check_inputs_fail(graph, ISO_OP_ADD, 2, ISO_NO_NODE, "input 1 is required");
    check_inputs_fail(graph, ISO_OP_CONCAT, 2, ISO_NO_NODE,
                      "input 1 is required");
    check_inputs_fail(graph, ISO_OP_ADD, 2, 1, "input 1 is node 1");
    check_inputs_fail(graph, ISO_OP_ADD, 2, 1 << 30, "'y' (add)");
    check_inputs_fail(graph, ISO_OP_ADD, 2, -2, "input 1 is node -2");
    iso_graph_destroy(&graph);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

static void test_wrong_ops(void)
{
    int64_t before = iso_mem_count().blocks;
    iso_graph_t *graph = test_graph();
    iso_node_id_t x = test_input(graph, "x", "2,2");
    iso_node_spec_t spec = {.name = "y", .n_inputs = 1, .inputs = &x};

    spec.op = ISO_OP_COUNT;
    check_spec_fails(graph, &spec, "is not known");
    spec.op = (iso_op_t)-5;
    check_spec_fails(graph, &spec, "is not known");
    spec.op = ISO_OP_PARAM;
    check_spec_fails(graph, &spec, "leaf");
    spec.op = ISO_OP_RELU;
    spec.name = "x";
    check_spec_fails(graph, &spec, "'x' is taken by node 0 (input)");
    spec.name = "";
    check_spec_fails(graph, &spec, "not empty");
    iso_graph_destroy(&graph);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

static void check_attrs_fail(iso_graph_t *graph, iso_op_t op, int n_attrs,
                             const iso_attr_t *attrs, const char *text)
{
    const iso_node_id_t x = 0;
    const iso_node_spec_t spec = {.name = "y",
                                  .op = op,
                                  .n_inputs = 1,
                                  .inputs = &x,
                                  .n_attrs = n_attrs,
                                  .attrs = attrs};

    check_spec_fails(graph, &spec, text);
}

static void test_wrong_attributes(void)
{
    static const double numbers[] = {1.0, NAN};
    int64_t before = iso_mem_count().blocks;
    iso_graph_t *graph = test_graph();
    const iso_shape_t shape = test_shape("N,M");
    const iso_attr_t alpha[] = {
        {"alpha", ISO_ATTR_FLOATS, 1, {.floats = numbers}},
        {"alpha", ISO_ATTR_FLOATS, 1, {.floats = numbers}}};
    const iso_attr_t misspelt = {
        "alhpa", ISO_ATTR_FLOATS, 1, {.floats = numbers}};
    const iso_attr_t nameless = {NULL, ISO_ATTR_FLOATS, 1, {.floats = numbers}};
    const iso_attr_t negative = {
        "alpha", ISO_ATTR_FLOATS, -1, {.floats = numbers}};
    const iso_attr_t nan = {"alpha", ISO_ATTR_FLOATS, 2, {.floats = numbers}};
    const iso_attr_t textless = {"to", ISO_ATTR_TEXT, 1, {.text = NULL}};
    const iso_attr_t unknown = {"shape", ISO_ATTR_DIMS, 2, {.dims = shape.dim}};

    (void)test_input(graph, "x", "N,2");
    check_attrs_fail(graph, ISO_OP_ELU, 1, &misspelt, "did you mean 'alpha'?");
    check_attrs_fail(graph, ISO_OP_ELU, 1, &nameless, "is not known");
    check_attrs_fail(graph, ISO_OP_ELU, 2, alpha, "given twice");
    check_attrs_fail(graph, ISO_OP_ELU, 1, &negative, "is empty");
    check_attrs_fail(graph, ISO_OP_ELU, 1, &nan, "not a number");
    check_attrs_fail(graph, ISO_OP_CAST, 1, &textless, "is empty");
    check_attrs_fail(graph, ISO_OP_RESHAPE, 1, &unknown,
                     "size 'M', which no input's shape has");
    iso_graph_destroy(&graph);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

static void test_wrong_leaves(void)
{
    int64_t before = iso_mem_count().blocks;
    iso_graph_t *graph = test_graph();
    iso_shape_t shape = test_shape("2");
    iso_shape_t wrong = {.rank = ISO_MAX_RANK + 1};
    iso_node_id_t id = ISO_NO_NODE;
    const iso_dtype_t f32 = ISO_DTYPE_F32;

    CU_ASSERT_EQUAL(iso_graph_add_input(graph, "", f32, &shape, &id),
                    ISO_INVAL);
    CU_ASSERT_EQUAL(iso_graph_add_input(graph, NULL, f32, &shape, &id),
                    ISO_INVAL);
    CU_ASSERT_EQUAL(
        iso_graph_add_input(graph, "x", ISO_DTYPE_COUNT, &shape, &id),
        ISO_INVAL);
    CU_ASSERT_EQUAL(iso_graph_add_input(graph, "x", f32, &wrong, &id),
                    ISO_INVAL);
    wrong.rank = -1;
    CU_ASSERT_EQUAL(iso_graph_add_input(graph, "x", f32, &wrong, &id),
                    ISO_INVAL);
    shape.dim[0].size = -1;
    CU_ASSERT_EQUAL(iso_graph_add_input(graph, "x", f32, &shape, &id),
                    ISO_SHAPE);
    shape = test_shape("N");
    CU_ASSERT_EQUAL(iso_graph_add_param(graph, "w", f32, &shape, &id),
                    ISO_SHAPE);
    CU_ASSERT(test_failed_with("'w': shape [N], expected numbers"));
    shape = test_shape("4294967296,4294967296");
    CU_ASSERT_EQUAL(iso_graph_add_param(graph, "w", f32, &shape, &id),
                    ISO_SHAPE);
    CU_ASSERT_EQUAL(iso_graph_node_count(graph), 0);
    iso_graph_destroy(&graph);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

static void test_wrong_outputs(void)
{
    int64_t before = iso_mem_count().blocks;
    iso_graph_t *graph = test_graph();
    iso_node_id_t x = test_input(graph, "x", "2");

    test_output(graph, "y", x);
    CU_ASSERT_EQUAL(iso_graph_add_output(graph, "y", x), ISO_INVAL);
    CU_ASSERT_EQUAL(iso_graph_add_output(graph, "", x), ISO_INVAL);
    CU_ASSERT_EQUAL(iso_graph_add_output(graph, NULL, x), ISO_INVAL);
    CU_ASSERT_EQUAL(iso_graph_add_output(graph, "z", 1), ISO_INVAL);
    CU_ASSERT_EQUAL(iso_graph_add_output(graph, "z", -1), ISO_INVAL);
    CU_ASSERT_EQUAL(iso_graph_output_count(graph), 1);
    iso_graph_destroy(&graph);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

/* -- names, layers, free dims -- */

static void test_nodes_without_names(void)
{
    int64_t before = iso_mem_count().blocks;
    iso_graph_t *graph = test_graph();
    iso_node_id_t x = test_input(graph, "relu_0", "2");
    iso_node_id_t a = test_unary(graph, NULL, ISO_OP_RELU, x);
    iso_node_id_t b = test_unary(graph, NULL, ISO_OP_RELU, a);

    CU_ASSERT_STRING_EQUAL(iso_graph_node(graph, a)->name, "relu_1");
    CU_ASSERT_STRING_EQUAL(iso_graph_node(graph, b)->name, "relu_2");
    iso_graph_destroy(&graph);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

static void test_layers(void)
{
    int64_t before = iso_mem_count().blocks;
    iso_graph_t *graph = test_graph();
    iso_node_id_t x = test_input(graph, "x", "2");
    iso_node_id_t a = test_unary(graph, "a", ISO_OP_RELU, x);
    iso_node_id_t b = test_unary(graph, "b", ISO_OP_RELU, a);
    uint64_t digest = iso_graph_digest(graph);

    CU_ASSERT_EQUAL(iso_graph_layer_count(graph), 0);
    iso_graph_set_layer(graph, a, 0);
    iso_graph_set_layer(graph, b, 3);
    CU_ASSERT_EQUAL(iso_graph_layer_count(graph), 4);
    CU_ASSERT_NOT_EQUAL(iso_graph_digest(graph), digest);
    iso_graph_set_layer(graph, a, -1);
    iso_graph_set_layer(graph, b, -1);
    CU_ASSERT_EQUAL(iso_graph_digest(graph), digest);
    iso_graph_destroy(&graph);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

static void test_free_dims(void)
{
    int64_t before = iso_mem_count().blocks;
    iso_graph_t *graph = test_graph();
    const char **names = NULL;
    int count = -1;

    CU_ASSERT_EQUAL(iso_graph_free_dims(graph, &names, &count), ISO_OK);
    CU_ASSERT_EQUAL(count, 0);
    iso_free(names);
    (void)test_input(graph, "a", "T,3,B");
    (void)test_input(graph, "b", "P+T,P");
    (void)test_input(graph, "c", "2,B");
    CU_ASSERT_EQUAL(iso_graph_free_dims(graph, &names, &count), ISO_OK);
    CU_ASSERT_EQUAL_FATAL(count, 3);
    CU_ASSERT_STRING_EQUAL(names[0], "T");
    CU_ASSERT_STRING_EQUAL(names[1], "B");
    CU_ASSERT_STRING_EQUAL(names[2], "P");
    iso_free(names);
    iso_graph_destroy(&graph);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

/* -- attributes and digest -- */

static const int64_t axis_of_norm = 1;
static const double usual_epsilon = 1e-5;

static uint64_t digest_of_norm(bool swapped, double epsilon, const char *output)
{
    iso_graph_t *graph = test_graph();
    iso_node_id_t ids[2] = {test_input(graph, "x", "2,3"),
                            test_param(graph, "scale", "3")};
    iso_attr_t axis = {"axis", ISO_ATTR_INTS, 1, {.ints = &axis_of_norm}};
    iso_attr_t small = {"epsilon", ISO_ATTR_FLOATS, 1, {.floats = &epsilon}};
    iso_attr_t attrs[2] = {swapped ? small : axis, swapped ? axis : small};
    iso_node_spec_t spec = {.name = "y",
                            .op = ISO_OP_LAYER_NORM,
                            .n_inputs = 2,
                            .inputs = ids,
                            .n_attrs = 2,
                            .attrs = attrs};
    iso_node_id_t y = ISO_NO_NODE;
    const iso_node_t *node;
    uint64_t digest;

    CU_ASSERT_EQUAL_FATAL(iso_graph_add(graph, &spec, &y), ISO_OK);
    node = iso_graph_node(graph, y);
    CU_ASSERT_STRING_EQUAL(node->attrs[0].name, "axis");
    CU_ASSERT_STRING_EQUAL(node->attrs[1].name, "epsilon");
    CU_ASSERT_PTR_EQUAL(iso_node_attr(node, "epsilon"), &node->attrs[1]);
    CU_ASSERT_PTR_NULL(iso_node_attr(node, "eps"));
    test_output(graph, output, y);
    digest = iso_graph_digest(graph);
    iso_graph_destroy(&graph);
    return digest;
}

static void test_digest_of_attributes(void)
{
    int64_t before = iso_mem_count().blocks;
    uint64_t digest = digest_of_norm(false, usual_epsilon, "y");

    CU_ASSERT_EQUAL(digest_of_norm(true, usual_epsilon, "y"), digest);
    CU_ASSERT_NOT_EQUAL(digest_of_norm(false, 2e-5, "y"), digest);
    CU_ASSERT_NOT_EQUAL(digest_of_norm(false, usual_epsilon, "z"), digest);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

static uint64_t digest_of_leaves(const char *name, const char *shape,
                                 bool param, int32_t value)
{
    iso_graph_t *graph = test_graph();
    iso_tensor_t tensor = {ISO_DTYPE_I32, 0, {0}, &value};
    iso_node_id_t id = ISO_NO_NODE;
    uint64_t digest;

    (void)(param ? test_param(graph, name, shape)
                 : test_input(graph, name, shape));
    CU_ASSERT_EQUAL(iso_graph_add_constant(graph, "c", &tensor, &id), ISO_OK);
    digest = iso_graph_digest(graph);
    iso_graph_destroy(&graph);
    return digest;
}

static void test_digest_of_leaves(void)
{
    int64_t before = iso_mem_count().blocks;
    uint64_t digest = digest_of_leaves("x", "2,3", false, 7);

    CU_ASSERT_EQUAL(digest_of_leaves("x", "2,3", false, 7), digest);
    CU_ASSERT_NOT_EQUAL(digest_of_leaves("z", "2,3", false, 7), digest);
    CU_ASSERT_NOT_EQUAL(digest_of_leaves("x", "3,2", false, 7), digest);
    CU_ASSERT_NOT_EQUAL(digest_of_leaves("x", "2,N", false, 7), digest);
    CU_ASSERT_NOT_EQUAL(digest_of_leaves("x", "2,3", true, 7), digest);
    CU_ASSERT_NOT_EQUAL(digest_of_leaves("x", "2,3", false, 8), digest);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

/* -- size and memory -- */

/* Every allocation of a build fails once; nothing is left behind. */
static void test_out_of_memory(void)
{
    int64_t before = iso_mem_count().blocks;
    iso_shape_t shape = test_shape("N,3");
    int failures = 0;

    for (int64_t n = 1; n < 100; n++) {
        iso_graph_t *graph = NULL;
        iso_node_id_t x = ISO_NO_NODE;
        iso_node_id_t y = ISO_NO_NODE;
        iso_node_spec_t spec = {.op = ISO_OP_RELU, .n_inputs = 1, .inputs = &x};
        iso_status_t status;

        iso_mem_fail_at(n);
        status = iso_graph_create(&graph);
        if (status == ISO_OK) {
            status = iso_graph_add_input(graph, "x", ISO_DTYPE_F32, &shape, &x);
        }
        if (status == ISO_OK) {
            status = iso_graph_add(graph, &spec, &y);
        }
        if (status == ISO_OK) {
            status = iso_graph_add_output(graph, "y", y);
        }
        iso_mem_fail_at(0);
        CU_ASSERT(status == ISO_OK || status == ISO_NOMEM);
        failures += status == ISO_NOMEM;
        iso_graph_destroy(&graph);
        CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
    }
    CU_ASSERT(failures > 5 && failures < 99);
}

/* A borrowed node stays where it is, and a name is found among many. */
static void test_million_nodes(void)
{
    enum { COUNT = 1000000 };
    int64_t before = iso_mem_count().blocks;
    iso_graph_t *graph = test_graph();
    iso_node_id_t last = test_input(graph, "x", "N,2");
    const iso_node_t *first = iso_graph_node(graph, last);
    iso_node_spec_t spec = {.op = ISO_OP_RELU, .n_inputs = 1, .inputs = &last};
    int bad = 0;

    for (int i = 1; i < COUNT; i++) {
        iso_node_id_t id = ISO_NO_NODE;

        bad += iso_graph_add(graph, &spec, &id) != ISO_OK || id != i;
        last = id;
    }
    CU_ASSERT_EQUAL(bad, 0);
    CU_ASSERT_EQUAL(iso_graph_node_count(graph), COUNT);
    CU_ASSERT_PTR_EQUAL(iso_graph_node(graph, 0), first);
    CU_ASSERT_EQUAL(iso_graph_find(graph, "relu_777777"), 777778);
    CU_ASSERT(iso_mem_count().bytes < (size_t)COUNT * 512);
    iso_graph_destroy(&graph);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"build and read", test_build_and_read},
        {"constants are copied", test_constants_are_copied},
        {"wrong inputs", test_wrong_inputs},
        {"wrong ops", test_wrong_ops},
        {"wrong attributes", test_wrong_attributes},
        {"wrong leaves", test_wrong_leaves},
        {"wrong outputs", test_wrong_outputs},
        {"nodes without names", test_nodes_without_names},
        {"layers", test_layers},
        {"free dims", test_free_dims},
        {"digest of attributes", test_digest_of_attributes},
        {"digest of leaves", test_digest_of_leaves},
        {"out of memory", test_out_of_memory},
        {"a million nodes", test_million_nodes},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"graph", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
