#include "isotome/layer_split.h"

#include "base/mem.h"
#include "iso_test_call.h"
#include "iso_test_graph.h"
#include "iso_test_memory.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { SEED = 20240611 };

static uint64_t random_state = SEED;

static uint64_t next_random(void)
{
    return test_random(&random_state);
}

static void expect_text(const iso_layer_split_t *split, const char *text)
{
    char *found = iso_layer_split_text(split);

    CU_ASSERT_PTR_NOT_NULL_FATAL(found);
    CU_ASSERT_STRING_EQUAL(found, text);
    if (strcmp(found, text) != 0) {
        (void)fprintf(stderr, "found %s, expected %s\n", found, text);
    }
    iso_free(found);
}

static void expect_error(iso_status_t found, iso_status_t expected,
                         const char *text)
{
    CU_ASSERT_EQUAL(found, expected);
    CU_ASSERT(test_failed_with(text));
}

/* Ranges are disjoint, contiguous and complete, in the order of the ranks
 * from the highest down. */
static bool covers(const iso_layer_split_t *split, int64_t layers)
{
    int64_t next = 0;

    for (int rank = split->world - 1; rank >= 0; rank--) {
        iso_layer_range_t range;
        if (iso_layer_split_range(split, rank, &range) != ISO_OK ||
            range.start != next || range.count < 1) {
            return false;
        }
        next += range.count;
    }
    return next == layers &&
           iso_layer_split_check(split, layers, split->world) == ISO_OK;
}

/* -- roles -- */

static void test_roles(void)
{
    static const struct {
        int rank;
        int world;
        iso_role_t role;
    } cases[] = {
        {0, 1, ISO_ROLE_SINGLE}, {0, 4, ISO_ROLE_LAST},
        {3, 4, ISO_ROLE_FIRST},  {1, 4, ISO_ROLE_MIDDLE},
        {2, 4, ISO_ROLE_MIDDLE}, {0, 2, ISO_ROLE_LAST},
        {1, 2, ISO_ROLE_FIRST},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        iso_role_t role = ISO_ROLE_SINGLE;
        CU_ASSERT_EQUAL(iso_role_of(cases[i].rank, cases[i].world, &role),
                        ISO_OK);
        CU_ASSERT_EQUAL(role, cases[i].role);
    }
    CU_ASSERT_STRING_EQUAL(iso_role_string(ISO_ROLE_FIRST), "first");
    CU_ASSERT_STRING_EQUAL(iso_role_string(ISO_ROLE_LAST), "last");
}

static void test_role_outside_world(void)
{
    iso_role_t role;
    iso_layer_range_t range;

    expect_error(iso_role_of(4, 4, &role), ISO_INVAL,
                 "rank 4, expected 0 to 3");
    expect_error(iso_role_of(-1, 4, &role), ISO_INVAL, "rank -1");
    expect_error(iso_role_of(0, 0, &role), ISO_INVAL, "0 ranks");
    expect_error(iso_layer_range_even(28, 4, 4, &range), ISO_INVAL, "rank 4");
}

/* -- even -- */

static void expect_range(int64_t layers, int world, int rank, int64_t start,
                         int64_t end)
{
    iso_layer_range_t range = {-1, -1};

    CU_ASSERT_EQUAL(iso_layer_range_even(layers, rank, world, &range), ISO_OK);
    CU_ASSERT_EQUAL(range.start, start);
    CU_ASSERT_EQUAL(range.start + range.count, end);
}

static void test_even_golden(void)
{
    expect_range(16, 4, 0, 12, 16);
    expect_range(16, 4, 1, 8, 12);
    expect_range(16, 4, 2, 4, 8);
    expect_range(16, 4, 3, 0, 4);
    expect_range(10, 4, 0, 8, 10);
    expect_range(10, 4, 1, 6, 8);
    expect_range(10, 4, 2, 3, 6);
    expect_range(10, 4, 3, 0, 3);
    expect_range(28, 1, 0, 0, 28);
}

static bool even_agrees(int64_t layers, int world)
{
    iso_layer_split_t split;
    bool same = iso_layer_split_even(layers, world, &split) == ISO_OK &&
                covers(&split, layers);

    for (int rank = 0; same && rank < world; rank++) {
        iso_layer_range_t by_counts;
        iso_layer_range_t direct;
        same = iso_layer_split_range(&split, rank, &by_counts) == ISO_OK &&
               iso_layer_range_even(layers, rank, world, &direct) == ISO_OK &&
               by_counts.start == direct.start &&
               by_counts.count == direct.count;
    }
    iso_layer_split_free(&split);
    return same;
}

static void test_even_is_the_formula(void)
{
    static const int64_t layers[] = {1, 2, 4, 7, 28, 32, 33, 64, 80};

    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        for (int world = 1; world <= 8 && world <= layers[i]; world++) {
            CU_ASSERT(even_agrees(layers[i], world));
        }
    }
    CU_ASSERT(even_agrees((INT64_C(1) << 31) + 1, 3));
    CU_ASSERT(even_agrees(INT64_MAX, 7));
}

/* mlx-lm's PipelineMixin lost layers of a model of 61; Megatron-LM assigned
 * 28 layers of 30. */
static void test_no_layer_is_lost(void)
{
    static const int worlds[] = {2, 3, 4, 8};

    for (size_t i = 0; i < sizeof worlds / sizeof *worlds; i++) {
        CU_ASSERT(even_agrees(61, worlds[i]));
    }
    for (int world = 1; world <= 30; world++) {
        CU_ASSERT(even_agrees(30, world));
    }
}

static void test_more_ranks_than_layers(void)
{
    int64_t left_over = 1;
    iso_layer_split_t split = {1, &left_over};
    iso_layer_range_t range;
    const uint64_t weights[5] = {1, 1, 1, 1, 1};

    expect_error(iso_layer_split_even(3, 5, &split), ISO_INVAL,
                 "at most 3 stages");
    CU_ASSERT_PTR_NULL_FATAL(split.counts);
    expect_error(iso_layer_split_weighted(3, 5, weights, &split), ISO_INVAL,
                 "at most 3 stages");
    expect_error(iso_layer_range_even(3, 0, 5, &range), ISO_INVAL,
                 "at most 3 stages");
    expect_error(iso_layer_split_even(0, 1, &split), ISO_INVAL,
                 "at most 0 stages");
    expect_error(iso_layer_split_even(-1, 1, &split), ISO_INVAL,
                 "at most 0 stages");
    expect_error(iso_layer_split_even(5, 0, &split), ISO_INVAL, "0 ranks");
    CU_ASSERT_PTR_NULL(split.counts);
}

/* -- weighted -- */

static void expect_weighted(int64_t layers, int world, const uint64_t *weights,
                            const char *text)
{
    iso_layer_split_t split;

    CU_ASSERT_EQUAL_FATAL(
        iso_layer_split_weighted(layers, world, weights, &split), ISO_OK);
    expect_text(&split, text);
    iso_layer_split_free(&split);
}

static void test_weighted_golden(void)
{
    const uint64_t gib = UINT64_C(1) << 30;

    expect_weighted(28, 2, (const uint64_t[]){64 * gib, 16 * gib}, "22,6");
    expect_weighted(28, 3, (const uint64_t[]){UINT64_C(1) << 40, 1, 1},
                    "26,1,1");
    expect_weighted(10, 4, (const uint64_t[]){0, 0, 0, 0}, "2,2,3,3");
    expect_weighted(29, 2, (const uint64_t[]){8, 8}, "14,15");
    expect_weighted(10, 4, (const uint64_t[]){1, 1, 1, 1}, "2,2,3,3");
    expect_weighted(0, 2, (const uint64_t[]){8, 8}, "");
    expect_weighted(28, 0, NULL, "");
}

/* In doubles all three of these weights are equal, and 2^53 + 1 is lost. */
static void test_weighted_is_exact(void)
{
    const uint64_t big = UINT64_C(1) << 63;

    expect_weighted(5, 3, (const uint64_t[]){big + 1, big, big}, "2,1,2");
    expect_weighted(5, 3, (const uint64_t[]){big, big, big}, "1,2,2");
    expect_weighted(7, 3,
                    (const uint64_t[]){UINT64_MAX, UINT64_MAX - 1, UINT64_MAX},
                    "2,2,3");
    /* 2^62 - 2 spare layers in the proportion 1 : 3. */
    expect_weighted(INT64_C(1) << 62, 2,
                    (const uint64_t[]){big / 4, 3 * (big / 4)},
                    "1152921504606846976,3458764513820540928");
}

static bool weighted_is_sound(int64_t layers, int world)
{
    uint64_t weights[64];
    uint64_t total = 0;
    iso_layer_split_t split;
    uint64_t mask = (UINT64_C(1) << (next_random() % 40)) - 1;
    bool sound;

    for (int rank = 0; rank < world; rank++) {
        weights[rank] = next_random() & mask;
        total += weights[rank];
    }
    sound =
        iso_layer_split_weighted(layers, world, weights, &split) == ISO_OK &&
        covers(&split, layers);
    /* A rank has the floor of its share of the spare ones, or one more. */
    for (int rank = 0; sound && total > 0 && rank < world; rank++) {
        uint64_t floor = (uint64_t)(layers - world) * weights[rank] / total;
        uint64_t extra = (uint64_t)split.counts[rank] - 1 - floor;
        sound = extra <= 1;
    }
    iso_layer_split_free(&split);
    return sound;
}

static bool equal_weights_are_even(int64_t layers, int world)
{
    uint64_t weights[64];
    uint64_t weight = next_random();
    iso_layer_split_t weighted;
    iso_layer_split_t even;
    bool same;

    for (int rank = 0; rank < world; rank++) {
        weights[rank] = weight;
    }
    CU_ASSERT_EQUAL_FATAL(
        iso_layer_split_weighted(layers, world, weights, &weighted), ISO_OK);
    CU_ASSERT_EQUAL_FATAL(iso_layer_split_even(layers, world, &even), ISO_OK);
    same = memcmp(weighted.counts, even.counts,
                  (size_t)world * sizeof *even.counts) == 0;
    iso_layer_split_free(&weighted);
    iso_layer_split_free(&even);
    return same;
}

static void test_all_splits_cover(void)
{
    int bad = 0;

    (void)printf("  seed %d\n", SEED);
    for (int64_t layers = 1; layers <= 200; layers++) {
        for (int world = 1; world <= 64 && world <= layers; world++) {
            bad += even_agrees(layers, world) ? 0 : 1;
            bad += weighted_is_sound(layers, world) ? 0 : 1;
            bad += equal_weights_are_even(layers, world) ? 0 : 1;
        }
    }
    CU_ASSERT_EQUAL(bad, 0);
}

/* -- text -- */

static void expect_parsed(const char *text, const char *printed)
{
    iso_layer_split_t split;

    CU_ASSERT_EQUAL_FATAL(iso_layer_split_parse(text, &split), ISO_OK);
    expect_text(&split, printed);
    iso_layer_split_free(&split);
}

static void test_parse(void)
{
    expect_parsed("14,14", "14,14");
    expect_parsed("10, 18", "10,18");
    expect_parsed(" 10\t,18 ", "10,18");
    expect_parsed("28", "28");
    expect_parsed("0028", "28");
    expect_parsed("2147483647,1", "2147483647,1");
}

static void test_parse_errors(void)
{
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"14,,14", "count 2 ('') is empty"},
        {"14,", "count 2 ('') is empty"},
        {",14", "count 1 ('') is empty"},
        {"+14,14", "count 1 ('+14') is not a whole number"},
        {"14,-14", "count 2 ('-14') is not a whole number"},
        {"0,28", "count 1 ('0') is zero"},
        {"28,000", "count 2 ('000') is zero"},
        {"", "count 1 ('') is empty"},
        {"  , ", "count 1 ('') is empty"},
        {"14,x", "count 2 ('x') is not a whole number"},
        {"14,1 4", "count 2 ('1 4') is not a whole number"},
        {"14,0x4", "count 2 ('0x4') is not a whole number"},
        {"14,1e1", "count 2 ('1e1') is not a whole number"},
        {"14\n,1", "count 1"},
        {"14;14", "count 1 ('14;14')"},
        {"2147483648", "count 1 ('2147483648') is over 2147483647"},
        {"1,18446744073709551617", "is over 2147483647"},
        {"1,99999999999999999999999999999999999999999999999999", "is over"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        iso_layer_split_t split;
        expect_error(iso_layer_split_parse(cases[i].text, &split), ISO_INVAL,
                     cases[i].message);
        CU_ASSERT_PTR_NULL(split.counts);
    }
}

static void test_parse_too_many(void)
{
    size_t length = (size_t)ISO_MAX_WORLD * 2 + 1;
    char *text = iso_alloc(length + 1);
    iso_layer_split_t split;

    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    for (size_t i = 0; i < length; i++) {
        text[i] = i % 2 == 0 ? '1' : ',';
    }
    text[length] = '\0';
    expect_error(iso_layer_split_parse(text, &split), ISO_INVAL,
                 "1048577 counts, at most 1048576");
    iso_free(text);
}

static void test_check(void)
{
    iso_layer_split_t split;
    iso_layer_range_t range;

    CU_ASSERT_EQUAL_FATAL(iso_layer_split_parse("10,18", &split), ISO_OK);
    CU_ASSERT_EQUAL(iso_layer_split_check(&split, 28, 2), ISO_OK);
    expect_error(iso_layer_split_check(&split, 28, 3), ISO_INVAL,
                 "2 counts, expected 3");
    expect_error(iso_layer_split_check(&split, 30, 2), ISO_INVAL,
                 "holds 28 layers, but the model has 30");
    expect_error(iso_layer_split_range(&split, 2, &range), ISO_INVAL,
                 "rank 2, expected 0 to 1");
    CU_ASSERT_EQUAL(iso_layer_split_range(&split, 1, &range), ISO_OK);
    CU_ASSERT(range.start == 0 && range.count == 18);
    CU_ASSERT_EQUAL(iso_layer_split_range(&split, 0, &range), ISO_OK);
    CU_ASSERT(range.start == 18 && range.count == 10);
    split.counts[1] = 0;
    expect_error(iso_layer_split_check(&split, 10, 2), ISO_INVAL,
                 "gives rank 1 a count of 0, expected at least 1");
    split.counts[0] = INT64_MAX;
    split.counts[1] = INT64_MAX;
    expect_error(iso_layer_split_check(&split, 28, 2), ISO_INVAL,
                 "the model has 28");
    iso_layer_split_free(&split);
}

/* -- relay -- */

enum { RELAY_MOST_HIDDEN = 16 };

/* One token through all stages, from the highest rank down, as the ranks
 * would: the first embeds, each applies its layers, the last answers. */
static int64_t relay(const iso_layer_split_t *split, int hidden, int64_t token)
{
    double state[RELAY_MOST_HIDDEN] = {0.0};
    int64_t answer = -1;

    for (int rank = split->world - 1; rank >= 0; rank--) {
        iso_role_t role;
        iso_layer_range_t range;
        CU_ASSERT_EQUAL_FATAL(iso_role_of(rank, split->world, &role), ISO_OK);
        CU_ASSERT_EQUAL_FATAL(iso_layer_split_range(split, rank, &range),
                              ISO_OK);
        if (role == ISO_ROLE_FIRST || role == ISO_ROLE_SINGLE) {
            for (int i = 0; i < hidden; i++) {
                state[i] = (double)(token + i);
            }
        }
        for (int64_t g = range.start; g < range.start + range.count; g++) {
            for (int i = 0; i < hidden; i++) {
                state[i] += (double)(g + 1);
            }
        }
        if (role == ISO_ROLE_LAST || role == ISO_ROLE_SINGLE) {
            answer = (int64_t)(state[0] + 0.5);
        }
    }
    return answer;
}

static void test_relay_golden(void)
{
    static const struct {
        int world;
        int hidden;
        int64_t layers;
        int64_t token;
        int64_t result;
    } cases[] = {
        {4, 8, 16, 5, 141},
        {3, 6, 10, 7, 62},
        {2, 4, 5, 11, 26},
        {1, 4, 6, 9, 30},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        iso_layer_split_t split;
        CU_ASSERT_EQUAL_FATAL(
            iso_layer_split_even(cases[i].layers, cases[i].world, &split),
            ISO_OK);
        CU_ASSERT_EQUAL(relay(&split, cases[i].hidden, cases[i].token),
                        cases[i].result);
        iso_layer_split_free(&split);
    }
}

static void test_relay_generates(void)
{
    static const int64_t expected[] = {26, 41, 56};
    iso_layer_split_t split;
    int64_t token = 11;

    CU_ASSERT_EQUAL_FATAL(iso_layer_split_even(5, 2, &split), ISO_OK);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        token = relay(&split, 4, token);
        CU_ASSERT_EQUAL(token, expected[i]);
    }
    iso_layer_split_free(&split);
}

/* -- memory -- */

static iso_status_t make_everything(void)
{
    const uint64_t weights[3] = {1, 2, 3};
    iso_layer_split_t weighted = {0};
    iso_layer_split_t parsed = {0};
    iso_layer_split_t copy = {0};
    iso_status_t status = iso_layer_split_weighted(9, 3, weights, &weighted);

    if (status == ISO_OK) {
        status = iso_layer_split_parse("1,2", &parsed);
    }
    if (status == ISO_OK) {
        status = iso_layer_split_copy(&parsed, &copy);
    }
    if (status == ISO_OK) {
        char *text = iso_layer_split_text(&copy);
        status = text == NULL ? ISO_NOMEM : ISO_OK;
        iso_free(text);
    }
    iso_layer_split_free(&weighted);
    iso_layer_split_free(&parsed);
    iso_layer_split_free(&copy);
    return status;
}

static void test_out_of_memory(void)
{
    int64_t blocks = iso_mem_count().blocks;
    iso_status_t status = ISO_NOMEM;
    int failures = 0;

    for (int64_t n = 1; status == ISO_NOMEM && n < 100; n++) {
        iso_mem_fail_at(n);
        status = make_everything();
        iso_mem_fail_at(0);
        failures += status == ISO_NOMEM ? 1 : 0;
        CU_ASSERT_EQUAL(iso_mem_count().blocks, blocks);
    }
    CU_ASSERT_EQUAL(status, ISO_OK);
    CU_ASSERT(failures >= 4);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"roles", test_roles},
        {"role outside world", test_role_outside_world},
        {"even golden", test_even_golden},
        {"even is the formula", test_even_is_the_formula},
        {"no layer is lost", test_no_layer_is_lost},
        {"more ranks than layers", test_more_ranks_than_layers},
        {"weighted golden", test_weighted_golden},
        {"weighted is exact", test_weighted_is_exact},
        {"all splits cover", test_all_splits_cover},
        {"parse", test_parse},
        {"parse errors", test_parse_errors},
        {"parse too many", test_parse_too_many},
        {"check", test_check},
        {"relay golden", test_relay_golden},
        {"relay generates", test_relay_generates},
        {"out of memory", test_out_of_memory},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"layer_split", NULL, NULL, test_remember_blocks, test_check_blocks,
         tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
