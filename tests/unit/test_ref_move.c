#include "iso_test_call.h"
#include "kernel/ref.h"

#include <math.h>

static void run(test_call_t *call)
{
    CU_ASSERT_EQUAL_FATAL(test_call_run(call, iso_ref_run), ISO_OK);
}

static const float counting[] = {0,  1,  2,  3,  4,  5,  6,  7,
                                 8,  9,  10, 11, 12, 13, 14, 15,
                                 16, 17, 18, 19, 20, 21, 22, 23};

static void test_transpose(void)
{
    test_call_t call;

    test_call_begin(&call, ISO_OP_TRANSPOSE);
    TEST_F32(&call, counting, 2, 3);
    run(&call);
    TEST_NEAR(&call, 0, 0, 3, 1, 4, 2, 5);
    test_call_end(&call);

    test_call_begin(&call, ISO_OP_TRANSPOSE);
    TEST_F32(&call, counting, 2, 2, 3);
    TEST_INTS(&call, "perm", 1, 0, 2);
    run(&call);
    TEST_NEAR(&call, 0, 0, 1, 2, 6, 7, 8, 3, 4, 5, 9, 10, 11);
    test_call_end(&call);
}

static void test_concat_and_reshape(void)
{
    test_call_t call;

    test_call_begin(&call, ISO_OP_CONCAT);
    TEST_F32(&call, counting, 2, 1);
    TEST_F32(&call, counting + 10, 2, 2);
    TEST_F32(&call, counting, 2, 0);
    TEST_INTS(&call, "axis", -1);
    run(&call);
    TEST_NEAR(&call, 0, 0, 10, 11, 1, 12, 13);
    test_call_end(&call);

    test_call_begin(&call, ISO_OP_RESHAPE);
    TEST_F32(&call, counting, 2, 3);
    TEST_DIMS(&call, "shape", 3, -1);
    run(&call);
    CU_ASSERT_EQUAL(call.output.dims[1], 2);
    TEST_NEAR(&call, 0, 0, 1, 2, 3, 4, 5);
    test_call_end(&call);
}

static void test_slice(void)
{
    test_call_t call;

    test_call_begin(&call, ISO_OP_SLICE);
    TEST_F32(&call, counting, 4, 5);
    TEST_DIMS(&call, "starts", 1, -1);
    TEST_DIMS(&call, "ends", 1000, -1000);
    TEST_INTS(&call, "axes", 0, 1);
    TEST_INTS(&call, "steps", 2, -2);
    run(&call);
    TEST_NEAR(&call, 0, 9, 7, 5, 19, 17, 15);
    test_call_end(&call);

    test_call_begin(&call, ISO_OP_SLICE);
    TEST_F32(&call, counting, 4, 5);
    TEST_DIMS(&call, "starts", 3);
    TEST_DIMS(&call, "ends", 2);
    run(&call);
    CU_ASSERT_EQUAL(iso_tensor_count(&call.output), 0);
    test_call_end(&call);
}

static void pad(test_call_t *call, const char *mode)
{
    test_call_begin(call, ISO_OP_PAD);
    TEST_F32(call, counting, 2, 3);
    test_call_text(call, "mode", mode);
}

static void test_pad(void)
{
    test_call_t call;

    pad(&call, "constant");
    TEST_INTS(&call, "pads", 0, 1, 1, -1);
    TEST_FLOATS(&call, "value", 0.1);
    run(&call);
    TEST_NEAR(&call, 0, 0.1F, 0, 1, 0.1F, 3, 4, 0.1F, 0.1F, 0.1F);
    test_call_end(&call);

    pad(&call, "reflect");
    TEST_INTS(&call, "pads", 1, 2, 0, 1);
    run(&call);
    TEST_NEAR(&call, 0, 5, 4, 3, 4, 5, 4, 2, 1, 0, 1, 2, 1, 5, 4, 3, 4, 5, 4);
    test_call_end(&call);

    pad(&call, "edge");
    TEST_INTS(&call, "pads", 0, 2, 2, 0);
    run(&call);
    TEST_NEAR(&call, 0, 0, 0, 0, 1, 2, 3, 3, 3, 4, 5, 3, 3, 3, 4, 5, 3, 3, 3, 4,
              5);
    test_call_end(&call);
}

static void test_pad_of_integers(void)
{
    const int64_t x[] = {7};
    const int64_t one[] = {1};
    test_call_t call;

    test_call_begin(&call, ISO_OP_PAD);
    test_call_input(&call, ISO_DTYPE_I64, 1, one, x);
    TEST_INTS(&call, "pads", 1, 0);
    TEST_FLOATS(&call, "value", -3.0);
    run(&call);
    CU_ASSERT_EQUAL(((int64_t *)call.output.data)[0], -3);
    CU_ASSERT_EQUAL(((int64_t *)call.output.data)[1], 7);
    test_call_end(&call);
}

/* ---- gather ---- */

static void gather(test_call_t *call, iso_op_t op, iso_dtype_t dtype, int rank,
                   const int64_t *dims, const void *indices)
{
    test_call_begin(call, op);
    TEST_F32(call, counting, 3, 2);
    test_call_input(call, dtype, rank, dims, indices);
}

static void test_gather(void)
{
    const int64_t picks[] = {2, 0, -1, 1};
    const int32_t narrow[] = {1};
    test_call_t call;

    gather(&call, ISO_OP_GATHER, ISO_DTYPE_I64, 2, (const int64_t[]){2, 2},
           picks);
    run(&call);
    CU_ASSERT_EQUAL(call.output.rank, 3);
    TEST_NEAR(&call, 0, 4, 5, 0, 1, 4, 5, 2, 3);
    test_call_end(&call);

    gather(&call, ISO_OP_GATHER, ISO_DTYPE_I32, 0, NULL, narrow);
    TEST_INTS(&call, "axis", 1);
    run(&call);
    TEST_NEAR(&call, 0, 1, 3, 5);
    test_call_end(&call);

    const int64_t elements[] = {0, 1, 1, 0, 0, -1};

    gather(&call, ISO_OP_GATHER_ELEMENTS, ISO_DTYPE_I64, 2,
           (const int64_t[]){3, 2}, elements);
    TEST_INTS(&call, "axis", 1);
    run(&call);
    TEST_NEAR(&call, 0, 0, 1, 3, 2, 4, 5);
    test_call_end(&call);
}

static void test_gather_out_of_range(void)
{
    const int64_t bad[] = {3, -4, INT64_MAX, INT64_MIN};
    const int64_t one[] = {1};
    test_call_t call;

    for (int i = 0; i < 4; i++) {
        gather(&call, ISO_OP_GATHER, ISO_DTYPE_I64, 1, one, &bad[i]);
        CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_INPUT);
        CU_ASSERT_PTR_NOT_NULL(strstr(iso_error_text(), "node 'call'"));
        CU_ASSERT_PTR_NOT_NULL(strstr(iso_error_text(), "expected -3 to 2"));
        test_call_end(&call);
    }
    iso_error_clear();
}

/* ---- Repeats ---- */

static void test_expand_and_tile(void)
{
    test_call_t call;

    test_call_begin(&call, ISO_OP_EXPAND);
    TEST_F32(&call, counting, 2, 1);
    TEST_DIMS(&call, "shape", 2, 1, 3);
    run(&call);
    TEST_NEAR(&call, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1);
    test_call_end(&call);

    test_call_begin(&call, ISO_OP_TILE);
    TEST_F32(&call, counting, 2, 2);
    TEST_INTS(&call, "repeats", 2, 3);
    run(&call);
    TEST_NEAR(&call, 0, 0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3, 0, 1, 0, 1, 0, 1, 2,
              3, 2, 3, 2, 3);
    test_call_end(&call);
}

static void test_where(void)
{
    const uint8_t condition[] = {1, 0, 0, 1};
    const float odd[] = {-1, -2};
    test_call_t call;

    test_call_begin(&call, ISO_OP_WHERE);
    test_call_input(&call, ISO_DTYPE_BOOL, 2, (const int64_t[]){2, 2},
                    condition);
    TEST_F32(&call, counting, 2, 2);
    TEST_F32(&call, odd, 2);
    run(&call);
    TEST_NEAR(&call, 0, 0, -2, -1, 3);
    test_call_end(&call);
}

/* ---- Blocks: the values of the ONNX documentation ---- */

static void test_depth_to_space(void)
{
    const float x[] = {0,  1,  2,  3,  4,  5,  9,  10, 11, 12, 13, 14,
                       18, 19, 20, 21, 22, 23, 27, 28, 29, 30, 31, 32};
    test_call_t call;

    test_call_begin(&call, ISO_OP_DEPTH_TO_SPACE);
    TEST_F32(&call, x, 1, 4, 2, 3);
    TEST_INTS(&call, "block", 2);
    run(&call);
    TEST_NEAR(&call, 0, 0, 9, 1, 10, 2, 11, 18, 27, 19, 28, 20, 29, 3, 12, 4,
              13, 5, 14, 21, 30, 22, 31, 23, 32);
    test_call_end(&call);

    test_call_begin(&call, ISO_OP_DEPTH_TO_SPACE);
    TEST_F32(&call, counting, 1, 8, 1, 1);
    TEST_INTS(&call, "block", 2);
    run(&call);
    TEST_NEAR(&call, 0, 0, 2, 4, 6, 1, 3, 5, 7);
    test_call_end(&call);

    test_call_begin(&call, ISO_OP_DEPTH_TO_SPACE);
    TEST_F32(&call, counting, 1, 8, 1, 1);
    TEST_INTS(&call, "block", 2);
    test_call_text(&call, "mode", "crd");
    run(&call);
    TEST_NEAR(&call, 0, 0, 1, 2, 3, 4, 5, 6, 7);
    test_call_end(&call);
}

static void test_space_to_depth(void)
{
    test_call_t call;

    test_call_begin(&call, ISO_OP_SPACE_TO_DEPTH);
    TEST_F32(&call, counting, 1, 2, 2, 4);
    TEST_INTS(&call, "block", 2);
    run(&call);
    TEST_NEAR(&call, 0, 0, 2, 8, 10, 1, 3, 9, 11, 4, 6, 12, 14, 5, 7, 13, 15);
    test_call_end(&call);
}

/* ---- Resize ---- */

static void resize(test_call_t *call, const float *x, const char *mode,
                   const char *coordinates)
{
    test_call_begin(call, ISO_OP_RESIZE);
    TEST_F32(call, x, 1, 1, 2, 2);
    test_call_text(call, "mode", mode);
    test_call_text(call, "coordinates", coordinates);
}

static const float four[] = {1, 2, 3, 4};

/* The values of the ONNX documentation. */
static void test_resize_linear(void)
{
    test_call_t call;

    resize(&call, four, "linear", "half_pixel");
    TEST_DIMS(&call, "shape", 1, 1, 4, 4);
    run(&call);
    TEST_NEAR(&call, 1e-6, 1, 1.25F, 1.75F, 2, 1.5F, 1.75F, 2.25F, 2.5F, 2.5F,
              2.75F, 3.25F, 3.5F, 3, 3.25F, 3.75F, 4);
    test_call_end(&call);

    resize(&call, four, "linear", "align_corners");
    TEST_DIMS(&call, "shape", 1, 1, 4, 4);
    run(&call);
    TEST_NEAR(&call, 1e-6, 1, 1.3333334F, 1.6666666F, 2, 1.6666666F, 2,
              2.3333333F, 2.6666667F, 2.3333333F, 2.6666667F, 3, 3.3333333F, 3,
              3.3333333F, 3.6666667F, 4);
    test_call_end(&call);

    resize(&call, four, "linear", "asymmetric");
    TEST_DIMS(&call, "shape", 1, 1, 2, 4);
    run(&call);
    TEST_NEAR(&call, 1e-6, 1, 1.5F, 2, 2, 3, 3.5F, 4, 4);
    test_call_end(&call);

    test_call_begin(&call, ISO_OP_RESIZE);
    TEST_F32(&call, counting + 1, 1, 1, 4, 4);
    TEST_DIMS(&call, "shape", 1, 1, 3, 1);
    test_call_text(&call, "mode", "linear");
    test_call_text(&call, "coordinates", "pytorch_half_pixel");
    run(&call);
    TEST_NEAR(&call, 1e-5, 1.6666666F, 7, 12.333333F);
    test_call_end(&call);
}

static void test_resize_linear_down(void)
{
    test_call_t call;

    test_call_begin(&call, ISO_OP_RESIZE);
    TEST_F32(&call, counting + 1, 1, 1, 2, 4);
    TEST_DIMS(&call, "shape", 1, 1, 1, 2);
    TEST_FLOATS(&call, "scales", 1.0, 1.0, (double)0.6F, (double)0.6F);
    test_call_text(&call, "mode", "linear");
    run(&call);
    TEST_NEAR(&call, 1e-6, 2.6666665F, 4.3333331F);
    test_call_end(&call);
}

static void test_resize_nearest(void)
{
    const char *rules[] = {"round_prefer_floor", "round_prefer_ceil", "floor",
                           "ceil"};
    /* 5 to 8 with asymmetric: 0, .625, 1.25, 1.875, 2.5, 3.125, 3.75, 4.375 */
    const float expected[4][8] = {{0, 1, 1, 2, 2, 3, 4, 4},
                                  {0, 1, 1, 2, 3, 3, 4, 4},
                                  {0, 0, 1, 1, 2, 3, 3, 4},
                                  {0, 1, 2, 2, 3, 4, 4, 4}};
    test_call_t call;

    resize(&call, four, "nearest", "half_pixel");
    TEST_DIMS(&call, "shape", 1, 1, 4, 6);
    TEST_FLOATS(&call, "scales", 1.0, 1.0, 2.0, 3.0);
    run(&call);
    TEST_NEAR(&call, 0, 1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 3,
              3, 3, 4, 4, 4);
    test_call_end(&call);
    for (int k = 0; k < 4; k++) {
        test_call_begin(&call, ISO_OP_RESIZE);
        TEST_F32(&call, counting, 5);
        TEST_DIMS(&call, "shape", 8);
        test_call_text(&call, "coordinates", "asymmetric");
        test_call_text(&call, "nearest", rules[k]);
        run(&call);
        CU_ASSERT(test_call_near(&call, 0, 8, expected[k]));
        test_call_end(&call);
    }
}

/* A scale kept as f32 is a little off; a coordinate that is whole in truth
 * must not fall below. */
static void test_resize_scale_from_f32(void)
{
    test_call_t call;

    test_call_begin(&call, ISO_OP_RESIZE);
    TEST_F32(&call, counting, 10);
    TEST_DIMS(&call, "shape", 16);
    TEST_FLOATS(&call, "scales", (double)1.6F);
    test_call_text(&call, "coordinates", "asymmetric");
    test_call_text(&call, "nearest", "floor");
    run(&call);
    CU_ASSERT_EQUAL(((float *)call.output.data)[8], 5.0F);
    test_call_end(&call);
}

/* ---- Made from attributes ---- */

static void test_make(void)
{
    test_call_t call;

    test_call_begin(&call, ISO_OP_DIMS);
    TEST_DIMS(&call, "values", 3, -1, 0);
    run(&call);
    CU_ASSERT_EQUAL(((int64_t *)call.output.data)[1], -1);
    CU_ASSERT_EQUAL(call.output.dims[0], 3);
    test_call_end(&call);

    test_call_begin(&call, ISO_OP_IOTA);
    TEST_DIMS(&call, "n", 3);
    TEST_DIMS(&call, "start", 5);
    TEST_INTS(&call, "step", -2);
    run(&call);
    CU_ASSERT_EQUAL(((int64_t *)call.output.data)[2], 1);
    test_call_end(&call);
}

static void test_nothing_is_left(void)
{
    CU_ASSERT_EQUAL(iso_mem_count().blocks, 0);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"transpose", test_transpose},
        {"concat, reshape", test_concat_and_reshape},
        {"slice", test_slice},
        {"pad", test_pad},
        {"pad of integers", test_pad_of_integers},
        {"gather", test_gather},
        {"gather out of range", test_gather_out_of_range},
        {"expand, tile", test_expand_and_tile},
        {"where", test_where},
        {"depth_to_space", test_depth_to_space},
        {"space_to_depth", test_space_to_depth},
        {"resize, linear", test_resize_linear},
        {"resize, linear, down", test_resize_linear_down},
        {"resize, nearest", test_resize_nearest},
        {"resize, scale from f32", test_resize_scale_from_f32},
        {"dims, iota", test_make},
        {"nothing is left", test_nothing_is_left},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"ref move", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
