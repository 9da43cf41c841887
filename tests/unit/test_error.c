#include "isotome/error.h"

#include "iso_test.h"

#include <pthread.h>
#include <string.h>

static void test_record_and_clear(void)
{
    iso_error_clear();
    CU_ASSERT_STRING_EQUAL(iso_error_text(), "");
    CU_ASSERT_EQUAL(iso_fail(ISO_INPUT, "file '%s' has %d rows", "a", 3),
                    ISO_INPUT);
    CU_ASSERT_STRING_EQUAL(iso_error_text(), "file 'a' has 3 rows");
    CU_ASSERT_EQUAL(iso_fail(ISO_IO, "later"), ISO_IO);
    CU_ASSERT_STRING_EQUAL(iso_error_text(), "later");
    iso_error_clear();
    CU_ASSERT_STRING_EQUAL(iso_error_text(), "");
}

static void test_context_goes_in_front(void)
{
    (void)iso_fail(ISO_INPUT, "bad row");
    CU_ASSERT_EQUAL(iso_fail_context(ISO_INPUT, "file '%s'", "x"), ISO_INPUT);
    CU_ASSERT_EQUAL(iso_fail_context(ISO_IO, "node"), ISO_IO);
    CU_ASSERT_STRING_EQUAL(iso_error_text(), "node: file 'x': bad row");
}

static void test_record_may_be_an_argument(void)
{
    (void)iso_fail(ISO_INPUT, "first");
    (void)iso_fail(ISO_INPUT, "<%s> again", iso_error_text());
    CU_ASSERT_STRING_EQUAL(iso_error_text(), "<first> again");
    (void)iso_fail_context(ISO_INPUT, "%s", iso_error_text());
    CU_ASSERT_STRING_EQUAL(iso_error_text(), "<first> again: <first> again");
}

static void test_long_text_is_cut(void)
{
    char text[2 * ISO_ERROR_TEXT_BYTES];

    memset(text, 'x', sizeof text);
    text[ISO_ERROR_TEXT_BYTES - 1] = '\0';
    (void)iso_fail(ISO_INPUT, "%s", text);
    CU_ASSERT_STRING_EQUAL(iso_error_text(), text);

    text[ISO_ERROR_TEXT_BYTES - 1] = 'x';
    text[sizeof text - 1] = '\0';
    (void)iso_fail(ISO_INPUT, "%s", text);
    CU_ASSERT_EQUAL(strlen(iso_error_text()), ISO_ERROR_TEXT_BYTES - 1);
    CU_ASSERT_STRING_EQUAL(iso_error_text() + ISO_ERROR_TEXT_BYTES - 5, "x...");
    (void)iso_fail_context(ISO_INPUT, "%s", text);
    CU_ASSERT_EQUAL(strlen(iso_error_text()), ISO_ERROR_TEXT_BYTES - 1);
}

static void test_controls_are_dropped(void)
{
    (void)iso_fail(ISO_INPUT, "node '%s'", "a\nb\x1b[2J\x7f\xc3\xa9");
    CU_ASSERT_STRING_EQUAL(iso_error_text(), "node 'a?b?[2J?\xc3\xa9'");
    (void)iso_fail_context(ISO_INPUT, "%s", "x\ry");
    CU_ASSERT_STRING_EQUAL(iso_error_text(), "x?y: node 'a?b?[2J?\xc3\xa9'");
}

static void *fail_elsewhere(void *arg)
{
    (void)arg;
    (void)iso_fail(ISO_IO, "of the other thread");
    return strcmp(iso_error_text(), "of the other thread") == 0 ? arg : NULL;
}

static void test_each_thread_has_its_own(void)
{
    pthread_t thread;
    int mark = 0;
    void *result = NULL;

    (void)iso_fail(ISO_INPUT, "of this thread");
    CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, fail_elsewhere, &mark),
                          0);
    CU_ASSERT_EQUAL(pthread_join(thread, &result), 0);
    CU_ASSERT_PTR_EQUAL(result, &mark);
    CU_ASSERT_STRING_EQUAL(iso_error_text(), "of this thread");
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"record and clear", test_record_and_clear},
        {"context goes in front", test_context_goes_in_front},
        {"record may be an argument", test_record_may_be_an_argument},
        {"long text is cut", test_long_text_is_cut},
        {"controls are dropped", test_controls_are_dropped},
        {"each thread has its own", test_each_thread_has_its_own},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"error", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
