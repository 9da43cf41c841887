/*
 * A rehearsal runs every part on every rank, as often as it says; a rank that
 * fails in one of them ends all of them with the same status, and ranks that
 * would do different things do nothing. The calls of the kernels come through
 * here (see CMakeLists.txt).
 */
#include "isotome/error.h"
#include "isotome/model_file.h"

#include "exec/rehearsal.h"
#include "graph/pass.h"
#include "graph_text.h"
#include "iso_test_folder_mpi.h"
#include "iso_test_graph.h"
#include "kernel/cpu.h"
#include "par/par.h"

static const char model_text[] = "x = input f32[N,24]\n"
                                 "w0 = param f32[24,24]\n"
                                 "w1 = param f32[24,24]\n"
                                 "w2 = param f32[24,24]\n"
                                 "w3 = param f32[24,24]\n"
                                 "a = matmul(x, w0)\n"
                                 "b = tanh(a)\n"
                                 "c = matmul(b, w1)\n"
                                 "d = tanh(c)\n"
                                 "e = matmul(d, w2)\n"
                                 "f = tanh(e)\n"
                                 "g = matmul(f, w3)\n"
                                 "h = tanh(g)\n"
                                 "return h\n";

enum { PARTS = 4, MICRO_BATCH = 3 };

static const int64_t parts[PARTS] = {2, 1, 5, 1};

static int64_t steps;        /* of this rank so far */
static int64_t failing = -1; /* the step that fails, at the last rank */

iso_status_t
real_run_step(iso_cpu_t *cpu,
              const iso_cpu_step_t *step) __asm__("__real_iso_cpu_run_step");
iso_status_t
planted_run_step(iso_cpu_t *cpu,
                 const iso_cpu_step_t *step) __asm__("__wrap_iso_cpu_run_step");

static bool is_last(void)
{
    return iso_par_rank(MPI_COMM_WORLD) == iso_par_size(MPI_COMM_WORLD) - 1;
}

iso_status_t planted_run_step(iso_cpu_t *cpu, const iso_cpu_step_t *step)
{
    if (steps++ == failing && is_last()) {
        return iso_fail(ISO_UNSUPPORTED, "a planted failure");
    }
    return real_run_step(cpu, step);
}

static iso_status_t get_zeros(void *arg, const char *name,
                              iso_tensor_t *tensor_out)
{
    static float zeros[24 * 24];
    const iso_shape_t shape = {.rank = 2,
                               .dim = {iso_dim_of(24), iso_dim_of(24)}};

    (void)arg;
    (void)name;
    return iso_tensor_view(ISO_DTYPE_F32, &shape, zeros, tensor_out);
}

static void test_writing_the_model(void)
{
    const iso_weight_source_t source = {get_zeros, NULL};

    if (iso_par_rank(MPI_COMM_WORLD) == 0) {
        iso_graph_t *graph = test_graph();

        CU_ASSERT_EQUAL_FATAL(graph_text_add(graph, model_text, NULL), ISO_OK);
        CU_ASSERT_EQUAL_FATAL(iso_graph_mark_layers(graph), ISO_OK);
        CU_ASSERT_FATAL(iso_graph_layer_count(graph) >= 4);
        CU_ASSERT_EQUAL_FATAL(iso_model_write("m.h5", graph, &source), ISO_OK);
        iso_graph_destroy(&graph);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

typedef struct result {
    iso_times_t times[PARTS];
    double planned_s[PARTS];
    iso_rehearsal_t rehearsal;
} result_t;

static iso_status_t rehearse(int stages, uint64_t seed, result_t *result)
{
    const iso_run_options_t options = {
        .model = "m.h5",
        .device = "cpu",
        .threads = 1,
        .plan = {.stages = stages,
                 .micro_batch = MICRO_BATCH,
                 .cuts = ISO_CUT_RANDOM, /* none pays for so little */
                 .seed = 7},
    };

    result->rehearsal = (iso_rehearsal_t){.seed = seed,
                                          .n_parts = PARTS,
                                          .parts = parts,
                                          .times = result->times,
                                          .planned_s = result->planned_s};
    steps = 0;
    return iso_rehearse(&options, MPI_COMM_WORLD, &result->rehearsal);
}

static void check_report(const iso_report_t *report, int stages)
{
    int all_stages = 0;

    for (int rank = 0; rank < report->size; rank++) {
        all_stages |= 1 << report->ranks[rank].stage;
        CU_ASSERT(report->ranks[rank].peak_bytes > 0);
        CU_ASSERT(report->ranks[rank].binding.threads == 1);
    }
    CU_ASSERT_EQUAL(report->micro_batch, MICRO_BATCH);
    CU_ASSERT_EQUAL(report->samples, (int64_t)MICRO_BATCH * 9);
    CU_ASSERT_EQUAL(all_stages, (1 << stages) - 1);
}

/* All parts are run: as many steps as micro-batches times those of one. */
static void check(int stages)
{
    result_t result;

    CU_ASSERT_EQUAL_FATAL(rehearse(stages, 1, &result), ISO_OK);
    CU_ASSERT(steps > 0);
    CU_ASSERT_EQUAL(steps % 9, 0);
    for (int i = 0; i < PARTS; i++) {
        CU_ASSERT(result.times[i].total_s > 0);
        CU_ASSERT(result.times[i].compute_s > 0);
        CU_ASSERT(result.times[i].compute_s <= result.times[i].total_s);
        CU_ASSERT(result.planned_s[i] > 0);
    }
    CU_ASSERT_EQUAL(result.planned_s[1], result.planned_s[3]);
    CU_ASSERT(result.planned_s[2] > result.planned_s[0]);
    CU_ASSERT(result.rehearsal.flops > 0);
    if (iso_par_rank(MPI_COMM_WORLD) == 0) {
        check_report(&result.rehearsal.report, stages);
    }
    iso_report_free(&result.rehearsal.report);
}

static void test_stages(void)
{
    check(iso_par_size(MPI_COMM_WORLD));
}

static void test_workers(void)
{
    check(1);
}

/* At any step of any part, also the last one of a part. */
static void check_failures(int stages)
{
    result_t result;
    int64_t count = 0;

    CU_ASSERT_EQUAL(rehearse(stages, 1, &result), ISO_OK);
    iso_report_free(&result.rehearsal.report);
    count = steps;
    MPI_Bcast(&count, 1, MPI_INT64_T, iso_par_size(MPI_COMM_WORLD) - 1,
              MPI_COMM_WORLD);
    for (failing = 0; failing < count; failing++) {
        CU_ASSERT_EQUAL(rehearse(stages, 1, &result), ISO_UNSUPPORTED);
        CU_ASSERT(test_failed_with("a planted failure"));
        iso_report_free(&result.rehearsal.report);
    }
    failing = -1;
}

static void test_failures(void)
{
    check_failures(1);
    check_failures(iso_par_size(MPI_COMM_WORLD));
}

static void test_ranks_that_disagree(void)
{
    result_t result;
    const iso_status_t expected =
        iso_par_size(MPI_COMM_WORLD) > 1 ? ISO_DISAGREE : ISO_OK;

    CU_ASSERT_EQUAL(rehearse(1, is_last() ? 2 : 1, &result), expected);
    iso_report_free(&result.rehearsal.report);
}

static void test_nothing_is_left(void)
{
    scratch_check_mpi(1);
}

int main(int argc, char **argv)
{
    CU_TestInfo tests[] = {
        {"writing the model", test_writing_the_model},
        {"a stage on each rank", test_stages},
        {"workers of one stage", test_workers},
        {"failures", test_failures},
        {"ranks that disagree", test_ranks_that_disagree},
        {"nothing is left", test_nothing_is_left},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"rehearsal", scratch_begin_mpi, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main_mpi(argc, argv, suites);
}
