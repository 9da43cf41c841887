#include "base/log.h"
#include "iso_test.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Run print with stderr in a pipe; the output goes to buffer. */
static void capture(void (*print)(void), char *buffer, size_t size)
{
    int ends[2];
    int kept = dup(STDERR_FILENO);
    size_t length = 0;
    ssize_t got = 0;

    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    CU_ASSERT_FATAL(kept >= 0);
    CU_ASSERT(dup2(ends[1], STDERR_FILENO) >= 0);
    (void)close(ends[1]);
    print();
    CU_ASSERT(dup2(kept, STDERR_FILENO) >= 0);
    (void)close(kept);
    do {
        got = read(ends[0], buffer + length, size - 1 - length);
        length += got > 0 ? (size_t)got : 0;
    } while (got > 0);
    buffer[length] = '\0';
    (void)close(ends[0]);
}

static void print_levels(void)
{
    iso_log(ISO_LOG_ERROR, "cannot open '%s'", "a");
    iso_log(ISO_LOG_WARNING, "%d left", 2);
    iso_log(ISO_LOG_NOTE, "done");
}

static void test_levels(void)
{
    char text[512];

    capture(print_levels, text, sizeof text);
    CU_ASSERT_STRING_EQUAL(text, "isotome: cannot open 'a'\n"
                                 "isotome: warning: 2 left\n"
                                 "isotome: done\n");
    iso_log_set_quiet(true);
    capture(print_levels, text, sizeof text);
    iso_log_set_quiet(false);
    CU_ASSERT_STRING_EQUAL(text, "isotome: cannot open 'a'\n"
                                 "isotome: warning: 2 left\n");
}

static void test_rank(void)
{
    char text[512];

    iso_log_set_rank(3, 4);
    capture(print_levels, text, sizeof text);
    CU_ASSERT_STRING_EQUAL(text, "isotome: rank 3: cannot open 'a'\n"
                                 "isotome: rank 3: warning: 2 left\n"
                                 "isotome: rank 3: done\n");
    iso_log_set_rank(0, 4);
    capture(print_levels, text, sizeof text);
    CU_ASSERT_EQUAL(strncmp(text, "isotome: cannot", 15), 0);
}

static void print_long(void)
{
    iso_log(ISO_LOG_NOTE, "%20000d", 1);
}

static void test_long_line_is_cut(void)
{
    static char text[30000];

    capture(print_long, text, sizeof text);
    size_t length = strlen(text);
    CU_ASSERT(length > 4096);
    CU_ASSERT(length < 5000);
    CU_ASSERT_STRING_EQUAL(text + length - 4, "...\n");
    CU_ASSERT_PTR_EQUAL(strchr(text, '\n'), text + length - 1);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"levels", test_levels},
        {"rank", test_rank},
        {"long line is cut", test_long_line_is_cut},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"log", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
