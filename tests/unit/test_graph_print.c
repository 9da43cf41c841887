#include "base/mem.h"
#include "graph/print.h"
#include "iso_test_graph.h"

#include <math.h>

static iso_graph_t *make_graph(void)
{
    static const int64_t strides[] = {2, 1};
    static const int64_t groups[] = {1};
    static const double max[] = {6.5};
    iso_graph_t *graph = test_graph();
    iso_node_id_t ids[3] = {test_input(graph, "x", "N,3,8,8"),
                            test_param(graph, "w", "4,3,3,3"), ISO_NO_NODE};
    iso_attr_t attrs[] = {
        {"strides", ISO_ATTR_INTS, 2, {.ints = strides}},
        {"groups", ISO_ATTR_INTS, 1, {.ints = groups}},
        {"activation", ISO_ATTR_TEXT, 1, {.text = "clip"}},
        {"activation_max", ISO_ATTR_FLOATS, 1, {.floats = max}}};
    iso_node_spec_t conv = {.name = "a \"conv\"\\",
                            .op = ISO_OP_CONV,
                            .n_inputs = 3,
                            .inputs = ids,
                            .n_attrs = 4,
                            .attrs = attrs};
    iso_shape_t flat = test_shape("N,72");
    iso_attr_t shape = {"shape", ISO_ATTR_DIMS, 2, {.dims = flat.dim}};
    iso_node_id_t y = ISO_NO_NODE;

    CU_ASSERT_EQUAL_FATAL(iso_graph_add(graph, &conv, &y), ISO_OK);
    iso_graph_set_layer(graph, y, 0);
    y = test_node(graph, "flat", ISO_OP_RESHAPE,
                  (const iso_node_id_t[]){y, ISO_NO_NODE, ISO_NO_NODE}, &shape);
    iso_graph_set_layer(graph, y, 1);
    test_output(graph, "out", y);
    return graph;
}

static void test_text(void)
{
    static const char *const expected =
        "%0 x = input f32 [N,3,8,8]\n"
        "%1 w = param f32 [4,3,3,3]\n"
        "%2 a \"conv\"\\ = conv(x, w, -) activation=clip activation_max=6.5 "
        "groups=1 strides=[2,1] f32 [N,4,3,6] layer 0\n"
        "%3 flat = reshape(a \"conv\"\\) shape=[N,72] f32 [N,72] layer 1\n"
        "output out = %3\n";
    int64_t before = iso_mem_count().blocks;
    iso_graph_t *graph = make_graph();
    iso_text_t text = {0};

    iso_graph_print_text(graph, &text);
    CU_ASSERT_EQUAL(text.status, ISO_OK);
    CU_ASSERT_STRING_EQUAL(text.data, expected);
    iso_text_free(&text);
    iso_graph_destroy(&graph);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

static void test_dot(void)
{
    static const char *const expected =
        "digraph isotome {\n"
        "  node [shape=box];\n"
        "  n0 [label=\"x\\ninput f32 [N,3,8,8]\", shape=ellipse];\n"
        "  n1 [label=\"w\\nparam f32 [4,3,3,3]\", shape=ellipse];\n"
        "  subgraph cluster_0 {\n"
        "    label=\"layer 0\";\n"
        "    n2 [label=\"a \\\"conv\\\"\\\\\\nconv f32 [N,4,3,6]\"];\n"
        "  }\n"
        "  subgraph cluster_1 {\n"
        "    label=\"layer 1\";\n"
        "    n3 [label=\"flat\\nreshape f32 [N,72]\"];\n"
        "  }\n"
        "  n0 -> n2;\n"
        "  n1 -> n2;\n"
        "  n2 -> n3;\n"
        "  out0 [label=\"out\", shape=ellipse, style=dashed];\n"
        "  n3 -> out0;\n"
        "}\n";
    int64_t before = iso_mem_count().blocks;
    iso_graph_t *graph = make_graph();
    iso_text_t text = {0};

    iso_graph_print_dot(graph, &text);
    CU_ASSERT_EQUAL(text.status, ISO_OK);
    CU_ASSERT_STRING_EQUAL(text.data, expected);
    iso_text_free(&text);
    iso_graph_destroy(&graph);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

static void test_empty_and_unmarked(void)
{
    int64_t before = iso_mem_count().blocks;
    iso_graph_t *graph = test_graph();
    iso_text_t text = {0};

    iso_graph_print_dot(graph, &text);
    CU_ASSERT_STRING_EQUAL(text.data,
                           "digraph isotome {\n  node [shape=box];\n}\n");
    iso_text_free(&text);
    (void)test_unary(graph, "line\nbreak", ISO_OP_RELU,
                     test_input(graph, "x", ""));
    iso_graph_print_dot(graph, &text);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(text.data, "\n  n1 [label=\"line\\nbreak\\nrelu f32 []\"];\n"));
    CU_ASSERT_PTR_NULL(strstr(text.data, "cluster"));
    iso_text_free(&text);
    iso_mem_fail_at(1);
    iso_graph_print_text(graph, &text);
    CU_ASSERT_EQUAL(text.status, ISO_NOMEM);
    iso_text_free(&text);
    iso_graph_destroy(&graph);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"text", test_text},
        {"dot", test_dot},
        {"empty and unmarked", test_empty_and_unmarked},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"graph_print", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
