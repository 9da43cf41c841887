#include "exec/batches.h"
#include "iso_test.h"

/* Micro-batches follow each other without a gap, from 0 to the samples. */
static void check(int64_t begin, int64_t samples, int64_t micro_batch)
{
    iso_batches_t batches = iso_batches_of(begin, samples, micro_batch);
    int64_t next = begin;

    CU_ASSERT_TRUE(batches.size[ISO_FORM_FULL] >= 1);
    CU_ASSERT_TRUE(batches.size[ISO_FORM_FULL] <= micro_batch);
    CU_ASSERT_TRUE(batches.size[ISO_FORM_TAIL] < batches.size[ISO_FORM_FULL]);
    for (int64_t i = 0; i < batches.count; i++) {
        CU_ASSERT_EQUAL(iso_batches_first(&batches, i), next);
        CU_ASSERT_TRUE(iso_batches_end(&batches, i) > next);
        next = iso_batches_end(&batches, i);
    }
    CU_ASSERT_EQUAL(next, samples);
}

static void test_every_sample_is_in_one_batch(void)
{
    for (int64_t samples = 0; samples <= 40; samples++) {
        for (int64_t micro_batch = 1; micro_batch <= 41; micro_batch++) {
            for (int64_t begin = 0; begin <= samples; begin += 7) {
                check(begin, samples, micro_batch);
            }
        }
    }
}

static void test_only_the_last_batch_is_smaller(void)
{
    iso_batches_t batches = iso_batches_of(0, (INT64_C(1) << 31) + 1, 64);

    CU_ASSERT_EQUAL(batches.count, (INT64_C(1) << 25) + 1);
    CU_ASSERT_EQUAL(iso_batches_form(&batches, 0), ISO_FORM_FULL);
    CU_ASSERT_EQUAL(iso_batches_form(&batches, batches.count - 2),
                    ISO_FORM_FULL);
    CU_ASSERT_EQUAL(iso_batches_form(&batches, batches.count - 1),
                    ISO_FORM_TAIL);
    CU_ASSERT_EQUAL(iso_batches_end(&batches, batches.count - 1),
                    (INT64_C(1) << 31) + 1);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"every sample is in one batch", test_every_sample_is_in_one_batch},
        {"only the last batch is smaller", test_only_the_last_batch_is_smaller},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"batches", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
