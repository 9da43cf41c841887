#include "base/random.h"
#include "iso_test.h"

#include <stdbool.h>

/* From the definition of splitmix64, by hand of another implementation. */
static void test_known_values(void)
{
    static const struct {
        uint64_t seed;
        uint64_t values[3];
    } cases[] = {
        {0,
         {UINT64_C(0xe220a8397b1dcdaf), UINT64_C(0x6e789e6aa1b965f4),
          UINT64_C(0x06c45d188009454f)}},
        {1234567,
         {UINT64_C(6457827717110365317), UINT64_C(3203168211198807973),
          UINT64_C(9817491932198370423)}},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        iso_random_t random = {.state = cases[i].seed};

        for (int k = 0; k < 3; k++) {
            CU_ASSERT_EQUAL(iso_random_next(&random), cases[i].values[k]);
        }
    }
}

/* The largest seed is one like any other. */
static void test_seeds(void)
{
    iso_random_t most = {.state = UINT64_MAX};
    iso_random_t least = {.state = 0};
    iso_random_t again = {.state = UINT64_MAX};
    int equal = 0;

    for (int i = 0; i < 1000; i++) {
        const uint64_t value = iso_random_next(&most);

        CU_ASSERT_EQUAL(value, iso_random_next(&again));
        equal += value == iso_random_next(&least) ? 1 : 0;
    }
    CU_ASSERT_EQUAL(equal, 0);
}

/* Chi-squared of 16 bins: over 50 is less likely than 1 in 80,000. */
static void check_even(const int *counts, int draws)
{
    const double expected = draws / 16.0;
    double sum = 0;

    for (int i = 0; i < 16; i++) {
        const double apart = counts[i] - expected;

        sum += apart * apart / expected;
    }
    CU_ASSERT(sum < 50.0);
}

static void test_below(void)
{
    static const uint64_t counts[] = {1, 2, 3, 7, 1000, UINT64_C(1) << 63};
    iso_random_t random = {.state = 5};
    int bins[16] = {0};

    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        bool has_first = false;
        bool has_last = false;

        for (int k = 0; k < 20000; k++) {
            const uint64_t value = iso_random_below(&random, counts[i]);

            CU_ASSERT(value < counts[i]);
            has_first = has_first || value == 0;
            has_last = has_last || value == counts[i] - 1;
        }
        CU_ASSERT(counts[i] > 1000 || (has_first && has_last));
    }
    for (int k = 0; k < 16000; k++) {
        bins[iso_random_below(&random, 16)]++;
    }
    check_even(bins, 16000);
}

static void test_floats(void)
{
    iso_random_t random = {.state = 9};
    int bins[16] = {0};
    float least = 2.0F;
    float most = -2.0F;

    for (int k = 0; k < 160000; k++) {
        const float value = iso_random_float(&random);

        CU_ASSERT(value >= -1.0F && value < 1.0F);
        least = value < least ? value : least;
        most = value > most ? value : most;
        bins[(int)((value + 1.0F) * 8.0F)]++;
    }
    CU_ASSERT(least < -0.9999F && most > 0.9999F);
    check_even(bins, 160000);
}

/* 24 bits of the next number, as they are. */
static void test_float_bits(void)
{
    iso_random_t numbers = {.state = 11};
    iso_random_t floats = {.state = 11};

    for (int k = 0; k < 1000; k++) {
        const double expected =
            (double)(iso_random_next(&numbers) >> 40) / 8388608.0 - 1.0;

        CU_ASSERT_EQUAL((double)iso_random_float(&floats), expected);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"known values", test_known_values},
        {"seeds", test_seeds},
        {"below", test_below},
        {"floats", test_floats},
        {"bits of floats", test_float_bits},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"random", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
