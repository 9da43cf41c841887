/* Plans whose stages have several workers. */
#include "base/json.h"
#include "iso_test_folder.h"
#include "iso_test_memory.h"
#include "plan/plan_local.h"
#include "plan_model.h"

#include <stdbool.h>

static const int two_two[] = {2, 2};
static const int one_three[] = {1, 3};

static void test_ranks(void)
{
    iso_graph_t *graph = make_model("N,64");
    iso_plan_options_t options = {
        .world = 4, .micro_batch = 16, .grid = {2, one_three}};
    iso_plan_t *plan = make_plan(graph, &options);

    CU_ASSERT_EQUAL(iso_plan_used(plan), 4);
    CU_ASSERT_EQUAL(iso_plan_stage_count(plan), 2);
    CU_ASSERT_EQUAL(iso_plan_width(plan, 0), 3);
    CU_ASSERT_EQUAL(iso_plan_width(plan, 1), 1);
    CU_ASSERT_EQUAL(iso_plan_rank_of(plan, 1, 0), 0);
    CU_ASSERT_EQUAL(iso_plan_rank_of(plan, 0, 0), 1);
    CU_ASSERT_EQUAL(iso_plan_rank_of(plan, 0, 2), 3);
    for (int rank = 0; rank < 4; rank++) {
        const iso_plan_part_t *part = iso_plan_part(plan, rank);

        CU_ASSERT_EQUAL(part->rank, rank);
        CU_ASSERT_EQUAL(iso_plan_rank_of(plan, part->stage, part->worker),
                        rank);
        CU_ASSERT(part->worker == 0 || part->receive_bytes == 0);
        CU_ASSERT(part->worker == 0 || part->send_bytes == 0);
    }
    CU_ASSERT_EQUAL(iso_plan_split(plan)->world, 2);
    iso_plan_destroy(&plan);
    iso_graph_destroy(&graph);
}

/* Bytes that workers send sum up to those of the exchanges. */
static void check_bytes(const iso_plan_t *plan)
{
    size_t of_parts = 0;
    size_t of_exchanges = 0;

    for (int rank = 0; rank < iso_plan_used(plan); rank++) {
        of_parts += iso_plan_part(plan, rank)->exchange_bytes;
    }
    for (int i = 0; i < iso_plan_exchange_count(plan); i++) {
        const iso_plan_exchange_t *one = iso_plan_exchange(plan, i);

        of_exchanges += one->bytes;
        CU_ASSERT(i == 0 ||
                  one->stage >= iso_plan_exchange(plan, i - 1)->stage);
    }
    CU_ASSERT_EQUAL(of_parts, of_exchanges);
}

static void test_written_and_read(void)
{
    iso_graph_t *graph = make_model("N,64");

    for (uint64_t seed = 0; seed < 20; seed++) {
        iso_plan_options_t options = {.world = 4,
                                      .micro_batch = 7,
                                      .samples = 50,
                                      .grid = {2, two_two},
                                      .cuts = ISO_CUT_RANDOM,
                                      .seed = seed};
        iso_plan_t *plan = make_plan(graph, &options);
        iso_plan_t *again = NULL;
        char *text = iso_plan_text(plan);
        char *text_again = NULL;

        check_bytes(plan);
        CU_ASSERT_EQUAL_FATAL(iso_plan_write(plan, "plan.json"), ISO_OK);
        CU_ASSERT_EQUAL_FATAL(iso_plan_read("plan.json", graph, &again),
                              ISO_OK);
        CU_ASSERT_EQUAL(iso_plan_digest(plan), iso_plan_digest(again));
        text_again = iso_plan_text(again);
        CU_ASSERT_PTR_NOT_NULL_FATAL(text);
        CU_ASSERT_PTR_NOT_NULL_FATAL(text_again);
        CU_ASSERT_STRING_EQUAL(text, text_again);
        iso_free(text);
        iso_free(text_again);
        iso_plan_destroy(&again);
        iso_plan_destroy(&plan);
    }
    iso_graph_destroy(&graph);
}

/* Two cuts of the same grid are two plans. */
static void test_digest_covers_cuts(void)
{
    iso_graph_t *graph = make_model("N,64");
    iso_plan_options_t options = {.world = 3,
                                  .micro_batch = 9,
                                  .workers = 3,
                                  .cuts = ISO_CUT_RANDOM,
                                  .seed = 1};
    iso_plan_t *one = make_plan(graph, &options);

    options.seed = 2;
    iso_plan_t *two = make_plan(graph, &options);

    options.seed = 1;
    iso_plan_t *three = make_plan(graph, &options);

    CU_ASSERT_NOT_EQUAL(iso_plan_digest(one), iso_plan_digest(two));
    CU_ASSERT_EQUAL(iso_plan_digest(one), iso_plan_digest(three));
    iso_plan_destroy(&one);
    iso_plan_destroy(&two);
    iso_plan_destroy(&three);
    iso_graph_destroy(&graph);
}

/* A rank of the machine gets uncalibrated figures. */
static void spoil(iso_machine_t *machine, int rank)
{
    iso_machine_rank_t facts = *iso_machine_rank(machine, rank);

    facts.cost_class = ISO_COST_UNCALIBRATED;
    CU_ASSERT_EQUAL_FATAL(iso_machine_set_rank(machine, rank, &facts), ISO_OK);
}

/* A worker that cannot be ranked is left out and named; a first worker, who
 * has the stage's inputs, cannot be. */
static void test_uncalibrated(void)
{
    iso_graph_t *graph = make_model("N,64");
    iso_machine_t *machine = make_machine(4);
    iso_plan_options_t options = {
        .world = 4, .micro_batch = 4096, .grid = {2, two_two}};
    iso_plan_t *plan = NULL;

    spoil(machine, 3);
    CU_ASSERT_EQUAL_FATAL(iso_plan_create(graph, machine, &options, &plan),
                          ISO_OK);
    char *text = iso_plan_text(plan);

    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "rank 3 on host1 is uncalibrated"));
    CU_ASSERT_PTR_NULL(strstr(text, "not to be trusted"));
    CU_ASSERT_EQUAL(iso_plan_part(plan, 3)->flops, 0.0);
    CU_ASSERT_EQUAL(iso_plan_part(plan, 3)->weight_bytes, 0);
    CU_ASSERT(iso_plan_part(plan, 2)->flops > 0.0);
    iso_free(text);
    iso_plan_destroy(&plan);

    spoil(machine, 2);
    CU_ASSERT_EQUAL(iso_plan_create(graph, machine, &options, &plan),
                    ISO_INVAL);
    CU_ASSERT(test_failed_with("rank 2 on host1 is uncalibrated"));
    iso_plan_destroy(&plan);
    iso_machine_destroy(&machine);
    iso_graph_destroy(&graph);
}

static const struct {
    int world;
    int stages;
    int workers;
    int n_grid;
    const int *grid;
    const char *message;
} refused[] = {
    {4, 0, 3, 0, NULL, "4 ranks do not make stages of 3 workers"},
    {4, 3, 2, 0, NULL, "3 stages of 2 workers are 6 ranks, but there are 4"},
    {4, 5, 0, 0, NULL, "only 4 ranks"},
    {4, 0, 5, 0, NULL, "only 4 ranks"},
    {8, 7, 0, 0, NULL, "grid of 7 stages for a model of 6 layers"},
    {7, 0, 1, 0, NULL, "grid of 7 stages for a model of 6 layers"},
    {3, 0, 0, 2, two_two, "grid of 4 ranks, but there are 3"},
    {5, 0, 0, 2, two_two, "grid of 4 ranks, but there are 5"},
};

static void test_refused(void)
{
    iso_graph_t *graph = make_model("N,64");

    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        iso_machine_t *machine = make_machine(refused[i].world);
        iso_plan_t *plan = NULL;
        iso_plan_options_t options = {
            .world = refused[i].world,
            .stages = refused[i].stages,
            .workers = refused[i].workers,
            .grid = {refused[i].n_grid, refused[i].grid}};

        CU_ASSERT_EQUAL(iso_plan_create(graph, machine, &options, &plan),
                        ISO_INVAL);
        CU_ASSERT(test_failed_with(refused[i].message));
        CU_ASSERT_PTR_NULL(plan);
        iso_plan_destroy(&plan);
        iso_machine_destroy(&machine);
    }
    iso_graph_destroy(&graph);
}

/* Spare workers go to the ranks of the last layers. */
static void test_stages_alone(void)
{
    iso_graph_t *graph = make_model("N,64");
    iso_plan_options_t options = {.world = 5, .micro_batch = 4, .stages = 3};
    iso_plan_t *plan = make_plan(graph, &options);

    CU_ASSERT_EQUAL(iso_plan_width(plan, 2), 2);
    CU_ASSERT_EQUAL(iso_plan_width(plan, 1), 2);
    CU_ASSERT_EQUAL(iso_plan_width(plan, 0), 1);
    iso_plan_destroy(&plan);
    iso_graph_destroy(&graph);
}

/* What is proposed is not slower than any grid of equal widths. */
static void test_proposed(void)
{
    iso_graph_t *graph = make_model("N,64");
    iso_plan_options_t options = {.world = 6, .samples = 4096, .propose = true};
    iso_plan_t *best = make_plan(graph, &options);

    options.propose = false;
    for (int stages = 1; stages <= 6; stages++) {
        if (6 % stages != 0) {
            continue;
        }
        options.stages = stages;
        options.workers = 6 / stages;
        iso_plan_t *plan = make_plan(graph, &options);

        CU_ASSERT(iso_plan_seconds(best, 0) <= iso_plan_seconds(plan, 0));
        iso_plan_destroy(&plan);
    }
    iso_plan_destroy(&best);
    iso_graph_destroy(&graph);
}

/* Local graphs of a smaller batch: the weights are the plan's, whatever the
 * batch. */
static void test_smaller_batch(void)
{
    iso_graph_t *graph = make_model("N,64");
    iso_plan_options_t options = {
        .world = 4, .micro_batch = 16, .grid = {2, two_two}};
    iso_plan_t *plan = make_plan(graph, &options);

    for (int64_t samples = 1; samples <= 16; samples++) {
        iso_partition_t *partition = NULL;

        CU_ASSERT_EQUAL_FATAL(
            iso_plan_partition(plan, graph, samples, &partition), ISO_OK);
        for (int rank = 0; rank < 4; rank++) {
            iso_plan_local_t local;

            CU_ASSERT_EQUAL_FATAL(
                iso_plan_local_create(plan, partition, rank, &local), ISO_OK);
            CU_ASSERT_EQUAL(local.local->worker,
                            iso_plan_part(plan, rank)->worker);
            iso_plan_local_free(&local);
        }
        iso_partition_destroy(&partition);
    }
    iso_plan_destroy(&plan);
    iso_graph_destroy(&graph);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"ranks", test_ranks},
        {"written and read", test_written_and_read},
        {"digest covers cuts", test_digest_covers_cuts},
        {"refused", test_refused},
        {"stages alone", test_stages_alone},
        {"proposed", test_proposed},
        {"smaller batch", test_smaller_batch},
        {"uncalibrated", test_uncalibrated},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"plan_grid", NULL, NULL, test_remember_blocks, test_check_blocks,
         tests},
        CU_SUITE_INFO_NULL,
    };

    scratch_begin();
    return iso_test_main(suites);
}
