/*
 * Which ranks are named as slow.
 */
#include "exec/slow.h"
#include "iso_test.h"

enum { SIZE = 4 };

/* Ranks by their measured seconds, as "times as long as rank 1's" that is said
 * of rank 2. */
static double said_of_2(double a, double b, double c, double d)
{
    const double seconds[SIZE] = {a, b, c, d};
    iso_report_rank_t ranks[SIZE] = {{.stage = 0}};

    for (int i = 0; i < SIZE; i++) {
        ranks[i].stage = i;
        ranks[i].planned_compute_s = 1;
        ranks[i].times.compute_s = seconds[i];
    }
    iso_slow_find(ranks, SIZE);
    for (int i = 0; i < SIZE; i++) {
        CU_ASSERT_TRUE(i == 2 || ranks[i].slow_times == 0);
    }
    return ranks[2].slow_times;
}

static void test_one_of_four(void)
{
    CU_ASSERT_EQUAL(said_of_2(2, 2, 20, 2), 10);
    CU_ASSERT_EQUAL(said_of_2(2, 2, 19, 2), 0);
    CU_ASSERT_EQUAL(said_of_2(50, 50, 50, 50), 0);
    CU_ASSERT_EQUAL(said_of_2(1, 2, 64, 4), 32);
}

static void test_noise_is_not_named(void)
{
    CU_ASSERT_EQUAL(said_of_2(0.01, 0.01, 0.9, 0.01), 0);
    CU_ASSERT_EQUAL(said_of_2(0, 0, 0, 0), 0);
}

/* Measured by what was predicted: a rank that was known to be slower is not. */
static void test_two_ranks(void)
{
    iso_report_rank_t ranks[3] = {
        {.stage = 0, .planned_compute_s = 1, .times = {.compute_s = 1}},
        {.stage = -1},
        {.stage = 1, .planned_compute_s = 20, .times = {.compute_s = 20}}};

    iso_slow_find(ranks, 3);
    CU_ASSERT_EQUAL(ranks[2].slow_times, 0);
    ranks[2].planned_compute_s = 2;
    iso_slow_find(ranks, 3);
    CU_ASSERT_EQUAL(ranks[0].slow_times, 0);
    CU_ASSERT_EQUAL(ranks[1].slow_times, 0);
    CU_ASSERT_EQUAL(ranks[2].slow_times, 10);
    iso_slow_find(ranks, 0);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"one of four", test_one_of_four},
        {"noise is not named", test_noise_is_not_named},
        {"two ranks", test_two_ranks},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"slow", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
