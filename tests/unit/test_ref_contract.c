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

static float *random_floats(uint64_t *state, int64_t count)
{
    float *x = iso_alloc((size_t)count * sizeof *x);

    CU_ASSERT_PTR_NOT_NULL_FATAL(x);
    for (int64_t i = 0; i < count; i++) {
        x[i] = test_random_float(state);
    }
    return x;
}

/* The contraction once more, with the one-pass tree of arith.h. */
static float dot(iso_blocks_t blocks, const float *a, const float *b)
{
    definition_tree_t tree;

    definition_tree_begin(&tree);
    for (int64_t i = 0; i < blocks.count; i++) {
        float sum = 0.0F;

        for (int64_t k = iso_blocks_begin(&blocks, i);
             k < iso_blocks_end(&blocks, i); k++) {
            sum = fmaf(a[k], b[k], sum);
        }
        definition_tree_push(&tree, sum);
    }
    return definition_tree_finish(&tree);
}

/* ---- matmul ---- */

static void check_product(int64_t rows, int64_t inner, int64_t cols)
{
    uint64_t state = (uint64_t)(rows * 1000003 + inner * 1009 + cols);
    float *a = random_floats(&state, rows * inner + 1);
    float *b = random_floats(&state, inner * cols + 1);
    float *column = random_floats(&state, inner + 1);
    test_call_t call;

    test_call_begin(&call, ISO_OP_MATMUL);
    TEST_F32(&call, a, rows, inner);
    TEST_F32(&call, b, inner, cols);
    CU_ASSERT_EQUAL_FATAL(test_call_run(&call, iso_ref_run), ISO_OK);
    for (int64_t j = 0; j < cols; j++) {
        for (int64_t k = 0; k < inner; k++) {
            column[k] = b[k * cols + j];
        }
        for (int64_t i = 0; i < rows; i++) {
            const float found = ((float *)call.output.data)[i * cols + j];
            const float expected =
                dot(iso_blocks_of_matmul(inner), a + i * inner, column);

            double exact = 0;

            CU_ASSERT_EQUAL(bits_of(found), bits_of(expected));
            for (int64_t k = 0; k < inner; k++) {
                exact += (double)a[i * inner + k] * (double)column[k];
            }
            CU_ASSERT_DOUBLE_EQUAL((double)found, exact, 2e-5);
        }
    }
    test_call_end(&call);
    iso_free(a);
    iso_free(b);
    iso_free(column);
}

static void test_matmul_blocks_and_tree(void)
{
    const int64_t inner[] = {1, 2, 255, 256, 257, 512, 769, 1031, 2048};

    for (size_t i = 0; i < sizeof inner / sizeof inner[0]; i++) {
        check_product(3, inner[i], 5);
    }
    check_product(1, 13, 1);
    check_product(7, 300, 1);
}

/* More columns than are computed at once; so long that fewer are. */
static void test_matmul_columns(void)
{
    check_product(2, 300, 63);
    check_product(2, 300, 64);
    check_product(2, 300, 65);
    check_product(1, 257, 193);
    check_product(1, 4097, 33);
    check_product(1, 9001, 35);
}

static void test_matmul_of_nothing(void)
{
    const float a[] = {0};
    test_call_t call;

    test_call_begin(&call, ISO_OP_MATMUL);
    TEST_F32(&call, a, 2, 0);
    TEST_F32(&call, a, 0, 3);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    TEST_NEAR(&call, 0, 0, 0, 0, 0, 0, 0);
    test_call_end(&call);

    test_call_begin(&call, ISO_OP_MATMUL);
    TEST_F32(&call, a, 0, 1);
    TEST_F32(&call, a, 1, 1);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    CU_ASSERT_EQUAL(iso_tensor_count(&call.output), 0);
    test_call_end(&call);
}

/* Batches broadcast, vectors are a row or a column, bias and activation. */
static void test_matmul_forms(void)
{
    const float a[] = {1, 2, 3, 4, 5, 6, 7, 8};
    const float b[] = {1, 0, -1, 1};
    const float bias[] = {0.5F, -20};
    test_call_t call;

    test_call_begin(&call, ISO_OP_MATMUL);
    TEST_F32(&call, a, 2, 1, 2, 2);
    TEST_F32(&call, b, 1, 1, 2, 2);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    TEST_NEAR(&call, 0, -1, 2, -1, 4, -1, 6, -1, 8);
    test_call_end(&call);

    test_call_begin(&call, ISO_OP_MATMUL);
    TEST_F32(&call, a, 2);
    TEST_F32(&call, a, 2, 2, 2);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    TEST_NEAR(&call, 0, 7, 10, 19, 22);
    test_call_end(&call);

    test_call_begin(&call, ISO_OP_MATMUL);
    TEST_F32(&call, a, 2, 2, 2);
    TEST_F32(&call, a, 2);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    TEST_NEAR(&call, 0, 5, 11, 17, 23);
    test_call_end(&call);

    test_call_begin(&call, ISO_OP_MATMUL);
    TEST_F32(&call, a, 4, 2);
    TEST_F32(&call, b, 2, 2);
    TEST_F32(&call, bias, 2);
    test_call_text(&call, "activation", "relu");
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    TEST_NEAR(&call, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    test_call_end(&call);
}

static void test_matmul_f64(void)
{
    const double a[] = {1.0 / 3, 2};
    const double b[] = {3, 0.1};
    test_call_t call;

    test_call_begin(&call, ISO_OP_MATMUL);
    test_call_input(&call, ISO_DTYPE_F64, 2, (const int64_t[]){1, 2}, a);
    test_call_input(&call, ISO_DTYPE_F64, 2, (const int64_t[]){2, 1}, b);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    CU_ASSERT_EQUAL(*(double *)call.output.data,
                    fma(2, 0.1, fma(1.0 / 3, 3, 0)));
    test_call_end(&call);
}

/* ---- gemm ---- */

static void test_gemm(void)
{
    const float a[] = {1, 2, 3, 4, 5, 6}; /* (2, 3) or (3, 2)' */
    const float b[] = {1, 0, 0, 1, 1, 1}; /* (3, 2) or (2, 3)' */
    const float c[] = {10, 20};
    test_call_t call;

    test_call_begin(&call, ISO_OP_GEMM);
    TEST_F32(&call, a, 2, 3);
    TEST_F32(&call, b, 3, 2);
    TEST_F32(&call, c, 2, 1);
    TEST_FLOATS(&call, "alpha", 2.0);
    TEST_FLOATS(&call, "beta", 0.5);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    TEST_NEAR(&call, 0, 13, 15, 30, 32);
    test_call_end(&call);

    test_call_begin(&call, ISO_OP_GEMM);
    TEST_F32(&call, a, 3, 2);
    TEST_F32(&call, b, 2, 3);
    TEST_INTS(&call, "trans_a", 1);
    TEST_INTS(&call, "trans_b", 1);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    TEST_NEAR(&call, 0, 1, 9, 2, 12);
    test_call_end(&call);
}

/* ---- conv ---- */

typedef struct conv_case {
    int64_t batch, in, out, groups;
    int64_t height, width, kernel_h, kernel_w;
    int64_t stride, dilation, pad_begin, pad_end;
} conv_case_t;

/* One output element: the window laid out, then dot. */
static float conv_at(const conv_case_t *c, const float *x, const float *w,
                     const int64_t at[4], double *exact_out)
{
    const int64_t in = c->in / c->groups;
    const int64_t group = at[1] / (c->out / c->groups);
    const int64_t taps = c->kernel_h * c->kernel_w;
    float window[2048];
    int64_t n = 0;

    *exact_out = 0;
    for (int64_t k = 0; k < in; k++) {
        for (int64_t i = 0; i < c->kernel_h; i++) {
            for (int64_t j = 0; j < c->kernel_w; j++) {
                const int64_t h =
                    at[2] * c->stride + i * c->dilation - c->pad_begin;
                const int64_t v =
                    at[3] * c->stride + j * c->dilation - c->pad_begin;
                const bool inside =
                    h >= 0 && h < c->height && v >= 0 && v < c->width;
                const int64_t plane = at[0] * c->in + group * in + k;

                window[n++] =
                    inside ? x[(plane * c->height + h) * c->width + v] : 0.0F;
            }
        }
    }
    w += at[1] * in * taps;
    for (int64_t k = 0; k < n; k++) {
        *exact_out += (double)window[k] * (double)w[k];
    }
    return dot(iso_blocks_of_conv(in, taps), window, w);
}

/* Every element of the output, which is read in order. */
static void check_conv_output(const conv_case_t *c, const test_call_t *call)
{
    const int64_t *dims = call->output.dims;
    const float *x = call->inputs[0].data;
    const float *w = call->inputs[1].data;
    const float *bias = call->inputs[2].data;
    const float *y = call->output.data;
    const int64_t count = iso_tensor_count(&call->output);

    for (int64_t i = 0; i < count; i++) {
        const int64_t at[4] = {i / (dims[1] * dims[2] * dims[3]),
                               i / (dims[2] * dims[3]) % dims[1],
                               i / dims[3] % dims[2], i % dims[3]};
        double exact;
        const float expected = conv_at(c, x, w, at, &exact) + bias[at[1]];

        CU_ASSERT_EQUAL(bits_of(y[i]), bits_of(expected));
        CU_ASSERT_DOUBLE_EQUAL((double)y[i], exact + (double)bias[at[1]], 2e-5);
    }
}

static void check_conv(const conv_case_t *c)
{
    uint64_t state = 42;
    const int64_t taps = c->kernel_h * c->kernel_w;
    float *x = random_floats(&state, c->batch * c->in * c->height * c->width);
    float *w = random_floats(&state, c->out * c->in / c->groups * taps);
    float *bias = random_floats(&state, c->out);
    test_call_t call;

    test_call_begin(&call, ISO_OP_CONV);
    TEST_F32(&call, x, c->batch, c->in, c->height, c->width);
    TEST_F32(&call, w, c->out, c->in / c->groups, c->kernel_h, c->kernel_w);
    TEST_F32(&call, bias, c->out);
    test_call_ints(&call, "groups", 1, &c->groups);
    TEST_INTS(&call, "strides", c->stride, c->stride);
    TEST_INTS(&call, "dilations", c->dilation, c->dilation);
    TEST_INTS(&call, "pads", c->pad_begin, c->pad_begin, c->pad_end,
              c->pad_end);
    CU_ASSERT_EQUAL_FATAL(test_call_run(&call, iso_ref_run), ISO_OK);
    check_conv_output(c, &call);
    test_call_end(&call);
    iso_free(x);
    iso_free(w);
    iso_free(bias);
}

static void test_conv_cases(void)
{
    const conv_case_t cases[] = {
        {1, 3, 4, 1, 5, 6, 3, 3, 1, 1, 1, 1},
        {2, 37, 3, 1, 5, 4, 3, 3, 1, 1, 1, 1}, /* three blocks, last short */
        {1, 600, 2, 1, 2, 2, 1, 1, 1, 1, 0, 0},
        {2, 4, 6, 2, 7, 5, 3, 1, 2, 1, 0, 1},
        {1, 5, 5, 5, 6, 6, 3, 3, 1, 2, 2, 2},
        {1, 2, 1, 1, 18, 20, 17, 17, 1, 1, 0, 0}, /* 289 taps */
        {1, 1, 1, 1, 1, 1, 1, 1, 3, 1, 0, 0},
        {2, 6, 4, 2, 13, 11, 3, 3, 1, 1, 1, 1}, /* positions of several runs */
        {1, 200, 2, 1, 9, 9, 3, 3, 1, 1, 1, 1},
        {1, 1, 1, 1, 8, 8, 1, 1, 1, 1, 0, 0},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_conv(&cases[i]);
    }
}

static void test_conv_1d_and_3d(void)
{
    const float x[] = {1, 2, 3, 4, 5, 6, 7, 8};
    const float w[] = {1, 1, 1, 1, 1, 1, 1, 1};
    test_call_t call;

    test_call_begin(&call, ISO_OP_CONV);
    TEST_F32(&call, x, 1, 1, 8);
    TEST_F32(&call, w, 1, 1, 3);
    TEST_INTS(&call, "pads", 1, 0);
    TEST_INTS(&call, "strides", 2);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    TEST_NEAR(&call, 0, 3, 9, 15, 21);
    test_call_end(&call);

    test_call_begin(&call, ISO_OP_CONV);
    TEST_F32(&call, x, 1, 1, 2, 2, 2);
    TEST_F32(&call, w, 1, 1, 2, 2, 2);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    TEST_NEAR(&call, 0, 36);
    test_call_end(&call);
}

static void test_conv_activations(void)
{
    const float x[] = {-8, -1, 1, 8};
    const float one[] = {1};
    const char *names[] = {"relu", "clip",       "sigmoid",
                           "tanh", "leaky_relu", "hard_swish"};
    const float expected[6][4] = {
        {0, 0, 1, 8},
        {-1, -1, 1, 6},
        {0.00033535013F, 0.26894142F, 0.73105858F, 0.99966465F},
        {-0.99999977F, -0.76159416F, 0.76159416F, 0.99999977F},
        {-1.6F, -0.2F, 1, 8},
        {0, -0.33333333F, 0.66666667F, 8}};
    test_call_t call;

    for (int k = 0; k < 6; k++) {
        test_call_begin(&call, ISO_OP_CONV);
        TEST_F32(&call, x, 1, 1, 4);
        TEST_F32(&call, one, 1, 1, 1);
        test_call_text(&call, "activation", names[k]);
        TEST_FLOATS(&call, "activation_alpha", 0.2);
        TEST_FLOATS(&call, "activation_min", -1.0);
        TEST_FLOATS(&call, "activation_max", 6.0);
        CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
        CU_ASSERT(test_call_near(&call, 2e-7, 4, expected[k]));
        test_call_end(&call);
    }
}

/* ---- conv_transpose: the values of the ONNX documentation ---- */

static void test_conv_transpose(void)
{
    const float x[] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
    const float ones[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    test_call_t call;

    test_call_begin(&call, ISO_OP_CONV_TRANSPOSE);
    TEST_F32(&call, x, 1, 1, 3, 3);
    TEST_F32(&call, ones, 1, 2, 3, 3);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    TEST_NEAR(&call, 0, 0, 1, 3, 3, 2, 3, 8, 15, 12, 7, 9, 21, 36, 27, 15, 9,
              20, 33, 24, 13, 6, 13, 21, 15, 8, 0, 1, 3, 3, 2, 3, 8, 15, 12, 7,
              9, 21, 36, 27, 15, 9, 20, 33, 24, 13, 6, 13, 21, 15, 8);
    test_call_end(&call);

    test_call_begin(&call, ISO_OP_CONV_TRANSPOSE);
    TEST_F32(&call, x, 1, 1, 3);
    TEST_F32(&call, ones, 1, 2, 3);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    TEST_NEAR(&call, 0, 0, 1, 3, 3, 2, 0, 1, 3, 3, 2);
    test_call_end(&call);

    const float square[] = {3, 8, 1, 9, 5, 7, 3, 2, 6};
    const float kernel[] = {7, 2, 1, 9};

    test_call_begin(&call, ISO_OP_CONV_TRANSPOSE); /* dilations */
    TEST_F32(&call, square, 1, 1, 3, 3);
    TEST_F32(&call, kernel, 1, 1, 2, 2);
    TEST_INTS(&call, "dilations", 2, 2);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    TEST_NEAR(&call, 0, 21, 56, 13, 16, 2, 63, 35, 67, 10, 14, 24, 22, 76, 76,
              21, 9, 5, 88, 45, 63, 3, 2, 33, 18, 54);
    test_call_end(&call);

    test_call_begin(&call, ISO_OP_CONV_TRANSPOSE); /* strides, pads */
    TEST_F32(&call, x, 1, 1, 3, 3);
    TEST_F32(&call, ones, 1, 2, 3, 3);
    TEST_INTS(&call, "strides", 3, 2);
    TEST_INTS(&call, "pads", 1, 2, 1, 2);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    TEST_NEAR(&call, 0, 1, 1, 3, 1, 1, 3, 7, 4, 9, 7, 4, 9, 7, 4, 9, 13, 7, 15,
              13, 7, 15, 1, 1, 3, 1, 1, 3, 7, 4, 9, 7, 4, 9, 7, 4, 9, 13, 7, 15,
              13, 7, 15);
    test_call_end(&call);
}

/* With groups each half is a transposed convolution of its own. */
static void test_conv_transpose_groups(void)
{
    const float x[] = {1, 2, 3, 10, 20, 30};
    const float w[] = {1, 1, 2, 0};
    const float bias[] = {0, 100};
    test_call_t call;

    test_call_begin(&call, ISO_OP_CONV_TRANSPOSE);
    TEST_F32(&call, x, 1, 2, 3);
    TEST_F32(&call, w, 2, 1, 2);
    TEST_F32(&call, bias, 2);
    TEST_INTS(&call, "groups", 2);
    TEST_INTS(&call, "strides", 2);
    TEST_INTS(&call, "output_pads", 1);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    TEST_NEAR(&call, 0, 1, 1, 2, 2, 3, 3, 0, 120, 100, 140, 100, 160, 100, 100);
    test_call_end(&call);
}

/* ---- Zeros and NaN ---- */

static void test_results_are_never_negative_zero(void)
{
    const float x[] = {-0.0F};
    const float w[] = {1.0F};
    test_call_t call;

    test_call_begin(&call, ISO_OP_MATMUL);
    TEST_F32(&call, x, 1, 1);
    TEST_F32(&call, w, 1, 1);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    CU_ASSERT_EQUAL(bits_of(*(float *)call.output.data), 0U);
    test_call_end(&call);

    const float tiny[] = {-0x1p-140F};
    const float small[] = {0x1p-140F};

    test_call_begin(&call, ISO_OP_MATMUL); /* the product underflows to -0 */
    TEST_F32(&call, tiny, 1, 1);
    TEST_F32(&call, small, 1, 1);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    CU_ASSERT_EQUAL(bits_of(*(float *)call.output.data), 0U);
    test_call_end(&call);
}

static void test_padding_times_infinity(void)
{
    const float x[] = {1};
    const float w[] = {INFINITY, 1};
    test_call_t call;

    test_call_begin(&call, ISO_OP_CONV);
    TEST_F32(&call, x, 1, 1, 1);
    TEST_F32(&call, w, 1, 1, 2);
    TEST_INTS(&call, "pads", 1, 0);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    CU_ASSERT_EQUAL(bits_of(*(float *)call.output.data), ISO_NAN_BITS);
    test_call_end(&call);
}

static void test_out_of_memory(void)
{
    const float x[] = {1};
    test_call_t call;

    test_call_begin(&call, ISO_OP_MATMUL);
    TEST_F32(&call, x, 1, 1);
    TEST_F32(&call, x, 1, 1);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_OK);
    iso_mem_fail_at(1);
    CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_NOMEM);
    iso_mem_fail_at(0);
    iso_error_clear();
    test_call_end(&call);
}

static void test_nothing_is_left(void)
{
    CU_ASSERT_EQUAL(iso_mem_count().blocks, 0);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"matmul, blocks and tree", test_matmul_blocks_and_tree},
        {"matmul of many columns", test_matmul_columns},
        {"matmul of nothing", test_matmul_of_nothing},
        {"matmul, forms", test_matmul_forms},
        {"matmul in f64", test_matmul_f64},
        {"gemm", test_gemm},
        {"conv, cases", test_conv_cases},
        {"conv, 1 and 3 dims", test_conv_1d_and_3d},
        {"conv, activations", test_conv_activations},
        {"conv_transpose", test_conv_transpose},
        {"conv_transpose, groups", test_conv_transpose_groups},
        {"never -0", test_results_are_never_negative_zero},
        {"padding times infinity", test_padding_times_infinity},
        {"out of memory", test_out_of_memory},
        {"nothing is left", test_nothing_is_left},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"ref contract", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
