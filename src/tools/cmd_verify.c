#include "isotome/error.h"
#include "isotome/verify.h"

#include "base/log.h"
#include "base/text.h"
#include "par/par.h"
#include "tools/arguments.h"
#include "tools/commands.h"
#include "tools/job.h"
#include "tools/job_arguments.h"
#include "tools/number_option.h"

#include <inttypes.h>

enum { MOST_PLACES = 64, MOST_PLANS = 1000000 };

enum { OPT_RANDOM = ISO_JOB_OPT_OWN, OPT_SEED, OPT_FOLDER };

static const struct argp_option verify_options[] = {
    {"random", OPT_RANDOM, "N", 0,
     "Verify N plans made at random: grid, split, cuts, micro-batch, threads",
     0},
    {"seed", OPT_SEED, "S", 0, "For random plans and inputs (default 1)", 0},
    {"samples", 's', "S", 0, "Samples of random inputs (default 3)", 0},
    {"input", 'i', "[NAME=]FILE", 0,
     "Input instead of random values: X.npy or F.h5:/dataset; once for each "
     "input of the model",
     0},
    {"micro-batch", 'b', "B", 0,
     "Samples in one micro-batch (default: all samples)", 0},
    ISO_JOB_OPTIONS("Verify", ISO_JOB_MACHINE,
                    ISO_JOB_THREADS "; random plans take 1 or 2"),
    {"folder", OPT_FOLDER, "DIR", 0,
     "Where to put temporary files, seen by all ranks (default .)", 0},
    {"quiet", 'q', NULL, 0, "No line for each plan", 0},
    {0},
};

typedef struct verify_arguments {
    iso_job_arguments_t job;
    iso_verify_options_t verify;
    const char *inputs[MOST_PLACES];
    bool has_seed;
} verify_arguments_t;

static iso_status_t add_input(verify_arguments_t *arguments, const char *place)
{
    if (arguments->verify.n_inputs == MOST_PLACES) {
        return iso_fail(ISO_INVAL, "more than %d inputs", MOST_PLACES);
    }
    arguments->inputs[arguments->verify.n_inputs++] = place;
    return ISO_OK;
}

static iso_status_t set_option(void *input, int key, const char *value)
{
    verify_arguments_t *arguments = input;
    iso_verify_options_t *verify = &arguments->verify;

    switch (key) {
    case 'i':
        return add_input(arguments, value);
    case OPT_RANDOM:
        return iso_number_option_count(value, "--random", MOST_PLANS,
                                       &verify->random);
    case OPT_SEED:
        arguments->has_seed = true;
        return iso_number_option_seed(value, &verify->seed);
    case 's':
        return iso_text_parse_int(value, "--samples", 1, INT32_MAX,
                                  &verify->samples);
    case OPT_FOLDER:
        verify->folder = value;
        return ISO_OK;
    case 'q':
        verify->quiet = true;
        return ISO_OK;
    default:
        return iso_job_arguments_set(&arguments->job, key, value);
    }
}

static const iso_syntax_t verify_syntax = {
    .usage = "NET.h5",
    .operand = "model file",
    .options = verify_options,
    .set = set_option,
    .doc = "Run a model whole and cut, and compare every value bit by bit.\v"
           "Start it under mpirun: every rank runs the whole model by itself, "
           "then all of them run it by the plan. It stops at the first op "
           "that differs and says where. Exit code 0 only when everything is "
           "equal.",
};

/* What is said of a plan that is made otherwise. */
static iso_status_t check_plan(const verify_arguments_t *arguments)
{
    const iso_run_options_t *run = &arguments->job.run;
    const bool is_random = arguments->verify.random > 0;

    ISO_TRY(iso_job_arguments_check(&arguments->job,
                                    is_random ? "--random" : NULL));
    if (is_random && run->plan_path != NULL) {
        return iso_fail(ISO_INVAL, "--plan is one plan, --random makes "
                                   "others: leave out one of them");
    }
    if (is_random && run->threads != 0) {
        return iso_fail(ISO_INVAL, "--random takes 1 or 2 threads: leave out "
                                   "--threads");
    }
    return ISO_OK;
}

static iso_status_t check_inputs(const verify_arguments_t *arguments)
{
    const iso_verify_options_t *verify = &arguments->verify;

    if (verify->n_inputs > 0 && verify->samples != 0) {
        return iso_fail(ISO_INVAL, "--samples counts random inputs, --input "
                                   "gives others: leave out one of them");
    }
    if (verify->n_inputs > 0 && verify->random == 0 && arguments->has_seed) {
        return iso_fail(ISO_INVAL, "nothing is random: leave out --seed");
    }
    return ISO_OK;
}

static iso_status_t read_arguments(int argc, char **argv,
                                   verify_arguments_t *arguments)
{
    iso_verify_options_t *verify = &arguments->verify;
    const iso_run_options_t *run = &arguments->job.run;

    ISO_TRY(iso_arguments_parse(&verify_syntax, argc, argv, arguments,
                                &verify->model));
    ISO_TRY(check_plan(arguments));
    ISO_TRY(check_inputs(arguments));
    ISO_TRY(iso_job_arguments_end(&arguments->job));
    verify->plan = run->plan;
    verify->plan_path = run->plan_path;
    verify->machine_path = run->machine_path;
    verify->device = run->device;
    verify->threads = run->threads;
    verify->samples = verify->samples == 0 ? 3 : verify->samples;
    verify->inputs = arguments->inputs;
    return ISO_OK;
}

/* Rank 0 says it: the exit code of a difference is that of a failure. */
static int end(const iso_verify_result_t *result, int rank)
{
    if (!result->equal) {
        if (rank == 0) {
            iso_log(ISO_LOG_ERROR, "not equal: %s", result->text);
        }
        return 1;
    }
    if (rank == 0) {
        (void)printf("%d %s: %" PRId64 " pieces of values and %" PRId64
                     " %s, all equal to the whole run's\n",
                     result->plans, result->plans == 1 ? "plan" : "plans",
                     result->pieces, result->outputs,
                     result->outputs == 1 ? "output" : "outputs");
    }
    return 0;
}

int iso_cmd_verify(int argc, char **argv)
{
    verify_arguments_t arguments = {.verify = {.seed = 1, .folder = "."}};
    iso_verify_result_t result = {0};
    iso_status_t status = iso_job_begin(read_arguments(argc, argv, &arguments));
    int found = 0;

    if (status == ISO_OK) {
        status = iso_verify(&arguments.verify, MPI_COMM_WORLD, stdout, &result);
    }
    if (status == ISO_OK) {
        found = end(&result, iso_par_rank(MPI_COMM_WORLD));
    }
    iso_job_arguments_free(&arguments.job);
    const int code = iso_job_end(status);

    return code != 0 ? code : found;
}
