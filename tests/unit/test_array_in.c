#include "isotome/error.h"

#include "base/mem.h"
#include "io/array_in.h"
#include "iso_test.h"
#include "iso_test_folder.h"
#include "tensor/npy.h"

#include <hdf5.h>

static int64_t blocks;
static hid_t file;

static int suite_begin(void)
{
    (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    blocks = iso_mem_count().blocks;
    return 0;
}

static void begin_file(const char *path)
{
    file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    CU_ASSERT_FATAL(file >= 0);
}

static void end_file(void)
{
    CU_ASSERT(H5Fclose(file) >= 0);
}

/* Add a dataset of rank dims; data may be NULL (nothing is written). */
static void add(const char *name, hid_t type, int rank, const hsize_t *dims,
                hid_t creation, const void *data)
{
    hid_t space = H5Screate_simple(rank, dims, NULL);
    hid_t dataset =
        H5Dcreate2(file, name, type, space, H5P_DEFAULT, creation, H5P_DEFAULT);

    CU_ASSERT_FATAL(dataset >= 0);
    if (data != NULL) {
        CU_ASSERT(
            H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
    }
    (void)H5Dclose(dataset);
    (void)H5Sclose(space);
}

static int text_has(const char *part)
{
    return strstr(iso_error_text(), part) != NULL;
}

static void expect_refused(const char *place, const char *why)
{
    iso_array_in_t *array = NULL;

    CU_ASSERT_EQUAL(iso_array_in_open(place, &array), ISO_INPUT);
    CU_ASSERT_PTR_NULL(array);
    if (!text_has(why)) {
        (void)fprintf(stderr, "%s: %s\n", place, iso_error_text());
    }
    CU_ASSERT(text_has(why));
    CU_ASSERT_PTR_NULL(strchr(iso_error_text(), '\n'));
    CU_ASSERT_EQUAL(iso_mem_count().blocks, blocks);
}

/* Open, check the header, read all rows, compare. */
static void expect_read(const char *place, iso_dtype_t dtype, int rank,
                        const int64_t *dims, const void *expected)
{
    iso_array_in_t *array = NULL;
    char data[256] = "";

    CU_ASSERT_EQUAL_FATAL(iso_array_in_open(place, &array), ISO_OK);
    const iso_tensor_t *header = iso_array_in_header(array);
    CU_ASSERT_EQUAL(header->dtype, dtype);
    CU_ASSERT_EQUAL_FATAL(header->rank, rank);
    for (int i = 0; i < rank; i++) {
        CU_ASSERT_EQUAL(header->dims[i], dims[i]);
    }
    CU_ASSERT_FATAL(iso_tensor_bytes(header) <= sizeof data);
    CU_ASSERT_EQUAL(iso_array_in_read(array, 0, rank == 0 ? 1 : dims[0], data),
                    ISO_OK);
    CU_ASSERT_EQUAL(memcmp(data, expected, iso_tensor_bytes(header)), 0);
    iso_array_in_close(&array);
    CU_ASSERT_PTR_NULL(array);
}

static void test_npy(void)
{
    int32_t values[6] = {1, -2, 3, -4, 5, -6};
    const iso_tensor_t tensor = {
        .dtype = ISO_DTYPE_I32, .rank = 2, .dims = {3, 2}, .data = values};

    CU_ASSERT_EQUAL(iso_npy_save("x.npy", &tensor), ISO_OK);
    expect_read("x.npy", ISO_DTYPE_I32, 2, tensor.dims, values);
    expect_read("name=x.npy", ISO_DTYPE_I32, 2, tensor.dims, values);
    expect_refused("none.npy", "none.npy");
    scratch_clear();
}

static void test_types(void)
{
    static const unsigned char bits[24] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    const hsize_t dims[1] = {3};
    const int64_t sizes[1] = {3};
    const int64_t big[3] = {1, -2, INT64_MAX};
    hid_t half = H5Tcopy(H5T_IEEE_F32LE);

    (void)H5Tset_fields(half, 15, 10, 5, 0, 10);
    (void)H5Tset_size(half, 2);
    (void)H5Tset_ebias(half, 15);
    begin_file("x.h5");
    add("f32", H5T_IEEE_F32LE, 1, dims, H5P_DEFAULT, bits);
    add("f64", H5T_IEEE_F64LE, 1, dims, H5P_DEFAULT, bits);
    add("f16", half, 1, dims, H5P_DEFAULT, bits);
    add("i8", H5T_STD_I8LE, 1, dims, H5P_DEFAULT, bits);
    add("u8", H5T_STD_U8BE, 1, dims, H5P_DEFAULT, bits);
    add("i32", H5T_STD_I32LE, 1, dims, H5P_DEFAULT, bits);
    add("i64", H5T_STD_I64BE, 1, dims, H5P_DEFAULT, NULL);
    hid_t dataset = H5Dopen2(file, "i64", H5P_DEFAULT);
    (void)H5Dwrite(dataset, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                   big);
    (void)H5Dclose(dataset);
    end_file();
    (void)H5Tclose(half);
    expect_read("x.h5:/f32", ISO_DTYPE_F32, 1, sizes, bits);
    expect_read("x.h5:/f64", ISO_DTYPE_F64, 1, sizes, bits);
    expect_read("x.h5:/f16", ISO_DTYPE_F16, 1, sizes, bits);
    expect_read("x.h5:/i8", ISO_DTYPE_I8, 1, sizes, bits);
    expect_read("x.h5:/u8", ISO_DTYPE_U8, 1, sizes, bits);
    expect_read("x.h5:/i32", ISO_DTYPE_I32, 1, sizes, bits);
    expect_read("x.h5:/i64", ISO_DTYPE_I64, 1, sizes, big);
    scratch_clear();
}

static void test_bool_of_h5py(void)
{
    const signed char no = 0;
    const signed char yes = 1;
    const unsigned char values[4] = {1, 0, 0, 1};
    const hsize_t dims[2] = {2, 2};
    const int64_t sizes[2] = {2, 2};
    hid_t good = H5Tenum_create(H5T_NATIVE_INT8);
    hid_t other = H5Tenum_create(H5T_NATIVE_INT8);

    (void)H5Tenum_insert(good, "FALSE", &no);
    (void)H5Tenum_insert(good, "TRUE", &yes);
    (void)H5Tenum_insert(other, "RED", &no);
    (void)H5Tenum_insert(other, "TRUE", &yes);
    begin_file("x.h5");
    add("good", good, 2, dims, H5P_DEFAULT, values);
    add("other", other, 2, dims, H5P_DEFAULT, values);
    end_file();
    (void)H5Tclose(good);
    (void)H5Tclose(other);
    expect_read("x.h5:/good", ISO_DTYPE_BOOL, 2, sizes, values);
    expect_refused("x.h5:/other", "type of its elements");
    scratch_clear();
}

static void test_scalar_and_no_rows(void)
{
    const hsize_t empty[3] = {0, 7, 2};
    const int64_t empty_sizes[3] = {0, 7, 2};
    const double value = -0.5;
    iso_array_in_t *array = NULL;
    double read = 0;

    begin_file("x.h5");
    add("empty", H5T_IEEE_F32LE, 3, empty, H5P_DEFAULT, NULL);
    hid_t space = H5Screate(H5S_SCALAR);
    hid_t dataset = H5Dcreate2(file, "scalar", H5T_IEEE_F64LE, space,
                               H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    (void)H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                   &value);
    (void)H5Dclose(dataset);
    (void)H5Sclose(space);
    end_file();
    expect_read("x.h5:/empty", ISO_DTYPE_F32, 3, empty_sizes, "");
    expect_read("x.h5:/scalar", ISO_DTYPE_F64, 0, NULL, &value);
    CU_ASSERT_EQUAL_FATAL(iso_array_in_open("x.h5:/scalar", &array), ISO_OK);
    CU_ASSERT_EQUAL(iso_array_in_read(array, 0, 0, NULL), ISO_OK);
    CU_ASSERT_EQUAL(iso_array_in_read(array, 1, 1, &read), ISO_INVAL);
    CU_ASSERT_EQUAL(iso_array_in_read(array, 0, 2, &read), ISO_INVAL);
    iso_array_in_close(&array);
    scratch_clear();
}

enum { ROWS = 97, COLS = 13, TRIES = 300 };
static int32_t table[ROWS][COLS];

/* Chunked, compressed and big-endian. */
static void make_table(const char *path)
{
    const hsize_t dims[2] = {ROWS, COLS};
    const hsize_t chunk[2] = {10, 5};

    for (int i = 0; i < ROWS * COLS; i++) {
        table[i / COLS][i % COLS] = i * 7919;
    }
    begin_file(path);
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    (void)H5Pset_chunk(creation, 2, chunk);
    (void)H5Pset_deflate(creation, 6);
    hid_t group = H5Gcreate2(file, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    (void)H5Gclose(group);
    add("g/x", H5T_STD_I32BE, 2, dims, creation, NULL);
    hid_t dataset = H5Dopen2(file, "g/x", H5P_DEFAULT);
    (void)H5Dwrite(dataset, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                   table);
    (void)H5Dclose(dataset);
    (void)H5Pclose(creation);
    end_file();
}

/* A number from 0 to most. */
static int64_t draw(unsigned *state, int64_t most)
{
    *state = *state * 1664525U + 1013904223U;
    return (int64_t)(*state >> 8) % (most + 1);
}

/* Rows in any ranges are what was written. */
static void test_random_rows(void)
{
    const unsigned seed = 20240229;
    unsigned state = seed;
    int32_t read[ROWS][COLS];
    iso_array_in_t *array = NULL;

    make_table("x.hdf5");
    CU_ASSERT_EQUAL_FATAL(iso_array_in_open("x.hdf5:/g/x", &array), ISO_OK);
    for (int i = 0; i < TRIES; i++) {
        int64_t first = draw(&state, ROWS);
        int64_t count = draw(&state, ROWS - first);
        CU_ASSERT_EQUAL(iso_array_in_read(array, first, count, read), ISO_OK);
        if (memcmp(read, table[first], (size_t)count * sizeof read[0]) != 0) {
            (void)fprintf(stderr, "seed %u, try %d\n", seed, i);
            CU_FAIL("rows differ");
        }
    }
    CU_ASSERT_EQUAL(iso_array_in_read(array, -1, 1, read), ISO_INVAL);
    CU_ASSERT_EQUAL(iso_array_in_read(array, ROWS, 1, read), ISO_INVAL);
    CU_ASSERT_EQUAL(iso_array_in_read(array, 1, INT64_MAX, read), ISO_INVAL);
    CU_ASSERT(text_has("x.hdf5") && text_has("/g/x"));
    iso_array_in_close(&array);
    scratch_clear();
}

/* The last rows of an array of more than 2^31 need the memory of these. */
static void test_rows_past_2_31(void)
{
    const hsize_t dims[1] = {(hsize_t)INT32_MAX + 10};
    const hsize_t start[1] = {(hsize_t)INT32_MAX + 7};
    const hsize_t count[1] = {3};
    const char last[3] = {1, 2, 3};
    iso_array_in_t *array = NULL;
    char read[3] = "";

    begin_file("x.h5");
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    (void)H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER);
    add("x", H5T_STD_I8LE, 1, dims, creation, NULL);
    hid_t dataset = H5Dopen2(file, "x", H5P_DEFAULT);
    hid_t space = H5Dget_space(dataset);
    hid_t memory = H5Screate_simple(1, count, NULL);
    (void)H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
    CU_ASSERT(
        H5Dwrite(dataset, H5T_STD_I8LE, memory, space, H5P_DEFAULT, last) >= 0);
    (void)H5Sclose(memory);
    (void)H5Sclose(space);
    (void)H5Dclose(dataset);
    (void)H5Pclose(creation);
    end_file();
    CU_ASSERT_EQUAL_FATAL(iso_array_in_open("x.h5:/x", &array), ISO_OK);
    CU_ASSERT_EQUAL(iso_array_in_read(array, (int64_t)start[0], 3, read),
                    ISO_OK);
    CU_ASSERT_EQUAL(memcmp(read, last, 3), 0);
    CU_ASSERT_EQUAL(iso_array_in_read(array, (int64_t)start[0], 4, read),
                    ISO_INVAL);
    iso_array_in_close(&array);
    scratch_clear();
}

static void test_links(void)
{
    const hsize_t dims[1] = {2};
    const int64_t sizes[1] = {2};
    const char values[2] = {5, 6};

    begin_file("other.h5");
    add("x", H5T_STD_I8LE, 1, dims, H5P_DEFAULT, values);
    end_file();
    begin_file("x.h5");
    add("x", H5T_STD_I8LE, 1, dims, H5P_DEFAULT, values);
    (void)H5Lcreate_soft("/x", file, "soft", H5P_DEFAULT, H5P_DEFAULT);
    (void)H5Lcreate_soft("/none", file, "dangling", H5P_DEFAULT, H5P_DEFAULT);
    (void)H5Lcreate_soft("/loop", file, "loop", H5P_DEFAULT, H5P_DEFAULT);
    (void)H5Lcreate_external("other.h5", "/x", file, "away", H5P_DEFAULT,
                             H5P_DEFAULT);
    (void)H5Lcreate_external("other.h5", "/", file, "root", H5P_DEFAULT,
                             H5P_DEFAULT);
    (void)H5Lcreate_soft("/away", file, "detour", H5P_DEFAULT, H5P_DEFAULT);
    end_file();
    expect_read("x.h5:/soft", ISO_DTYPE_I8, 1, sizes, values);
    expect_refused("x.h5:/dangling", "dangling");
    expect_refused("x.h5:/loop", "'/loop'");
    expect_refused("x.h5:/away", "link into another file");
    expect_refused("x.h5:/root/x", "link into another file");
    expect_refused("x.h5:/detour", "link into another file");
    scratch_clear();
}

static void test_elements_elsewhere(void)
{
    const hsize_t dims[1] = {2};
    const char values[2] = {5, 6};

    scratch_save("raw", values, 2);
    begin_file("other.h5");
    add("x", H5T_STD_I8LE, 1, dims, H5P_DEFAULT, values);
    end_file();
    begin_file("x.h5");
    hid_t external = H5Pcreate(H5P_DATASET_CREATE);
    (void)H5Pset_external(external, "raw", 0, 2);
    add("external", H5T_STD_I8LE, 1, dims, external, NULL);
    hid_t virtual = H5Pcreate(H5P_DATASET_CREATE);
    hid_t space = H5Screate_simple(1, dims, NULL);
    CU_ASSERT(H5Pset_virtual(virtual, space, "other.h5", "/x", space) >= 0);
    add("virtual", H5T_STD_I8LE, 1, dims, virtual, NULL);
    add("unwritten", H5T_STD_I8LE, 1, dims, H5P_DEFAULT, NULL);
    (void)H5Sclose(space);
    (void)H5Pclose(virtual);
    (void)H5Pclose(external);
    end_file();
    expect_refused("x.h5:/external", "in other files");
    expect_refused("x.h5:/virtual", "in other files");
    expect_refused("x.h5:/unwritten", "never written");
    scratch_clear();
}

/* As HDF5 wants it: NOLINTBEGIN(readability-non-const-parameter) */
static size_t same_bytes(unsigned flags, size_t n_values,
                         const unsigned *values, size_t bytes, size_t *room,
                         void **buffer)
{
    (void)flags;
    (void)n_values;
    (void)values;
    (void)room;
    (void)buffer;
    return bytes;
}
/* NOLINTEND(readability-non-const-parameter) */

/* What went through HDF5's own filters is read, through others it is not,
 * also where the program around us has registered them. */
static void test_filters(void)
{
    const H5Z_class2_t filter = {.version = H5Z_CLASS_T_VERS,
                                 .id = 33333,
                                 .encoder_present = 1,
                                 .decoder_present = 1,
                                 .name = "odd\n",
                                 .filter = same_bytes};
    const hsize_t dims[1] = {2};
    const int64_t sizes[1] = {2};
    const char values[2] = {5, 6};
    hid_t own = H5Pcreate(H5P_DATASET_CREATE);
    hid_t odd = H5Pcreate(H5P_DATASET_CREATE);

    CU_ASSERT(H5Zregister(&filter) >= 0);
    CU_ASSERT(H5Pset_chunk(own, 1, dims) >= 0 && H5Pset_shuffle(own) >= 0 &&
              H5Pset_deflate(own, 9) >= 0 && H5Pset_fletcher32(own) >= 0);
    CU_ASSERT(H5Pset_chunk(odd, 1, dims) >= 0 && H5Pset_shuffle(odd) >= 0 &&
              H5Pset_filter(odd, 33333, 0, 0, NULL) >= 0);
    begin_file("x.h5");
    add("own", H5T_STD_I8LE, 1, dims, own, values);
    add("odd", H5T_STD_I8LE, 1, dims, odd, values);
    end_file();
    (void)H5Pclose(own);
    (void)H5Pclose(odd);
    expect_read("x.h5:/own", ISO_DTYPE_I8, 1, sizes, values);
    expect_refused("x.h5:/odd", "dataset '/odd': its elements went through "
                                "filter 33333 (odd?), a plugin");
    CU_ASSERT(H5Zunregister(33333) >= 0);
    expect_refused("x.h5:/odd", "filter 33333");
    scratch_clear();
}

/* A chunk is allocated whole, so that its size must fit the file's. */
static void test_chunks_that_no_file_holds(void)
{
    const hsize_t dims[2] = {1 << 16, 1 << 15};
    const hsize_t few[2] = {1, 1 << 15};
    const hsize_t start[2] = {0, 0};
    const char zeros[1 << 15] = "";
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    hid_t memory = H5Screate_simple(2, few, NULL);

    begin_file("x.h5");
    CU_ASSERT(H5Pset_chunk(creation, 2, dims) >= 0);
    add("unwritten", H5T_STD_I8LE, 2, dims, creation, NULL);
    CU_ASSERT(H5Pset_chunk(creation, 2, few) >= 0);
    add("x", H5T_STD_I8LE, 2, dims, creation, NULL);
    hid_t dataset = H5Dopen2(file, "x", H5P_DEFAULT);
    hid_t space = H5Dget_space(dataset);
    (void)H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, few, NULL);
    CU_ASSERT(H5Dwrite(dataset, H5T_STD_I8LE, memory, space, H5P_DEFAULT,
                       zeros) >= 0);
    (void)H5Sclose(memory);
    (void)H5Sclose(space);
    (void)H5Dclose(dataset);
    (void)H5Pclose(creation);
    end_file();
    expect_refused("x.h5:/unwritten", "chunks are of 2147483648 bytes, which");
    iso_array_in_t *array = NULL;
    CU_ASSERT_EQUAL(iso_array_in_open("x.h5:/x", &array), ISO_OK);
    iso_array_in_close(&array);
    scratch_clear();
}

static void test_what_there_is_no_dtype_for(void)
{
    const hsize_t dims[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    const char values[16] = "";
    hid_t text = H5Tcopy(H5T_C_S1);
    hid_t pair = H5Tcreate(H5T_COMPOUND, 8);
    hid_t bits = H5Tcopy(H5T_STD_I32LE);

    (void)H5Tset_size(text, 4);
    (void)H5Tinsert(pair, "re", 0, H5T_IEEE_F32LE);
    (void)H5Tinsert(pair, "im", 4, H5T_IEEE_F32LE);
    (void)H5Tset_precision(bits, 20);
    begin_file("x.h5");
    add("text", text, 1, dims, H5P_DEFAULT, values);
    add("pair", pair, 1, dims, H5P_DEFAULT, values);
    add("bits", bits, 1, dims, H5P_DEFAULT, values);
    add("u16", H5T_STD_U16LE, 1, dims, H5P_DEFAULT, values);
    add("u32", H5T_STD_U32LE, 1, dims, H5P_DEFAULT, values);
    add("u64", H5T_STD_U64LE, 1, dims, H5P_DEFAULT, values);
    add("rank9", H5T_STD_I8LE, 9, dims, H5P_DEFAULT, values);
    hid_t null = H5Screate(H5S_NULL);
    hid_t dataset = H5Dcreate2(file, "null", H5T_STD_I8LE, null, H5P_DEFAULT,
                               H5P_DEFAULT, H5P_DEFAULT);
    (void)H5Dclose(dataset);
    (void)H5Sclose(null);
    hid_t group = H5Gcreate2(file, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    (void)H5Gclose(group);
    end_file();
    (void)H5Tclose(bits);
    (void)H5Tclose(pair);
    (void)H5Tclose(text);
    expect_refused("x.h5:/text", "'/text': the type of its elements");
    expect_refused("x.h5:/pair", "type of its elements");
    expect_refused("x.h5:/bits", "type of its elements");
    expect_refused("x.h5:/u16", "type of its elements");
    expect_refused("x.h5:/u32", "type of its elements");
    expect_refused("x.h5:/u64", "type of its elements");
    expect_refused("x.h5:/rank9", "9 dimensions");
    expect_refused("x.h5:/null", "no shape");
    expect_refused("x.h5:/g", "'x.h5', dataset '/g'");
    expect_refused("x.h5:/none", "there is no such dataset");
    expect_refused("x.h5:/g/none/x", "there is no such dataset");
    expect_refused("none.h5:/x", "No such file");
    scratch_clear();
}

static void test_no_memory(void)
{
    const hsize_t dims[1] = {2};
    iso_array_in_t *array = NULL;
    iso_status_t status = ISO_NOMEM;
    int n = 0;

    begin_file("x.h5");
    add("x", H5T_STD_I8LE, 1, dims, H5P_DEFAULT, "ab");
    end_file();
    while (status != ISO_OK && n < 50) {
        n++;
        iso_mem_fail_at(n);
        status = iso_array_in_open("n=x.h5:/x", &array);
        iso_mem_fail_at(0);
        CU_ASSERT(status == ISO_OK || status == ISO_NOMEM);
        iso_array_in_close(&array);
        CU_ASSERT_EQUAL(iso_mem_count().blocks, blocks);
        CU_ASSERT_EQUAL(H5Fget_obj_count(H5F_OBJ_ALL, H5F_OBJ_ALL), 0);
    }
    CU_ASSERT(n > 3 && status == ISO_OK);
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
        {"npy", test_npy},
        {"types", test_types},
        {"bool of h5py", test_bool_of_h5py},
        {"scalar and no rows", test_scalar_and_no_rows},
        {"random rows", test_random_rows},
        {"rows past 2^31", test_rows_past_2_31},
        {"links", test_links},
        {"elements elsewhere", test_elements_elsewhere},
        {"filters", test_filters},
        {"chunks that no file holds", test_chunks_that_no_file_holds},
        {"what there is no dtype for", test_what_there_is_no_dtype_for},
        {"no memory", test_no_memory},
        {"nothing is left", test_nothing_is_left},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"array_in", suite_begin, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    scratch_begin();
    return iso_test_main(suites);
}
