/* Model files whose bytes were changed, and too little memory. */
#include "isotome/error.h"
#include "isotome/model_file.h"

#include "base/mem.h"
#include "iso_test.h"
#include "iso_test_folder.h"
#include "model_samples.h"

#include <hdf5.h>

/* -- attacks on the bytes -- */

static char *find_bytes(char *bytes, size_t size, const void *wanted,
                        size_t length)
{
    for (size_t i = 0; i + length <= size; i++) {
        if (memcmp(bytes + i, wanted, length) == 0) {
            return bytes + i;
        }
    }
    return NULL;
}

/* Two slabs of an axis, and whether they add up to the weight. */
static iso_status_t read_slabs(iso_model_t *model,
                               const iso_weight_info_t *info, int axis)
{
    char data[MOST_BYTES];
    int64_t length = info->shape.dim[axis].size;
    uint64_t a = 0;
    uint64_t b = 0;

    CU_ASSERT_FATAL(info->bytes <= sizeof data);
    ISO_TRY(iso_model_read_part(model, info, axis, 0, length / 2, data, &a));
    ISO_TRY(
        iso_model_read_part(model, info, axis, length / 2, length, data, &b));
    return a + b == info->part_digest
               ? ISO_OK
               : iso_fail(ISO_INPUT, "%s: the sum", iso_model_path(model));
}

static void test_flipped_byte_in_a_weight(void)
{
    size_t size = 0;
    char data[MOST_BYTES];

    model_write_sample("m.h5", WEIGHTS);
    char *bytes = scratch_load("m.h5", &size);
    for (int i = 0; i < WEIGHTS; i++) {
        iso_shape_t shape = model_shape_of(&model_samples[i]);
        size_t length = 0;
        (void)iso_tensor_bytes_of(model_samples[i].dtype, &shape, &length);
        char *at = find_bytes(bytes, size, model_elements_of(&model_samples[i]),
                              length);
        if (length < 8) {
            continue; /* such bytes are found elsewhere too */
        }
        CU_ASSERT_PTR_NOT_NULL_FATAL(at);
        at[length / 2] ^= 0x10;
        scratch_save("bad.h5", bytes, size);
        at[length / 2] ^= 0x10;
        iso_model_t *model = model_open_sample("bad.h5");
        const iso_weight_info_t *info =
            iso_model_find(model, model_samples[i].name);
        CU_ASSERT_EQUAL(iso_model_read(model, info, data), ISO_INPUT);
        CU_ASSERT(model_text_has("bad.h5") &&
                  model_text_has(model_samples[i].name));
        CU_ASSERT(model_text_has("its digest is") &&
                  model_text_has("expected"));
        for (int axis = 0; axis < info->shape.rank; axis++) {
            CU_ASSERT_EQUAL(read_slabs(model, info, axis), ISO_INPUT);
        }
        iso_model_close(&model);
    }
    free(bytes);
    scratch_clear();
}

static iso_status_t read_whole(iso_model_t *model,
                               const iso_weight_info_t *info, int axis)
{
    char data[MOST_BYTES];

    (void)axis;
    CU_ASSERT_FATAL(info->bytes <= sizeof data);
    return iso_model_read(model, info, data);
}

typedef iso_status_t read_fn(iso_model_t *model, const iso_weight_info_t *info,
                             int axis);

/* Open and read everything by this function. */
static iso_status_t read_by(const char *path, read_fn *read)
{
    iso_model_t *model = NULL;

    iso_status_t status = iso_model_open(path, &model);
    for (int i = 0; status == ISO_OK && i < iso_model_weight_count(model);
         i++) {
        const iso_weight_info_t *info = iso_model_weight(model, i);
        status = info->shape.rank == 0
                     ? read_whole(model, info, 0)
                     : read(model, info, i % info->shape.rank);
    }
    iso_model_close(&model);
    return status;
}

static iso_status_t read_all(const char *path)
{
    return read_by(path, read_whole);
}

static void flip(char *byte, size_t bit)
{
    *(unsigned char *)byte ^= (unsigned char)(1U << bit);
}

/* Any byte flipped: an error that names the file, or (in bytes that mean
 * nothing) the very same model; never a crash or another model. */
static void test_any_flipped_byte(void)
{
    size_t size = 0;
    int refused = 0;

    model_write_sample("m.h5", 3);
    iso_model_t *model = model_open_sample("m.h5");
    uint64_t graph = iso_graph_digest(iso_model_graph(model));
    uint64_t root = iso_model_root_digest(model);
    iso_model_close(&model);
    char *bytes = scratch_load("m.h5", &size);
    for (size_t i = 0; i < size; i += 1 + i % 7) {
        flip(&bytes[i], i % 8);
        scratch_save("bad.h5", bytes, size);
        flip(&bytes[i], i % 8);
        iso_status_t status = read_all("bad.h5");
        refused += status != ISO_OK;
        CU_ASSERT(status == ISO_OK || status == ISO_INPUT);
        CU_ASSERT(status == ISO_OK || model_text_has("bad.h5"));
        CU_ASSERT_EQUAL(read_by("bad.h5", read_slabs), status);
        if (status == ISO_OK) {
            model = model_open_sample("bad.h5");
            CU_ASSERT_EQUAL(iso_graph_digest(iso_model_graph(model)), graph);
            CU_ASSERT_EQUAL(iso_model_root_digest(model), root);
            iso_model_close(&model);
        }
        CU_ASSERT_EQUAL(H5Fget_obj_count(H5F_OBJ_ALL, H5F_OBJ_ALL), 0);
    }
    CU_ASSERT(refused > (int)size / 12);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, model_blocks);
    free(bytes);
    scratch_clear();
}

static void test_every_truncation(void)
{
    size_t size = 0;

    model_write_sample("m.h5", 4);
    char *bytes = scratch_load("m.h5", &size);
    for (size_t length = 0; length < size; length += 1 + length % 29) {
        scratch_save("cut.h5", bytes, length);
        model_expect_refused("cut.h5", length == 0 ? "empty" : "cut.h5");
    }
    free(bytes);
    scratch_clear();
}

/* -- memory -- */

static void test_no_memory_to_read(void)
{
    iso_status_t status = ISO_NOMEM;
    int n = 0;

    model_write_sample("m.h5", 5);
    while (status != ISO_OK && n < 5000) {
        n++;
        iso_mem_fail_at(n);
        status = read_all("m.h5");
        iso_mem_fail_at(0);
        CU_ASSERT(status == ISO_OK || status == ISO_NOMEM);
        CU_ASSERT_EQUAL(iso_mem_count().blocks, model_blocks);
        CU_ASSERT_EQUAL(H5Fget_obj_count(H5F_OBJ_ALL, H5F_OBJ_ALL), 0);
    }
    CU_ASSERT(n > 10 && status == ISO_OK);
    scratch_clear();
}

/* HDF5 opens a new file twice and forgives the first failure: any allocation
 * may fail, and the model is written or not. */
static void test_no_memory_to_write(void)
{
    iso_graph_t *graph = model_make_graph(5);
    int64_t held = iso_mem_count().blocks;
    int64_t before = iso_mem_count().allocations;

    CU_ASSERT_EQUAL(iso_model_write("m.h5", graph, &model_source), ISO_OK);
    int64_t allocations = iso_mem_count().allocations - before;
    CU_ASSERT(allocations > 10);
    for (int64_t n = 1; n <= allocations; n++) {
        scratch_clear();
        iso_mem_fail_at(n);
        iso_status_t status = iso_model_write("m.h5", graph, &model_source);
        iso_mem_fail_at(0);
        CU_ASSERT_EQUAL(scratch_count(), status == ISO_OK);
        CU_ASSERT_EQUAL(iso_mem_count().blocks, held);
        CU_ASSERT_EQUAL(H5Fget_obj_count(H5F_OBJ_ALL, H5F_OBJ_ALL), 0);
    }
    iso_graph_destroy(&graph);
    scratch_clear();
}

static void test_nothing_is_left(void)
{
    CU_ASSERT_EQUAL(iso_mem_count().blocks, model_blocks);
    CU_ASSERT_EQUAL(H5Fget_obj_count(H5F_OBJ_ALL, H5F_OBJ_ALL), 0);
}

int main(void)
{
    CU_TestInfo damaged[] = {
        {"flipped byte in a weight", test_flipped_byte_in_a_weight},
        {"any flipped byte", test_any_flipped_byte},
        {"every truncation", test_every_truncation},
        {"no memory to read", test_no_memory_to_read},
        {"no memory to write", test_no_memory_to_write},
        {"nothing is left", test_nothing_is_left},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"damaged models", model_suite_begin, NULL, NULL, NULL, damaged},
        CU_SUITE_INFO_NULL,
    };

    scratch_begin();
    return iso_test_main(suites);
}
