#include "isotome/status.h"

#include "iso_test.h"

static void test_every_code_has_its_text(void)
{
#define X(name, code, exit_code, text) \
    CU_ASSERT_STRING_EQUAL(iso_status_string(ISO_##name), text);
    ISO_STATUS_MAP(X)
#undef X
    CU_ASSERT_STRING_EQUAL(iso_status_string((iso_status_t)-99),
                           "unknown status");
}

/* Scripts and batch systems depend on these numbers. */
static void test_exit_codes(void)
{
    CU_ASSERT_EQUAL(iso_status_exit_code(ISO_OK), 0);
    CU_ASSERT_EQUAL(iso_status_exit_code(ISO_NOMEM), 1);
    CU_ASSERT_EQUAL(iso_status_exit_code(ISO_IO), 1);
    CU_ASSERT_EQUAL(iso_status_exit_code(ISO_INTERNAL), 1);
    CU_ASSERT_EQUAL(iso_status_exit_code(ISO_INVAL), 2);
    CU_ASSERT_EQUAL(iso_status_exit_code(ISO_DISAGREE), 3);
    CU_ASSERT_EQUAL(iso_status_exit_code(ISO_SHAPE), 4);
    CU_ASSERT_EQUAL(iso_status_exit_code(ISO_INPUT), 4);
    CU_ASSERT_EQUAL(iso_status_exit_code(ISO_UNSUPPORTED), 4);
    CU_ASSERT_EQUAL(iso_status_exit_code(ISO_DEADLINE), 5);
    CU_ASSERT_EQUAL(iso_status_exit_code(ISO_INTERRUPTED), 6);
    CU_ASSERT_EQUAL(iso_status_exit_code((iso_status_t)-99), 1);
}

static iso_status_t pass_on(iso_status_t status, int *after)
{
    ISO_TRY(status);
    *after = 1;
    return ISO_OK;
}

static void test_try_passes_failures_on(void)
{
    int after = 0;

    CU_ASSERT_EQUAL(pass_on(ISO_SHAPE, &after), ISO_SHAPE);
    CU_ASSERT_EQUAL(after, 0);
    CU_ASSERT_EQUAL(pass_on(ISO_OK, &after), ISO_OK);
    CU_ASSERT_EQUAL(after, 1);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"every code has its text", test_every_code_has_its_text},
        {"exit codes", test_exit_codes},
        {"ISO_TRY passes failures on", test_try_passes_failures_on},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"status", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
