#include "base/digest.h"
#include "iso_test.h"

#include <string.h>

/* Published values of XXH3_64bits with seed 0. */
static void test_known_values(void)
{
    CU_ASSERT_EQUAL(iso_digest_of("", 0), UINT64_C(0x2d06800538d394c2));
    CU_ASSERT_EQUAL(iso_digest_of(NULL, 0), UINT64_C(0x2d06800538d394c2));
    CU_ASSERT_EQUAL(iso_digest_of("a", 1), UINT64_C(0xe6c632b61e964e1f));
    CU_ASSERT_EQUAL(iso_digest_of("abc", 3), UINT64_C(0x78af5f94892f3950));
}

/* Any cut of the stream gives the digest of the whole. */
static void test_pieces_give_the_whole(void)
{
    static unsigned char bytes[10007];
    static const size_t pieces[] = {1, 2, 63, 64, 255, 256, 257, 1024, 9999};

    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (unsigned char)(i * i % 253);
    }
    uint64_t whole = iso_digest_of(bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        iso_digest_t digest;
        iso_digest_begin(&digest);
        for (size_t at = 0; at < sizeof bytes; at += pieces[i]) {
            size_t left = sizeof bytes - at;
            iso_digest_add_bytes(&digest, bytes + at,
                                 left < pieces[i] ? left : pieces[i]);
        }
        CU_ASSERT_EQUAL(iso_digest_end(&digest), whole);
    }
}

static uint64_t digest_of_texts(const char *a, const char *b)
{
    iso_digest_t digest;

    iso_digest_begin(&digest);
    iso_digest_add_text(&digest, a);
    iso_digest_add_text(&digest, b);
    return iso_digest_end(&digest);
}

static void test_fields_are_separate(void)
{
    CU_ASSERT_NOT_EQUAL(digest_of_texts("ab", "c"), digest_of_texts("a", "bc"));
    CU_ASSERT_NOT_EQUAL(digest_of_texts("", "a"), digest_of_texts("a", ""));
    CU_ASSERT_NOT_EQUAL(digest_of_texts("a", "b"), digest_of_texts("b", "a"));
    CU_ASSERT_EQUAL(digest_of_texts("ab", "c"), digest_of_texts("ab", "c"));
}

static void test_integers_are_little_endian(void)
{
    const unsigned char expected[16] = {
        0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, /* -2 */
        0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01,
    };
    iso_digest_t digest;

    iso_digest_begin(&digest);
    iso_digest_add_int(&digest, -2);
    iso_digest_add_int(&digest, INT64_C(0x0102030405060708));
    CU_ASSERT_EQUAL(iso_digest_end(&digest),
                    iso_digest_of(expected, sizeof expected));
}

static void test_doubles_by_their_bits(void)
{
    const unsigned char one[8] = {0, 0, 0, 0, 0, 0, 0xf0, 0x3f};
    iso_digest_t a;
    iso_digest_t b;

    iso_digest_begin(&a);
    iso_digest_add_double(&a, 1.0);
    CU_ASSERT_EQUAL(iso_digest_end(&a), iso_digest_of(one, sizeof one));
    iso_digest_begin(&a);
    iso_digest_begin(&b);
    iso_digest_add_double(&a, 0.0);
    iso_digest_add_double(&b, -0.0);
    CU_ASSERT_NOT_EQUAL(iso_digest_end(&a), iso_digest_end(&b));
}

/* A copy goes its own way, and asking for the value changes nothing. */
static void test_a_digest_is_a_value(void)
{
    char long_text[700];
    iso_digest_t a;

    memset(long_text, 'q', sizeof long_text);
    iso_digest_begin(&a);
    iso_digest_add_bytes(&a, long_text, sizeof long_text);
    iso_digest_t b = a;
    uint64_t value = iso_digest_end(&a);
    iso_digest_add_int(&b, 1);
    CU_ASSERT_EQUAL(iso_digest_end(&a), value);
    CU_ASSERT_NOT_EQUAL(iso_digest_end(&b), value);
    iso_digest_add_int(&a, 1);
    CU_ASSERT_EQUAL(iso_digest_end(&a), iso_digest_end(&b));
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"known values", test_known_values},
        {"pieces give the whole", test_pieces_give_the_whole},
        {"fields are separate", test_fields_are_separate},
        {"integers are little-endian", test_integers_are_little_endian},
        {"doubles by their bits", test_doubles_by_their_bits},
        {"a digest is a value", test_a_digest_is_a_value},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"digest", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
