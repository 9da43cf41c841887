#include "isotome/error.h"

#include "base/mem.h"
#include "base/text.h"
#include "plan/plan_json.h"
#include "tools/arguments.h"
#include "tools/commands.h"
#include "tools/number_option.h"
#include "tools/plan_arguments.h"
#include "tools/plan_start.h"
#include "tools/print_json.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    OPT_FORCE = ISO_OPT_OWN,
    OPT_JSON,
    OPT_SLURM,
    OPT_HOSTFILE,
    OPT_THREADS
};

static const struct argp_option plan_options[] = {
    ISO_PLAN_OPTIONS,
    {"output", 'o', "P.json", 0, "Write the plan, for isotome run --plan", 0},
    {"force", OPT_FORCE, NULL, 0, "Replace P.json if it exists", 0},
    {"json", OPT_JSON, NULL, 0, "Print the plan as JSON instead of the table",
     0},
    {"slurm", OPT_SLURM, NULL, 0,
     "Print the #SBATCH lines that ask for what the plan needs instead", 0},
    {"hostfile", OPT_HOSTFILE, NULL, 0,
     "Print the host of each rank, from --machine, instead", 0},
    {"threads", OPT_THREADS, "N", 0, "Of each rank, for --slurm (default 1)",
     0},
    {0},
};

/* What is printed. */
typedef enum output {
    OUTPUT_TABLE,
    OUTPUT_JSON,
    OUTPUT_SLURM,
    OUTPUT_HOSTFILE,
} output_t;

typedef struct own_arguments {
    iso_plan_arguments_t plan;
    const char *output_path;
    bool force;
    output_t output;
    int threads; /* 0: not said */
} own_arguments_t;

static iso_status_t set_output(own_arguments_t *arguments, output_t output)
{
    if (arguments->output != OUTPUT_TABLE && arguments->output != output) {
        return iso_fail(ISO_INVAL, "--json, --slurm and --hostfile each print "
                                   "something else: give one of them");
    }
    arguments->output = output;
    return ISO_OK;
}

static iso_status_t set_option(void *input, int key, const char *value)
{
    own_arguments_t *arguments = input;

    switch (key) {
    case 'o':
        arguments->output_path = value;
        return ISO_OK;
    case OPT_FORCE:
        arguments->force = true;
        return ISO_OK;
    case OPT_JSON:
        return set_output(arguments, OUTPUT_JSON);
    case OPT_SLURM:
        return set_output(arguments, OUTPUT_SLURM);
    case OPT_HOSTFILE:
        return set_output(arguments, OUTPUT_HOSTFILE);
    case OPT_THREADS:
        return iso_number_option_threads(value, &arguments->threads);
    default:
        return iso_plan_arguments_set(&arguments->plan, key, value);
    }
}

static const iso_syntax_t plan_syntax = {
    .usage = "NET.h5 -n RANKS",
    .operand = "model file",
    .options = plan_options,
    .set = set_option,
    .doc = "Decide which rank runs which layers, and which part of each op, "
           "and say what that takes.\v"
           "No cluster is needed. The plan is a pure function of the model, "
           "the machine's figures and the options.",
};

/* Where the ranks of a job are started matters for these two. */
static iso_status_t end_output(own_arguments_t *arguments)
{
    if (arguments->output == OUTPUT_HOSTFILE &&
        arguments->plan.machine_path == NULL) {
        return iso_fail(ISO_INVAL, "--hostfile: no names of hosts; give "
                                   "--machine M.json, by isotome calibrate");
    }
    if (arguments->threads != 0 && arguments->output != OUTPUT_SLURM) {
        return iso_fail(ISO_INVAL, "--threads is for --slurm alone: a plan is "
                                   "the same for any number of threads");
    }
    arguments->plan.seated = arguments->output == OUTPUT_SLURM ||
                             arguments->output == OUTPUT_HOSTFILE;
    return ISO_OK;
}

static iso_status_t read_arguments(int argc, char **argv,
                                   own_arguments_t *arguments)
{
    ISO_TRY(iso_arguments_parse(&plan_syntax, argc, argv, arguments,
                                &arguments->plan.model));
    ISO_TRY(iso_plan_arguments_end(&arguments->plan));
    ISO_TRY(end_output(arguments));
    if (arguments->output_path == NULL) {
        return ISO_OK;
    }
    return iso_arguments_check_output(arguments->output_path, arguments->force);
}

static iso_status_t print_json(const iso_plan_t *plan)
{
    json_t *json = NULL;

    ISO_TRY(iso_plan_to_json(plan, &json));
    return iso_print_json(json);
}

static iso_status_t print_text(const iso_plan_t *plan)
{
    char *text = iso_plan_text(plan);

    if (text == NULL) {
        return ISO_NOMEM;
    }
    (void)fputs(text, stdout);
    iso_free(text);
    return ISO_OK;
}

/* Of the rank that needs most. */
static size_t most_peak_bytes(const iso_plan_t *plan)
{
    size_t most = 0;

    for (int rank = 0; rank < iso_plan_used(plan); rank++) {
        size_t bytes = iso_plan_part(plan, rank)->peak_bytes;

        most = bytes > most ? bytes : most;
    }
    return most;
}

static void print_proposal(const iso_plan_t *proposal, const iso_plan_t *plan,
                           int64_t samples)
{
    const int n_stages = iso_plan_stage_count(proposal);
    char better[ISO_TEXT_NUMBER_BYTES];
    char instead_of[ISO_TEXT_NUMBER_BYTES];

    (void)printf("note: --grid ");
    for (int stage = n_stages - 1; stage >= 0; stage--) {
        (void)printf("%d%s", iso_plan_width(proposal, stage),
                     stage > 0 ? "," : "");
    }
    (void)printf(" is predicted to be faster: %s instead of %s for %" PRId64
                 " samples,\n",
                 iso_text_seconds(iso_plan_seconds(proposal, samples), better),
                 iso_text_seconds(iso_plan_seconds(plan, samples), instead_of),
                 samples);
    (void)printf("      with %s instead of %s on the fullest rank\n",
                 iso_text_bytes(most_peak_bytes(proposal), better),
                 iso_text_bytes(most_peak_bytes(plan), instead_of));
}

static iso_status_t propose(const own_arguments_t *arguments,
                            const iso_graph_t *graph, const iso_plan_t *plan)
{
    iso_plan_t *proposal = NULL;

    ISO_TRY(
        iso_plan_arguments_propose(&arguments->plan, graph, plan, &proposal));
    if (proposal != NULL) {
        print_proposal(proposal, plan,
                       iso_plan_arguments_samples(&arguments->plan));
    }
    iso_plan_destroy(&proposal);
    return ISO_OK;
}

/* The table, and what else to know. */
static iso_status_t print_all(const own_arguments_t *arguments,
                              const iso_graph_t *graph, const iso_plan_t *plan,
                              const iso_machine_t *machine)
{
    ISO_TRY(print_text(plan));
    ISO_TRY(iso_plan_arguments_print_segments(&arguments->plan, plan, machine,
                                              false));
    return propose(arguments, graph, plan);
}

static iso_status_t print(const own_arguments_t *arguments,
                          const iso_graph_t *graph, const iso_plan_t *plan,
                          const iso_machine_t *machine)
{
    switch (arguments->output) {
    case OUTPUT_JSON:
        return print_json(plan);
    case OUTPUT_SLURM:
        return iso_plan_start_print_slurm(
            plan, machine, arguments->plan.machine_path != NULL,
            arguments->threads == 0 ? 1 : arguments->threads);
    case OUTPUT_HOSTFILE:
        iso_plan_start_print_hosts(plan, machine);
        return ISO_OK;
    default:
        return print_all(arguments, graph, plan, machine);
    }
}

static iso_status_t plan_model(const own_arguments_t *arguments)
{
    iso_model_t *model = NULL;
    iso_machine_t *machine = NULL;
    iso_plan_t *plan = NULL;
    iso_status_t status = iso_model_open(arguments->plan.model, &model);

    if (status == ISO_OK) {
        status = iso_plan_arguments_plan(
            &arguments->plan, iso_model_graph(model), &machine, &plan);
    }
    if (status == ISO_OK && arguments->output_path != NULL) {
        status = iso_plan_write(plan, arguments->output_path);
    }
    if (status == ISO_OK) {
        status = print(arguments, iso_model_graph(model), plan, machine);
    }
    iso_plan_destroy(&plan);
    iso_machine_destroy(&machine);
    iso_model_close(&model);
    return status;
}

int iso_cmd_plan(int argc, char **argv)
{
    own_arguments_t arguments = {0};
    iso_status_t status = read_arguments(argc, argv, &arguments);

    if (status == ISO_OK) {
        status = plan_model(&arguments);
    }
    iso_plan_arguments_free(&arguments.plan);
    return iso_cmd_end(status);
}
