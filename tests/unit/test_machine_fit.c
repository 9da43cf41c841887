#include "iso_test.h"
#include "plan/machine_fit.h"

#include <math.h>

static void test_timing(void)
{
    double one[] = {3.0};
    double two[] = {4.0, 2.0};
    double nine[] = {9.0, 1.0, 5.0, 2.0, 100.0, 3.0, 4.0, 0.5, 6.0};
    double zeros[] = {0.0, 0.0};
    iso_timing_t timing = iso_timing_of(one, 1);

    CU_ASSERT_EQUAL(timing.median_s, 3.0);
    CU_ASSERT_EQUAL(timing.spread, 0.0);
    CU_ASSERT_EQUAL(iso_timing_of(two, 2).median_s, 3.0);
    timing = iso_timing_of(nine, 9);
    CU_ASSERT_EQUAL(timing.median_s, 4.0);
    CU_ASSERT_EQUAL(timing.spread, (6.0 - 2.0) / 4.0);
    CU_ASSERT_EQUAL(iso_timing_of(zeros, 2).spread, 0.0);
}

static const size_t fit_sizes[] = {8, 1 << 10, 16 << 10, 1 << 20, 4 << 20};
enum { FIT_SIZES = sizeof fit_sizes / sizeof *fit_sizes };

static void test_fit(void)
{
    static const iso_link_t links[] = {
        {1e-6, 5e9, 0.0, 0},       {30e-6, 1.1e9, 0.0, 0},
        {0.0, 1e9, 0.0, 0},        {1.0, 1e12, 0.0, 0},
        {1e-9, 1.0, 0.0, 0},       {1e-6, 5e9, 3e-6, 1 << 10},
        {0.0, 1e9, 1e-3, 1 << 10}, {1.0, 1e12, 2.0, 16 << 10}};
    double seconds[FIT_SIZES];
    iso_link_t found;

    for (size_t l = 0; l < sizeof links / sizeof *links; l++) {
        for (int i = 0; i < FIT_SIZES; i++) {
            seconds[i] = iso_link_seconds(links[l], (double)fit_sizes[i]);
        }
        CU_ASSERT(iso_link_fit(fit_sizes, seconds, FIT_SIZES, &found));
        for (int i = 0; i < FIT_SIZES; i++) {
            const double again = iso_link_seconds(found, (double)fit_sizes[i]);
            CU_ASSERT_DOUBLE_EQUAL(again / seconds[i], 1.0, 1e-9);
        }
        CU_ASSERT(found.latency_s >= 0.0);
    }
}

/* A tenth more or less for the larger messages moves the latency by no more:
 * the error is relative. */
static void test_fit_of_noise(void)
{
    const iso_link_t link = {2e-6, 4e9, 0.0, 0};
    double seconds[FIT_SIZES];
    iso_link_t found;

    for (int i = 0; i < FIT_SIZES; i++) {
        const double noise = i == 0 ? 1.0 : i % 2 == 0 ? 1.1 : 0.9;
        seconds[i] = noise * iso_link_seconds(link, (double)fit_sizes[i]);
    }
    CU_ASSERT(iso_link_fit(fit_sizes, seconds, FIT_SIZES, &found));
    CU_ASSERT_DOUBLE_EQUAL(found.latency_s / link.latency_s, 1.0, 0.1);
    CU_ASSERT_DOUBLE_EQUAL(found.bytes_per_s / link.bytes_per_s, 1.0, 0.15);
    CU_ASSERT_EQUAL(found.handshake_s, 0.0);
}

/* Times as they were measured inside one host, in us: messages of 4 KiB and
 * more shake hands. */
static void test_fit_of_handshake(void)
{
    static const size_t bytes[] = {8,         1 << 10, 2 << 10,  3 << 10,
                                   4 << 10,   8 << 10, 16 << 10, 64 << 10,
                                   256 << 10, 1 << 20};
    static const double us[] = {0.19, 0.28, 0.40, 0.49,  2.80,
                                3.47, 4.82, 12.4, 42.56, 118.4};
    enum { COUNT = sizeof us / sizeof *us };
    double seconds[COUNT];
    iso_link_t found;

    for (int i = 0; i < COUNT; i++) {
        seconds[i] = us[i] * 1e-6;
    }
    CU_ASSERT_FATAL(iso_link_fit(bytes, seconds, COUNT, &found));
    CU_ASSERT_EQUAL(found.eager_bytes, 3 << 10);
    CU_ASSERT_DOUBLE_EQUAL(found.handshake_s, 2e-6, 0.4e-6);
    CU_ASSERT_DOUBLE_EQUAL(found.latency_s, 0.2e-6, 0.1e-6);
    for (int i = 0; i < COUNT; i++) {
        const double again = iso_link_seconds(found, (double)bytes[i]);

        CU_ASSERT_DOUBLE_EQUAL(again / seconds[i], 1.0, 0.25);
    }
}

static void test_collective_fit(void)
{
    static const double latencies[] = {1.0, 1.0, 3.0, 3.0};
    static const double bytes[] = {0.0, 0.5, 4.0, 32.0};
    static const double falling[] = {8.0, 4.0, 2.0, 1.0};
    iso_collective_figures_t figures = {0};
    double seconds[4];

    for (int i = 0; i < 4; i++) {
        seconds[i] = 0.7 * latencies[i] + 0.3 * bytes[i];
    }
    CU_ASSERT(iso_collective_fit(latencies, bytes, seconds, 4, &figures));
    CU_ASSERT_DOUBLE_EQUAL(figures.latency_factor, 0.7, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(figures.bytes_factor, 0.3, 1e-9);
    CU_ASSERT_FALSE(iso_collective_fit(latencies, bytes, falling, 4, &figures));
    /* Messages without a latency say nothing of its factor. */
    CU_ASSERT_FALSE(iso_collective_fit((const double[]){0.0, 0.0, 0.0, 0.0},
                                       bytes, seconds, 4, &figures));
}

/* Times that grow faster than the size would want a latency below 0. */
static void test_no_latency(void)
{
    double seconds[FIT_SIZES];
    iso_link_t found;

    for (int i = 0; i < FIT_SIZES; i++) {
        seconds[i] = pow((double)fit_sizes[i], 1.2);
    }
    CU_ASSERT(iso_link_fit(fit_sizes, seconds, FIT_SIZES, &found));
    CU_ASSERT_EQUAL(found.latency_s, 0.0);
    CU_ASSERT(found.bytes_per_s > 1.0 / pow((double)(4 << 20), 0.2));
    CU_ASSERT(found.bytes_per_s < 1.0);
}

static void test_no_fit(void)
{
    static const double falling[] = {5.0, 4.0, 3.0, 2.0, 1.0};
    static const double zero[] = {0.0, 1.0, 2.0, 3.0, 4.0};
    static const double negative[] = {1.0, 2.0, 3.0, 4.0, -5.0};
    static const double nothing[] = {1.0, 2.0, 3.0, 4.0, 0.0 * HUGE_VAL};
    static const double same[] = {3.0, 3.0, 3.0, 3.0, 3.0};
    static const size_t one_size[] = {7, 7, 7, 7, 7};
    static const double growing[] = {1.0, 2.0, 3.0, 4.0, 5.0};
    iso_link_t link;

    CU_ASSERT_FALSE(iso_link_fit(fit_sizes, falling, FIT_SIZES, &link));
    CU_ASSERT_FALSE(iso_link_fit(fit_sizes, zero, FIT_SIZES, &link));
    CU_ASSERT_FALSE(iso_link_fit(fit_sizes, negative, FIT_SIZES, &link));
    CU_ASSERT_FALSE(iso_link_fit(fit_sizes, nothing, FIT_SIZES, &link));
    CU_ASSERT_FALSE(iso_link_fit(one_size, growing, FIT_SIZES, &link));
    CU_ASSERT_FALSE(iso_link_fit(fit_sizes, growing, 1, &link));
    CU_ASSERT_FALSE(iso_link_fit(fit_sizes, growing, 0, &link));
    CU_ASSERT(!iso_link_fit(fit_sizes, same, FIT_SIZES, &link) ||
              link.bytes_per_s > 1e12);
}

/* Ranks a, a, b, a of rates that differ by noise, but for rank 1, and the one
 * of host b, which nothing is compared with. */
static void test_ranks_level(void)
{
    iso_machine_rank_t ranks[5] = {{.host = "a"},
                                   {.host = "a"},
                                   {.host = "b"},
                                   {.host = "a"},
                                   {.host = "a"}};
    const double conv[] = {100e9, 90e9, 10e9, 96e9, 104e9};
    const double large[] = {100e9, 20e9, 10e9, 96e9, 104e9};

    for (int i = 0; i < 5; i++) {
        ranks[i].rates[ISO_RATE_CONV_3X3] =
            (iso_rate_t){conv[i], 0.08, ISO_COST_MEASURED};
        ranks[i].rates[ISO_RATE_MATMUL_LARGE] =
            (iso_rate_t){large[i], 0.08, ISO_COST_MEASURED};
        ranks[i].memory_bytes_per_s = 1e9 * (9 + i % 2);
        ranks[i].copy_bytes_per_s = i == 0 ? 1e9 : 5e9;
    }
    CU_ASSERT_EQUAL(iso_machine_ranks_level(ranks, 5), ISO_OK);
    for (int i = 0; i < 5; i++) {
        const bool on_b = i == 2;

        CU_ASSERT_EQUAL(ranks[i].rates[ISO_RATE_CONV_3X3].per_s,
                        on_b ? 10e9 : 100e9);
        CU_ASSERT_EQUAL(ranks[i].rates[ISO_RATE_MATMUL_LARGE].per_s, large[i]);
        CU_ASSERT_EQUAL(ranks[i].flops_per_s, large[i]);
        CU_ASSERT_EQUAL(ranks[i].memory_bytes_per_s, on_b ? 9e9 : 10e9);
        CU_ASSERT_EQUAL(ranks[i].copy_bytes_per_s, i == 0 ? 1e9 : 5e9);
    }
    CU_ASSERT_EQUAL(iso_machine_ranks_level(ranks, 0), ISO_OK);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"timing", test_timing},
        {"fit", test_fit},
        {"fit of noise", test_fit_of_noise},
        {"fit of a handshake", test_fit_of_handshake},
        {"fit of a collective", test_collective_fit},
        {"no latency", test_no_latency},
        {"no fit", test_no_fit},
        {"ranks of a host", test_ranks_level},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"machine_fit", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
