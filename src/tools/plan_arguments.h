/*
 * What isotome plan and isotome explain have in common: the options that say
 * what to plan, and the plan that they ask for.
 */
#ifndef ISO_PLAN_ARGUMENTS_H
#define ISO_PLAN_ARGUMENTS_H

#include "isotome/model_file.h"
#include "isotome/plan.h"

#include "tools/grid_option.h"
#include "tools/split_option.h"

enum {
    ISO_OPT_MACHINE = 256,
    ISO_OPT_RANKS_PER_HOST,
    ISO_OPT_DEVICE,
    ISO_OPT_OWN, /* first of a command's own options */
};

/* For a table of options. */
/* clang-format off */
#define ISO_PLAN_OPTIONS \
    {"ranks", 'n', "RANKS", 0, "Ranks to plan for", 0}, \
    {"micro-batch", 'b', "B", 0, \
     "Samples in one micro-batch (default: the planner's choice)", 0}, \
    {"batch", 0, NULL, OPTION_ALIAS, NULL, 0}, \
    {"samples", 's', "S", 0, \
     "Samples in the whole job; gives the predicted time of the job", 0}, \
    ISO_SPLIT_OPTION, \
    ISO_GRID_OPTIONS, \
    {"machine", ISO_OPT_MACHINE, "M.json", 0, \
     "Figures of the machine (default: those of isotome-machine(5))", 0}, \
    {"ranks-per-host", ISO_OPT_RANKS_PER_HOST, "K", 0, \
     "Without --machine: ranks on one host (default: all)", 0}, \
    ISO_STRICT_OPTION, \
    {"device", ISO_OPT_DEVICE, "RULE", 0, \
     "Show what this rule places where, isotome-devices(7)", 0}, \
    {"place", 0, NULL, OPTION_ALIAS, NULL, 0}
/* clang-format on */

typedef struct iso_plan_arguments {
    iso_plan_options_t options;
    const char *model;
    const char *split_text;
    iso_grid_option_t grid;
    iso_layer_split_t split;
    const char *machine_path;
    int64_t ranks_per_host;
    const char *rule; /* of devices; NULL: none was given */
    bool seated; /* ranks take places of the machine file by plan/seating.h */
} iso_plan_arguments_t;

/* Take one of the options above. */
iso_status_t iso_plan_arguments_set(iso_plan_arguments_t *arguments, int key,
                                    const char *value);

/* After the last one. Errors: ISO_INVAL for options that do not go together,
 * no number of ranks. */
iso_status_t iso_plan_arguments_end(iso_plan_arguments_t *arguments);
void iso_plan_arguments_free(iso_plan_arguments_t *arguments);

/*
 * The machine and the plan that were asked for; both are owned by the caller.
 * machine_out [out] may be NULL; with its ranks in the order of the plan's
 */
iso_status_t iso_plan_arguments_plan(const iso_plan_arguments_t *arguments,
                                     const iso_graph_t *graph,
                                     iso_machine_t **machine_out,
                                     iso_plan_t **plan_out);

/*
 * When nothing was said of grid and split, and there are at most
 * ISO_PROPOSE_MOST ranks: the plan of the grid that the planner would take, if
 * it is predicted to be faster than plan by a tenth; else *proposal_out is
 * NULL. Owned by the caller.
 */
enum { ISO_PROPOSE_MOST = 64 };
iso_status_t iso_plan_arguments_propose(const iso_plan_arguments_t *arguments,
                                        const iso_graph_t *graph,
                                        const iso_plan_t *plan,
                                        iso_plan_t **proposal_out);

/* Print the segments of a plan, when a rule of devices was given.
 * names  [in]  also what crosses between them */
iso_status_t
iso_plan_arguments_print_segments(const iso_plan_arguments_t *arguments,
                                  const iso_plan_t *plan,
                                  const iso_machine_t *machine, bool names);

/* Samples of the job, or those taken for one that is not known. */
int64_t iso_plan_arguments_samples(const iso_plan_arguments_t *arguments);

#endif
