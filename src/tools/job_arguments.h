/*
 * What isotome run, bench and verify have in common: the options that say by
 * which plan, on which device and with how many threads a job runs.
 *
 *     static const struct argp_option run_options[] = {
 *         ISO_JOB_OPTIONS("Run", ISO_JOB_MACHINE, ISO_JOB_THREADS),
 *         ISO_STRICT_OPTION, ... {0}};
 *
 *     ISO_TRY(iso_arguments_parse(...)); its set ends in ..._arguments_set
 *     ISO_TRY(iso_job_arguments_check(&job, NULL));
 *     ISO_TRY(iso_job_arguments_end(&job));
 *     ... iso_run(&job.run, ...) ...
 *     iso_job_arguments_free(&job); in any case
 */
#ifndef ISO_JOB_ARGUMENTS_H
#define ISO_JOB_ARGUMENTS_H

#include "isotome/run.h"

#include "tools/grid_option.h"
#include "tools/split_option.h"

enum {
    ISO_JOB_OPT_PLAN = 256,
    ISO_JOB_OPT_MACHINE,
    ISO_JOB_OPT_DEVICE,
    ISO_JOB_OPT_THREADS,
    ISO_JOB_OPT_OWN, /* first of a command's own options */
};

/*
 * For a table of options, with the texts that differ between commands; beside
 * it stand --micro-batch, as 'b', and ISO_STRICT_OPTION if the command has it.
 */
#define ISO_JOB_MACHINE "this job's hosts and memory"
#define ISO_JOB_THREADS "default 1"
/* clang-format off */
#define ISO_JOB_OPTIONS(does, machine, threads) \
    ISO_SPLIT_OPTION, \
    ISO_GRID_OPTIONS, \
    {"plan", ISO_JOB_OPT_PLAN, "P.json", 0, \
     does " this plan (from isotome plan -o)", 0}, \
    {"machine", ISO_JOB_OPT_MACHINE, "M.json", 0, \
     "Figures of the machine (default: " machine ")", 0}, \
    {"device", ISO_JOB_OPT_DEVICE, "RULE", 0, \
     "cpu (default), or what computes what: isotome-devices(7)", 0}, \
    {"place", 0, NULL, OPTION_ALIAS, NULL, 0}, \
    {"threads", ISO_JOB_OPT_THREADS, "N", 0, \
     "Threads of each rank (" threads ")", 0}
/* clang-format on */

/* All zero before the first option, but for what the command sets. Texts are
 * borrowed. */
typedef struct iso_job_arguments {
    iso_run_options_t run; /* plan, plan_path, machine_path, device and threads
                            * are set here; threads is 0 until the end when
                            * nothing is said */
    bool has_size;         /* --micro-batch was given */
    bool takes_strict;     /* the command has --strict */
    const char *split_text;
    iso_grid_option_t grid;
    iso_layer_split_t split;
} iso_job_arguments_t;

/* Take one of the options above, --micro-batch as one size. Errors: ISO_INVAL
 * for what is no number. */
iso_status_t iso_job_arguments_set(iso_job_arguments_t *arguments, int key,
                                   const char *value);

/*
 * ISO_INVAL when options shape the plan beside one that decides it.
 *
 * decider  [in]  such an option of the command that was given, beside --plan;
 *                NULL: none
 */
iso_status_t iso_job_arguments_check(const iso_job_arguments_t *arguments,
                                     const char *decider);

/* After the last one: fill in defaults, grid and split, which run.plan borrows
 * from arguments. Errors: ISO_INVAL for a grid or split that is none. */
iso_status_t iso_job_arguments_end(iso_job_arguments_t *arguments);
void iso_job_arguments_free(iso_job_arguments_t *arguments);

#endif
