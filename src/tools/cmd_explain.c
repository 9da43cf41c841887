#include "isotome/error.h"

#include "base/mem.h"
#include "plan/plan_explain.h"
#include "tools/arguments.h"
#include "tools/commands.h"
#include "tools/plan_arguments.h"

#include <stdio.h>

enum { OPT_NODE = ISO_OPT_OWN };

static const struct argp_option explain_options[] = {
    ISO_PLAN_OPTIONS,
    {"node", OPT_NODE, "NAME", 0, "Only the op of this name", 0},
    {"all", 'a', NULL, 0,
     "Every number of pieces, not only the best of each axis", 0},
    {0},
};

typedef struct own_arguments {
    iso_plan_arguments_t plan;
    iso_explain_options_t explain;
} own_arguments_t;

static iso_status_t set_option(void *input, int key, const char *value)
{
    own_arguments_t *arguments = input;

    switch (key) {
    case OPT_NODE:
        arguments->explain.node = value;
        return ISO_OK;
    case 'a':
        arguments->explain.all = true;
        return ISO_OK;
    default:
        return iso_plan_arguments_set(&arguments->plan, key, value);
    }
}

static const iso_syntax_t explain_syntax = {
    .usage = "NET.h5 -n RANKS",
    .operand = "model file",
    .options = explain_options,
    .set = set_option,
    .doc = "Say of each op how a plan cuts it, what that is predicted to take, "
           "and why every other way lost.\v"
           "The options are those of isotome plan, and so is the plan.",
};

static iso_status_t print(const iso_plan_t *plan, const iso_machine_t *machine,
                          const iso_explain_options_t *options)
{
    char *text = NULL;

    ISO_TRY(iso_plan_explain(plan, machine, options, &text));
    if (text != NULL) {
        (void)fputs(text, stdout);
    }
    iso_free(text);
    return ISO_OK;
}

static iso_status_t explain_model(const own_arguments_t *arguments)
{
    iso_model_t *model = NULL;
    iso_machine_t *machine = NULL;
    iso_plan_t *plan = NULL;
    iso_status_t status = iso_model_open(arguments->plan.model, &model);

    if (status == ISO_OK) {
        status = iso_plan_arguments_plan(
            &arguments->plan, iso_model_graph(model), &machine, &plan);
    }
    if (status == ISO_OK) {
        status = iso_plan_arguments_print_segments(&arguments->plan, plan,
                                                   machine, true);
    }
    if (status == ISO_OK) {
        status = print(plan, machine, &arguments->explain);
    }
    iso_plan_destroy(&plan);
    iso_machine_destroy(&machine);
    iso_model_close(&model);
    return status;
}

int iso_cmd_explain(int argc, char **argv)
{
    own_arguments_t arguments = {0};
    iso_status_t status = iso_arguments_parse(
        &explain_syntax, argc, argv, &arguments, &arguments.plan.model);

    if (status == ISO_OK) {
        status = iso_plan_arguments_end(&arguments.plan);
    }
    if (status == ISO_OK) {
        status = explain_model(&arguments);
    }
    iso_plan_arguments_free(&arguments.plan);
    return iso_cmd_end(status);
}
