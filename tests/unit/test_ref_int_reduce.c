/* Reductions, places and pools of integers. */
#include "iso_test_call.h"
#include "kernel/ref.h"

static void begin(test_call_t *call, iso_op_t op, iso_dtype_t dtype,
                  const void *x, int64_t rows, int64_t columns)
{
    test_call_begin(call, op);
    test_call_input(call, dtype, 2, (const int64_t[]){rows, columns}, x);
}

static int64_t element(const test_call_t *call, int64_t i)
{
    switch (call->output.dtype) {
    case ISO_DTYPE_I8:
        return ((const int8_t *)call->output.data)[i];
    case ISO_DTYPE_U8:
        return ((const uint8_t *)call->output.data)[i];
    case ISO_DTYPE_I32:
        return ((const int32_t *)call->output.data)[i];
    default:
        return ((const int64_t *)call->output.data)[i];
    }
}

/* ---- reduce_* ---- */

static void test_axes(void)
{
    static const int32_t x[] = {5, -1, 20, 2, 30, -7};
    static const struct {
        iso_op_t op;
        int64_t rows[2];
        int64_t columns[3];
        int64_t all;
    } cases[] = {
        {ISO_OP_REDUCE_SUM, {24, 25}, {7, 29, 13}, 49},
        {ISO_OP_REDUCE_PROD, {-100, -420}, {10, -30, -140}, 42000},
        {ISO_OP_REDUCE_MAX, {20, 30}, {5, 30, 20}, 30},
        {ISO_OP_REDUCE_MIN, {-1, -7}, {2, -1, -7}, -7},
    };
    test_call_t call;

    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        begin(&call, cases[c].op, ISO_DTYPE_I32, x, 2, 3);
        TEST_INTS(&call, "axes", -1);
        CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
        CU_ASSERT_EQUAL(call.output.dtype, ISO_DTYPE_I32);
        CU_ASSERT_EQUAL(element(&call, 0), cases[c].rows[0]);
        CU_ASSERT_EQUAL(element(&call, 1), cases[c].rows[1]);
        test_call_end(&call);

        begin(&call, cases[c].op, ISO_DTYPE_I32, x, 2, 3);
        TEST_INTS(&call, "axes", 0);
        TEST_INTS(&call, "keep_dims", 0);
        CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
        CU_ASSERT_EQUAL(call.output.rank, 1);
        for (int i = 0; i < 3; i++) {
            CU_ASSERT_EQUAL(element(&call, i), cases[c].columns[i]);
        }
        test_call_end(&call);

        begin(&call, cases[c].op, ISO_DTYPE_I32, x, 2, 3);
        CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
        CU_ASSERT_EQUAL(element(&call, 0), cases[c].all);
        test_call_end(&call);
    }
}

/* Sums and products wrap to the width of their type. */
static void test_wrapping(void)
{
    static const int64_t wide[] = {INT64_MAX, INT64_MAX, 3};
    static const int32_t narrow[] = {INT32_MAX, INT32_MAX, 3};
    static const int32_t factors[] = {65536, 65536, -1};
    static const uint8_t bytes[] = {200, 100, 3};
    test_call_t call;

    begin(&call, ISO_OP_REDUCE_SUM, ISO_DTYPE_I64, wide, 1, 3);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    CU_ASSERT_EQUAL(element(&call, 0), 1);
    test_call_end(&call);
    begin(&call, ISO_OP_REDUCE_PROD, ISO_DTYPE_I64, wide, 1, 3);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    CU_ASSERT_EQUAL(element(&call, 0), 3);
    test_call_end(&call);
    begin(&call, ISO_OP_REDUCE_SUM, ISO_DTYPE_I32, narrow, 1, 3);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    CU_ASSERT_EQUAL(element(&call, 0), 1);
    test_call_end(&call);
    begin(&call, ISO_OP_REDUCE_PROD, ISO_DTYPE_I32, factors, 1, 3);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    CU_ASSERT_EQUAL(element(&call, 0), 0);
    test_call_end(&call);
    begin(&call, ISO_OP_REDUCE_SUM, ISO_DTYPE_U8, bytes, 1, 3);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    CU_ASSERT_EQUAL(element(&call, 0), 47);
    test_call_end(&call);
}

/* Numbers that no f64 holds are told apart. */
static void test_limits(void)
{
    static const int64_t wide[] = {INT64_MAX - 1, INT64_MAX, INT64_MIN,
                                   INT64_MIN + 1};
    static const int8_t narrow[] = {-128, -128, -128, -127};
    test_call_t call;

    begin(&call, ISO_OP_REDUCE_MAX, ISO_DTYPE_I64, wide, 2, 2);
    TEST_INTS(&call, "axes", 1);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    CU_ASSERT_EQUAL(element(&call, 0), INT64_MAX);
    CU_ASSERT_EQUAL(element(&call, 1), INT64_MIN + 1);
    test_call_end(&call);
    begin(&call, ISO_OP_REDUCE_MAX, ISO_DTYPE_I8, narrow, 2, 2);
    TEST_INTS(&call, "axes", 1);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    CU_ASSERT_EQUAL(element(&call, 0), -128);
    CU_ASSERT_EQUAL(element(&call, 1), -127);
    test_call_end(&call);
    begin(&call, ISO_OP_ARG_MAX, ISO_DTYPE_I64, wide, 2, 2);
    TEST_INTS(&call, "axis", 1);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    CU_ASSERT_EQUAL(element(&call, 0), 1);
    CU_ASSERT_EQUAL(element(&call, 1), 1);
    test_call_end(&call);
}

static void test_nothing(void)
{
    test_call_t call;

    begin(&call, ISO_OP_REDUCE_SUM, ISO_DTYPE_I64, NULL, 2, 0);
    TEST_INTS(&call, "axes", 1);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    CU_ASSERT_EQUAL(element(&call, 1), 0);
    test_call_end(&call);
    begin(&call, ISO_OP_REDUCE_PROD, ISO_DTYPE_I32, NULL, 2, 0);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    CU_ASSERT_EQUAL(element(&call, 0), 1);
    test_call_end(&call);
}

static void test_no_mean(void)
{
    CU_ASSERT_FALSE(iso_ref_supports(ISO_OP_REDUCE_MEAN, ISO_DTYPE_I32));
    CU_ASSERT_FALSE(iso_ref_supports(ISO_OP_REDUCE_MEAN, ISO_DTYPE_I64));
    CU_ASSERT_FALSE(iso_ref_supports(ISO_OP_REDUCE_SUM, ISO_DTYPE_BOOL));
    CU_ASSERT_FALSE(iso_ref_supports(ISO_OP_LESS, ISO_DTYPE_BOOL));
    CU_ASSERT_FALSE(iso_ref_supports(ISO_OP_ADD, ISO_DTYPE_F16));
    CU_ASSERT_FALSE(iso_ref_supports(ISO_OP_AVG_POOL, ISO_DTYPE_U8));
}

/* ---- arg_max, arg_min ---- */

static void test_arg(void)
{
    static const uint8_t x[] = {2, 200, 200, 1, 7, 1};
    test_call_t call;

    begin(&call, ISO_OP_ARG_MAX, ISO_DTYPE_U8, x, 2, 3);
    TEST_INTS(&call, "axis", 1);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    CU_ASSERT_EQUAL(call.output.dtype, ISO_DTYPE_I64);
    CU_ASSERT_EQUAL(element(&call, 0), 1);
    CU_ASSERT_EQUAL(element(&call, 1), 1);
    test_call_end(&call);
    begin(&call, ISO_OP_ARG_MIN, ISO_DTYPE_U8, x, 2, 3);
    TEST_INTS(&call, "axis", -1);
    TEST_INTS(&call, "keep_dims", 0);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    CU_ASSERT_EQUAL(call.output.rank, 1);
    CU_ASSERT_EQUAL(element(&call, 0), 0);
    CU_ASSERT_EQUAL(element(&call, 1), 0);
    test_call_end(&call);
}

/* ---- max_pool ---- */

static void pool(test_call_t *call, iso_dtype_t dtype, const void *x)
{
    test_call_begin(call, ISO_OP_MAX_POOL);
    test_call_input(call, dtype, 3, (const int64_t[]){1, 2, 3}, x);
    TEST_INTS(call, "kernel", 2);
    TEST_INTS(call, "strides", 2);
    TEST_INTS(call, "pads", 1, 0);
}

static void test_max_pool(void)
{
    static const int8_t x[] = {-100, -3, -2, 5, 127, -128};
    static const uint8_t y[] = {0, 255, 254, 7, 7, 8};
    static const int64_t of_x[] = {-100, -2, 5, 127};
    static const int64_t of_y[] = {0, 255, 7, 8};
    test_call_t call;

    pool(&call, ISO_DTYPE_I8, x);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    CU_ASSERT_EQUAL(iso_tensor_count(&call.output), 4);
    for (int i = 0; i < 4; i++) {
        CU_ASSERT_EQUAL(element(&call, i), of_x[i]);
    }
    test_call_end(&call);
    pool(&call, ISO_DTYPE_U8, y);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    for (int i = 0; i < 4; i++) {
        CU_ASSERT_EQUAL(element(&call, i), of_y[i]);
    }
    test_call_end(&call);
}

static void test_nothing_is_left(void)
{
    CU_ASSERT_EQUAL(iso_mem_count().blocks, 0);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"over axes", test_axes},    {"wrapping", test_wrapping},
        {"limits", test_limits},     {"of nothing", test_nothing},
        {"no mean", test_no_mean},   {"arg_max, arg_min", test_arg},
        {"max_pool", test_max_pool}, {"nothing is left", test_nothing_is_left},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"ref integer reduce", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
