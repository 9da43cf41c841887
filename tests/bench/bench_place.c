/*
 * Seconds to place a graph of about 5,000 nodes on two, three and eight
 * devices by cost. Not a test.
 *
 *     bench_place [--nodes N] [--repeats N] [--quick]
 *
 * The graphs are those of bench_graphs.h and a chain. Prices are "near" (every
 * node takes as long on each device as on the others, give or take, and few
 * crossings are worth it) or "far" (the first half of the graph is faster on
 * one device, the last half on another, and crossings cost so much that it all
 * hangs together). Processor time, medians.
 */
#include "base/mem.h"
#include "base/random.h"
#include "bench.h"
#include "bench_graphs.h"
#include "plan/place/device_cost.h"

#include <stdio.h>
#include <stdlib.h>

enum { REPEATS_MOST = 101, WIDTH = 1024 };

static int nodes = 5000;
static int repeats = 5;
static bool is_quick;

static iso_node_id_t make_chain(iso_graph_t *graph, iso_dim_t batch,
                                int n_nodes)
{
    const iso_shape_t shape = {2, {batch, iso_dim_of(WIDTH)}};
    iso_node_id_t x = ISO_NO_NODE;

    bench_need(iso_graph_add_input(graph, "x", ISO_DTYPE_F32, &shape, &x));
    while (iso_graph_node_count(graph) < n_nodes) {
        const iso_node_id_t from = x;
        const iso_node_spec_t spec = {
            .op = ISO_OP_RELU, .n_inputs = 1, .inputs = &from};

        bench_need(iso_graph_add(graph, &spec, &x));
    }
    return x;
}

typedef struct graph_case {
    const char *name;
    bench_make_t *make;
} graph_case_t;

static const graph_case_t cases[] = {
    {"chain", make_chain},
    {"residual", bench_make_residual},
    {"attention", bench_make_attention},
};

/* seconds [out] (n_nodes, n_devices) */
static void set_near(int32_t n_nodes, int n_devices, double *seconds)
{
    iso_random_t random = {.state = 1};

    for (int64_t i = 0; i < (int64_t)n_nodes * n_devices; i++) {
        seconds[i] = 1e-4 * (1.5 + iso_random_float(&random));
    }
}

static void set_far(int32_t n_nodes, int n_devices, double *seconds)
{
    set_near(n_nodes, n_devices, seconds);
    for (int32_t id = 0; id < n_nodes; id++) {
        const int favourite = (int)((int64_t)id * n_devices / n_nodes);

        seconds[id * n_devices + favourite] *= 0.5;
    }
}

static void measure(const char *name, const iso_graph_t *graph, int n_devices,
                    bool is_far)
{
    const int32_t n = iso_graph_node_count(graph);
    iso_device_prices_t prices = {.n_devices = n_devices};
    double *seconds =
        bench_zeroed((size_t)n * (size_t)n_devices, sizeof(double));
    int *device_of = bench_zeroed((size_t)n, sizeof *device_of);
    double times[REPEATS_MOST];

    (is_far ? set_far : set_near)(n, n_devices, seconds);
    prices.seconds = seconds;
    for (int device = 0; device < n_devices; device++) {
        prices.crossings[device] =
            (iso_crossing_t){device == 0, 1e-5, is_far ? 1e6 : 1e10};
    }
    for (int i = 0; i < repeats; i++) {
        const double begin_s = bench_cpu_s();

        bench_need(iso_device_cost_place(graph, &prices, device_of));
        times[i] = bench_cpu_s() - begin_s;
    }
    (void)printf("%-9s %6d nodes, %d devices, %s: %8.3f s to place\n", name,
                 (int)n, n_devices, is_far ? "far " : "near",
                 iso_timing_of(times, repeats).median_s);
    iso_free(seconds);
    iso_free(device_of);
}

int main(int argc, char **argv)
{
    static const int counts[] = {2, 3, 8};
    const bench_option_t options[] = {{"--nodes", NULL, &nodes, NULL},
                                      {"--repeats", NULL, &repeats, NULL},
                                      {"--quick", NULL, NULL, &is_quick}};

    bench_parse(argc, argv, 3, options);
    if (is_quick) {
        nodes = 300;
        repeats = 1;
    }
    repeats = repeats < REPEATS_MOST ? repeats : REPEATS_MOST;
    bench_print_machine();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        iso_graph_t *graph = bench_graph(cases[i].make, "4", nodes);

        for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
            measure(cases[i].name, graph, counts[k], false);
            measure(cases[i].name, graph, counts[k], true);
        }
        iso_graph_destroy(&graph);
    }
    return EXIT_SUCCESS;
}
