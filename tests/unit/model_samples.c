#include "model_samples.h"

#include "isotome/error.h"

#include "base/mem.h"
#include "iso_test.h"

#include <hdf5.h>

#include <stdio.h>
#include <string.h>

int64_t model_blocks;

int model_suite_begin(void)
{
    (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    model_blocks = iso_mem_count().blocks;
    return 0;
}

void model_test_nothing_is_left(void)
{
    CU_ASSERT_EQUAL(iso_mem_count().blocks, model_blocks);
    CU_ASSERT_EQUAL(H5Fget_obj_count(H5F_OBJ_ALL, H5F_OBJ_ALL), 0);
}

int model_text_has(const char *part)
{
    return strstr(iso_error_text(), part) != NULL;
}

const model_sample_t model_samples[WEIGHTS] = {
    {"w", ISO_DTYPE_F32, 4, {4, 3, 3, 3}},
    {"layer1.0.conv/weight", ISO_DTYPE_F16, 2, {3, 5}},
    {"%2F", ISO_DTYPE_BF16, 1, {7}},
    {"/", ISO_DTYPE_F64, 2, {2, 2}},
    {".", ISO_DTYPE_I8, 1, {13}},
    {"..", ISO_DTYPE_U8, 1, {1}},
    {"a b\tc", ISO_DTYPE_I32, 2, {1, 1}},
    {"\xc3\xa9\xe2\x82\xac", ISO_DTYPE_I64, 1, {3}},
    {"...", ISO_DTYPE_BOOL, 1, {5}},
    {"scalar", ISO_DTYPE_F32, 0, {0}},
    {"zero", ISO_DTYPE_F32, 3, {2, 0, 4}},
    {"a//b/", ISO_DTYPE_F32, 1, {2}},
    {"W", ISO_DTYPE_F32, 1, {1000}},
    {"100%", ISO_DTYPE_BOOL, 0, {0}},
};

iso_shape_t model_shape_of(const model_sample_t *sample)
{
    return iso_shape_of(sample->rank, sample->dims);
}

void *model_elements_of(const model_sample_t *sample)
{
    static unsigned char bytes[MOST_BYTES];
    unsigned state = (unsigned)sample->name[0];

    for (int i = 0; i < MOST_BYTES; i++) {
        state = state * 1664525U + 1013904223U;
        bytes[i] = (unsigned char)(state >> 24);
        if (sample->dtype == ISO_DTYPE_BOOL) {
            bytes[i] &= 1U;
        }
    }
    return bytes;
}

static iso_status_t get_sample(void *arg, const char *name,
                               iso_tensor_t *tensor_out)
{
    (void)arg;
    for (int i = 0; i < WEIGHTS; i++) {
        if (strcmp(model_samples[i].name, name) == 0) {
            iso_shape_t shape = model_shape_of(&model_samples[i]);
            return iso_tensor_view(model_samples[i].dtype, &shape,
                                   model_elements_of(&model_samples[i]),
                                   tensor_out);
        }
    }
    return iso_fail(ISO_INVAL, "there is no weight '%s'", name);
}

const iso_weight_source_t model_source = {.get = get_sample};

iso_graph_t *model_make_graph(int n_weights)
{
    iso_graph_t *graph = NULL;
    iso_node_id_t node = ISO_NO_NODE;
    iso_dim_t batch = {0};
    iso_shape_t shape = {.rank = 2, .dim = {{0, NULL}, {4, NULL}}};

    CU_ASSERT_EQUAL_FATAL(iso_graph_create(&graph), ISO_OK);
    CU_ASSERT_EQUAL_FATAL(iso_dim_parse("N", &batch), ISO_OK);
    shape.dim[0] = batch;
    CU_ASSERT_EQUAL_FATAL(
        iso_graph_add_input(graph, "x", ISO_DTYPE_F32, &shape, &node), ISO_OK);
    CU_ASSERT_EQUAL_FATAL(iso_graph_add_output(graph, "y", node), ISO_OK);
    for (int i = 0; i < n_weights; i++) {
        iso_shape_t dims = model_shape_of(&model_samples[i]);
        CU_ASSERT_EQUAL_FATAL(iso_graph_add_param(graph, model_samples[i].name,
                                                  model_samples[i].dtype, &dims,
                                                  &node),
                              ISO_OK);
    }
    return graph;
}

void model_write_sample(const char *path, int n_weights)
{
    iso_graph_t *graph = model_make_graph(n_weights);

    iso_status_t status = iso_model_write(path, graph, &model_source);
    if (status != ISO_OK) {
        (void)fprintf(stderr, "%s\n", iso_error_text());
    }
    CU_ASSERT_EQUAL_FATAL(status, ISO_OK);
    iso_graph_destroy(&graph);
}

iso_model_t *model_open_sample(const char *path)
{
    iso_model_t *model = NULL;

    iso_status_t status = iso_model_open(path, &model);
    if (status != ISO_OK) {
        (void)fprintf(stderr, "%s\n", iso_error_text());
    }
    CU_ASSERT_EQUAL_FATAL(status, ISO_OK);
    return model;
}

void model_expect_refused(const char *path, const char *why)
{
    iso_model_t *model = NULL;

    CU_ASSERT_EQUAL(iso_model_open(path, &model), ISO_INPUT);
    CU_ASSERT_PTR_NULL(model);
    if (!model_text_has(why) || !model_text_has(path)) {
        (void)fprintf(stderr, "expected '%s': %s\n", why, iso_error_text());
        CU_FAIL("another text");
    }
    CU_ASSERT_PTR_NULL(strchr(iso_error_text(), '\n'));
    CU_ASSERT_EQUAL(iso_mem_count().blocks, model_blocks);
}
