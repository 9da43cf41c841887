/*
 * A whole model on the cpu device, beside ONNX Runtime where ISOTOME_ORT names
 * it: in turns, compared in value, loading outside the clock. Not a test.
 *
 *     bench_model --model M.h5 [--onnx M.onnx] [--batch B] [--threads T]
 *                 [--repeats N] [--name NAME] [--bar R] [--rows F.tsv]
 *                 [--plan P.json]
 *
 * With a plan of several stages each of them is run by itself, without the
 * others: what a pipeline of them is compared with.
 */
#include "isotome/error.h"
#include "isotome/machine.h"

#include "base/mem.h"
#include "base/text.h"
#include "bench.h"
#include "bench_ort.h"
#include "bench_program.h"
#include "bench_race.h"
#include "bench_rows.h"

#include <stdio.h>
#include <time.h>

typedef struct arguments {
    const char *model;
    const char *onnx;
    const char *name;
    const char *rows;
    const char *plan;
    const char *bar;
    int batch;
    int threads;
    int repeats;
} arguments_t;

/* With several threads those of the other one spin for a while. */
static void settle(int threads)
{
    const struct timespec pause = {.tv_nsec = 50000000};

    if (threads > 1) {
        (void)nanosleep(&pause, NULL);
    }
}

typedef struct job {
    bench_program_t *program;
    bench_ort_t *ort;
    int threads;
    double (*now_s)(void);
} job_t;

static double run_own(void *arg, int times)
{
    const job_t *job = arg;

    settle(job->threads);

    const double begin_s = job->now_s();

    for (int i = 0; i < times; i++) {
        bench_program_run(job->program);
    }
    return job->now_s() - begin_s;
}

static double run_ort(void *arg, int times)
{
    const job_t *job = arg;

    settle(job->threads);
    return bench_ort_run(job->ort, times);
}

static void compare(const job_t *job, const char *name)
{
    int64_t count = 0;
    const float *ours = bench_program_output(job->program, &count);
    float *theirs = bench_ort_output(job->ort, count);

    bench_compare(name, ours, theirs, count);
    iso_free(theirs);
}

static double bar_of(const arguments_t *arguments)
{
    double bar = 0;

    if (arguments->bar != NULL) {
        bench_need(iso_text_parse_double(arguments->bar, "--bar", &bar));
    }
    return bar;
}

static void measure_whole(const arguments_t *arguments, job_t *job,
                          bench_rows_t *rows)
{
    bench_runner_t runners[] = {
        {.name = "isotome", .run = run_own, .arg = job},
        {.name = "ONNX Runtime", .run = run_ort, .arg = job}};

    if (arguments->onnx != NULL) {
        job->ort = bench_ort_start(arguments->onnx, arguments->batch,
                                   arguments->threads);
    }
    bench_race(runners, job->ort != NULL ? 2 : 1, arguments->repeats);
    if (job->ort != NULL) {
        compare(job, arguments->name);
    }
    bench_rows_add(rows, &(bench_row_t){
                             .name = arguments->name,
                             .unit = "samples/s",
                             .peer_name = runners[1].name,
                             .isotome = arguments->batch / runners[0].median_s,
                             .peer = job->ort != NULL ? arguments->batch /
                                                            runners[1].median_s
                                                      : 0,
                             .bar = bar_of(arguments),
                         });
    bench_ort_stop(&job->ort);
}

static void measure_stage(const arguments_t *arguments, int stage, job_t *job,
                          bench_rows_t *rows)
{
    bench_runner_t runner = {.name = "isotome", .run = run_own, .arg = job};
    char name[96];

    bench_race(&runner, 1, arguments->repeats);
    (void)snprintf(name, sizeof name, "%s stage %d", arguments->name, stage);
    bench_rows_add(rows, &(bench_row_t){
                             .name = name,
                             .unit = "samples/s",
                             .isotome = arguments->batch / runner.median_s,
                         });
}

static iso_plan_t *plan_of(const arguments_t *arguments,
                           const iso_graph_t *graph)
{
    const iso_plan_options_t options = {.world = 1,
                                        .micro_batch = arguments->batch};
    iso_machine_t *machine = NULL;
    iso_plan_t *plan = NULL;

    if (arguments->plan != NULL) {
        bench_need(iso_plan_read(arguments->plan, graph, &plan));
        return plan;
    }
    /* Memory is not planned for here. */
    bench_need(iso_machine_default(1, 0, (size_t)1 << 40, &machine));
    bench_need(iso_plan_create(graph, machine, &options, &plan));
    iso_machine_destroy(&machine);
    return plan;
}

static void measure(const arguments_t *arguments)
{
    iso_model_t *model = NULL;
    iso_device_t *device = NULL;

    bench_need(iso_model_open(arguments->model, &model));

    iso_plan_t *plan = plan_of(arguments, iso_model_graph(model));
    const int n_stages = iso_plan_stage_count(plan);

    bench_need(iso_device_open("cpu", arguments->threads, &device));

    bench_rows_t rows = bench_rows_open(arguments->rows);

    for (int stage = 0; stage < n_stages; stage++) {
        job_t job = {
            .program = bench_program_create(device, model, plan,
                                            iso_plan_rank_of(plan, stage, 0),
                                            arguments->batch),
            .threads = arguments->threads,
            /* What a pipeline is compared with is the time on the wall. */
            .now_s =
                n_stages > 1 ? bench_wall_s : bench_clock(arguments->threads),
        };

        if (n_stages == 1) {
            measure_whole(arguments, &job, &rows);
        } else {
            measure_stage(arguments, stage, &job, &rows);
        }
        bench_program_destroy(&job.program);
    }
    bench_rows_close(&rows);
    iso_plan_destroy(&plan);
    iso_device_close(&device);
    iso_model_close(&model);
}

int main(int argc, char **argv)
{
    arguments_t arguments = {
        .name = "model", .batch = 1, .threads = 1, .repeats = 9};
    const bench_option_t options[] = {
        {"--model", &arguments.model, NULL, NULL},
        {"--onnx", &arguments.onnx, NULL, NULL},
        {"--name", &arguments.name, NULL, NULL},
        {"--rows", &arguments.rows, NULL, NULL},
        {"--plan", &arguments.plan, NULL, NULL},
        {"--bar", &arguments.bar, NULL, NULL},
        {"--batch", NULL, &arguments.batch, NULL},
        {"--threads", NULL, &arguments.threads, NULL},
        {"--repeats", NULL, &arguments.repeats, NULL}};

    bench_parse(argc, argv, sizeof options / sizeof *options, options);
    if (arguments.model == NULL || arguments.repeats > BENCH_REPEATS_MOST) {
        (void)fprintf(stderr,
                      "bench_model: --model M.h5 is needed, at most %d "
                      "repeats\n",
                      BENCH_REPEATS_MOST);
        return 2;
    }
    measure(&arguments);
    return 0;
}
