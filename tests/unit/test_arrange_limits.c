/* Arranging at the limits: figures, memory, wrong arguments, random cuts. */
#include "isotome/error.h"

#include "arrange_sample.h"
#include "base/mem.h"
#include "iso_test.h"
#include "iso_test_call.h"
#include "iso_test_graph.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SEED = 141421, TRIALS = 200 };

static uint64_t random_state = SEED;

static void test_more_workers_than_rows(void)
{
    arrange_sample_t sample;

    arrange_begin(&sample, 8,
                  "x = input f32[3,1]\n"
                  "w = param f32[1,2]\n"
                  "y = matmul(x, w)\n"
                  "z = reshape(y) shape=d:6\n"
                  "return z\n");
    arrange_again(&sample);
    arrange_set_links(&sample, 0.0, 1e300);
    arrange_set_rank(&sample, 0, 1e-9, ISO_COST_MEASURED);
    arrange_again(&sample);
    arrange_end(&sample);
}

/* Figures at the ends of what a machine may have. */
static void test_hostile_machines(void)
{
    static const double latencies[] = {0.0, 1e-300, 1e308};
    static const double rates[] = {1e-300, 1.0, 1e308};
    arrange_sample_t sample;

    arrange_begin_convolutions(&sample, 4, 8);
    for (int i = 0; i < 27; i++) {
        const double speed = rates[i / 9] / 1e12;
        arrange_set_links(&sample, latencies[i % 3], rates[i / 3 % 3]);
        arrange_set_rank(&sample, 1, speed > 0.0 ? speed : 1e-300,
                         ISO_COST_MEASURED);
        CU_ASSERT_EQUAL_FATAL(arrange_try(&sample), ISO_OK);
        CU_ASSERT_EQUAL(iso_stage_cut_check(sample.cut, sample.stage), ISO_OK);
        CU_ASSERT(sample.seconds <=
                  arrange_seconds_of_one(&sample) * (1.0 + 1e-9));
    }
    arrange_end(&sample);
}

/* Nothing to compute, nothing in it. */
static void test_empty_stages(void)
{
    arrange_sample_t sample;

    arrange_begin(&sample, 4, "x = input f32[4,4]\nreturn x\n");
    arrange_again(&sample);
    arrange_expect_all_one(&sample);
    arrange_expect_exchanges(&sample, "");
    arrange_end(&sample);
    arrange_begin(&sample, 4,
                  "x = input f32[0,4]\ny = relu(x)\nw = param f32[4,0]\n"
                  "z = matmul(y, w)\nreturn z\n");
    arrange_again(&sample);
    arrange_end(&sample);
}

/* -- memory -- */

static const char *const dense = "x = input f32[4,4096]\n"
                                 "w1 = param f32[4096,4096]\n"
                                 "w2 = param f32[4096,4096]\n"
                                 "w3 = param f32[4096,1000]\n"
                                 "b = param f32[4096]\n"
                                 "y1 = matmul(x, w1, b) activation=t:relu\n"
                                 "y2 = matmul(y1, w2, b) activation=t:relu\n"
                                 "y3 = matmul(y2, w3)\n"
                                 "return y3\n";

static double weight_bytes(const arrange_sample_t *sample)
{
    double bytes = 0.0;

    for (iso_node_id_t id = 0; id < iso_graph_node_count(sample->stage); id++) {
        const iso_node_t *node = iso_graph_node(sample->stage, id);
        if (node->op == ISO_OP_PARAM) {
            bytes += 4.0 * (double)iso_shape_count(&node->shape);
        }
    }
    return bytes;
}

/* With so many bytes on each of 4 workers; the most weights that one loads. */
static double most_weights_within(arrange_sample_t *sample, double bytes)
{
    const size_t limit = (size_t)bytes;
    const size_t limits[4] = {limit, limit, limit, limit};
    double most = 0.0;

    sample->options.memory_bytes = limits;
    arrange_again(sample);
    sample->options.memory_bytes = NULL;
    for (int i = 0; i < 4; i++) {
        most = fmax(most, arrange_weight_bytes(sample->stage, sample->cut, i));
    }
    return most;
}

/* On a link too slow for it to pay, weights are cut because they must be, and
 * no more of them than that. */
static void test_memory_limit(void)
{
    arrange_sample_t sample;

    arrange_begin(&sample, 4, dense);
    arrange_set_links(&sample, 10.0, 1e6);
    arrange_again(&sample);
    arrange_expect_all_one(&sample);
    const double all = weight_bytes(&sample);
    const double most = most_weights_within(&sample, 0.6 * all);

    CU_ASSERT(most_weights_within(&sample, 0.3 * all) < 0.3 * all);
    CU_ASSERT(most < 0.6 * all);
    CU_ASSERT(most > 0.3 * all);
    CU_ASSERT_EQUAL(most_weights_within(&sample, 1.1 * all), all);
    arrange_end(&sample);
}

static void test_does_not_fit(void)
{
    static const size_t limits[2] = {1000, 2000};
    arrange_sample_t sample;

    arrange_begin(&sample, 2, dense);
    sample.options.memory_bytes = limits;
    CU_ASSERT_EQUAL(arrange_try(&sample), ISO_INVAL);
    CU_ASSERT(test_failed_with("does not fit on its 2 workers: worker 0 "
                               "(rank 0) would need about "));
    CU_ASSERT(test_failed_with("but has 1000 B; use"));
    CU_ASSERT_PTR_NULL(sample.cut);
    arrange_end(&sample);
}

/* -- all stages -- */

static bool cuts_equal(const iso_stage_cut_t *a, const iso_stage_cut_t *b)
{
    for (iso_node_id_t id = 0; id < a->n_nodes; id++) {
        const iso_node_cut_t *x = &a->nodes[id];
        const iso_node_cut_t *y = &b->nodes[id];
        const size_t bytes = (size_t)a->n_workers * sizeof *x->ranges;
        if (x->kind != y->kind || x->axis != y->axis ||
            (x->ranges == NULL) != (y->ranges == NULL) ||
            (x->ranges != NULL && memcmp(x->ranges, y->ranges, bytes) != 0)) {
            return false;
        }
    }
    return true;
}

/* Twice the same, whatever lies in memory. */
static void test_same_every_time(void)
{
    for (int i = 0; i < TRIALS / 4; i++) {
        arrange_sample_t sample;
        iso_stage_cut_t *again = NULL;
        double seconds = 0.0;

        arrange_begin_random(&sample, 2 + i % (ARRANGE_MOST_WORKERS - 1),
                             &random_state, 1 + i % 9);
        arrange_set_rank(&sample, 0, 1e-3, ISO_COST_MEASURED);
        arrange_again(&sample);
        void *block = iso_alloc((size_t)i);
        CU_ASSERT_EQUAL_FATAL(
            iso_arrange(sample.stage, &sample.options, &again, &seconds),
            ISO_OK);
        CU_ASSERT(cuts_equal(sample.cut, again));
        CU_ASSERT_EQUAL(sample.seconds, seconds);
        iso_free(block);
        iso_stage_cut_destroy(&again);
        arrange_end(&sample);
    }
}

static void test_wrong_options(void)
{
    static const int wrong_ranks[] = {0, 2};
    arrange_sample_t sample;

    arrange_begin(&sample, 2, dense);
    sample.options.ranks = wrong_ranks;
    CU_ASSERT_EQUAL(arrange_try(&sample), ISO_INVAL);
    CU_ASSERT(test_failed_with("worker 1 is rank 2, expected one of the "
                               "machine's 2 ranks"));
    sample.options.n_workers = 0;
    CU_ASSERT_EQUAL(arrange_try(&sample), ISO_INVAL);
    CU_ASSERT(test_failed_with("a stage of 0 workers, expected at least 1"));
    CU_ASSERT_EQUAL(iso_arrange_random(sample.stage, 0, 1, &sample.cut),
                    ISO_INVAL);
    CU_ASSERT_PTR_NULL(sample.cut);
    arrange_end(&sample);
}

/* Every allocation fails once; nothing is left behind. */
static void test_out_of_memory(void)
{
    arrange_sample_t sample;
    iso_status_t status = ISO_NOMEM;

    arrange_begin_convolutions(&sample, 3, 4);
    for (int64_t i = 1; status == ISO_NOMEM; i++) {
        const int64_t blocks = iso_mem_count().blocks;
        iso_mem_fail_at(i);
        status = arrange_try(&sample);
        iso_mem_fail_at(0);
        if (status != ISO_OK) {
            CU_ASSERT_EQUAL(status, ISO_NOMEM);
            CU_ASSERT_PTR_NULL(sample.cut);
            CU_ASSERT_EQUAL(iso_mem_count().blocks, blocks);
        }
    }
    CU_ASSERT_EQUAL(status, ISO_OK);
    arrange_end(&sample);
}

/* -- random cuts -- */

static void test_random_cuts(void)
{
    int64_t kinds[4] = {0};
    int64_t n_empty = 0;

    for (int i = 0; i < TRIALS; i++) {
        arrange_sample_t sample;
        iso_stage_cut_t *again = NULL;
        const int n_workers = 1 + i % ARRANGE_MOST_WORKERS;
        const uint64_t seed = test_random(&random_state);

        arrange_begin_random(&sample, n_workers, &random_state, 1 + i % 7);
        CU_ASSERT_EQUAL_FATAL(
            iso_arrange_random(sample.stage, n_workers, seed, &sample.cut),
            ISO_OK);
        CU_ASSERT_EQUAL(iso_stage_cut_check(sample.cut, sample.stage), ISO_OK);
        CU_ASSERT_EQUAL_FATAL(
            iso_arrange_random(sample.stage, n_workers, seed, &again), ISO_OK);
        CU_ASSERT(cuts_equal(sample.cut, again));
        for (iso_node_id_t id = 0; id < again->n_nodes; id++) {
            const iso_node_cut_t *cut = &again->nodes[id];
            kinds[cut->kind]++;
            n_empty += cut->ranges != NULL &&
                       iso_range_length(cut->ranges[n_workers - 1]) == 0;
        }
        iso_stage_cut_destroy(&again);
        arrange_end(&sample);
    }
    for (int kind = 0; kind < 4; kind++) {
        CU_ASSERT(kinds[kind] > 0);
    }
    CU_ASSERT(n_empty > 0);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        {"more workers than rows", test_more_workers_than_rows},
        {"hostile machines", test_hostile_machines},
        {"empty stages", test_empty_stages},
        {"memory limit", test_memory_limit},
        {"does not fit", test_does_not_fit},
        {"the same every time", test_same_every_time},
        {"wrong options", test_wrong_options},
        {"out of memory", test_out_of_memory},
        {"random cuts", test_random_cuts},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"arrange_limits", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    (void)printf("seed %d\n", (int)SEED);
    return iso_test_main(suites);
}
