#include "isotome/bench.h"
#include "isotome/error.h"

#include "base/mem.h"
#include "base/text.h"
#include "tools/arguments.h"
#include "tools/commands.h"
#include "tools/job.h"
#include "tools/job_arguments.h"
#include "tools/number_option.h"

#include <string.h>

enum { OPT_FORCE = ISO_JOB_OPT_OWN, OPT_JSON, OPT_REPEATS, OPT_SEED };

static const struct argp_option bench_options[] = {
    {"micro-batch", 'b', "B,B,..", 0,
     "Samples in one micro-batch, one or several sizes (default 1,8,64)", 0},
    {"repeats", OPT_REPEATS, "N", 0, "Times that each is measured (default 9)",
     0},
    {"seed", OPT_SEED, "S", 0, "For the inputs (default 1)", 0},
    ISO_JOB_OPTIONS("Measure", ISO_JOB_MACHINE ", rates of isotome-machine(5)",
                    ISO_JOB_THREADS),
    ISO_STRICT_OPTION,
    {"json", OPT_JSON, "F.json", 0, "Write the figures as JSON too", 0},
    {"force", OPT_FORCE, NULL, 0, "Replace F.json if it exists", 0},
    {"quiet", 'q', NULL, 0, "No tables", 0},
    {0},
};

typedef struct bench_arguments {
    iso_job_arguments_t job;
    iso_bench_options_t bench; /* run is that of job in the end */
    int64_t sizes[ISO_BENCH_MOST_SIZES];
    bool quiet;
} bench_arguments_t;

/* Into its place among the sizes, which ascend; one that is there already is
 * measured once. */
static iso_status_t add_size(bench_arguments_t *arguments, int64_t size)
{
    int *n = &arguments->bench.n_sizes;
    int at = 0;

    while (at < *n && arguments->sizes[at] < size) {
        at++;
    }
    if (at < *n && arguments->sizes[at] == size) {
        return ISO_OK;
    }
    if (*n == ISO_BENCH_MOST_SIZES) {
        return iso_fail(ISO_INVAL, "--micro-batch: more than %d sizes",
                        (int)ISO_BENCH_MOST_SIZES);
    }
    memmove(arguments->sizes + at + 1, arguments->sizes + at,
            (size_t)(*n - at) * sizeof *arguments->sizes);
    arguments->sizes[at] = size;
    *n += 1;
    return ISO_OK;
}

static iso_status_t set_sizes(bench_arguments_t *arguments, const char *text)
{
    char *list = iso_text_copy(text);
    iso_status_t status = list != NULL ? ISO_OK : ISO_NOMEM;

    for (char *item = list; status == ISO_OK && item != NULL;) {
        char *comma = strchr(item, ',');
        int64_t size = 0;

        if (comma != NULL) {
            *comma = '\0';
        }
        status = iso_text_parse_int(item, "--micro-batch", 1, INT32_MAX, &size);
        if (status == ISO_OK) {
            status = add_size(arguments, size);
        }
        item = comma != NULL ? comma + 1 : NULL;
    }
    iso_free(list);
    return status;
}

static iso_status_t set_option(void *input, int key, const char *value)
{
    bench_arguments_t *arguments = input;
    iso_bench_options_t *bench = &arguments->bench;

    switch (key) {
    case 'b':
        arguments->job.has_size = true;
        return set_sizes(arguments, value);
    case OPT_REPEATS:
        return iso_number_option_count(value, "--repeats",
                                       ISO_BENCH_MOST_REPEATS, &bench->repeats);
    case OPT_SEED:
        return iso_number_option_seed(value, &bench->seed);
    case OPT_JSON:
        bench->json_path = value;
        return ISO_OK;
    case OPT_FORCE:
        arguments->job.run.force = true;
        return ISO_OK;
    case 'q':
        arguments->quiet = true;
        return ISO_OK;
    default:
        return iso_job_arguments_set(&arguments->job, key, value);
    }
}

static const iso_syntax_t bench_syntax = {
    .usage = "NET.h5",
    .operand = "model file",
    .options = bench_options,
    .set = set_option,
    .doc = "Measure how fast a model runs here, beside what the plan predicts "
           "and what the cores can do at most.\v"
           "Start it under mpirun or srun as isotome run will be: as many "
           "ranks on the same hosts, bound in the same way. Inputs are made "
           "up, and outputs are written nowhere.",
};

static iso_status_t read_arguments(int argc, char **argv,
                                   bench_arguments_t *arguments)
{
    iso_job_arguments_t *job = &arguments->job;

    ISO_TRY(iso_arguments_parse(&bench_syntax, argc, argv, arguments,
                                &job->run.model));
    ISO_TRY(iso_job_arguments_check(job, NULL));
    if (job->run.force && arguments->bench.json_path == NULL) {
        return iso_fail(ISO_INVAL, "--force replaces the file of --json: "
                                   "give one, or leave it out");
    }
    ISO_TRY(iso_job_arguments_end(job));
    arguments->bench.run = job->run;
    arguments->bench.sizes = arguments->sizes;
    return ISO_OK;
}

int iso_cmd_bench(int argc, char **argv)
{
    bench_arguments_t arguments = {
        .job = {.run = {.deadline_s = -1}, .takes_strict = true},
        .bench = {.repeats = 9, .seed = 1}};
    iso_status_t status = iso_job_begin(read_arguments(argc, argv, &arguments));

    if (status == ISO_OK) {
        status = iso_bench(&arguments.bench, MPI_COMM_WORLD,
                           arguments.quiet ? NULL : stdout);
    }
    iso_job_arguments_free(&arguments.job);
    return iso_job_end(status);
}
