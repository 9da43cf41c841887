/* Windows of conv and pool: random parameters against counting by hand. */
#include "isotome/error.h"

#include "base/mem.h"
#include "graph/param.h"
#include "graph_text.h"
#include "iso_test.h"

#include <stdio.h>
#include <string.h>

static uint64_t random_state;

/* splitmix64 */
static int64_t random_between(int64_t least, int64_t most)
{
    uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    z ^= z >> 31;
    return least + (int64_t)(z % (uint64_t)(most - least + 1));
}

typedef struct window_case {
    int64_t input;
    int64_t kernel;
    int64_t stride;
    int64_t dilation;
    int64_t begin;
    int64_t end;
    bool ceil_mode;
} window_case_t;

static window_case_t random_case(void)
{
    return (window_case_t){.input = random_between(1, 20),
                           .kernel = random_between(1, 5),
                           .stride = random_between(1, 4),
                           .dilation = random_between(1, 3),
                           .begin = random_between(0, 3),
                           .end = random_between(0, 3),
                           .ceil_mode = random_between(0, 1) == 1};
}

/*
 * Slide the window over the padded input. In ceil mode a last window may
 * stick out when the one before did not reach the end and it starts before
 * the end padding.
 */
static int64_t count_windows(const window_case_t *c)
{
    const int64_t padded = c->begin + c->input + c->end;
    int64_t last_tap = 0;
    int64_t reached = 0;
    int64_t count = 0;
    int64_t start = 0;

    for (int64_t tap = 1; tap < c->kernel; tap++) {
        last_tap += c->dilation;
    }
    for (; start + last_tap < padded; start += c->stride) {
        reached = start + last_tap + 1;
        count++;
    }
    if (c->ceil_mode && count > 0 && reached < padded &&
        start < c->begin + c->input) {
        count++;
    }
    return count;
}

static iso_window_t window_of(const window_case_t *c)
{
    return (iso_window_t){.n_spatial = 1,
                          .kernel = {c->kernel},
                          .strides = {c->stride},
                          .dilations = {c->dilation},
                          .pads_begin = {c->begin},
                          .pads_end = {c->end}};
}

static void test_output_is_the_count(void)
{
    const iso_node_t node = {.name = "w", .op = ISO_OP_MAX_POOL};
    const uint64_t seed = 20240607;
    int failures = 0;

    random_state = seed;
    for (int i = 0; i < 200000 && failures < 5; i++) {
        const window_case_t c = random_case();
        const iso_window_t window = window_of(&c);
        const int64_t expected = count_windows(&c);
        int64_t found = 0;
        iso_status_t status =
            iso_window_output(&node, &window, 0, c.input, c.ceil_mode, &found);

        if (status != (expected == 0 ? ISO_SHAPE : ISO_OK) ||
            found != expected) {
            failures++;
            (void)printf("\nseed %llu case %d: input %lld kernel %lld stride "
                         "%lld dilation %lld pads %lld %lld ceil %d: found "
                         "%lld, expected %lld\n",
                         (unsigned long long)seed, i, (long long)c.input,
                         (long long)c.kernel, (long long)c.stride,
                         (long long)c.dilation, (long long)c.begin,
                         (long long)c.end, (int)c.ceil_mode, (long long)found,
                         (long long)expected);
        }
    }
    CU_ASSERT_EQUAL(failures, 0);
}

/* Shape [2,6,output] of a graph with this one window; status of making it. */
static iso_status_t infer_case(const window_case_t *c, const char *input,
                               const char *op, iso_graph_t *graph,
                               iso_node_id_t *last_out)
{
    char text[512];
    bool conv = strcmp(op, "conv") == 0;
    int length;

    length = snprintf(text, sizeof text,
                      "x = input f32[2,6,%s]\nw = param f32[6,3,%lld]\n"
                      "y = %s(x%s) strides=i:%lld dilations=i:%lld "
                      "pads=i:%lld,%lld ",
                      input, (long long)c->kernel, op, conv ? ", w" : "",
                      (long long)c->stride, (long long)c->dilation,
                      (long long)c->begin, (long long)c->end);
    if (conv) {
        (void)snprintf(&text[length], sizeof text - (size_t)length,
                       "groups=i:2");
    } else {
        (void)snprintf(&text[length], sizeof text - (size_t)length,
                       "kernel=i:%lld ceil_mode=i:%d", (long long)c->kernel,
                       c->ceil_mode ? 1 : 0);
    }
    return graph_text_add(graph, text, last_out);
}

/* Ops with random windows: the size is the count, errors are where they
 * must be, and an expression says what numbers say. */
static void test_ops_infer_the_count(void)
{
    static const char *const ops[] = {"conv", "max_pool", "avg_pool"};
    const int64_t before = iso_mem_count().blocks;
    const uint64_t seed = 42;
    int bad = 0;

    random_state = seed;
    for (int i = 0; i < 3000 && bad == 0; i++) {
        const char *op = ops[random_between(0, 2)];
        window_case_t c = random_case();
        const int64_t span = (c.kernel - 1) * c.dilation + 1;
        iso_graph_t *numbers = NULL;
        iso_graph_t *symbols = NULL;
        iso_node_id_t last;
        char input[32];
        bool fits;

        c.ceil_mode = c.ceil_mode && strcmp(op, "conv") != 0;
        fits = count_windows(&c) > 0 &&
               (strcmp(op, "conv") == 0 || (c.begin < span && c.end < span));
        CU_ASSERT_FATAL(iso_graph_create(&numbers) == ISO_OK);
        CU_ASSERT_FATAL(iso_graph_create(&symbols) == ISO_OK);
        (void)snprintf(input, sizeof input, "%lld", (long long)c.input);
        bad += (infer_case(&c, input, op, numbers, &last) == ISO_OK) != fits;
        if (bad == 0 && fits) {
            bad += iso_graph_node(numbers, last)->shape.dim[2].size !=
                   count_windows(&c);
        }
        if (fits && infer_case(&c, "H", op, symbols, &last) == ISO_OK) {
            const iso_binding_t h = {"H", c.input};
            iso_dim_t bound = {0};

            bad += iso_dim_bind(iso_graph_node(symbols, last)->shape.dim[2], &h,
                                1, &bound) != ISO_OK ||
                   bound.size != count_windows(&c);
        } else if (fits) {
            bad += c.stride == 1;
        }
        if (bad != 0) {
            (void)printf("\nseed %llu case %d (%s): %s\n",
                         (unsigned long long)seed, i, op, iso_error_text());
        }
        iso_graph_destroy(&numbers);
        iso_graph_destroy(&symbols);
    }
    CU_ASSERT_EQUAL(bad, 0);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

/* The transposed convolution undoes the sizes of the convolution. */
static void test_transpose_inverts(void)
{
    const int64_t before = iso_mem_count().blocks;
    const uint64_t seed = 7;

    random_state = seed;
    for (int i = 0; i < 2000; i++) {
        const window_case_t c = random_case();
        const int64_t count = count_windows(&c);
        const int64_t span = (c.kernel - 1) * c.dilation + 1;
        const int64_t rest = (c.begin + c.input + c.end - span) % c.stride;
        iso_graph_t *graph = NULL;
        iso_node_id_t last = 0;
        char text[256];

        if (c.ceil_mode || count < 1) {
            continue;
        }
        (void)snprintf(text, sizeof text,
                       "x = input f32[1,1,%lld]\nw = param f32[1,1,%lld]\n"
                       "y = conv_transpose(x, w) strides=i:%lld "
                       "dilations=i:%lld pads=i:%lld,%lld output_pads=i:%lld",
                       (long long)count, (long long)c.kernel,
                       (long long)c.stride, (long long)c.dilation,
                       (long long)c.begin, (long long)c.end, (long long)rest);
        CU_ASSERT_FATAL(iso_graph_create(&graph) == ISO_OK);
        CU_ASSERT_FATAL(graph_text_add(graph, text, &last) == ISO_OK);
        CU_ASSERT_EQUAL(iso_graph_node(graph, last)->shape.dim[2].size,
                        c.input);
        iso_graph_destroy(&graph);
    }
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

/* Nothing overflows at the largest values that are let in. */
static void test_extremes(void)
{
    const iso_node_t node = {.name = "w", .op = ISO_OP_CONV};
    const int64_t most = INT64_C(0x7fffffff);
    const iso_window_t wide = {.n_spatial = 1,
                               .kernel = {most},
                               .strides = {most},
                               .dilations = {most},
                               .pads_begin = {most},
                               .pads_end = {most}};
    const iso_window_t narrow = {
        .n_spatial = 1, .kernel = {1}, .strides = {most}, .dilations = {1}};
    int64_t output = 0;

    CU_ASSERT_EQUAL(iso_window_output(&node, &wide, 0, 1, true, &output),
                    ISO_SHAPE);
    CU_ASSERT_EQUAL(
        iso_window_output(&node, &wide, 0, INT64_C(1) << 62, true, &output),
        ISO_OK);
    CU_ASSERT_EQUAL(output, 6);
    CU_ASSERT_EQUAL(
        iso_window_output(&node, &narrow, 0, INT64_C(1) << 62, false, &output),
        ISO_OK);
    CU_ASSERT_EQUAL(output, ((INT64_C(1) << 62) - 1) / most + 1);
    CU_ASSERT_EQUAL(iso_window_output(&node, &narrow, 0, 0, false, &output),
                    ISO_SHAPE);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"output is the count", test_output_is_the_count},
        {"ops infer the count", test_ops_infer_the_count},
        {"transpose inverts", test_transpose_inverts},
        {"extremes", test_extremes},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"window", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
