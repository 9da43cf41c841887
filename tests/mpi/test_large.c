/*
 * Files and messages of more than 2^31 elements or bytes. Inputs are
 * sparse; what is not zero lies at the far end.
 */
#include "isotome/error.h"
#include "isotome/model_file.h"
#include "isotome/run.h"

#include "base/random.h"
#include "graph/pass.h"
#include "graph_text.h"
#include "io/array_in.h"
#include "iso_test_folder_mpi.h"
#include "iso_test_graph.h"
#include "tensor/fill.h"
#include "tensor/npy.h"
#include "tensor/npy_header_impl.h"

#include <sys/statvfs.h>

enum {
    ROWS = (1 << 18) + 3, /* ROWS * WIDTH > 2^31 */
    WIDTH = 1 << 13,
    PART = 4100, /* ROWS * PART floats: over 4 GiB */
    BATCH = 1024,
    WIDE = 1 << 16, /* MESSAGE * WIDE floats: over 2^31 bytes */
    MESSAGE = (1 << 13) + 8,
    NARROW = 16,
    SHM_GIB = 6,
};

static const char rows_text[] = "x = input u8[N,8192]\n"
                                "p = slice(x) starts=d:4092 ends=d:8192 "
                                "axes=i:1 steps=i:1\n"
                                "y = cast(p) to=t:f32\n"
                                "return y\n";

static const char message_text[] = "x = input f32[N,16]\n"
                                   "w = param f32[16,65536]\n"
                                   "a = matmul(x, w)\n"
                                   "b = relu(a)\n"
                                   "y = reduce_max(b) axes=i:1\n"
                                   "return y\n";

/* The elements of the input of many rows: zero but in the last row. */
static unsigned char element_of(int64_t row, int64_t column)
{
    return (unsigned char)(row + 1 == ROWS ? column % 251 + 1 : 0);
}

/* ---- Files ---- */

static bool is_root(void)
{
    return iso_par_rank(MPI_COMM_WORLD) == 0;
}

static iso_status_t get_weight(void *arg, const char *name,
                               iso_tensor_t *tensor_out)
{
    static float values[NARROW * WIDE] = {0};
    const iso_graph_t *graph = arg;
    const iso_node_t *node = iso_graph_node(graph, iso_graph_find(graph, name));
    iso_random_t random = {.state = 3};

    ISO_TRY(iso_tensor_view(node->dtype, &node->shape, values, tensor_out));
    iso_tensor_fill_random(&random, tensor_out);
    return ISO_OK;
}

/* The output is a layer of its own, so that there can be two stages. */
static void write_model(const char *text)
{
    iso_graph_t *graph = test_graph();
    const iso_weight_source_t source = {get_weight, graph};

    CU_ASSERT_EQUAL_FATAL(graph_text_add(graph, text, NULL), ISO_OK);
    CU_ASSERT_EQUAL_FATAL(iso_graph_mark_layers(graph), ISO_OK);
    iso_graph_set_layer(graph, iso_graph_find(graph, "y"),
                        iso_graph_layer_count(graph));
    CU_ASSERT_EQUAL(iso_model_write("m.h5", graph, &source), ISO_OK);
    iso_graph_destroy(&graph);
}

static void write_rows(void)
{
    const iso_tensor_t x = {
        .dtype = ISO_DTYPE_U8, .rank = 2, .dims = {ROWS, WIDTH}};
    unsigned char last[WIDTH];
    char header[ISO_NPY_HEADER_BYTES];
    size_t size = 0;
    FILE *file = fopen("x.npy", "w");

    for (int64_t i = 0; i < WIDTH; i++) {
        last[i] = element_of(ROWS - 1, i);
    }
    CU_ASSERT_EQUAL(iso__npy_print_header(&x, header, &size), ISO_OK);
    CU_ASSERT_FATAL(file != NULL);
    CU_ASSERT(fwrite(header, 1, size, file) == size &&
              fseeko(file, (off_t)size + (off_t)(ROWS - 1) * WIDTH, SEEK_SET) ==
                  0 &&
              fwrite(last, 1, WIDTH, file) == WIDTH);
    CU_ASSERT_EQUAL(fclose(file), 0);
}

/* ---- Runs ---- */

static void run(const char *output, int stages, int workers,
                int64_t micro_batch)
{
    const char *const inputs[] = {"x.npy"};
    const char *const outputs[] = {output};
    const iso_run_options_t options = {
        .model = "m.h5",
        .n_inputs = 1,
        .inputs = inputs,
        .n_outputs = 1,
        .outputs = outputs,
        .plan = {.stages = stages,
                 .workers = workers,
                 .micro_batch = micro_batch,
                 .cuts = ISO_CUT_RANDOM,
                 .seed = 1},
        .device = "cpu",
        .threads = 1,
        .force = true,
    };
    const iso_status_t status = iso_run(&options, MPI_COMM_WORLD, NULL);

    if (status != ISO_OK && is_root()) {
        (void)fprintf(stderr, "%s\n", iso_error_text());
    }
    CU_ASSERT_EQUAL(status, ISO_OK);
}

static void check_row(iso_array_in_t *array, int64_t row, int64_t source_row,
                      int64_t first_column, int64_t width)
{
    static float values[WIDTH] = {0};
    int wrong = 0;

    CU_ASSERT_EQUAL(iso_array_in_read(array, row, 1, values), ISO_OK);
    for (int64_t i = 0; i < width; i++) {
        wrong += values[i] != (float)element_of(source_row, first_column + i);
    }
    CU_ASSERT_EQUAL(wrong, 0);
}

static void clear(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (is_root()) {
        scratch_clear();
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* An .npy file of over 2^31 elements to a dataset of over 4 GiB. */
static void test_rows(void)
{
    iso_array_in_t *array = NULL;

    if (is_root()) {
        write_model(rows_text);
        write_rows();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    run("y.h5:/g/y", 2, 1, BATCH);
    if (is_root()) {
        CU_ASSERT_EQUAL(iso_array_in_open("y.h5:/g/y", &array), ISO_OK);
    }
    if (array != NULL) {
        CU_ASSERT(iso_tensor_bytes(iso_array_in_header(array)) > (size_t)1
                                                                     << 32);
        check_row(array, 0, 0, WIDTH - PART, PART);
        check_row(array, ROWS - 2, ROWS - 2, WIDTH - PART, PART);
        check_row(array, ROWS - 1, ROWS - 1, WIDTH - PART, PART);
        iso_array_in_close(&array);
    }
    clear();
}

/* A message of over 2^31 bytes between stages; the bytes are those of small
 * micro-batches. */
static void test_message(void)
{
    static float values[MESSAGE * NARROW] = {0};
    const iso_tensor_t x = {.dtype = ISO_DTYPE_F32,
                            .rank = 2,
                            .dims = {MESSAGE, NARROW},
                            .data = values};
    iso_random_t random = {.state = 11};

    if (is_root()) {
        write_model(message_text);
        iso_tensor_fill_random(&random, &x);
        CU_ASSERT_EQUAL(iso_npy_save("x.npy", &x), ISO_OK);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    run("small.npy", 2, 1, 64);
    run("large.npy", 2, 1, MESSAGE);
    if (is_root()) {
        size_t size_a = 0;
        size_t size_b = 0;
        char *a = scratch_load("small.npy", &size_a);
        char *b = scratch_load("large.npy", &size_b);

        CU_ASSERT(a != NULL && b != NULL && size_a == size_b &&
                  memcmp(a, b, size_a) == 0);
        free(a);
        free(b);
    }
    clear();
}

static void test_nothing_is_left(void)
{
    scratch_check_mpi(0);
}

/* In memory where there is room: disks are slow. */
static int suite_begin(void)
{
    struct statvfs info;

    if (statvfs("/dev/shm", &info) == 0 &&
        (size_t)info.f_bavail * info.f_frsize > (size_t)SHM_GIB << 30) {
        (void)setenv("TMPDIR", "/dev/shm", 1);
    }
    return scratch_begin_mpi();
}

int main(int argc, char **argv)
{
    CU_TestInfo tests[] = {
        {"rows", test_rows},
        {"message", test_message},
        {"nothing is left", test_nothing_is_left},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"large", suite_begin, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main_mpi(argc, argv, suites);
}
