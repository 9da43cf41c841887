#include "isotome/error.h"
#include "isotome/run.h"

#include "tools/arguments.h"
#include "tools/commands.h"
#include "tools/job.h"
#include "tools/job_arguments.h"
#include "tools/number_option.h"

#include <stdlib.h>

enum { MOST_PLACES = 64, DEFAULT_SYNC_S = 60 };

enum {
    OPT_FORCE = ISO_JOB_OPT_OWN,
    OPT_PACKED,
    OPT_REPORT,
    OPT_DEADLINE,
    OPT_RESUME,
    OPT_STATUS,
    OPT_SYNC,
    OPT_VERIFY
};

static const struct argp_option run_options[] = {
    {"input", 'i', "[NAME=]FILE", 0,
     "Input: X.npy or F.h5:/dataset; once for each input of the model", 0},
    {"output", 'o', "[NAME=]FILE", 0,
     "Output: Y.npy or F.h5:/dataset; once for each output wanted", 0},
    {"micro-batch", 'b', "B", 0,
     "Samples in one micro-batch (default: the planner's choice)", 0},
    ISO_JOB_OPTIONS("Run", ISO_JOB_MACHINE ", rates of isotome-machine(5)",
                    ISO_JOB_THREADS),
    ISO_STRICT_OPTION,
    {"force", OPT_FORCE, NULL, 0, "Replace outputs that exist", 0},
    {"resume", OPT_RESUME, NULL, 0,
     "Go on where an earlier job with these outputs ended; begin where there "
     "was none, do nothing where it finished",
     0},
    {"sync", OPT_SYNC, "SECONDS", 0,
     "Flush outputs and ledger to the disk so often (default: 60; 0: about "
     "once a second)",
     0},
    {"packed", OPT_PACKED, "DIR", 0,
     "Keep packed weights in this folder of the node, for the next run to "
     "start "
     "faster (default: the environment's ISOTOME_PACKED)",
     0},
    {"report", OPT_REPORT, "R.json", 0, "Write where the time went as JSON too",
     0},
    {"status", OPT_STATUS, "F.json", 0,
     "Write how far the job and each rank is, every few seconds", 0},
    {"deadline", OPT_DEADLINE, "S", 0,
     "Seconds that a rank may wait for others before the job ends (default: "
     "by the plan; 0: no limit)",
     0},
    {"verify-transfers", OPT_VERIFY, NULL, 0,
     "Check by digests what ranks send each other", 0},
    {"quiet", 'q', NULL, 0, "No progress and no table", 0},
    {0},
};

typedef struct run_arguments {
    iso_job_arguments_t job;
    const char *inputs[MOST_PLACES];
    const char *outputs[MOST_PLACES];
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

static iso_status_t set_option(void *input, int key, const char *value)
{
    run_arguments_t *arguments = input;
    iso_run_options_t *run = &arguments->job.run;

    switch (key) {
    case 'i':
        return add_place(arguments->inputs, &run->n_inputs, value);
    case 'o':
        return add_place(arguments->outputs, &run->n_outputs, value);
    case OPT_FORCE:
        run->force = true;
        return ISO_OK;
    case OPT_RESUME:
        run->resume = true;
        return ISO_OK;
    case OPT_STATUS:
        run->status_path = value;
        return ISO_OK;
    case OPT_SYNC:
        return iso_number_option_seconds(value, "--sync", &run->sync_s);
    case OPT_PACKED:
        run->packed_path = value;
        return ISO_OK;
    case OPT_REPORT:
        run->report_path = value;
        return ISO_OK;
    case OPT_DEADLINE:
        return iso_number_option_seconds(value, "--deadline", &run->deadline_s);
    case OPT_VERIFY:
        run->verify_transfers = true;
        return ISO_OK;
    case 'q':
        arguments->quiet = true;
        return ISO_OK;
    default:
        return iso_job_arguments_set(&arguments->job, key, value);
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

static iso_status_t read_arguments(int argc, char **argv,
                                   run_arguments_t *arguments)
{
    iso_run_options_t *run = &arguments->job.run;

    ISO_TRY(
        iso_arguments_parse(&run_syntax, argc, argv, arguments, &run->model));
    ISO_TRY(iso_job_arguments_check(&arguments->job, NULL));
    if (run->packed_path != NULL && run->packed_path[0] == '\0') {
        run->packed_path = NULL; /* so that it can be turned off */
    }
    run->inputs = arguments->inputs;
    run->outputs = arguments->outputs;
    run->progress = !arguments->quiet;
    return iso_job_arguments_end(&arguments->job);
}

int iso_cmd_run(int argc, char **argv)
{
    run_arguments_t arguments = {
        .job = {.run = {.packed_path = getenv("ISOTOME_PACKED"),
                        .sync_s = DEFAULT_SYNC_S,
                        .deadline_s = -1},
                .takes_strict = true}};
    iso_status_t status = iso_job_begin(read_arguments(argc, argv, &arguments));

    if (status == ISO_OK) {
        status = iso_run(&arguments.job.run, MPI_COMM_WORLD,
                         arguments.quiet ? NULL : stdout);
    }
    iso_job_arguments_free(&arguments.job);
    return iso_job_end(status);
}
