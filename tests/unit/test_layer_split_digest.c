/* The numbers that stand for a layer split. */
#include "isotome/layer_split.h"

#include "iso_test_memory.h"

#include <stdlib.h>

static uint32_t fingerprint_of(const char *text)
{
    iso_layer_split_t split;

    CU_ASSERT_EQUAL_FATAL(iso_layer_split_parse(text, &split), ISO_OK);
    uint32_t value = iso_layer_split_fingerprint24(&split);
    iso_layer_split_free(&split);
    return value;
}

static uint64_t digest_of(const char *text)
{
    iso_layer_split_t split;

    CU_ASSERT_EQUAL_FATAL(iso_layer_split_parse(text, &split), ISO_OK);
    uint64_t value = iso_layer_split_digest(&split);
    iso_layer_split_free(&split);
    return value;
}

static void test_fingerprint_golden(void)
{
    CU_ASSERT_EQUAL(fingerprint_of("14,14"), 2109893);
    CU_ASSERT_EQUAL(fingerprint_of("13,15"), 14241719);
    CU_ASSERT_EQUAL(fingerprint_of("15,13"), 4427735);
    CU_ASSERT_EQUAL(fingerprint_of("10,18"), 9615741);
    CU_ASSERT_EQUAL(fingerprint_of("18,10"), 12819485);
    CU_ASSERT_EQUAL(fingerprint_of("28"), 713321);
    CU_ASSERT_EQUAL(fingerprint_of("7,7,7,7"), 6062757);
    CU_ASSERT_EQUAL(fingerprint_of("9,9,10"), 2379983);
    CU_ASSERT_EQUAL(fingerprint_of("1,27"), 2799887);
    CU_ASSERT_EQUAL(fingerprint_of("80"), 4858341);
    CU_ASSERT_EQUAL(fingerprint_of("4,4,4,4"), 5787781);
    CU_ASSERT_EQUAL(fingerprint_of("3,3,2,2"), 10644277);
    CU_ASSERT_EQUAL(fingerprint_of("2,2,3,3"), 3956021);
}

/* Two splits that 24 bits cannot tell apart, and the digest can. */
static void test_fingerprint_collides(void)
{
    CU_ASSERT_EQUAL(fingerprint_of("1,5,21,53"), fingerprint_of("10,46,12,12"));
    CU_ASSERT_NOT_EQUAL(digest_of("1,5,21,53"), digest_of("10,46,12,12"));
    CU_ASSERT_EQUAL(digest_of("1,5,21,53"), digest_of("1, 5, 21, 53"));
    CU_ASSERT_NOT_EQUAL(digest_of("10,18"), digest_of("18,10"));
}

/* -- every split of 80 layers over 4 ranks -- */

enum { N_SPLITS = 79079 /* 79 choose 3 */ };

typedef struct numbers {
    uint32_t fingerprint;
    uint64_t digest;
} numbers_t;

static int compare_fingerprints(const void *a, const void *b)
{
    uint32_t left = ((const numbers_t *)a)->fingerprint;
    uint32_t right = ((const numbers_t *)b)->fingerprint;

    return (left > right) - (left < right);
}

/* Returns how many splits there are. */
static int list_splits(numbers_t *list)
{
    int count = 0;

    for (int64_t a = 1; a <= 77; a++) {
        for (int64_t b = 1; a + b <= 78; b++) {
            for (int64_t c = 1; a + b + c <= 79; c++) {
                int64_t counts[] = {a, b, c, 80 - a - b - c};
                const iso_layer_split_t split = {4, counts};
                list[count].fingerprint = iso_layer_split_fingerprint24(&split);
                list[count].digest = iso_layer_split_digest(&split);
                count++;
            }
        }
    }
    return count;
}

static void test_collisions_are_counted(void)
{
    numbers_t *list = iso_alloc_zeroed(N_SPLITS, sizeof *list);
    int pairs = 0;
    int told_apart = 0;

    CU_ASSERT_PTR_NOT_NULL_FATAL(list);
    CU_ASSERT_EQUAL_FATAL(list_splits(list), N_SPLITS);
    qsort(list, N_SPLITS, sizeof *list, compare_fingerprints);
    for (int i = 1; i < N_SPLITS; i++) {
        for (int k = i - 1;
             k >= 0 && list[k].fingerprint == list[i].fingerprint; k--) {
            pairs++;
            told_apart += list[k].digest != list[i].digest ? 1 : 0;
        }
    }
    CU_ASSERT_EQUAL(pairs, 199);
    CU_ASSERT_EQUAL(told_apart, 199);
    iso_free(list);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"fingerprint golden", test_fingerprint_golden},
        {"fingerprint collides", test_fingerprint_collides},
        {"collisions are counted", test_collisions_are_counted},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"layer_split digest", NULL, NULL, test_remember_blocks,
         test_check_blocks, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
