#include "base/mem.h"
#include "iso_test.h"
#include "iso_test_call.h"
#include "plan/shard/exchange.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SEED = 161803, TRIALS = 3000, MOST_WORKERS = 6 };

static const iso_layout_t on_0 = {.kind = ISO_LAYOUT_ONE, .worker = 0};
static const iso_layout_t on_2 = {.kind = ISO_LAYOUT_ONE, .worker = 2};
static const iso_layout_t on_all = {.kind = ISO_LAYOUT_ALL};

/* 7 rows of 3 workers; with a halo of one row; 4 columns. */
static const iso_range_t rows[] = {{0, 3}, {3, 5}, {5, 7}};
static const iso_range_t halo[] = {{0, 4}, {2, 6}, {4, 7}};
static const iso_range_t cols[] = {{0, 2}, {2, 2}, {2, 4}};
static const iso_layout_t by_rows = {ISO_LAYOUT_SPLIT, 0, 0, rows};
static const iso_layout_t by_halo = {ISO_LAYOUT_SPLIT, 0, 0, halo};
static const iso_layout_t by_cols = {ISO_LAYOUT_SPLIT, 0, 1, cols};

/* f32[7,4] among 3 workers. */
static iso_exchange_t exchange_of(const iso_layout_t *from,
                                  const iso_layout_t *to)
{
    return (iso_exchange_t){
        .kind = iso_exchange_kind_of(from, to),
        .value = "v",
        .dtype = ISO_DTYPE_F32,
        .shape = iso_shape_of(2, (const int64_t[]){7, 4}),
        .n_workers = 3,
        .from = *from,
        .to = *to,
    };
}

static void expect_part(const iso_exchange_t *exchange, int from, int to,
                        const int64_t begins_ends[4])
{
    iso_box_t box;

    iso_exchange_part(exchange, from, to, &box);
    CU_ASSERT_EQUAL(box.rank, 2);
    CU_ASSERT_EQUAL(box.range[0].begin, begins_ends[0]);
    CU_ASSERT_EQUAL(box.range[0].end, begins_ends[1]);
    CU_ASSERT_EQUAL(box.range[1].begin, begins_ends[2]);
    CU_ASSERT_EQUAL(box.range[1].end, begins_ends[3]);
}

static int64_t part_count(const iso_exchange_t *exchange, int from, int to)
{
    iso_box_t box;

    iso_exchange_part(exchange, from, to, &box);
    return iso_box_count(&box);
}

/* -- kinds -- */

static void expect_kind(const iso_layout_t *from, const iso_layout_t *to,
                        const char *text)
{
    CU_ASSERT_STRING_EQUAL(
        iso_exchange_kind_string(iso_exchange_kind_of(from, to)), text);
}

static void test_kinds(void)
{
    expect_kind(&on_0, &on_2, "send");
    expect_kind(&on_0, &by_rows, "scatter");
    expect_kind(&on_0, &by_halo, "scatter");
    expect_kind(&on_0, &on_all, "broadcast");
    expect_kind(&by_rows, &on_0, "gather");
    expect_kind(&by_rows, &on_all, "all-gather");
    expect_kind(&by_rows, &by_cols, "all-to-all");
    expect_kind(&by_rows, &by_halo, "halo");
}

/* -- parts -- */

static void test_parts(void)
{
    iso_exchange_t exchange = exchange_of(&by_rows, &by_halo);

    expect_part(&exchange, 0, 0, (const int64_t[]){0, 3, 0, 4});
    expect_part(&exchange, 1, 0, (const int64_t[]){3, 4, 0, 4});
    expect_part(&exchange, 0, 1, (const int64_t[]){2, 3, 0, 4});
    expect_part(&exchange, 2, 1, (const int64_t[]){5, 6, 0, 4});
    CU_ASSERT_EQUAL(part_count(&exchange, 0, 2), 0);

    exchange = exchange_of(&by_rows, &by_cols);
    expect_part(&exchange, 0, 2, (const int64_t[]){0, 3, 2, 4});
    expect_part(&exchange, 1, 0, (const int64_t[]){3, 5, 0, 2});
    CU_ASSERT_EQUAL(part_count(&exchange, 0, 1), 0);

    exchange = exchange_of(&on_2, &by_rows);
    expect_part(&exchange, 2, 1, (const int64_t[]){3, 5, 0, 4});
    CU_ASSERT_EQUAL(part_count(&exchange, 0, 1), 0);

    exchange = exchange_of(&on_0, &on_2);
    expect_part(&exchange, 0, 2, (const int64_t[]){0, 7, 0, 4});
    CU_ASSERT_EQUAL(part_count(&exchange, 0, 0), 0);
    CU_ASSERT_EQUAL(part_count(&exchange, 2, 2), 0);
}

static void test_scalar(void)
{
    iso_exchange_t exchange = exchange_of(&on_0, &on_2);

    exchange.shape = iso_shape_of(0, NULL);
    CU_ASSERT_EQUAL(part_count(&exchange, 0, 2), 1);
    CU_ASSERT_EQUAL(part_count(&exchange, 0, 1), 0);
    CU_ASSERT_EQUAL(part_count(&exchange, 1, 2), 0);
    CU_ASSERT_EQUAL(iso_exchange_bytes(&exchange), 4);
    exchange.to = on_all;
    exchange.kind = ISO_EXCHANGE_BROADCAST;
    CU_ASSERT_EQUAL(part_count(&exchange, 0, 0), 1);
    CU_ASSERT_EQUAL(part_count(&exchange, 0, 1), 1);
    CU_ASSERT_EQUAL(part_count(&exchange, 1, 2), 0);
    CU_ASSERT_EQUAL(iso_exchange_bytes(&exchange), 8);
}

/* -- bytes -- */

static void expect_bytes(const iso_layout_t *from, const iso_layout_t *to,
                         const size_t expected[3])
{
    const iso_exchange_t exchange = exchange_of(from, to);
    size_t all = 0;

    for (int worker = 0; worker < 3; worker++) {
        CU_ASSERT_EQUAL(iso_exchange_sent_bytes(&exchange, worker),
                        expected[worker]);
        all += expected[worker];
    }
    CU_ASSERT_EQUAL(iso_exchange_bytes(&exchange), all);
}

/* A row is 16 bytes. */
static void test_bytes(void)
{
    expect_bytes(&on_0, &on_2, (const size_t[]){112, 0, 0});
    expect_bytes(&on_0, &by_rows, (const size_t[]){64, 0, 0});
    expect_bytes(&on_2, &by_halo, (const size_t[]){0, 0, 128});
    expect_bytes(&on_0, &on_all, (const size_t[]){224, 0, 0});
    expect_bytes(&by_rows, &on_0, (const size_t[]){0, 32, 32});
    expect_bytes(&by_rows, &on_all, (const size_t[]){96, 64, 64});
    expect_bytes(&by_rows, &by_halo, (const size_t[]){16, 32, 16});
    expect_bytes(&by_rows, &by_cols, (const size_t[]){24, 32, 16});
}

static void test_uncountable(void)
{
    iso_exchange_t exchange = exchange_of(&on_0, &on_all);
    iso_machine_t *machine = NULL;
    size_t sent[3];
    size_t received[3];
    static const int ranks[] = {0, 1, 2};

    CU_ASSERT_EQUAL_FATAL(iso_machine_default(3, 0, 0, &machine), ISO_OK);
    exchange.shape =
        iso_shape_of(2, (const int64_t[]){INT64_C(1) << 40, INT64_C(1) << 40});
    CU_ASSERT_EQUAL(iso_exchange_sent_bytes(&exchange, 0), SIZE_MAX);
    iso_exchange_count_bytes(&exchange, sent, received);
    CU_ASSERT_EQUAL(sent[2], SIZE_MAX);
    CU_ASSERT_EQUAL(received[2], SIZE_MAX);
    CU_ASSERT_EQUAL(iso_exchange_bytes(&exchange), SIZE_MAX);
    CU_ASSERT(isinf(iso_exchange_seconds(&exchange, machine, ranks)));
    /* One copy can be counted, four cannot. */
    exchange.shape = iso_shape_of(1, (const int64_t[]){INT64_C(1) << 61});
    CU_ASSERT_EQUAL(iso_exchange_sent_bytes(&exchange, 0), SIZE_MAX);
    CU_ASSERT_EQUAL(iso_exchange_sent_bytes(&exchange, 1), 0);
    iso_exchange_count_bytes(&exchange, sent, received);
    CU_ASSERT_EQUAL(sent[0], SIZE_MAX);
    CU_ASSERT_EQUAL(sent[1], 0);
    CU_ASSERT_EQUAL(received[0], 0);
    CU_ASSERT_EQUAL(received[1], (size_t)1 << 63);
    iso_machine_destroy(&machine);
}

/* -- seconds -- */

/* Ranks 0 and 1 share a host, so do 2 and 3. */
static const double near_s = 2e-6;
static const double near_bytes_per_s = 4e9;
static const double far_s = 30e-6;
static const double far_bytes_per_s = 1.1e9;
static const double copy_bytes_per_s = 4e9;

static double near_of(double bytes)
{
    return near_s + bytes / near_bytes_per_s;
}

static double far_of(double bytes)
{
    return far_s + bytes / far_bytes_per_s;
}

static double copy_of(double bytes)
{
    return bytes / copy_bytes_per_s;
}

/* Of f32[7000000,4] on ranks {0, 1, 2}: worker 2 is on the other host. */
static void expect_seconds(const iso_layout_t *from, const iso_layout_t *to,
                           double expected)
{
    static const int ranks[] = {0, 1, 2};
    const iso_exchange_t exchange = exchange_of(from, to);
    iso_machine_t *machine = NULL;
    double found;

    CU_ASSERT_EQUAL_FATAL(iso_machine_default(4, 2, 0, &machine), ISO_OK);
    found = iso_exchange_seconds(&exchange, machine, ranks);
    CU_ASSERT_DOUBLE_EQUAL(found, expected, expected * 1e-9);
    iso_machine_destroy(&machine);
}

static void test_seconds_of_a_root(void)
{
    expect_seconds(&on_0, &on_2, far_of(112));
    expect_seconds(&on_0, &on_0, 0);
    /* The root's own part stays. */
    expect_seconds(&on_0, &by_rows, near_of(32) + far_of(32) + copy_of(48));
    expect_seconds(&on_2, &by_halo, far_of(64) + far_of(64) + copy_of(48));
    expect_seconds(&by_rows, &on_0, near_of(32) + far_of(32) + copy_of(48));
    /* No message where there is nothing: worker 1 has no column. */
    expect_seconds(&on_0, &by_cols, far_of(56) + 2 * copy_of(56));
}

static void test_seconds_of_a_tree(void)
{
    /* 0 -> 1, then 0 -> 2. */
    expect_seconds(&on_0, &on_all, near_of(112) + far_of(112) + copy_of(112));
    /* 2 -> 0, then 2 -> 1. */
    expect_seconds(&on_2, &on_all, 2 * far_of(112) + copy_of(112));
}

static void test_seconds_of_pairs(void)
{
    /* Ring: the largest part, 3 rows, in each of 2 steps. */
    expect_seconds(&by_rows, &on_all, 2 * far_of(48) + copy_of(48));
    /* Worker 1 trades a row with each neighbour. */
    expect_seconds(&by_rows, &by_halo, near_of(16) + far_of(16) + copy_of(32));
    /* Worker 2 sends 2 rows of 2 columns, gets 3 and 2 of them. */
    expect_seconds(&by_rows, &by_cols,
                   far_of(24) + far_of(16) + copy_of(16 + 16));
}

/* -- any exchange -- */

typedef struct sample {
    iso_exchange_t exchange;
    iso_range_t from[MOST_WORKERS];
    iso_range_t to[MOST_WORKERS];
} sample_t;

static void random_layout(uint64_t *state, const iso_exchange_t *exchange,
                          bool is_from, iso_range_t *ranges,
                          iso_layout_t *layout_out)
{
    const int kind = (int)test_random_int(state, is_from ? 1 : 0, 2);
    const int rank = exchange->shape.rank;
    const int axis = rank > 0 ? (int)test_random_int(state, 0, rank - 1) : 0;
    double weights[MOST_WORKERS];

    *layout_out = on_all;
    if (kind == 1 || (kind == 2 && rank == 0)) {
        layout_out->kind = ISO_LAYOUT_ONE;
        layout_out->worker =
            (int)test_random_int(state, 0, exchange->n_workers - 1);
    } else if (kind == 2) {
        const int64_t length = exchange->shape.dim[axis].size;

        for (int i = 0; i < exchange->n_workers; i++) {
            weights[i] = (double)test_random_int(state, 0, 4);
        }
        iso_ranges_share(length, 1, weights, exchange->n_workers, ranges);
        for (int i = 0; i < exchange->n_workers && !is_from; i++) {
            ranges[i].begin -= ranges[i].begin > 0;
            ranges[i].end += ranges[i].end < length;
        }
        *layout_out = (iso_layout_t){ISO_LAYOUT_SPLIT, 0, axis, ranges};
    }
}

static void random_sample(uint64_t *state, sample_t *sample)
{
    iso_exchange_t *exchange = &sample->exchange;
    int64_t dims[3];

    for (int i = 0; i < 3; i++) {
        dims[i] = test_random_int(state, 0, 6);
    }
    *exchange = (iso_exchange_t){
        .dtype =
            test_random_int(state, 0, 1) == 0 ? ISO_DTYPE_I64 : ISO_DTYPE_BOOL,
        .shape = iso_shape_of((int)test_random_int(state, 0, 3), dims),
        .n_workers = (int)test_random_int(state, 1, MOST_WORKERS),
    };
    random_layout(state, exchange, true, sample->from, &exchange->from);
    random_layout(state, exchange, false, sample->to, &exchange->to);
    exchange->kind = iso_exchange_kind_of(&exchange->from, &exchange->to);
}

/* What a worker needs comes from somewhere, each element once. */
static void check_sample(const iso_exchange_t *exchange)
{
    const size_t size = iso_dtype_bytes(exchange->dtype);
    size_t sent_bytes[MOST_WORKERS];
    size_t received_bytes[MOST_WORKERS];
    size_t all = 0;

    iso_exchange_count_bytes(exchange, sent_bytes, received_bytes);
    for (int to = 0; to < exchange->n_workers; to++) {
        int64_t count = 0;
        size_t bytes = 0;
        size_t received = 0;
        iso_box_t box;

        iso_layout_box(&exchange->to, &exchange->shape, to, &box);
        for (int other = 0; other < exchange->n_workers; other++) {
            count += part_count(exchange, other, to);
            if (other != to) {
                bytes += (size_t)part_count(exchange, to, other) * size;
                received += (size_t)part_count(exchange, other, to) * size;
            }
        }
        CU_ASSERT_EQUAL(count, iso_box_count(&box));
        CU_ASSERT_EQUAL(iso_exchange_sent_bytes(exchange, to), bytes);
        CU_ASSERT_EQUAL(sent_bytes[to], bytes);
        CU_ASSERT_EQUAL(received_bytes[to], received);
        all += bytes;
    }
    CU_ASSERT_EQUAL(iso_exchange_bytes(exchange), all);
}

/* Nothing is sent in no time, something takes a message and its bytes. */
static void check_sample_seconds(const iso_exchange_t *exchange,
                                 const iso_machine_t *machine)
{
    static const int ranks[MOST_WORKERS] = {0, 1, 2, 3, 4, 5};
    const double bytes = (double)iso_exchange_bytes(exchange);
    const int64_t before = iso_mem_count().allocations;
    const double seconds = iso_exchange_seconds(exchange, machine, ranks);

    CU_ASSERT_EQUAL(iso_mem_count().allocations, before);
    if (bytes > 0) {
        CU_ASSERT(seconds >= near_s + bytes / exchange->n_workers /
                                          exchange->n_workers /
                                          near_bytes_per_s);
        CU_ASSERT(seconds <= 64 * far_of(64 * bytes));
    } else if (exchange->kind != ISO_EXCHANGE_ALL_GATHER) {
        CU_ASSERT_EQUAL(seconds, 0.0);
    }
}

static void test_random_exchanges(void)
{
    uint64_t state = SEED;
    iso_machine_t *machine = NULL;
    sample_t sample;

    (void)printf("seed %d ", SEED);
    CU_ASSERT_EQUAL_FATAL(iso_machine_default(MOST_WORKERS, 2, 0, &machine),
                          ISO_OK);
    for (int i = 0; i < TRIALS; i++) {
        random_sample(&state, &sample);
        check_sample(&sample.exchange);
        check_sample_seconds(&sample.exchange, machine);
    }
    iso_machine_destroy(&machine);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, 0);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"kinds", test_kinds},
        {"parts", test_parts},
        {"scalars", test_scalar},
        {"bytes", test_bytes},
        {"bytes that cannot be counted", test_uncountable},
        {"seconds of a root", test_seconds_of_a_root},
        {"seconds of a tree", test_seconds_of_a_tree},
        {"seconds of pairs", test_seconds_of_pairs},
        {"random exchanges", test_random_exchanges},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"exchange", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
