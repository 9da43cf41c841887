/*
 * Files for the fuzz targets to begin with, as the program writes them:
 *
 *     make_seeds FOLDER     FOLDER/<target>-seeds/...
 */
#include "isotome/error.h"
#include "isotome/machine.h"
#include "isotome/model_file.h"
#include "isotome/plan.h"

#include "base/json.h"
#include "fuzz.h"
#include "graph/print.h"
#include "tensor/npy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void check(iso_status_t status, const char *what)
{
    if (status != ISO_OK) {
        (void)fprintf(stderr, "make_seeds: %s: %s\n", what, iso_error_text());
        exit(EXIT_FAILURE);
    }
}

static void enter(const char *folder)
{
    if ((mkdir(folder, 0777) != 0 && errno != EEXIST) || chdir(folder) != 0) {
        perror(folder);
        exit(EXIT_FAILURE);
    }
}

static void save(const char *path, const char *text)
{
    FILE *out = fopen(path, "w");

    if (out == NULL || fputs(text, out) == EOF || fclose(out) != 0) {
        perror(path);
        exit(EXIT_FAILURE);
    }
}

static iso_status_t get_zeros(void *arg, const char *name,
                              iso_tensor_t *tensor_out)
{
    static float zeros[8 * 8 * 3 * 3] = {0};
    const iso_graph_t *graph = arg;
    const iso_node_t *node = iso_graph_node(graph, iso_graph_find(graph, name));

    return iso_tensor_view(node->dtype, &node->shape, zeros, tensor_out);
}

static void make_model(iso_graph_t *graph)
{
    const iso_weight_source_t source = {.get = get_zeros, .arg = graph};

    enter("model-seeds");
    check(iso_model_write("model.h5", graph, &source), "model");
    enter("..");
}

static void make_graph(const iso_graph_t *graph)
{
    json_t *json = NULL;

    enter("graph-seeds");
    check(iso_graph_to_json(graph, &json), "graph");
    check(iso_json_write(json, "graph.json"), "graph");
    json_decref(json);
    enter("..");
}

static void make_plans(const iso_graph_t *graph)
{
    static const iso_plan_options_t options[] = {
        {.world = 1, .micro_batch = 4, .samples = 9},
        {.world = 3, .micro_batch = 4, .samples = 100},
        {.world = 4, .workers = 2, .micro_batch = 6, .samples = 100},
        {.world = 3, .workers = 3, .micro_batch = 6, .cuts = ISO_CUT_RANDOM},
    };

    enter("plan-seeds");
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        iso_machine_t *machine = NULL;
        iso_plan_t *plan = NULL;
        char path[32];

        (void)snprintf(path, sizeof path, "plan%zu.json", i);
        check(iso_machine_default(options[i].world, 0, 0, &machine), path);
        check(iso_plan_create(graph, machine, &options[i], &plan), path);
        check(iso_plan_write(plan, path), path);
        iso_plan_destroy(&plan);
        iso_machine_destroy(&machine);
    }
    enter("..");
}

static void make_machines(void)
{
    const iso_machine_device_t devices[] = {
        {.name = "cpu",
         .figures = {.host = "a",
                     .memory_bytes = 1 << 30,
                     .flops_per_s = 1e9,
                     .memory_bytes_per_s = 1e9,
                     .rates = {{1e9, 0.1, ISO_COST_MEASURED},
                               {0.0, 0.0, ISO_COST_UNCALIBRATED}}},
         .crossing_latency_s = 1e-5,
         .crossing_bytes_per_s = 1e9}};
    iso_machine_rank_t rank = devices[0].figures;
    iso_machine_t *machine = NULL;

    rank.n_devices = 1;
    rank.devices = devices;
    enter("machine-seeds");
    check(iso_machine_default(3, 2, 0, &machine), "machine");
    check(iso_machine_write(machine, "default.json"), "machine");
    check(iso_machine_set_rank(machine, 1, &rank), "machine");
    check(iso_machine_write(machine, "devices.json"), "machine");
    iso_machine_destroy(&machine);
    enter("..");
}

static void make_arrays(void)
{
    static float zeros[24] = {0};
    const iso_tensor_t arrays[] = {
        {.dtype = ISO_DTYPE_F32, .rank = 3, .dims = {2, 3, 4}, .data = zeros},
        {.dtype = ISO_DTYPE_U8, .rank = 1, .dims = {7}, .data = zeros},
        {.dtype = ISO_DTYPE_BOOL, .rank = 0, .data = zeros},
        {.dtype = ISO_DTYPE_I64, .rank = 2, .dims = {0, 5}, .data = zeros},
    };

    enter("npy-seeds");
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        char path[32];

        (void)snprintf(path, sizeof path, "array%zu.npy", i);
        check(iso_npy_save(path, &arrays[i]), path);
    }
    enter("..");
}

static void make_texts(void)
{
    enter("split-seeds");
    save("one", "28");
    save("two", "10, 18");
    save("many", "1,2,3,4,2147483647,1\t, 1");
    enter("..");
    enter("device_map-seeds");
    save("one", "cpu");
    save("rule", "conv*=cuda|cpu,@mat?ul=throttled:2.5|ref,*=cpu");
    save("cost", "cost:cuda0|cpu");
    enter("..");
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        (void)fprintf(stderr, "usage: make_seeds FOLDER\n");
        return EXIT_FAILURE;
    }
    iso_graph_t *graph = fuzz_graph();
    enter(argv[1]);
    make_model(graph);
    make_graph(graph);
    make_plans(graph);
    make_machines();
    make_arrays();
    make_texts();
    iso_graph_destroy(&graph);
    return 0;
}
