#include "isotome/error.h"

#include "base/mem.h"
#include "graph_text.h"
#include "iso_test.h"
#include "iso_test_call.h"
#include "iso_test_graph.h"
#include "kernel/panels.h"

#include <stdio.h>

enum { SEED = 271828, TRIALS = 3000 };

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

/* -- which nodes -- */

typedef struct panels_case {
    const char *text; /* node "y" is looked at */
    bool is_direct;
    iso_panels_spec_t spec;
} panels_case_t;

#define CONV(x, w, attrs) \
    "x = input f32[" x "]\nw = param f32[" w "]\ny = conv(x, w)" attrs
#define TRANSPOSED(x, w, attrs)                    \
    "x = input f32[" x "]\nw = param f32[" w "]\n" \
    "y = conv_transpose(x, w)" attrs
#define PRODUCT(x, w) \
    "x = input f32[" x "]\nw = param f32[" w "]\ny = matmul(x, w)"
#define GEMM(x, w, attrs) \
    "x = input f32[" x "]\nw = param f32[" w "]\ny = gemm(x, w)" attrs
#define GEMM_C(c, attrs)                                       \
    "x = input f32[2,9]\nw = param f32[9,8]\nc = param f32[" c \
    "]\ny = gemm(x, w, c)" attrs
#define IS(panels_kind, n_groups, n_lanes, n_products)             \
    true,                                                          \
    {                                                              \
        ISO_PANELS_##panels_kind, n_groups, n_lanes, n_products, 0 \
    }
#define IS_TRANSPOSED(n_groups, n_lanes, n_products, n_taps)              \
    true,                                                                 \
    {                                                                     \
        ISO_PANELS_CONV_TRANSPOSED, n_groups, n_lanes, n_products, n_taps \
    }
#define IS_NOT \
    false,     \
    {          \
        0      \
    }

static const panels_case_t cases[] = {
    {CONV("1,16,5,5", "32,16,3,3", " pads=i:1,1,1,1"), IS(CONV, 1, 32, 144)},
    {CONV("2,3,9,9", "64,3,7,7", " strides=i:2,2"), IS(CONV, 1, 64, 147)},
    {CONV("1,1,2,2", "8,1,1,1", ""), IS(CONV, 1, 8, 1)},
    {CONV("1,1,2,2", "5,1,1,1", ""), IS(CONV, 1, 5, 1)},
    {CONV("1,1,2,2", "4,1,1,1", ""), IS_NOT},
    {CONV("1,4,6", "33,4,3", ""), IS(CONV, 1, 33, 12)},
    {CONV("1,2,4,4,4", "9,2,3,3,3", ""), IS(CONV, 1, 9, 54)},
    {CONV("1,5,6,6", "8,5,3,3", " dilations=i:2,2 activation=t:relu"),
     IS(CONV, 1, 8, 45)},
    /* groups */
    {CONV("1,32,5,5", "64,16,3,3", " groups=i:2"), IS(CONV, 2, 32, 144)},
    {CONV("1,16,5,5", "64,8,3,3", " groups=i:2"), IS(CONV, 2, 32, 72)},
    {CONV("1,32,5,5", "16,16,3,3", " groups=i:2"), IS(CONV, 2, 8, 144)},
    {CONV("1,34,5,5", "64,17,3,3", " groups=i:2"), IS(CONV, 2, 32, 153)},
    {CONV("1,32,5,5", "66,16,3,3", " groups=i:2"), IS(CONV, 2, 33, 144)},
    {CONV("1,6,5,5", "16,3,3,3", " groups=i:2"), IS(CONV, 2, 8, 27)},
    {CONV("1,6,5,5", "14,3,3,3", " groups=i:2"), IS_NOT},
    {CONV("1,16,5,5", "16,4,3,3", " groups=i:4"), IS(DEPTHWISE, 1, 16, 36)},
    {CONV("1,24,5,6", "24,8,5,6", " groups=i:3"), IS(DEPTHWISE, 1, 24, 240)},
    {CONV("1,24,5,5", "24,8,3,11", " groups=i:3 pads=i:0,3,0,3"),
     IS(CONV, 3, 8, 264)},
    {CONV("1,6,5,5", "6,3,3,3", " groups=i:2"), IS_NOT},
    /* one channel each */
    {CONV("1,24,5,5", "24,1,3,3", " groups=i:24"), IS(DEPTHWISE, 1, 24, 9)},
    {CONV("1,2,5", "2,1,3", " groups=i:2"), IS(DEPTHWISE, 1, 2, 3)},
    {CONV("1,16,5,5", "32,1,3,3", " groups=i:16"), IS_NOT},
    {CONV("1,1,5,5", "1,1,3,3", ""), IS_NOT},
    /* taps */
    {CONV("1,2,16,16", "8,2,16,16", ""), IS(CONV, 1, 8, 512)},
    {CONV("1,2,1,257", "8,2,1,257", ""), IS_NOT},
    {CONV("1,2,43,6", "8,2,43,6", ""), IS_NOT},
    {CONV("1,2,16,17", "2,1,16,17", " groups=i:2"), IS_NOT},
    /* the strip: 13 strides, the kernel's span, all channels */
    {CONV("1,1,1,1", "8,1,1,1", " strides=i:1,20164"), IS(CONV, 1, 8, 1)},
    {CONV("1,1,1,1", "8,1,1,1", " strides=i:1,20165"), IS_NOT},
    {CONV("1,15,1,1", "8,15,1,1", " strides=i:1,1344"), IS(CONV, 1, 8, 15)},
    {CONV("1,15,1,1", "8,15,1,1", " strides=i:1,1345"), IS_NOT},
    {CONV("1,16,1,1", "8,16,1,1", " strides=i:1,1260"), IS(CONV, 1, 8, 16)},
    {CONV("1,16,1,1", "8,16,1,1", " strides=i:1,1261"), IS_NOT},
    {CONV("1,17,1,1", "8,17,1,1", " strides=i:1,630"), IS(CONV, 1, 8, 17)},
    {CONV("1,17,1,1", "8,17,1,1", " strides=i:1,631"), IS_NOT},
    {CONV("1,16,1,20000", "8,16,1,2", " dilations=i:1,16370"),
     IS(CONV, 1, 8, 32)},
    {CONV("1,16,1,20000", "8,16,1,2", " dilations=i:1,16371"), IS_NOT},
    {CONV("1,16,2,1", "8,16,2,1", " strides=i:9999,629"), IS(CONV, 1, 8, 32)},
    {CONV("1,16,2,1", "8,16,2,1", " strides=i:1,631"), IS_NOT},
    {CONV("1,16,2,2,1", "8,16,2,2,1", " strides=i:1,1,316"), IS_NOT},
    {CONV("1,16,2,2,1", "8,16,2,2,1", " strides=i:1,1,314"),
     IS(CONV, 1, 8, 64)},
    {CONV("1,18724,1,1", "8,18724,1,1", ""), IS_NOT},
    /* weights that are not known, not f32, not of numbers */
    {"x = input f32[1,4,5,5]\nw = input f32[8,4,1,1]\ny = conv(x, w)", IS_NOT},
    {"x = input f32[1,4,5,5]\np = param f32[8,4,1,1]\nw = relu(p)\n"
     "y = conv(x, w)",
     IS_NOT},
    {"x = input f32[1,1,5,5]\nw = constant f32[8,1,1,1] 1,2,3,4,5,6,7,8\n"
     "y = conv(x, w)",
     IS(CONV, 1, 8, 1)},
    {"x = input f64[1,4,5,5]\nw = param f64[8,4,1,1]\ny = conv(x, w)", IS_NOT},
    {CONV("N,4,5,5", "8,4,1,1", ""), IS_NOT},
    {CONV("0,4,5,5", "8,4,1,1", ""), IS_NOT},
    {"x = input f32[1,4,5,5]\nw = param f32[8,4,1,1]\nb = param f32[8]\n"
     "a = abs(b)\ny = conv(x, w, a)",
     IS(CONV, 1, 8, 4)},
    /* transposed: the strip of the taps of one remainder by the strides */
    {TRANSPOSED("1,16,5,5", "16,24,3,3", ""), IS_TRANSPOSED(1, 24, 144, 9)},
    {TRANSPOSED("1,5,6", "5,8,4", " strides=i:2"), IS_TRANSPOSED(1, 8, 20, 4)},
    {TRANSPOSED("1,5,6", "5,1,4", " strides=i:2"), IS_TRANSPOSED(1, 1, 20, 4)},
    {TRANSPOSED("1,6,2,2,2", "6,5,1,2,3", " groups=i:2"),
     IS_TRANSPOSED(2, 5, 18, 6)},
    {TRANSPOSED("1,4,5,5", "4,1,2,2", " groups=i:4"),
     IS_TRANSPOSED(4, 1, 4, 4)},
    {TRANSPOSED("1,2,1,3", "2,8,1,257", ""), IS_NOT},
    {TRANSPOSED("1,16,1,2", "16,8,1,2", " dilations=i:1,16370"),
     IS_TRANSPOSED(1, 8, 32, 2)},
    {TRANSPOSED("1,16,1,2", "16,8,1,2", " dilations=i:1,16371"), IS_NOT},
    {TRANSPOSED("1,16,1,2", "16,8,1,2", " dilations=i:1,16371 strides=i:1,2"),
     IS_TRANSPOSED(1, 8, 32, 2)},
    {"x = input f32[1,4,5,5]\nw = input f32[4,8,1,1]\n"
     "y = conv_transpose(x, w)",
     IS_NOT},
    /* matrices */
    {PRODUCT("5,7", "7,8"), IS(MATMUL, 1, 8, 7)},
    {PRODUCT("7", "7,9"), IS(MATMUL, 1, 9, 7)},
    {PRODUCT("2,3,4,1", "1,40"), IS(MATMUL, 1, 40, 1)},
    {PRODUCT("5,7", "7,7"), IS_NOT},
    {PRODUCT("5,0", "0,8"), IS_NOT},
    {PRODUCT("0,7", "7,8"), IS_NOT},
    {PRODUCT("N,7", "7,8"), IS_NOT},
    {PRODUCT("2,5,7", "2,7,8"), IS_NOT},
    {PRODUCT("5,7", "7"), IS_NOT},
    {"x = input f32[5,7]\nw = input f32[7,8]\ny = matmul(x, w)", IS_NOT},
    {"w = input f32[9,5]\nx = param f32[8,9]\ny = matmul(x, w)", IS_NOT},
    {"x = input f32[5,7]\nw = param f32[7,8]\nb = input f32[8]\n"
     "y = matmul(x, w, b) activation=t:tanh",
     IS(MATMUL, 1, 8, 7)},
    {"w = param f32[9,9]\ny = matmul(w, w)", IS(MATMUL, 1, 9, 9)},
    {GEMM("2,9", "9,8", ""), IS(MATMUL, 1, 8, 9)},
    {GEMM("2,9", "8,9", " trans_b=i:1"), IS(MATMUL_TRANSPOSED, 1, 8, 9)},
    {GEMM("2,9", "7,9", " trans_b=i:1"), IS_NOT},
    {GEMM("9,2", "9,8", " trans_a=i:1"), IS_NOT},
    {GEMM("2,9", "9,8", " alpha=f:2"), IS_NOT},
    {GEMM("2,9", "9,8", " beta=f:0.5"), IS(MATMUL, 1, 8, 9)},
    {GEMM_C("8", ""), IS(MATMUL, 1, 8, 9)},
    {GEMM_C("1,8", ""), IS(MATMUL, 1, 8, 9)},
    {GEMM_C("8", " beta=f:0.5"), IS_NOT},
    {GEMM_C("2,8", ""), IS_NOT},
    {GEMM_C("2,1", ""), IS_NOT},
    {GEMM_C("1", ""), IS_NOT},
    {"x = input f32[2,9]\ny = relu(x)", IS_NOT},
};

static bool is_as_expected(const panels_case_t *one)
{
    iso_graph_t *graph = read_graph(one->text);
    const iso_node_id_t y = iso_graph_find(graph, "y");
    const iso_panels_spec_t before = {ISO_PANELS_MATMUL, -1, -2, -3, -4};
    iso_panels_spec_t spec = before;
    const bool is_direct = iso_panels_of(graph, y, &spec);
    const bool is_right =
        is_direct == one->is_direct &&
        iso_panels_of(graph, y, NULL) == is_direct &&
        iso_panels_equal(&spec, is_direct ? &one->spec : &before);

    if (!is_right) {
        (void)fprintf(stderr, "%s\n: direct %d, %d %lld %lld %lld\n", one->text,
                      is_direct, (int)spec.kind, (long long)spec.groups,
                      (long long)spec.lanes, (long long)spec.length);
    }
    iso_graph_destroy(&graph);
    return is_right;
}

static void test_which_nodes(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CU_ASSERT(is_as_expected(&cases[i]));
    }
}

static void test_equal(void)
{
    const iso_panels_spec_t a = {ISO_PANELS_CONV_TRANSPOSED, 2, 32, 144, 9};
    const iso_panels_spec_t others[] = {
        {ISO_PANELS_CONV, 2, 32, 144, 9},
        {ISO_PANELS_CONV_TRANSPOSED, 1, 32, 144, 9},
        {ISO_PANELS_CONV_TRANSPOSED, 2, 33, 144, 9},
        {ISO_PANELS_CONV_TRANSPOSED, 2, 32, 145, 9},
        {ISO_PANELS_CONV_TRANSPOSED, 2, 32, 144, 3}};

    CU_ASSERT(iso_panels_equal(&a, &a));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        CU_ASSERT(!iso_panels_equal(&a, &others[i]));
    }
}

/* As many as one counts panel by panel. */
static void test_count(void)
{
    uint64_t state = SEED;

    (void)printf("  seed %d\n", SEED);
    for (int trial = 0; trial < TRIALS; trial++) {
        const iso_panels_spec_t spec = {
            .kind = (iso_panels_kind_t)test_random_int(
                &state, ISO_PANELS_CONV, ISO_PANELS_MATMUL_TRANSPOSED),
            .groups = test_random_int(&state, 1, 5),
            .lanes = test_random_int(&state, 1, 130),
            .length = test_random_int(&state, 1, 700)};
        const int width = spec.kind == ISO_PANELS_DEPTHWISE ? 16 : 32;
        int64_t count = 0;

        for (int64_t group = 0; group < spec.groups; group++) {
            for (int64_t lane = 0; lane < spec.lanes; lane += width) {
                count += width * spec.length;
            }
        }
        CU_ASSERT_EQUAL(iso_panels_count(&spec), count);
    }
}

/* -- bytes -- */

static const char readers[] = "x = input f32[3,9]\n"
                              "i = input i64[2]\n"
                              "unread = param f32[9,9]\n"
                              "plain = param f32[9]\n"
                              "once = param f32[9,40]\n"
                              "both = param f32[9,9]\n"
                              "ways = param f32[9,9]\n"
                              "shown = param f32[9,9]\n"
                              "h = param f16[9]\n"
                              "k = constant f32[1,8] 1,2,3,4,5,6,7,8\n"
                              "a = add(x, plain)\n"
                              "m1 = matmul(a, once)\n"
                              "m2 = matmul(x, once)\n"
                              "m3 = matmul(x, both)\n"
                              "g3 = gather(both, i) axis=i:0\n"
                              "m4 = matmul(x, ways)\n"
                              "m5 = gemm(x, ways) trans_b=i:1\n"
                              "m6 = gemm(x, ways)\n"
                              "m7 = matmul(x, shown)\n"
                              "c = cast(h) to=t:f32\n"
                              "s = slice(x) starts=i:0 ends=i:1 axes=i:1\n"
                              "m8 = matmul(s, k)\n"
                              "return shown\n";

static void test_bytes(void)
{
    static const struct {
        const char *name;
        size_t bytes;
    } expected[] = {
        {"x", 0},
        {"unread", 0},
        {"plain", 36},
        {"once", (size_t)2 * 32 * 9 * 4},
        {"both", (size_t)(32 + 9) * 9 * 4},
        {"ways", (size_t)2 * 32 * 9 * 4},
        {"shown", (size_t)(32 + 9) * 9 * 4},
        {"h", 18},
        {"k", (size_t)32 * 1 * 4},
        {"m1", 0},
    };
    iso_graph_t *graph = read_graph(readers);
    size_t all[64] = {0};

    CU_ASSERT_FATAL(iso_graph_node_count(graph) <= 64);
    CU_ASSERT_EQUAL(iso_panels_bytes(graph, all), ISO_OK);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        const iso_node_id_t id = iso_graph_find(graph, expected[i].name);
        size_t bytes = 1;

        CU_ASSERT_FATAL(id != ISO_NO_NODE);
        CU_ASSERT_EQUAL(all[id], expected[i].bytes);
        CU_ASSERT_EQUAL(iso_panels_param_bytes(graph, id, &bytes), ISO_OK);
        CU_ASSERT_EQUAL(bytes, expected[i].bytes);
    }
    iso_graph_destroy(&graph);
}

/* Groups make other panels of the same weight: (64, 32, ...) as one group of
 * 64 lanes or as two of 32. */
static void test_bytes_of_groups(void)
{
    iso_graph_t *graph = read_graph("x = input f32[1,64,4,4]\n"
                                    "z = input f32[1,32,4,4]\n"
                                    "w = param f32[48,32,3,3]\n"
                                    "y1 = conv(x, w) groups=i:2\n"
                                    "y2 = conv(z, w)\n"
                                    "y3 = conv(z, w) pads=i:1,1,1,1\n"
                                    "return y1\n");
    const size_t two = (size_t)2 * 32 * 32 * 9 * 4; /* of 24 lanes */
    const size_t one = (size_t)64 * 32 * 9 * 4;
    size_t bytes = 0;

    CU_ASSERT_EQUAL(
        iso_panels_param_bytes(graph, iso_graph_find(graph, "w"), &bytes),
        ISO_OK);
    CU_ASSERT_EQUAL(bytes, two + one);
    iso_graph_destroy(&graph);
    graph = read_graph("x = input f32[1,96,4,4]\n"
                       "z = input f32[1,48,4,4]\n"
                       "w = param f32[32,48,3,3]\n"
                       "y1 = conv(x, w) groups=i:2\n"
                       "y2 = conv(z, w)\n"
                       "return y1\n");
    CU_ASSERT_EQUAL(
        iso_panels_param_bytes(graph, iso_graph_find(graph, "w"), &bytes),
        ISO_OK);
    CU_ASSERT_EQUAL(bytes, (size_t)(2 * 32 + 32) * 48 * 9 * 4);
    iso_graph_destroy(&graph);
}

static void test_out_of_memory(void)
{
    iso_graph_t *graph = read_graph(readers);
    int64_t blocks = iso_mem_count().blocks;
    iso_status_t status = ISO_NOMEM;
    int failures = 0;

    for (int64_t n = 1; status == ISO_NOMEM && n < 100; n++) {
        size_t all[64];

        iso_mem_fail_at(n);
        status = iso_panels_bytes(graph, all);
        iso_mem_fail_at(0);
        failures += status == ISO_NOMEM ? 1 : 0;
        CU_ASSERT_EQUAL(iso_mem_count().blocks, blocks);
    }
    CU_ASSERT_EQUAL(status, ISO_OK);
    CU_ASSERT(failures >= 3);
    iso_graph_destroy(&graph);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"which nodes", test_which_nodes},
        {"equal", test_equal},
        {"count", test_count},
        {"bytes", test_bytes},
        {"bytes of groups", test_bytes_of_groups},
        {"out of memory", test_out_of_memory},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"panels", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
