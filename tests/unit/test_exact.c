/*
 * The exact functions as the kernels of a GPU have them give the bits of the
 * library. Compiled for the CPU, whose add, mul, div and fma round alike.
 */
#include "iso_test_call.h"
#include "kernel/cuda/exact.h"
#include "kernel/sleef.h"

enum { STEP = 1999 };

typedef float function_t(float x);

typedef struct pair {
    const char *name;
    function_t *found;
    function_t *expected;
} pair_t;

static bool is_same(float x, float y)
{
    return iso__exact_bits(x) == iso__exact_bits(y) || (x != x && y != y);
}

static void test_one_operand(void)
{
#define X(name)                                                     \
    {                                                               \
#name, iso__exact_##name, Sleef_finz_##name##f1_u10purecfma \
    }
    static const pair_t pairs[] = {X(exp),  X(erf), X(expm1),
                                   X(tanh), X(log), X(log1p)};
#undef X

    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        int64_t bad = 0;

        for (uint64_t bits = 0; bits <= UINT32_MAX; bits += STEP) {
            const float x = iso__exact_of_bits((uint32_t)bits);

            bad += !is_same(pairs[i].found(x), pairs[i].expected(x));
        }
        CU_ASSERT_EQUAL(bad, 0);
        if (bad > 0) {
            (void)fprintf(stderr, "%s: %lld differ\n", pairs[i].name,
                          (long long)bad);
        }
    }
}

/* Any bits, numbers near 1, whole exponents, specials. */
static float operand(uint64_t *state)
{
    static const float special[] = {
        0.0F,  -0.0F,  INFINITY,    -INFINITY,   NAN,  1.0F,        -1.0F,
        2.0F,  -2.0F,  3.0F,        -3.0F,       0.5F, -0.5F,       1e-40F,
        1e38F, -1e38F, 16777216.0F, 16777217.0F, 2.5F, -16777215.0F};
    const uint64_t r = test_random(state);

    switch (r % 4) {
    case 0:
        return iso__exact_of_bits((uint32_t)(r >> 32));
    case 1:
        return 16.0F * test_random_float(state);
    case 2:
        return rintf(20.0F * test_random_float(state));
    default:
        return special[(r >> 8) % (sizeof special / sizeof special[0])];
    }
}

static void test_pow(void)
{
    uint64_t state = 20240229;
    int64_t bad = 0;

    for (int i = 0; i < 4000000; i++) {
        const float x = operand(&state);
        const float y = operand(&state);

        bad +=
            !is_same(iso__exact_pow(x, y), Sleef_finz_powf1_u10purecfma(x, y));
    }
    CU_ASSERT_EQUAL(bad, 0);
}

int main(void)
{
    CU_TestInfo tests[] = {{"one operand", test_one_operand},
                           {"pow", test_pow},
                           CU_TEST_INFO_NULL};
    CU_SuiteInfo suites[] = {{"exact", NULL, NULL, NULL, NULL, tests},
                             CU_SUITE_INFO_NULL};

    return iso_test_main(suites);
}
