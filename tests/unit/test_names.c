#include "base/mem.h"
#include "base/names.h"
#include "iso_test.h"

#include <stdio.h>

static void test_set_get_replace(void)
{
    int64_t before = iso_mem_count().blocks;
    iso_names_t *names = NULL;
    int64_t value = -5;

    CU_ASSERT_EQUAL_FATAL(iso_names_create(&names), ISO_OK);
    CU_ASSERT_FALSE(iso_names_get(names, "x", &value));
    CU_ASSERT_EQUAL(value, -5);
    CU_ASSERT_EQUAL(iso_names_set(names, "x", 1), ISO_OK);
    CU_ASSERT_EQUAL(iso_names_set(names, "", INT64_MIN), ISO_OK);
    CU_ASSERT_EQUAL(iso_names_count(names), 2);
    CU_ASSERT(iso_names_get(names, "x", &value));
    CU_ASSERT_EQUAL(value, 1);
    CU_ASSERT_EQUAL(iso_names_set(names, "x", 2), ISO_OK);
    CU_ASSERT(iso_names_get(names, "x", &value));
    CU_ASSERT_EQUAL(value, 2);
    CU_ASSERT(iso_names_get(names, "", &value));
    CU_ASSERT_EQUAL(value, INT64_MIN);
    CU_ASSERT(iso_names_get(names, "x", NULL));
    CU_ASSERT_EQUAL(iso_names_count(names), 2);
    iso_names_destroy(&names);
    CU_ASSERT_PTR_NULL(names);
    iso_names_destroy(&names);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

static void test_many_names(void)
{
    enum { COUNT = 100000 };
    static char texts[COUNT][24];
    int64_t before = iso_mem_count().blocks;
    iso_names_t *names = NULL;
    int bad = 0;

    CU_ASSERT_EQUAL_FATAL(iso_names_create(&names), ISO_OK);
    for (int i = 0; i < COUNT; i++) {
        (void)snprintf(texts[i], sizeof texts[i], "node_%d", i);
        bad += iso_names_set(names, texts[i], i) != ISO_OK;
    }
    CU_ASSERT_EQUAL(iso_names_count(names), COUNT);
    for (int i = 0; i < COUNT; i++) {
        char other[24];
        int64_t value = -1;
        bad += !iso_names_get(names, texts[i], &value) || value != i;
        (void)snprintf(other, sizeof other, "other_%d", i);
        bad += iso_names_get(names, other, NULL);
    }
    CU_ASSERT_EQUAL(bad, 0);
    iso_names_destroy(&names);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

/* A failed growth leaves the map as it was. */
static void test_failures(void)
{
    static const char *const texts[] = {"a", "b", "c", "d", "e",
                                        "f", "g", "h", "i"};
    int64_t before = iso_mem_count().blocks;
    iso_names_t *names = NULL;
    int64_t value = 0;

    iso_mem_fail_at(1);
    CU_ASSERT_EQUAL(iso_names_create(&names), ISO_NOMEM);
    iso_mem_fail_at(2);
    CU_ASSERT_EQUAL(iso_names_create(&names), ISO_NOMEM);
    CU_ASSERT_PTR_NULL(names);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
    CU_ASSERT_EQUAL_FATAL(iso_names_create(&names), ISO_OK);
    for (int i = 0; i < 8; i++) {
        CU_ASSERT_EQUAL(iso_names_set(names, texts[i], i), ISO_OK);
    }
    iso_mem_fail_at(1);
    CU_ASSERT_EQUAL(iso_names_set(names, texts[8], 8), ISO_NOMEM);
    CU_ASSERT_FALSE(iso_names_get(names, texts[8], &value));
    CU_ASSERT_EQUAL(iso_names_count(names), 8);
    CU_ASSERT_EQUAL(iso_names_set(names, texts[8], 8), ISO_OK);
    for (int i = 0; i < 9; i++) {
        CU_ASSERT(iso_names_get(names, texts[i], &value));
        CU_ASSERT_EQUAL(value, i);
    }
    iso_names_destroy(&names);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"set, get, replace", test_set_get_replace},
        {"many names", test_many_names},
        {"failures", test_failures},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"names", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
