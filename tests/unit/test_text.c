#include "isotome/error.h"

#include "base/mem.h"
#include "base/text.h"
#include "iso_test.h"

#include <math.h>
#include <string.h>

static void test_growing_text(void)
{
    int64_t before = iso_mem_count().blocks;
    iso_text_t text = {0};

    CU_ASSERT_PTR_NULL(text.data);
    iso_text_add(&text, "%s", "");
    for (int i = 0; i < 1000; i++) {
        iso_text_add(&text, "%03d,", i);
    }
    CU_ASSERT_EQUAL(text.status, ISO_OK);
    CU_ASSERT_EQUAL(text.length, 4000);
    CU_ASSERT_EQUAL(strlen(text.data), 4000);
    CU_ASSERT_STRING_EQUAL(text.data + 3992, "998,999,");
    iso_text_add(&text, "%5000s", "x");
    CU_ASSERT_EQUAL(text.length, 9000);
    iso_text_free(&text);
    CU_ASSERT_PTR_NULL(text.data);
    CU_ASSERT_EQUAL(text.length, 0);
    iso_text_free(&text);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

static void test_growing_text_remembers_failure(void)
{
    int64_t before = iso_mem_count().blocks;
    iso_text_t text = {0};

    iso_text_add(&text, "a");
    iso_mem_fail_at(1);
    iso_text_add(&text, "%1000d", 1);
    CU_ASSERT_EQUAL(text.status, ISO_NOMEM);
    iso_text_add(&text, "b");
    CU_ASSERT_EQUAL(text.status, ISO_NOMEM);
    CU_ASSERT_STRING_EQUAL(text.data, "a");
    iso_text_free(&text);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

static void test_numbers_for_people(void)
{
    char buffer[ISO_TEXT_NUMBER_BYTES];

    CU_ASSERT_STRING_EQUAL(iso_text_bytes(0, buffer), "0 B");
    CU_ASSERT_STRING_EQUAL(iso_text_bytes(532, buffer), "532 B");
    CU_ASSERT_STRING_EQUAL(iso_text_bytes(1023, buffer), "1023 B");
    CU_ASSERT_STRING_EQUAL(iso_text_bytes(1024, buffer), "1 KiB");
    CU_ASSERT_STRING_EQUAL(iso_text_bytes(12897485, buffer), "12.3 MiB");
    CU_ASSERT_STRING_EQUAL(iso_text_bytes((1U << 20) - 1, buffer), "1 MiB");
    CU_ASSERT_STRING_EQUAL(iso_text_bytes(SIZE_MAX, buffer), "16 EiB");
    CU_ASSERT_STRING_EQUAL(iso_text_count(0, buffer), "0");
    CU_ASSERT_STRING_EQUAL(iso_text_count(999, buffer), "999");
    CU_ASSERT_STRING_EQUAL(iso_text_count(999.6, buffer), "1 k");
    CU_ASSERT_STRING_EQUAL(iso_text_count(4.09e9, buffer), "4.09 G");
    CU_ASSERT_STRING_EQUAL(iso_text_count(999999, buffer), "1 M");
    CU_ASSERT_STRING_EQUAL(iso_text_seconds(0, buffer), "0 ns");
    CU_ASSERT_STRING_EQUAL(iso_text_seconds(0.0012, buffer), "1.2 ms");
    CU_ASSERT_STRING_EQUAL(iso_text_seconds(59.9, buffer), "59.9 s");
    CU_ASSERT_STRING_EQUAL(iso_text_seconds(59.96, buffer), "1 min 0 s");
    CU_ASSERT_STRING_EQUAL(iso_text_seconds(3599.4, buffer), "59 min 59 s");
    CU_ASSERT_STRING_EQUAL(iso_text_seconds(3600, buffer), "1 h 0 min");
    CU_ASSERT_STRING_EQUAL(iso_text_seconds(1e300, buffer), "1e+300 s");
    CU_ASSERT_STRING_EQUAL(iso_text_seconds((double)NAN, buffer), "nan s");
    CU_ASSERT(strlen(iso_text_count(-1e300, buffer)) < ISO_TEXT_NUMBER_BYTES);
    CU_ASSERT(strlen(iso_text_count(1e300, buffer)) < ISO_TEXT_NUMBER_BYTES);
}

static void test_parse_int(void)
{
    static const char *const bad[] = {
        "",
        "-",
        "+1",
        " 1",
        "1 ",
        "1.0",
        "0x10",
        "1e3",
        "--1",
        "12a",
        "١",
        "99999999999999999999999",
        "9223372036854775808",
        "-9223372036854775809",
    };
    int64_t value = 0;

    CU_ASSERT_EQUAL(iso_text_parse_int("12", "x", 0, 99, &value), ISO_OK);
    CU_ASSERT_EQUAL(value, 12);
    CU_ASSERT_EQUAL(iso_text_parse_int("-9223372036854775808", "x", INT64_MIN,
                                       INT64_MAX, &value),
                    ISO_OK);
    CU_ASSERT_EQUAL(value, INT64_MIN);
    CU_ASSERT_EQUAL(iso_text_parse_int("9223372036854775807", "x", INT64_MIN,
                                       INT64_MAX, &value),
                    ISO_OK);
    CU_ASSERT_EQUAL(value, INT64_MAX);
    CU_ASSERT_EQUAL(
        iso_text_parse_int("2147483649", "x", 0, 2147483649, &value), ISO_OK);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        value = 77;
        CU_ASSERT_EQUAL(
            iso_text_parse_int(bad[i], "x", INT64_MIN, INT64_MAX, &value),
            ISO_INVAL);
        CU_ASSERT_EQUAL(value, 77);
    }
    CU_ASSERT_EQUAL(iso_text_parse_int("0", "--micro-batch", 1, 64, &value),
                    ISO_INVAL);
    CU_ASSERT_STRING_EQUAL(
        iso_error_text(),
        "--micro-batch: '0' is not a whole number from 1 to 64");
    CU_ASSERT_EQUAL(iso_text_parse_int("65", "x", 1, 64, &value), ISO_INVAL);
}

static void test_parse_double(void)
{
    static const char *const bad[] = {
        "",   ".",   "inf", "-inf", "nan",   "infinity", "0x1p3", " 1",
        "1 ", "1,5", "1e",  "e5",   "1e999", "--1",      "1.2.3", "1f",
    };
    double value = 0.0;

    CU_ASSERT_EQUAL(iso_text_parse_double(".406", "x", &value), ISO_OK);
    CU_ASSERT_EQUAL(value, 0.406);
    CU_ASSERT_EQUAL(iso_text_parse_double("-1.5e-3", "x", &value), ISO_OK);
    CU_ASSERT_EQUAL(value, -1.5e-3);
    CU_ASSERT_EQUAL(iso_text_parse_double("+7", "x", &value), ISO_OK);
    CU_ASSERT_EQUAL(value, 7.0);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        value = 77.0;
        CU_ASSERT_EQUAL(iso_text_parse_double(bad[i], "x", &value), ISO_INVAL);
        CU_ASSERT_EQUAL(value, 77.0);
    }
}

static void test_parse_doubles(void)
{
    static const char *const bad[] = {"", ",", "1,", ",1", "1,,2", "1, 2"};
    int64_t before = iso_mem_count().blocks;
    double *values = NULL;
    int count = 0;

    CU_ASSERT_EQUAL_FATAL(
        iso_text_parse_doubles("0.485,0.456,.406", "--mean", &values, &count),
        ISO_OK);
    CU_ASSERT_EQUAL(count, 3);
    CU_ASSERT_EQUAL(values[0], 0.485);
    CU_ASSERT_EQUAL(values[1], 0.456);
    CU_ASSERT_EQUAL(values[2], 0.406);
    iso_free(values);
    CU_ASSERT_EQUAL_FATAL(iso_text_parse_doubles("7", "x", &values, &count),
                          ISO_OK);
    CU_ASSERT_EQUAL(count, 1);
    iso_free(values);
    values = NULL;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        CU_ASSERT_EQUAL(
            iso_text_parse_doubles(bad[i], "--mean", &values, &count),
            ISO_INVAL);
        CU_ASSERT_PTR_NULL(values);
        CU_ASSERT_PTR_NOT_NULL(strstr(iso_error_text(), "--mean"));
    }
    for (int i = 1; i <= 2; i++) {
        iso_mem_fail_at(i);
        CU_ASSERT_EQUAL(iso_text_parse_doubles("1,2", "x", &values, &count),
                        ISO_NOMEM);
    }
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

static void test_nearest(void)
{
    static const char *const names[] = {"balanced", "even", "memory", NULL};
    static const char *const none[] = {NULL};
    char text[200];

    memset(text, 'e', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    CU_ASSERT_STRING_EQUAL(iso_text_nearest("ballanced", names), "balanced");
    CU_ASSERT_PTR_EQUAL(iso_text_nearest("evn", names), names[1]);
    CU_ASSERT_PTR_EQUAL(iso_text_nearest("memroy", names), names[2]);
    CU_ASSERT_PTR_EQUAL(iso_text_nearest("even", names), names[1]);
    CU_ASSERT_PTR_NULL(iso_text_nearest("convolution", names));
    CU_ASSERT_PTR_NULL(iso_text_nearest("", names));
    CU_ASSERT_PTR_NULL(iso_text_nearest("x", names));
    CU_ASSERT_PTR_NULL(iso_text_nearest(text, names));
    CU_ASSERT_PTR_NULL(iso_text_nearest("even", none));
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"growing text", test_growing_text},
        {"growing text remembers failure", test_growing_text_remembers_failure},
        {"numbers for people", test_numbers_for_people},
        {"parse int", test_parse_int},
        {"parse double", test_parse_double},
        {"parse doubles", test_parse_doubles},
        {"nearest", test_nearest},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"text", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
