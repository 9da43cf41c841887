/* Layouts: boxes, what two boxes share, and lengths cut in proportion. */
#include "iso_test_call.h"
#include "plan/shard/layout.h"

#include <float.h>
#include <math.h>

static void test_range(void)
{
    CU_ASSERT_EQUAL(iso_range_length((iso_range_t){2, 7}), 5);
    CU_ASSERT_EQUAL(iso_range_length((iso_range_t){3, 3}), 0);
    CU_ASSERT_EQUAL(iso_range_length((iso_range_t){3, 1}), 0);
}

static void test_equal(void)
{
    const iso_range_t one[] = {{0, 3}, {3, 3}, {3, 7}};
    const iso_range_t two[] = {{0, 3}, {9, 9}, {3, 7}};
    const iso_range_t three[] = {{0, 3}, {3, 4}, {4, 7}};
    const iso_layout_t all = {.kind = ISO_LAYOUT_ALL, .worker = 1};
    const iso_layout_t all_too = {.kind = ISO_LAYOUT_ALL, .axis = 5};
    const iso_layout_t first = {.kind = ISO_LAYOUT_ONE};
    const iso_layout_t second = {.kind = ISO_LAYOUT_ONE, .worker = 1};
    iso_layout_t a = {.kind = ISO_LAYOUT_SPLIT, .axis = 1, .ranges = one};
    iso_layout_t b = {.kind = ISO_LAYOUT_SPLIT, .axis = 1, .ranges = two};

    CU_ASSERT(iso_layout_equal(&all, &all_too, 3));
    CU_ASSERT(!iso_layout_equal(&all, &first, 1));
    CU_ASSERT(!iso_layout_equal(&first, &second, 2));
    /* Where an empty range lies does not matter. */
    CU_ASSERT(iso_layout_equal(&a, &b, 3));
    b.ranges = three;
    CU_ASSERT(!iso_layout_equal(&a, &b, 3));
    CU_ASSERT(!iso_layout_equal(&b, &a, 3));
    CU_ASSERT(iso_layout_equal(&a, &b, 1));
    b.ranges = one;
    b.axis = 0;
    CU_ASSERT(!iso_layout_equal(&a, &b, 3));
}

static void test_box(void)
{
    const iso_shape_t shape = iso_shape_of(3, (const int64_t[]){4, 6, 5});
    const iso_range_t ranges[] = {{0, 4}, {2, 6}, {6, 6}};
    const iso_layout_t all = {.kind = ISO_LAYOUT_ALL};
    const iso_layout_t one = {.kind = ISO_LAYOUT_ONE, .worker = 2};
    const iso_layout_t split = {
        .kind = ISO_LAYOUT_SPLIT, .axis = 1, .ranges = ranges};
    iso_box_t box;

    iso_layout_box(&all, &shape, 1, &box);
    CU_ASSERT_EQUAL(iso_box_count(&box), 120);
    iso_layout_box(&one, &shape, 2, &box);
    CU_ASSERT_EQUAL(iso_box_count(&box), 120);
    iso_layout_box(&one, &shape, 0, &box);
    CU_ASSERT_EQUAL(iso_box_count(&box), 0);
    iso_layout_box(&split, &shape, 1, &box);
    CU_ASSERT_EQUAL(iso_box_count(&box), 80);
    CU_ASSERT_EQUAL(box.range[1].begin, 2);
    CU_ASSERT_EQUAL(box.range[2].end, 5);
    iso_layout_box(&split, &shape, 2, &box);
    CU_ASSERT_EQUAL(iso_box_count(&box), 0);
}

/* A scalar is there or not, as any value. */
static void test_scalar(void)
{
    const iso_shape_t scalar = {.rank = 0};
    const iso_layout_t all = {.kind = ISO_LAYOUT_ALL};
    const iso_layout_t one = {.kind = ISO_LAYOUT_ONE, .worker = 1};
    iso_box_t there;
    iso_box_t absent;
    iso_box_t both;

    iso_layout_box(&all, &scalar, 0, &there);
    CU_ASSERT_EQUAL(iso_box_count(&there), 1);
    iso_layout_box(&one, &scalar, 1, &there);
    CU_ASSERT_EQUAL(iso_box_count(&there), 1);
    iso_layout_box(&one, &scalar, 0, &absent);
    CU_ASSERT_EQUAL(iso_box_count(&absent), 0);
    both = iso_box_intersect(&there, &absent);
    CU_ASSERT_EQUAL(iso_box_count(&both), 0);
    both = iso_box_intersect(&absent, &there);
    CU_ASSERT_EQUAL(iso_box_count(&both), 0);
    both = iso_box_intersect(&there, &there);
    CU_ASSERT_EQUAL(iso_box_count(&both), 1);
}

/* No product of the other axes, however large, hides an empty one. */
static void test_count_extremes(void)
{
    const int64_t large = INT64_C(1) << 40;
    const iso_box_t box = {.rank = 3,
                           .range = {{0, large}, {0, large}, {7, 7}}};
    const iso_box_t backwards = {.rank = 1, .range = {{5, 2}}};

    CU_ASSERT_EQUAL(iso_box_count(&box), 0);
    CU_ASSERT_EQUAL(iso_box_count(&backwards), 0);
}

/* Against counting, element by element. */
static void test_intersect_random(void)
{
    uint64_t seed = 20;

    (void)printf("\n    seed %llu ", (unsigned long long)seed);
    for (int round = 0; round < 2000; round++) {
        iso_box_t a = {.rank = 2};
        iso_box_t b = {.rank = 2};
        int64_t count = 0;

        for (int axis = 0; axis < 2; axis++) {
            a.range[axis].begin = test_random_int(&seed, 0, 6);
            a.range[axis].end = test_random_int(&seed, 0, 6);
            b.range[axis].begin = test_random_int(&seed, 0, 6);
            b.range[axis].end = test_random_int(&seed, 0, 6);
        }
        for (int64_t at = 0; at < 36; at++) {
            const int64_t i = at / 6;
            const int64_t j = at % 6;

            count += a.range[0].begin <= i && i < a.range[0].end &&
                     b.range[0].begin <= i && i < b.range[0].end &&
                     a.range[1].begin <= j && j < a.range[1].end &&
                     b.range[1].begin <= j && j < b.range[1].end;
        }
        const iso_box_t both = iso_box_intersect(&a, &b);

        CU_ASSERT_EQUAL(iso_box_count(&both), count);
        CU_ASSERT(both.range[0].end >= both.range[0].begin);
    }
}

/* In order, without gaps, on the unit, to the end. */
static bool covers(const iso_range_t *ranges, int count, int64_t length,
                   int64_t unit)
{
    int64_t at = 0;

    for (int i = 0; i < count; i++) {
        if (ranges[i].begin != at || ranges[i].end < at) {
            return false;
        }
        at = ranges[i].end;
        if (at % unit != 0 && at != length) {
            return false;
        }
    }
    return at == length;
}

static void test_share(void)
{
    iso_range_t ranges[8];

    iso_ranges_share(10, 1, NULL, 3, ranges);
    CU_ASSERT(covers(ranges, 3, 10, 1));
    CU_ASSERT_EQUAL(ranges[0].end, 4);
    CU_ASSERT_EQUAL(ranges[1].end, 7);

    /* 5 units of 4, the last one short: 3 and 2. */
    iso_ranges_share(18, 4, NULL, 2, ranges);
    CU_ASSERT_EQUAL(ranges[0].end, 12);
    CU_ASSERT_EQUAL(ranges[1].end, 18);

    /* 1.75, 5.25 of 7 units: the larger fraction gets the unit. */
    iso_ranges_share(7, 1, (const double[]){1, 3}, 2, ranges);
    CU_ASSERT_EQUAL(ranges[0].end, 2);
    iso_ranges_share(7, 1, (const double[]){3, 1}, 2, ranges);
    CU_ASSERT_EQUAL(ranges[0].end, 5);

    /* Whole shares are exact, whatever 1/49 is in binary. */
    iso_ranges_share(49, 1, NULL, 7, ranges);
    CU_ASSERT_EQUAL(ranges[3].begin, 21);
    CU_ASSERT_EQUAL(ranges[3].end, 28);
}

static void test_share_empty(void)
{
    iso_range_t ranges[8];

    iso_ranges_share(0, 3, NULL, 4, ranges);
    CU_ASSERT(covers(ranges, 4, 0, 3));
    iso_ranges_share(2, 1, NULL, 5, ranges);
    CU_ASSERT(covers(ranges, 5, 2, 1));
    CU_ASSERT_EQUAL(ranges[1].end, 2);
    /* One unit, longer than the length. */
    iso_ranges_share(3, 8, (const double[]){1, 2, 1}, 3, ranges);
    CU_ASSERT(covers(ranges, 3, 3, 8));
    CU_ASSERT_EQUAL(iso_range_length(ranges[1]), 3);
    iso_ranges_share(5, 1, (const double[]){0, 1, 0}, 3, ranges);
    CU_ASSERT_EQUAL(iso_range_length(ranges[1]), 5);
    iso_ranges_share(7, 2, NULL, 1, ranges);
    CU_ASSERT(covers(ranges, 1, 7, 2));
}

static void test_share_hostile(void)
{
    const int64_t most = INT64_C(1) << 62;
    const double rows[][3] = {{1, 1, 1},         {NAN, 1, 1},
                              {INFINITY, 1, 2},  {DBL_MAX, DBL_MAX, 1},
                              {0, 0, 0},         {DBL_MIN, 0, DBL_MIN},
                              {1e-300, 1e300, 1}};
    const int64_t lengths[] = {0, 1, 2, 13, most};
    iso_range_t ranges[3];

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++) {
            iso_ranges_share(lengths[k], 1, rows[i], 3, ranges);
            CU_ASSERT(covers(ranges, 3, lengths[k], 1));
            iso_ranges_share(lengths[k], 7, rows[i], 3, ranges);
            CU_ASSERT(covers(ranges, 3, lengths[k], 7));
        }
    }
}

/* Covers, and no piece is a unit or more from its exact share. */
static void test_share_random(void)
{
    uint64_t seed = 21;

    (void)printf("\n    seed %llu ", (unsigned long long)seed);
    for (int round = 0; round < 5000; round++) {
        const int count = (int)test_random_int(&seed, 1, 8);
        const int64_t length = test_random_int(&seed, 0, 300);
        const int64_t unit = test_random_int(&seed, 1, 9);
        const int64_t units = (length + unit - 1) / unit;
        iso_range_t ranges[8];
        double weights[8];
        double sum = 0.0;

        for (int i = 0; i < count; i++) {
            weights[i] = (double)test_random_int(&seed, 0, 5);
            sum += weights[i];
        }
        iso_ranges_share(length, unit, weights, count, ranges);
        CU_ASSERT(covers(ranges, count, length, unit));
        for (int i = 0; i < count && sum > 0.0; i++) {
            const double exact = (double)units * weights[i] / sum;
            const double got =
                ceil((double)iso_range_length(ranges[i]) / (double)unit);

            CU_ASSERT(fabs(got - exact) < 1.0);
            CU_ASSERT(weights[i] > 0.0 || got == 0.0);
        }
    }
}

int main(void)
{
    CU_TestInfo boxes[] = {
        {"length of a range", test_range},
        {"equal layouts", test_equal},
        {"box of a layout", test_box},
        {"a scalar", test_scalar},
        {"extremes", test_count_extremes},
        {"intersection against counting", test_intersect_random},
        CU_TEST_INFO_NULL,
    };
    CU_TestInfo shares[] = {
        {"in proportion", test_share},
        {"nothing to share", test_share_empty},
        {"hostile weights and lengths", test_share_hostile},
        {"random", test_share_random},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"boxes", NULL, NULL, NULL, NULL, boxes},
        {"shares", NULL, NULL, NULL, NULL, shares},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
