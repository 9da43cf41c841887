#include "isotome/error.h"
#include "isotome/model_file.h"
#include "isotome/plan.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "plan/plan_json.h"
#include "tools/commands.h"
#include "tools/split_option.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum {
    OPT_SPLIT = 256,
    OPT_MACHINE,
    OPT_STRICT,
    OPT_FORCE,
    OPT_JSON,
    OPT_RANKS_PER_HOST,
};

static const struct argp_option plan_options[] = {
    {"ranks", 'n', "RANKS", 0, "Ranks to plan for", 0},
    {"micro-batch", 'b', "B", 0,
     "Samples in one micro-batch (default: the planner's choice)", 0},
    {"batch", 0, NULL, OPTION_ALIAS, NULL, 0},
    {"samples", 's', "S", 0, "Samples in the whole job, for time and bubble",
     0},
    {"split", OPT_SPLIT, "SPLIT", 0,
     "Layers of each rank: a,b,.. (rank 0 holds the last), even, memory or "
     "balanced (default)",
     0},
    {"machine", OPT_MACHINE, "M.json", 0,
     "Figures of the machine (default: default figures)", 0},
    {"ranks-per-host", OPT_RANKS_PER_HOST, "K", 0,
     "Without --machine: ranks on one host (default: all)", 0},
    {"strict", OPT_STRICT, NULL, 0,
     "More ranks than layers is an error, not idle ranks", 0},
    {"output", 'o', "P.json", 0, "Write the plan, for isotome run --plan", 0},
    {"force", OPT_FORCE, NULL, 0, "Replace the plan file when it exists", 0},
    {"json", OPT_JSON, NULL, 0, "Print the plan as JSON", 0},
    {0},
};

typedef struct plan_arguments {
    iso_plan_options_t options;
    const char *model;
    const char *split_text;
    const char *machine_path;
    const char *output_path;
    int64_t ranks_per_host;
    bool force;
    bool json;
    iso_status_t status; /* of the first argument that is wrong */
} plan_arguments_t;

static iso_status_t set_ranks(plan_arguments_t *arguments, const char *text)
{
    int64_t ranks = 0;

    ISO_TRY(iso_text_parse_int(text, "--ranks", 1, ISO_MAX_WORLD, &ranks));
    arguments->options.world = (int)ranks;
    return ISO_OK;
}

static iso_status_t set_number(plan_arguments_t *arguments, int key,
                               const char *text)
{
    switch (key) {
    case 'n':
        return set_ranks(arguments, text);
    case 'b':
        return iso_text_parse_int(text, "--micro-batch", 1, INT32_MAX,
                                  &arguments->options.micro_batch);
    case 's':
        return iso_text_parse_int(text, "--samples", 1, INT64_MAX,
                                  &arguments->options.samples);
    default:
        return iso_text_parse_int(text, "--ranks-per-host", 1, ISO_MAX_WORLD,
                                  &arguments->ranks_per_host);
    }
}

static iso_status_t set_option(plan_arguments_t *arguments, int key, char *text)
{
    switch (key) {
    case OPT_SPLIT:
        arguments->split_text = text;
        return ISO_OK;
    case OPT_MACHINE:
        arguments->machine_path = text;
        return ISO_OK;
    case 'o':
        arguments->output_path = text;
        return ISO_OK;
    case OPT_STRICT:
        arguments->options.strict = true;
        return ISO_OK;
    case OPT_FORCE:
        arguments->force = true;
        return ISO_OK;
    case OPT_JSON:
        arguments->json = true;
        return ISO_OK;
    default:
        return set_number(arguments, key, text);
    }
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    plan_arguments_t *arguments = state->input;
    iso_status_t status = ISO_OK;

    switch (key) {
    case ARGP_KEY_ARG:
        if (arguments->model != NULL) {
            status = iso_fail(ISO_INVAL, "one model file, not also '%s'", text);
        } else {
            arguments->model = text;
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

static const struct argp plan_argp = {
    .options = plan_options,
    .parser = parse,
    .args_doc = "NET.h5 -n RANKS",
    .doc = "Decide which rank runs which layers, and say what that takes.\v"
           "No cluster is needed. The plan is a pure function of the model, "
           "the machine's figures and the options.",
};

static iso_status_t check(const plan_arguments_t *arguments)
{
    struct stat info;

    ISO_TRY(arguments->status);
    if (arguments->model == NULL) {
        return iso_fail(ISO_INVAL, "no model file; see isotome plan --help");
    }
    if (arguments->options.world == 0) {
        return iso_fail(ISO_INVAL, "no number of ranks; give -n RANKS");
    }
    if (arguments->machine_path != NULL && arguments->ranks_per_host != 0) {
        return iso_fail(ISO_INVAL, "--machine says where ranks are: leave "
                                   "--ranks-per-host away");
    }
    if (arguments->output_path != NULL && !arguments->force &&
        lstat(arguments->output_path, &info) == 0) {
        return iso_fail(ISO_IO, "'%s' exists; --force replaces it",
                        arguments->output_path);
    }
    return ISO_OK;
}

static iso_status_t make_plan(const plan_arguments_t *arguments,
                              const iso_graph_t *graph, iso_plan_t **plan_out)
{
    const iso_plan_options_t *options = &arguments->options;
    iso_machine_t *machine = NULL;
    iso_status_t status;

    if (arguments->machine_path != NULL) {
        status = iso_machine_read(arguments->machine_path, &machine);
    } else {
        status = iso_machine_default(
            options->world, (int)arguments->ranks_per_host, 0, &machine);
    }
    if (status == ISO_OK) {
        status = iso_plan_create(graph, machine, options, plan_out);
    }
    iso_machine_destroy(&machine);
    return status;
}

static iso_status_t print_json(const iso_plan_t *plan)
{
    json_t *json = NULL;
    char *text = NULL;

    ISO_TRY(iso_plan_to_json(plan, &json));
    iso_status_t status = iso_json_print(json, 2, &text);
    if (status == ISO_OK) {
        (void)puts(text);
    }
    free(text);
    json_decref(json);
    return status;
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

static iso_status_t plan_model(const plan_arguments_t *arguments)
{
    iso_model_t *model = NULL;
    iso_plan_t *plan = NULL;
    iso_status_t status = iso_model_open(arguments->model, &model);

    if (status == ISO_OK) {
        status = make_plan(arguments, iso_model_graph(model), &plan);
    }
    if (status == ISO_OK && arguments->output_path != NULL) {
        status = iso_plan_write(plan, arguments->output_path);
    }
    if (status == ISO_OK) {
        status = arguments->json ? print_json(plan) : print_text(plan);
    }
    iso_plan_destroy(&plan);
    iso_model_close(&model);
    return status;
}

int iso_cmd_plan(int argc, char **argv)
{
    plan_arguments_t arguments = {0};
    iso_layer_split_t split = {0};
    iso_status_t status;

    argp_err_exit_status = iso_status_exit_code(ISO_INVAL);
    (void)argp_parse(&plan_argp, argc, argv, 0, NULL, &arguments);
    status = check(&arguments);
    if (status == ISO_OK) {
        status =
            iso_split_option(arguments.split_text, &arguments.options, &split);
    }
    if (status == ISO_OK) {
        status = plan_model(&arguments);
    }
    iso_layer_split_free(&split);
    return status == ISO_OK ? 0 : iso_cmd_failed(status);
}
