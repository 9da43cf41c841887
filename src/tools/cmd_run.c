#include "isotome/error.h"
#include "isotome/run.h"

#include "base/log.h"
#include "base/text.h"
#include "par/par.h"
#include "tools/commands.h"
#include "tools/split_option.h"

#include <argp.h>
#include <string.h>

enum { MOST_PLACES = 64, MOST_THREADS = 4096 };

enum {
    OPT_SPLIT = 256,
    OPT_PLAN,
    OPT_DEVICE,
    OPT_THREADS,
    OPT_MACHINE,
    OPT_FORCE,
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
     "Layers of each rank: a,b,.. (rank 0 holds the last), even, memory or "
     "balanced (default)",
     0},
    {"plan", OPT_PLAN, "P.json", 0, "Run this plan (from isotome plan -o)", 0},
    {"machine", OPT_MACHINE, "M.json", 0,
     "Figures of the machine (default: this job's hosts and memory with "
     "default rates)",
     0},
    {"strict", OPT_STRICT, NULL, 0,
     "More ranks than layers is an error, not idle ranks", 0},
    {"device", OPT_DEVICE, "NAME", 0, "cpu (default) or ref", 0},
    {"threads", OPT_THREADS, "N", 0, "Threads of each rank (default 1)", 0},
    {"force", OPT_FORCE, NULL, 0, "Replace outputs that exist", 0},
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
    bool quiet;
    iso_status_t status; /* of the first argument that is wrong */
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

static iso_status_t set_option(run_arguments_t *arguments, int key, char *text)
{
    iso_run_options_t *run = &arguments->run;

    switch (key) {
    case 'i':
        return add_place(arguments->inputs, &run->n_inputs, text);
    case 'o':
        return add_place(arguments->outputs, &run->n_outputs, text);
    case 'b':
        return iso_text_parse_int(text, "--micro-batch", 1, INT32_MAX,
                                  &run->plan.micro_batch);
    case OPT_SPLIT:
        arguments->split_text = text;
        return ISO_OK;
    case OPT_PLAN:
        run->plan_path = text;
        return ISO_OK;
    case OPT_MACHINE:
        run->machine_path = text;
        return ISO_OK;
    case OPT_DEVICE:
        run->device = text;
        return ISO_OK;
    case OPT_THREADS:
        return set_threads(arguments, text);
    case OPT_REPORT:
        run->report_path = text;
        return ISO_OK;
    default:
        return set_flag(arguments, key);
    }
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    run_arguments_t *arguments = state->input;
    iso_status_t status = ISO_OK;

    switch (key) {
    case ARGP_KEY_ARG:
        if (arguments->run.model != NULL) {
            status = iso_fail(ISO_INVAL, "one model file, not also '%s'", text);
        } else {
            arguments->run.model = text;
        }
        break;
    case ARGP_KEY_INIT:
    case ARGP_KEY_NO_ARGS:
    case ARGP_KEY_END:
    case ARGP_KEY_SUCCESS:
    case ARGP_KEY_ERROR:
    case ARGP_KEY_FINI:
        break;
    case ARGP_KEY_ARGS:
        return ARGP_ERR_UNKNOWN;
    default:
        status = set_option(arguments, key, text);
        break;
    }
    if (arguments->status == ISO_OK) {
        arguments->status = status;
    }
    return 0;
}

static const struct argp run_argp = {
    .options = run_options,
    .parser = parse,
    .args_doc = "NET.h5",
    .doc = "Run a model over its inputs.\v"
           "Start it under mpirun or srun; the ranks hold the model's stages "
           "in reverse order, rank 0 the last. The output bytes are the same "
           "for any number of ranks, threads and micro-batch.",
};

static iso_status_t complete(run_arguments_t *arguments)
{
    iso_run_options_t *run = &arguments->run;

    ISO_TRY(arguments->status);
    if (run->model == NULL) {
        return iso_fail(ISO_INVAL, "no model file; see isotome run --help");
    }
    if (run->plan_path != NULL &&
        (arguments->split_text != NULL || run->plan.micro_batch != 0 ||
         run->plan.strict)) {
        return iso_fail(ISO_INVAL, "--plan decides split and micro-batch: "
                                   "leave --split, --micro-batch and "
                                   "--strict away");
    }
    run->inputs = arguments->inputs;
    run->outputs = arguments->outputs;
    run->progress = !arguments->quiet;
    return ISO_OK;
}

/* Rank 0 speaks for all about options that no rank understands. */
static iso_status_t read_arguments(int argc, char **argv, int rank,
                                   run_arguments_t *arguments)
{
    unsigned flags = rank == 0 ? ARGP_NO_EXIT : ARGP_SILENT;
    int first = 0;

    if (argp_parse(&run_argp, argc, argv, flags, &first, arguments) != 0) {
        return iso_fail(ISO_INVAL, "options of isotome run; see --help");
    }
    return complete(arguments);
}

static iso_status_t run(int argc, char **argv)
{
    run_arguments_t arguments = {
        .run = {.device = "cpu", .threads = 1},
    };
    iso_layer_split_t split = {0};
    int rank = iso_par_rank(MPI_COMM_WORLD);
    iso_status_t status = read_arguments(argc, argv, rank, &arguments);

    if (status == ISO_OK) {
        status =
            iso_split_option(arguments.split_text, &arguments.run.plan, &split);
    }
    status = iso_par_agree(status, MPI_COMM_WORLD);
    if (status == ISO_OK) {
        status = iso_run(&arguments.run, MPI_COMM_WORLD,
                         arguments.quiet ? NULL : stdout);
    }
    iso_layer_split_free(&split);
    return status;
}

static bool asks_for_help(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-?") == 0 ||
            strcmp(argv[i], "--usage") == 0) {
            return true;
        }
    }
    return false;
}

int iso_cmd_run(int argc, char **argv)
{
    int provided = MPI_THREAD_SINGLE;
    int code = 0;

    argp_err_exit_status = iso_status_exit_code(ISO_INVAL);
    if (asks_for_help(argc, argv)) {
        return argp_parse(&run_argp, argc, argv, 0, NULL, NULL);
    }
    ISO_CHECK_MPI(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided));
    int rank = iso_par_rank(MPI_COMM_WORLD);

    iso_log_set_rank(rank, iso_par_size(MPI_COMM_WORLD));
    iso_status_t status = run(argc, argv);

    if (status != ISO_OK && rank == 0) {
        (void)iso_cmd_failed(status);
    }
    code = iso_status_exit_code(status);
    ISO_CHECK_MPI(MPI_Finalize());
    return code;
}
