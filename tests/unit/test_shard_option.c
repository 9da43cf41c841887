#include "iso_test_call.h"
#include "plan/shard/option.h"
#include "shard_asked.h"

#include <stdio.h>
#include <string.h>

/* ---- Ranges ---- */

static void check_lengths(int64_t length, int count, int n_pieces,
                          const int64_t *lengths)
{
    iso_range_t ranges[16];
    int64_t done = 0;

    CU_ASSERT_EQUAL_FATAL(iso_shard_ranges(length, count, ranges), n_pieces);
    for (int i = 0; i < n_pieces; i++) {
        CU_ASSERT_EQUAL(ranges[i].begin, done);
        CU_ASSERT_EQUAL(ranges[i].end - ranges[i].begin, lengths[i]);
        done = ranges[i].end;
    }
    CU_ASSERT_EQUAL(done, n_pieces == 0 ? 0 : length);
}

static void test_ranges(void)
{
    const int64_t huge = INT64_C(1) << 62;

    check_lengths(7, 3, 3, (const int64_t[]){3, 2, 2});
    check_lengths(8, 3, 3, (const int64_t[]){3, 3, 2});
    check_lengths(2, 5, 2, (const int64_t[]){1, 1});
    check_lengths(100, 8, 8, (const int64_t[]){13, 13, 13, 13, 12, 12, 12, 12});
    check_lengths(0, 4, 0, NULL);
    check_lengths(-3, 4, 0, NULL);
    check_lengths(5, 0, 0, NULL);
    check_lengths(5, -1, 0, NULL);
    check_lengths(1, 1, 1, (const int64_t[]){1});
    check_lengths(huge, 3, 3,
                  (const int64_t[]){huge / 3 + 1, huge / 3, huge / 3});
}

static void test_names(void)
{
    static const char *const names[] = {[ISO_SHARD_BATCH] = "batch",
                                        [ISO_SHARD_ROWS] = "rows",
                                        [ISO_SHARD_OUT_CHANNEL] = "out-channel",
                                        [ISO_SHARD_COLS] = "cols",
                                        [ISO_SHARD_GROUP] = "group",
                                        [ISO_SHARD_HEIGHT] = "height",
                                        [ISO_SHARD_IN_CHANNEL] = "in-channel",
                                        [ISO_SHARD_MATRICES] = "batch",
                                        [ISO_SHARD_REDUCTION] = "reduction"};

    for (int axis = 0; axis < (int)ISO_SHARD_AXIS_COUNT; axis++) {
        CU_ASSERT_STRING_EQUAL(iso_shard_axis_string((iso_shard_axis_t)axis),
                               names[axis]);
    }
    CU_ASSERT_STRING_EQUAL(iso_shard_axis_string(ISO_SHARD_AXIS_COUNT),
                           "unknown");
}

/* ---- Values of the specification ---- */

static void test_order(void)
{
    static const iso_shard_axis_t axes[] = {
        ISO_SHARD_BATCH,       ISO_SHARD_BATCH,       ISO_SHARD_BATCH,
        ISO_SHARD_OUT_CHANNEL, ISO_SHARD_OUT_CHANNEL, ISO_SHARD_OUT_CHANNEL};
    const char *text = CONV("8,4,8,8", "16,4,3,3", "");
    asked_t asked = ask(text, 4, ISO_SHARD_CLASSIC_AXES);

    CU_ASSERT_EQUAL_FATAL(asked.list->count, 6);
    for (int i = 0; i < 6; i++) {
        CU_ASSERT_EQUAL(asked.list->options[i].axis, axes[i]);
        CU_ASSERT_EQUAL(asked.list->options[i].count, 2 + i % 3);
        CU_ASSERT_EQUAL(asked.list->options[i].output_axis, i / 3);
    }
    end(&asked);
    asked = ask(text, 100, ISO_SHARD_CLASSIC_AXES);
    CU_ASSERT_EQUAL(asked.list->count, 7 + 15);
    CU_ASSERT_EQUAL(count_of(&asked, ISO_SHARD_BATCH), 7);
    CU_ASSERT_EQUAL(count_of(&asked, ISO_SHARD_OUT_CHANNEL), 15);
    end(&asked);
    /* All axes: the classic ones first; 6 rows of height, one block. */
    asked = ask(text, 4, 0);
    CU_ASSERT_EQUAL_FATAL(asked.list->count, 9);
    for (int i = 0; i < 9; i++) {
        CU_ASSERT_EQUAL(asked.list->options[i].axis,
                        i < 6 ? axes[i] : ISO_SHARD_HEIGHT);
    }
    end(&asked);
    asked = ask(text, 4, ISO_SHARD_ALL_AXES);
    CU_ASSERT_EQUAL(asked.list->count, 9);
    end(&asked);
}

typedef struct golden {
    const char *text;
    iso_shard_axis_t axis;
    int count;
    int64_t sliced; /* -1: the specification does not say */
    int64_t shared;
    int64_t output;
    size_t cold;
    size_t resident; /* what is shared is resident */
} golden_t;

static void check_golden(const golden_t *golden)
{
    asked_t asked = ask(golden->text, golden->count, ISO_SHARD_CLASSIC_AXES);
    const iso_shard_option_t *option =
        find(&asked, golden->axis, golden->count);
    int64_t sums[3] = {0};

    for (int i = 0; i < ISO_SHARD_OPERANDS; i++) {
        sums[option->operands[i].use] += option->operands[i].elements;
    }
    if (golden->sliced >= 0) {
        CU_ASSERT_EQUAL(sums[ISO_SHARD_SLICED], golden->sliced);
        CU_ASSERT_EQUAL(sums[ISO_SHARD_SHARED], golden->shared);
        CU_ASSERT_EQUAL(option->output_elements, golden->output);
    }
    CU_ASSERT_EQUAL(sums[ISO_SHARD_KEPT], 0);
    CU_ASSERT_EQUAL(option->returned_elements, option->output_elements);
    CU_ASSERT_EQUAL(iso_shard_moved_bytes(option, 0), golden->cold);
    CU_ASSERT_EQUAL(iso_shard_moved_bytes(option, iso_shard_shared(option)),
                    golden->resident);
    end(&asked);
}

static void test_moved_bytes(void)
{
    const char *first = CONV("8,4,8,8", "16,4,3,3", "");
    const char *groups = CONV("8,8,8,8", "8,2,3,3", "groups=i:4");
    const char *wide = CONV("32,4,32,32", "8,4,3,3", "");
    const char *deep = CONV("2,64,4,4", "256,64,3,3", "");
    const char *product = MATMUL("64,32", "32,16");
    const golden_t table[] = {
        {first, ISO_SHARD_BATCH, 2, 2048, 576, 4608, 31232, 26624},
        {first, ISO_SHARD_BATCH, 3, 2048, 576, 4608, 33536, 26624},
        {first, ISO_SHARD_BATCH, 4, 2048, 576, 4608, 35840, 26624},
        {first, ISO_SHARD_OUT_CHANNEL, 2, 576, 2048, 4608, 37120, 20736},
        {first, ISO_SHARD_OUT_CHANNEL, 3, 576, 2048, 4608, 45312, 20736},
        {first, ISO_SHARD_OUT_CHANNEL, 4, 576, 2048, 4608, 53504, 20736},
        {groups, ISO_SHARD_BATCH, 2, 4096, 144, 2304, 26752, 25600},
        {wide, ISO_SHARD_BATCH, 4, -1, 0, 0, 1450496, 1445888},
        {wide, ISO_SHARD_OUT_CHANNEL, 4, -1, 0, 0, 3019904, 922752},
        {deep, ISO_SHARD_BATCH, 2, -1, 0, 0, 1196032, 16384},
        {deep, ISO_SHARD_OUT_CHANNEL, 2, -1, 0, 0, 614400, 598016},
        {product, ISO_SHARD_ROWS, 2, 2048, 512, 1024, 16384, 12288},
        {product, ISO_SHARD_COLS, 2, 512, 2048, 1024, 22528, 6144},
    };

    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        check_golden(&table[i]);
    }
}

/* Weights that are resident do not make activations free. */
static void test_residency_of_each(void)
{
    asked_t asked =
        ask(CONV("32,64,32,32", "64,64,3,3", ""), 4, ISO_SHARD_CLASSIC_AXES);
    const iso_shard_option_t *batch = find(&asked, ISO_SHARD_BATCH, 4);
    const iso_shard_option_t *channel = find(&asked, ISO_SHARD_OUT_CHANNEL, 4);

    CU_ASSERT_EQUAL(iso_shard_moved_bytes(batch, 1U << 1), 15761408);
    CU_ASSERT_EQUAL(iso_shard_moved_bytes(channel, 1U << 1), 40927232);
    CU_ASSERT_EQUAL(iso_shard_moved_bytes(channel, 1U << 0), 7520256);
    CU_ASSERT_EQUAL(iso_shard_moved_bytes(channel, 3U), 7372800);
    CU_ASSERT_EQUAL(iso_shard_shared(batch), 1U << 1);
    CU_ASSERT_EQUAL(iso_shard_shared(channel), 1U << 0);
    end(&asked);
}

static void test_moved_as(void)
{
    const iso_dtype_t moved_as[] = {ISO_DTYPE_F32, ISO_DTYPE_I8, ISO_DTYPE_F32};
    asked_t asked = ask(CONV("8,4,8,8", "16,4,3,3", ""), 2, 0);

    asked.op.moved_as = moved_as;
    iso_shard_list_destroy(&asked.list);
    CU_ASSERT_EQUAL_FATAL(iso_shard_list_create(&asked.op, 2, &asked.list),
                          ISO_OK);
    CU_ASSERT_EQUAL(iso_shard_moved_bytes(find(&asked, ISO_SHARD_BATCH, 2), 0),
                    (2048 + 4608) * 4 + 2 * 576);
    CU_ASSERT_EQUAL(
        iso_shard_moved_bytes(find(&asked, ISO_SHARD_OUT_CHANNEL, 2), 0),
        (2 * 2048 + 4608) * 4 + 576);
    end(&asked);
    asked = ask("x = input f64[8,2]\nw = input f64[2,4]\ny = matmul(x, w)\n", 2,
                ISO_SHARD_BIT(ROWS));
    CU_ASSERT_EQUAL(iso_shard_moved_bytes(&asked.list->options[0], 0),
                    (size_t)8 * (16 + 2 * 8 + 32));
    end(&asked);
}

/* ---- Nothing offered, and errors ---- */

static void test_nothing(void)
{
    static const char *const texts[] = {
        "x = input f32[8,8]\n",
        "x = input f32[8,8]\ny = relu(x)\n",
        "x = input f32[8,8]\ny = softmax(x)\n",
        "x = input f32[N,8]\nw = param f32[8,8]\ny = matmul(x, w)\n",
        CONV("N,4,8,8", "16,4,3,3", ""),
        CONV("8,4,8,W", "16,4,3,3", ""),
        CONV("1,4,3,3", "1,4,3,3", ""),
        CONV("0,4,8,8", "16,4,3,3", ""),
        MATMUL("1,9", "9,1"),
        MATMUL("9", "9,8"),
        MATMUL("8,9", "9"),
        MATMUL("0,9", "9,8"),
        MATMUL("3,5,4", "4,0"),
        MATMUL("4,K", "K,4"),
        ("x = input f32[2,4,4,4]\nw = param f32[4,4,2,2]\n"
         "y = conv_transpose(x, w)\n"),
    };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        asked_t asked = ask(texts[i], 8, 0);
        CU_ASSERT_EQUAL(asked.list->count, 0);
        end(&asked);
    }
    for (int most = -2; most < 2; most++) {
        asked_t asked = ask(MATMUL("64,32", "32,16"), most, 0);
        CU_ASSERT_EQUAL(asked.list->count, 0);
        end(&asked);
    }
    /* Nothing to sum: still a value to cut. */
    asked_t asked = ask(MATMUL("4,0", "0,4"), 8, 0);
    CU_ASSERT_EQUAL(asked.list->count, 6);
    CU_ASSERT_EQUAL(iso_shard_moved_bytes(&asked.list->options[0], 0), 64);
    end(&asked);
}

static void test_errors(void)
{
    asked_t asked = ask(MATMUL("64,32", "32,16"), ISO_SHARD_MOST, 0);
    iso_shard_list_t *list = NULL;

    CU_ASSERT_EQUAL(asked.list->count, 63 + 15);
    CU_ASSERT_EQUAL(iso_shard_list_create(&asked.op, ISO_SHARD_MOST + 1, &list),
                    ISO_INVAL);
    CU_ASSERT(test_failed_with("1025 shards of an op, expected at most 1024"));
    CU_ASSERT_PTR_NULL(list);
    end(&asked);
    iso_shard_list_destroy(&asked.list); /* no harm */
}

static void test_out_of_memory(void)
{
    asked_t asked = ask(CONV("8,64,8,8", "16,64,3,3", ""), 16, 0);
    int64_t blocks = iso_mem_count().blocks;
    iso_status_t status = ISO_NOMEM;
    int failures = 0;

    for (int64_t n = 1; status == ISO_NOMEM && n < 100; n++) {
        iso_shard_list_t *list = NULL;
        iso_mem_fail_at(n);
        status = iso_shard_list_create(&asked.op, 16, &list);
        iso_mem_fail_at(0);
        failures += status == ISO_NOMEM ? 1 : 0;
        CU_ASSERT_EQUAL(list == NULL, status != ISO_OK);
        iso_shard_list_destroy(&list);
        CU_ASSERT_EQUAL(iso_mem_count().blocks, blocks);
    }
    CU_ASSERT_EQUAL(status, ISO_OK);
    CU_ASSERT(failures >= 3);
    end(&asked);
}

static void test_saturation(void)
{
    const iso_dtype_t bytes[] = {ISO_DTYPE_I8, ISO_DTYPE_I8, ISO_DTYPE_I8};
    asked_t asked =
        ask(MATMUL("2,2305843009213693952", "2305843009213693952,2"), 2, 0);
    const iso_shard_option_t *option = find(&asked, ISO_SHARD_ROWS, 2);

    CU_ASSERT_EQUAL(option->operands[0].elements, INT64_C(1) << 62);
    CU_ASSERT_EQUAL(iso_shard_moved_bytes(option, 0), SIZE_MAX);
    CU_ASSERT_EQUAL(iso_shard_moved_bytes(option, 2), SIZE_MAX);
    CU_ASSERT_EQUAL(iso_shard_moved_bytes(option, 3), 16);
    option = find(&asked, ISO_SHARD_REDUCTION, 2);
    CU_ASSERT_EQUAL(option->ranges[1].begin, INT64_C(1) << 52);
    CU_ASSERT_EQUAL(option->returned_elements, 8);
    end(&asked);
    /* One copy can be counted, those of all shards cannot. */
    asked = ask(MATMUL("18014398509481984,32", "32,64"), 64, 0);
    option = find(&asked, ISO_SHARD_COLS, 64);
    CU_ASSERT_EQUAL(iso_shard_moved_bytes(option, 0), SIZE_MAX);
    CU_ASSERT_EQUAL(iso_shard_moved_bytes(option, 1),
                    ((size_t)1 << 62) + (size_t)4 * 32 * 64);
    end(&asked);
    /* Slabs of 3, 4, 5, 5, 4 and 3 rows of 2^59. */
    asked = ask(CONV("1,1,6,576460752303423488", "1,1,5,1",
                     "strides=i:1,4 pads=i:2,0,2,0"),
                6, ISO_SHARD_BIT(HEIGHT));
    option = find(&asked, ISO_SHARD_HEIGHT, 6);
    CU_ASSERT_EQUAL(option->operands[0].elements, INT64_MAX);
    CU_ASSERT_EQUAL(iso_shard_moved_bytes(option, 0), SIZE_MAX);
    asked.op.moved_as = bytes;
    iso_shard_list_destroy(&asked.list);
    CU_ASSERT_EQUAL_FATAL(iso_shard_list_create(&asked.op, 6, &asked.list),
                          ISO_OK);
    CU_ASSERT_EQUAL(iso_shard_moved_bytes(find(&asked, ISO_SHARD_HEIGHT, 6), 0),
                    SIZE_MAX);
    end(&asked);
    /* Partial sums: 32 of 2^60 elements. */
    asked = ask(MATMUL("1073741824,8192", "8192,1073741824"), 32,
                ISO_SHARD_BIT(REDUCTION));
    option = find(&asked, ISO_SHARD_REDUCTION, 32);
    CU_ASSERT_EQUAL(option->returned_elements, INT64_MAX);
    CU_ASSERT_EQUAL(iso_shard_widest(option), INT64_C(1) << 55);
    CU_ASSERT_EQUAL(iso_shard_moved_bytes(option, 7), SIZE_MAX);
    end(&asked);
}

/* ---- Properties ---- */

enum { SEED = 20240607, ROUNDS = 400 };

static void random_conv(uint64_t *state, char *text, size_t size)
{
    const long long groups = test_random_int(state, 1, 3);
    const long long in = test_random_int(state, 1, 40);
    const long long out = test_random_int(state, 1, 9);
    const long long kernel = test_random_int(state, 1, 4);
    const long long pad = test_random_int(state, 0, 4);

    (void)snprintf(
        text, size,
        "x = input f32[%lld,%lld,%lld,5]\nw = param f32[%lld,%lld,%lld,2]\n"
        "b = param f32[%lld]\ny = conv(x, w, b) groups=i:%lld "
        "strides=i:%lld,1 dilations=i:%lld,1 pads=i:%lld,0,%lld,0\n",
        (long long)test_random_int(state, 1, 7), groups * in,
        (long long)test_random_int(state, 10, 20), groups * out, in, kernel,
        groups * out, groups, (long long)test_random_int(state, 1, 5),
        (long long)test_random_int(state, 1, 3), pad,
        (long long)test_random_int(state, 0, 4));
}

static void random_matmul(uint64_t *state, char *text, size_t size)
{
    const long long inner = test_random_int(state, 1, 1500);
    const long long batch = test_random_int(state, 1, 5);

    (void)snprintf(
        text, size,
        "a = input f32[%lld,%lld,%lld,%lld]\nb = input f32[%lld,%lld,%lld]\n"
        "y = matmul(a, b)\n",
        (long long)test_random_int(state, 1, 4), batch,
        (long long)test_random_int(state, 1, 9), inner,
        test_random_int(state, 0, 2) > 0 ? batch : 1LL, inner,
        (long long)test_random_int(state, 1, 9));
}

/* Disjoint, in order, covering, on units, equal to a unit. */
static bool ranges_are_right(const iso_shard_option_t *option)
{
    int64_t done = 0;
    int64_t least = INT64_MAX;
    int64_t most = 0;

    for (int i = 0; i < option->count; i++) {
        const iso_range_t range = option->ranges[i];
        const int64_t length = iso_range_length(range);

        if (range.begin != done || length < 1 ||
            range.begin % option->unit != 0) {
            return false;
        }
        done = range.end;
        least = length < least ? length : least;
        most = length > most ? length : most;
    }
    return done == option->length && most - least <= option->unit;
}

/* Operands other than a windowed x and what is kept: all of it, once. */
static bool operands_are_right(const asked_t *asked,
                               const iso_shard_option_t *option)
{
    const iso_node_t *node = iso_graph_node(asked->graph, asked->op.node);

    for (int i = 0; i < node->n_inputs; i++) {
        const iso_node_t *operand =
            iso_graph_node(asked->graph, node->inputs[i]);
        const iso_shard_operand_t *found = &option->operands[i];

        if (found->use != ISO_SHARD_KEPT &&
            !(option->axis == ISO_SHARD_HEIGHT && i == 0) &&
            found->elements != iso_shape_count(&operand->shape)) {
            return false;
        }
        if ((found->use == ISO_SHARD_KEPT) !=
            (option->output_axis == ISO_SHARD_PARTIAL_SUMS && i == 2)) {
            return false;
        }
    }
    return true;
}

/* Rows of x that windows [begin, end) touch, first to last, by trying each. */
static int64_t rows_by_trying(const asked_t *asked, iso_range_t range)
{
    const iso_node_t *node = iso_graph_node(asked->graph, asked->op.node);
    const int64_t rows =
        iso_graph_node(asked->graph, node->inputs[0])->shape.dim[2].size;
    const int64_t taps =
        iso_graph_node(asked->graph, node->inputs[1])->shape.dim[2].size;
    const int64_t stride = iso_node_attr(node, "strides")->value.ints[0];
    const int64_t dilation = iso_node_attr(node, "dilations")->value.ints[0];
    const int64_t pad = iso_node_attr(node, "pads")->value.ints[0];
    const int64_t first = range.begin * stride - pad;
    const int64_t last = (range.end - 1) * stride - pad + (taps - 1) * dilation;
    int64_t count = 0;

    for (int64_t row = 0; row < rows; row++) {
        count += row >= first && row <= last ? 1 : 0;
    }
    return count;
}

static bool halo_is_right(const asked_t *asked,
                          const iso_shard_option_t *option)
{
    const iso_shape_t *x = &iso_graph_node(asked->graph, 0)->shape;
    int64_t rows = 0;

    if (option->axis != ISO_SHARD_HEIGHT) {
        return true;
    }
    for (int i = 0; i < option->count; i++) {
        rows += rows_by_trying(asked, option->ranges[i]);
    }
    return option->operands[0].elements ==
           rows * (iso_shape_count(x) / x->dim[2].size);
}

/* More shards, more copies; but not of partial sums, which depend on where
 * subtrees lie, and not of rows that no window reads. */
static bool bytes_are_monotone(const asked_t *asked, int index)
{
    const iso_shard_option_t *option = &asked->list->options[index];
    const size_t bytes = iso_shard_moved_bytes(option, 0);
    size_t less = bytes;

    for (unsigned resident = 1; resident < 8; resident++) {
        const size_t now = iso_shard_moved_bytes(option, resident);

        less = now < less ? now : less;
        if (now > bytes) {
            return false;
        }
    }
    if (less != iso_shard_moved_bytes(option, 7)) {
        return false;
    }
    return index == 0 || option->count == 2 ||
           option->axis == ISO_SHARD_HEIGHT ||
           option->output_axis == ISO_SHARD_PARTIAL_SUMS ||
           iso_shard_moved_bytes(option - 1, 0) <= bytes;
}

static bool work_is_right(const iso_shard_option_t *option)
{
    int64_t sum = 0;

    for (int i = 0; i < option->count; i++) {
        sum += iso_shard_elements(option, i);
    }
    return sum >= option->output_elements &&
           sum < option->output_elements + option->count &&
           iso_shard_widest(option) == iso_shard_elements(option, 0);
}

static void check_all(const asked_t *asked, const char *text, int round)
{
    for (int i = 0; i < asked->list->count; i++) {
        const iso_shard_option_t *option = &asked->list->options[i];
        const bool right =
            ranges_are_right(option) && operands_are_right(asked, option) &&
            halo_is_right(asked, option) && bytes_are_monotone(asked, i) &&
            work_is_right(option);

        CU_ASSERT(right);
        if (!right) {
            (void)fprintf(stderr, "seed %d, round %d: %s in %d of\n%s", SEED,
                          round, iso_shard_axis_string(option->axis),
                          option->count, text);
        }
    }
}

static void test_properties(void)
{
    uint64_t state = SEED;
    int options = 0;

    for (int round = 0; round < ROUNDS; round++) {
        char text[512];

        if (round % 2 == 0) {
            random_conv(&state, text, sizeof text);
        } else {
            random_matmul(&state, text, sizeof text);
        }

        asked_t asked = ask(text, (int)test_random_int(&state, 2, 9), 0);

        check_all(&asked, text, round);
        options += asked.list->count;
        end(&asked);
    }
    CU_ASSERT(options > 5 * ROUNDS);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"ranges", test_ranges},
        {"names", test_names},
        {"order", test_order},
        {"moved bytes", test_moved_bytes},
        {"residency of each operand", test_residency_of_each},
        {"moved as", test_moved_as},
        {"nothing", test_nothing},
        {"errors", test_errors},
        {"out of memory", test_out_of_memory},
        {"saturation", test_saturation},
        {"properties", test_properties},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"shard_option", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
