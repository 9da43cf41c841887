/* What a rank loads and binds to programs; each rank by itself. */
#include "isotome/error.h"

#include "base/digest.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/text.h"
#include "exec/load.h"
#include "graph_text.h"
#include "iso_test_folder.h"
#include "iso_test_graph.h"
#include "model_samples.h"

#include <inttypes.h>

static void test_writing_the_model(void)
{
    model_write_sample("m.h5", WEIGHTS);
}

/* -- failures -- */

static void test_parts_that_are_not_there(void)
{
    static const struct {
        iso_weight_part_t part;
        iso_status_t status;
        const char *why;
    } wrong[] = {
        {{"n", "none", {ISO_AXIS_WHOLE, {0, 0}}},
         ISO_INPUT,
         "model 'm.h5': weight 'none' is missing"},
        {{"n", "w", {4, {0, 1}}},
         ISO_INVAL,
         "model 'm.h5': weight 'w': it has no axis 4"},
        {{"n", "w", {-2, {0, 1}}}, ISO_INVAL, "weight 'w': it has no axis -2"},
        {{"n", "scalar", {0, {0, 1}}}, ISO_INVAL, "weight 'scalar': it has no"},
        {{"n", "w", {1, {2, 4}}}, ISO_INVAL, "there is no slab 2 to 4"},
    };

    iso_model_t *model = model_open_sample("m.h5");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        iso_weight_part_t parts[2] = {{"m", "W", {0, {0, 9}}}, wrong[i].part};
        iso_local_t local = {.n_weights = 2, .weights = parts};
        const iso_load_spec_t spec = {.model = model, .locals = {&local}};
        iso_load_t *load = (iso_load_t *)(void *)parts; /* is overwritten */
        CU_ASSERT_EQUAL(iso_load_parts(&spec, &load), wrong[i].status);
        CU_ASSERT_PTR_NULL(load);
        CU_ASSERT(model_text_has(wrong[i].why));
    }
    iso_model_close(&model);
}

static void test_no_memory(void)
{
    iso_weight_part_t parts[] = {{"a", "w", {1, {1, 2}}},
                                 {"b", "w", {ISO_AXIS_WHOLE, {0, 0}}}};
    iso_local_t local = {.n_weights = 2, .weights = parts};
    iso_status_t status = ISO_NOMEM;
    int n = 0;

    iso_model_t *model = model_open_sample("m.h5");
    const iso_load_spec_t spec = {.model = model, .locals = {&local}};
    while (status != ISO_OK && n < 100) {
        iso_load_t *load = NULL;
        n++;
        iso_mem_fail_at(n);
        status = iso_load_parts(&spec, &load);
        iso_mem_fail_at(0);
        CU_ASSERT(status == ISO_OK || (status == ISO_NOMEM && load == NULL));
        iso_load_free(&load);
    }
    CU_ASSERT(n > 5 && status == ISO_OK);
    iso_model_close(&model);
}

/* -- programs -- */

/* y = the two slabs of W behind each other, under other names. */
static iso_graph_t *make_graph(const char *first, int64_t n_first,
                               const char *second, int64_t n_second)
{
    const iso_attr_t axis = {.name = "axis",
                             .kind = ISO_ATTR_INTS,
                             .count = 1,
                             .value.ints = (const int64_t[]){0}};
    iso_graph_t *graph = NULL;
    iso_node_id_t ids[2];
    iso_node_id_t y = ISO_NO_NODE;
    const iso_shape_t shapes[] = {iso_shape_of(1, &n_first),
                                  iso_shape_of(1, &n_second)};
    const iso_node_spec_t spec = {.name = "y",
                                  .op = ISO_OP_CONCAT,
                                  .n_inputs = 2,
                                  .inputs = ids,
                                  .n_attrs = 1,
                                  .attrs = &axis};

    CU_ASSERT_EQUAL_FATAL(iso_graph_create(&graph), ISO_OK);
    CU_ASSERT_EQUAL(
        iso_graph_add_param(graph, first, ISO_DTYPE_F32, &shapes[0], &ids[0]),
        ISO_OK);
    CU_ASSERT_EQUAL(
        iso_graph_add_param(graph, second, ISO_DTYPE_F32, &shapes[1], &ids[1]),
        ISO_OK);
    CU_ASSERT_EQUAL_FATAL(iso_graph_add(graph, &spec, &y), ISO_OK);
    CU_ASSERT_EQUAL(iso_graph_add_output(graph, "y", y), ISO_OK);
    return graph;
}

/* A form of a stage of one worker, which computes y. */
typedef struct form {
    iso_graph_t *graph;
    iso_local_t local;
    iso_program_t *program;
} form_t;

static void make_form(iso_device_t *device, iso_weight_part_t *parts,
                      form_t *form)
{
    const iso_program_options_t options = {.buffer = NULL};

    form->graph =
        make_graph(parts[0].node, iso_range_length(parts[0].slab.range),
                   parts[1].node, iso_range_length(parts[1].slab.range));
    form->local =
        (iso_local_t){.graph = form->graph, .n_weights = 2, .weights = parts};
    CU_ASSERT_EQUAL_FATAL(
        iso_program_create(device, form->graph, &options, &form->program),
        ISO_OK);
}

static void check_form(const form_t *form)
{
    const iso_range_t first = form->local.weights[0].slab.range;
    const iso_range_t second = form->local.weights[1].slab.range;
    const float *whole = model_elements_of(&model_samples[12]);

    CU_ASSERT_EQUAL_FATAL(iso_program_run(form->program), ISO_OK);
    const float *y = iso_program_output(form->program, 0);
    CU_ASSERT_EQUAL(memcmp(y, whole + first.begin,
                           (size_t)iso_range_length(first) * sizeof *y),
                    0);
    CU_ASSERT_EQUAL(memcmp(y + iso_range_length(first), whole + second.begin,
                           (size_t)iso_range_length(second) * sizeof *y),
                    0);
}

static void free_form(form_t *form)
{
    iso_program_destroy(&form->program);
    iso_graph_destroy(&form->graph);
}

/* Two forms whose nodes have the same names and other slabs; a slab that both
 * have is read once. */
static void test_binding(void)
{
    iso_weight_part_t full[] = {{"a", "W", {0, {0, 10}}},
                                {"b", "W", {0, {10, 1000}}}};
    iso_weight_part_t tail[] = {{"a", "W", {0, {10, 1000}}},
                                {"b", "W", {0, {3, 7}}}};
    iso_device_t *device = NULL;
    iso_load_t *load = NULL;
    form_t forms[2];

    iso_model_t *model = model_open_sample("m.h5");
    CU_ASSERT_EQUAL_FATAL(iso_device_open("ref", 1, &device), ISO_OK);
    make_form(device, full, &forms[0]);
    make_form(device, tail, &forms[1]);
    const iso_load_spec_t spec = {
        .model = model,
        .locals = {&forms[0].local, &forms[1].local},
        .programs = {forms[0].program, forms[1].program},
        .device = device,
        .threads = 1};
    CU_ASSERT_EQUAL_FATAL(iso_load_parts(&spec, &load), ISO_OK);
    CU_ASSERT_EQUAL(iso_model_bytes_read(model), 1004 * sizeof(float));
    check_form(&forms[0]);
    check_form(&forms[1]);
    free_form(&forms[0]);
    free_form(&forms[1]);
    iso_load_free(&load);
    iso_load_free(&load);
    iso_device_close(&device);
    iso_model_close(&model);
}

/* -- packed weights -- */

/* A matrix and filters that are read in several parts, and less. */
enum { ROWS = 2053, COLUMNS = 2100, CHANNELS = 33 };

static const char packed_text[] = "x = input f32[2,2053]\n"
                                  "m = param f32[2053,2100]\n"
                                  "y = matmul(x, m)\n"
                                  "v = input f32[1,33,4,4]\n"
                                  "c = param f32[70,33,3,3]\n"
                                  "z = conv(v, c)\n"
                                  "s = neg(m)\n"
                                  "return y\nreturn z\nreturn s\n";

/* The second half of the matrix' columns. */
static const char slab_text[] = "x = input f32[2,2053]\n"
                                "m = param f32[2053,1050]\n"
                                "y = matmul(x, m)\n"
                                "return y\n";

static float *random_values(int64_t count, uint64_t seed)
{
    iso_random_t random = {.state = seed};
    float *values = iso_alloc((size_t)count * sizeof *values);

    CU_ASSERT_PTR_NOT_NULL_FATAL(values);
    for (int64_t i = 0; i < count; i++) {
        values[i] = iso_random_float(&random);
    }
    return values;
}

/* arg: (2) the matrix and the filters. */
static iso_status_t get_packed(void *arg, const char *name,
                               iso_tensor_t *tensor_out)
{
    float **values = arg;
    const iso_shape_t matrix = test_shape("2053,2100");
    const iso_shape_t filters = test_shape("70,33,3,3");
    const bool is_matrix = strcmp(name, "m") == 0;

    return iso_tensor_view(ISO_DTYPE_F32, is_matrix ? &matrix : &filters,
                           values[is_matrix ? 0 : 1], tensor_out);
}

static void write_packed(const char *path)
{
    iso_graph_t *graph = test_graph();
    float *values[2] = {random_values((int64_t)ROWS * COLUMNS, 3),
                        random_values((int64_t)70 * CHANNELS * 9, 4)};
    const iso_weight_source_t source = {get_packed, values};

    CU_ASSERT_EQUAL_FATAL(graph_text_add(graph, packed_text, NULL), ISO_OK);
    CU_ASSERT_EQUAL_FATAL(iso_model_write(path, graph, &source), ISO_OK);
    iso_graph_destroy(&graph);
    iso_free(values[0]);
    iso_free(values[1]);
}

/* What a load holds at most. What is held before is brought up to the peak, so
 * that the peak shows it. */
static size_t load_taking(const iso_load_spec_t *spec, iso_load_t **load_out)
{
    const iso_mem_count_t before = iso_mem_count();
    void *ballast = iso_alloc(before.peak_bytes - before.bytes);

    CU_ASSERT_EQUAL_FATAL(iso_load_parts(spec, load_out), ISO_OK);
    const size_t taken = iso_mem_count().peak_bytes - before.peak_bytes;
    iso_free(ballast);
    return taken;
}

/* Load the parts for a program of this text, run it, note its outputs. Returns
 * the bytes that the load took. */
static size_t run_loaded(const char *text, iso_weight_part_t *parts,
                         int n_parts, const char *device_name, int threads,
                         iso_text_t *outputs)
{
    const iso_program_options_t options = {.buffer = NULL};
    iso_graph_t *graph = test_graph();
    iso_model_t *model = model_open_sample("packed.h5");
    iso_device_t *device = NULL;
    iso_program_t *program = NULL;
    iso_load_t *load = NULL;
    float *x = random_values((int64_t)2 * ROWS, 5);
    float *v = random_values((int64_t)CHANNELS * 16, 6);

    CU_ASSERT_EQUAL_FATAL(graph_text_add(graph, text, NULL), ISO_OK);
    CU_ASSERT_EQUAL_FATAL(iso_device_open(device_name, threads, &device),
                          ISO_OK);
    CU_ASSERT_EQUAL_FATAL(iso_program_create(device, graph, &options, &program),
                          ISO_OK);
    iso_local_t local = {
        .graph = graph, .n_weights = n_parts, .weights = parts};
    const iso_load_spec_t spec = {.model = model,
                                  .locals = {&local},
                                  .programs = {program},
                                  .device = device,
                                  .threads = threads};
    const size_t taken = load_taking(&spec, &load);
    CU_ASSERT_EQUAL(iso_program_bind(program, "x", x), ISO_OK);
    if (iso_graph_find(graph, "v") != ISO_NO_NODE) {
        CU_ASSERT_EQUAL(iso_program_bind(program, "v", v), ISO_OK);
    }
    CU_ASSERT_EQUAL_FATAL(iso_program_run(program), ISO_OK);
    for (int i = 0; i < iso_graph_output_count(graph); i++) {
        const iso_node_t *node =
            iso_graph_node(graph, iso_graph_output(graph, i)->node);
        const float *y = iso_program_output(program, i);

        iso_text_add(outputs, "%016" PRIx64 " ",
                     iso_digest_of(y, (size_t)iso_shape_count(&node->shape) *
                                          sizeof *y));
    }
    iso_program_destroy(&program);
    iso_load_free(&load);
    iso_device_close(&device);
    iso_model_close(&model);
    iso_graph_destroy(&graph);
    iso_free(x);
    iso_free(v);
    return taken;
}

/* "ref" reads plain elements, into their place; "cpu" has them packed in
 * parts, and one of them plain, too. */
static void check_packed(const char *text, iso_weight_part_t *parts,
                         int n_parts)
{
    iso_text_t expected = {0};

    (void)run_loaded(text, parts, n_parts, "ref", 1, &expected);
    CU_ASSERT_PTR_NOT_NULL_FATAL(expected.data);
    for (int threads = 1; threads <= 2; threads++) {
        iso_text_t found = {0};

        (void)run_loaded(text, parts, n_parts, "cpu", threads, &found);
        CU_ASSERT_PTR_NOT_NULL_FATAL(found.data);
        CU_ASSERT_STRING_EQUAL(found.data, expected.data);
        iso_text_free(&found);
    }
    iso_text_free(&expected);
}

static void test_packed_weights(void)
{
    iso_weight_part_t whole[] = {{"c", "c", {ISO_AXIS_WHOLE, {0, 0}}},
                                 {"m", "m", {ISO_AXIS_WHOLE, {0, 0}}}};
    iso_weight_part_t slab[] = {{"m", "m", {1, {1050, 2100}}}};

    write_packed("packed.h5");
    check_packed(packed_text, whole, 2);
    check_packed(slab_text, slab, 1);
}

/* A packed weight is never in memory plain as a whole: beside it there are at
 * most 8 MiB for each thread, and one of them at least is used. */
static void test_memory(void)
{
    static const char text[] = "x = input f32[2,2053]\n"
                               "m = param f32[2053,2100]\n"
                               "y = matmul(x, m)\n"
                               "return y\n";
    const size_t matrix_bytes = (size_t)ROWS * COLUMNS * sizeof(float);
    const size_t mib = (size_t)1024 * 1024;
    iso_weight_part_t whole[] = {{"m", "m", {ISO_AXIS_WHOLE, {0, 0}}}};

    for (int threads = 1; threads <= 2; threads++) {
        const size_t most_bytes =
            matrix_bytes + (size_t)threads * 8 * mib + mib;
        iso_text_t outputs = {0};

        const size_t taken =
            run_loaded(text, whole, 1, "cpu", threads, &outputs);
        CU_ASSERT(taken > matrix_bytes + 7 * mib);
        CU_ASSERT(taken < most_bytes);
        if (taken >= most_bytes) {
            (void)fprintf(stderr, "%zu bytes, expected less than %zu\n", taken,
                          most_bytes);
        }
        iso_text_free(&outputs);
    }
}

int main(int argc, char **argv)
{
    CU_TestInfo tests[] = {
        {"writing the model", test_writing_the_model},
        {"parts that are not there", test_parts_that_are_not_there},
        {"no memory", test_no_memory},
        {"binding", test_binding},
        {"packed weights", test_packed_weights},
        {"memory", test_memory},
        {"nothing is left", model_test_nothing_is_left},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"load", model_suite_begin, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    scratch_begin();
    return iso_test_main_mpi(argc, argv, suites);
}
