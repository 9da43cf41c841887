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

/* -- sums over elements -- */

/* Output number index (from 0) of splitmix64, as its author wrote it. */
static uint64_t splitmix64(uint64_t seed, uint64_t index)
{
    uint64_t z = seed + (index + 1) * UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Published outputs for the seeds 0 and 1234567. */
static void test_elements_known_values(void)
{
    static const uint64_t zeros[] = {UINT64_C(0xe220a8397b1dcdaf),
                                     UINT64_C(0x6e789e6aa1b965f4),
                                     UINT64_C(0x06c45d188009454f)};
    const uint64_t seeds[] = {1234567, 1234567};
    const unsigned char none[8 * 3] = {0};

    for (size_t width = 1; width <= 8; width *= 2) {
        uint64_t sum = 0;
        for (size_t i = 0; i < 3; i++) {
            sum += zeros[i];
            CU_ASSERT_EQUAL(iso_digest_elements(none, width, i, 1), zeros[i]);
            CU_ASSERT_EQUAL(iso_digest_elements(none, width, 0, i + 1), sum);
        }
        CU_ASSERT_EQUAL(iso_digest_elements(none, width, 5, 0), 0);
        CU_ASSERT_EQUAL(iso_digest_elements(NULL, width, 0, 0), 0);
    }
    CU_ASSERT_EQUAL(iso_digest_elements(seeds, 8, 0, 2),
                    UINT64_C(6457827717110365317) +
                        UINT64_C(3203168211198807973));
}

/* Little-endian, unsigned, at any address and at indices past 2^32. */
static void test_elements_of_each_width(void)
{
    unsigned char bytes[8 * 50 + 1];

    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (unsigned char)(255 - i * 7 % 256);
    }
    for (size_t width = 1; width <= 8; width *= 2) {
        const uint64_t first = UINT64_C(0xfffffffd);
        uint64_t sum = 0;
        for (size_t i = 0; i < 50; i++) {
            uint64_t bits = 0;
            for (size_t byte = width; byte > 0; byte--) {
                bits = bits << 8 | bytes[1 + i * width + byte - 1];
            }
            sum += splitmix64(bits, first + i);
        }
        CU_ASSERT_EQUAL(iso_digest_elements(bytes + 1, width, first, 50), sum);
    }
}

/* Any cut adds up to the whole. */
static void test_elements_of_parts(void)
{
    uint32_t elements[101];
    size_t count = sizeof elements / sizeof *elements;

    for (size_t i = 0; i < count; i++) {
        elements[i] = (uint32_t)(i % 5 * 0x3f800001U);
    }
    uint64_t whole = iso_digest_elements(elements, 4, 9, count);
    for (size_t a = 0; a <= count; a++) {
        for (size_t b = a; b <= count; b++) {
            uint64_t sum =
                iso_digest_elements(elements + b, 4, 9 + b, count - b);
            sum += iso_digest_elements(elements, 4, 9, a);
            sum += iso_digest_elements(elements + a, 4, 9 + a, b - a);
            CU_ASSERT_EQUAL(sum, whole);
        }
    }
}

/* Every bit, every swap of unequal elements, every move is seen. */
static void test_elements_in_other_places(void)
{
    uint16_t elements[64];

    for (size_t i = 0; i < 64; i++) {
        elements[i] = (uint16_t)(i * i);
    }
    uint64_t whole = iso_digest_elements(elements, 2, 0, 64);
    CU_ASSERT_NOT_EQUAL(iso_digest_elements(elements, 2, 1, 64), whole);
    for (size_t i = 0; i < 64; i++) {
        for (unsigned bit = 0; bit < 16; bit++) {
            elements[i] ^= (uint16_t)(1U << bit);
            CU_ASSERT_NOT_EQUAL(iso_digest_elements(elements, 2, 0, 64), whole);
            elements[i] ^= (uint16_t)(1U << bit);
        }
        for (size_t j = 0; j < i; j++) {
            uint16_t kept = elements[i];
            elements[i] = elements[j];
            elements[j] = kept;
            CU_ASSERT_NOT_EQUAL(iso_digest_elements(elements, 2, 0, 64), whole);
            elements[j] = elements[i];
            elements[i] = kept;
        }
    }
    CU_ASSERT_EQUAL(iso_digest_elements(elements, 2, 0, 64), whole);
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
        {"elements: known values", test_elements_known_values},
        {"elements of each width", test_elements_of_each_width},
        {"elements of parts", test_elements_of_parts},
        {"elements in other places", test_elements_in_other_places},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"digest", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
