#include "iso_test_call.h"
#include "iso_test_definition.h"
#include "kernel/arith.h"
#include "kernel/ref.h"

#include <math.h>

static uint32_t bits_of(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* ---- Reductions ---- */

static void reduce(test_call_t *call, iso_op_t op, const float *x)
{
    test_call_begin(call, op);
    TEST_F32(call, x, 2, 3, 2);
}

static void test_reduce_axes(void)
{
    const float x[] = {5, 1, 20, 2, 30, 1, 40, 2, 55, 1, 60, 2};
    test_call_t call;

    reduce(&call, ISO_OP_REDUCE_SUM, x);
    TEST_INTS(&call, "axes", 1);
    TEST_INTS(&call, "keep_dims", 0);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    CU_ASSERT_EQUAL(call.output.rank, 2);
    TEST_NEAR(&call, 0, 55, 4, 155, 5);
    test_call_end(&call);

    reduce(&call, ISO_OP_REDUCE_MEAN, x);
    TEST_INTS(&call, "axes", -1, 0);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    CU_ASSERT_EQUAL(call.output.rank, 3);
    TEST_NEAR(&call, 1e-5, 12, 19.5F, 23.25F);
    test_call_end(&call);

    reduce(&call, ISO_OP_REDUCE_MAX, x);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    TEST_NEAR(&call, 0, 60);
    test_call_end(&call);

    reduce(&call, ISO_OP_REDUCE_MIN, x);
    TEST_INTS(&call, "axes", 2);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    TEST_NEAR(&call, 0, 1, 2, 1, 2, 1, 2);
    test_call_end(&call);

    reduce(&call, ISO_OP_REDUCE_PROD, x);
    TEST_INTS(&call, "axes", 1);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    TEST_NEAR(&call, 0, 3000, 2, 132000, 4);
    test_call_end(&call);
}

/* The sum in 16 lanes, element i in lane i mod 16. */
static void test_sum_in_lanes(void)
{
    float x[1000];
    float lanes[ISO_LANES] = {0};
    uint64_t state = 7;
    test_call_t call;

    for (int i = 0; i < 1000; i++) {
        x[i] = test_random_float(&state);
        lanes[i % ISO_LANES] += x[i];
    }
    test_call_begin(&call, ISO_OP_REDUCE_SUM);
    TEST_F32(&call, x, 10, 100);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    CU_ASSERT_EQUAL(bits_of(*(float *)call.output.data),
                    bits_of(definition_lanes_sum(lanes)));
    test_call_end(&call);
}

static void test_reductions_of_nothing(void)
{
    const float x[] = {0};
    test_call_t call;

    test_call_begin(&call, ISO_OP_REDUCE_SUM);
    TEST_F32(&call, x, 2, 0);
    TEST_INTS(&call, "axes", 1);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    TEST_NEAR(&call, 0, 0, 0);
    test_call_end(&call);

    test_call_begin(&call, ISO_OP_REDUCE_PROD);
    TEST_F32(&call, x, 0);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    TEST_NEAR(&call, 0, 1);
    test_call_end(&call);
}

static void test_nan_wins(void)
{
    const float x[] = {1, NAN, 3, -INFINITY};
    test_call_t call;

    test_call_begin(&call, ISO_OP_REDUCE_MAX);
    TEST_F32(&call, x, 4);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    CU_ASSERT_EQUAL(bits_of(*(float *)call.output.data), ISO_NAN_BITS);
    test_call_end(&call);
    test_call_begin(&call, ISO_OP_ARG_MIN);
    TEST_F32(&call, x, 4);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    CU_ASSERT_EQUAL(*(int64_t *)call.output.data, 1);
    test_call_end(&call);
}

static void test_arg(void)
{
    const float x[] = {2, 7, 7, 1, -0.0F, 0.0F};
    test_call_t call;

    test_call_begin(&call, ISO_OP_ARG_MAX);
    TEST_F32(&call, x, 2, 3);
    TEST_INTS(&call, "axis", 1);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    CU_ASSERT_EQUAL(((int64_t *)call.output.data)[0], 1);
    CU_ASSERT_EQUAL(((int64_t *)call.output.data)[1], 0);
    test_call_end(&call);

    test_call_begin(&call, ISO_OP_ARG_MIN);
    TEST_F32(&call, x, 2, 3);
    TEST_INTS(&call, "axis", -1);
    TEST_INTS(&call, "keep_dims", 0);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    CU_ASSERT_EQUAL(call.output.rank, 1);
    CU_ASSERT_EQUAL(((int64_t *)call.output.data)[1], 1);
    test_call_end(&call);
}

/* ---- Norms ---- */

static void test_softmax(void)
{
    const float x[] = {0, 1, 2, 3, 10000, 10001, 10002, 10003};
    const float dead[] = {-INFINITY, -INFINITY};
    test_call_t call;

    test_call_begin(&call, ISO_OP_SOFTMAX);
    TEST_F32(&call, x, 2, 4);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    TEST_NEAR(&call, 1e-7, 0.032058604F, 0.08714432F, 0.23688284F, 0.6439143F,
              0.032058604F, 0.08714432F, 0.23688284F, 0.6439143F);
    test_call_end(&call);

    test_call_begin(&call, ISO_OP_LOG_SOFTMAX);
    TEST_F32(&call, x, 2, 4);
    TEST_INTS(&call, "axis", 1);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    TEST_NEAR(&call, 5e-7, -3.4401896F, -2.4401896F, -1.4401896F, -0.44018966F,
              -3.4401896F, -2.4401896F, -1.4401896F, -0.44018966F);
    test_call_end(&call);

    test_call_begin(&call, ISO_OP_SOFTMAX);
    TEST_F32(&call, x, 2, 4);
    TEST_INTS(&call, "axis", 0);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    TEST_NEAR(&call, 0, 0, 0, 0, 0, 1, 1, 1, 1);
    test_call_end(&call);

    test_call_begin(&call, ISO_OP_SOFTMAX);
    TEST_F32(&call, dead, 1, 2);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    CU_ASSERT_EQUAL(bits_of(*(float *)call.output.data), ISO_NAN_BITS);
    test_call_end(&call);
}

static void test_batch_norm(void)
{
    const float x[] = {-1, 0, 1, 2, 3, 4};
    const float scale[] = {1, 1.5F};
    const float bias[] = {0, 1};
    const float mean[] = {0, 3};
    const float variance[] = {1, 1.5F};
    test_call_t call;

    test_call_begin(&call, ISO_OP_BATCH_NORM);
    TEST_F32(&call, x, 1, 2, 1, 3);
    TEST_F32(&call, scale, 2);
    TEST_F32(&call, bias, 2);
    TEST_F32(&call, mean, 2);
    TEST_F32(&call, variance, 2);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    TEST_NEAR(&call, 1e-6, -0.999995F, 0, 0.999995F, -0.22474074F, 1,
              2.2247407F);

    /* Each operation rounds once, in this order. */
    const float d = sqrtf(variance[1] + 1e-5F);
    const float q = (x[3] - mean[1]) / d;

    CU_ASSERT_EQUAL(((float *)call.output.data)[3], q * scale[1] + bias[1]);
    test_call_end(&call);
}

static void test_instance_norm(void)
{
    const float x[] = {-1, 0, 1, 2, 3, 4};
    const float scale[] = {1, 1.5F};
    const float bias[] = {0, 1};
    test_call_t call;

    test_call_begin(&call, ISO_OP_INSTANCE_NORM);
    TEST_F32(&call, x, 1, 2, 1, 3);
    TEST_F32(&call, scale, 2);
    TEST_F32(&call, bias, 2);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    TEST_NEAR(&call, 1e-5, -1.2247356F, 0, 1.2247356F, -0.8371035F, 1,
              2.8371034F);
    test_call_end(&call);
}

static void test_layer_norm(void)
{
    float x[34];
    float scale[17];
    float bias[17];
    uint64_t state = 3;
    test_call_t call;

    for (int i = 0; i < 34; i++) {
        x[i] = 3 * test_random_float(&state) + 1;
        scale[i % 17] = test_random_float(&state);
        bias[i % 17] = test_random_float(&state);
    }
    test_call_begin(&call, ISO_OP_LAYER_NORM);
    TEST_F32(&call, x, 2, 17);
    TEST_F32(&call, scale, 17);
    TEST_F32(&call, bias, 17);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    for (int r = 0; r < 2; r++) {
        double mean = 0;
        double variance = 0;

        for (int i = 0; i < 17; i++) {
            mean += (double)x[17 * r + i] / 17;
        }
        for (int i = 0; i < 17; i++) {
            variance += pow((double)x[17 * r + i] - mean, 2) / 17;
        }
        for (int i = 0; i < 17; i++) {
            const double y = ((double)x[17 * r + i] - mean) /
                                 sqrt(variance + 1e-5) * (double)scale[i] +
                             (double)bias[i];

            CU_ASSERT_DOUBLE_EQUAL(
                (double)((float *)call.output.data)[17 * r + i], y, 2e-6);
        }
    }
    test_call_end(&call);

    test_call_begin(&call, ISO_OP_LAYER_NORM); /* over two axes, no bias */
    TEST_F32(&call, x, 1, 2, 2, 1);
    TEST_F32(&call, scale, 2, 2, 1);
    TEST_INTS(&call, "axis", 1);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    test_call_end(&call);
}

static void test_lrn(void)
{
    const float x[] = {1, 2, 3, 4, 5};
    const double alpha = 0.5 / 4;
    test_call_t call;

    test_call_begin(&call, ISO_OP_LRN);
    TEST_F32(&call, x, 1, 5, 1);
    TEST_INTS(&call, "size", 4);
    TEST_FLOATS(&call, "alpha", 0.5);
    TEST_FLOATS(&call, "beta", 0.75);
    TEST_FLOATS(&call, "bias", 2.0);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);

    /* One channel before, two after. */
    const double squares[] = {14, 30, 54, 50, 41};

    for (int i = 0; i < 5; i++) {
        CU_ASSERT_DOUBLE_EQUAL((double)((float *)call.output.data)[i],
                               (i + 1) / pow(2 + alpha * squares[i], 0.75),
                               1e-6);
    }
    test_call_end(&call);
}

/* ---- Pools ---- */

static void pool(test_call_t *call, iso_op_t op, const float *x, int64_t size,
                 int64_t kernel)
{
    test_call_begin(call, op);
    TEST_F32(call, x, 1, 1, size, size);
    TEST_INTS(call, "kernel", kernel, kernel);
}

static void fill_counting(float *x, int count)
{
    for (int i = 0; i < count; i++) {
        x[i] = (float)(i + 1);
    }
}

/* The values of the ONNX documentation. */
static void test_pools(void)
{
    float x[25];
    test_call_t call;

    fill_counting(x, 25);
    pool(&call, ISO_OP_MAX_POOL, x, 5, 5);
    TEST_INTS(&call, "pads", 2, 2, 2, 2);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    TEST_NEAR(&call, 0, 13, 14, 15, 15, 15, 18, 19, 20, 20, 20, 23, 24, 25, 25,
              25, 23, 24, 25, 25, 25, 23, 24, 25, 25, 25);
    test_call_end(&call);

    pool(&call, ISO_OP_AVG_POOL, x, 5, 5);
    TEST_INTS(&call, "pads", 2, 2, 2, 2);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    TEST_NEAR(&call, 1e-5, 7, 7.5F, 8, 8.5F, 9, 9.5F, 10, 10.5F, 11, 11.5F, 12,
              12.5F, 13, 13.5F, 14, 14.5F, 15, 15.5F, 16, 16.5F, 17, 17.5F, 18,
              18.5F, 19);
    test_call_end(&call);

    pool(&call, ISO_OP_AVG_POOL, x, 5, 5);
    TEST_INTS(&call, "pads", 2, 2, 2, 2);
    TEST_INTS(&call, "count_pad", 1);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    TEST_NEAR(&call, 1e-4, 2.52F, 3.6F, 4.8F, 4.08F, 3.24F, 4.56F, 6.4F, 8.4F,
              7.04F, 5.52F, 7.2F, 10, 13, 10.8F, 8.4F, 6.96F, 9.6F, 12.4F,
              10.24F, 7.92F, 6.12F, 8.4F, 10.8F, 8.88F, 6.84F);
    test_call_end(&call);

    pool(&call, ISO_OP_MAX_POOL, x, 4, 2);
    TEST_INTS(&call, "dilations", 2, 2);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    TEST_NEAR(&call, 0, 11, 12, 15, 16);
    test_call_end(&call);
}

/* The last window of ceil_mode sticks out; what is beyond the padding does
 * not count, not even with count_pad. */
static void test_ceil_mode(void)
{
    float x[16];
    test_call_t call;

    fill_counting(x, 16);
    pool(&call, ISO_OP_MAX_POOL, x, 4, 3);
    TEST_INTS(&call, "strides", 2, 2);
    TEST_INTS(&call, "ceil_mode", 1);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    TEST_NEAR(&call, 0, 11, 12, 15, 16);
    test_call_end(&call);

    for (int64_t count_pad = 0; count_pad < 2; count_pad++) {
        pool(&call, ISO_OP_AVG_POOL, x, 4, 3);
        TEST_INTS(&call, "strides", 2, 2);
        TEST_INTS(&call, "ceil_mode", 1);
        test_call_ints(&call, "count_pad", 1, &count_pad);
        CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
        TEST_NEAR(&call, 1e-6, 6, 7.5F, 12, 13.5F);
        test_call_end(&call);
    }
}

static void test_max_pool_values(void)
{
    const float x[] = {-0.0F, 0.0F, NAN, 1, -INFINITY, -INFINITY};
    test_call_t call;

    test_call_begin(&call, ISO_OP_MAX_POOL);
    TEST_F32(&call, x, 1, 3, 2);
    TEST_INTS(&call, "kernel", 2);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    CU_ASSERT_EQUAL(bits_of(((float *)call.output.data)[0]), 0U);
    CU_ASSERT_EQUAL(bits_of(((float *)call.output.data)[1]), ISO_NAN_BITS);
    CU_ASSERT_EQUAL(((float *)call.output.data)[2], -INFINITY);
    test_call_end(&call);
}

static void test_nothing_is_left(void)
{
    CU_ASSERT_EQUAL(iso_mem_count().blocks, 0);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"reduce over axes", test_reduce_axes},
        {"sum in lanes", test_sum_in_lanes},
        {"reductions of nothing", test_reductions_of_nothing},
        {"a NaN wins", test_nan_wins},
        {"arg_max, arg_min", test_arg},
        {"softmax", test_softmax},
        {"batch_norm", test_batch_norm},
        {"instance_norm", test_instance_norm},
        {"layer_norm", test_layer_norm},
        {"lrn", test_lrn},
        {"pools", test_pools},
        {"ceil_mode", test_ceil_mode},
        {"max_pool of special values", test_max_pool_values},
        {"nothing is left", test_nothing_is_left},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"ref reduce", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
