/*
 * Job plan: model, machine and plan of a run, made by every rank for itself
 * and compared before anything is done with them.
 */
#ifndef ISO_JOB_PLAN_H
#define ISO_JOB_PLAN_H

#include "isotome/model_file.h"
#include "isotome/run.h"

typedef struct iso_job_plan {
    iso_model_t *model;
    iso_machine_t *machine;
    iso_plan_t *plan;
} iso_job_plan_t;

/*
 * Collective over comm. Errors: ISO_DISAGREE when ranks differ; those of
 * opening and planning. On failure job may be partly filled; free it.
 */
iso_status_t iso_job_plan_agree(const iso_run_options_t *options, MPI_Comm comm,
                                iso_job_plan_t *job);

void iso_job_plan_free(iso_job_plan_t *job);

#endif
