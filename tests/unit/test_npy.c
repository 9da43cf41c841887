#include "isotome/error.h"

#include "base/mem.h"
#include "iso_test.h"
#include "tensor/npy.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/iso_npy_XXXXXX";
static char path[64];
static int64_t blocks_before;

static int make_folder(void)
{
    blocks_before = iso_mem_count().blocks;
    if (mkdtemp(folder) == NULL) {
        return 1;
    }
    (void)snprintf(path, sizeof path, "%s/a.npy", folder);
    return 0;
}

static int remove_folder(void)
{
    (void)unlink(path);
    return rmdir(folder) == 0 && iso_mem_count().blocks == blocks_before ? 0
                                                                         : 1;
}

static void write_bytes(const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");

    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(fwrite(bytes, 1, size, file), size);
    CU_ASSERT_EQUAL(fclose(file), 0);
}

/* Write a file with this version and header text, then data_bytes zeros. */
static void write_file(int version, const char *header, size_t data_bytes)
{
    static char bytes[4096];
    size_t length = strlen(header);
    size_t start = version == 1 ? 10 : 12;

    memset(bytes, 0, sizeof bytes);
    (void)snprintf(bytes, sizeof bytes, "\x93NUMPY%c", version);
    bytes[8] = (char)(length & 0xffU);
    bytes[9] = (char)(length >> 8);
    (void)snprintf(bytes + start, sizeof bytes - start, "%s", header);
    write_bytes(bytes, start + length + data_bytes);
}

static iso_status_t try_open(iso_tensor_t *header)
{
    iso_npy_t *npy = NULL;
    iso_status_t status = iso_npy_open(path, &npy, header);

    if (status == ISO_OK) {
        CU_ASSERT_EQUAL(iso_npy_close(&npy), ISO_OK);
    }
    CU_ASSERT_PTR_NULL(npy);
    return status;
}

static void expect_refused(const char *part_of_text)
{
    iso_tensor_t header;

    iso_error_clear();
    CU_ASSERT_EQUAL(try_open(&header), ISO_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(iso_error_text(), path));
    CU_ASSERT_PTR_NOT_NULL(strstr(iso_error_text(), part_of_text));
    if (strstr(iso_error_text(), part_of_text) == NULL) {
        (void)printf("\n  '%s' is not in '%s'\n", part_of_text,
                     iso_error_text());
    }
}

/* The bytes that numpy.save writes for numpy.arange(6, dtype='f4') of shape
 * (2, 3). */
static void test_bytes_are_those_of_numpy(void)
{
    static const char header[] =
        "\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': False, "
        "'shape': (2, 3), }";
    const float data[6] = {0, 1, 2, 3, 4, 5};
    char expected[128 + sizeof data];
    char found[sizeof expected + 1];
    iso_shape_t shape = iso_shape_of(2, (const int64_t[]){2, 3});
    float copy[6];
    iso_tensor_t tensor;

    memset(expected, ' ', 128);
    memcpy(expected, header, sizeof header - 1);
    expected[127] = '\n';
    memcpy(expected + 128, data, sizeof data);
    memcpy(copy, data, sizeof data);
    CU_ASSERT_EQUAL(iso_tensor_view(ISO_DTYPE_F32, &shape, copy, &tensor),
                    ISO_OK);
    CU_ASSERT_EQUAL_FATAL(iso_npy_save(path, &tensor), ISO_OK);
    FILE *file = fopen(path, "rb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(fread(found, 1, sizeof found, file), sizeof expected);
    CU_ASSERT_EQUAL(memcmp(found, expected, sizeof expected), 0);
    CU_ASSERT_EQUAL(fclose(file), 0);
}

static void round_trip(iso_dtype_t dtype, const iso_shape_t *shape)
{
    size_t bytes = 0;
    iso_tensor_t tensor;
    iso_tensor_t back;

    CU_ASSERT_EQUAL_FATAL(iso_tensor_bytes_of(dtype, shape, &bytes), ISO_OK);
    unsigned char *data = iso_alloc(bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(data);
    for (size_t i = 0; i < bytes; i++) {
        data[i] = (unsigned char)(i * 37 + 11);
    }
    CU_ASSERT_EQUAL(iso_tensor_view(dtype, shape, data, &tensor), ISO_OK);
    CU_ASSERT_EQUAL_FATAL(iso_npy_save(path, &tensor), ISO_OK);
    CU_ASSERT_EQUAL_FATAL(iso_npy_load(path, &back), ISO_OK);
    iso_shape_t back_shape = iso_tensor_shape(&back);
    CU_ASSERT_EQUAL(back.dtype, dtype);
    CU_ASSERT(iso_shape_equal(&back_shape, shape));
    CU_ASSERT_EQUAL(memcmp(back.data, data, bytes), 0);
    iso_free(back.data);
    iso_free(data);
}

static void test_round_trips(void)
{
    const iso_shape_t shapes[] = {
        iso_shape_of(0, NULL),
        iso_shape_of(1, (const int64_t[]){1}),
        iso_shape_of(1, (const int64_t[]){0}),
        iso_shape_of(2, (const int64_t[]){0, INT64_C(1) << 40}),
        iso_shape_of(2, (const int64_t[]){3, 0}),
        iso_shape_of(3, (const int64_t[]){7, 11, 13}),
        iso_shape_of(8, (const int64_t[]){1, 2, 1, 3, 1, 2, 1, 5}),
    };

    for (int dtype = 0; dtype < ISO_DTYPE_COUNT; dtype++) {
        for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
            if (iso_dtype_npy((iso_dtype_t)dtype) != NULL) {
                round_trip((iso_dtype_t)dtype, &shapes[i]);
            }
        }
    }
}

/* 30 numbers and a file that holds them as 5 rows of 2 x 3. */
static void make_rows(int32_t *rows)
{
    const iso_tensor_t shape = {
        .dtype = ISO_DTYPE_I32, .rank = 3, .dims = {5, 2, 3}};
    iso_npy_t *npy = NULL;

    for (int32_t i = 0; i < 30; i++) {
        rows[i] = i;
    }
    CU_ASSERT_EQUAL_FATAL(iso_npy_create(path, &shape, &npy), ISO_OK);
    CU_ASSERT_EQUAL(iso_npy_write(npy, 3, 2, rows + 18), ISO_OK);
    CU_ASSERT_EQUAL(iso_npy_write(npy, 0, 3, rows), ISO_OK);
    CU_ASSERT_EQUAL(iso_npy_write(npy, 5, 0, rows), ISO_OK);
    CU_ASSERT_EQUAL(iso_npy_write(npy, 5, 1, rows), ISO_INVAL);
    CU_ASSERT_EQUAL(iso_npy_close(&npy), ISO_OK);
    CU_ASSERT_PTR_NULL(npy);
}

static void test_rows(void)
{
    iso_npy_t *npy = NULL;
    iso_tensor_t header;
    int32_t rows[30];
    int32_t back[30] = {0};

    make_rows(rows);
    CU_ASSERT_EQUAL_FATAL(iso_npy_open(path, &npy, &header), ISO_OK);
    CU_ASSERT_PTR_NULL(header.data);
    CU_ASSERT_EQUAL(iso_npy_read(npy, 4, 1, back), ISO_OK);
    CU_ASSERT_EQUAL(memcmp(back, rows + 24, 24), 0);
    CU_ASSERT_EQUAL(iso_npy_read(npy, 0, 5, back), ISO_OK);
    CU_ASSERT_EQUAL(memcmp(back, rows, sizeof rows), 0);
    CU_ASSERT_EQUAL(iso_npy_read(npy, -1, 1, back), ISO_INVAL);
    CU_ASSERT_EQUAL(iso_npy_read(npy, 0, 6, back), ISO_INVAL);
    CU_ASSERT_EQUAL(iso_npy_read(npy, 0, -1, back), ISO_INVAL);
    CU_ASSERT_EQUAL(iso_npy_read(npy, 1, INT64_MAX, back), ISO_INVAL);
    CU_ASSERT_EQUAL(iso_npy_read(npy, INT64_MAX, INT64_MAX, back), ISO_INVAL);
    /* The file shrinks while it is open. */
    CU_ASSERT_EQUAL(truncate(path, 200), 0);
    CU_ASSERT_EQUAL(iso_npy_read(npy, 0, 5, back), ISO_INPUT);
    CU_ASSERT_EQUAL(iso_npy_close(&npy), ISO_OK);
    CU_ASSERT_EQUAL(iso_npy_close(&npy), ISO_OK);
}

/* Rows past 4 GiB, in a file whose holes take no space. */
static void test_large_file(void)
{
    const size_t row_bytes = (size_t)1 << 21;
    const int64_t rows = 2049;
    char text[128] = "";
    iso_npy_t *npy = NULL;
    iso_tensor_t header;
    char *row = iso_alloc_zeroed(1, row_bytes);

    CU_ASSERT_PTR_NOT_NULL_FATAL(row);
    (void)snprintf(text, sizeof text,
                   "{'descr': '|u1', 'fortran_order': False, 'shape': "
                   "(%lld, %zu), }\n",
                   (long long)rows, row_bytes);
    write_file(1, text, 0);
    off_t size = (off_t)(10 + strlen(text) + (size_t)rows * row_bytes);
    CU_ASSERT_EQUAL_FATAL(truncate(path, size), 0);
    CU_ASSERT_EQUAL_FATAL(iso_npy_open(path, &npy, &header), ISO_OK);
    row[5] = 9;
    CU_ASSERT_EQUAL(iso_npy_read(npy, rows - 1, 1, row), ISO_OK);
    CU_ASSERT_EQUAL(row[5], 0);
    CU_ASSERT_EQUAL(iso_npy_close(&npy), ISO_OK);
    iso_free(row);
}

static void test_accepted_headers(void)
{
    static const char *const headers[] = {
        "{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }   \n",
        "{'descr':'<i8','fortran_order':False,'shape':(2,)}",
        "{'shape': (2, ), \"descr\": \"=i8\", 'fortran_order': False}\n",
        "  { 'descr' : '<i8' , 'fortran_order' : False , 'shape' : ( 2 , ) } ",
    };
    iso_tensor_t header;

    for (int version = 1; version <= 3; version++) {
        for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
            write_file(version, headers[i], 16);
            CU_ASSERT_EQUAL(try_open(&header), ISO_OK);
            CU_ASSERT_EQUAL(header.dtype, ISO_DTYPE_I64);
            CU_ASSERT_EQUAL(header.rank, 1);
            CU_ASSERT_EQUAL(header.dims[0], 2);
        }
    }
}

#define HEAD "{'descr': '<f4', 'fortran_order': False, 'shape': "

static void test_refused_headers(void)
{
    static const char *const cases[][2] = {
        {"", "damaged header"},
        {"{}", "'descr' is missing"},
        {"{'descr': '<f4', 'shape': (2,)}", "'fortran_order' is missing"},
        {"{'descr': '<f4', 'fortran_order': False}", "'shape' is missing"},
        {HEAD "(2,), 'x': 1}", "unknown key 'x'"},
        {HEAD "(2,), 'descr': '<f4'}", "twice"},
        {HEAD "(2,)} x", "after its end"},
        {HEAD "(2,)", "damaged header"},
        {HEAD "(2)}", "comma"},
        {HEAD "(2,,)}", "dimension"},
        {HEAD "(,)}", "dimension"},
        {HEAD "(-2,)}", "dimension"},
        {HEAD "(2L,)}", "damaged header"},
        {HEAD "(1,2 3)}", "damaged header"},
        {HEAD "[2]}", "damaged header"},
        {HEAD "(1,1,1,1,1,1,1,1,1)}", "more than 8"},
        {HEAD "(99999999999999999999,)}", "over 2^63"},
        {HEAD "(9223372036854775807,)}", "2^62"},
        {HEAD "(4294967296, 4294967296)}", "2^62"},
        {HEAD "(3,)}", "needs 12 bytes"},
        {HEAD "(1,)}", "needs 4 bytes"},
        {HEAD "(0,)}", "needs 0 bytes"},
        {"{'descr': '<f4', 'fortran_order': True, 'shape': (2,)}", "Fortran"},
        {"{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}", "True or"},
        {"{'descr': '>f4', 'fortran_order': False, 'shape': (2,)}",
         "big-endian"},
        {"{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}", "'<c8'"},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", "'|O'"},
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}",
         "records"},
        {"{'descr': '<f4aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'}", "quoted"},
        {"{'descr': '<f4", "quoted"},
        {"{descr: '<f4'}", "quoted"},
        {"[1, 2]", "expected '{'"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_file(1, cases[i][0], 8);
        expect_refused(cases[i][1]);
    }
}

static void test_refused_files(void)
{
    static const char png[] = "\x89PNG\r\n\x1a\n0123456789";
    static const char zeros[16] = {0};
    static const unsigned char long_header[12] = {
        0x93, 'N', 'U', 'M', 'P', 'Y', 2, 0, 1, 0, 0x10, 0};
    iso_tensor_t header;

    (void)unlink(path);
    expect_refused("No such file");
    write_bytes("", 0);
    expect_refused("empty");
    write_bytes(png, sizeof png - 1);
    expect_refused("not a NumPy");
    write_bytes(zeros, sizeof zeros);
    expect_refused("not a NumPy");
    write_file(4, HEAD "(2,)}", 8);
    expect_refused("version 4");
    write_file(0, HEAD "(2,)}", 8);
    expect_refused("version 0");
    write_bytes(long_header, sizeof long_header);
    expect_refused("1048577 bytes, expected at most 1048576");
    (void)unlink(path);
    CU_ASSERT_EQUAL(mkfifo(path, 0600), 0);
    expect_refused("regular");
    (void)unlink(path);
    CU_ASSERT_EQUAL(mkdir(path, 0700), 0);
    expect_refused("regular");
    CU_ASSERT_EQUAL(rmdir(path), 0);
    /* Cut at every place of a good file: always refused, never a crash. */
    static const char good[] = HEAD "(2,)}\n";
    for (off_t size = 10 + (off_t)sizeof good - 1 + 8 - 1; size >= 0; size--) {
        write_file(1, good, 8);
        CU_ASSERT_EQUAL(truncate(path, size), 0);
        CU_ASSERT_EQUAL(try_open(&header), ISO_INPUT);
    }
}

/* Flip bits of a good header; whatever comes of it, no crash, and a header
 * that is accepted agrees with the length of the file. */
static void test_damaged_headers(void)
{
    static const char good[] = HEAD "(2,)}\n";
    unsigned seed = 12345;

    (void)printf("seed %u ", seed);
    for (int i = 0; i < 2000; i++) {
        char text[sizeof good];
        iso_tensor_t header;
        memcpy(text, good, sizeof good);
        for (int j = 0; j < 1 + i % 3; j++) {
            seed = seed * 1103515245U + 12345U;
            size_t at = (seed >> 16) % (sizeof good - 1);
            text[at] = (char)(text[at] ^ (1 << (seed >> 8) % 7));
        }
        write_file(1, text, 8);
        if (try_open(&header) == ISO_OK) {
            CU_ASSERT_EQUAL(iso_tensor_bytes(&header), 8);
        }
    }
}

static void test_create_errors(void)
{
    char missing[96];
    iso_npy_t *npy = NULL;
    iso_tensor_t shape = {.dtype = ISO_DTYPE_F32, .rank = 1, .dims = {4}};

    (void)snprintf(missing, sizeof missing, "%s/no/a.npy", folder);
    CU_ASSERT_EQUAL(iso_npy_create(missing, &shape, &npy), ISO_IO);
    CU_ASSERT_PTR_NOT_NULL(strstr(iso_error_text(), missing));
    CU_ASSERT_EQUAL(iso_npy_create(folder, &shape, &npy), ISO_IO);
    CU_ASSERT_EQUAL(iso_npy_create("/dev/null", &shape, &npy), ISO_IO);
    CU_ASSERT_EQUAL(access("/dev/null", F_OK), 0);
    (void)unlink(path);
    shape.dtype = ISO_DTYPE_BF16;
    CU_ASSERT_EQUAL(iso_npy_create(path, &shape, &npy), ISO_INVAL);
    CU_ASSERT_EQUAL(access(path, F_OK), -1);
    shape.dtype = ISO_DTYPE_F32;
    shape.dims[0] = -1;
    CU_ASSERT_EQUAL(iso_npy_create(path, &shape, &npy), ISO_SHAPE);
    shape.dims[0] = INT64_C(1) << 61;
    CU_ASSERT_EQUAL(iso_npy_create(path, &shape, &npy), ISO_SHAPE);
    CU_ASSERT_EQUAL(access(path, F_OK), -1);
    CU_ASSERT_PTR_NULL(npy);
}

/* A file that cannot get its length is reported at once and not left. */
static void test_no_space(void)
{
    iso_npy_t *npy = NULL;
    iso_tensor_t shape = {.dtype = ISO_DTYPE_U8, .rank = 1, .dims = {1 << 20}};
    struct rlimit kept;

    CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_FSIZE, &kept), 0);
    struct rlimit small = {.rlim_cur = 65536, .rlim_max = kept.rlim_max};
    CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_FSIZE, &small), 0);
    CU_ASSERT(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    CU_ASSERT_EQUAL(iso_npy_create(path, &shape, &npy), ISO_IO);
    CU_ASSERT_EQUAL(setrlimit(RLIMIT_FSIZE, &kept), 0);
    CU_ASSERT_PTR_NULL(npy);
    CU_ASSERT_EQUAL(access(path, F_OK), -1);
}

/* Memory file systems know at once that they are too small. */
static void test_disk_full(void)
{
    static const char in_memory[] = "/dev/shm/iso_test_npy.npy";
    iso_npy_t *npy = NULL;
    iso_tensor_t shape = {
        .dtype = ISO_DTYPE_U8, .rank = 1, .dims = {INT64_C(1) << 45}};

    if (access("/dev/shm", W_OK) != 0) {
        return;
    }
    CU_ASSERT_EQUAL(iso_npy_create(in_memory, &shape, &npy), ISO_IO);
    CU_ASSERT_EQUAL(strncmp(iso_error_text(), "disk full: ", 11), 0);
    CU_ASSERT_EQUAL(access(in_memory, F_OK), -1);
}

static void test_no_memory(void)
{
    iso_tensor_t tensor = {.dtype = ISO_DTYPE_F32, .rank = 1, .dims = {2}};
    float data[2] = {1, 2};
    iso_tensor_t back;
    iso_status_t status = ISO_NOMEM;

    tensor.data = data;
    for (int i = 1; status == ISO_NOMEM; i++) {
        iso_mem_fail_at(i);
        status = iso_npy_save(path, &tensor);
        CU_ASSERT(status == ISO_NOMEM || i > 2);
    }
    CU_ASSERT_EQUAL(status, ISO_OK);
    status = ISO_NOMEM;
    for (int i = 1; status == ISO_NOMEM; i++) {
        iso_mem_fail_at(i);
        status = iso_npy_load(path, &back);
        CU_ASSERT(status == ISO_NOMEM || i > 4);
    }
    iso_mem_fail_at(0);
    CU_ASSERT_EQUAL_FATAL(status, ISO_OK);
    iso_free(back.data);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"bytes are those of NumPy", test_bytes_are_those_of_numpy},
        {"round trips", test_round_trips},
        {"rows", test_rows},
        {"large file", test_large_file},
        {"accepted headers", test_accepted_headers},
        {"refused headers", test_refused_headers},
        {"refused files", test_refused_files},
        {"damaged headers", test_damaged_headers},
        {"create errors", test_create_errors},
        {"no space", test_no_space},
        {"disk full", test_disk_full},
        {"no memory", test_no_memory},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"npy", make_folder, remove_folder, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
