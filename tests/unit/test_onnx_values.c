/* Small models from text to numbers, for values that a whole network does not
 * have. */
#include "isotome/error.h"

#include "base/mem.h"
#include "iso_eval.h"
#include "iso_test.h"
#include "iso_test_folder.h"
#include "onnx_text.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Output 0 of a model without inputs: its dtype, and the bits of count
 * elements. */
static void check_output(const char *model, iso_dtype_t dtype, int64_t count,
                         const void *expected)
{
    const int64_t blocks = iso_mem_count().blocks;
    iso_onnx_t *onnx = NULL;
    iso_eval_t eval = {0};
    iso_status_t status = onnx_text_import(13, model, NULL, &onnx);

    if (status == ISO_OK) {
        const iso_weight_source_t weights = iso_onnx_weights(onnx);

        status = iso_eval_run(iso_onnx_graph(onnx), &weights, NULL, &eval);
    }
    CU_ASSERT_EQUAL(status, ISO_OK);
    if (status == ISO_OK) {
        const iso_tensor_t *y = iso_eval_output(&eval, 0);
        const size_t bytes = (size_t)count * iso_dtype_bytes(dtype);

        CU_ASSERT_EQUAL(y->dtype, dtype);
        CU_ASSERT_EQUAL_FATAL(iso_tensor_count(y), count);
        if (memcmp(y->data, expected, bytes) != 0) {
            CU_FAIL("other elements");
            (void)printf("\n%s\n", model);
        }
        iso_eval_free(&eval);
    } else {
        (void)printf("\n%s\n%s\n", model, iso_error_text());
    }
    iso_onnx_destroy(&onnx);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, blocks);
}

/* -- ranges -- */

static void check_range(const char *type, const char *start, const char *end,
                        const char *step, iso_dtype_t dtype, int64_t count,
                        const void *expected)
{
    char model[512];

    (void)snprintf(model, sizeof model,
                   "init a %s : %s\ninit b %s : %s\ninit c %s : %s\n"
                   "y = Range(a, b, c)\nout y",
                   type, start, type, end, type, step);
    check_output(model, dtype, count, expected);
}

#define CHECK_I64(start, end, step, ...)                            \
    check_range("i64", start, end, step, ISO_DTYPE_I64,             \
                sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), \
                (const int64_t[]){__VA_ARGS__})

#define LEAST "-9223372036854775808"
#define MOST  "9223372036854775807"

static void test_ranges_of_ints(void)
{
    const int32_t narrow[] = {2147483645, 2147483646};
    const int32_t down[] = {3, 1, -1};

    CHECK_I64("9007199254740992", "9007199254740996", "1", 9007199254740992,
              9007199254740993, 9007199254740994, 9007199254740995);
    CHECK_I64("9007199254740993", "-9007199254740994", "-18014398509481986",
              9007199254740993, -9007199254740993);
    CHECK_I64(LEAST, MOST, MOST, INT64_MIN, -1, INT64_MAX - 1);
    CHECK_I64(MOST, LEAST, LEAST, INT64_MAX, -1);
    CHECK_I64("9223372036854775800", MOST, "3", INT64_MAX - 7, INT64_MAX - 4,
              INT64_MAX - 1);
    CHECK_I64("1", "8", "3", 1, 4, 7);
    CHECK_I64("1", "7", "3", 1, 4);
    check_range("i64", "3", "3", "1", ISO_DTYPE_I64, 0, "");
    check_range("i64", "3", "1", "1", ISO_DTYPE_I64, 0, "");
    check_range("i64", "1", "3", "-1", ISO_DTYPE_I64, 0, "");
    check_range("i32", "2147483645", "2147483647", "1", ISO_DTYPE_I32, 2,
                narrow);
    check_range("i32", "3", "-3", "-2", ISO_DTYPE_I32, 3, down);
}

static void test_ranges_of_numbers(void)
{
    const float quarters[] = {0.0F, 0.25F, 0.5F, 0.75F};
    const double down[] = {1.0, 0.5, 0.0};

    check_range("f32", "0", "1", "0.25", ISO_DTYPE_F32, 4, quarters);
    check_range("f64", "1", "-0.25", "-0.5", ISO_DTYPE_F64, 3, down);
    check_range("f32", "1", "0", "1", ISO_DTYPE_F32, 0, "");
}

/* -- log of a sum of exp -- */

static void test_log_sum_exp(void)
{
    const float rows[] = {-INFINITY, INFINITY, INFINITY, 3.0F,
                          FLT_MAX,   -FLT_MAX, INFINITY};
    const double wide[] = {-(double)INFINITY, 1e300, (double)INFINITY};

    check_output("init x f32 7,2 : -inf -inf  inf 1  inf -inf  3 -inf "
                 "3.4028234e38 0  -3.4028234e38 -inf  inf inf\n"
                 "y = ReduceLogSumExp(x) axes=1, keepdims=0\nout y",
                 ISO_DTYPE_F32, 7, rows);
    check_output("init x f64 3,2 : -inf -inf  1e300 0  inf -inf\n"
                 "y = ReduceLogSumExp(x) axes=-1, keepdims=1\nout y",
                 ISO_DTYPE_F64, 3, wide);
    check_output("init x f32 3 : -inf -inf -inf\n"
                 "y = ReduceLogSumExp(x) keepdims=0\nout y",
                 ISO_DTYPE_F32, 1, rows);
}

static void test_log_sum_exp_of_nan(void)
{
    const uint32_t nan_bits[] = {0x7fc00000, 0x7fc00000};

    check_output("init x f32 2,2 : nan 1  -inf nan\n"
                 "y = ReduceLogSumExp(x) axes=1, keepdims=0\nout y",
                 ISO_DTYPE_F32, 2, nan_bits);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"ranges of integers", test_ranges_of_ints},
        {"ranges of other numbers", test_ranges_of_numbers},
        {"log of a sum of exp", test_log_sum_exp},
        {"log of a sum of exp of NaN", test_log_sum_exp_of_nan},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"onnx values", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    scratch_begin();
    return iso_test_main(suites);
}
