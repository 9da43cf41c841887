#include "isotome/error.h"

#include "base/mem.h"
#include "device/device.h"
#include "iso_test.h"

#include <stdlib.h>
#include <string.h>

/* ---- A small network: conv, relu, reshape, gemm; two outputs ---- */

enum { IMAGES = 3, CLASSES = 10, FEATURES = 4 * 6 * 5 };

static float image[IMAGES * 2 * 6 * 5];
static float kernel[4 * 2 * 3 * 3];
static float matrix[FEATURES * CLASSES];
static const float bias_values[CLASSES] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};

static void fill(float *values, size_t count, float step)
{
    for (size_t i = 0; i < count; i++) {
        values[i] = step * (float)((i * 37) % 101) - 1.0F;
    }
}

static void fill_all(void)
{
    fill(image, sizeof image / sizeof *image, 0.02F);
    fill(kernel, sizeof kernel / sizeof *kernel, 0.017F);
    fill(matrix, sizeof matrix / sizeof *matrix, 0.013F);
}

static iso_status_t add_node(iso_graph_t *graph, const char *name, iso_op_t op,
                             int n_inputs, const iso_node_id_t *inputs,
                             const iso_attr_t *attr, iso_node_id_t *node_out)
{
    const iso_node_spec_t spec = {.name = name,
                                  .op = op,
                                  .n_inputs = n_inputs,
                                  .inputs = inputs,
                                  .n_attrs = attr != NULL ? 1 : 0,
                                  .attrs = attr};

    return iso_graph_add(graph, &spec, node_out);
}

/* features = reshape(relu(conv(x, w))) */
static iso_status_t add_features(iso_graph_t *graph, iso_node_id_t x,
                                 iso_node_id_t *features_out)
{
    static const int64_t pad_sizes[] = {1, 1, 1, 1};
    const iso_attr_t pads = {.name = "pads",
                             .kind = ISO_ATTR_INTS,
                             .count = 4,
                             .value.ints = pad_sizes};
    const iso_dim_t flat_dims[] = {iso_dim_of(IMAGES), iso_dim_of(FEATURES)};
    const iso_attr_t flat = {.name = "shape",
                             .kind = ISO_ATTR_DIMS,
                             .count = 2,
                             .value.dims = flat_dims};
    const iso_shape_t shape = iso_shape_of(4, (const int64_t[]){4, 2, 3, 3});
    iso_node_id_t ids[2] = {x};
    iso_node_id_t conv;

    ISO_TRY(iso_graph_add_param(graph, "w", ISO_DTYPE_F32, &shape, &ids[1]));
    ISO_TRY(add_node(graph, "conv", ISO_OP_CONV, 2, ids, &pads, &conv));
    ISO_TRY(add_node(graph, "relu", ISO_OP_RELU, 1, &conv, NULL, &conv));
    return add_node(graph, "flat", ISO_OP_RESHAPE, 1, &conv, &flat,
                    features_out);
}

/* logits = features m + bias */
static iso_status_t add_logits(iso_graph_t *graph, iso_node_id_t features,
                               iso_node_id_t *logits_out)
{
    const iso_shape_t shape =
        iso_shape_of(2, (const int64_t[]){FEATURES, CLASSES});
    const iso_tensor_t bias = {.dtype = ISO_DTYPE_F32,
                               .rank = 1,
                               .dims = {CLASSES},
                               .data = (void *)bias_values};
    iso_node_id_t ids[3] = {features};

    ISO_TRY(iso_graph_add_param(graph, "m", ISO_DTYPE_F32, &shape, &ids[1]));
    ISO_TRY(iso_graph_add_constant(graph, "bias", &bias, &ids[2]));
    return add_node(graph, "fc", ISO_OP_GEMM, 3, ids, NULL, logits_out);
}

static iso_status_t build(iso_graph_t *graph)
{
    const iso_shape_t shape =
        iso_shape_of(4, (const int64_t[]){IMAGES, 2, 6, 5});
    iso_node_id_t x;
    iso_node_id_t features;
    iso_node_id_t logits;

    ISO_TRY(iso_graph_add_input(graph, "x", ISO_DTYPE_F32, &shape, &x));
    ISO_TRY(add_features(graph, x, &features));
    ISO_TRY(add_logits(graph, features, &logits));
    ISO_TRY(iso_graph_add_output(graph, "logits", logits));
    return iso_graph_add_output(graph, "features", features);
}

static iso_graph_t *network(void)
{
    iso_graph_t *graph = NULL;

    CU_ASSERT_EQUAL_FATAL(iso_graph_create(&graph), ISO_OK);
    CU_ASSERT_EQUAL_FATAL(build(graph), ISO_OK);
    fill_all();
    return graph;
}

static iso_device_t *open_device(const char *name, int threads)
{
    iso_device_t *device = NULL;

    CU_ASSERT_EQUAL_FATAL(iso_device_open(name, threads, &device), ISO_OK);
    return device;
}

static iso_program_t *program_of(iso_device_t *device, const iso_graph_t *graph,
                                 const iso_program_options_t *options)
{
    iso_program_t *program = NULL;

    CU_ASSERT_EQUAL_FATAL(iso_program_create(device, graph, options, &program),
                          ISO_OK);
    return program;
}

static void bind_all(iso_program_t *program)
{
    CU_ASSERT_EQUAL(iso_program_bind(program, "x", image), ISO_OK);
    CU_ASSERT_EQUAL(iso_program_bind(program, "w", kernel), ISO_OK);
    CU_ASSERT_EQUAL(iso_program_bind(program, "m", matrix), ISO_OK);
}

/* ---- Tests ---- */

static void test_devices_agree(void)
{
    static const iso_program_options_t own = {.buffer = NULL};
    const iso_mem_count_t before = iso_mem_count();
    iso_graph_t *graph = network();
    iso_device_t *ref = open_device("ref", 1);
    iso_program_t *want = program_of(ref, graph, &own);

    bind_all(want);
    CU_ASSERT_EQUAL(iso_program_run(want), ISO_OK);
    for (int threads = 1; threads <= 3; threads++) {
        iso_device_t *cpu = open_device("cpu", threads);
        iso_program_t *got = program_of(cpu, graph, &own);

        bind_all(got);
        CU_ASSERT_EQUAL(iso_program_run(got), ISO_OK);
        CU_ASSERT_EQUAL(memcmp(iso_program_output(want, 0),
                               iso_program_output(got, 0),
                               sizeof(float) * IMAGES * CLASSES),
                        0);
        CU_ASSERT_EQUAL(memcmp(iso_program_output(want, 1),
                               iso_program_output(got, 1),
                               sizeof(float) * IMAGES * FEATURES),
                        0);
        iso_program_destroy(&got);
        iso_device_close(&cpu);
    }
    iso_program_destroy(&want);
    iso_device_close(&ref);
    iso_graph_destroy(&graph);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before.blocks);
}

static void test_lent_buffer(void)
{
    const iso_mem_count_t before = iso_mem_count();
    iso_graph_t *graph = network();
    iso_device_t *device = open_device("cpu", 1);
    iso_program_t *program = NULL;
    iso_program_options_t options = {.buffer = NULL};
    size_t bytes = 0;

    CU_ASSERT_EQUAL(iso_program_buffer_bytes(device, graph, false, &bytes),
                    ISO_OK);
    CU_ASSERT_TRUE(bytes >= sizeof(float) * IMAGES * FEATURES);
    options.buffer = iso_alloc(bytes);
    options.buffer_bytes = bytes - 1;
    CU_ASSERT_EQUAL(iso_program_create(device, graph, &options, &program),
                    ISO_INVAL);
    CU_ASSERT_PTR_NULL(program);
    options.buffer_bytes = bytes;
    program = program_of(device, graph, &options);
    bind_all(program);
    CU_ASSERT_EQUAL(iso_program_run(program), ISO_OK);

    const char *output = iso_program_output(program, 0);
    const char *begin = options.buffer;

    CU_ASSERT_TRUE(output >= begin && output < begin + bytes);
    iso_program_destroy(&program);
    iso_free(options.buffer);
    iso_device_close(&device);
    iso_graph_destroy(&graph);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before.blocks);
}

static void test_bindings(void)
{
    static const iso_program_options_t own = {.buffer = NULL};
    static float second[sizeof image / sizeof *image];
    iso_graph_t *graph = network();
    iso_device_t *device = open_device("cpu", 1);
    iso_program_t *program = program_of(device, graph, &own);
    float first = 0;

    CU_ASSERT_EQUAL(iso_program_run(program), ISO_INVAL);
    CU_ASSERT_PTR_NOT_NULL(strstr(iso_error_text(), "'x'"));
    CU_ASSERT_EQUAL(iso_program_bind(program, "x", image), ISO_OK);
    CU_ASSERT_EQUAL(iso_program_bind(program, "w", kernel), ISO_OK);
    CU_ASSERT_EQUAL(iso_program_run(program), ISO_INVAL);
    CU_ASSERT_PTR_NOT_NULL(strstr(iso_error_text(), "param 'm'"));
    CU_ASSERT_EQUAL(iso_program_bind(program, "conv", image), ISO_INVAL);
    CU_ASSERT_EQUAL(iso_program_bind(program, "bias", image), ISO_INVAL);
    CU_ASSERT_EQUAL(iso_program_bind(program, "nothing", image), ISO_INVAL);
    CU_ASSERT_EQUAL(iso_program_bind(program, "m", matrix), ISO_OK);
    CU_ASSERT_EQUAL(iso_program_run(program), ISO_OK);
    first = *(const float *)iso_program_output(program, 0);
    iso_program_bind_node(program, iso_graph_find(graph, "x"), second);
    CU_ASSERT_EQUAL(iso_program_run(program), ISO_OK);
    CU_ASSERT_EQUAL(*(const float *)iso_program_output(program, 0),
                    bias_values[0]);
    iso_program_bind_node(program, iso_graph_find(graph, "x"), image);
    CU_ASSERT_EQUAL(iso_program_run(program), ISO_OK);
    CU_ASSERT_EQUAL(*(const float *)iso_program_output(program, 0), first);
    iso_program_destroy(&program);
    iso_device_close(&device);
    iso_graph_destroy(&graph);
}

static void test_run_allocates_nothing(void)
{
    static const iso_program_options_t own = {.buffer = NULL};
    iso_graph_t *graph = network();
    iso_device_t *device = open_device("cpu", 2);
    iso_program_t *program = program_of(device, graph, &own);
    iso_mem_count_t before;

    bind_all(program);
    CU_ASSERT_EQUAL(iso_program_run(program), ISO_OK); /* packs weights */
    before = iso_mem_count();
    CU_ASSERT_EQUAL(iso_program_run(program), ISO_OK);
    CU_ASSERT_EQUAL(iso_mem_count().allocations, before.allocations);
    iso_program_destroy(&program);
    iso_device_close(&device);
    iso_graph_destroy(&graph);
}

/* An output that is a leaf, and one that is a reshape of a leaf. */
static void test_outputs_without_steps(void)
{
    static const iso_program_options_t own = {.buffer = NULL};
    const iso_shape_t shape = iso_shape_of(2, (const int64_t[]){2, 3});
    const iso_dim_t flat_dim = iso_dim_of(6);
    const iso_attr_t flat = {.name = "shape",
                             .kind = ISO_ATTR_DIMS,
                             .count = 1,
                             .value.dims = &flat_dim};
    const float data[2][6] = {{1, 2, 3, 4, 5, 6}, {7, 8, 9, 10, 11, 12}};
    iso_device_t *device = open_device("cpu", 1);
    iso_graph_t *graph = NULL;
    iso_node_id_t x;
    iso_node_id_t y;

    CU_ASSERT_EQUAL_FATAL(iso_graph_create(&graph), ISO_OK);
    CU_ASSERT_EQUAL_FATAL(
        iso_graph_add_input(graph, "x", ISO_DTYPE_F32, &shape, &x), ISO_OK);
    CU_ASSERT_EQUAL_FATAL(
        add_node(graph, "y", ISO_OP_RESHAPE, 1, &x, &flat, &y), ISO_OK);
    CU_ASSERT_EQUAL(iso_graph_add_output(graph, "same", x), ISO_OK);
    CU_ASSERT_EQUAL(iso_graph_add_output(graph, "flat", y), ISO_OK);

    iso_program_t *program = program_of(device, graph, &own);

    for (int i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL(iso_program_bind(program, "x", data[i]), ISO_OK);
        CU_ASSERT_EQUAL(iso_program_run(program), ISO_OK);
        for (int output = 0; output < 2; output++) {
            CU_ASSERT_PTR_EQUAL(iso_program_output(program, output), data[i]);
        }
    }
    iso_program_destroy(&program);
    iso_device_close(&device);
    iso_graph_destroy(&graph);
}

static void test_symbolic_graph(void)
{
    static const iso_program_options_t own = {.buffer = NULL};
    const iso_mem_count_t before = iso_mem_count();
    iso_device_t *device = open_device("cpu", 1);
    iso_program_t *program = NULL;
    iso_graph_t *graph = NULL;
    iso_shape_t shape = iso_shape_of(1, (const int64_t[]){4});
    iso_node_id_t x;

    CU_ASSERT_EQUAL_FATAL(iso_dim_parse("N", &shape.dim[0]), ISO_OK);
    CU_ASSERT_EQUAL_FATAL(iso_graph_create(&graph), ISO_OK);
    CU_ASSERT_EQUAL_FATAL(
        iso_graph_add_input(graph, "x", ISO_DTYPE_F32, &shape, &x), ISO_OK);
    CU_ASSERT_EQUAL_FATAL(add_node(graph, "root", ISO_OP_SQRT, 1, &x, NULL, &x),
                          ISO_OK);
    CU_ASSERT_EQUAL(iso_graph_add_output(graph, "y", x), ISO_OK);
    CU_ASSERT_EQUAL(iso_program_create(device, graph, &own, &program),
                    ISO_SHAPE);
    CU_ASSERT_PTR_NULL(program);
    CU_ASSERT_PTR_NOT_NULL(strstr(iso_error_text(), "N"));
    iso_graph_destroy(&graph);
    iso_device_close(&device);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before.blocks);
}

static void test_open(void)
{
    const iso_mem_count_t before = iso_mem_count();
    iso_device_t *device = NULL;

    CU_ASSERT_EQUAL(iso_device_open("gpu", 1, &device), ISO_INVAL);
    CU_ASSERT_PTR_NOT_NULL(strstr(iso_error_text(), "ref, cpu"));
    CU_ASSERT_EQUAL(iso_device_open("cpu", 0, &device), ISO_INVAL);
    CU_ASSERT_EQUAL(iso_device_open("ref", -1, &device), ISO_INVAL);
    CU_ASSERT_PTR_NULL(device);
    device = open_device("cpu", 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(iso_device_text(device), "2 threads"));
    iso_device_close(&device);
    iso_device_close(&device);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before.blocks);
}

static void test_failed_allocations(void)
{
    static const iso_program_options_t own = {.buffer = NULL};
    iso_graph_t *graph = network();
    iso_device_t *device = open_device("cpu", 1);
    const iso_mem_count_t before = iso_mem_count();
    iso_program_t *program = NULL;
    int n = 1;

    for (; n < 100 && program == NULL; n++) {
        iso_mem_fail_at(n);

        const iso_status_t status =
            iso_program_create(device, graph, &own, &program);

        iso_mem_fail_at(0);
        CU_ASSERT_EQUAL(status, program == NULL ? ISO_NOMEM : ISO_OK);
        if (program == NULL) {
            CU_ASSERT_EQUAL(iso_mem_count().blocks, before.blocks);
        }
    }
    CU_ASSERT_TRUE(n > 5);
    iso_program_destroy(&program);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before.blocks);
    iso_device_close(&device);
    iso_graph_destroy(&graph);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"ref and cpu agree", test_devices_agree},
        {"a lent buffer", test_lent_buffer},
        {"bindings", test_bindings},
        {"running allocates nothing", test_run_allocates_nothing},
        {"outputs without steps", test_outputs_without_steps},
        {"a symbolic graph", test_symbolic_graph},
        {"opening devices", test_open},
        {"failed allocations", test_failed_allocations},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"device", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
