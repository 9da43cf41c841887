#include "isotome/error.h"

#include "base/mem.h"
#include "graph/samples.h"
#include "graph_text.h"
#include "iso_test.h"

#include <string.h>

/* The check of a text, with nothing left behind; the text must be a graph. */
static iso_status_t check(const char *text)
{
    int64_t before = iso_mem_count().blocks;
    iso_graph_t *graph = NULL;

    CU_ASSERT_EQUAL_FATAL(iso_graph_create(&graph), ISO_OK);
    iso_status_t status = graph_text_add(graph, text, NULL);
    CU_ASSERT_EQUAL(status, ISO_OK);
    if (status != ISO_OK) {
        (void)fprintf(stderr, "%s\n%s\n", iso_error_text(), text);
    }
    status = iso_graph_check_samples(graph, "N");
    iso_graph_destroy(&graph);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
    return status;
}

static void expect(const char *text, iso_status_t expected)
{
    iso_status_t found = check(text);

    CU_ASSERT_EQUAL(found, expected);
    if (found != expected) {
        (void)fprintf(stderr, "expected %s, found %s:\n%s\n",
                      iso_status_string(expected), iso_status_string(found),
                      text);
    }
}

static void good(const char *text)
{
    expect(text, ISO_OK);
}

static void bad(const char *text)
{
    expect(text, ISO_UNSUPPORTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(iso_error_text(), "'y'"));
}

#define X4  "x = input f32[N,4]\n"
#define X34 "x = input f32[N,3,4]\n"
#define END "\nreturn y\n"

static void test_contractions(void)
{
    good(X4 "w = param f32[4,5]\ny = matmul(x, w)" END);
    good(X34 "w = param f32[4,5]\ny = matmul(x, w)" END);
    good(X34 "t = transpose(x) perm=i:0,2,1\ny = matmul(x, t)" END);
    good(X4 "w = param f32[5,4]\nc = param f32[5]\n"
            "y = gemm(x, w, c) trans_b=i:1" END);
    good("x = input f32[N,3,8,8]\nw = param f32[4,3,3,3]\ny = conv(x, w)" END);
    bad(X4 "t = transpose(x)\ny = matmul(x, t)" END);
    bad(X4 "t = transpose(x)\ny = matmul(t, x)" END);
    bad(X4 "y = gemm(x, x) trans_a=i:1" END);
    bad("x = input f32[N]\nz = input f32[N,4]\ny = matmul(x, z)" END);
    bad("x = input f32[N,3,8,8]\nw = param f32[4,8,3,3]\n"
        "t = transpose(x) perm=i:3,2,1,0\nu = transpose(t) perm=i:1,0,3,2\n"
        "y = conv(u, w)" END);
}

static void test_reductions(void)
{
    good(X34 "y = reduce_mean(x) axes=i:1,2" END);
    good(X34 "y = arg_max(x) axis=i:-1" END);
    good(X34 "y = softmax(x) axis=i:-1" END);
    good(X4 "w = param f32[4]\ny = layer_norm(x, w) axis=i:1" END);
    bad(X34 "y = reduce_mean(x) axes=i:0" END);
    bad(X34 "y = reduce_sum(x)" END);
    bad(X34 "y = arg_max(x) axis=i:0" END);
    bad(X34 "y = softmax(x) axis=i:0" END);
    bad(X34 "y = log_softmax(x) axis=i:-3" END);
    bad("x = input f32[N,4]\nt = transpose(x)\ny = softmax(t) axis=i:1" END);
}

static void test_moves(void)
{
    good(X4 "z = input f32[N,2]\ny = concat(x, z) axis=i:1" END);
    good(X4 "y = slice(x) starts=d:1 ends=d:3 axes=i:1" END);
    good(X4 "y = pad(x) pads=i:0,1,0,1" END);
    good(X4 "y = tile(x) repeats=i:1,3" END);
    good("e = param f32[9,4]\ni = input i64[N,3]\ny = gather(e, i)" END);
    good(X34 "i = constant i64[2] 0,2\ny = gather(x, i) axis=i:1" END);
    good("k = param f32[1,4]\n" X4 "e = expand(k) shape=d:N,4\n"
         "y = add(x, e)" END);
    bad(X4 "y = concat(x, x) axis=i:0" END);
    bad(X4 "y = slice(x) starts=d:1 ends=d:N axes=i:0" END);
    bad(X4 "y = slice(x) starts=d:0 ends=d:1 axes=i:0" END);
    bad(X4 "y = pad(x) pads=i:1,0,0,0" END);
    bad(X4 "y = pad(x) pads=i:1,0,-1,0" END);
    bad(X4 "y = tile(x) repeats=i:2,1" END);
    bad(X4 "i = constant i64[2] 0,1\ny = gather(x, i) axis=i:0" END);
    bad("k = param f32[9,4]\n" X4
        "y = slice(k) starts=d:0 ends=d:N axes=i:0" END);
}

static void test_counting(void)
{
    good(X4 "d = dims() values=d:3,4\nf = cast(d) to=t:f32\n"
            "s = reduce_sum(f) keep_dims=i:0\ny = mul(x, s)" END);
    bad(X4 "y = dims() values=d:N,4" END);
    bad(X4 "y = iota() start=d:0 step=d:1 n=d:N" END);
    bad("x = input f32[N,1]\nz = input f32[N]\ny = add(x, z)" END);
}

/* Samples may be merged with what lies inside and outside of them, and must
 * come apart again in the same way. */
static void test_reshapes(void)
{
    good(X34 "m = reshape(x) shape=d:3*N,4\ny = reshape(m) shape=d:N,12" END);
    good(X34 "y = reshape(x) shape=d:3*N,4" END);
    good(X34 "t = transpose(x) perm=i:1,0,2\nm = reshape(t) shape=d:3*N,4\n"
             "w = param f32[4,4]\nv = matmul(m, w)\n"
             "u = reshape(v) shape=d:3,N,4\n"
             "y = transpose(u) perm=i:1,0,2" END);
    good(X34 "t = transpose(x) perm=i:1,0,2\nh = reshape(t) shape=d:3,2*N,2\n"
             "u = transpose(h) perm=i:1,0,2\ns = softmax(u) axis=i:-1\n"
             "v = transpose(s) perm=i:1,0,2\nm = reshape(v) shape=d:3*N,4\n"
             "q = reshape(m) shape=d:3,N,4\n"
             "y = transpose(q) perm=i:1,0,2" END);
    bad(X4 "y = reshape(x) shape=d:4,N" END);
    bad(X34 "t = transpose(x) perm=i:1,0,2\ny = reshape(t) shape=d:N,12" END);
    bad(X34 "t = transpose(x) perm=i:1,0,2\ny = reshape(t) shape=d:3*N,4" END);
    bad(X34 "t = transpose(x) perm=i:1,0,2\nm = reshape(t) shape=d:3*N,4\n"
            "z = reshape(x) shape=d:3*N,4\ny = add(m, z)" END);
    bad("x = input f32[N,3,4]\nt = transpose(x) perm=i:2,0,1\n"
        "m = reshape(t) shape=d:2,2*N,3\ny = reshape(m) shape=d:2*N,6" END);
}

/* Sizes whose products leave 64 bits on the way to the answer. */
static void test_large_sizes(void)
{
    good("x = input f32[N,1099511627776,1099511627776,0]\n"
         "y = reshape(x) shape=d:N,0" END);
    bad("y = input f32[4611686018427387904-N]" END);
}

static void test_no_memory(void)
{
    iso_graph_t *graph = NULL;

    CU_ASSERT_EQUAL_FATAL(iso_graph_create(&graph), ISO_OK);
    CU_ASSERT_EQUAL(graph_text_add(graph, X4 "y = relu(x)" END, NULL), ISO_OK);
    iso_mem_fail_at(1);
    CU_ASSERT_EQUAL(iso_graph_check_samples(graph, "N"), ISO_NOMEM);
    iso_mem_fail_at(0);
    iso_graph_destroy(&graph);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"contractions", test_contractions},
        {"reductions", test_reductions},
        {"moves", test_moves},
        {"counting", test_counting},
        {"reshapes", test_reshapes},
        {"large sizes", test_large_sizes},
        {"no memory", test_no_memory},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"samples", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
