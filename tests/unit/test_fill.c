#include "iso_test.h"
#include "tensor/fill.h"

#include <string.h>

enum { COUNT = 1000 };

static unsigned char bytes[COUNT * 8];

static void fill(iso_dtype_t dtype, uint64_t seed)
{
    const iso_shape_t shape = {.rank = 1, .dim = {iso_dim_of(COUNT)}};
    iso_random_t random = {.state = seed};
    iso_tensor_t tensor;

    memset(bytes, 0xff, sizeof bytes);
    CU_ASSERT_EQUAL_FATAL(iso_tensor_view(dtype, &shape, bytes, &tensor),
                          ISO_OK);
    iso_tensor_fill_random(&random, &tensor);
}

static void test_floats(void)
{
    float first[COUNT];
    unsigned char kept[sizeof first];
    int negative = 0;

    fill(ISO_DTYPE_F32, 1);
    memcpy(first, bytes, sizeof first);
    memcpy(kept, bytes, sizeof kept);
    for (int i = 0; i < COUNT; i++) {
        CU_ASSERT(first[i] >= -1.0F && first[i] < 1.0F);
        negative += first[i] < 0 ? 1 : 0;
    }
    CU_ASSERT(negative > COUNT / 3 && negative < 2 * COUNT / 3);
    fill(ISO_DTYPE_F32, 1);
    CU_ASSERT_EQUAL(memcmp(kept, bytes, sizeof kept), 0);
    fill(ISO_DTYPE_F32, 2);
    CU_ASSERT_NOT_EQUAL(memcmp(kept, bytes, sizeof kept), 0);
}

static void test_doubles(void)
{
    double all[COUNT];

    fill(ISO_DTYPE_F64, 1);
    memcpy(all, bytes, sizeof all);
    for (int i = 0; i < COUNT; i++) {
        CU_ASSERT(all[i] >= -1.0 && all[i] < 1.0);
    }
}

/* Indices that any table has. */
static void test_integers(void)
{
    int64_t all[COUNT];
    int64_t sum = 0;

    fill(ISO_DTYPE_I64, 1);
    memcpy(all, bytes, sizeof all);
    for (int i = 0; i < COUNT; i++) {
        CU_ASSERT(all[i] == 0 || all[i] == 1);
        sum += all[i];
    }
    CU_ASSERT(sum > COUNT / 3 && sum < 2 * COUNT / 3);
}

static void test_bytes(void)
{
    bool seen[256] = {false};
    int count = 0;

    fill(ISO_DTYPE_U8, 1);
    for (int i = 0; i < COUNT; i++) {
        count += seen[bytes[i]] ? 0 : 1;
        seen[bytes[i]] = true;
    }
    CU_ASSERT(count > 200);
    CU_ASSERT_EQUAL(bytes[COUNT], 0xff);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"floats", test_floats},     {"doubles", test_doubles},
        {"integers", test_integers}, {"bytes", test_bytes},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"fill", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
