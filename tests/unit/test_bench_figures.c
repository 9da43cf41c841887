/* Figures of isotome bench from times that are made up. */
#include "iso_test.h"
#include "lab/bench_impl.h"

#include <math.h>

enum { RANKS = 4 };

static bool near(double a, double b)
{
    return fabs(a - b) < 1e-12;
}

/* Rank 0 is the last stage; 1 and 2 share the first one; 3 is idle. */
static iso_report_rank_t ranks[RANKS] = {
    {.stage = 1, .peak_bytes = 10, .planned_peak_bytes = 50},
    {.stage = 0, .worker = 0, .peak_bytes = 30, .planned_peak_bytes = 20},
    {.stage = 0, .worker = 1, .peak_bytes = 20, .planned_peak_bytes = 10},
    {.stage = -1, .peak_bytes = 5}};

static iso_times_t times[RANKS] = {
    {.receive_s = 3, .compute_s = 5, .send_s = 1, .total_s = 10},
    {.compute_s = 8, .exchange_s = 1, .send_s = 1, .total_s = 10},
    {.compute_s = 6, .exchange_s = 4, .total_s = 10},
    {.total_s = 0}};

static const iso__bench_size_t size = {
    .times = times, .report = {.size = RANKS, .ranks = ranks}};

static void test_stages(void)
{
    const iso__bench_stage_t first = iso__bench_stage_of(&size, 0);
    const iso__bench_stage_t last = iso__bench_stage_of(&size, 1);

    CU_ASSERT_EQUAL(iso__bench_stage_count(&size), 2);
    CU_ASSERT_EQUAL(first.workers, 2);
    CU_ASSERT(near(first.compute, 0.7));
    CU_ASSERT(near(first.exchange, 0.25));
    CU_ASSERT(near(first.wait, 0.05));
    CU_ASSERT_EQUAL(last.workers, 1);
    CU_ASSERT(near(last.compute, 0.5));
    CU_ASSERT(near(last.wait, 0.4));
    CU_ASSERT_EQUAL(iso__bench_slowest(&size), 0);
}

/* An idle rank's cores are no part of the peak. */
static void test_peak(void)
{
    iso__bench_rank_t reached[RANKS] = {{.peak = {1, 10}},
                                        {.peak = {2, 20}},
                                        {.peak = {4, 40}},
                                        {.peak = {8, 80}}};
    const iso__bench_t bench = {.ranks = reached};
    const iso_peak_t peak = iso__bench_peak(&bench, &size);

    CU_ASSERT(near(peak.flops_per_s, 7));
    CU_ASSERT(near(peak.read_bytes_per_s, 70));
    CU_ASSERT(near(iso__bench_peak_bytes(&size), 30));
    CU_ASSERT(near(iso__bench_planned_peak_bytes(&size), 50));
}

static void test_errors(void)
{
    CU_ASSERT(near(iso__bench_error(1.1, 1.0), 0.1));
    CU_ASSERT(near(iso__bench_error(0.5, 1.0), -0.5));
    CU_ASSERT(near(iso__bench_error(1.0, 0.0), 0.0));
}

/* What cores reach is more than nothing, and two threads are counted. */
static void test_measuring(void)
{
    iso_peak_t peak = {0};
    char name[64] = "";

    CU_ASSERT_EQUAL(iso_peak_measure(2, 1 << 20, &peak), ISO_OK);
    CU_ASSERT(peak.flops_per_s > 0 && isfinite(peak.flops_per_s));
    CU_ASSERT(peak.read_bytes_per_s > 0 && isfinite(peak.read_bytes_per_s));
    CU_ASSERT(iso_peak_uncached_bytes() >= (size_t)256 << 20);
    iso_peak_cpu_name(name, sizeof name);
    CU_ASSERT(name[0] != '\0');
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"stages", test_stages}, {"peak", test_peak},
        {"errors", test_errors}, {"measuring", test_measuring},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"bench_figures", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
