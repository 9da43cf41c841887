/*
 * Seconds to plan a model of about 5,000 nodes for 64 ranks on four hosts: as
 * one stage of 64 workers, 8 stages of 8, 64 stages of 1, and the planner's
 * own choice among all grids of equal widths. Not a test.
 *
 *     bench_plan [--nodes N] [--ranks N] [--repeats N] [--only GRID] [--quick]
 *
 * The graphs are those of bench_graphs.h with a free batch, in layers as an
 * import marks them, the micro-batch is 16. Processor time, medians. --only
 * "8x8", say, does one grid alone, for a profiler.
 */
#include "isotome/plan.h"

#include "bench.h"
#include "bench_graphs.h"
#include "graph/pass.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS_PER_HOST = 16, MICRO_BATCH = 16, REPEATS_MOST = 101 };

/* Much memory, so that a wide pipeline of a large model fits. */
static const size_t host_bytes = (size_t)1 << 40;

static int nodes = 5000;
static int ranks = 64;
static int repeats = 3;
static bool is_quick;
static const char *only;

/* stages 0: the planner chooses. */
static void measure(const char *what, const iso_graph_t *graph,
                    const iso_machine_t *machine, int stages)
{
    const iso_plan_options_t options = {.world = ranks,
                                        .micro_batch = MICRO_BATCH,
                                        .stages = stages,
                                        .propose = stages == 0};
    double seconds[REPEATS_MOST] = {0};
    char grid[32] = "auto";
    int made = 0;

    if (stages > 0) {
        (void)snprintf(grid, sizeof grid, "%dx%d", stages, ranks / stages);
    }
    if ((only != NULL && strcmp(only, grid) != 0) || stages > ranks ||
        stages > iso_graph_layer_count(graph)) {
        return;
    }
    for (int i = 0; i < repeats; i++) {
        iso_plan_t *plan = NULL;
        const double begin_s = bench_cpu_s();

        bench_need(iso_plan_create(graph, machine, &options, &plan));
        seconds[i] = bench_cpu_s() - begin_s;
        made = iso_plan_stage_count(plan);
        iso_plan_destroy(&plan);
    }
    const iso_timing_t timing = iso_timing_of(seconds, repeats);

    (void)printf("%-10s %5d nodes, %4d layers, grid %-5s %7.3f s to plan "
                 "(spread %4.1f %%), %2d stages\n",
                 what, iso_graph_node_count(graph),
                 iso_graph_layer_count(graph), grid, timing.median_s,
                 100.0 * timing.spread, made);
}

static void run(const char *what, bench_make_t *make)
{
    static const int stages[] = {1, 8, 64, 0};
    iso_graph_t *graph = bench_graph(make, "N", nodes);
    iso_machine_t *machine = NULL;

    bench_need(iso_graph_mark_layers(graph));
    bench_need(
        iso_machine_default(ranks, RANKS_PER_HOST, host_bytes, &machine));
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        measure(what, graph, machine, stages[i]);
    }
    iso_machine_destroy(&machine);
    iso_graph_destroy(&graph);
}

int main(int argc, char **argv)
{
    enum { QUICK_NODES = 400, QUICK_RANKS = 16 };
    const bench_option_t options[] = {{"--nodes", NULL, &nodes, NULL},
                                      {"--ranks", NULL, &ranks, NULL},
                                      {"--repeats", NULL, &repeats, NULL},
                                      {"--only", &only, NULL, NULL},
                                      {"--quick", NULL, NULL, &is_quick}};

    bench_parse(argc, argv, 5, options);
    if (is_quick) {
        nodes = QUICK_NODES;
        ranks = QUICK_RANKS;
    }
    repeats = is_quick ? 1 : repeats > REPEATS_MOST ? REPEATS_MOST : repeats;
    bench_print_machine();
    run("residual", bench_make_residual);
    run("attention", bench_make_attention);
    return EXIT_SUCCESS;
}
