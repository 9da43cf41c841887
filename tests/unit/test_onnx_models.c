/* Real models, in the folder that ISO_SHARED_DATA names. */
#include "isotome/error.h"
#include "isotome/onnx.h"

#include "base/mem.h"
#include "base/text.h"
#include "graph/pass.h"
#include "iso_eval.h"
#include "iso_test.h"
#include "tensor/npy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *data_folder(void)
{
    return getenv("ISO_SHARED_DATA");
}

static iso_onnx_t *import(const char *name, const iso_onnx_options_t *options)
{
    iso_onnx_t *onnx = NULL;
    iso_text_t path = {0};

    iso_text_add(&path, "%s/%s", data_folder(), name);
    if (iso_onnx_import(path.data, options, &onnx) != ISO_OK) {
        CU_FAIL("import");
        (void)printf("\n%s\n", iso_error_text());
    }
    iso_text_free(&path);
    return onnx;
}

/* -- structure -- */

/* Nodes that compute, and those of them that make integers. */
typedef struct census {
    int compute;
    int integers;
    int params;
} census_t;

static census_t census_of(const iso_graph_t *graph)
{
    census_t census = {0};

    for (int32_t i = 0; i < iso_graph_node_count(graph); i++) {
        const iso_node_t *node = iso_graph_node(graph, i);

        if (iso_node_is_leaf(node)) {
            census.params += node->op == ISO_OP_PARAM;
        } else {
            census.compute++;
            census.integers += node->dtype == ISO_DTYPE_I64;
        }
    }
    return census;
}

/*
 * Most nodes that may be left: what the network computes. An exporter's shape
 * arithmetic (integers) must be gone; the language model keeps the positions
 * that it compares.
 */
static void test_trained(void)
{
    static const struct {
        const char *name;
        int most_nodes;
        int integers;
        const char *output;
    } models[] = {
        {"fashion/fashion_cnn.onnx", 9, 0, "[N,10]"},
        {"fashion/fashion_vit.onnx", 193, 0, "[N,10]"},
        {"cifar10/resnet20_cifar10.onnx", 46, 0, "[N,10]"},
        {"cifar10/resnet56_cifar10.onnx", 118, 0, "[N,10]"},
        {"llm/stories260K.onnx", 397, 2, "[B,T,512]"},
        {"version-RFB-320.onnx", 92, 0, "[1,4420,2]"},
    };

    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        int64_t blocks = iso_mem_count().blocks;
        iso_onnx_t *onnx = import(models[i].name, NULL);

        if (onnx != NULL) {
            const iso_graph_t *graph = iso_onnx_graph(onnx);
            const iso_node_t *output =
                iso_graph_node(graph, iso_graph_output(graph, 0)->node);
            census_t census = census_of(graph);
            char text[ISO_SHAPE_TEXT_BYTES];

            CU_ASSERT(census.compute <= models[i].most_nodes);
            CU_ASSERT_EQUAL(census.integers, models[i].integers);
            CU_ASSERT(iso_graph_layer_count(graph) > 1);
            CU_ASSERT_STRING_EQUAL(iso_shape_text(&output->shape, text),
                                   models[i].output);
        }
        iso_onnx_destroy(&onnx);
        CU_ASSERT_EQUAL(iso_mem_count().blocks, blocks);
    }
}

static int op_count(const iso_graph_t *graph, iso_op_t op)
{
    int count = 0;

    for (int32_t i = 0; i < iso_graph_node_count(graph); i++) {
        count += iso_graph_node(graph, i)->op == op;
    }
    return count;
}

/* Architectures exported for one sample, with a batch that is free. Factors
 * of channels have gone into weights. */
static void test_architectures(void)
{
    static const char *const models[] = {
        "bvlc_alexnet", "densenet121", "inception_v1",
        "inception_v2", "resnet50",    "shufflenet",
        "squeezenet",   "vgg19",       "zfnet512",
    };
    const iso_onnx_options_t options = {
        .seed_weights = true, .seed = 1, .free_batch = true};

    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        const iso_binding_t batch = {"N", 3};
        iso_graph_t *bound = NULL;
        iso_text_t name = {0};
        iso_onnx_t *onnx;

        iso_text_add(&name, "light/light_%s.onnx", models[i]);
        onnx = import(name.data, &options);
        iso_text_free(&name);
        if (onnx != NULL &&
            iso_graph_bind(iso_onnx_graph(onnx), &batch, 1, &bound) == ISO_OK) {
            const iso_node_t *output =
                iso_graph_node(bound, iso_graph_output(bound, 0)->node);

            CU_ASSERT_EQUAL(output->shape.dim[0].size, 3);
            CU_ASSERT_EQUAL(output->shape.dim[1].size, 1000);
            CU_ASSERT_EQUAL(op_count(bound, ISO_OP_MUL), 0);
        } else {
            CU_FAIL("bind");
            (void)printf("\n%s\n", iso_error_text());
        }
        iso_graph_destroy(&bound);
        iso_onnx_destroy(&onnx);
    }
}

/* -- values -- */

enum { SAMPLES = 2 };

static iso_tensor_t load(const char *name)
{
    iso_tensor_t tensor = {0};
    iso_text_t path = {0};

    iso_text_add(&path, "%s/%s", data_folder(), name);
    CU_ASSERT_EQUAL_FATAL(iso_npy_load(path.data, &tensor), ISO_OK);
    iso_text_free(&path);
    return tensor;
}

static iso_status_t give_images(void *arg, const char *name,
                                iso_tensor_t *tensor_out)
{
    (void)name;
    *tensor_out = *(const iso_tensor_t *)arg;
    tensor_out->dims[0] = SAMPLES;
    return ISO_OK;
}

/* Largest difference from ONNX Runtime's logits, over the largest logit. */
static double difference(const iso_tensor_t *found, const iso_tensor_t *golden)
{
    const float *a = found->data;
    const float *b = golden->data;
    double most = 0.0;
    double largest = 0.0;

    for (int64_t i = 0; i < iso_tensor_count(found); i++) {
        most = fmax(most, fabs((double)a[i] - (double)b[i]));
        largest = fmax(largest, fabs((double)b[i]));
    }
    return most / largest;
}

static void check_values(const char *model, const char *images_name,
                         const char *logits_name,
                         const iso_onnx_options_t *options)
{
    const iso_binding_t batch = {"N", SAMPLES};
    iso_tensor_t images = load(images_name);
    iso_tensor_t logits = load(logits_name);
    const iso_weight_source_t inputs = {give_images, &images};
    iso_onnx_t *onnx = import(model, options);
    iso_graph_t *bound = NULL;
    iso_eval_t eval = {0};
    iso_weight_source_t weights = iso_onnx_weights(onnx);

    CU_ASSERT_EQUAL_FATAL(
        iso_graph_bind(iso_onnx_graph(onnx), &batch, 1, &bound), ISO_OK);
    CU_ASSERT_EQUAL_FATAL(iso_eval_run(bound, &weights, &inputs, &eval),
                          ISO_OK);
    CU_ASSERT(difference(iso_eval_output(&eval, 0), &logits) < 1e-4);
    iso_eval_free(&eval);
    iso_graph_destroy(&bound);
    iso_onnx_destroy(&onnx);
    iso_free(logits.data);
    iso_free(images.data);
}

static void test_values(void)
{
    static const double fashion_mean[] = {.286};
    static const double fashion_std[] = {.353};
    static const double cifar_mean[] = {.485, .456, .406};
    static const double cifar_std[] = {.229, .224, .225};
    const iso_onnx_options_t fashion = {.scale = 255,
                                        .n_mean = 1,
                                        .mean = fashion_mean,
                                        .n_std = 1,
                                        .std = fashion_std};
    const iso_onnx_options_t cifar = {.scale = 255,
                                      .n_mean = 3,
                                      .mean = cifar_mean,
                                      .n_std = 3,
                                      .std = cifar_std};

    check_values("fashion/fashion_cnn.onnx", "fashion/images_u8.npy",
                 "fashion/fashion_cnn_logits.npy", &fashion);
    check_values("fashion/fashion_vit.onnx", "fashion/images_u8.npy",
                 "fashion/fashion_vit_logits.npy", &fashion);
    check_values("cifar10/resnet20_cifar10.onnx", "cifar10/images_u8.npy",
                 "cifar10/resnet20_logits.npy", &cifar);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"trained models", test_trained},
        {"architectures", test_architectures},
        {"values of trained models", test_values},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"onnx models", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    if (data_folder() == NULL || access(data_folder(), R_OK) != 0) {
        return iso_test_without("the folder that ISO_SHARED_DATA names");
    }
    return iso_test_main(suites);
}
