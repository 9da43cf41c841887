#include "plan/shard/choose.h"
#include "shard_posed.h"

/* ---- Values of the specification ---- */

/* unsigned axes: the classic ones, and all: the same must come out. */
static void check_table(unsigned axes)
{
    posed_t posed;

    pose(&posed, SPEC_CONV, RATES(1e6, 1e6));
    posed.question.op.axes = axes;
    posed.question.whole_elements_per_s = 1e6;
    posed.question.flat_link = (iso_link_t){0.01, 1e4, 0.0, 0};
    choose(&posed);
    check_whole(&posed, 0.004608, "the whole op is fastest: 4.61 ms against");

    posed.question.flat_link = (iso_link_t){1e-6, 1e10, 0.0, 0};
    posed.question.whole_elements_per_s = 5e4;
    choose(&posed);
    check_chosen(&posed, ISO_SHARD_BATCH, 2);
    check_near(posed.choice->seconds, 0.0023081232);
    check_near(posed.choice->whole_seconds, 0.09216);
    CU_ASSERT_EQUAL(chosen_of(&posed)->moved_bytes, 31232);

    posed.question.flat_link = (iso_link_t){0, 0, 0.0, 0};
    choose(&posed);
    check_whole(&posed, 0.09216, "no option can be carried out");
    check_text(posed.choice->candidates[0].reason, "never arrive");
    posed.question.flat_link = (iso_link_t){0, -1e10, 0.0, 0};
    choose(&posed);
    check_whole(&posed, 0.09216, "no option can be carried out");

    posed.question.flat_link = (iso_link_t){1e-6, 1e10, 0.0, 0};
    posed.question.whole_elements_per_s = 0;
    choose(&posed);
    check_chosen(&posed, ISO_SHARD_BATCH, 2);
    CU_ASSERT(isinf(posed.choice->whole_seconds));
    end_posed(&posed);

    pose(&posed, SPEC_CONV, RATES(1e6, 1e6, 1e6, 1e6));
    posed.question.op.axes = axes;
    posed.question.whole_elements_per_s = 5e4;
    choose(&posed);
    check_chosen(&posed, ISO_SHARD_BATCH, 4);
    check_near(posed.choice->seconds, 0.001156584);
    end_posed(&posed);

    pose(&posed, SPEC_CONV, 0, NULL);
    posed.question.op.axes = axes;
    posed.question.whole_elements_per_s = 1e6;
    choose(&posed);
    check_whole(&posed, 0.004608, "no workers offered");
    end_posed(&posed);
}

static void test_table(void)
{
    check_table(ISO_SHARD_CLASSIC_AXES);
    check_table(0);
}

/* Weights that are at the workers already do not make activations so. */
static void test_residency(void)
{
    posed_t posed;

    pose(&posed, CONV("32,64,32,32", "64,64,3,3", ""),
         RATES(1e9, 1e9, 1e9, 1e9));
    posed.question.op.axes = ISO_SHARD_CLASSIC_AXES;
    posed.question.resident = 1U << 1;
    posed.question.flat_link.bytes_per_s = 1e11;
    posed.question.whole_elements_per_s = 1e9;
    choose(&posed);
    check_chosen(&posed, ISO_SHARD_BATCH, 4);
    CU_ASSERT_EQUAL(chosen_of(&posed)->moved_bytes, 15761408);
    CU_ASSERT_EQUAL(posed.choice->candidates[5].option.axis,
                    ISO_SHARD_OUT_CHANNEL);
    CU_ASSERT_EQUAL(posed.choice->candidates[5].moved_bytes, 40927232);
    end_posed(&posed);
}

/* ---- Workers ---- */

static void test_best_subset(void)
{
    posed_t posed;

    pose(&posed, SPEC_CONV, RATES(1e3, 1e9, 1e9));
    posed.question.whole_elements_per_s = 1e6;
    choose(&posed);
    check_chosen(&posed, ISO_SHARD_BATCH, 2);
    CU_ASSERT_EQUAL(chosen_of(&posed)->ranks[0], 1);
    CU_ASSERT_EQUAL(chosen_of(&posed)->ranks[1], 2);
    check_near(chosen_of(&posed)->compute_seconds, 2304 / 1e9);
    /* Ranks are what the workers say. */
    posed.workers[1].rank = 9;
    posed.workers[2].rank = 4;
    choose(&posed);
    CU_ASSERT_EQUAL(chosen_of(&posed)->ranks[0], 9);
    CU_ASSERT_EQUAL(chosen_of(&posed)->ranks[1], 4);
    end_posed(&posed);
}

static void test_proportional(void)
{
    static const int64_t ends[] = {5, 6, 7, 8};
    posed_t posed;

    pose(&posed, SPEC_CONV, RATES(4e6, 1e6, 1e6, 1e6));
    posed.question.whole_elements_per_s = 4e6;
    choose(&posed);
    check_chosen(&posed, ISO_SHARD_BATCH, 4);
    check_near(chosen_of(&posed)->compute_seconds, 0.72e-3);
    for (int i = 0; i < 4; i++) {
        CU_ASSERT_EQUAL(chosen_of(&posed)->option.ranges[i].end, ends[i]);
        CU_ASSERT_EQUAL(chosen_of(&posed)->ranks[i], i);
    }
    posed.question.equal_pieces = true;
    choose(&posed);
    check_whole(&posed, 4608 / 4e6, "the whole op is fastest");
    end_posed(&posed);
}

/* A worker whose share would be nothing is no reason to give it one. */
static void test_tiny_share(void)
{
    posed_t posed;

    pose(&posed, SPEC_CONV, RATES(1e9, 1.0, 1e9));
    posed.question.whole_elements_per_s = 1.0;
    posed.question.op.axes = ISO_SHARD_BIT(BATCH);
    choose(&posed);
    check_chosen(&posed, ISO_SHARD_BATCH, 2);
    CU_ASSERT_EQUAL(chosen_of(&posed)->ranks[1], 2);
    /* 3 in equal pieces: its price is that of the slow one. */
    check_near(posed.choice->candidates[1].compute_seconds, 4608.0 * 3 / 8);
    check_text(posed.choice->candidates[1].reason, "not less than");
    /* 4 samples on 4 workers; there are 3. */
    check_text(posed.choice->candidates[2].reason,
               "needs 4 workers, 3 can be ranked");
    CU_ASSERT_PTR_NULL(posed.choice->candidates[2].ranks);
    CU_ASSERT(isinf(posed.choice->candidates[2].seconds));
    CU_ASSERT_EQUAL(posed.choice->candidates[2].moved_bytes, 35840);
    CU_ASSERT_EQUAL(posed.choice->n_candidates, 3);
    end_posed(&posed);
}

static void test_excluded(void)
{
    const iso_shard_excluded_t *excluded;
    posed_t posed;

    pose(&posed, SPEC_CONV,
         RATES(1e6, 0, 1e6, 1e9, (double)NAN, -1, 1e6, (double)INFINITY));
    posed.workers[3].cost_class = ISO_COST_UNCALIBRATED;
    posed.workers[6].cost_class = ISO_COST_DEFAULT;
    posed.workers[6].rank = 77;
    posed.question.whole_elements_per_s = 5e4;
    posed.question.op.axes = ISO_SHARD_CLASSIC_AXES;
    choose(&posed);
    CU_ASSERT_EQUAL_FATAL(posed.choice->n_excluded, 5);
    excluded = posed.choice->excluded;
    CU_ASSERT_STRING_EQUAL(excluded[0].name, "w1");
    check_text(excluded[0].reason, "its rate is 0 elements/s");
    CU_ASSERT_STRING_EQUAL(excluded[1].name, "w3");
    CU_ASSERT_EQUAL(excluded[1].rank, 3);
    check_text(excluded[1].reason, "uncalibrated");
    check_text(excluded[2].reason, "nan");
    check_text(excluded[3].reason, "-1");
    check_text(excluded[4].reason, "inf");
    check_chosen(&posed, ISO_SHARD_BATCH, 3);
    CU_ASSERT_EQUAL(chosen_of(&posed)->ranks[2], 77);

    for (int i = 0; i < 8; i++) {
        posed.workers[i].cost_class = ISO_COST_UNCALIBRATED;
    }
    choose(&posed);
    check_whole(&posed, 4608 / 5e4, "none of 8 workers is rankable");
    CU_ASSERT_EQUAL(posed.choice->n_excluded, 8);
    CU_ASSERT_EQUAL(posed.choice->n_candidates, 6);
    CU_ASSERT_PTR_NULL(posed.choice->candidates[0].ranks);
    end_posed(&posed);
}

/* ---- Whole, ties ---- */

static void test_unshardable(void)
{
    posed_t posed;

    pose(&posed, "x = input f32[8,8]\ny = relu(x)\n", RATES(1e6, 1e6));
    posed.question.whole_elements_per_s = 1e6;
    choose(&posed);
    check_whole(&posed, 64e-6, "'y' (relu) offers no shard options");
    CU_ASSERT_EQUAL(posed.choice->n_candidates, 0);
    posed.question.most_shards = 1;
    choose(&posed);
    CU_ASSERT_EQUAL(posed.choice->chosen, ISO_SHARD_WHOLE);
    end_posed(&posed);

    pose(&posed, CONV("N,4,8,8", "16,4,3,3", ""), RATES(1e6, 1e6));
    posed.question.whole_elements_per_s = 1e6;
    choose(&posed);
    CU_ASSERT_EQUAL(posed.choice->chosen, ISO_SHARD_WHOLE);
    CU_ASSERT(isnan(posed.choice->whole_seconds));
    end_posed(&posed);
}

static void test_ties(void)
{
    posed_t posed;

    /* Rows and cols of a square product: the same price. */
    pose(&posed, MATMUL("64,64", "64,64"), RATES(1e6, 1e6, 1e6));
    posed.question.whole_elements_per_s = 1e3;
    posed.question.most_shards = 2;
    choose(&posed);
    check_chosen(&posed, ISO_SHARD_ROWS, 2);
    CU_ASSERT_EQUAL(posed.choice->candidates[1].seconds, posed.choice->seconds);
    /* Equal workers: the first ones. */
    CU_ASSERT_EQUAL(chosen_of(&posed)->ranks[0], 0);
    CU_ASSERT_EQUAL(chosen_of(&posed)->ranks[1], 1);
    /* Whole at the same price. */
    posed.question.flat_link = (iso_link_t){0, (double)INFINITY, 0.0, 0};
    posed.question.whole_elements_per_s = 2e6;
    choose(&posed);
    check_whole(&posed, 4096 / 2e6, "the whole op is fastest");
    /* As many shards as workers when not said. */
    posed.question.most_shards = 0;
    choose(&posed);
    check_chosen(&posed, ISO_SHARD_ROWS, 3);
    end_posed(&posed);
}

/* ---- Errors ---- */

static void test_errors(void)
{
    iso_machine_t *machine = machine_of(2, 0);
    posed_t posed;

    pose(&posed, SPEC_CONV, RATES(1e6, 1e6, 1e6));
    posed.workers[2].rank = 0;
    CU_ASSERT_EQUAL(iso_shard_choose(&posed.question, &posed.choice),
                    ISO_INVAL);
    CU_ASSERT(test_failed_with("workers 'w0' and 'w2' both have rank 0"));
    posed.workers[2].rank = 2;
    posed.question.machine = machine;
    CU_ASSERT_EQUAL(iso_shard_choose(&posed.question, &posed.choice),
                    ISO_INVAL);
    CU_ASSERT(test_failed_with("w2 has rank 2"));
    posed.question.root = -1;
    CU_ASSERT_EQUAL(iso_shard_choose(&posed.question, &posed.choice),
                    ISO_INVAL);
    CU_ASSERT(test_failed_with("the root has rank -1"));
    posed.question.machine = NULL;
    posed.question.most_shards = ISO_SHARD_MOST + 1;
    CU_ASSERT_EQUAL(iso_shard_choose(&posed.question, &posed.choice),
                    ISO_INVAL);
    CU_ASSERT(test_failed_with("shards of an op"));
    posed.question.n_workers = ISO_SHARD_MOST + 1;
    CU_ASSERT_EQUAL(iso_shard_choose(&posed.question, &posed.choice),
                    ISO_INVAL);
    CU_ASSERT(test_failed_with("1025 workers"));
    CU_ASSERT_PTR_NULL(posed.choice);
    end_posed(&posed);
    iso_machine_destroy(&machine);
}

static void test_out_of_memory(void)
{
    posed_t posed;

    pose(&posed, CONV("32,64,32,32", "64,64,3,3", ""),
         RATES(1e9, 2e9, 1e9, 0, 1e9, 1e9));
    posed.question.most_shards = 0;

    int64_t blocks = iso_mem_count().blocks;
    iso_status_t status = ISO_NOMEM;
    int failures = 0;

    for (int64_t n = 1; status == ISO_NOMEM && n < 100; n++) {
        iso_mem_fail_at(n);
        status = iso_shard_choose(&posed.question, &posed.choice);
        iso_mem_fail_at(0);
        failures += status == ISO_NOMEM ? 1 : 0;
        CU_ASSERT_EQUAL(posed.choice == NULL, status != ISO_OK);
        iso_shard_choice_destroy(&posed.choice);
        CU_ASSERT_EQUAL(iso_mem_count().blocks, blocks);
    }
    CU_ASSERT_EQUAL(status, ISO_OK);
    CU_ASSERT(failures >= 5);
    end_posed(&posed);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"table", test_table},
        {"residency", test_residency},
        {"best subset", test_best_subset},
        {"in proportion", test_proportional},
        {"tiny share", test_tiny_share},
        {"excluded", test_excluded},
        {"unshardable", test_unshardable},
        {"ties", test_ties},
        {"errors", test_errors},
        {"out of memory", test_out_of_memory},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"shard_choose", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
