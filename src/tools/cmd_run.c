#include "isotome/error.h"
#include "isotome/run.h"

#include "base/text.h"
#include "tools/arguments.h"
#include "tools/commands.h"
#include "tools/grid_option.h"
#include "tools/job.h"
#include "tools/split_option.h"

#include <stdlib.h>

enum { MOST_PLACES = 64, MOST_THREADS = 4096 };

enum {
    OPT_SPLIT = 256,
    OPT_PLAN,
    OPT_DEVICE,
    OPT_THREADS,
    OPT_MACHINE,
    OPT_FORCE,
    OPT_PACKED,
    OPT_REPORT,
    OPT_STRICT,
};

static const struct argp_option run_options[] = {
    {"input", 'i', "[NAME=]FILE", 0,
     "Input: X.npy or F.h5:/dataset; once for each input of the model", 0},
    {"output", 'o', "[NAME=]FILE", 0,
     "Output: Y.npy or F.h5:/dataset; once for each output wanted", 0},
    {"micro-batch", 'b', "B", 0,
     "Samples in one micro-batch (default: the planner's choice)", 0},
    {"split", OPT_SPLIT, "SPLIT", 0,
     "Layers of each stage: a,b,.. (rank 0 holds the last), even, memory or "
     "balanced (default)",
     0},
    ISO_GRID_OPTIONS,
    {"plan", OPT_PLAN, "P.json", 0, "Run this plan (from isotome plan -o)", 0},
    {"machine", OPT_MACHINE, "M.json", 0,
     "Figures of the machine (default: this job's hosts and memory, rates of "
     "isotome-machine(5))",
     0},
    {"strict", OPT_STRICT, NULL, 0,
     "Refuse more ranks than layers instead of leaving some idle", 0},
    {"device", OPT_DEVICE, "NAME", 0, "cpu (default) or ref", 0},
    {"threads", OPT_THREADS, "N", 0, "Threads of each rank (default 1)", 0},
    {"force", OPT_FORCE, NULL, 0, "Replace outputs that exist", 0},
    {"packed", OPT_PACKED, "DIR", 0,
     "Keep packed weights in this folder of the node, for the next run to "
     "start "
     "faster (default: the environment's ISOTOME_PACKED)",
     0},
    {"report", OPT_REPORT, "R.json", 0, "Write where the time went as JSON too",
     0},
    {"quiet", 'q', NULL, 0, "No progress and no table", 0},
    {0},
};

typedef struct run_arguments {
    iso_run_options_t run;
    const char *inputs[MOST_PLACES];
    const char *outputs[MOST_PLACES];
    const char *split_text;
    iso_grid_option_t grid;
    bool quiet;
} run_arguments_t;

static iso_status_t add_place(const char **places, int *count, const char *text)
{
    if (*count == MOST_PLACES) {
        return iso_fail(ISO_INVAL, "more than %d inputs or outputs",
                        MOST_PLACES);
    }
    places[(*count)++] = text;
    return ISO_OK;
}

static iso_status_t set_threads(run_arguments_t *arguments, const char *text)
{
    int64_t threads = 0;

    ISO_TRY(iso_text_parse_int(text, "--threads", 1, MOST_THREADS, &threads));
    arguments->run.threads = (int)threads;
    return ISO_OK;
}

static iso_status_t set_flag(run_arguments_t *arguments, int key)
{
    switch (key) {
    case OPT_STRICT:
        arguments->run.plan.strict = true;
        break;
    case OPT_FORCE:
        arguments->run.force = true;
        break;
    default:
        arguments->quiet = true;
        break;
    }
    return ISO_OK;
}

static iso_status_t set_option(void *input, int key, const char *value)
{
    run_arguments_t *arguments = input;
    iso_run_options_t *run = &arguments->run;

    switch (key) {
    case 'i':
        return add_place(arguments->inputs, &run->n_inputs, value);
    case 'o':
        return add_place(arguments->outputs, &run->n_outputs, value);
    case 'b':
        return iso_text_parse_int(value, "--micro-batch", 1, INT32_MAX,
                                  &run->plan.micro_batch);
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
    case OPT_THREADS:
        return set_threads(arguments, value);
    case OPT_PACKED:
        run->packed_path = value;
        return ISO_OK;
    case OPT_REPORT:
        run->report_path = value;
        return ISO_OK;
    case ISO_OPT_GRID:
    case ISO_OPT_STAGES:
    case ISO_OPT_WORKERS:
        return iso_grid_option_set(&arguments->grid, key, value, &run->plan);
    default:
        return set_flag(arguments, key);
    }
}

static const iso_syntax_t run_syntax = {
    .usage = "NET.h5 -i X -o Y",
    .operand = "model file",
    .options = run_options,
    .set = set_option,
    .doc = "Run a model over its inputs.\v"
           "Start it under mpirun or srun; the ranks hold the model's stages "
           "in reverse order, rank 0 the last. The output bytes are the same "
           "for any number of ranks, threads and micro-batch.",
};

/* split  [out]  iso_layer_split_free() it in any case */
static iso_status_t read_arguments(int argc, char **argv,
                                   run_arguments_t *arguments,
                                   iso_layer_split_t *split)
{
    iso_run_options_t *run = &arguments->run;

    ISO_TRY(
        iso_arguments_parse(&run_syntax, argc, argv, arguments, &run->model));
    if (run->plan_path != NULL &&
        (arguments->split_text != NULL || run->plan.micro_batch != 0 ||
         run->plan.strict ||
         iso_grid_option_given(&arguments->grid, &run->plan))) {
        return iso_fail(ISO_INVAL, "--plan decides grid, split and "
                                   "micro-batch: leave out --grid, --stages, "
                                   "--workers, --split, --micro-batch and "
                                   "--strict");
    }
    if (run->packed_path != NULL && run->packed_path[0] == '\0') {
        run->packed_path = NULL; /* so that it can be turned off */
    }
    run->inputs = arguments->inputs;
    run->outputs = arguments->outputs;
    run->progress = !arguments->quiet;
    ISO_TRY(iso_grid_option_end(&arguments->grid, &run->plan));
    return iso_split_option(arguments->split_text, &run->plan, split);
}

int iso_cmd_run(int argc, char **argv)
{
    run_arguments_t arguments = {
        .run = {.device = "cpu",
                .threads = 1,
                .packed_path = getenv("ISOTOME_PACKED")}};
    iso_layer_split_t split = {0};
    iso_status_t status =
        iso_job_begin(read_arguments(argc, argv, &arguments, &split));

    if (status == ISO_OK) {
        status = iso_run(&arguments.run, MPI_COMM_WORLD,
                         arguments.quiet ? NULL : stdout);
    }
    iso_layer_split_free(&split);
    iso_grid_option_free(&arguments.grid);
    return iso_job_end(status);
}
