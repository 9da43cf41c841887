/*
 * The shard-equivalence experiment: what it compares, which cuts it lists,
 * that pieces are equal to the whole, and that a wrong order of a sum and
 * plain BLIS are found out.
 */
#include "base/mem.h"
#include "base/random.h"
#include "iso_test.h"
#include "lab/equiv_impl.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SEED = 20250711, TRIALS = 2000 };

/* ---- Comparing ---- */

static iso_equiv_difference_t compare_one(float a, float b)
{
    return iso_equiv_compare(&a, &b, 1);
}

static void check_ulp(float a, float b, int64_t ulp)
{
    const iso_equiv_difference_t there = compare_one(a, b);
    const iso_equiv_difference_t back = compare_one(b, a);

    CU_ASSERT_EQUAL(there.max_ulp, ulp);
    CU_ASSERT_EQUAL(back.max_ulp, ulp);
    CU_ASSERT_EQUAL(there.max_abs, back.max_abs);
    CU_ASSERT_EQUAL(there.equal, 0);
}

static void test_ulp(void)
{
    const float least = 0x1p-149F;

    check_ulp(1.0F, nextafterf(1.0F, 2.0F), 1);
    check_ulp(-1.0F, nextafterf(-1.0F, -2.0F), 1);
    check_ulp(1.0F, 2.0F, 1 << 23);
    /* Across 0, which has two patterns. */
    check_ulp(least, -least, 2);
    check_ulp(0.0F, least, 1);
    check_ulp(-0.0F, least, 1);
    check_ulp(-0.0F, -least, 1);
    check_ulp(0.0F, -0.0F, 0);
    CU_ASSERT_EQUAL(compare_one(0.0F, -0.0F).max_abs, 0.0);
    check_ulp(FLT_MAX, HUGE_VALF, 1);
    check_ulp(-HUGE_VALF, HUGE_VALF, INT64_C(2) * 0x7f800000);
    CU_ASSERT_EQUAL(compare_one(FLT_MAX, -FLT_MAX).max_abs, 2.0 * FLT_MAX);
}

static float of_bits(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

static void test_nan(void)
{
    const float nan = of_bits(0x7fc00000);

    CU_ASSERT_EQUAL(compare_one(nan, nan).equal, 1);
    CU_ASSERT_EQUAL(compare_one(nan, nan).max_abs, 0.0);
    CU_ASSERT_EQUAL(compare_one(HUGE_VALF, HUGE_VALF).equal, 1);
    check_ulp(nan, of_bits(0x7fc00001), INT64_MAX);
    check_ulp(nan, of_bits(0xffc00000), INT64_MAX);
    check_ulp(nan, 1.0F, INT64_MAX);
    CU_ASSERT(isinf(compare_one(nan, HUGE_VALF).max_abs));
}

/* As many steps as one takes with nextafterf. */
static void test_ulp_random(void)
{
    iso_random_t random = {.state = SEED};

    for (int i = 0; i < TRIALS; i++) {
        const float a = of_bits((uint32_t)iso_random_next(&random));
        const int steps = 1 + (int)iso_random_below(&random, 20);
        float b = a;

        if (!isfinite(a) || fabsf(a) > 0.5F * FLT_MAX) {
            continue;
        }
        for (int k = 0; k < steps; k++) {
            b = nextafterf(b, HUGE_VALF);
        }
        check_ulp(a, b, steps);
    }
    for (int steps = 1; steps <= 30; steps++) {
        float b = -0x1p-146F; /* 8 steps below 0 */

        for (int k = 0; k < steps; k++) {
            b = nextafterf(b, HUGE_VALF);
        }
        check_ulp(-0x1p-146F, b, steps);
    }
}

/* One element of many, wherever it is. */
static void test_one_of_many(void)
{
    enum { COUNT = 1009 };
    float a[COUNT];
    float b[COUNT];
    iso_random_t random = {.state = SEED};

    for (int i = 0; i < COUNT; i++) {
        a[i] = b[i] = iso_random_float(&random);
    }
    for (int i = 0; i < COUNT; i++) {
        b[i] = nextafterf(a[i], 2.0F);

        const iso_equiv_difference_t found = iso_equiv_compare(a, b, COUNT);

        CU_ASSERT_EQUAL(found.equal, COUNT - 1);
        CU_ASSERT_EQUAL(found.elements, COUNT);
        CU_ASSERT_EQUAL(found.max_ulp, 1);
        CU_ASSERT(iso_equiv_share(&found) < 1.0);
        b[i] = a[i];
    }

    const iso_equiv_difference_t none = iso_equiv_compare(a, b, 0);

    CU_ASSERT_EQUAL(none.elements, 0);
    CU_ASSERT_EQUAL(iso_equiv_share(&none), 1.0);
    CU_ASSERT_EQUAL(iso_equiv_compare(a, b, COUNT).equal, COUNT);
}

/* ---- Lines ---- */

static iso_equiv_table_t *table_of(bool quick, int n_threads)
{
    const iso_equiv_options_t options = {
        .quick = quick, .n_threads = n_threads, .threads = {1, 2, 5}};
    iso_equiv_table_t *table = NULL;

    CU_ASSERT_EQUAL_FATAL(iso_equiv_create(&options, &table), ISO_OK);
    return table;
}

static int count_lines(const iso_equiv_table_t *table, int case_index,
                       const char *axis, int pieces)
{
    int count = 0;

    for (int i = 0; i < table->n_lines; i++) {
        const iso_equiv_line_t *line = &table->lines[i];

        count += iso__equiv_part(table, i)->case_index == case_index &&
                 strcmp(line->axis, axis) == 0 && line->pieces == pieces;
    }
    return count;
}

/* Lines of the first number of threads, of any axis. */
static int count_cuts(const iso_equiv_table_t *table, int case_index,
                      int pieces)
{
    int count = 0;

    for (int i = 0; i < table->n_lines; i++) {
        count += iso__equiv_part(table, i)->case_index == case_index &&
                 table->lines[i].threads == table->options.threads[0] &&
                 table->lines[i].pieces == pieces;
    }
    return count;
}

/* Every axis of the op's list that is long enough; some of one op share a
 * name. */
static void check_count(const iso_equiv_table_t *table, int case_index,
                        const iso_shard_list_t *list, int pieces)
{
    int cuts = 0;

    for (int i = 0; i < list->count; i++) {
        const iso_shard_option_t *option = &list->options[i];

        if (option->count == pieces) {
            cuts++;
            CU_ASSERT(count_lines(table, case_index,
                                  iso_shard_axis_string(option->axis),
                                  pieces) >= table->options.n_threads);
        }
    }
    CU_ASSERT_EQUAL(count_cuts(table, case_index, pieces), cuts);
}

static void check_case(const iso_equiv_table_t *table, int case_index)
{
    static const int counts[] = {2, 3, 4, 8};
    iso__equiv_op_t op;
    iso_shard_list_t *list = NULL;

    CU_ASSERT_EQUAL_FATAL(
        iso__equiv_op_create(iso__equiv_case(case_index), &op), ISO_OK);

    const iso_shard_op_t asked = {.graph = op.graph, .node = op.node};

    CU_ASSERT_EQUAL_FATAL(iso_shard_list_create(&asked, 8, &list), ISO_OK);
    for (int i = 0; i < 4; i++) {
        check_count(table, case_index, list, counts[i]);
    }
    CU_ASSERT_EQUAL(count_lines(table, case_index, "threads", 1),
                    table->options.n_threads - 1);
    CU_ASSERT(list->count > 0);
    iso_shard_list_destroy(&list);
    iso__equiv_op_free(&op);
}

static void test_lines(void)
{
    for (int n_threads = 1; n_threads <= 3; n_threads++) {
        iso_equiv_table_t *table = table_of(false, n_threads);

        for (int i = 0; i < iso__equiv_case_count(); i++) {
            check_case(table, i);
        }
        iso_equiv_destroy(&table);
    }
}

/* Every axis there is has lines, also in the quick part. */
static void test_axes(void)
{
    for (int quick = 0; quick < 2; quick++) {
        iso_equiv_table_t *table = table_of(quick == 1, 2);
        int lines = 0;

        iso__equiv_sum_up(table);
        /* Two of the axes are called "batch"; "threads" is one. */
        CU_ASSERT_EQUAL(table->n_axes, ISO_SHARD_AXIS_COUNT);
        for (int i = 0; i < table->n_axes; i++) {
            lines += table->axes[i].lines;
        }
        CU_ASSERT_EQUAL(lines, table->n_lines);
        CU_ASSERT_EQUAL(table->exact, table->n_lines); /* 0 of 0 elements */
        iso_equiv_destroy(&table);
    }
}

static void test_sum_up(void)
{
    iso_equiv_table_t *table = table_of(true, 1);

    for (int i = 0; i < table->n_lines; i++) {
        table->lines[i].difference =
            (iso_equiv_difference_t){.elements = 100, .equal = 100};
        table->lines[i].agreed = i != 3;
    }
    table->lines[0].difference = (iso_equiv_difference_t){100, 90, 0.5, 7};
    table->lines[1].difference = (iso_equiv_difference_t){100, 99, 0.75, 3};
    CU_ASSERT_STRING_EQUAL_FATAL(table->lines[0].axis, table->lines[1].axis);
    iso__equiv_sum_up(table);
    CU_ASSERT_EQUAL(table->exact, table->n_lines - 2);
    CU_ASSERT_EQUAL(table->agreed, table->n_lines - 1);
    CU_ASSERT_STRING_EQUAL(table->axes[0].axis, table->lines[0].axis);
    CU_ASSERT_EQUAL(table->axes[0].exact, table->axes[0].lines - 2);
    CU_ASSERT_EQUAL(table->axes[0].least_share, 0.9);
    CU_ASSERT_EQUAL(table->axes[0].max_abs, 0.75);
    CU_ASSERT_EQUAL(table->axes[0].max_ulp, 7);
    CU_ASSERT_EQUAL(table->axes[1].max_abs, 0.0);
    iso_equiv_destroy(&table);
}

static void refuse(int n_threads, int threads)
{
    const iso_equiv_options_t options = {
        .quick = true, .n_threads = n_threads, .threads = {1, threads}};
    iso_equiv_table_t *table = NULL;

    CU_ASSERT_EQUAL(iso_equiv_create(&options, &table), ISO_INVAL);
    CU_ASSERT_PTR_NULL(table);
}

static void test_refused(void)
{
    refuse(0, 1);
    refuse(-1, 1);
    refuse(ISO_EQUIV_MOST_THREADS + 1, 1);
    refuse(2, 0);
    refuse(2, -3);
}

static void test_out_of_memory(void)
{
    const iso_equiv_options_t options = {
        .quick = true, .n_threads = 1, .threads = {1}};
    const int64_t before = iso_mem_count().allocations;
    iso_equiv_table_t *table = table_of(true, 1);
    const int64_t allocations = iso_mem_count().allocations - before;

    iso_equiv_destroy(&table);
    for (int64_t n = 1; n <= allocations; n += 1 + n / 20) {
        iso_mem_fail_at(n);
        CU_ASSERT_EQUAL(iso_equiv_create(&options, &table), ISO_NOMEM);
        iso_mem_fail_at(0);
        CU_ASSERT_PTR_NULL(table);
        CU_ASSERT_EQUAL(iso_mem_count().blocks, 0);
    }
}

/* ---- Pieces ---- */

static const iso__equiv_case_t ops[] = {
    {.op = ISO_OP_MATMUL, .rank = {2, 2}, .dims = {{13, 2048}, {2048, 31}}},
    {.op = ISO_OP_MATMUL, .rank = {2, 2}, .dims = {{7, 5}, {5, 3}}},
    {.op = ISO_OP_MATMUL, .rank = {2, 2}, .dims = {{1, 1031}, {1031, 9}}},
    {.op = ISO_OP_MATMUL, .rank = {2, 2}, .dims = {{11, 1}, {1, 9}}},
    {.op = ISO_OP_MATMUL, .rank = {3, 3}, .dims = {{3, 5, 600}, {3, 600, 7}}},
    {.op = ISO_OP_MATMUL, .rank = {3, 2}, .dims = {{3, 5, 600}, {600, 7}}},
    {.op = ISO_OP_MATMUL, .rank = {3, 3}, .dims = {{3, 5, 60}, {1, 60, 7}}},
    {.op = ISO_OP_GEMM,
     .rank = {2, 2},
     .dims = {{9, 800}, {17, 800}},
     .trans_b = true},
    {.op = ISO_OP_CONV,
     .rank = {4, 4},
     .dims = {{2, 61, 7, 6}, {11, 61, 3, 3}},
     .pad = 1},
    {.op = ISO_OP_CONV, /* whole pieces of height lie in the padding */
     .rank = {4, 4},
     .dims = {{1, 3, 2, 5}, {4, 3, 1, 1}},
     .pad = 4},
    {.op = ISO_OP_CONV,
     .rank = {4, 4},
     .dims = {{2, 3, 11, 13}, {5, 3, 3, 2}},
     .stride = 2,
     .pad = 2,
     .dilation = 2},
    {.op = ISO_OP_CONV,
     .rank = {4, 4},
     .dims = {{2, 8, 5, 5}, {12, 2, 3, 3}},
     .groups = 4},
    {.op = ISO_OP_CONV, .rank = {3, 3}, .dims = {{2, 300, 9}, {3, 300, 3}}},
    {.op = ISO_OP_CONV,
     .rank = {5, 5},
     .dims = {{2, 31, 4, 5, 3}, {3, 31, 3, 2, 3}},
     .pad = 1},
};
enum { N_OPS = sizeof ops / sizeof *ops };

typedef struct trial {
    iso__equiv_op_t op;
    iso_shard_list_t *list;
    int64_t count;
    float *whole;
    float *found;
    iso_device_t *device; /* of one thread */
    iso_device_t *two;    /* threads */
    iso_device_t *control;
} trial_t;

static void trial_begin(const iso__equiv_case_t *from, trial_t *trial)
{
    *trial = (trial_t){0};
    CU_ASSERT_EQUAL_FATAL(iso__equiv_op_create(from, &trial->op), ISO_OK);

    const iso_shard_op_t asked = {.graph = trial->op.graph,
                                  .node = trial->op.node};

    CU_ASSERT_EQUAL_FATAL(iso_shard_list_create(&asked, 8, &trial->list),
                          ISO_OK);
    CU_ASSERT_EQUAL_FATAL(iso__equiv_op_fill(&trial->op, SEED), ISO_OK);
    trial->count = iso__equiv_op_elements(&trial->op);
    trial->whole = iso_alloc((size_t)trial->count * sizeof(float));
    trial->found = iso_alloc((size_t)trial->count * sizeof(float));
    CU_ASSERT_EQUAL_FATAL(iso_device_open("cpu", 1, &trial->device), ISO_OK);
    CU_ASSERT_EQUAL_FATAL(iso_device_open("cpu", 2, &trial->two), ISO_OK);
    CU_ASSERT_EQUAL_FATAL(iso_device_open_control(1, &trial->control), ISO_OK);
}

static void trial_end(trial_t *trial)
{
    iso_device_close(&trial->device);
    iso_device_close(&trial->two);
    iso_device_close(&trial->control);
    iso_free(trial->whole);
    iso_free(trial->found);
    iso_shard_list_destroy(&trial->list);
    iso__equiv_op_free(&trial->op);
}

static void run_whole(trial_t *trial, iso_device_t *device, float *result)
{
    CU_ASSERT_EQUAL_FATAL(iso__equiv_whole(&trial->op, device, result), ISO_OK);
}

/* Pieces of an option against the whole; the whole is there. */
static iso_equiv_difference_t run_pieces(trial_t *trial,
                                         const iso_shard_option_t *option,
                                         iso__equiv_sum_t sum,
                                         iso_device_t *device)
{
    memset(trial->found, 0xff, (size_t)trial->count * sizeof(float));
    CU_ASSERT_EQUAL_FATAL(
        iso__equiv_pieces(&trial->op, option, sum, device, trial->found),
        ISO_OK);
    return iso_equiv_compare(trial->whole, trial->found, trial->count);
}

static void check_op(const iso__equiv_case_t *from)
{
    iso_device_t *ref = NULL;
    trial_t trial;

    trial_begin(from, &trial);
    CU_ASSERT_EQUAL_FATAL(iso_device_open("ref", 1, &ref), ISO_OK);
    run_whole(&trial, ref, trial.whole);
    for (int i = 0; i < trial.list->count; i++) {
        const iso_shard_option_t *option = &trial.list->options[i];
        iso_device_t *devices[] = {trial.device, trial.two};

        for (int k = 0; k < 2; k++) {
            CU_ASSERT_EQUAL(
                run_pieces(&trial, option, ISO__EQUIV_SUM_TREE, devices[k])
                    .equal,
                trial.count);
        }
    }
    iso_device_close(&ref);
    trial_end(&trial);
}

static void test_equal(void)
{
    for (int i = 0; i < N_OPS; i++) {
        check_op(&ops[i]);
    }
}

/* Plain BLIS computes the same ops, though not the same bits. */
static void check_control(const iso__equiv_case_t *from)
{
    trial_t trial;
    double room;

    trial_begin(from, &trial);
    run_whole(&trial, trial.device, trial.whole);
    /* Sums of fewer than 2^12 products, each below 1. */
    room = 4096.0 * FLT_EPSILON;
    run_whole(&trial, trial.control, trial.found);
    CU_ASSERT(iso_equiv_compare(trial.whole, trial.found, trial.count).max_abs <
              room);
    for (int i = 0; i < trial.list->count; i++) {
        CU_ASSERT(run_pieces(&trial, &trial.list->options[i],
                             ISO__EQUIV_SUM_CHAIN, trial.control)
                      .max_abs < room);
    }
    trial_end(&trial);
}

static void test_control(void)
{
    for (int i = 0; i < N_OPS; i++) {
        check_control(&ops[i]);
    }
}

static const iso_shard_option_t *option_of(const trial_t *trial,
                                           iso_shard_axis_t axis, int count)
{
    for (int i = 0; i < trial->list->count; i++) {
        const iso_shard_option_t *option = &trial->list->options[i];

        if (option->axis == axis && option->count == count) {
            return option;
        }
    }
    CU_FAIL_FATAL("no such option");
    return NULL;
}

/* 8 blocks as 3 + 3 + 2, added one after the other and not in the tree's
 * order, with isotome's own kernels: a few bits are enough to be seen. */
static void test_wrong_order(void)
{
    trial_t trial;

    trial_begin(&ops[0], &trial);
    run_whole(&trial, trial.device, trial.whole);

    const iso_shard_option_t *option =
        option_of(&trial, ISO_SHARD_REDUCTION, 3);
    const iso_equiv_difference_t wrong =
        run_pieces(&trial, option, ISO__EQUIV_SUM_CHAIN, trial.device);

    CU_ASSERT_EQUAL(option->length, 8);
    CU_ASSERT(wrong.equal < trial.count);
    CU_ASSERT(wrong.max_ulp > 0);
    CU_ASSERT(wrong.max_abs > 0.0);
    CU_ASSERT(wrong.max_abs < 1e-3);
    trial_end(&trial);
}

/* The pieces of rows put where another belongs. */
static void test_wrong_place(void)
{
    trial_t trial;

    trial_begin(&ops[0], &trial);
    run_whole(&trial, trial.device, trial.whole);

    const iso_shard_option_t *option = option_of(&trial, ISO_SHARD_COLS, 2);
    const iso_range_t moved[] = {{0, 15}, {14, 29}};
    iso_shard_option_t other = *option;

    other.ranges = moved; /* one column twice, the last two not at all */

    const iso_equiv_difference_t wrong =
        run_pieces(&trial, &other, ISO__EQUIV_SUM_TREE, trial.device);

    CU_ASSERT_EQUAL(wrong.equal, trial.count - INT64_C(2) * 13);
    CU_ASSERT_EQUAL(wrong.max_ulp, INT64_MAX);
    trial_end(&trial);
}

/* What the experiment is for: the library's own bits depend on the cut. */
static void test_control_differs(void)
{
    trial_t trial;

    trial_begin(&ops[0], &trial);
    run_whole(&trial, trial.control, trial.whole);
    CU_ASSERT(run_pieces(&trial, option_of(&trial, ISO_SHARD_REDUCTION, 3),
                         ISO__EQUIV_SUM_CHAIN, trial.control)
                  .equal < trial.count);
    trial_end(&trial);
}

static void test_pieces_out_of_memory(void)
{
    trial_t trial;

    trial_begin(&ops[5], &trial);
    for (int i = 0; i < trial.list->count; i++) {
        const int64_t blocks = iso_mem_count().blocks;
        iso_status_t status = ISO_NOMEM;

        for (int64_t n = 1; status != ISO_OK && n < 1000; n++) {
            iso_mem_fail_at(n);
            status = iso__equiv_pieces(&trial.op, &trial.list->options[i],
                                       ISO__EQUIV_SUM_TREE, trial.device,
                                       trial.found);
            iso_mem_fail_at(0);
            CU_ASSERT(status == ISO_OK || status == ISO_NOMEM);
            CU_ASSERT_EQUAL(iso_mem_count().blocks, blocks);
        }
        CU_ASSERT_EQUAL(status, ISO_OK);
    }
    trial_end(&trial);
}

int main(void)
{
    CU_TestInfo comparing[] = {
        {"ulp", test_ulp},
        {"NaN", test_nan},
        {"ulp of random numbers", test_ulp_random},
        {"one element of many", test_one_of_many},
        CU_TEST_INFO_NULL,
    };
    CU_TestInfo lines[] = {
        {"every cut", test_lines},
        {"every axis", test_axes},
        {"summing up", test_sum_up},
        {"refused options", test_refused},
        {"out of memory", test_out_of_memory},
        CU_TEST_INFO_NULL,
    };
    CU_TestInfo pieces[] = {
        {"equal to the whole", test_equal},
        {"the control is right", test_control},
        {"a sum in the wrong order", test_wrong_order},
        {"a piece in the wrong place", test_wrong_place},
        {"the control differs", test_control_differs},
        {"out of memory", test_pieces_out_of_memory},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"comparing", NULL, NULL, NULL, NULL, comparing},
        {"lines", NULL, NULL, NULL, NULL, lines},
        {"pieces", NULL, NULL, NULL, NULL, pieces},
        CU_SUITE_INFO_NULL,
    };
    (void)printf("seed %d\n", SEED);

    const int status = iso_test_main(suites);

    return iso_mem_count().blocks == 0 ? status : 1;
}
