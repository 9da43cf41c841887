/* Choosing how to shard an op with the links of a machine. */
#include "iso_test_call.h"
#include "shard_posed.h"

/* The root keeps its part; every message has its latency. */
static void test_machine_price(void)
{
    iso_machine_t *machine = machine_of(4, 2);
    const double copy = iso_machine_rank(machine, 0)->copy_bytes_per_s;
    const iso_link_t far = iso_machine_link(machine, 0, 2);
    const iso_shard_candidate_t *batch;
    posed_t posed;

    pose(&posed, SPEC_CONV, RATES(1e6, 1e6));
    posed.workers[1].rank = 2;
    posed.question.machine = machine;
    posed.question.whole_elements_per_s = 5e4;
    choose(&posed);
    check_chosen(&posed, ISO_SHARD_BATCH, 2);
    batch = chosen_of(&posed);
    /* Half of x to the other host, all weights, half of the value back. */
    CU_ASSERT_EQUAL(batch->moved_bytes, (size_t)4 * (1024 + 576 + 2304));
    check_near(batch->seconds - batch->compute_seconds,
               3 * far.latency_s + 4 * 3904 / far.bytes_per_s +
                   4 * 3904 / copy);
    posed.question.resident = 1U << 1;
    choose(&posed);
    CU_ASSERT_EQUAL(chosen_of(&posed)->moved_bytes, (size_t)4 * (1024 + 2304));
    posed.question.resident = 3;
    choose(&posed);
    check_near(chosen_of(&posed)->seconds - chosen_of(&posed)->compute_seconds,
               far.latency_s + 4 * 2304 / far.bytes_per_s + 4 * 2304 / copy);
    /* A root that is no worker gives everything away. */
    posed.question.resident = 0;
    posed.question.root = 1;
    posed.workers[1].rank = 3;
    choose(&posed);
    CU_ASSERT_EQUAL(chosen_of(&posed)->moved_bytes,
                    (size_t)4 * (2048 + 2 * 576 + 4608));
    end_posed(&posed);
    iso_machine_destroy(&machine);
}

static void test_machine_partial_sums(void)
{
    iso_machine_t *machine = machine_of(2, 0);
    const iso_shard_candidate_t *sums;
    posed_t posed;

    /* 5 blocks in 2: 3 (2 and 1) and 2. */
    pose(&posed, MATMUL("1,1280", "1280,1"), RATES(1, 1));
    posed.question.machine = machine;
    posed.question.most_shards = 2;
    choose(&posed);
    check_chosen(&posed, ISO_SHARD_REDUCTION, 2);
    sums = chosen_of(&posed);
    CU_ASSERT_EQUAL(sums->option.length, 5);
    /* [3,5) of both operands to rank 1, two partial sums of a number back. */
    CU_ASSERT_EQUAL(sums->moved_bytes, (size_t)4 * (512 + 512 + 2));
    /* Of the root itself nothing comes back. */
    posed.question.root = 1;
    choose(&posed);
    CU_ASSERT_EQUAL(chosen_of(&posed)->moved_bytes,
                    (size_t)4 * (768 + 768 + 2));
    end_posed(&posed);
    iso_machine_destroy(&machine);
}

static void test_machine_all_rows(void)
{
    iso_machine_t *machine = machine_of(2, 0);
    posed_t posed;

    pose(&posed, MATMUL("3,5,4", "4,2"), RATES(1, 1));
    posed.question.machine = machine;
    posed.question.op.axes = ISO_SHARD_BIT(ROWS);
    posed.question.most_shards = 2;
    choose(&posed);
    check_chosen(&posed, ISO_SHARD_ROWS, 2);
    /* 8 of 15 rows stay. */
    CU_ASSERT_EQUAL(chosen_of(&posed)->moved_bytes,
                    (size_t)4 * (7 * 4 + 8 + 7 * 2));
    end_posed(&posed);
    iso_machine_destroy(&machine);
}

/* Near workers are taken where they are as fast, far ones where it pays. */
static void test_near_and_far(void)
{
    iso_machine_t *machine = machine_of(6, 3);
    posed_t posed;

    pose(&posed, SPEC_CONV, RATES(1e6, 1e6, 1e6, 1e6, 1e6, 1e6));
    for (int i = 0; i < 6; i++) {
        posed.workers[i].rank = 5 - i;
    }
    posed.question.machine = machine;
    posed.question.root = 1;
    posed.question.op.axes = ISO_SHARD_CLASSIC_AXES;
    posed.question.most_shards = 3;
    choose(&posed);
    check_chosen(&posed, ISO_SHARD_BATCH, 3);
    for (int i = 0; i < 3; i++) {
        CU_ASSERT_EQUAL(chosen_of(&posed)->ranks[i], 2 - i);
    }
    posed.workers[1].elements_per_s = 1e8; /* rank 4 */
    posed.workers[2].elements_per_s = 1e8; /* rank 3 */
    posed.question.most_shards = 2;
    choose(&posed);
    CU_ASSERT_EQUAL(chosen_of(&posed)->ranks[0], 4);
    CU_ASSERT_EQUAL(chosen_of(&posed)->ranks[1], 3);
    end_posed(&posed);
    iso_machine_destroy(&machine);
}

static void test_from_machine(void)
{
    iso_machine_t *machine = machine_of(4, 2);
    static const double elements = 64.0 * 64 * 30 * 30;
    static const double bytes =
        4 * (elements + 64.0 * 64 * 32 * 32 + 64.0 * 64 * 9);
    iso_machine_rank_t facts = *iso_machine_rank(machine, 3);
    iso_arena_t *arena = NULL;
    posed_t posed;

    facts.cost_class = ISO_COST_UNCALIBRATED;
    facts.flops_per_s *= 2;
    CU_ASSERT_EQUAL(iso_machine_set_rank(machine, 3, &facts), ISO_OK);
    CU_ASSERT_EQUAL_FATAL(iso_arena_create(&arena), ISO_OK);
    pose(&posed, CONV("64,64,32,32", "64,64,3,3", ""), 0, NULL);
    CU_ASSERT_EQUAL(iso_shard_workers_of(&posed.asked.op, machine,
                                         (const int[]){0, 3, 1}, 3, arena,
                                         posed.workers),
                    ISO_OK);
    CU_ASSERT_STRING_EQUAL(posed.workers[1].name, "rank 3 (host1)");
    CU_ASSERT_EQUAL(posed.workers[1].rank, 3);
    CU_ASSERT(posed.workers[1].elements_per_s >
              1.5 * posed.workers[0].elements_per_s);
    /* 2 x 576 operations an element, at 0.6 of 60 GF/s, and its share of all
     * bytes at 8 GB/s */
    check_near(posed.workers[2].elements_per_s,
               1.0 / (1152 / 36e9 + bytes / elements / 8e9));
    CU_ASSERT_EQUAL(iso_shard_rate(&posed.asked.op,
                                   iso_machine_rank(machine, 0),
                                   &posed.question.whole_elements_per_s),
                    ISO_OK);
    posed.question.n_workers = 3;
    posed.question.machine = machine;
    choose(&posed);
    check_chosen(&posed, ISO_SHARD_BATCH, 2);
    CU_ASSERT_EQUAL(chosen_of(&posed)->ranks[1], 1);
    CU_ASSERT_EQUAL(posed.choice->n_excluded, 1);
    CU_ASSERT_STRING_EQUAL(posed.choice->excluded[0].name, "rank 3 (host1)");
    CU_ASSERT_EQUAL(iso_shard_workers_of(&posed.asked.op, machine,
                                         (const int[]){4}, 1, arena,
                                         posed.workers),
                    ISO_INVAL);
    CU_ASSERT(test_failed_with("rank 4, but the machine has ranks 0 to 3"));
    end_posed(&posed);
    iso_arena_destroy(&arena);
    iso_machine_destroy(&machine);
}

static void test_saturation(void)
{
    iso_machine_t *machine = machine_of(2, 0);
    posed_t posed;

    pose(&posed, MATMUL("2,2305843009213693952", "2305843009213693952,2"),
         RATES(1e6, 1e6));
    posed.question.flat_link = (iso_link_t){0, 1e30, 0.0, 0};
    posed.question.whole_elements_per_s = 1;
    choose(&posed);
    CU_ASSERT_EQUAL(chosen_of(&posed)->moved_bytes, SIZE_MAX);
    CU_ASSERT(isfinite(posed.choice->seconds));
    posed.question.machine = machine;
    choose(&posed);
    check_whole(&posed, 4, "no option can be carried out");
    end_posed(&posed);
    iso_machine_destroy(&machine);
}

/* ---- Properties ---- */

enum { SEED = 20240611, ROUNDS = 60 };

/* Price of an option when exactly these workers are offered. */
static double price_with(const posed_t *posed, int index, unsigned subset)
{
    iso_shard_worker_t workers[MOST_WORKERS];
    iso_shard_question_t question = posed->question;
    iso_shard_choice_t *choice = NULL;
    double seconds;

    question.workers = workers;
    question.n_workers = 0;
    for (int i = 0; i < posed->question.n_workers; i++) {
        if ((subset >> i & 1U) != 0) {
            workers[question.n_workers++] = posed->workers[i];
        }
    }
    CU_ASSERT_EQUAL_FATAL(iso_shard_choose(&question, &choice), ISO_OK);
    seconds = choice->candidates[index].seconds;
    iso_shard_choice_destroy(&choice);
    return seconds;
}

static int bits_in(unsigned set)
{
    int bits = 0;

    for (; set != 0; set &= set - 1) {
        bits++;
    }
    return bits;
}

/* The least of a price over all subsets of as many workers as shards. */
static double least_price(const posed_t *posed, int index)
{
    const int count = posed->choice->candidates[index].option.count;
    double least = (double)INFINITY;

    for (unsigned set = 0; set < 1U << posed->question.n_workers; set++) {
        if (bits_in(set) == count) {
            least = fmin(least, price_with(posed, index, set));
        }
    }
    return least;
}

static void random_question(uint64_t *state, posed_t *posed)
{
    static const double some_rates[] = {1e6, 3e6, 1e7, 0.0, 2e8};
    const int n = (int)test_random_int(state, 1, 5);
    double rates[MOST_WORKERS];

    for (int i = 0; i < n; i++) {
        rates[i] = some_rates[test_random_int(state, 0, 4)];
    }
    /* Lengths that 2, 3 and 4 divide, so that it does not matter who gets
     * which piece; weights are resident, so that nothing is broadcast. */
    pose(posed, CONV("12,4,8,8", "24,4,3,3", ""), n, rates);
    posed->question.op.axes = ISO_SHARD_BIT(BATCH) | ISO_SHARD_BIT(OUT_CHANNEL);
    posed->question.resident = test_random_int(state, 0, 1) == 0 ? 3U : 1U << 1;
    posed->question.equal_pieces = true;
    posed->question.whole_elements_per_s = 5e5;
    posed->question.root = (int)test_random_int(state, 0, 5);
    for (int i = 0; i < n; i++) {
        posed->workers[i].rank = (int)(5 - i);
    }
}

/* The best subset is the best of all subsets; what is chosen is the least of
 * all prices. */
static void check_round(posed_t *posed, int round)
{
    double least = 5e-324;
    bool right = true;

    choose(posed);
    least = posed->choice->whole_seconds;
    for (int i = 0; i < posed->choice->n_candidates; i++) {
        const iso_shard_candidate_t *candidate = &posed->choice->candidates[i];
        const bool has_broadcast =
            posed->question.machine != NULL &&
            candidate->option.axis == ISO_SHARD_OUT_CHANNEL &&
            posed->question.resident != 3U;
        const double best = least_price(posed, i);

        least = fmin(least, candidate->seconds);
        /* A tree of broadcasts depends on the order of hosts: no promise. */
        right = right && (has_broadcast ? candidate->seconds >= best
                                        : candidate->seconds == best);
    }
    right = right && posed->choice->seconds == least;
    CU_ASSERT(right);
    if (!right) {
        (void)fprintf(stderr, "seed %d, round %d\n", SEED, round);
    }
}

static void test_all_subsets(void)
{
    iso_machine_t *machine = machine_of(6, 3);
    uint64_t state = SEED;

    for (int round = 0; round < ROUNDS; round++) {
        posed_t posed;

        random_question(&state, &posed);
        posed.question.machine = round % 2 == 0 ? machine : NULL;
        check_round(&posed, round);
        end_posed(&posed);
    }
    iso_machine_destroy(&machine);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"price on a machine", test_machine_price},
        {"partial sums on a machine", test_machine_partial_sums},
        {"all rows on a machine", test_machine_all_rows},
        {"near and far", test_near_and_far},
        {"from a machine", test_from_machine},
        {"saturation", test_saturation},
        {"all subsets", test_all_subsets},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"shard_machine", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
