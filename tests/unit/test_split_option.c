#include "iso_test_graph.h"
#include "iso_test_memory.h"
#include "tools/split_option.h"

#include <stdbool.h>

static void test_kinds(void)
{
    static const struct {
        const char *text;
        iso_split_kind_t kind;
    } cases[] = {{NULL, ISO_SPLIT_BALANCED},
                 {"balanced", ISO_SPLIT_BALANCED},
                 {"even", ISO_SPLIT_EVEN},
                 {"memory", ISO_SPLIT_MEMORY}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        iso_plan_options_t options = {.split_kind = ISO_SPLIT_EXPLICIT};
        iso_layer_split_t split;
        CU_ASSERT_EQUAL(iso_split_option(cases[i].text, &options, &split),
                        ISO_OK);
        CU_ASSERT_EQUAL(options.split_kind, cases[i].kind);
        CU_ASSERT_PTR_NULL(options.split);
        CU_ASSERT_PTR_NULL(split.counts);
    }
}

static void test_counts(void)
{
    iso_plan_options_t options = {0};
    iso_layer_split_t split;

    CU_ASSERT_EQUAL_FATAL(iso_split_option("10, 18", &options, &split), ISO_OK);
    CU_ASSERT_EQUAL(options.split_kind, ISO_SPLIT_EXPLICIT);
    CU_ASSERT_PTR_EQUAL(options.split, &split);
    CU_ASSERT_EQUAL(split.world, 2);
    CU_ASSERT_EQUAL(split.counts[1], 18);
    iso_layer_split_free(&split);
}

static void test_errors(void)
{
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"evne", "--split 'evne' is not known"},
        {"EVEN", "--split 'EVEN' is not known"},
        {"", "count 1 ('') is empty"},
        {"10,even", "count 2 ('even') is not a whole number"},
        {"0,28", "count 1 ('0') is zero"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        iso_plan_options_t options = {0};
        iso_layer_split_t split;
        CU_ASSERT_EQUAL(iso_split_option(cases[i].text, &options, &split),
                        ISO_INVAL);
        CU_ASSERT(test_failed_with(cases[i].message));
        CU_ASSERT_PTR_NULL(split.counts);
        iso_layer_split_free(&split);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"kinds", test_kinds},
        {"counts", test_counts},
        {"errors", test_errors},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"split_option", NULL, NULL, test_remember_blocks, test_check_blocks,
         tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
