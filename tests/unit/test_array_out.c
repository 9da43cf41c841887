#include "isotome/error.h"

#include "base/digest.h"
#include "base/mem.h"
#include "io/array_in.h"
#include "io/array_out.h"
#include "iso_test.h"
#include "iso_test_folder.h"

#include <hdf5.h>

#include <signal.h>
#include <sys/resource.h>

static int64_t blocks;

static const iso_tensor_t header = {
    .dtype = ISO_DTYPE_I32, .rank = 2, .dims = {4, 3}};
static const int32_t values[4][3] = {
    {1, 2, 3}, {4, 5, 6}, {7, 8, 9}, {-1, -2, -3}};

static int suite_begin(void)
{
    (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    blocks = iso_mem_count().blocks;
    return 0;
}

static int text_has(const char *part)
{
    return strstr(iso_error_text(), part) != NULL;
}

static void limit_file_size(rlim_t bytes)
{
    const struct rlimit limit = {bytes, RLIM_INFINITY};

    CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static iso_array_out_t *begin(bool force)
{
    iso_array_out_t *out = NULL;

    CU_ASSERT_EQUAL_FATAL(iso_array_out_begin(force, false, &out), ISO_OK);
    return out;
}

static int add(iso_array_out_t *out, const char *place)
{
    int index = -1;

    CU_ASSERT_EQUAL_FATAL(iso_array_out_add(out, place, &header, &index),
                          ISO_OK);
    return index;
}

static void start(iso_array_out_t *out)
{
    CU_ASSERT_EQUAL_FATAL(iso_array_out_start(out), ISO_OK);
}

static void refuse(iso_array_out_t *out, const char *place, iso_status_t status,
                   const char *why)
{
    int index = -7;

    CU_ASSERT_EQUAL(iso_array_out_add(out, place, &header, &index), status);
    CU_ASSERT_EQUAL(index, -7);
    if (!text_has(why)) {
        (void)fprintf(stderr, "%s: %s\n", place, iso_error_text());
    }
    CU_ASSERT(text_has(why));
    CU_ASSERT_PTR_NULL(strchr(iso_error_text(), '\n'));
}

static void expect_values(const char *place)
{
    iso_array_in_t *array = NULL;
    int32_t read[4][3] = {{0}};

    CU_ASSERT_EQUAL_FATAL(iso_array_in_open(place, &array), ISO_OK);
    CU_ASSERT_EQUAL(iso_array_in_header(array)->dtype, ISO_DTYPE_I32);
    CU_ASSERT_EQUAL(iso_array_in_header(array)->dims[0], 4);
    CU_ASSERT_EQUAL(iso_array_in_read(array, 0, 4, read), ISO_OK);
    CU_ASSERT_EQUAL(memcmp(read, values, sizeof values), 0);
    iso_array_in_close(&array);
}

static void test_all_appear_at_the_end(void)
{
    static const char *const places[] = {"y.npy", "y.h5:/a/b/c", "y.h5:/a/d",
                                         "z=z.hdf5:/z", "y.h5:/e"};
    iso_array_out_t *out = begin(false);

    for (int i = 0; i < 5; i++) {
        CU_ASSERT_EQUAL(add(out, places[i]), i);
    }
    start(out);
    for (int row = 3; row >= 0; row--) {
        for (int i = 0; i < 5; i++) {
            CU_ASSERT_EQUAL(iso_array_out_write(out, i, row, 1, values[row]),
                            ISO_OK);
        }
    }
    CU_ASSERT(!scratch_exists("y.npy") && !scratch_exists("y.h5"));
    CU_ASSERT(!scratch_exists("z.hdf5"));
    CU_ASSERT_EQUAL(iso_array_out_commit(&out), ISO_OK);
    CU_ASSERT_PTR_NULL(out);
    for (int i = 0; i < 5; i++) {
        expect_values(places[i]);
    }
    CU_ASSERT_EQUAL(scratch_count(), 3);
    scratch_clear();
}

static const char *const part_places[] = {"y.npy", "y.h5:/a/b", "y.h5:/c"};

enum { N_PARTS = 3 };

/* Rows 0 and 1 of each, and an end. */
static void leave_parts(void)
{
    iso_array_out_t *out = begin(false);

    for (int i = 0; i < N_PARTS; i++) {
        CU_ASSERT_EQUAL(add(out, part_places[i]), i);
    }
    start(out);
    for (int i = 0; i < N_PARTS; i++) {
        CU_ASSERT_EQUAL(iso_array_out_write(out, i, 0, 2, values), ISO_OK);
    }
    iso_array_out_keep(out);
    iso_array_out_abandon(&out);
    CU_ASSERT(scratch_exists("y.npy.part") && scratch_exists("y.h5.part"));
    CU_ASSERT_EQUAL(scratch_count(), 2);
}

static void expect_digest(const iso_array_out_t *out, int index, int64_t first,
                          bool same)
{
    const uint64_t expected =
        iso_digest_of(values[first], 2 * sizeof values[0]);
    uint64_t digest = 0;

    CU_ASSERT_EQUAL(iso_array_out_digest(out, index, first, 2, &digest),
                    ISO_OK);
    CU_ASSERT_EQUAL(digest == expected, same);
}

/* Rows that were written are found. */
static void test_parts_are_gone_on_with(void)
{
    iso_array_out_t *out = NULL;

    leave_parts();
    CU_ASSERT_EQUAL_FATAL(iso_array_out_begin(false, true, &out), ISO_OK);
    for (int i = 0; i < N_PARTS; i++) {
        CU_ASSERT_EQUAL(add(out, part_places[i]), i);
        expect_digest(out, i, 0, true);
        expect_digest(out, i, 2, false);
    }
    start(out);
    for (int i = 0; i < N_PARTS; i++) {
        CU_ASSERT_EQUAL(iso_array_out_write(out, i, 2, 2, values[2]), ISO_OK);
    }
    CU_ASSERT_EQUAL(iso_array_out_commit(&out), ISO_OK);
    for (int i = 0; i < N_PARTS; i++) {
        expect_values(part_places[i]);
    }
    scratch_clear();
}

static void test_other_parts_are_refused(void)
{
    iso_array_out_t *out = begin(false);
    iso_tensor_t other = header;
    int index = -1;

    other.dims[0] = 5;
    (void)add(out, "y.npy");
    (void)add(out, "y.h5:/x");
    start(out);
    iso_array_out_keep(out);
    iso_array_out_abandon(&out);
    CU_ASSERT_EQUAL_FATAL(iso_array_out_begin(false, true, &out), ISO_OK);
    CU_ASSERT_EQUAL(iso_array_out_add(out, "y.npy", &other, &index), ISO_INPUT);
    CU_ASSERT(text_has("not what this job makes"));
    CU_ASSERT_EQUAL(iso_array_out_add(out, "y.h5:/x", &other, &index),
                    ISO_INPUT);
    CU_ASSERT_EQUAL(iso_array_out_add(out, "y.h5:/z", &header, &index),
                    ISO_INPUT);
    CU_ASSERT_EQUAL(iso_array_out_add(out, "z.npy", &header, &index),
                    ISO_INPUT);
    CU_ASSERT(text_has("cannot open 'z.npy.part'"));
    iso_array_out_abandon(&out);
    CU_ASSERT_EQUAL(scratch_count(), 2);
    scratch_clear();
}

static void test_abandoned_leaves_nothing(void)
{
    iso_array_out_t *out = begin(false);

    (void)add(out, "y.npy");
    (void)add(out, "y.h5:/x");
    start(out);
    CU_ASSERT_EQUAL(iso_array_out_write(out, 1, 0, 4, values), ISO_OK);
    CU_ASSERT_EQUAL(scratch_count(), 2);
    iso_array_out_abandon(&out);
    iso_array_out_abandon(&out);
    CU_ASSERT_EQUAL(scratch_count(), 0);
}

static void test_nothing_to_write(void)
{
    iso_array_out_t *out = begin(false);

    CU_ASSERT_EQUAL(iso_array_out_commit(&out), ISO_OK);
    CU_ASSERT_EQUAL(scratch_count(), 0);
}

static void test_existing_is_refused_or_replaced(void)
{
    size_t size = 0;

    scratch_save("y.h5", "old", 3);
    iso_array_out_t *out = begin(false);
    refuse(out, "y.h5:/x", ISO_IO, "--force");
    iso_array_out_abandon(&out);
    out = begin(true);
    (void)add(out, "y.h5:/x");
    start(out);
    CU_ASSERT_EQUAL(iso_array_out_write(out, 0, 0, 4, values), ISO_OK);
    free(scratch_load("y.h5", &size));
    CU_ASSERT_EQUAL(size, 3);
    CU_ASSERT_EQUAL(iso_array_out_commit(&out), ISO_OK);
    expect_values("y.h5:/x");
    scratch_clear();
}

static void test_bad_places(void)
{
    iso_array_out_t *out = begin(true);

    CU_ASSERT_EQUAL(mkdir("folder", 0777), 0);
    CU_ASSERT_EQUAL(symlink(".", "here"), 0);
    (void)add(out, "y.npy");
    (void)add(out, "y.h5:/a/b");
    refuse(out, "y.npy", ISO_INVAL, "named for two outputs");
    refuse(out, "./y.npy", ISO_INVAL, "named for two outputs");
    refuse(out, "y.h5:/a/b", ISO_INVAL, "in each other's way");
    refuse(out, "folder/../y.h5:/a", ISO_INVAL, "in each other's way");
    refuse(out, "here/y.h5:/a/b/c", ISO_INVAL, "in each other's way");
    refuse(out, "none/y.npy", ISO_IO, "there is no folder 'none'");
    refuse(out, "none/y.h5:/x", ISO_IO, "there is no folder 'none'");
    refuse(out, "y.txt", ISO_INVAL, "FILE.npy");
    CU_ASSERT_EQUAL(add(out, "y.h5:/a/bc"), 2);
    start(out);
    for (int i = 0; i < 3; i++) {
        CU_ASSERT_EQUAL(iso_array_out_write(out, i, 0, 4, values), ISO_OK);
    }
    CU_ASSERT_EQUAL(iso_array_out_commit(&out), ISO_OK);
    expect_values("y.h5:/a/b");
    expect_values("y.h5:/a/bc");
    CU_ASSERT_EQUAL(scratch_count(), 4);
    scratch_clear();
}

static void test_bad_headers_and_rows(void)
{
    const iso_tensor_t bf16 = {.dtype = ISO_DTYPE_BF16, .rank = 0};
    const iso_tensor_t huge = {.dtype = ISO_DTYPE_F32,
                               .rank = 2,
                               .dims = {INT64_C(1) << 40, INT64_C(1) << 40}};
    iso_array_out_t *out = begin(false);
    int index = 0;

    CU_ASSERT_EQUAL(iso_array_out_add(out, "b.npy", &bf16, &index), ISO_INVAL);
    CU_ASSERT_NOT_EQUAL(iso_array_out_add(out, "b.npy", &huge, &index), ISO_OK);
    CU_ASSERT_NOT_EQUAL(iso_array_out_add(out, "b.h5:/x", &huge, &index),
                        ISO_OK);
    CU_ASSERT_EQUAL(scratch_count(), 0);
    index = add(out, "y.h5:/x");
    start(out);
    CU_ASSERT_EQUAL(iso_array_out_write(out, index, 0, 5, values), ISO_INVAL);
    CU_ASSERT(text_has("y.h5") && text_has("/x"));
    CU_ASSERT_EQUAL(iso_array_out_write(out, index, -1, 1, values), ISO_INVAL);
    CU_ASSERT_EQUAL(iso_array_out_write(out, index, 4, 0, NULL), ISO_OK);
    CU_ASSERT_EQUAL(iso_array_out_write(out, index, 4, 1, values), ISO_INVAL);
    iso_array_out_abandon(&out);
}

/* Every dtype, a scalar, and arrays of no elements round-trip. */
static void test_every_dtype(void)
{
    static const unsigned char bytes[16] = {1, 0, 1, 0, 1, 1, 0, 1,
                                            0, 1, 1, 1, 0, 0, 0, 1};
    unsigned char read[16] = {0};
    char place[32];

    iso_array_out_t *out = begin(false);
    for (int dtype = 0; dtype < ISO_DTYPE_COUNT; dtype++) {
        const iso_tensor_t shapes[3] = {
            {.dtype = (iso_dtype_t)dtype, .rank = 0},
            {.dtype = (iso_dtype_t)dtype, .rank = 3, .dims = {2, 1, 1}},
            {.dtype = (iso_dtype_t)dtype, .rank = 3, .dims = {2, 0, 4}}};
        for (int i = 0; i < 3; i++) {
            int index = 0;
            (void)snprintf(place, sizeof place, "y.h5:/%d/%d", dtype, i);
            CU_ASSERT_EQUAL(iso_array_out_add(out, place, &shapes[i], &index),
                            ISO_OK);
            CU_ASSERT_EQUAL(index, 3 * dtype + i);
        }
    }
    start(out);
    for (int i = 0; i < 3 * ISO_DTYPE_COUNT; i++) {
        CU_ASSERT_EQUAL(
            iso_array_out_write(out, i, 0, i % 3 == 0 ? 1 : 2, bytes), ISO_OK);
    }
    CU_ASSERT_EQUAL(iso_array_out_commit(&out), ISO_OK);
    for (int i = 0; i < 3 * ISO_DTYPE_COUNT; i++) {
        iso_array_in_t *array = NULL;
        (void)snprintf(place, sizeof place, "y.h5:/%d/%d", i / 3, i % 3);
        CU_ASSERT_EQUAL_FATAL(iso_array_in_open(place, &array), ISO_OK);
        const iso_tensor_t *found = iso_array_in_header(array);
        CU_ASSERT_EQUAL(found->dtype, i / 3);
        CU_ASSERT_EQUAL(iso_array_in_read(array, 0, i % 3 == 0 ? 1 : 2, read),
                        ISO_OK);
        CU_ASSERT_EQUAL(memcmp(read, bytes, iso_tensor_bytes(found)), 0);
        iso_array_in_close(&array);
    }
    scratch_clear();
}

/* The disk is full when a file is announced: said at once, nothing left. */
static void test_disk_full_at_once(void)
{
    iso_array_out_t *out = begin(false);
    iso_tensor_t large = header;
    int index = 0;

    large.dims[0] = 100000;
    limit_file_size(100000);
    CU_ASSERT_EQUAL(iso_array_out_add(out, "y.npy", &large, &index), ISO_IO);
    CU_ASSERT(text_has("y.npy"));
    CU_ASSERT_EQUAL(scratch_count(), 0);
    CU_ASSERT_EQUAL(iso_array_out_add(out, "y.h5:/x", &large, &index), ISO_IO);
    CU_ASSERT(text_has("disk full") && text_has("y.h5"));
    CU_ASSERT_EQUAL(scratch_count(), 0);
    (void)add(out, "z.h5:/small");
    CU_ASSERT_EQUAL(iso_array_out_add(out, "z.h5:/x", &large, &index), ISO_IO);
    CU_ASSERT(text_has("disk full") && text_has("z.h5"));
    iso_array_out_abandon(&out);
    limit_file_size(RLIM_INFINITY);
    CU_ASSERT_EQUAL(scratch_count(), 0);
}

/* Not one byte can be written, ever: HDF5 must survive its own clean-up. */
static void test_disk_full_from_the_start(void)
{
    for (rlim_t limit = 0; limit < 6000; limit += 97) {
        iso_array_out_t *out = begin(false);
        int index = 0;
        limit_file_size(limit);
        iso_status_t status =
            iso_array_out_add(out, "y.h5:/a/x", &header, &index);
        if (status == ISO_OK) {
            status = iso_array_out_commit(&out);
        } else {
            iso_array_out_abandon(&out);
        }
        limit_file_size(RLIM_INFINITY);
        CU_ASSERT(status == ISO_IO || (status == ISO_OK && limit > 100));
        CU_ASSERT_EQUAL(scratch_exists("y.h5"), status == ISO_OK);
        CU_ASSERT_EQUAL(scratch_count(), status == ISO_OK ? 1 : 0);
        scratch_clear();
    }
}

/* Space was reserved, but a write fails all the same. */
static void test_write_fails_later(void)
{
    iso_array_out_t *out = begin(false);

    (void)add(out, "a.npy");
    (void)add(out, "y.h5:/a/x");
    start(out);
    limit_file_size(10);
    CU_ASSERT_EQUAL(iso_array_out_write(out, 1, 0, 4, values), ISO_IO);
    CU_ASSERT(text_has("disk full") && text_has("y.h5"));
    CU_ASSERT_EQUAL(iso_array_out_write(out, 0, 0, 4, values), ISO_IO);
    limit_file_size(RLIM_INFINITY);
    CU_ASSERT_EQUAL(iso_array_out_commit(&out), ISO_IO);
    CU_ASSERT_PTR_NULL(out);
    CU_ASSERT_EQUAL(scratch_count(), 0);
}

/* One of several names cannot be taken: the others are given up. */
static void test_all_or_none(void)
{
    iso_array_out_t *out = begin(false);

    (void)add(out, "a.npy");
    (void)add(out, "b.h5:/x");
    (void)add(out, "c.npy");
    CU_ASSERT_EQUAL(mkdir("b.h5", 0777), 0);
    CU_ASSERT_EQUAL(iso_array_out_commit(&out), ISO_IO);
    CU_ASSERT(text_has("b.h5"));
    CU_ASSERT_EQUAL(scratch_count(), 1);
    scratch_clear();
}

static iso_status_t write_two(void)
{
    iso_array_out_t *out = NULL;
    int index = 0;

    iso_status_t status = iso_array_out_begin(false, false, &out);
    if (status == ISO_OK) {
        status = iso_array_out_add(out, "a.npy", &header, &index);
    }
    if (status == ISO_OK) {
        status = iso_array_out_add(out, "n=b.h5:/g/x", &header, &index);
    }
    if (status == ISO_OK) {
        status = iso_array_out_start(out);
    }
    if (status == ISO_OK) {
        status = iso_array_out_write(out, index, 0, 4, values);
    }
    if (status == ISO_OK) {
        status = iso_array_out_commit(&out);
    }
    iso_array_out_abandon(&out);
    return status;
}

/* HDF5 opens a new file twice and forgives the first failure: any allocation
 * may fail, and all outputs are there or none. */
static void test_no_memory(void)
{
    int64_t before = iso_mem_count().allocations;

    CU_ASSERT_EQUAL(write_two(), ISO_OK);
    int64_t allocations = iso_mem_count().allocations - before;
    CU_ASSERT(allocations > 20);
    for (int64_t n = 1; n <= allocations; n++) {
        scratch_clear();
        iso_mem_fail_at(n);
        iso_status_t status = write_two();
        iso_mem_fail_at(0);
        CU_ASSERT_EQUAL(scratch_count(), status == ISO_OK ? 2 : 0);
        CU_ASSERT_EQUAL(iso_mem_count().blocks, blocks);
        CU_ASSERT_EQUAL(H5Fget_obj_count(H5F_OBJ_ALL, H5F_OBJ_ALL), 0);
    }
    scratch_clear();
}

static void test_nothing_is_left(void)
{
    CU_ASSERT_EQUAL(iso_mem_count().blocks, blocks);
    CU_ASSERT_EQUAL(H5Fget_obj_count(H5F_OBJ_ALL, H5F_OBJ_ALL), 0);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"all appear at the end", test_all_appear_at_the_end},
        {"parts are gone on with", test_parts_are_gone_on_with},
        {"other parts are refused", test_other_parts_are_refused},
        {"abandoned leaves nothing", test_abandoned_leaves_nothing},
        {"nothing to write", test_nothing_to_write},
        {"existing is refused or replaced",
         test_existing_is_refused_or_replaced},
        {"bad places", test_bad_places},
        {"bad headers and rows", test_bad_headers_and_rows},
        {"every dtype", test_every_dtype},
        {"disk full at once", test_disk_full_at_once},
        {"disk full from the start", test_disk_full_from_the_start},
        {"a write fails later", test_write_fails_later},
        {"all or none", test_all_or_none},
        {"no memory", test_no_memory},
        {"nothing is left", test_nothing_is_left},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"array_out", suite_begin, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    scratch_begin();
    (void)signal(SIGXFSZ, SIG_IGN);
    return iso_test_main(suites);
}
