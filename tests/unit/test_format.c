#include "isotome/error.h"

#include "base/mem.h"
#include "graph_text.h"
#include "iso_test.h"
#include "iso_test_graph.h"
#include "kernel/format.h"

#include <stdio.h>
#include <string.h>

static iso_graph_t *read_graph(const char *text)
{
    iso_graph_t *graph = test_graph();
    iso_status_t status = graph_text_add(graph, text, NULL);

    if (status != ISO_OK) {
        (void)fprintf(stderr, "%s\nin:\n%s\n", iso_error_text(), text);
    }
    CU_ASSERT_EQUAL_FATAL(status, ISO_OK);
    return graph;
}

/* -- by hand -- */

/*
 * What is expected of each node that computes, in order, words between
 * blanks: "blocked" or "plain", "+copy" when there is one in the other format,
 * ">name" when it is joined with that reader. Leaves may be named with
 * "name=".
 */
static void say(const iso_graph_t *graph, const iso_formats_t *formats,
                iso_node_id_t id, char *text, size_t bytes)
{
    const iso_node_id_t joined = formats->joined[id];
    const iso_node_t *node = iso_graph_node(graph, id);

    (void)snprintf(
        text, bytes, "%s=%s%s%s%s ", node->name,
        formats->made[id] == ISO_FORMAT_BLOCKED ? "blocked" : "plain",
        formats->has_copy[id] ? "+copy" : "", joined == ISO_NO_NODE ? "" : ">",
        joined == ISO_NO_NODE ? "" : iso_graph_node(graph, joined)->name);
}

/* Leaves are listed when they have a copy. */
static void expect(const char *graph_text, bool joins, const char *expected)
{
    iso_graph_t *graph = read_graph(graph_text);
    iso_formats_t formats;
    char found[2048] = "";

    CU_ASSERT_EQUAL_FATAL(iso_formats_create(graph, joins, &formats), ISO_OK);
    CU_ASSERT_EQUAL(formats.n_nodes, iso_graph_node_count(graph));
    for (iso_node_id_t id = 0; id < formats.n_nodes; id++) {
        const size_t length = strlen(found);

        if (!iso_node_is_leaf(iso_graph_node(graph, id)) ||
            formats.has_copy[id]) {
            say(graph, &formats, id, found + length, sizeof found - length);
        }
    }
    found[strlen(found) - 1] = '\0';
    CU_ASSERT_STRING_EQUAL(found, expected);
    if (strcmp(found, expected) != 0) {
        (void)fprintf(stderr, "%s\nfound    %s\nexpected %s\n", graph_text,
                      found, expected);
    }
    iso_formats_free(&formats);
    iso_graph_destroy(&graph);
}

static iso_format_t read_of(const iso_graph_t *graph,
                            const iso_formats_t *formats, const char *node,
                            int input)
{
    return iso_formats_read(graph, formats, iso_graph_find(graph, node), input);
}

static const char residual_block[] = "x = input f32[1,3,8,8]\n"
                                     "w0 = param f32[16,3,3,3]\n"
                                     "w1 = param f32[16,16,3,3]\n"
                                     "w2 = param f32[16,16,3,3]\n"
                                     "w3 = param f32[32,16,1,1]\n"
                                     "c0 = conv(x, w0) pads=i:1,1,1,1\n"
                                     "p0 = max_pool(c0) kernel=i:2,2\n"
                                     "c1 = conv(p0, w1) pads=i:1,1,1,1 "
                                     "activation=t:relu\n"
                                     "c2 = conv(c1, w2) pads=i:1,1,1,1\n"
                                     "sum = add(c2, p0)\n"
                                     "r = relu(sum)\n"
                                     "c3 = conv(r, w3)\n"
                                     "return c3\n";

static void test_residual_block(void)
{
    expect(residual_block, true,
           "c0=blocked p0=blocked c1=blocked c2=blocked>sum sum=blocked>r "
           "r=blocked c3=plain");
    expect(residual_block, false,
           "c0=blocked p0=blocked c1=blocked c2=blocked sum=blocked r=blocked "
           "c3=plain");
}

/* The one that stands later; the other one makes a value. */
static void test_sum_of_two_convs(void)
{
    static const char *const sums[] = {"add(c2, c1)", "add(c1, c2)"};
    char text[512];

    for (int i = 0; i < 2; i++) {
        (void)snprintf(text, sizeof text,
                       "x = input f32[1,16,8,8]\n"
                       "w1 = param f32[16,16,3,3]\n"
                       "w2 = param f32[16,16,1,1]\n"
                       "c1 = conv(x, w1) pads=i:1,1,1,1\n"
                       "c2 = conv(x, w2)\n"
                       "a = %s\n"
                       "t = sigmoid(a)\n"
                       "z = sigmoid(t)\n"
                       "c3 = conv(z, w2)\n"
                       "return c3\n",
                       sums[i]);
        expect(text, true,
               "c1=blocked c2=blocked>a a=blocked>t t=blocked z=blocked "
               "c3=plain");
    }
}

static void test_depthwise(void)
{
    static const char text[] = "x = input f32[1,8,8,8]\n"
                               "w1 = param f32[24,8,1,1]\n"
                               "w2 = param f32[24,1,3,3]\n"
                               "w3 = param f32[8,24,1,1]\n"
                               "c1 = conv(x, w1)\n"
                               "r1 = clip(c1) min=f:0 max=f:6\n"
                               "c2 = conv(r1, w2) groups=i:24 pads=i:1,1,1,1\n"
                               "r2 = hard_swish(c2)\n"
                               "c3 = conv(r2, w3)\n"
                               "s = add(c3, x)\n"
                               "r = abs(s)\n"
                               "c4 = conv(r, w1)\n"
                               "return c4\n";

    /* x is a leaf that is read by the sum: in blocks */
    expect(text, true,
           "x=plain+copy c1=blocked>r1 r1=blocked c2=blocked>r2 r2=blocked "
           "c3=blocked>s s=blocked r=blocked c4=plain");
    expect("x = input f32[1,16,8,8]\nw = param f32[16,1,3,3]\n"
           "c = conv(x, w) groups=i:16 pads=i:1,1,1,1\na = add(c, x)\n"
           "r = relu(a)\nreturn r",
           true, "x=plain+copy c=blocked a=blocked r=blocked+copy");
}

/* The gate has one number for each channel, and is read plain. */
static void test_gate(void)
{
    static const char text[] = "x = input f32[2,16,8,8]\n"
                               "w = param f32[32,16,1,1]\n"
                               "w1 = param f32[8,32,1,1]\n"
                               "w2 = param f32[32,8,1,1]\n"
                               "v = param f32[16,32,1,1]\n"
                               "c = conv(x, w)\n"
                               "m = reduce_mean(c) axes=i:2,3\n"
                               "g1 = conv(m, w1) activation=t:relu\n"
                               "g2 = conv(g1, w2) activation=t:sigmoid\n"
                               "s = mul(g2, c)\n"
                               "y = conv(s, v)\n"
                               "return y\n";
    iso_graph_t *graph = read_graph(text);
    iso_formats_t formats;

    expect(text, true,
           "c=blocked m=plain g1=blocked g2=plain s=blocked y=plain");
    CU_ASSERT_EQUAL_FATAL(iso_formats_create(graph, true, &formats), ISO_OK);
    CU_ASSERT_EQUAL(read_of(graph, &formats, "m", 0), ISO_FORMAT_BLOCKED);
    CU_ASSERT_EQUAL(read_of(graph, &formats, "g1", 0), ISO_FORMAT_PLAIN);
    CU_ASSERT_EQUAL(read_of(graph, &formats, "g2", 0), ISO_FORMAT_BLOCKED);
    CU_ASSERT_EQUAL(read_of(graph, &formats, "s", 0), ISO_FORMAT_PLAIN);
    CU_ASSERT_EQUAL(read_of(graph, &formats, "s", 1), ISO_FORMAT_BLOCKED);
    CU_ASSERT_EQUAL(read_of(graph, &formats, "y", 0), ISO_FORMAT_BLOCKED);
    CU_ASSERT_EQUAL(read_of(graph, &formats, "y", 1), ISO_FORMAT_PLAIN);
    iso_formats_free(&formats);
    iso_graph_destroy(&graph);
}

#define CONV_THEN(rest)                                   \
    "x = input f32[2,16,4,4]\nw = param f32[16,16,1,1]\n" \
    "v = param f32[16,16,1,1]\nc = conv(x, w)\n" rest "\nreturn y"

/* What may lie beside a blocked operand, and what may not. */
static void test_broadcast(void)
{
    static const char *const by_channel[] = {"f32[16,1,1]",   "f32[1,16,1,1]",
                                             "f32[2,16,1,1]", "f32[1]",
                                             "f32[]",         "f32[1,1,1,1]"};
    static const char *const others[] = {"f32[4]",        "f32[4,4]",
                                         "f32[16,4,4]",   "f32[2,1,1,1]",
                                         "f32[2,16,1,4]", "f32[1,1,4,4]"};
    char text[512];

    for (size_t i = 0; i < 6; i++) {
        (void)snprintf(text, sizeof text,
                       CONV_THEN("b = param %s\nm = prelu(c, b)\n"
                                 "y = conv(m, v)"),
                       by_channel[i]);
        expect(text, true, "c=blocked m=blocked y=plain");
        (void)snprintf(text, sizeof text,
                       CONV_THEN("b = param %s\nm = div(b, c)\n"
                                 "y = conv(m, v)"),
                       others[i]);
        expect(text, true, "c=plain m=plain y=plain");
    }
    /* both operands are broadcast */
    expect(CONV_THEN("b = param f32[2,16,1,1]\nd = param f32[1,16,4,4]\n"
                     "m = mul(d, b)\ny = add(m, c)"),
           true, "c=blocked>y m=plain+copy y=blocked+copy");
    expect(CONV_THEN("d = param f32[1,16,4,4]\ny = mul(c, d)"), true,
           "c=plain y=plain");
}

/* Ops that keep blocks, and ops that do not. */
static void test_followers(void)
{
    static const char *const keep[] = {
        "erf(c)",
        "pow(c, c)",
        "batch_norm(c, n, n, n, n)",
        "max_pool(c) kernel=i:3,3 pads=i:1,1,1,1",
        "avg_pool(c) kernel=i:2,2",
        "elu(c)",
        "conv_transpose(c, v)",
    };
    static const char *const others[] = {
        "mod(c, c) fmod=i:1",
        "softmax(c) axis=i:1",
        "transpose(c) perm=i:0,1,3,2",
        "instance_norm(c, n, n)",
        "lrn(c) size=i:3",
        "reduce_max(c) axes=i:2,3",
        "reduce_mean(c) axes=i:1,2,3",
        "reduce_mean(c) axes=i:2",
        "slice(c) starts=i:0 ends=i:2 axes=i:2",
        "concat(c, c) axis=i:2",
        "reshape(c) shape=i:2,16,16,1",
        "layer_norm(c, f) axis=i:3",
    };
    char text[512];

    for (size_t i = 0; i < sizeof keep / sizeof *keep; i++) {
        (void)snprintf(text, sizeof text,
                       CONV_THEN("n = param f32[16]\nm = %s\ny = conv(m, v)"),
                       keep[i]);
        expect(text, true, "c=blocked m=blocked y=plain");
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        /* once alone, and once beside a reader that likes blocks */
        (void)snprintf(text, sizeof text,
                       CONV_THEN("n = param f32[16]\nf = param f32[4]\n"
                                 "y = %s"),
                       others[i]);
        expect(text, true, "c=plain y=plain");
        (void)snprintf(text, sizeof text,
                       CONV_THEN("n = param f32[16]\nf = param f32[4]\n"
                                 "z = conv(c, v)\nt = erf(z)\ny = %s"),
                       others[i]);
        expect(text, true, "c=blocked+copy z=blocked t=blocked y=plain");
    }
    expect(CONV_THEN("y = reduce_mean(c) axes=i:-1,2 keep_dims=i:0"), true,
           "c=blocked y=plain");
    expect(CONV_THEN("h = cast(c) to=t:f64\ny = exp(h)"), true,
           "c=plain h=plain y=plain");
}

static void test_concat(void)
{
    /* 16 + 24 channels fit, 24 + 16 do not; a plain part gets a copy */
    expect("x = input f32[1,4,4,4]\nl = input f32[1,16,4,4]\n"
           "w = param f32[24,4,1,1]\nv = param f32[8,40,1,1]\n"
           "c = conv(x, w)\nj = concat(l, c) axis=i:1\ny = conv(j, v)\n"
           "return y",
           true, "l=plain+copy c=blocked j=blocked y=plain");
    expect("x = input f32[1,4,4,4]\nl = input f32[1,16,4,4]\n"
           "w = param f32[24,4,1,1]\nv = param f32[8,40,1,1]\n"
           "c = conv(x, w)\nj = concat(c, l) axis=i:-3\ny = conv(j, v)\n"
           "return y",
           true, "c=plain j=plain y=plain");
    expect("x = input f32[1,4,4]\nw = param f32[32,4,1]\n"
           "w2 = param f32[33,4,1]\nv = param f32[8,97,1]\n"
           "a = conv(x, w)\nb = conv(x, w)\nc = conv(x, w2)\n"
           "j = concat(a, b, c) axis=i:1\ny = conv(j, v)\nreturn y",
           true, "a=blocked b=blocked c=blocked j=blocked y=plain");
}

/* A classifier's end: the mean reads blocks and makes a plain value. */
static void test_flatten_after_mean(void)
{
    expect(CONV_THEN("m = reduce_mean(c) axes=i:2,3\n"
                     "f = reshape(m) shape=i:2,16\nk = param f32[10,16]\n"
                     "b = param f32[10]\ny = gemm(f, k, b) trans_b=i:1"),
           true, "c=blocked m=plain f=plain y=plain");
}

static void test_reshape_of_blocked(void)
{
    expect(CONV_THEN("p = max_pool(c) kernel=i:3,3\n"
                     "f = reshape(p) shape=i:2,64\nk = param f32[64,8]\n"
                     "y = matmul(f, k)"),
           true, "c=blocked p=blocked+copy f=plain y=plain");
    /* a reshape is plain, and may have a copy of its own */
    expect(CONV_THEN("p = param f32[2,16,16]\nf = reshape(p) "
                     "shape=i:2,16,4,4\ny = mul(c, f)"),
           true, "c=blocked f=plain+copy y=blocked+copy");
}

static void test_outputs(void)
{
    /* read inside as well */
    expect(CONV_THEN("r = relu(c)\ny = conv(r, v)\nreturn r"), true,
           "c=blocked>r r=blocked+copy y=plain");
    /* an output is not joined */
    expect(CONV_THEN("r = relu(c)\ny = conv(r, v)\nreturn c"), true,
           "c=blocked+copy r=blocked y=plain");
    /* nobody likes blocks */
    expect(CONV_THEN("y = abs(c)"), true, "c=blocked y=blocked+copy");
    expect(CONV_THEN("y = relu(c)"), true, "c=plain>y y=plain");
    expect(CONV_THEN("m = add(c, x)\ny = relu(m)\nreturn m"), true,
           "x=plain+copy c=blocked>m m=blocked+copy y=blocked+copy");
}

/* A value that is read twice is there. */
static void test_read_twice(void)
{
    expect(CONV_THEN("r = relu(c)\ns = tanh(c)\na = add(r, s)\ny = conv(a, v)"),
           true, "c=blocked r=blocked s=blocked a=blocked y=plain");
    expect(CONV_THEN("a = add(c, c)\ny = conv(a, v)"), true,
           "c=blocked a=blocked y=plain");
    expect(CONV_THEN("a = add(c, x)\nb = add(c, a)\ny = conv(b, v)"), true,
           "x=plain+copy c=blocked a=blocked b=blocked y=plain");
}

/* Each addition takes one sum; a sum of sums is read from memory. */
static void test_two_adds(void)
{
    expect(CONV_THEN("a = add(c, x)\nd = conv(x, v)\nb = add(a, d)\n"
                     "r = leaky_relu(b)\ny = conv(r, v)"),
           true,
           "x=plain+copy c=blocked>a a=blocked d=blocked>b b=blocked>r "
           "r=blocked y=plain");
    /* not of the same shape */
    expect(CONV_THEN("b = param f32[16,1,1]\na = add(c, b)\ny = conv(a, v)"),
           true, "c=blocked a=blocked y=plain");
}

static void test_matrices(void)
{
    static const char text[] = "x = input f32[4,16]\nr = input f32[4,32]\n"
                               "w = param f32[16,32]\nv = param f32[32,32]\n"
                               "m = matmul(x, w)\na = add(r, m)\n"
                               "s = sigmoid(a)\ng = gemm(s, v)\nt = tanh(g)\n"
                               "k = matmul(t, v)\ne = erf(k)\nreturn e\n";

    expect(text, true,
           "m=plain>a a=plain>s s=plain g=plain>t t=plain k=plain>e e=plain");
    expect(text, false,
           "m=plain a=plain s=plain g=plain t=plain k=plain e=plain");
    /* not direct: a chain */
    expect("x = input f32[4,16]\nw = input f32[16,32]\nm = matmul(x, w)\n"
           "r = relu(m)\nreturn r",
           true, "m=plain>r r=plain");
}

/* Few channels are not worth a block; any number may be read in blocks. */
static void test_few_channels(void)
{
    expect("x = input f32[1,7,4,4]\nw = param f32[7,1,1,1]\n"
           "v = param f32[8,7,1,1]\nc = conv(x, w) groups=i:7\n"
           "y = conv(c, v)\nreturn y",
           true, "c=plain y=plain");
    expect("x = input f32[1,8,4,4]\nw = param f32[8,1,1,1]\n"
           "v = param f32[9,8,1,1]\nu = param f32[1,9,1,1]\n"
           "c = conv(x, w) groups=i:8\nd = conv(c, v)\ny = conv(d, u)\n"
           "return y",
           true, "c=blocked d=plain y=plain");
}

static void test_many_ranks(void)
{
    expect("x = input f32[1,16,9]\nw = param f32[16,16,3]\nc = conv(x, w)\n"
           "r = relu(c)\nd = conv(r, w)\nreturn d",
           true, "c=blocked>r r=blocked d=plain");
    expect("x = input f32[1,16,9,9,9]\nw = param f32[16,16,3,3,3]\n"
           "c = conv(x, w)\np = avg_pool(c) kernel=i:2,2,2\nd = conv(p, w)\n"
           "return d",
           true, "c=blocked p=blocked d=plain");
}

static void test_sizes(void)
{
    static const struct {
        const char *shape;
        size_t plain;
        size_t blocked;
    } sizes[] = {
        {"2,1,3", 24, (size_t)2 * 16 * 3 * 4},
        {"1,16,2,2", 256, 256},
        {"3,17,2,2", (size_t)3 * 17 * 16, (size_t)3 * 32 * 16},
        {"1,15,1,1,5", 300, 320},
    };

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        iso_graph_t *graph = test_graph();
        const iso_node_t *node =
            iso_graph_node(graph, test_input(graph, "x", sizes[i].shape));
        size_t bytes = 0;

        CU_ASSERT_EQUAL(iso_format_bytes(node, ISO_FORMAT_PLAIN, &bytes),
                        ISO_OK);
        CU_ASSERT_EQUAL(bytes, sizes[i].plain);
        CU_ASSERT_EQUAL(iso_format_bytes(node, ISO_FORMAT_BLOCKED, &bytes),
                        ISO_OK);
        CU_ASSERT_EQUAL(bytes, sizes[i].blocked);
        iso_graph_destroy(&graph);
    }
    CU_ASSERT_EQUAL(iso_blocked_channels(0), 0);
    CU_ASSERT_EQUAL(iso_blocked_channels(1), 16);
    CU_ASSERT_EQUAL(iso_blocked_channels(16), 16);
    CU_ASSERT_EQUAL(iso_blocked_channels(33), 48);
}

/* -- errors -- */

static void test_unbound_dim(void)
{
    iso_graph_t *graph =
        read_graph("x = input f32[4,N]\ny = relu(x)\nreturn y");
    iso_formats_t formats;

    CU_ASSERT_EQUAL(iso_formats_create(graph, true, &formats), ISO_SHAPE);
    CU_ASSERT(test_failed_with("node 'x' has the shape [4,N]"));
    CU_ASSERT_PTR_NULL(formats.made);
    iso_graph_destroy(&graph);
}

static void test_out_of_memory(void)
{
    iso_graph_t *graph = read_graph(residual_block);
    int64_t blocks = iso_mem_count().blocks;
    iso_status_t status = ISO_NOMEM;
    int failures = 0;

    for (int64_t n = 1; status == ISO_NOMEM && n < 100; n++) {
        iso_formats_t formats;

        iso_mem_fail_at(n);
        status = iso_formats_create(graph, true, &formats);
        iso_mem_fail_at(0);
        failures += status == ISO_NOMEM ? 1 : 0;
        iso_formats_free(&formats);
        CU_ASSERT_EQUAL(iso_mem_count().blocks, blocks);
    }
    CU_ASSERT_EQUAL(status, ISO_OK);
    CU_ASSERT(failures >= 6);
    iso_graph_destroy(&graph);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"residual block", test_residual_block},
        {"sum of two convs", test_sum_of_two_convs},
        {"depthwise", test_depthwise},
        {"gate", test_gate},
        {"broadcast", test_broadcast},
        {"followers", test_followers},
        {"concat", test_concat},
        {"flatten after mean", test_flatten_after_mean},
        {"reshape of blocked", test_reshape_of_blocked},
        {"outputs", test_outputs},
        {"read twice", test_read_twice},
        {"two adds", test_two_adds},
        {"matrices", test_matrices},
        {"few channels", test_few_channels},
        {"many ranks", test_many_ranks},
        {"sizes", test_sizes},
        {"unbound dim", test_unbound_dim},
        {"out of memory", test_out_of_memory},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"format", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
