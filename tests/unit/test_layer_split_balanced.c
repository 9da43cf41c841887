#include "isotome/layer_split.h"

#include "base/mem.h"
#include "iso_test_call.h"
#include "iso_test_graph.h"
#include "iso_test_memory.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum {
    SEED = 31415926,
    MOST_LAYERS = 9,
    MOST_RANKS = 5,
    TRIALS = 3000,
};

static uint64_t random_state = SEED;

static uint64_t next_random(uint64_t below)
{
    return test_random(&random_state) % below;
}

static void expect_error(iso_status_t found, iso_status_t expected,
                         const char *text)
{
    CU_ASSERT_EQUAL(found, expected);
    CU_ASSERT(test_failed_with(text));
}

static void expect_split(const iso_balance_t *balance, const char *text,
                         double slowest_s)
{
    iso_layer_split_t split;
    double found_s = -1.0;

    CU_ASSERT_EQUAL_FATAL(iso_layer_split_balanced(balance, &split, &found_s),
                          ISO_OK);
    char *found = iso_layer_split_text(&split);
    CU_ASSERT_PTR_NOT_NULL_FATAL(found);
    CU_ASSERT_STRING_EQUAL(found, text);
    CU_ASSERT_EQUAL(found_s, slowest_s);
    iso_free(found);
    iso_layer_split_free(&split);
}

/* -- by hand -- */

static const iso_rank_power_t equal_ranks[4] = {
    {1.0, SIZE_MAX}, {1.0, SIZE_MAX}, {1.0, SIZE_MAX}, {1.0, SIZE_MAX}};

static void test_equal_layers(void)
{
    const iso_layer_cost_t layers[10] = {
        {1, 1, 0}, {1, 1, 0}, {1, 1, 0}, {1, 1, 0}, {1, 1, 0},
        {1, 1, 0}, {1, 1, 0}, {1, 1, 0}, {1, 1, 0}, {1, 1, 0}};
    iso_balance_t balance = {
        .n_layers = 10, .layers = layers, .world = 4, .ranks = equal_ranks};

    /* No rank needs more than three; the even split is taken. */
    expect_split(&balance, "2,2,3,3", 3.0);
    balance.world = 1;
    expect_split(&balance, "10", 10.0);
}

/* Equal costs that no binary number holds exactly give the even split too. */
static void test_equal_layers_of_any_cost(void)
{
    const double costs_s[] = {0.1, 1.0 / 7.0, 2.3e-5, 1e-100, 3e100};

    for (size_t c = 0; c < sizeof costs_s / sizeof costs_s[0]; c++) {
        for (int n = 1; n <= 40; n++) {
            iso_layer_cost_t layers[40];
            iso_layer_split_t even = {0};
            iso_layer_split_t found = {0};

            for (int i = 0; i < n; i++) {
                layers[i] = (iso_layer_cost_t){.seconds = costs_s[c]};
            }
            iso_balance_t balance = {.n_layers = n,
                                     .layers = layers,
                                     .world = n < 4 ? n : 4,
                                     .ranks = equal_ranks};

            CU_ASSERT_EQUAL(iso_layer_split_even(n, balance.world, &even),
                            ISO_OK);
            CU_ASSERT_EQUAL(iso_layer_split_balanced(&balance, &found, NULL),
                            ISO_OK);
            CU_ASSERT_EQUAL(iso_layer_split_digest(&even),
                            iso_layer_split_digest(&found));
            iso_layer_split_free(&even);
            iso_layer_split_free(&found);
        }
    }
}

/* One layer that takes as long as all others stands alone. */
static void test_one_heavy_layer(void)
{
    const iso_layer_cost_t layers[] = {
        {1, 0, 0}, {1, 0, 0}, {8, 0, 0}, {1, 0, 0}, {1, 0, 0}};
    iso_balance_t balance = {
        .n_layers = 5, .layers = layers, .world = 3, .ranks = equal_ranks};

    expect_split(&balance, "2,1,2", 8.0);
}

static void test_extras_and_speeds(void)
{
    const iso_layer_cost_t layers[] = {
        {1, 0, 0}, {1, 0, 0}, {1, 0, 0}, {1, 0, 0}};
    const iso_layer_cost_t head = {2, 0, 0};
    const iso_rank_power_t fast_last[2] = {{4.0, SIZE_MAX}, {1.0, SIZE_MAX}};
    iso_balance_t balance = {.n_layers = 4,
                             .layers = layers,
                             .last = &head,
                             .world = 2,
                             .ranks = equal_ranks};

    expect_split(&balance, "1,3", 3.0);
    balance.ranks = fast_last;
    expect_split(&balance, "3,1", 1.25);
}

/* The cut goes where little is sent; the last stage sends nothing. */
static void test_boundaries(void)
{
    const iso_layer_cost_t layers[] = {
        {1, 0, 9}, {1, 0, 9}, {1, 0, 0.5}, {1, 0, 100}};
    iso_balance_t balance = {
        .n_layers = 4, .layers = layers, .world = 2, .ranks = equal_ranks};

    expect_split(&balance, "1,3", 3.5);
}

/* -- memory -- */

static void test_memory_decides(void)
{
    const iso_layer_cost_t layers[] = {
        {1, 10, 0}, {1, 10, 0}, {1, 10, 0}, {1, 10, 0}};
    const iso_rank_power_t enough[2] = {{1.0, 10}, {1.0, 30}};
    const iso_rank_power_t too_little[2] = {{1.0, 10}, {1.0, 29}};
    iso_balance_t balance = {
        .n_layers = 4, .layers = layers, .world = 2, .ranks = enough};
    iso_layer_split_t split;

    expect_split(&balance, "1,3", 3.0);
    balance.ranks = too_little;
    expect_error(iso_layer_split_balanced(&balance, &split, NULL), ISO_INVAL,
                 "does not fit on 2 ranks: rank 0 would need 20 B (20 B) but "
                 "has 10 B (10 B)");
    CU_ASSERT_PTR_NULL(split.counts);
}

/* Two layers on two ranks, of which one of each is odd. */
static void expect_refused(iso_layer_cost_t layer, double speed,
                           const char *message)
{
    const iso_layer_cost_t layers[] = {{1e308, 10, 0}, layer};
    const iso_rank_power_t ranks[] = {{1.0, 30}, {speed, 30}};
    const iso_balance_t balance = {
        .n_layers = 2, .layers = layers, .world = 2, .ranks = ranks};
    iso_layer_split_t split;

    expect_error(iso_layer_split_balanced(&balance, &split, NULL), ISO_INVAL,
                 message);
    CU_ASSERT_PTR_NULL(split.counts);
}

static void test_wrong_arguments(void)
{
    const iso_layer_cost_t layers[] = {{1, 0, 0}, {1, 0, 0}};
    const iso_balance_t balance = {
        .n_layers = 2, .layers = layers, .world = 3, .ranks = equal_ranks};
    const iso_layer_cost_t plain = {1, 10, 0};
    iso_layer_split_t split;

    expect_error(iso_layer_split_balanced(&balance, &split, NULL), ISO_INVAL,
                 "at most 2 stages");
    expect_refused((iso_layer_cost_t){1, SIZE_MAX - 5, 0}, 1.0, "more than");
    expect_refused((iso_layer_cost_t){NAN, 0, 0}, 1.0, "layer 1 costs nan");
    expect_refused((iso_layer_cost_t){1, 0, -1}, 1.0, "layer 1");
    expect_refused((iso_layer_cost_t){1e308, 0, 0}, 1.0,
                   "more than can be counted");
    expect_refused(plain, 0.0, "rank 1 has speed 0");
    expect_refused(plain, INFINITY, "rank 1 has speed inf");
    expect_refused(plain, NAN, "rank 1 has speed nan");
    expect_refused(plain, 1e-9, "more than can be counted");
}

/* -- against all splits -- */

typedef struct trial {
    iso_balance_t balance;
    iso_layer_cost_t layers[MOST_LAYERS];
    iso_layer_cost_t first;
    iso_layer_cost_t last;
    iso_rank_power_t ranks[MOST_RANKS];
} trial_t;

static iso_layer_cost_t random_cost(void)
{
    return (iso_layer_cost_t){(double)next_random(6), next_random(10),
                              (double)next_random(4)};
}

/* Whole seconds and speeds 1, 2 or 4, so that no sum is rounded. */
static void make_trial(trial_t *trial)
{
    trial->balance = (iso_balance_t){
        .n_layers = (int64_t)(1 + next_random(MOST_LAYERS)),
        .layers = trial->layers,
        .first = next_random(2) == 0 ? NULL : &trial->first,
        .last = next_random(2) == 0 ? NULL : &trial->last,
        .ranks = trial->ranks,
    };
    uint64_t most = (uint64_t)trial->balance.n_layers;
    most = most > MOST_RANKS ? MOST_RANKS : most;
    trial->balance.world = (int)(1 + next_random(most));
    trial->first = random_cost();
    trial->last = random_cost();
    for (int i = 0; i < MOST_LAYERS; i++) {
        trial->layers[i] = random_cost();
    }
    for (int i = 0; i < MOST_RANKS; i++) {
        trial->ranks[i].speed = (double)(1 << next_random(3));
        trial->ranks[i].memory_bytes = 5 + next_random(40);
    }
}

typedef struct score {
    double slowest_s; /* INFINITY when it does not fit */
    double squares;
} score_t;

static score_t score_of(const iso_balance_t *balance, const int64_t *counts)
{
    score_t score = {0.0, 0.0};
    int64_t at = 0;

    for (int rank = balance->world - 1; rank >= 0; rank--) {
        const iso_layer_cost_t *extra[2] = {
            rank == balance->world - 1 ? balance->first : NULL,
            rank == 0 ? balance->last : NULL};
        double seconds = 0.0;
        size_t bytes = 0;
        for (int i = 0; i < 2; i++) {
            seconds += extra[i] == NULL ? 0.0 : extra[i]->seconds;
            bytes += extra[i] == NULL ? 0 : extra[i]->bytes;
        }
        for (int64_t end = at + counts[rank]; at < end; at++) {
            seconds += balance->layers[at].seconds;
            bytes += balance->layers[at].bytes;
        }
        double boundary_s =
            rank == 0 ? 0.0 : balance->layers[at - 1].boundary_s;
        double stage_s = seconds / balance->ranks[rank].speed + boundary_s;
        score.slowest_s = fmax(score.slowest_s, stage_s);
        score.squares += stage_s * stage_s;
        if (bytes > balance->ranks[rank].memory_bytes) {
            return (score_t){INFINITY, INFINITY};
        }
    }
    return score;
}

static bool is_better(score_t a, score_t b)
{
    return a.slowest_s < b.slowest_s ||
           (a.slowest_s == b.slowest_s && a.squares < b.squares);
}

/* The next split in falling order of the counts from the highest rank down:
 * the first of two equally good ones is the right one. False after the last. */
static bool next_split(int64_t *counts, int world)
{
    int64_t below = 0;

    for (int rank = 0; rank < world; rank++) {
        if (rank > 0 && counts[rank] > 1) {
            /* One layer moves down, and the next lower rank takes all it
             * can. */
            counts[rank]--;
            below++;
            for (int lower = 0; lower < rank; lower++) {
                counts[lower] = 1;
            }
            counts[rank - 1] = below - (rank - 1);
            return true;
        }
        below += counts[rank];
    }
    return false;
}

static score_t best_by_trying(const iso_balance_t *balance, int64_t *best)
{
    int64_t counts[MOST_RANKS] = {1, 1, 1, 1, 1};
    score_t best_score = {INFINITY, INFINITY};

    counts[balance->world - 1] = balance->n_layers - (balance->world - 1);
    do {
        score_t score = score_of(balance, counts);
        if (is_better(score, best_score)) {
            best_score = score;
            memcpy(best, counts, sizeof counts);
        }
    } while (next_split(counts, balance->world));
    return best_score;
}

static bool trial_agrees(const iso_balance_t *balance, bool *fits_out)
{
    int64_t best[MOST_RANKS];
    score_t score = best_by_trying(balance, best);
    double slowest_s = -1.0;
    iso_layer_split_t split;
    iso_status_t status = iso_layer_split_balanced(balance, &split, &slowest_s);
    bool same;

    *fits_out = isfinite(score.slowest_s);
    if (!*fits_out) {
        return status == ISO_INVAL &&
               strstr(iso_error_text(), "does not fit") != NULL;
    }
    same =
        status == ISO_OK && slowest_s == score.slowest_s &&
        memcmp(split.counts, best, (size_t)balance->world * sizeof *best) == 0;
    iso_layer_split_free(&split);
    return same;
}

static void test_against_all_splits(void)
{
    int bad = 0;
    int fitting = 0;

    (void)printf("  seed %d\n", SEED);
    for (int i = 0; i < TRIALS; i++) {
        trial_t trial;
        bool fits = false;
        make_trial(&trial);
        bad += trial_agrees(&trial.balance, &fits) ? 0 : 1;
        fitting += fits ? 1 : 0;
    }
    CU_ASSERT_EQUAL(bad, 0);
    CU_ASSERT(fitting > TRIALS / 4);
    CU_ASSERT(fitting < TRIALS);
}

/* -- size -- */

/* Fast enough for models of a thousand layers on a hundred ranks. */
static void test_many_layers(void)
{
    enum { LAYERS = 1000, RANKS = 100 };
    static iso_layer_cost_t layers[LAYERS];
    static iso_rank_power_t ranks[RANKS];
    iso_balance_t balance = {
        .n_layers = LAYERS, .layers = layers, .world = RANKS, .ranks = ranks};
    iso_layer_split_t split;
    double slowest_s = 0.0;
    double total_s = 0.0;

    for (int i = 0; i < LAYERS; i++) {
        layers[i] = random_cost();
        layers[i].boundary_s = 0.0;
        total_s += layers[i].seconds;
    }
    for (int i = 0; i < RANKS; i++) {
        ranks[i] = (iso_rank_power_t){1.0, SIZE_MAX};
    }
    CU_ASSERT_EQUAL_FATAL(
        iso_layer_split_balanced(&balance, &split, &slowest_s), ISO_OK);
    CU_ASSERT_EQUAL(iso_layer_split_check(&split, LAYERS, RANKS), ISO_OK);
    CU_ASSERT(slowest_s >= total_s / RANKS);
    CU_ASSERT(slowest_s <= total_s / RANKS + 6.0);
    iso_layer_split_free(&split);
}

static void test_out_of_memory(void)
{
    const iso_layer_cost_t layers[] = {{1, 1, 0}, {1, 1, 0}};
    iso_balance_t balance = {
        .n_layers = 2, .layers = layers, .world = 2, .ranks = equal_ranks};

    for (int64_t n = 1; n <= 4; n++) {
        iso_layer_split_t split;
        int64_t blocks = iso_mem_count().blocks;
        iso_mem_fail_at(n);
        CU_ASSERT_EQUAL(iso_layer_split_balanced(&balance, &split, NULL),
                        ISO_NOMEM);
        iso_mem_fail_at(0);
        CU_ASSERT_EQUAL(iso_mem_count().blocks, blocks);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"equal layers", test_equal_layers},
        {"equal layers of any cost", test_equal_layers_of_any_cost},
        {"one heavy layer", test_one_heavy_layer},
        {"extras and speeds", test_extras_and_speeds},
        {"boundaries", test_boundaries},
        {"memory decides", test_memory_decides},
        {"wrong arguments", test_wrong_arguments},
        {"against all splits", test_against_all_splits},
        {"many layers", test_many_layers},
        {"out of memory", test_out_of_memory},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"layer_split_balanced", NULL, NULL, test_remember_blocks,
         test_check_blocks, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
