/*
 * The arrangement against all others: on small random stages and machines
 * every combination of the choices is lowered to local graphs and priced.
 */
#include "isotome/error.h"

#include "arrange_price.h"
#include "base/text.h"
#include "graph_text.h"
#include "iso_test.h"
#include "iso_test_call.h"
#include "plan/shard/arrange_impl.h"
#include "plan/shard/exchange.h"
#include "stage_samples.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    SEED = 16180339,
    TRIALS = 250,
    MOST_COMBINATIONS = 2500,
    MOST_NODES = 4,
    MOST_WORKERS = 5,
};

static uint64_t random_state = SEED;

static int64_t between(int64_t least, int64_t most)
{
    return test_random_int(&random_state, least, most);
}

/* 10^exponent, where exponent lies in [least, most]. */
static double power_of_ten(int least, int most)
{
    const double fraction = (double)between(0, 1000) / 1000.0;

    return pow(10.0, (double)between(least, most - 1) + fraction);
}

/* -- machines and stages -- */

static void set_random_rank(iso_machine_t *machine, int rank, double flops,
                            double bytes)
{
    iso_machine_rank_t facts = *iso_machine_rank(machine, rank);

    facts.flops_per_s = flops;
    facts.memory_bytes_per_s = bytes;
    CU_ASSERT_EQUAL(iso_machine_set_rank(machine, rank, &facts), ISO_OK);
}

/* Workers alike, or each of its own speed; links from instant to hopeless. */
static iso_machine_t *random_machine(int n_workers)
{
    iso_machine_t *machine = NULL;
    const bool alike = between(0, 1) == 0;
    const double flops = power_of_ten(6, 10);

    CU_ASSERT_EQUAL_FATAL(iso_machine_default(n_workers, 2, 0, &machine),
                          ISO_OK);
    for (int i = 0; i < n_workers; i++) {
        set_random_rank(machine, i, alike ? flops : power_of_ten(6, 9),
                        flops * 10.0);
    }
    for (int kind = 0; kind < ISO_LINK_KIND_COUNT; kind++) {
        iso_link_figures_t figures =
            *iso_machine_link_figures(machine, (iso_link_kind_t)kind);
        figures.link =
            (iso_link_t){power_of_ten(-8, -2), power_of_ten(5, 10),
                         power_of_ten(-8, -2), (size_t)between(0, 4096)};
        iso_machine_set_link(machine, (iso_link_kind_t)kind, &figures);
    }
    return machine;
}

/* Each keeps the shape of the value before it, so that any order is legal. */
static void add_image_node(iso_text_t *text, int i, int channels)
{
    switch (between(0, 4)) {
    case 0:
        iso_text_add(text, "w%d = param f32[%d,%d,3,3]\n", i, channels,
                     channels);
        iso_text_add(text, "y%d = conv(y%d, w%d) pads=i:1,1,1,1\n", i, i - 1,
                     i);
        return;
    case 1:
        iso_text_add(text, "w%d = param f32[%d,%d,1,1]\n", i, channels,
                     channels);
        iso_text_add(text, "y%d = conv(y%d, w%d)\n", i, i - 1, i);
        return;
    case 2:
        iso_text_add(text, "y%d = softmax(y%d) axis=i:1\n", i, i - 1);
        return;
    case 3:
        iso_text_add(text, "y%d = max_pool(y%d) kernel=i:3,3 pads=i:1,1,1,1\n",
                     i, i - 1);
        return;
    default:
        iso_text_add(text, "y%d = relu(y%d)\n", i, i - 1);
    }
}

static void add_matrix_node(iso_text_t *text, int i, int width)
{
    switch (between(0, 4)) {
    case 0:
    case 1:
        iso_text_add(text, "w%d = param f32[%d,%d]\n", i, width, width);
        iso_text_add(text, "y%d = matmul(y%d, w%d)\n", i, i - 1, i);
        return;
    case 2:
        iso_text_add(text, "y%d = softmax(y%d)\n", i, i - 1);
        return;
    case 3:
        iso_text_add(text, "y%d = exp(y%d)\n", i, i - 1);
        return;
    default:
        iso_text_add(text, "y%d = tanh(y%d)\n", i, i - 1);
    }
}

/* A few nodes, each reading the one before; with is_chain false some add an
 * earlier one, and one in the middle is an output. */
static iso_graph_t *random_stage(bool is_chain)
{
    iso_text_t text = {0};
    const bool is_image = between(0, 1) == 0;
    const int size = (int)(is_image ? between(1, 9) : between(1, 700));
    const int n = (int)between(1, MOST_NODES);

    if (is_image) {
        iso_text_add(&text, "y0 = input f32[%d,%d,%d,5]\n", (int)between(1, 9),
                     size, (int)between(1, 12));
    } else {
        iso_text_add(&text, "y0 = input f32[%d,%d]\n", (int)between(1, 40),
                     size);
    }
    for (int i = 1; i <= n; i++) {
        if (!is_chain && i > 1 && (i == n || between(0, 2) == 0)) {
            iso_text_add(&text, "y%d = add(y%d, y%d)\n", i, i - 1,
                         (int)between(0, i - 2));
        } else if (is_image) {
            add_image_node(&text, i, size);
        } else {
            add_matrix_node(&text, i, size);
        }
    }
    if (!is_chain && between(0, 1) == 0) {
        iso_text_add(&text, "return y%d\n", (int)between(0, n - 1));
    }
    iso_text_add(&text, "return y%d\n", n);

    iso_graph_t *stage = stage_of_text(text.data);

    iso_text_free(&text);
    return stage;
}

/* -- all combinations -- */

static const iso__choices_t *choices_at(const iso__arrange_t *arrange,
                                        iso_node_id_t id)
{
    return iso__is_weight(iso_graph_node(arrange->stage, id))
               ? NULL
               : iso__choices_at(arrange, id);
}

static int64_t count_combinations(const iso__arrange_t *arrange)
{
    int64_t count = 1;

    for (iso_node_id_t id = 0; id < iso_graph_node_count(arrange->stage);
         id++) {
        const iso__choices_t *choices = choices_at(arrange, id);
        count *= choices == NULL ? 1 : choices->count;
    }
    return count;
}

/* The combination of a number, written digit by digit. */
static void set_combination(const iso__arrange_t *arrange, int64_t number,
                            iso_stage_cut_t *cut)
{
    for (iso_node_id_t id = 0; id < cut->n_nodes; id++) {
        const iso__choices_t *choices = choices_at(arrange, id);
        if (choices != NULL) {
            cut->nodes[id] = choices->list[number % choices->count].cut;
            number /= choices->count;
        }
    }
}

static double least_of_all(const iso_graph_t *stage,
                           const iso_arrange_options_t *options,
                           int64_t *count_out)
{
    iso__arrange_t arrange;
    iso_stage_cut_t *cut = NULL;
    double least_s = INFINITY;

    CU_ASSERT_EQUAL_FATAL(iso__arrange_prepare(stage, options, &arrange),
                          ISO_OK);
    CU_ASSERT_EQUAL_FATAL(iso_stage_cut_create(stage, options->n_workers, &cut),
                          ISO_OK);
    *count_out = count_combinations(&arrange);
    for (int64_t i = 0; *count_out <= MOST_COMBINATIONS && i < *count_out;
         i++) {
        set_combination(&arrange, i, cut);
        CU_ASSERT_EQUAL(iso_stage_cut_check(cut, stage), ISO_OK);
        least_s = fmin(least_s, arrange_price(stage, options, cut));
    }
    iso_stage_cut_destroy(&cut);
    iso__arrange_free(&arrange);
    return least_s;
}

static bool is_near(double found, double expected)
{
    return fabs(found - expected) <= 1e-9 * fabs(expected) + 1e-30;
}

static void print_case(const iso_graph_t *stage, int n_workers, double found_s,
                       double expected_s)
{
    (void)fprintf(stderr, "%d workers: %.15g s, expected %.15g s\n", n_workers,
                  found_s, expected_s);
    for (iso_node_id_t id = 0; id < iso_graph_node_count(stage); id++) {
        const iso_node_t *node = iso_graph_node(stage, id);
        char shape[ISO_SHAPE_TEXT_BYTES];
        (void)fprintf(stderr, "  %s = %s %s\n", node->name,
                      iso_op_string(node->op),
                      iso_shape_text(&node->shape, shape));
    }
}

/* The predicted seconds are those of the cut, and no cut takes less. False
 * when there were too many to try. */
static bool expect_best(const iso_graph_t *stage,
                        const iso_arrange_options_t *options)
{
    iso_stage_cut_t *cut = NULL;
    double seconds = -1.0;
    int64_t count = 0;

    CU_ASSERT_EQUAL_FATAL(iso_arrange(stage, options, &cut, &seconds), ISO_OK);
    CU_ASSERT_EQUAL(iso_stage_cut_check(cut, stage), ISO_OK);
    const double price_s = arrange_price(stage, options, cut);
    const double least_s = least_of_all(stage, options, &count);

    if (!is_near(seconds, price_s)) {
        CU_FAIL("seconds of the cut");
        print_case(stage, options->n_workers, seconds, price_s);
    }
    if (count <= MOST_COMBINATIONS && !is_near(seconds, least_s)) {
        CU_FAIL("not the best cut");
        print_case(stage, options->n_workers, seconds, least_s);
    }
    iso_stage_cut_destroy(&cut);
    return count <= MOST_COMBINATIONS;
}

static void expect_best_of_many(bool is_chain)
{
    static const int ranks[] = {0, 1, 2, 3, 4};
    int n_tried = 0;

    for (int i = 0; i < TRIALS; i++) {
        const uint64_t state = random_state;
        const int n_workers = (int)between(1, MOST_WORKERS);
        iso_machine_t *machine = random_machine(n_workers);
        iso_graph_t *stage = random_stage(is_chain);
        const iso_arrange_options_t options = {
            .machine = machine, .ranks = ranks, .n_workers = n_workers};
        const unsigned before = CU_get_number_of_failures();

        n_tried += expect_best(stage, &options);
        if (CU_get_number_of_failures() != before) {
            (void)fprintf(stderr, "random state %llu\n",
                          (unsigned long long)state);
        }
        iso_graph_destroy(&stage);
        iso_machine_destroy(&machine);
    }
    CU_ASSERT(n_tried > TRIALS / 4);
}

static void test_chains(void)
{
    expect_best_of_many(true);
}

static void test_small_graphs(void)
{
    expect_best_of_many(false);
}

/* Larger stages of all ops: the seconds are still those of the cut. */
static void test_seconds_of_random_stages(void)
{
    static const int ranks[] = {4, 2, 0, 1, 3};

    for (int i = 0; i < TRIALS; i++) {
        const uint64_t state = random_state;
        iso_machine_t *machine = random_machine(MOST_WORKERS);
        iso_graph_t *stage = stage_random(&random_state, between(1, 8));
        const iso_arrange_options_t options = {
            .machine = machine,
            .ranks = ranks,
            .n_workers = (int)between(1, MOST_WORKERS)};
        iso_stage_cut_t *cut = NULL;
        double seconds = -1.0;

        CU_ASSERT_EQUAL_FATAL(iso_arrange(stage, &options, &cut, &seconds),
                              ISO_OK);
        CU_ASSERT_EQUAL(iso_stage_cut_check(cut, stage), ISO_OK);
        const double price_s = arrange_price(stage, &options, cut);
        if (!is_near(seconds, price_s)) {
            CU_FAIL("seconds of the cut");
            print_case(stage, options.n_workers, seconds, price_s);
            (void)fprintf(stderr, "random state %llu\n",
                          (unsigned long long)state);
        }
        iso_stage_cut_destroy(&cut);
        iso_graph_destroy(&stage);
        iso_machine_destroy(&machine);
    }
}

int main(void)
{
    static CU_TestInfo tests[] = {
        {"chains", test_chains},
        {"small graphs", test_small_graphs},
        {"seconds of random stages", test_seconds_of_random_stages},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"arrange_exact", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    (void)printf("seed %d\n", (int)SEED);
    return iso_test_main(suites);
}
