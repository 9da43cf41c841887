/*
 * What is said of kernels of a GPU without one: which nodes they compute, how
 * much room they need, and the words of a build or a machine that has none.
 */
#include "iso_test_call.h"
#include "iso_test_graph.h"
#include "kernel/cuda.h"

static bool call_is_supported(test_call_t *call)
{
    bool found = false;

    CU_ASSERT_FATAL(test_call_make(call));
    found = iso_cuda_supports(call->graph, iso_graph_find(call->graph, "call"));
    test_call_end(call);
    return found;
}

static bool unary_is_supported(iso_op_t op, iso_dtype_t dtype)
{
    test_call_t call;

    test_call_begin(&call, op);
    test_call_input(&call, dtype, 2, (const int64_t[]){3, 4}, NULL);
    return call_is_supported(&call);
}

static void test_elementwise(void)
{
    CU_ASSERT(unary_is_supported(ISO_OP_RELU, ISO_DTYPE_F32));
    CU_ASSERT(unary_is_supported(ISO_OP_TANH, ISO_DTYPE_F32));
    CU_ASSERT(unary_is_supported(ISO_OP_SOFTMAX, ISO_DTYPE_F32));
    CU_ASSERT(unary_is_supported(ISO_OP_TRANSPOSE, ISO_DTYPE_I64));
    CU_ASSERT_FALSE(unary_is_supported(ISO_OP_SIN, ISO_DTYPE_F32));
    CU_ASSERT_FALSE(unary_is_supported(ISO_OP_COS, ISO_DTYPE_F32));
    CU_ASSERT_FALSE(unary_is_supported(ISO_OP_RELU, ISO_DTYPE_F64));
    CU_ASSERT_FALSE(unary_is_supported(ISO_OP_REDUCE_SUM, ISO_DTYPE_I32));
}

static void test_conv(void)
{
    static const int64_t kernels[] = {3, 45, 46};

    for (int i = 0; i < 3; i++) {
        const int64_t k = kernels[i];
        test_call_t call;

        test_call_begin(&call, ISO_OP_CONV);
        TEST_F32(&call, NULL, 1, 8, 50, 50);
        TEST_F32(&call, NULL, 16, 8, k, k);
        CU_ASSERT_EQUAL(call_is_supported(&call), k * k <= 2048);
    }
}

/* Leaves are not computed; names of dims do not matter. */
static void test_free_graph(void)
{
    iso_graph_t *graph = test_graph();
    const iso_node_id_t x = test_input(graph, "x", "N,64");
    const iso_node_id_t w = test_param(graph, "w", "64,32");
    const iso_node_id_t y = test_binary(graph, "y", ISO_OP_MATMUL, x, w);

    CU_ASSERT_FALSE(iso_cuda_supports(graph, x));
    CU_ASSERT_FALSE(iso_cuda_supports(graph, w));
    CU_ASSERT(iso_cuda_supports(graph, y));
    iso_graph_destroy(&graph);
}

static size_t matmul_bytes(const char *a, const char *b)
{
    iso_graph_t *graph = test_graph();
    const iso_node_id_t x = test_input(graph, "a", a);
    const iso_node_id_t w = test_input(graph, "b", b);
    const iso_node_id_t y = test_binary(graph, "y", ISO_OP_MATMUL, x, w);
    const iso_node_id_t z = test_unary(graph, "z", ISO_OP_RELU, y);
    const size_t bytes = iso_cuda_scratch_bytes(graph, y);

    CU_ASSERT_EQUAL(iso_cuda_scratch_bytes(graph, x), 0);
    CU_ASSERT_EQUAL(iso_cuda_scratch_bytes(graph, z), 0);
    iso_graph_destroy(&graph);
    return bytes;
}

/* Partial sums: whole values, and only where the reduction is split. */
static void test_scratch(void)
{
    const size_t long_bytes = matmul_bytes("4,65536", "65536,8");

    CU_ASSERT_EQUAL(matmul_bytes("4096,4096", "4096,4096"), 0);
    CU_ASSERT_EQUAL(matmul_bytes("4,256", "256,8"), 0);
    CU_ASSERT_EQUAL(matmul_bytes("0,4096", "4096,8"), 0);
    CU_ASSERT(long_bytes >= sizeof(float) * 16 * 4 * 8);
    CU_ASSERT_EQUAL(long_bytes % (sizeof(float) * 4 * 8), 0);
}

static void test_none(void)
{
    iso_cuda_t *cuda = NULL;

    if (iso_cuda_count() > 0) {
        return;
    }
    CU_ASSERT_EQUAL(iso_cuda_create(0, &cuda), ISO_UNSUPPORTED);
    CU_ASSERT_PTR_NULL(cuda);
    CU_ASSERT(strstr(iso_error_text(), "built without CUDA: build it") !=
                  NULL ||
              strstr(iso_error_text(), "no GPU can be used: ") != NULL);
    iso_cuda_destroy(&cuda);
}

int main(void)
{
    CU_TestInfo tests[] = {{"elementwise", test_elementwise},
                           {"conv", test_conv},
                           {"a free graph", test_free_graph},
                           {"scratch", test_scratch},
                           {"none", test_none},
                           CU_TEST_INFO_NULL};
    CU_SuiteInfo suites[] = {{"cuda supports", NULL, NULL, NULL, NULL, tests},
                             CU_SUITE_INFO_NULL};

    return iso_test_main(suites);
}
