#include "isotome/bench.h"
#include "isotome/error.h"

#include "base/mem.h"
#include "base/text.h"
#include "tools/arguments.h"
#include "tools/commands.h"
#include "tools/grid_option.h"
#include "tools/job.h"
#include "tools/split_option.h"

#include <string.h>

enum { MOST_THREADS = 4096 };

enum {
    OPT_SPLIT = 256,
    OPT_PLAN,
    OPT_DEVICE,
    OPT_THREADS,
    OPT_MACHINE,
    OPT_FORCE,
    OPT_JSON,
    OPT_REPEATS,
    OPT_SEED,
    OPT_STRICT,
};

static const struct argp_option bench_options[] = {
    {"micro-batch", 'b', "B,B,..", 0,
     "Samples in one micro-batch, one or several sizes (default 1,8,64)", 0},
    {"repeats", OPT_REPEATS, "N", 0, "Times that each is measured (default 9)",
     0},
    {"seed", OPT_SEED, "S", 0, "For the inputs (default 1)", 0},
    {"split", OPT_SPLIT, "SPLIT", 0,
     "Layers of each stage: a,b,.. (rank 0 holds the last), even, memory or "
     "balanced (default)",
     0},
    ISO_GRID_OPTIONS,
    {"plan", OPT_PLAN, "P.json", 0, "Measure this plan (from isotome plan -o)",
     0},
    {"machine", OPT_MACHINE, "M.json", 0,
     "Figures of the machine (default: this job's hosts and memory, rates of "
     "isotome-machine(5))",
     0},
    {"strict", OPT_STRICT, NULL, 0,
     "Refuse more ranks than layers instead of leaving some idle", 0},
    {"device", OPT_DEVICE, "NAME", 0, "cpu (default) or ref", 0},
    {"threads", OPT_THREADS, "N", 0, "Threads of each rank (default 1)", 0},
    {"json", OPT_JSON, "F.json", 0, "Write the figures as JSON too", 0},
    {"force", OPT_FORCE, NULL, 0, "Replace F.json if it exists", 0},
    {"quiet", 'q', NULL, 0, "No tables", 0},
    {0},
};

typedef struct bench_arguments {
    iso_bench_options_t bench;
    int64_t sizes[ISO_BENCH_MOST_SIZES];
    const char *split_text;
    iso_grid_option_t grid;
    bool quiet;
} bench_arguments_t;

static iso_status_t set_count(const char *text, const char *what, int64_t most,
                              int *out)
{
    int64_t count = 0;

    ISO_TRY(iso_text_parse_int(text, what, 1, most, &count));
    *out = (int)count;
    return ISO_OK;
}

static iso_status_t set_seed(const char *text, uint64_t *seed)
{
    int64_t value = 0;

    ISO_TRY(iso_text_parse_int(text, "--seed", 0, INT64_MAX, &value));
    *seed = (uint64_t)value;
    return ISO_OK;
}

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

static iso_status_t set_number(bench_arguments_t *arguments, int key,
                               const char *value)
{
    iso_bench_options_t *bench = &arguments->bench;

    switch (key) {
    case 'b':
        return set_sizes(arguments, value);
    case OPT_REPEATS:
        return set_count(value, "--repeats", ISO_BENCH_MOST_REPEATS,
                         &bench->repeats);
    case OPT_THREADS:
        return set_count(value, "--threads", MOST_THREADS, &bench->run.threads);
    default:
        return set_seed(value, &bench->seed);
    }
}

static void set_flag(bench_arguments_t *arguments, int key)
{
    switch (key) {
    case OPT_STRICT:
        arguments->bench.run.plan.strict = true;
        break;
    case OPT_FORCE:
        arguments->bench.run.force = true;
        break;
    default:
        arguments->quiet = true;
        break;
    }
}

static iso_status_t set_option(void *input, int key, const char *value)
{
    bench_arguments_t *arguments = input;
    iso_run_options_t *run = &arguments->bench.run;

    switch (key) {
    case OPT_SPLIT:
        arguments->split_text = value;
        return ISO_OK;
    case OPT_PLAN:
        run->plan_path = value;
        return ISO_OK;
    case OPT_MACHINE:
        run->machine_path = value;
        return ISO_OK;
    case OPT_DEVICE:
        run->device = value;
        return ISO_OK;
    case OPT_JSON:
        arguments->bench.json_path = value;
        return ISO_OK;
    case OPT_STRICT:
    case OPT_FORCE:
    case 'q':
        set_flag(arguments, key);
        return ISO_OK;
    case ISO_OPT_GRID:
    case ISO_OPT_STAGES:
    case ISO_OPT_WORKERS:
        return iso_grid_option_set(&arguments->grid, key, value, &run->plan);
    default:
        return set_number(arguments, key, value);
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

static iso_status_t check_arguments(const bench_arguments_t *arguments)
{
    const iso_bench_options_t *bench = &arguments->bench;
    const iso_run_options_t *run = &bench->run;

    if (run->plan_path != NULL &&
        (arguments->split_text != NULL || bench->n_sizes > 0 ||
         run->plan.strict ||
         iso_grid_option_given(&arguments->grid, &run->plan))) {
        return iso_fail(ISO_INVAL, "--plan decides grid, split and "
                                   "micro-batch: leave out --grid, --stages, "
                                   "--workers, --split, --micro-batch and "
                                   "--strict");
    }
    if (run->force && bench->json_path == NULL) {
        return iso_fail(ISO_INVAL, "--force replaces the file of --json: "
                                   "give one, or leave it out");
    }
    return ISO_OK;
}

/* split  [out]  iso_layer_split_free() it in any case */
static iso_status_t read_arguments(int argc, char **argv,
                                   bench_arguments_t *arguments,
                                   iso_layer_split_t *split)
{
    iso_run_options_t *run = &arguments->bench.run;

    ISO_TRY(
        iso_arguments_parse(&bench_syntax, argc, argv, arguments, &run->model));
    ISO_TRY(check_arguments(arguments));
    arguments->bench.sizes = arguments->sizes;
    ISO_TRY(iso_grid_option_end(&arguments->grid, &run->plan));
    return iso_split_option(arguments->split_text, &run->plan, split);
}

int iso_cmd_bench(int argc, char **argv)
{
    bench_arguments_t arguments = {
        .bench = {
            .run = {.device = "cpu", .threads = 1}, .repeats = 9, .seed = 1}};
    iso_layer_split_t split = {0};
    iso_status_t status =
        iso_job_begin(read_arguments(argc, argv, &arguments, &split));

    if (status == ISO_OK) {
        status = iso_bench(&arguments.bench, MPI_COMM_WORLD,
                           arguments.quiet ? NULL : stdout);
    }
    iso_layer_split_free(&split);
    iso_grid_option_free(&arguments.grid);
    return iso_job_end(status);
}
