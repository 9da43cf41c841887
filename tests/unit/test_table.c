#include "base/mem.h"
#include "base/table.h"
#include "iso_test_memory.h"

#include <stdio.h>
#include <string.h>

static void expect_table(const char *columns, const char *rows,
                         const char *expected)
{
    iso_text_t cells = {0};
    iso_text_t text = {0};

    if (rows[0] != '\0') {
        iso_text_add(&cells, "%s", rows);
    }
    iso_text_add(&text, "|");
    iso_table_add(&text, columns, &cells);
    CU_ASSERT_EQUAL_FATAL(text.status, ISO_OK);
    CU_ASSERT_STRING_EQUAL(text.data + 1, expected);
    if (strcmp(text.data + 1, expected) != 0) {
        (void)fprintf(stderr, "found:\n%s\n", text.data + 1);
    }
    iso_text_free(&cells);
    iso_text_free(&text);
}

static void test_columns(void)
{
    expect_table("rlr",
                 "rank\thost\tpeak\n"
                 "0\ta.long.name\t1 B\n"
                 "10000\tb\t1023 MiB\n",
                 " rank  host             peak\n"
                 "    0  a.long.name       1 B\n"
                 "10000  b            1023 MiB\n");
    expect_table("lr", "a\t1\nbcd\t22\n", "a     1\nbcd  22\n");
}

/* No line ends with blanks; short rows end early. */
static void test_empty_cells(void)
{
    expect_table("rlr", "a\tb\tc\nall\t\t3\n\n1\n2\tlong\t\n",
                 "  a  b     c\n"
                 "all        3\n"
                 "\n"
                 "  1\n"
                 "  2  long\n");
    expect_table("rr", "\t\n", "\n");
    expect_table("r", "", "");
}

static void test_edges(void)
{
    expect_table("r", "1\tbeyond\n22\tthe columns\n", " 1\n22\n");
    expect_table("rr", "no\tnewline", "no  newline\n");
    expect_table("", "a\tb\n", "\n");
}

static void test_out_of_memory(void)
{
    iso_text_t cells = {.status = ISO_NOMEM};
    iso_text_t text = {0};

    iso_table_add(&text, "r", &cells);
    CU_ASSERT_EQUAL(text.status, ISO_NOMEM);
    CU_ASSERT_PTR_NULL(text.data);
    for (int64_t n = 1; n < 3; n++) {
        iso_text_t good = {0};
        iso_text_t found = {0};

        iso_text_add(&good, "a\tb\n");
        iso_mem_fail_at(n);
        iso_table_add(&found, "rr", &good);
        iso_mem_fail_at(0);
        CU_ASSERT_EQUAL(found.status, n == 1 ? ISO_NOMEM : ISO_OK);
        iso_text_free(&good);
        iso_text_free(&found);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"columns", test_columns}, {"empty cells", test_empty_cells},
        {"edges", test_edges},     {"out of memory", test_out_of_memory},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"table", NULL, NULL, test_remember_blocks, test_check_blocks, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
