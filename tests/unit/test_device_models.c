/*
 * A run of a real model on "cpu" allocates nothing. The models of the source
 * tree always, those in the folder that ISO_SHARED_DATA names where it is.
 */
#include "isotome/error.h"
#include "isotome/onnx.h"

#include "base/mem.h"
#include "base/text.h"
#include "device/device.h"
#include "graph/pass.h"
#include "iso_test.h"
#include "iso_test_bound.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { FREE_SIZE = 3 };

/* Params get the model's weights, all inputs the same zeros; these are
 * returned, to be freed. */
static void *bind_leaves(const iso_onnx_t *onnx, const iso_graph_t *graph,
                         iso_program_t *program)
{
    const iso_weight_source_t weights = iso_onnx_weights(onnx);
    size_t most = 0;
    void *zeros;

    for (iso_node_id_t id = 0; id < iso_graph_node_count(graph); id++) {
        const iso_node_t *node = iso_graph_node(graph, id);
        size_t bytes = 0;

        if (node->op == ISO_OP_INPUT) {
            CU_ASSERT_EQUAL(
                iso_tensor_bytes_of(node->dtype, &node->shape, &bytes), ISO_OK);
            most = bytes > most ? bytes : most;
        }
    }
    zeros = iso_alloc_zeroed(most, 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(zeros);
    for (iso_node_id_t id = 0; id < iso_graph_node_count(graph); id++) {
        const iso_node_t *node = iso_graph_node(graph, id);
        iso_tensor_t weight;

        if (node->op == ISO_OP_INPUT) {
            iso_program_bind_node(program, id, zeros);
        } else if (node->op == ISO_OP_PARAM) {
            CU_ASSERT_EQUAL_FATAL(weights.get(weights.arg, node->name, &weight),
                                  ISO_OK);
            iso_program_bind_node(program, id, weight.data);
        }
    }
    return zeros;
}

static void check_run(const iso_onnx_t *onnx, const char *name)
{
    static const iso_program_options_t own = {.buffer = NULL};
    iso_graph_t *graph = test_bound(iso_onnx_graph(onnx), FREE_SIZE);
    iso_device_t *device = NULL;
    iso_program_t *program = NULL;
    int64_t before;
    void *zeros;

    CU_ASSERT_EQUAL_FATAL(iso_device_open("cpu", 2, &device), ISO_OK);
    CU_ASSERT_EQUAL_FATAL(iso_program_create(device, graph, &own, &program),
                          ISO_OK);
    zeros = bind_leaves(onnx, graph, program);
    CU_ASSERT_EQUAL(iso_program_run(program), ISO_OK); /* packs weights */
    before = iso_mem_count().allocations;
    CU_ASSERT_EQUAL(iso_program_run(program), ISO_OK);
    if (iso_mem_count().allocations != before) {
        (void)printf("\n%s: %lld allocations in a run\n", name,
                     (long long)(iso_mem_count().allocations - before));
    }
    CU_ASSERT_EQUAL(iso_mem_count().allocations, before);
    iso_free(zeros);
    iso_program_destroy(&program);
    iso_device_close(&device);
    iso_graph_destroy(&graph);
}

static void check_model(const char *folder, const char *name)
{
    const iso_onnx_options_t options = {.seed_weights = true, .seed = 1};
    const int64_t blocks = iso_mem_count().blocks;
    iso_onnx_t *onnx = NULL;
    iso_text_t path = {0};

    iso_text_add(&path, "%s/%s", folder, name);
    CU_ASSERT_EQUAL_FATAL(iso_onnx_import(path.data, &options, &onnx), ISO_OK);
    iso_text_free(&path);
    check_run(onnx, name);
    iso_onnx_destroy(&onnx);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, blocks);
}

static void test_models_of_the_tree(void)
{
    check_model(ISO_TEST_DATA, "fashion_cnn.onnx");
    check_model(ISO_TEST_DATA, "fashion_vit.onnx");
}

static void test_shared_models(void)
{
    static const char *const models[] = {
        "cifar10/resnet20_cifar10.onnx", "cifar10/resnet56_cifar10.onnx",
        "llm/stories260K.onnx",          "version-RFB-320.onnx",
        "light/light_bvlc_alexnet.onnx", "light/light_densenet121.onnx",
        "light/light_inception_v1.onnx", "light/light_inception_v2.onnx",
        "light/light_resnet50.onnx",     "light/light_shufflenet.onnx",
        "light/light_squeezenet.onnx",
    };
    const char *folder = getenv("ISO_SHARED_DATA");

    if (folder == NULL || access(folder, R_OK) != 0) {
        CU_ASSERT_EQUAL(
            iso_test_without("the folder that ISO_SHARED_DATA names"),
            ISO_TEST_SKIP);
        return;
    }
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        check_model(folder, models[i]);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"models of the source tree", test_models_of_the_tree},
        {"shared models", test_shared_models},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"device models", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
