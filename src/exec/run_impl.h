/* A job as prepared by run_prepare.c, run by run.c and reported by
 * run_report.c. */
#ifndef ISO_RUN_IMPL_H
#define ISO_RUN_IMPL_H

#include "isotome/run.h"

#include "exec/adopt.h"
#include "exec/job_plan.h"
#include "exec/load.h"
#include "exec/rehearsal.h"
#include "exec/watch.h"
#include "exec/worker.h"
#include "par/affinity.h"
#include "plan/plan_local.h"

/* What one rank holds of a job, in the order it is made. */
typedef struct iso__job {
    const iso_run_options_t *options;
    const iso_watch_t *watch;   /* NULL: nobody watches */
    iso_rehearsal_t *rehearsal; /* NULL: this is no rehearsal */
    MPI_Comm comm;
    int rank;
    iso_affinity_t binding;
    iso_job_plan_t plan;
    iso_feed_t *feed;
    uint64_t inputs; /* digest */
    iso_batches_t batches;
    bool finished;          /* by an earlier job */
    iso_deliver_t *deliver; /* at rank 0, as is the report */
    iso_draft_t *report;    /* NULL: none is wanted */
    iso_adopted_t adopted;
    iso_partition_t *partitions[ISO_FORM_COUNT];
    iso_plan_local_t locals[ISO_FORM_COUNT];
    iso_forms_t forms;
    MPI_Comm team;         /* the workers of this rank's stage */
    iso_device_map_t *map; /* NULL when the caller has one */
    iso_device_t *device;
    bool *is_direct; /* (ranks) */
    iso_worker_t *worker;
    iso_packed_t *packed; /* NULL: none */
    iso_load_t *load;
    iso_progress_t progress;
    iso_pulse_t *pulse; /* NULL: none is wanted */
    iso_times_t times;
} iso__job_t;

static inline bool iso__job_is_idle(const iso__job_t *job)
{
    return job->rank >= iso_plan_used(job->plan.plan);
}

static inline int iso__job_stage(const iso__job_t *job)
{
    return iso__job_is_idle(job)
               ? -1
               : iso_plan_part(job->plan.plan, job->rank)->stage;
}

/* A run with outputs, which a later one can go on with. */
static inline bool iso__job_is_interruptible(const iso__job_t *job)
{
    return job->watch == NULL && job->rehearsal == NULL;
}

static inline bool iso__job_shows_progress(const iso__job_t *job)
{
    return job->rank == 0 && job->options->progress;
}

/* Open and compare the inputs, then tell every rank, also an idle one, how
 * many samples there are. Collective. */
iso_status_t iso__job_count_samples(iso__job_t *job);

/* Outputs, device, programs, channels and weights; or job->finished. Outputs
 * first: a name that is taken should not cost a load. Collective. */
iso_status_t iso__job_prepare(iso__job_t *job);

/* Write the report and give the outputs their names. Collective.
 * table  [in]  NULL: no table is printed */
iso_status_t iso__job_finish(iso__job_t *job, FILE *table);

#endif
