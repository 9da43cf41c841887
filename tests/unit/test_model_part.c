/* Slabs of weights: what is read, what they add up to, what is refused. */
#include "isotome/error.h"
#include "isotome/model_file.h"

#include "base/digest.h"
#include "base/mem.h"
#include "io/h5_dataset.h"
#include "iso_test.h"
#include "iso_test_folder.h"
#include "model_samples.h"

/* -- slabs by the definition -- */

/* Index on axis of the element with this index in the whole weight. */
static int64_t index_on(const iso_shape_t *shape, int axis, int64_t element)
{
    for (int i = shape->rank - 1; i > axis; i--) {
        element /= shape->dim[i].size;
    }
    return element % shape->dim[axis].size;
}

/* Copy the elements of the slab to `slab` and add their digests. */
static size_t pick(const iso_weight_info_t *info, int axis, int64_t begin,
                   int64_t end, const unsigned char *whole, unsigned char *slab,
                   uint64_t *sum_out)
{
    size_t width = iso_dtype_bytes(info->dtype);
    size_t bytes = 0;

    *sum_out = 0;
    for (size_t at = 0; at < info->bytes; at += width) {
        int64_t element = (int64_t)(at / width);
        int64_t index = index_on(&info->shape, axis, element);
        if (index >= begin && index < end) {
            memcpy(slab + bytes, whole + at, width);
            *sum_out +=
                iso_digest_elements(whole + at, width, (uint64_t)element, 1);
            bytes += width;
        }
    }
    return bytes;
}

static void check_slab(iso_model_t *model, const iso_weight_info_t *info,
                       int axis, int64_t begin, int64_t end,
                       const unsigned char *whole)
{
    unsigned char expected[MOST_BYTES + 1];
    unsigned char found[MOST_BYTES + 1];
    uint64_t expected_sum = 0;
    uint64_t sum = 1;
    size_t bytes = 0;
    size_t before = iso_model_bytes_read(model);

    memset(expected, 0xa5, sizeof expected);
    memset(found, 0xa5, sizeof found);
    size_t expected_bytes =
        pick(info, axis, begin, end, whole, expected, &expected_sum);
    CU_ASSERT_EQUAL(iso_weight_part_bytes(info, axis, begin, end, &bytes),
                    ISO_OK);
    CU_ASSERT_EQUAL(bytes, expected_bytes);
    CU_ASSERT_EQUAL(
        iso_model_read_part(model, info, axis, begin, end, found, &sum),
        ISO_OK);
    CU_ASSERT_EQUAL(memcmp(found, expected, sizeof found), 0);
    CU_ASSERT_EQUAL(sum, expected_sum);
    CU_ASSERT_EQUAL(iso_model_bytes_read(model), before + bytes);
}

/* Every range of every axis, or a choice where there are many. */
static void check_axis(iso_model_t *model, const iso_weight_info_t *info,
                       int axis, const unsigned char *whole)
{
    int64_t length = info->shape.dim[axis].size;
    int64_t step = length > 20 ? 331 : 1;

    for (int64_t begin = 0; begin <= length; begin += step) {
        for (int64_t end = begin; end <= length; end += step) {
            check_slab(model, info, axis, begin, end, whole);
        }
    }
}

static void test_every_slab(void)
{
    unsigned char whole[MOST_BYTES];

    model_write_sample("m.h5", WEIGHTS);
    iso_model_t *model = model_open_sample("m.h5");
    for (int i = 0; i < WEIGHTS; i++) {
        const iso_weight_info_t *info =
            iso_model_find(model, model_samples[i].name);
        CU_ASSERT_PTR_NOT_NULL_FATAL(info);
        memcpy(whole, model_elements_of(&model_samples[i]), sizeof whole);
        for (int axis = 0; axis < info->shape.rank; axis++) {
            check_axis(model, info, axis, whole);
        }
    }
    iso_model_close(&model);
    scratch_clear();
}

/* Three slabs, the last two in the other order. */
static uint64_t sum_of_three(iso_model_t *model, const iso_weight_info_t *info,
                             int axis)
{
    static const int order[] = {0, 2, 1};
    unsigned char data[MOST_BYTES];
    int64_t length = info->shape.dim[axis].size;
    const int64_t ends[] = {0, length / 3, length / 2, length};
    uint64_t total = 0;

    for (int i = 0; i < 3; i++) {
        int64_t begin = ends[order[i]];
        int64_t end = ends[order[i] + 1];
        uint64_t sum = 0;
        CU_ASSERT_EQUAL(
            iso_model_read_part(model, info, axis, begin, end, data, &sum),
            ISO_OK);
        total += sum;
    }
    return total;
}

static void test_sums_add_up(void)
{
    model_write_sample("m.h5", WEIGHTS);
    iso_model_t *model = model_open_sample("m.h5");
    for (int i = 0; i < WEIGHTS; i++) {
        const iso_weight_info_t *info = iso_model_weight(model, i);
        for (int axis = 0; axis < info->shape.rank; axis++) {
            CU_ASSERT_EQUAL(sum_of_three(model, info, axis), info->part_digest);
        }
    }
    iso_model_close(&model);
    scratch_clear();
}

/* A slab of an inner axis, past 2^32 elements: a file with a hole of 12 GiB,
 * of which nothing but the slab is read. */
static void test_slabs_past_2_32(void)
{
    const int64_t length = (INT64_C(1) << 32) + 10;
    const iso_tensor_t header = {
        .dtype = ISO_DTYPE_U8, .rank = 2, .dims = {3, length}};
    const hsize_t start[2] = {1, (hsize_t)length - 4};
    const hsize_t counts[2] = {2, 3};
    const unsigned char values[6] = {1, 2, 3, 4, 5, 6};
    unsigned char found[9];
    hid_t dataset = H5I_INVALID_HID;
    hid_t file = H5Fcreate("x.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);

    CU_ASSERT_EQUAL_FATAL(iso_h5_dataset_create(file, "x", &header, &dataset),
                          ISO_OK);
    hid_t space = H5Dget_space(dataset);
    hid_t memory = H5Screate_simple(2, counts, NULL);
    (void)H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, counts, NULL);
    CU_ASSERT(H5Dwrite(dataset, H5T_STD_U8LE, memory, space, H5P_DEFAULT,
                       values) >= 0);
    iso_h5_close(&memory);
    iso_h5_close(&space);
    CU_ASSERT_EQUAL(
        iso_h5_dataset_read_slab(dataset, &header, 1, length - 4, 3, found),
        ISO_OK);
    CU_ASSERT_EQUAL(memcmp(found + 3, values, 6), 0);
    CU_ASSERT_EQUAL(
        iso_h5_dataset_read_slab(dataset, &header, 1, length - 4, 5, found),
        ISO_INVAL);
    CU_ASSERT(
        model_text_has("5 rows from row 4294967302 of axis 1 are not there"));
    CU_ASSERT_EQUAL(iso_h5_dataset_read_slab(dataset, &header, 2, 0, 1, found),
                    ISO_INVAL);
    CU_ASSERT_EQUAL(iso_h5_dataset_read_slab(dataset, &header, -1, 0, 1, found),
                    ISO_INVAL);
    iso_h5_close(&dataset);
    iso_h5_close(&file);
    scratch_clear();
}

/* -- what is refused -- */

static void expect_no_slab(iso_model_t *model, const char *name, int axis,
                           int64_t begin, int64_t end, const char *why)
{
    const iso_weight_info_t *info = iso_model_find(model, name);
    char data = 'x';
    uint64_t sum = 7;
    size_t bytes = 7;

    CU_ASSERT_PTR_NOT_NULL_FATAL(info);
    CU_ASSERT_EQUAL(iso_weight_part_bytes(info, axis, begin, end, &bytes),
                    ISO_INVAL);
    CU_ASSERT_EQUAL(bytes, 7);
    CU_ASSERT_EQUAL(
        iso_model_read_part(model, info, axis, begin, end, &data, &sum),
        ISO_INVAL);
    CU_ASSERT_EQUAL(data, 'x');
    CU_ASSERT(model_text_has("m.h5") && model_text_has(name));
    if (!model_text_has(why)) {
        (void)fprintf(stderr, "expected '%s': %s\n", why, iso_error_text());
        CU_FAIL("another text");
    }
}

static void test_slabs_that_are_not_there(void)
{
    model_write_sample("m.h5", WEIGHTS);
    iso_model_t *model = model_open_sample("m.h5");
    expect_no_slab(model, "w", -1, 0, 1, "no axis -1; its rank is 4");
    expect_no_slab(model, "w", 4, 0, 1, "no axis 4; its rank is 4");
    expect_no_slab(model, "w", INT32_MAX, 0, 0, "no axis 2147483647");
    expect_no_slab(model, "scalar", 0, 0, 1, "no axis 0; its rank is 0");
    expect_no_slab(model, "w", 0, 0, 5, "slab 0 to 5 of axis 0; its length is");
    expect_no_slab(model, "w", 1, -1, 2, "slab -1 to 2 of axis 1");
    expect_no_slab(model, "w", 1, 2, 1, "slab 2 to 1 of axis 1");
    expect_no_slab(model, "w", 0, 5, 5, "slab 5 to 5 of axis 0");
    expect_no_slab(model, "w", 0, INT64_MIN, INT64_MAX, "of axis 0");
    expect_no_slab(model, "w", 0, 1, INT64_MIN, "of axis 0");
    expect_no_slab(model, "zero", 1, 0, 1, "slab 0 to 1 of axis 1");
    CU_ASSERT_EQUAL(iso_model_bytes_read(model), 0);
    iso_model_close(&model);
    scratch_clear();
}

/* -- files of version 1 -- */

static void set_u64(hid_t file, const char *name, uint64_t value)
{
    hid_t attr = H5Aopen(file, name, H5P_DEFAULT);

    CU_ASSERT_FATAL(attr >= 0);
    CU_ASSERT(H5Awrite(attr, H5T_NATIVE_UINT64, &value) >= 0);
    (void)H5Aclose(attr);
}

/* As version 1 had it: one digest of each weight. */
static uint64_t old_root_digest(const iso_model_t *model)
{
    iso_digest_t digest;

    iso_digest_begin(&digest);
    for (int i = 0; i < iso_model_weight_count(model); i++) {
        const iso_weight_info_t *info = iso_model_weight(model, i);
        iso_digest_add_text(&digest, info->name);
        iso_digest_add_text(&digest, iso_dtype_string(info->dtype));
        iso_digest_add_int(&digest, info->shape.rank);
        for (int axis = 0; axis < info->shape.rank; axis++) {
            iso_digest_add_int(&digest, info->shape.dim[axis].size);
        }
        iso_digest_add_int(&digest, (int64_t)info->digest);
    }
    return iso_digest_end(&digest);
}

/* The first n samples as a file of version 1. */
static void write_old(const char *path, int n)
{
    model_write_sample(path, n);
    iso_model_t *model = model_open_sample(path);
    uint64_t root = old_root_digest(model);
    iso_model_close(&model);

    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    CU_ASSERT_FATAL(file >= 0);
    set_u64(file, "format_version", 1);
    set_u64(file, "root_digest", root);
    hid_t group = H5Gopen2(file, "weights", H5P_DEFAULT);
    for (hsize_t i = 0; i < (hsize_t)n; i++) {
        hid_t dataset = H5Oopen_by_idx(group, ".", H5_INDEX_NAME,
                                       H5_ITER_NATIVE, i, H5P_DEFAULT);
        CU_ASSERT(H5Adelete(dataset, "part_digest") >= 0);
        (void)H5Oclose(dataset);
    }
    (void)H5Gclose(group);
    CU_ASSERT(H5Fclose(file) >= 0);
}

/* Whole weights are read as ever; parts cannot be verified. */
static void test_files_of_version_1(void)
{
    unsigned char data[MOST_BYTES];
    uint64_t sum = 0;

    write_old("old.h5", 5);
    iso_model_t *model = model_open_sample("old.h5");
    for (int i = 0; i < 5; i++) {
        const iso_weight_info_t *info =
            iso_model_find(model, model_samples[i].name);
        CU_ASSERT_PTR_NOT_NULL_FATAL(info);
        CU_ASSERT_EQUAL(iso_model_read(model, info, data), ISO_OK);
        CU_ASSERT_EQUAL(
            memcmp(data, model_elements_of(&model_samples[i]), info->bytes), 0);
        size_t before = iso_model_bytes_read(model);
        CU_ASSERT_EQUAL(iso_model_read_part(model, info, 0, 0, 1, data, &sum),
                        ISO_INPUT);
        CU_ASSERT(model_text_has("model 'old.h5': weight '"));
        CU_ASSERT(model_text_has("format_version is 1"));
        CU_ASSERT(model_text_has("import the model again"));
        CU_ASSERT_EQUAL(iso_model_bytes_read(model), before);
    }
    iso_model_close(&model);
    scratch_clear();
}

/* Turning a file into one of another version does not take its check away. */
static void test_versions_are_not_exchanged(void)
{
    static const struct {
        uint64_t version;
        const char *why;
    } others[] = {{0, "format_version is 0, this program has 2"},
                  {1, "root digest"},
                  {3, "format_version is 3, this program has 2"},
                  {UINT64_MAX, "format_version is 18446744073709551615"}};

    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        model_write_sample("m.h5", 3);
        hid_t file = H5Fopen("m.h5", H5F_ACC_RDWR, H5P_DEFAULT);
        set_u64(file, "format_version", others[i].version);
        CU_ASSERT(H5Fclose(file) >= 0);
        model_expect_refused("m.h5", others[i].why);
    }
    write_old("m.h5", 3);
    hid_t file = H5Fopen("m.h5", H5F_ACC_RDWR, H5P_DEFAULT);
    set_u64(file, "format_version", 2);
    CU_ASSERT(H5Fclose(file) >= 0);
    model_expect_refused("m.h5", "part_digest");
    scratch_clear();
}

/* -- too little memory -- */

static void test_no_memory(void)
{
    unsigned char data[MOST_BYTES];
    iso_status_t status = ISO_NOMEM;
    uint64_t sum = 0;
    int n = 0;

    model_write_sample("m.h5", 2);
    iso_model_t *model = model_open_sample("m.h5");
    const iso_weight_info_t *info =
        iso_model_find(model, "layer1.0.conv/weight");
    CU_ASSERT_PTR_NOT_NULL_FATAL(info);
    while (status != ISO_OK && n < 100) {
        n++;
        iso_mem_fail_at(n);
        status = iso_model_read_part(model, info, 1, 1, 4, data, &sum);
        iso_mem_fail_at(0);
        CU_ASSERT(status == ISO_OK ||
                  (status == ISO_NOMEM && model_text_has(info->name)));
    }
    CU_ASSERT(n > 1 && status == ISO_OK);
    iso_model_close(&model);
    scratch_clear();
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"every slab", test_every_slab},
        {"sums add up", test_sums_add_up},
        {"slabs past 2^32", test_slabs_past_2_32},
        {"slabs that are not there", test_slabs_that_are_not_there},
        {"files of version 1", test_files_of_version_1},
        {"versions are not exchanged", test_versions_are_not_exchanged},
        {"no memory", test_no_memory},
        {"nothing is left", model_test_nothing_is_left},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"parts of models", model_suite_begin, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    scratch_begin();
    return iso_test_main(suites);
}
