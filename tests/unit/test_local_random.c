/* Property: whatever the stage and the cut, all workers together make the
 * bits of the stage run whole. */
#include "isotome/onnx.h"

#include "base/mem.h"
#include "graph/pass.h"
#include "iso_test.h"
#include "iso_test_call.h"
#include "local_checks.h"
#include "stage_samples.h"

#include <stdio.h>

enum { SEED = 271828, TRIALS = 400, MOST_ALLOCATIONS = 5000 };

/* -- random stages and cuts -- */

static void check_trial(int trial)
{
    uint64_t state = (uint64_t)SEED + (uint64_t)trial;
    const unsigned failures = CU_get_number_of_failures();
    const int64_t batch = test_random_int(&state, 1, 5);
    const int n_workers = (int)test_random_int(&state, 1, 5);
    iso_graph_t *stage = stage_random(&state, batch);
    iso_stage_cut_t *cut = stage_random_cut(&state, stage, n_workers);
    local_workers_t workers;

    if (local_workers_make(stage, cut, &workers)) {
        local_check_stage(&workers);
    }
    if (CU_get_number_of_failures() != failures) {
        (void)fprintf(stderr, "trial %d, %d workers\n", trial, n_workers);
    }
    local_workers_free(&workers);
    iso_stage_cut_destroy(&cut);
    iso_graph_destroy(&stage);
}

static void test_random_cuts(void)
{
    const int64_t blocks = iso_mem_count().blocks;

    (void)printf("seed %d ", SEED);
    for (int trial = 0; trial < TRIALS; trial++) {
        check_trial(trial);
    }
    CU_ASSERT_EQUAL(iso_mem_count().blocks, blocks);
}

/* Whichever allocation fails: the status says so and nothing is left. */
static void test_out_of_memory(void)
{
    const int64_t blocks = iso_mem_count().blocks;
    uint64_t state = SEED;
    iso_graph_t *stage = stage_random(&state, 3);
    iso_stage_cut_t *cut = stage_random_cut(&state, stage, 3);
    iso_status_t status = ISO_NOMEM;
    int64_t tries = 0;

    while (status == ISO_NOMEM && tries < MOST_ALLOCATIONS) {
        iso_local_t *local = NULL;

        iso_mem_fail_at(++tries);
        status = iso_local_create(stage, cut, 1, &local);
        iso_mem_fail_at(0);
        CU_ASSERT((status == ISO_OK) == (local != NULL));
        iso_local_destroy(&local);
    }
    CU_ASSERT_EQUAL(status, ISO_OK);
    CU_ASSERT(tries > 10);
    iso_stage_cut_destroy(&cut);
    iso_graph_destroy(&stage);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, blocks);
}

/* -- real models -- */

static void check_model_cut(const iso_graph_t *graph,
                            const iso_weight_source_t *weights, uint64_t seed)
{
    uint64_t state = seed;
    iso_stage_cut_t *cut = stage_random_cut(&state, graph, 3);
    stage_values_t inputs;
    iso_weight_source_t source;
    local_workers_t workers;

    stage_values_begin(&inputs, graph, seed);
    source = stage_values_source(&inputs);
    if (local_workers_make(graph, cut, &workers)) {
        local_check_all(&workers, weights, &source);
    }
    local_workers_free(&workers);
    stage_values_end(&inputs);
    iso_stage_cut_destroy(&cut);
}

static void check_model(const char *path)
{
    const iso_onnx_options_t options = {.seed_weights = true, .seed = 1};
    const int64_t blocks = iso_mem_count().blocks;
    const char **names = NULL;
    iso_onnx_t *onnx = NULL;
    iso_graph_t *graph = NULL;
    iso_weight_source_t weights;
    iso_binding_t batch = {.size = 2};
    int count = 0;

    CU_ASSERT_EQUAL_FATAL(iso_onnx_import(path, &options, &onnx), ISO_OK);
    CU_ASSERT_EQUAL_FATAL(
        iso_graph_free_dims(iso_onnx_graph(onnx), &names, &count), ISO_OK);
    CU_ASSERT_EQUAL_FATAL(count, 1);
    batch.name = names[0];
    CU_ASSERT_EQUAL_FATAL(
        iso_graph_bind(iso_onnx_graph(onnx), &batch, 1, &graph), ISO_OK);
    weights = iso_onnx_weights(onnx);
    check_model_cut(graph, &weights, SEED);
    iso_graph_destroy(&graph);
    iso_free(names);
    iso_onnx_destroy(&onnx);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, blocks);
}

static void test_models(void)
{
    check_model(ISO_TEST_DATA "/fashion_cnn.onnx");
    check_model(ISO_TEST_DATA "/fashion_vit.onnx");
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"random stages and cuts", test_random_cuts},
        {"out of memory", test_out_of_memory},
        {"models", test_models},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"local, any stage", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
