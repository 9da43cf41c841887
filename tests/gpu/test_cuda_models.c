/*
 * Real models on a GPU, and cut between GPU and CPU at every node: byte for
 * byte what the CPU gives. The model of the source tree always, those in the
 * folder that ISO_SHARED_DATA names where it is.
 */
#include "isotome/device_map.h"
#include "isotome/error.h"
#include "isotome/onnx.h"

#include "base/mem.h"
#include "base/random.h"
#include "base/text.h"
#include "device/device.h"
#include "graph/pass.h"
#include "iso_test.h"
#include "iso_test_bound.h"
#include "kernel/cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CPU, GPU, THREADS = 2 };

/* Where nodes go: the first ones on the GPU, the others on the CPU, or the
 * other way round; what the GPU does not do is the CPU's. */
typedef struct cut {
    iso_node_id_t first; /* on the other side */
    bool begins_on_gpu;
} cut_t;

static int place(void *arg, const iso_graph_t *graph, iso_node_id_t node)
{
    static const iso_device_spec_t gpu = {.type = ISO_DEVICE_CUDA};
    const cut_t *cut = arg;
    const bool on_gpu = (node < cut->first) == cut->begins_on_gpu;

    return on_gpu && iso_device_does(&gpu, graph, node) ? GPU : CPU;
}

/* A model with its leaves. */
typedef struct model {
    iso_onnx_t *onnx;
    iso_graph_t *graph;
    float *values; /* of any input */
} model_t;

static size_t bytes_of(const iso_node_t *node)
{
    size_t bytes = 0;

    CU_ASSERT_EQUAL_FATAL(
        iso_tensor_bytes_of(node->dtype, &node->shape, &bytes), ISO_OK);
    return bytes;
}

/* Numbers below 1, whose bytes are small indices as well. */
static float *make_values(const iso_graph_t *graph)
{
    iso_random_t random = {.state = 1};
    size_t most = 0;
    float *values;

    for (iso_node_id_t id = 0; id < iso_graph_node_count(graph); id++) {
        const iso_node_t *node = iso_graph_node(graph, id);

        if (node->op == ISO_OP_INPUT && bytes_of(node) > most) {
            most = bytes_of(node);
        }
    }
    values = iso_alloc_zeroed(most, 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(values);
    for (size_t i = 0; i < most / sizeof *values; i++) {
        values[i] = iso_random_float(&random);
    }
    return values;
}

static void open_model(const char *path, int64_t size, model_t *model)
{
    const iso_onnx_options_t options = {.seed_weights = true, .seed = 1};

    CU_ASSERT_EQUAL_FATAL(iso_onnx_import(path, &options, &model->onnx),
                          ISO_OK);
    model->graph = test_bound(iso_onnx_graph(model->onnx), size);
    model->values = make_values(model->graph);
}

static void close_model(model_t *model)
{
    iso_free(model->values);
    iso_graph_destroy(&model->graph);
    iso_onnx_destroy(&model->onnx);
}

static void bind_leaves(const model_t *model, iso_program_t *program)
{
    const iso_weight_source_t weights = iso_onnx_weights(model->onnx);

    for (iso_node_id_t id = 0; id < iso_graph_node_count(model->graph); id++) {
        const iso_node_t *node = iso_graph_node(model->graph, id);
        iso_tensor_t weight;

        if (node->op == ISO_OP_INPUT) {
            iso_program_bind_node(program, id, model->values);
        } else if (node->op == ISO_OP_PARAM) {
            CU_ASSERT_EQUAL_FATAL(weights.get(weights.arg, node->name, &weight),
                                  ISO_OK);
            iso_program_bind_node(program, id, weight.data);
        }
    }
}

/* All outputs after one another, to be freed. */
static char *run(const model_t *model, iso_device_t *device, size_t *bytes_out)
{
    static const iso_program_options_t own = {.buffer = NULL};
    const iso_graph_t *graph = model->graph;
    iso_program_t *program = NULL;
    char *all = NULL;

    CU_ASSERT_EQUAL_FATAL(iso_program_create(device, graph, &own, &program),
                          ISO_OK);
    bind_leaves(model, program);
    CU_ASSERT_EQUAL_FATAL(iso_program_run(program), ISO_OK);
    *bytes_out = 0;
    for (int i = 0; i < iso_graph_output_count(graph); i++) {
        const size_t bytes =
            bytes_of(iso_graph_node(graph, iso_graph_output(graph, i)->node));

        all = iso_realloc(all, *bytes_out + bytes);
        CU_ASSERT_PTR_NOT_NULL_FATAL(all);
        memcpy(all + *bytes_out, iso_program_output(program, i), bytes);
        *bytes_out += bytes;
    }
    iso_program_destroy(&program);
    return all;
}

static void expect(const model_t *model, iso_device_t *device, const char *all,
                   size_t bytes)
{
    size_t found = 0;
    char *made = run(model, device, &found);

    CU_ASSERT_EQUAL_FATAL(found, bytes);
    CU_ASSERT_EQUAL(memcmp(made, all, bytes), 0);
    iso_free(made);
}

/* every: at each node, not only before the first and behind the last. */
static void check_cuts(const model_t *model, bool every)
{
    static const char *const devices[] = {[CPU] = "cpu", [GPU] = "cuda"};
    const int32_t n = iso_graph_node_count(model->graph);
    iso_device_map_t *map = NULL;
    iso_device_t *cpu = NULL;
    iso_device_t *both = NULL;
    cut_t cut = {0};
    size_t bytes = 0;
    char *all;

    CU_ASSERT_EQUAL_FATAL(iso_device_open("cpu", THREADS, &cpu), ISO_OK);
    all = run(model, cpu, &bytes);
    CU_ASSERT_EQUAL_FATAL(
        iso_device_map_create_from(devices, 2, place, &cut, &map), ISO_OK);
    CU_ASSERT_EQUAL_FATAL(iso_device_open_map(map, THREADS, &both), ISO_OK);
    for (int begins_on_gpu = 0; begins_on_gpu < 2; begins_on_gpu++) {
        cut.begins_on_gpu = begins_on_gpu == 1;
        for (cut.first = 0; cut.first <= n; cut.first += every ? 1 : n) {
            const bool is_leaf =
                cut.first < n &&
                iso_node_is_leaf(iso_graph_node(model->graph, cut.first));

            if (!is_leaf || cut.first == 0) {
                expect(model, both, all, bytes);
            }
        }
    }
    iso_free(all);
    iso_device_close(&both);
    iso_device_close(&cpu);
    iso_device_map_destroy(&map);
}

static void check_model(const char *folder, const char *name, int64_t size,
                        bool every)
{
    const int64_t blocks = iso_mem_count().blocks;
    iso_text_t path = {0};
    model_t model;

    iso_text_add(&path, "%s/%s", folder, name);
    (void)printf("\n    %s", name);
    (void)fflush(stdout);
    open_model(path.data, size, &model);
    check_cuts(&model, every);
    close_model(&model);
    iso_text_free(&path);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, blocks);
}

static void test_models_of_the_tree(void)
{
    check_model(ISO_TEST_DATA, "fashion_cnn.onnx", 3, true);
    check_model(ISO_TEST_DATA, "fashion_vit.onnx", 3, true);
}

static void test_shared_models(void)
{
    static const struct {
        const char *name;
        int64_t size; /* of free dims */
        bool every;
    } models[] = {
        {"cifar10/resnet20_cifar10.onnx", 3, true},
        {"cifar10/resnet56_cifar10.onnx", 3, true},
        {"light/light_resnet50.onnx", 1, true},
        {"version-RFB-320.onnx", 1, false},
        {"light/light_bvlc_alexnet.onnx", 1, false},
        {"light/light_densenet121.onnx", 1, false},
        {"light/light_inception_v1.onnx", 1, false},
        {"light/light_inception_v2.onnx", 1, false},
        {"light/light_shufflenet.onnx", 1, false},
        {"light/light_squeezenet.onnx", 1, false},
    };
    const char *folder = getenv("ISO_SHARED_DATA");

    if (folder == NULL || access(folder, R_OK) != 0) {
        CU_ASSERT_EQUAL(
            iso_test_without("the folder that ISO_SHARED_DATA names"),
            ISO_TEST_SKIP);
        return;
    }
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        check_model(folder, models[i].name, models[i].size, models[i].every);
    }
}

/* ---- More than a GPU has ---- */

/* 60 values of 4 GiB, all wanted. */
static iso_graph_t *huge_graph(void)
{
    const int64_t dims[] = {1 << 15, 1 << 15};
    const iso_shape_t shape = iso_shape_of(2, dims);
    iso_graph_t *graph = NULL;
    iso_node_id_t x = ISO_NO_NODE;

    CU_ASSERT_EQUAL_FATAL(iso_graph_create(&graph), ISO_OK);
    CU_ASSERT_EQUAL_FATAL(
        iso_graph_add_input(graph, "x", ISO_DTYPE_F32, &shape, &x), ISO_OK);
    for (int i = 0; i < 60; i++) {
        char name[16];
        const iso_node_spec_t spec = {
            .name = name, .op = ISO_OP_RELU, .n_inputs = 1, .inputs = &x};

        (void)snprintf(name, sizeof name, "y%d", i);
        CU_ASSERT_EQUAL_FATAL(iso_graph_add(graph, &spec, &x), ISO_OK);
        CU_ASSERT_EQUAL_FATAL(iso_graph_add_output(graph, name, x), ISO_OK);
    }
    return graph;
}

static void test_out_of_memory(void)
{
    static const iso_program_options_t own = {.buffer = NULL};
    iso_graph_t *graph = huge_graph();
    iso_device_t *device = NULL;
    iso_program_t *program = NULL;

    CU_ASSERT_EQUAL_FATAL(iso_device_open("cuda", 1, &device), ISO_OK);
    CU_ASSERT_EQUAL(iso_program_create(device, graph, &own, &program),
                    ISO_NOMEM);
    (void)printf("\n    %s\n", iso_error_text());
    CU_ASSERT_PTR_NOT_NULL(strstr(iso_error_text(), "device 'cuda, "));
    CU_ASSERT_PTR_NOT_NULL(strstr(iso_error_text(), "node 'y0'"));
    CU_ASSERT_PTR_NULL(program);
    iso_device_close(&device);
    iso_graph_destroy(&graph);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"models of the source tree", test_models_of_the_tree},
        {"shared models", test_shared_models},
        {"out of memory", test_out_of_memory},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"models on a GPU", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    if (iso_cuda_count() == 0) {
        (void)puts("skipped: no GPU");
        return ISO_TEST_SKIP;
    }
    return iso_test_main(suites);
}
