#include "isotome/error.h"
#include "isotome/tensor.h"

#include "iso_test.h"

#include <string.h>

static void test_dtypes(void)
{
    for (int i = 0; i < ISO_DTYPE_COUNT; i++) {
        iso_dtype_t dtype = (iso_dtype_t)i;
        const char *npy = iso_dtype_npy(dtype);
        CU_ASSERT_EQUAL(iso_dtype_from_string(iso_dtype_string(dtype)), dtype);
        CU_ASSERT(iso_dtype_bytes(dtype) >= 1);
        CU_ASSERT(npy == NULL || iso_dtype_from_npy(npy) == dtype);
    }
    CU_ASSERT_STRING_EQUAL(iso_dtype_string(ISO_DTYPE_COUNT), "unknown");
    CU_ASSERT_STRING_EQUAL(iso_dtype_string((iso_dtype_t)-1), "unknown");
    CU_ASSERT_STRING_EQUAL(iso_dtype_string((iso_dtype_t)99), "unknown");
    CU_ASSERT_EQUAL(iso_dtype_bytes(ISO_DTYPE_COUNT), 0);
    CU_ASSERT_EQUAL(iso_dtype_bytes(ISO_DTYPE_BF16), 2);
    CU_ASSERT_PTR_NULL(iso_dtype_npy(ISO_DTYPE_BF16));
    CU_ASSERT_PTR_NULL(iso_dtype_npy(ISO_DTYPE_COUNT));
}

static void test_dtype_look_ups(void)
{
    static const char *const no_npy[] = {"",    "<",   "f4",  ">f4",  "<f16",
                                         "<c8", "<u4", "|S1", "<f4 ", "|O"};
    static const char *const no_text[] = {"",    "f",       "f4",
                                          "F32", "unknown", "f321"};

    CU_ASSERT_EQUAL(iso_dtype_from_npy("<f4"), ISO_DTYPE_F32);
    CU_ASSERT_EQUAL(iso_dtype_from_npy("=f4"), ISO_DTYPE_F32);
    CU_ASSERT_EQUAL(iso_dtype_from_npy("|u1"), ISO_DTYPE_U8);
    CU_ASSERT_EQUAL(iso_dtype_from_npy("<i1"), ISO_DTYPE_I8);
    CU_ASSERT_EQUAL(iso_dtype_from_npy("|b1"), ISO_DTYPE_BOOL);
    for (size_t i = 0; i < sizeof no_npy / sizeof no_npy[0]; i++) {
        CU_ASSERT_EQUAL(iso_dtype_from_npy(no_npy[i]), ISO_DTYPE_COUNT);
    }
    for (size_t i = 0; i < sizeof no_text / sizeof no_text[0]; i++) {
        CU_ASSERT_EQUAL(iso_dtype_from_string(no_text[i]), ISO_DTYPE_COUNT);
    }
    CU_ASSERT_EQUAL(iso_dtype_from_onnx(1), ISO_DTYPE_F32);
    CU_ASSERT_EQUAL(iso_dtype_from_onnx(7), ISO_DTYPE_I64);
    CU_ASSERT_EQUAL(iso_dtype_from_onnx(16), ISO_DTYPE_BF16);
    CU_ASSERT_EQUAL(iso_dtype_from_onnx(0), ISO_DTYPE_COUNT);
    CU_ASSERT_EQUAL(iso_dtype_from_onnx(-1), ISO_DTYPE_COUNT);
    CU_ASSERT_EQUAL(iso_dtype_from_onnx(8), ISO_DTYPE_COUNT);
}

static void test_view(void)
{
    float data[6] = {0};
    iso_shape_t shape = iso_shape_of(2, (const int64_t[]){2, 3});
    iso_shape_t scalar = iso_shape_of(0, NULL);
    iso_tensor_t tensor;

    CU_ASSERT_EQUAL_FATAL(iso_tensor_view(ISO_DTYPE_F32, &shape, data, &tensor),
                          ISO_OK);
    CU_ASSERT_EQUAL(iso_tensor_count(&tensor), 6);
    CU_ASSERT_EQUAL(iso_tensor_bytes(&tensor), sizeof data);
    CU_ASSERT_PTR_EQUAL(tensor.data, data);
    iso_shape_t back = iso_tensor_shape(&tensor);
    CU_ASSERT(iso_shape_equal(&back, &shape));
    CU_ASSERT_EQUAL_FATAL(
        iso_tensor_view(ISO_DTYPE_I64, &scalar, NULL, &tensor), ISO_OK);
    CU_ASSERT_EQUAL(iso_tensor_count(&tensor), 1);
    CU_ASSERT_EQUAL(iso_tensor_bytes(&tensor), 8);
}

static void test_sizes_that_cannot_be(void)
{
    const int64_t large = INT64_C(1) << 61;
    iso_shape_t named = {.rank = 1};
    iso_shape_t huge = iso_shape_of(2, (const int64_t[]){large, 2});
    iso_shape_t over = iso_shape_of(2, (const int64_t[]){large, 3});
    iso_shape_t negative = iso_shape_of(2, (const int64_t[]){-1, 3});
    iso_shape_t empty = iso_shape_of(3, (const int64_t[]){large, 8, 0});
    iso_tensor_t tensor = {.rank = 5};
    size_t bytes = 77;

    CU_ASSERT_EQUAL_FATAL(iso_dim_parse("N", &named.dim[0]), ISO_OK);
    CU_ASSERT_EQUAL(iso_tensor_view(ISO_DTYPE_F32, &named, NULL, &tensor),
                    ISO_SHAPE);
    CU_ASSERT_PTR_NOT_NULL(strstr(iso_error_text(), "[N]"));
    CU_ASSERT_EQUAL(iso_tensor_bytes_of(ISO_DTYPE_F16, &huge, &bytes),
                    ISO_SHAPE);
    CU_ASSERT_EQUAL(iso_tensor_bytes_of(ISO_DTYPE_U8, &over, &bytes),
                    ISO_SHAPE);
    CU_ASSERT_EQUAL(iso_tensor_bytes_of(ISO_DTYPE_U8, &negative, &bytes),
                    ISO_SHAPE);
    CU_ASSERT_EQUAL(iso_tensor_bytes_of(ISO_DTYPE_COUNT, &huge, &bytes),
                    ISO_SHAPE);
    CU_ASSERT_EQUAL(bytes, 77);
    CU_ASSERT_EQUAL(tensor.rank, 5);
    CU_ASSERT_EQUAL(iso_tensor_bytes_of(ISO_DTYPE_U8, &huge, &bytes), ISO_OK);
    CU_ASSERT_EQUAL(bytes, (size_t)1 << 62);
    CU_ASSERT_EQUAL(iso_tensor_bytes_of(ISO_DTYPE_F64, &empty, &bytes), ISO_OK);
    CU_ASSERT_EQUAL(bytes, 0);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"dtypes", test_dtypes},
        {"dtype look-ups", test_dtype_look_ups},
        {"view", test_view},
        {"sizes that cannot be", test_sizes_that_cannot_be},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"tensor", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
