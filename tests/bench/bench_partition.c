/*
 * Seconds to cut graphs of 500,000 and 1,000,000 nodes into 64 stages; twice
 * the nodes should take about twice as long. Not a test.
 *
 *     bench_partition
 *
 * Every node adds the two before it, so that each cut has boundaries, and
 * every hundredth one multiplies with a weight. Each size is done three
 * times; the median of the processor time is printed.
 */
#include "isotome/partition.h"

#include "bench.h"

#include <stdio.h>
#include <stdlib.h>

enum { REPEATS = 3, STAGES = 64, NODES_PER_WEIGHT = 100, NAME_BYTES = 32 };

static iso_status_t add_node(iso_graph_t *graph, int number,
                             iso_node_id_t latest[2])
{
    iso_shape_t shape = iso_shape_of(2, (const int64_t[]){8, 8});
    iso_node_id_t inputs[2] = {latest[0], latest[1]};
    iso_node_spec_t spec = {.op = ISO_OP_ADD, .n_inputs = 2, .inputs = inputs};

    if (number % NODES_PER_WEIGHT == 0) {
        char name[NAME_BYTES];

        (void)snprintf(name, sizeof name, "weight%d", number);
        ISO_TRY(iso_graph_add_param(graph, name, ISO_DTYPE_F32, &shape,
                                    &inputs[1]));
        spec.op = ISO_OP_MATMUL;
    }
    latest[0] = latest[1];
    return iso_graph_add(graph, &spec, &latest[1]);
}

static iso_status_t make_graph(int n_nodes, iso_graph_t *graph)
{
    iso_shape_t shape = iso_shape_of(2, (const int64_t[]){8, 8});
    iso_node_id_t latest[2];

    ISO_TRY(iso_graph_add_input(graph, "x", ISO_DTYPE_F32, &shape, &latest[0]));
    latest[1] = latest[0];
    for (int i = 0; i < n_nodes; i++) {
        ISO_TRY(add_node(graph, i, latest));
    }
    return iso_graph_add_output(graph, "y", latest[1]);
}

static iso_status_t measure(int n_nodes, const iso_graph_t *graph)
{
    double seconds[REPEATS];

    for (int i = 0; i < REPEATS; i++) {
        iso_partition_t *partition = NULL;
        double begin_s = bench_cpu_s();
        ISO_TRY(iso_partition_create(graph, STAGES, &partition));
        seconds[i] = bench_cpu_s() - begin_s;
        iso_partition_destroy(&partition);
    }
    const double median_s = iso_timing_of(seconds, REPEATS).median_s;

    (void)printf("%8d nodes, %d stages: %.3f s, %.0f ns for each node\n",
                 n_nodes, STAGES, median_s, 1e9 * median_s / n_nodes);
    return ISO_OK;
}

static iso_status_t run(int n_nodes)
{
    iso_graph_t *graph = NULL;

    ISO_TRY(iso_graph_create(&graph));
    iso_status_t status = make_graph(n_nodes, graph);

    if (status == ISO_OK) {
        status = measure(n_nodes, graph);
    }
    iso_graph_destroy(&graph);
    return status;
}

int main(void)
{
    bench_print_machine();
    bench_need(run(500000));
    bench_need(run(1000000));
    return EXIT_SUCCESS;
}
