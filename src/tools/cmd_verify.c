#include "isotome/error.h"
#include "isotome/verify.h"

#include "base/log.h"
#include "base/text.h"
#include "par/par.h"
#include "tools/arguments.h"
#include "tools/commands.h"
#include "tools/grid_option.h"
#include "tools/job.h"
#include "tools/split_option.h"

#include <inttypes.h>

enum { MOST_PLACES = 64, MOST_THREADS = 4096, MOST_PLANS = 1000000 };

enum {
    OPT_SPLIT = 256,
    OPT_PLAN,
    OPT_DEVICE,
    OPT_THREADS,
    OPT_MACHINE,
    OPT_RANDOM,
    OPT_SEED,
    OPT_FOLDER,
};

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
    {"split", OPT_SPLIT, "SPLIT", 0,
     "Layers of each stage: a,b,.. (rank 0 holds the last), even, memory or "
     "balanced (default)",
     0},
    ISO_GRID_OPTIONS,
    {"plan", OPT_PLAN, "P.json", 0, "Verify this plan (from isotome plan -o)",
     0},
    {"machine", OPT_MACHINE, "M.json", 0,
     "Figures of the machine (default: this job's hosts and memory)", 0},
    {"device", OPT_DEVICE, "NAME", 0, "cpu (default) or ref", 0},
    {"threads", OPT_THREADS, "N", 0,
     "Threads of each rank (default 1; random plans take 1 or 2)", 0},
    {"folder", OPT_FOLDER, "DIR", 0,
     "Where to put temporary files, seen by all ranks (default .)", 0},
    {"quiet", 'q', NULL, 0, "No line for each plan", 0},
    {0},
};

typedef struct verify_arguments {
    iso_verify_options_t verify;
    const char *inputs[MOST_PLACES];
    const char *split_text;
    iso_grid_option_t grid;
    bool has_seed;
} verify_arguments_t;

static iso_status_t set_count(const char *text, const char *what, int64_t most,
                              int *out)
{
    int64_t count = 0;

    ISO_TRY(iso_text_parse_int(text, what, 1, most, &count));
    *out = (int)count;
    return ISO_OK;
}

static iso_status_t set_seed(const char *text, verify_arguments_t *arguments)
{
    int64_t value = 0;

    ISO_TRY(iso_text_parse_int(text, "--seed", 0, INT64_MAX, &value));
    arguments->verify.seed = (uint64_t)value;
    arguments->has_seed = true;
    return ISO_OK;
}

static iso_status_t add_input(verify_arguments_t *arguments, const char *place)
{
    if (arguments->verify.n_inputs == MOST_PLACES) {
        return iso_fail(ISO_INVAL, "more than %d inputs", MOST_PLACES);
    }
    arguments->inputs[arguments->verify.n_inputs++] = place;
    return ISO_OK;
}

static iso_status_t set_number(verify_arguments_t *arguments, int key,
                               const char *value)
{
    iso_verify_options_t *verify = &arguments->verify;

    switch (key) {
    case OPT_RANDOM:
        return set_count(value, "--random", MOST_PLANS, &verify->random);
    case OPT_SEED:
        return set_seed(value, arguments);
    case OPT_THREADS:
        return set_count(value, "--threads", MOST_THREADS, &verify->threads);
    case 's':
        return iso_text_parse_int(value, "--samples", 1, INT32_MAX,
                                  &verify->samples);
    default:
        return iso_text_parse_int(value, "--micro-batch", 1, INT32_MAX,
                                  &verify->plan.micro_batch);
    }
}

static iso_status_t set_option(void *input, int key, const char *value)
{
    verify_arguments_t *arguments = input;
    iso_verify_options_t *verify = &arguments->verify;

    switch (key) {
    case 'i':
        return add_input(arguments, value);
    case OPT_SPLIT:
        arguments->split_text = value;
        return ISO_OK;
    case OPT_PLAN:
        verify->plan_path = value;
        return ISO_OK;
    case OPT_MACHINE:
        verify->machine_path = value;
        return ISO_OK;
    case OPT_DEVICE:
        verify->device = value;
        return ISO_OK;
    case OPT_FOLDER:
        verify->folder = value;
        return ISO_OK;
    case 'q':
        verify->quiet = true;
        return ISO_OK;
    case ISO_OPT_GRID:
    case ISO_OPT_STAGES:
    case ISO_OPT_WORKERS:
        return iso_grid_option_set(&arguments->grid, key, value, &verify->plan);
    default:
        return set_number(arguments, key, value);
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
    const iso_verify_options_t *verify = &arguments->verify;
    bool shaped = arguments->split_text != NULL ||
                  verify->plan.micro_batch != 0 ||
                  iso_grid_option_given(&arguments->grid, &verify->plan);

    if (shaped && (verify->plan_path != NULL || verify->random > 0)) {
        return iso_fail(ISO_INVAL,
                        "%s decides grid, split and micro-batch: leave out "
                        "--grid, --stages, --workers, --split and "
                        "--micro-batch",
                        verify->random > 0 ? "--random" : "--plan");
    }
    if (verify->plan_path != NULL && verify->random > 0) {
        return iso_fail(ISO_INVAL, "--plan is one plan, --random makes "
                                   "others: leave out one of them");
    }
    if (verify->threads != 0 && verify->random > 0) {
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

/* split  [out]  iso_layer_split_free() it in any case */
static iso_status_t read_arguments(int argc, char **argv,
                                   verify_arguments_t *arguments,
                                   iso_layer_split_t *split)
{
    iso_verify_options_t *verify = &arguments->verify;

    ISO_TRY(iso_arguments_parse(&verify_syntax, argc, argv, arguments,
                                &verify->model));
    ISO_TRY(check_plan(arguments));
    ISO_TRY(check_inputs(arguments));
    verify->threads = verify->threads == 0 ? 1 : verify->threads;
    verify->samples = verify->samples == 0 ? 3 : verify->samples;
    verify->inputs = arguments->inputs;
    ISO_TRY(iso_grid_option_end(&arguments->grid, &verify->plan));
    return iso_split_option(arguments->split_text, &verify->plan, split);
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
    verify_arguments_t arguments = {
        .verify = {.device = "cpu", .seed = 1, .folder = "."}};
    iso_layer_split_t split = {0};
    iso_verify_result_t result = {0};
    iso_status_t status =
        iso_job_begin(read_arguments(argc, argv, &arguments, &split));
    int found = 0;

    if (status == ISO_OK) {
        status = iso_verify(&arguments.verify, MPI_COMM_WORLD, stdout, &result);
    }
    if (status == ISO_OK) {
        found = end(&result, iso_par_rank(MPI_COMM_WORLD));
    }
    iso_layer_split_free(&split);
    iso_grid_option_free(&arguments.grid);
    const int code = iso_job_end(status);

    return code != 0 ? code : found;
}
