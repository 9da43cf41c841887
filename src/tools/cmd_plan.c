#include "isotome/error.h"
#include "isotome/model_file.h"
#include "isotome/plan.h"

#include "base/mem.h"
#include "base/text.h"
#include "plan/plan_json.h"
#include "tools/arguments.h"
#include "tools/commands.h"
#include "tools/print_json.h"
#include "tools/split_option.h"

#include <stdio.h>

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
    {"samples", 's', "S", 0,
     "Samples in the whole job; gives the predicted time of the job", 0},
    {"split", OPT_SPLIT, "SPLIT", 0,
     "Layers of each rank: a,b,.. (rank 0 holds the last), even, memory or "
     "balanced (default)",
     0},
    {"machine", OPT_MACHINE, "M.json", 0,
     "Figures of the machine (default: those of isotome-machine(5))", 0},
    {"ranks-per-host", OPT_RANKS_PER_HOST, "K", 0,
     "Without --machine: ranks on one host (default: all)", 0},
    {"strict", OPT_STRICT, NULL, 0,
     "Refuse more ranks than layers instead of leaving some idle", 0},
    {"output", 'o', "P.json", 0, "Write the plan, for isotome run --plan", 0},
    {"force", OPT_FORCE, NULL, 0, "Replace P.json if it exists", 0},
    {"json", OPT_JSON, NULL, 0, "Print the plan as JSON instead of the table",
     0},
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
} plan_arguments_t;

static iso_status_t set_ranks(plan_arguments_t *arguments, const char *text)
{
    int64_t ranks = 0;

    ISO_TRY(iso_text_parse_int(text, "--ranks", 1, ISO_MAX_WORLD, &ranks));
    arguments->options.world = (int)ranks;
    return ISO_OK;
}

static iso_status_t set_number(plan_arguments_t *arguments, int key,
                               const char *value)
{
    switch (key) {
    case 'n':
        return set_ranks(arguments, value);
    case 'b':
        return iso_text_parse_int(value, "--micro-batch", 1, INT32_MAX,
                                  &arguments->options.micro_batch);
    case 's':
        return iso_text_parse_int(value, "--samples", 1, INT64_MAX,
                                  &arguments->options.samples);
    default:
        return iso_text_parse_int(value, "--ranks-per-host", 1, ISO_MAX_WORLD,
                                  &arguments->ranks_per_host);
    }
}

static iso_status_t set_option(void *input, int key, const char *value)
{
    plan_arguments_t *arguments = input;

    switch (key) {
    case OPT_SPLIT:
        arguments->split_text = value;
        return ISO_OK;
    case OPT_MACHINE:
        arguments->machine_path = value;
        return ISO_OK;
    case 'o':
        arguments->output_path = value;
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
        return set_number(arguments, key, value);
    }
}

static const iso_syntax_t plan_syntax = {
    .usage = "NET.h5 -n RANKS",
    .operand = "model file",
    .options = plan_options,
    .set = set_option,
    .doc = "Decide which rank runs which layers, and say what that takes.\v"
           "No cluster is needed. The plan is a pure function of the model, "
           "the machine's figures and the options.",
};

/* split  [out]  iso_layer_split_free() it in any case */
static iso_status_t read_arguments(int argc, char **argv,
                                   plan_arguments_t *arguments,
                                   iso_layer_split_t *split)
{
    ISO_TRY(iso_arguments_parse(&plan_syntax, argc, argv, arguments,
                                &arguments->model));
    if (arguments->options.world == 0) {
        return iso_fail(ISO_INVAL, "no number of ranks; give -n RANKS");
    }
    if (arguments->machine_path != NULL && arguments->ranks_per_host != 0) {
        return iso_fail(ISO_INVAL, "--machine says where ranks are: leave out "
                                   "--ranks-per-host");
    }
    if (arguments->output_path != NULL) {
        ISO_TRY(iso_arguments_check_output(arguments->output_path,
                                           arguments->force));
    }
    return iso_split_option(arguments->split_text, &arguments->options, split);
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
    iso_status_t status = read_arguments(argc, argv, &arguments, &split);

    if (status == ISO_OK) {
        status = plan_model(&arguments);
    }
    iso_layer_split_free(&split);
    return iso_cmd_end(status);
}
