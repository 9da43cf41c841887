/*
 * Seconds to arrange a stage of about 5,000 nodes on 1 to 64 workers. Not a
 * test.
 *
 *     bench_arrange [--quick]
 *
 * Three graphs (bench_graphs.h): a residual network of convolutions (batch
 * 16), blocks of attention (batch 4), and 500 nodes of convolutions of which
 * no two are alike. Each is done three times; the median of the processor
 * time is printed.
 */
#include "bench.h"
#include "bench_graphs.h"
#include "plan/shard/arrange.h"

#include <stdio.h>
#include <stdlib.h>

enum { REPEATS = 3, NODES = 5000, WORKERS_PER_HOST = 16, QUICK_SHARE = 50 };

static bool is_quick;

static int count_cut(const iso_stage_cut_t *cut)
{
    int n = 0;

    for (int32_t i = 0; i < cut->n_nodes; i++) {
        n += cut->nodes[i].kind != ISO_CUT_ONE;
    }
    return n;
}

static void measure(const char *what, const iso_graph_t *graph, int n_workers)
{
    int ranks[64];
    double seconds[REPEATS];
    double predicted_s = 0.0;
    iso_machine_t *machine = NULL;
    int n_cut = 0;

    for (int i = 0; i < n_workers; i++) {
        ranks[i] = i;
    }
    bench_need(iso_machine_default(n_workers, WORKERS_PER_HOST, 0, &machine));
    const iso_arrange_options_t options = {
        .machine = machine, .ranks = ranks, .n_workers = n_workers};

    for (int i = 0; i < REPEATS; i++) {
        iso_stage_cut_t *cut = NULL;
        const double begin_s = bench_cpu_s();
        bench_need(iso_arrange(graph, &options, &cut, &predicted_s));
        seconds[i] = bench_cpu_s() - begin_s;
        n_cut = count_cut(cut);
        iso_stage_cut_destroy(&cut);
    }
    (void)printf("%-10s %5d nodes, %2d workers: %6.3f s to arrange; %4d nodes "
                 "cut, %.3f s predicted\n",
                 what, iso_graph_node_count(graph), n_workers,
                 iso_timing_of(seconds, REPEATS).median_s, n_cut, predicted_s);
    iso_machine_destroy(&machine);
}

static void run(const char *what, bench_make_t *make, const char *batch,
                int n_nodes)
{
    static const int counts[] = {1, 2, 4, 8, 64};
    iso_graph_t *graph =
        bench_graph(make, batch, is_quick ? n_nodes / QUICK_SHARE : n_nodes);

    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        measure(what, graph, counts[i]);
    }
    iso_graph_destroy(&graph);
}

int main(int argc, char **argv)
{
    const bench_option_t options[] = {{"--quick", NULL, NULL, &is_quick}};

    bench_parse(argc, argv, 1, options);
    bench_print_machine();
    run("residual", bench_make_residual, "16", NODES);
    run("attention", bench_make_attention, "4", NODES);
    run("different", bench_make_different, "16", NODES / 10);
    return EXIT_SUCCESS;
}
