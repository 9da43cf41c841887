/* Weights and slabs read in parts: the same bytes and sums as at once, and
 * what is refused. */
#include "isotome/error.h"
#include "isotome/model_file.h"

#include "base/mem.h"
#include "iso_test.h"
#include "iso_test_folder.h"
#include "model_samples.h"

#include <inttypes.h>

/* A weight whose rows do not divide what is read at once. */
enum { BIG_ROWS = 5, BIG_COLUMNS = 100003 };

static unsigned char expected[MOST_BYTES];
static unsigned char found[MOST_BYTES];

static iso_weight_reader_t *open_slab(iso_model_t *model,
                                      const iso_weight_info_t *info, int axis,
                                      int64_t begin, int64_t end)
{
    iso_weight_reader_t *reader = NULL;

    CU_ASSERT_EQUAL_FATAL(
        iso_weight_reader_open(model, info, axis, begin, end, &reader), ISO_OK);
    return reader;
}

/* Rows of the first dim, and bytes of one. */
static int64_t rows_of(const iso_weight_info_t *info, int axis, int64_t begin,
                       int64_t end, size_t *row_bytes_out)
{
    size_t bytes = info->bytes;
    int64_t rows = info->shape.rank == 0 ? 1 : info->shape.dim[0].size;

    if (axis != ISO_READ_WHOLE) {
        CU_ASSERT_EQUAL(iso_weight_part_bytes(info, axis, begin, end, &bytes),
                        ISO_OK);
    }
    if (axis == 0) {
        rows = end - begin;
    }
    *row_bytes_out = rows == 0 ? 0 : bytes / (size_t)rows;
    return rows;
}

/* In parts of so many rows, with parts of none between them. */
static void check_parts(iso_model_t *model, const iso_weight_info_t *info,
                        int axis, int64_t begin, int64_t end, int64_t step)
{
    size_t row_bytes = 0;
    uint64_t expected_sum = 0;
    uint64_t sum = 1;
    const int64_t rows = rows_of(info, axis, begin, end, &row_bytes);

    memset(expected, 0xa5, sizeof expected);
    memset(found, 0xa5, sizeof found);
    CU_ASSERT_EQUAL(axis == ISO_READ_WHOLE
                        ? iso_model_read(model, info, expected)
                        : iso_model_read_part(model, info, axis, begin, end,
                                              expected, &expected_sum),
                    ISO_OK);
    const size_t before = iso_model_bytes_read(model);
    iso_weight_reader_t *reader = open_slab(model, info, axis, begin, end);
    for (int64_t row = 0; row < rows; row += step) {
        const int64_t count = rows - row < step ? rows - row : step;
        CU_ASSERT_EQUAL(iso_weight_reader_next(reader, 0, NULL), ISO_OK);
        CU_ASSERT_EQUAL(iso_weight_reader_next(reader, count,
                                               found + (size_t)row * row_bytes),
                        ISO_OK);
    }
    CU_ASSERT_EQUAL(iso_weight_reader_end(reader, &sum), ISO_OK);
    iso_weight_reader_close(&reader);
    CU_ASSERT_PTR_NULL(reader);
    CU_ASSERT_EQUAL(memcmp(found, expected, sizeof found), 0);
    CU_ASSERT_EQUAL(sum, expected_sum);
    CU_ASSERT_EQUAL(iso_model_bytes_read(model) - before,
                    (size_t)rows * row_bytes);
}

static void check_axis(iso_model_t *model, const iso_weight_info_t *info,
                       int axis, int64_t step)
{
    const int64_t length = info->shape.dim[axis].size;
    const int64_t stride = length > 20 ? 331 : 1;

    for (int64_t begin = 0; begin <= length; begin += stride) {
        for (int64_t end = begin; end <= length; end += stride) {
            check_parts(model, info, axis, begin, end, step);
        }
    }
}

static void test_parts(void)
{
    static const int64_t steps[] = {1, 2, 3, 7, 1000};

    model_write_sample("m.h5", WEIGHTS);
    iso_model_t *model = model_open_sample("m.h5");
    for (int i = 0; i < WEIGHTS; i++) {
        const iso_weight_info_t *info =
            iso_model_find(model, model_samples[i].name);
        CU_ASSERT_PTR_NOT_NULL_FATAL(info);
        for (size_t s = 0; s < sizeof steps / sizeof *steps; s++) {
            check_parts(model, info, ISO_READ_WHOLE, 0, 0, steps[s]);
            for (int axis = 0; axis < info->shape.rank; axis++) {
                check_axis(model, info, axis, steps[s]);
            }
        }
    }
    iso_model_close(&model);
    scratch_clear();
}

/* -- more than is read at once -- */

static iso_status_t get_big(void *arg, const char *name,
                            iso_tensor_t *tensor_out)
{
    const int64_t dims[] = {BIG_ROWS, BIG_COLUMNS};
    const iso_shape_t shape = iso_shape_of(2, dims);

    (void)name;
    return iso_tensor_view(ISO_DTYPE_I64, &shape, arg, tensor_out);
}

static void write_big(const char *path, int64_t *values)
{
    const int64_t dims[] = {BIG_ROWS, BIG_COLUMNS};
    const iso_shape_t shape = iso_shape_of(2, dims);
    const iso_weight_source_t source = {get_big, values};
    iso_graph_t *graph = NULL;
    iso_node_id_t node = ISO_NO_NODE;

    for (int64_t i = 0; i < (int64_t)BIG_ROWS * BIG_COLUMNS; i++) {
        values[i] = i * INT64_C(0x9e3779b1) + 1;
    }
    CU_ASSERT_EQUAL_FATAL(iso_graph_create(&graph), ISO_OK);
    CU_ASSERT_EQUAL(
        iso_graph_add_param(graph, "big", ISO_DTYPE_I64, &shape, &node),
        ISO_OK);
    CU_ASSERT_EQUAL(iso_graph_add_output(graph, "y", node), ISO_OK);
    CU_ASSERT_EQUAL_FATAL(iso_model_write(path, graph, &source), ISO_OK);
    iso_graph_destroy(&graph);
}

/* Columns [first, first + count) of some rows must be those of values. */
static bool same_columns(const int64_t *part, const int64_t *values,
                         int64_t rows, int64_t first, int64_t count)
{
    bool same = true;

    for (int64_t row = 0; row < rows; row++) {
        same = same &&
               memcmp(part + row * count, values + row * BIG_COLUMNS + first,
                      (size_t)count * sizeof *part) == 0;
    }
    return same;
}

static void test_large_rows(void)
{
    const size_t bytes = sizeof(double) * BIG_ROWS * BIG_COLUMNS;
    const int64_t cut = 40001;
    int64_t *values = iso_alloc(bytes);
    int64_t *part = iso_alloc(bytes);
    uint64_t sums[2] = {0};

    CU_ASSERT_FATAL(values != NULL && part != NULL);
    write_big("big.h5", values);
    iso_model_t *model = model_open_sample("big.h5");
    const iso_weight_info_t *info = iso_model_weight(model, 0);
    CU_ASSERT_EQUAL(iso_model_read(model, info, part), ISO_OK);
    CU_ASSERT_EQUAL(memcmp(part, values, bytes), 0);
    for (int i = 0; i < 2; i++) {
        const int64_t first = i == 0 ? 0 : cut;
        const int64_t end = i == 0 ? cut : BIG_COLUMNS;
        iso_weight_reader_t *reader = open_slab(model, info, 1, first, end);

        CU_ASSERT_EQUAL(iso_weight_reader_next(reader, 2, part), ISO_OK);
        CU_ASSERT(same_columns(part, values, 2, first, end - first));
        CU_ASSERT_EQUAL(iso_weight_reader_next(reader, 3, part), ISO_OK);
        CU_ASSERT(same_columns(part, values + (size_t)2 * BIG_COLUMNS, 3, first,
                               end - first));
        CU_ASSERT_EQUAL(iso_weight_reader_end(reader, &sums[i]), ISO_OK);
        iso_weight_reader_close(&reader);
    }
    CU_ASSERT_EQUAL(sums[0] + sums[1], info->part_digest);
    iso_model_close(&model);
    iso_free(values);
    iso_free(part);
    scratch_clear();
}

/* -- what is refused -- */

static void expect_text(const char *weight, const char *why)
{
    if (!model_text_has("model 'm.h5': weight '") || !model_text_has(weight) ||
        !model_text_has(why)) {
        (void)fprintf(stderr, "expected '%s': %s\n", why, iso_error_text());
        CU_FAIL("another text");
    }
}

static void test_rows_that_are_not_there(void)
{
    uint64_t sum = 0;

    model_write_sample("m.h5", WEIGHTS);
    iso_model_t *model = model_open_sample("m.h5");
    const iso_weight_info_t *info = iso_model_find(model, "w");
    iso_weight_reader_t *reader = open_slab(model, info, 1, 1, 2);
    CU_ASSERT_EQUAL(iso_weight_reader_next(reader, 3, found), ISO_OK);
    CU_ASSERT_EQUAL(iso_weight_reader_next(reader, 2, found), ISO_INVAL);
    expect_text("w", "2 rows from row 3 are not there; it has 4");
    CU_ASSERT_EQUAL(iso_weight_reader_next(reader, -1, found), ISO_INVAL);
    CU_ASSERT_EQUAL(iso_weight_reader_end(reader, &sum), ISO_INVAL);
    expect_text("w", "of its 4 rows only 3 were read");
    CU_ASSERT_EQUAL(iso_weight_reader_next(reader, 1, found), ISO_OK);
    CU_ASSERT_EQUAL(iso_weight_reader_end(reader, &sum), ISO_OK);
    iso_weight_reader_close(&reader);
    iso_weight_reader_close(&reader);
    CU_ASSERT_EQUAL(iso_weight_reader_open(model, info, 4, 0, 1, &reader),
                    ISO_INVAL);
    CU_ASSERT_PTR_NULL(reader);
    expect_text("w", "no axis 4");
    CU_ASSERT_EQUAL(iso_weight_reader_open(model, info, 0, 3, 5, &reader),
                    ISO_INVAL);
    expect_text("w", "slab 3 to 5 of axis 0");
    iso_model_close(&model);
    scratch_clear();
}

/* Where the elements of "W" are in the file. */
static size_t place_of_w(const char *bytes, size_t size)
{
    const void *wanted = model_elements_of(&model_samples[12]);
    size_t at = 0;

    while (at + 4000 < size && memcmp(bytes + at, wanted, 4000) != 0) {
        at++;
    }
    CU_ASSERT_FATAL(at + 4000 < size);
    return at;
}

/* All of "W" in parts. */
static iso_status_t read_w(const char *path, int axis, uint64_t *sum_out,
                           uint64_t *part_digest_out)
{
    iso_model_t *model = model_open_sample(path);
    const iso_weight_info_t *info = iso_model_find(model, "W");
    iso_weight_reader_t *reader = open_slab(model, info, axis, 0, 1000);
    iso_status_t status = ISO_OK;

    for (int i = 0; i < 10 && status == ISO_OK; i++) {
        status = iso_weight_reader_next(reader, 100, found);
    }
    if (status == ISO_OK) {
        status = iso_weight_reader_end(reader, sum_out);
    }
    *part_digest_out = info->part_digest;
    iso_weight_reader_close(&reader);
    iso_model_close(&model);
    return status;
}

/* In the first part, in the middle, in the last byte. */
static void test_a_corrupted_byte(void)
{
    static const size_t places[] = {0, 1999, 3999};
    size_t size = 0;
    uint64_t sum = 0;
    uint64_t part_digest = 0;

    model_write_sample("m.h5", WEIGHTS);
    char *bytes = scratch_load("m.h5", &size);
    const size_t w = place_of_w(bytes, size);
    CU_ASSERT_EQUAL(read_w("m.h5", ISO_READ_WHOLE, &sum, &part_digest), ISO_OK);
    CU_ASSERT_EQUAL(read_w("m.h5", 0, &sum, &part_digest), ISO_OK);
    CU_ASSERT_EQUAL(sum, part_digest);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        bytes[w + places[i]] ^= 0x20;
        scratch_save("m.h5", bytes, size);
        bytes[w + places[i]] ^= 0x20;
        CU_ASSERT_EQUAL(read_w("m.h5", ISO_READ_WHOLE, &sum, &part_digest),
                        ISO_INPUT);
        expect_text("W", "its digest is");
        CU_ASSERT_EQUAL(read_w("m.h5", 0, &sum, &part_digest), ISO_OK);
        CU_ASSERT_NOT_EQUAL(sum, part_digest);
    }
    free(bytes);
    scratch_clear();
}

/* The file loses its end after it was opened: HDF5 takes what is missing for
 * zeros, so the digest or the sum tells. */
static void test_a_truncated_file(void)
{
    int64_t *values = iso_alloc(sizeof *values * BIG_ROWS * BIG_COLUMNS);
    int64_t *part = iso_alloc(sizeof *part * BIG_ROWS * BIG_COLUMNS);

    CU_ASSERT_FATAL(values != NULL && part != NULL);
    for (int axis = ISO_READ_WHOLE; axis <= 1; axis++) {
        uint64_t sum = 0;

        write_big("m.h5", values);
        iso_model_t *model = model_open_sample("m.h5");
        const iso_weight_info_t *info = iso_model_weight(model, 0);
        iso_weight_reader_t *reader =
            open_slab(model, info, axis, 0, axis == 1 ? BIG_COLUMNS : BIG_ROWS);

        CU_ASSERT_EQUAL(iso_weight_reader_next(reader, 1, part), ISO_OK);
        CU_ASSERT_EQUAL_FATAL(
            truncate("m.h5", (off_t)sizeof *values * 3 * BIG_COLUMNS), 0);
        iso_status_t status = iso_weight_reader_next(reader, 4, part);
        if (status == ISO_OK) {
            status = iso_weight_reader_end(reader, &sum);
        }
        if (axis == ISO_READ_WHOLE) {
            CU_ASSERT_EQUAL(status, ISO_INPUT);
            expect_text("big", "");
        } else {
            CU_ASSERT(status == ISO_INPUT || sum != info->part_digest);
        }
        iso_weight_reader_close(&reader);
        iso_model_close(&model);
    }
    iso_free(values);
    iso_free(part);
    scratch_clear();
}

static void test_no_memory(void)
{
    iso_status_t status = ISO_NOMEM;
    int n = 0;

    model_write_sample("m.h5", 1);
    iso_model_t *model = model_open_sample("m.h5");
    const iso_weight_info_t *info = iso_model_weight(model, 0);
    while (status != ISO_OK && n < 100) {
        iso_weight_reader_t *reader = NULL;
        n++;
        iso_mem_fail_at(n);
        status = iso_weight_reader_open(model, info, 1, 0, 2, &reader);
        iso_mem_fail_at(0);
        CU_ASSERT(status == ISO_OK || (status == ISO_NOMEM && reader == NULL));
        iso_weight_reader_close(&reader);
    }
    CU_ASSERT(n > 1 && status == ISO_OK);
    iso_model_close(&model);
    scratch_clear();
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"parts", test_parts},
        {"large rows", test_large_rows},
        {"rows that are not there", test_rows_that_are_not_there},
        {"a corrupted byte", test_a_corrupted_byte},
        {"a truncated file", test_a_truncated_file},
        {"no memory", test_no_memory},
        {"nothing is left", model_test_nothing_is_left},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"parts of weights", model_suite_begin, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    scratch_begin();
    return iso_test_main(suites);
}
