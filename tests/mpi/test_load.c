/* What a rank loads and binds to programs; each rank by itself. */
#include "isotome/error.h"

#include "base/mem.h"
#include "exec/load.h"
#include "iso_test.h"
#include "iso_test_folder.h"
#include "model_samples.h"

#include <hdf5.h>

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
        const iso_local_t *locals[ISO_FORM_COUNT] = {&local};
        iso_load_t *load = (iso_load_t *)(void *)parts; /* is overwritten */
        CU_ASSERT_EQUAL(iso_load_parts(model, locals, &load), wrong[i].status);
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
    const iso_local_t *locals[ISO_FORM_COUNT] = {&local};
    iso_status_t status = ISO_NOMEM;
    int n = 0;

    iso_model_t *model = model_open_sample("m.h5");
    while (status != ISO_OK && n < 100) {
        iso_load_t *load = NULL;
        n++;
        iso_mem_fail_at(n);
        status = iso_load_parts(model, locals, &load);
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

static void check_program(iso_device_t *device, const iso_load_t *load,
                          const iso_local_t *local)
{
    const iso_program_options_t options = {.buffer = NULL};
    const iso_range_t first = local->weights[0].slab.range;
    const iso_range_t second = local->weights[1].slab.range;
    const float *whole = model_elements_of(&model_samples[12]);
    iso_program_t *program = NULL;

    iso_graph_t *graph =
        make_graph(local->weights[0].node, iso_range_length(first),
                   local->weights[1].node, iso_range_length(second));
    CU_ASSERT_EQUAL_FATAL(iso_program_create(device, graph, &options, &program),
                          ISO_OK);
    CU_ASSERT_EQUAL(iso_load_bind(load, local, program), ISO_OK);
    CU_ASSERT_EQUAL(iso_program_run(program), ISO_OK);
    const float *y = iso_program_output(program, 0);
    CU_ASSERT_EQUAL(memcmp(y, whole + first.begin,
                           (size_t)iso_range_length(first) * sizeof *y),
                    0);
    CU_ASSERT_EQUAL(memcmp(y + iso_range_length(first), whole + second.begin,
                           (size_t)iso_range_length(second) * sizeof *y),
                    0);
    iso_program_destroy(&program);
    iso_graph_destroy(&graph);
}

/* Two forms whose nodes have the same names and other slabs; a slab that both
 * have is read once. */
static void test_binding(void)
{
    iso_weight_part_t full[] = {{"a", "W", {0, {0, 10}}},
                                {"b", "W", {0, {10, 1000}}}};
    iso_weight_part_t tail[] = {{"a", "W", {0, {10, 1000}}},
                                {"b", "W", {0, {3, 7}}}};
    iso_weight_part_t other[] = {{"a", "W", {0, {0, 11}}}};
    iso_local_t forms[] = {{.n_weights = 2, .weights = full},
                           {.n_weights = 2, .weights = tail},
                           {.n_weights = 1, .weights = other}};
    const iso_local_t *locals[ISO_FORM_COUNT] = {&forms[0], &forms[1]};
    iso_device_t *device = NULL;
    iso_load_t *load = NULL;

    iso_model_t *model = model_open_sample("m.h5");
    CU_ASSERT_EQUAL_FATAL(iso_device_open("ref", 1, &device), ISO_OK);
    CU_ASSERT_EQUAL_FATAL(iso_load_parts(model, locals, &load), ISO_OK);
    CU_ASSERT_EQUAL(iso_model_bytes_read(model), 1004 * sizeof(float));
    check_program(device, load, locals[0]);
    check_program(device, load, locals[1]);
    CU_ASSERT_EQUAL(iso_load_bind(load, &forms[2], NULL), ISO_INVAL);
    CU_ASSERT(model_text_has("node 'a': its part of weight 'W' is not loaded"));
    iso_load_free(&load);
    iso_load_free(&load);
    iso_device_close(&device);
    iso_model_close(&model);
}

static void test_nothing_is_left(void)
{
    CU_ASSERT_EQUAL(iso_mem_count().blocks, model_blocks);
    CU_ASSERT_EQUAL(H5Fget_obj_count(H5F_OBJ_ALL, H5F_OBJ_ALL), 0);
}

int main(int argc, char **argv)
{
    CU_TestInfo tests[] = {
        {"writing the model", test_writing_the_model},
        {"parts that are not there", test_parts_that_are_not_there},
        {"no memory", test_no_memory},
        {"binding", test_binding},
        {"nothing is left", test_nothing_is_left},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"load", model_suite_begin, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    scratch_begin();
    return iso_test_main_mpi(argc, argv, suites);
}
