/*
 * A run in which one rank has no memory for its n-th allocation, for every n
 * there is: all ranks give the same status and text, no output has its name,
 * no memory is kept, and the next run is as if nothing had been.
 *
 * Of two ranks the first allocations of each kind of run are tried one by one,
 * the others with random strides; all of them when the variable ISO_TEST_WHOLE
 * is set in the environment, and when there is one rank.
 */
#include "isotome/error.h"
#include "isotome/model_file.h"
#include "isotome/run.h"

#include "base/clock.h"
#include "base/digest.h"
#include "base/random.h"
#include "graph/pass.h"
#include "graph_text.h"
#include "iso_test_folder_mpi.h"
#include "iso_test_graph.h"
#include "tensor/fill.h"
#include "tensor/npy.h"

static const char model_text[] = "x = input f32[N,8,6,6]\n"
                                 "k0 = param f32[8,8,3,3]\n"
                                 "k1 = param f32[8,8,3,3]\n"
                                 "w0 = param f32[6,24]\n"
                                 "w1 = param f32[24,6]\n"
                                 "a = conv(x, k0) pads=i:1,1,1,1\n"
                                 "b = conv(a, k1) pads=i:1,1,1,1\n"
                                 "c = add(b, a)\n"
                                 "d = matmul(c, w0)\n"
                                 "e = tanh(d)\n"
                                 "f = matmul(e, w1)\n"
                                 "return f\n";

enum { SAMPLES = 5, MICRO_BATCH = 2, FIRST = 100, STRIDES = 60, FILES = 2 };

/* A kind of run; all have the same inputs. */
typedef struct kind {
    const char *output;
    const char *file; /* of the output */
    int stages;       /* 0: one of all workers */
} kind_t;

static const kind_t pipeline = {"y.npy", "y.npy", 2};
static const kind_t shards = {"y.h5:/g/y", "y.h5", 0};

static iso_status_t get_random(void *arg, const char *name,
                               iso_tensor_t *tensor_out)
{
    static float values[8 * 8 * 3 * 3] = {0};
    const iso_graph_t *graph = arg;
    const iso_node_t *node = iso_graph_node(graph, iso_graph_find(graph, name));
    iso_random_t random = {.state = (uint64_t)name[1]};

    ISO_TRY(iso_tensor_view(node->dtype, &node->shape, values, tensor_out));
    iso_tensor_fill_random(&random, tensor_out);
    return ISO_OK;
}

static void write_model(void)
{
    iso_graph_t *graph = test_graph();
    const iso_weight_source_t source = {get_random, graph};

    CU_ASSERT_EQUAL_FATAL(graph_text_add(graph, model_text, NULL), ISO_OK);
    CU_ASSERT_EQUAL_FATAL(iso_graph_mark_layers(graph), ISO_OK);
    CU_ASSERT_FATAL(iso_graph_layer_count(graph) >= 2);
    CU_ASSERT_EQUAL_FATAL(iso_model_write("m.h5", graph, &source), ISO_OK);
    iso_graph_destroy(&graph);
}

static void write_input(void)
{
    static float values[SAMPLES * 8 * 6 * 6] = {0};
    const iso_tensor_t x = {.dtype = ISO_DTYPE_F32,
                            .rank = 4,
                            .dims = {SAMPLES, 8, 6, 6},
                            .data = values};
    iso_random_t random = {.state = 5};

    iso_tensor_fill_random(&random, &x);
    CU_ASSERT_EQUAL_FATAL(iso_npy_save("x.npy", &x), ISO_OK);
}

static void test_writing_the_files(void)
{
    if (iso_par_rank(MPI_COMM_WORLD) == 0) {
        write_model();
        write_input();
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static iso_status_t run(const kind_t *kind)
{
    const char *const inputs[] = {"x.npy"};
    const char *const outputs[] = {kind->output};
    const int size = iso_par_size(MPI_COMM_WORLD);
    const iso_run_options_t options = {
        .model = "m.h5",
        .n_inputs = 1,
        .inputs = inputs,
        .n_outputs = 1,
        .outputs = outputs,
        .plan = {.stages = kind->stages > size ? size : kind->stages,
                 .workers = kind->stages == 0 ? size : 0,
                 .micro_batch = MICRO_BATCH,
                 .cuts = ISO_CUT_RANDOM, /* none pays for so little */
                 .seed = 7},
        .device = "cpu",
        .threads = 1,
    };

    return iso_run(&options, MPI_COMM_WORLD, NULL);
}

/* Of what is under the output's name; 0: nothing. Collective. */
static uint64_t take_output(const kind_t *kind)
{
    uint64_t digest = 0;

    if (iso_par_rank(MPI_COMM_WORLD) == 0) {
        size_t size = 0;
        char *bytes = scratch_load(kind->file, &size);

        if (bytes != NULL) {
            digest = iso_digest_of(bytes, size);
            CU_ASSERT_EQUAL(unlink(kind->file), 0);
        }
        free(bytes);
        CU_ASSERT_EQUAL(scratch_count(), FILES);
    }
    MPI_Bcast(&digest, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    return digest;
}

/* Whether a run in which this rank's allocation fails is as it must be. */
static bool is_good(const kind_t *kind, uint64_t expected)
{
    const int64_t held = iso_mem_count().blocks;
    const iso_status_t status = run(kind);
    int statuses[2];
    uint64_t digest;

    iso_mem_fail_at(0);
    statuses[0] = (int)status;
    statuses[1] = -(int)status;
    MPI_Allreduce(MPI_IN_PLACE, statuses, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    digest = take_output(kind);
    if (statuses[0] != -statuses[1] || iso_mem_count().blocks != held) {
        return false;
    }
    /* What a rank can do without, a hint say, it does without. */
    return status == ISO_OK
               ? digest == expected
               : status == ISO_NOMEM && digest == 0 &&
                     strstr(iso_error_text(), "out of memory") != NULL;
}

/* Collective. */
static void try_one(const kind_t *kind, int rank, int64_t n, uint64_t expected)
{
    iso_mem_fail_at(iso_par_rank(MPI_COMM_WORLD) == rank ? n : 0);
    if (!is_good(kind, expected)) {
        (void)fprintf(stderr, "%s: allocation %lld of rank %d: '%s'\n",
                      kind->output, (long long)n, rank, iso_error_text());
        CU_FAIL("another end than out of memory");
    }
}

/* Allocations of a run at each rank. Collective. */
static int64_t count_at(const kind_t *kind, int rank, uint64_t *expected)
{
    const int64_t before = iso_mem_count().allocations;
    int64_t count;

    CU_ASSERT_EQUAL_FATAL(run(kind), ISO_OK);
    count = iso_mem_count().allocations - before;
    *expected = take_output(kind);
    MPI_Bcast(&count, 1, MPI_INT64_T, rank, MPI_COMM_WORLD);
    return count;
}

static int64_t next_of(int64_t n, int64_t count, iso_random_t *random)
{
    const int64_t stride = (count - FIRST) / STRIDES;

    if (n < FIRST || stride < 1 || iso_par_size(MPI_COMM_WORLD) == 1 ||
        getenv("ISO_TEST_WHOLE") != NULL) {
        return n + 1;
    }
    return n + 1 + (int64_t)iso_random_below(random, 2 * (uint64_t)stride);
}

static void try_all(const kind_t *kind)
{
    uint64_t seed = (uint64_t)(1e6 * iso_clock_s());
    iso_random_t random;

    MPI_Bcast(&seed, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    random.state = seed;
    for (int rank = 0; rank < iso_par_size(MPI_COMM_WORLD); rank++) {
        uint64_t expected = 0;
        const int64_t count = count_at(kind, rank, &expected);
        int tried = 0;

        CU_ASSERT(count > FIRST && expected != 0);
        for (int64_t n = 1; n <= count; n = next_of(n, count, &random)) {
            try_one(kind, rank, n, expected);
            tried++;
        }
        try_one(kind, rank, 0, expected);
        if (iso_par_rank(MPI_COMM_WORLD) == 0) {
            (void)printf("%s: rank %d, %d of %lld allocations, seed %llu\n",
                         kind->output, rank, tried, (long long)count,
                         (unsigned long long)seed);
        }
    }
}

static void test_pipeline(void)
{
    try_all(&pipeline);
}

static void test_shards(void)
{
    try_all(&shards);
}

static void test_nothing_is_left(void)
{
    scratch_check_mpi(FILES);
}

int main(int argc, char **argv)
{
    CU_TestInfo tests[] = {
        {"writing the files", test_writing_the_files},
        {"pipeline", test_pipeline},
        {"shards", test_shards},
        {"nothing is left", test_nothing_is_left},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"no memory", scratch_begin_mpi, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main_mpi(argc, argv, suites);
}
