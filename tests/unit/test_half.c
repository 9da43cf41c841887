#include "iso_test.h"
#include "kernel/half.h"

#include <math.h>
#include <string.h>

/* Value of f16 bits, straight from the format. */
static double f16_value(uint16_t bits)
{
    const int exponent = bits >> 10 & 31;
    const int fraction = bits & 1023;
    const double magnitude = exponent == 0
                                 ? ldexp(fraction, -24)
                                 : ldexp(1024 + fraction, exponent - 25);

    return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

static int is_f16_nan(uint16_t bits)
{
    return (bits & 0x7fff) > 0x7c00;
}

static void test_every_f16(void)
{
    for (uint32_t i = 0; i < 0x10000; i++) {
        const uint16_t bits = (uint16_t)i;
        const float value = iso__f16_to_f32(bits);

        if (is_f16_nan(bits)) {
            CU_ASSERT(isnan(value));
            CU_ASSERT_EQUAL(iso__f16_of_f64((double)value), 0x7e00);
            continue;
        }
        if ((bits & 0x7fff) == 0x7c00) {
            CU_ASSERT(isinf(value) && (value < 0) == ((bits >> 15) != 0));
        } else {
            CU_ASSERT_EQUAL((double)value, f16_value(bits));
        }
        CU_ASSERT_EQUAL(iso__f16_of_f64((double)value), bits);
    }
}

static void test_every_bf16(void)
{
    for (uint32_t i = 0; i < 0x10000; i++) {
        const uint16_t bits = (uint16_t)i;
        const float value = iso__bf16_to_f32(bits);

        if ((bits & 0x7fff) > 0x7f80) {
            CU_ASSERT(isnan(value));
            CU_ASSERT_EQUAL(iso__bf16_of_f64((double)value), 0x7fc0);
        } else {
            CU_ASSERT_EQUAL(iso__bf16_of_f64((double)value), bits);
        }
    }
}

/* Between neighbours: below, at and above the middle. */
static void test_rounds_to_nearest_even(void)
{
    for (uint16_t bits = 0; bits < 0x7bff; bits++) {
        const double low = f16_value(bits);
        const double high = f16_value((uint16_t)(bits + 1));
        const double middle = (low + high) / 2;
        const uint16_t even = (uint16_t)(bits % 2 == 0 ? bits : bits + 1);

        CU_ASSERT_EQUAL(iso__f16_of_f64(middle), even);
        CU_ASSERT_EQUAL(iso__f16_of_f64(nextafter(middle, 0)), bits);
        CU_ASSERT_EQUAL(iso__f16_of_f64(nextafter(middle, INFINITY)), bits + 1);
        CU_ASSERT_EQUAL(iso__f16_of_f64(-middle), 0x8000 | even);
    }
}

static void test_extremes(void)
{
    CU_ASSERT_EQUAL(iso__f16_of_f64(65519.999), 0x7bff);
    CU_ASSERT_EQUAL(iso__f16_of_f64(65520.0), 0x7c00);
    CU_ASSERT_EQUAL(iso__f16_of_f64(1e300), 0x7c00);
    CU_ASSERT_EQUAL(iso__f16_of_f64(-INFINITY), 0xfc00);
    CU_ASSERT_EQUAL(iso__f16_of_f64(0x1p-25), 0);
    CU_ASSERT_EQUAL(iso__f16_of_f64(-0x1.0000001p-25), 0x8001);
    CU_ASSERT_EQUAL(iso__f16_of_f64(-0.0), 0x8000);
    CU_ASSERT_EQUAL(iso__f16_of_f64(5e-324), 0);
    CU_ASSERT_EQUAL(iso__bf16_of_f64(3.4e38), 0x7f80);
    CU_ASSERT_EQUAL(iso__bf16_of_f64(1e308), 0x7f80);
    CU_ASSERT_EQUAL(iso__bf16_of_f64(1.00390625), 0x3f80);
    CU_ASSERT_EQUAL(iso__bf16_of_f64(1.01171875), 0x3f82);
    CU_ASSERT_EQUAL(iso__bf16_of_f64(0x1p-133), 1);
    CU_ASSERT_EQUAL(iso__bf16_of_f64(0x1p-134), 0);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"every f16 there and back", test_every_f16},
        {"every bf16 there and back", test_every_bf16},
        {"rounds to nearest even", test_rounds_to_nearest_even},
        {"extremes", test_extremes},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"half", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
