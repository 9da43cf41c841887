/*
 * Rehearsal: a run over made-up inputs whose outputs go nowhere, to measure
 * it. Its micro-batches come in parts; before each part all ranks wait for one
 * another, and it is timed by itself.
 *
 *     iso_rehearsal_t rehearsal = {.seed = 1, .n_parts = 2,
 *                                  .parts = (const int64_t[]){1, 100},
 *                                  .times = times, .planned_s = planned_s};
 *     ISO_TRY(iso_rehearse(&options, comm, &rehearsal));
 *     ... rehearsal.times[1].total_s for 100 micro-batches ...
 *     iso_report_free(&rehearsal.report);
 */
#ifndef ISO_REHEARSAL_H
#define ISO_REHEARSAL_H

#include "isotome/run.h"

#include "exec/report.h"
#include "exec/times.h"

typedef struct iso_rehearsal {
    uint64_t seed;        /* of the inputs */
    int n_parts;          /* >= 1 */
    const int64_t *parts; /* (n_parts) micro-batches of each, >= 1 */
    /* Results. */
    iso_times_t
        *times;        /* (n_parts) this rank's, without load_s; the caller's */
    double *planned_s; /* (n_parts) predicted; the caller's */
    double flops;      /* of a micro-batch; at ranks with a stage */
    iso_report_t report; /* of the job; iso_report_free() it */
} iso_rehearsal_t;

/*
 * Collective over comm, as iso_run(): options but for inputs, outputs, report
 * and progress, which there are none of. The rehearsal is the same on every
 * rank.
 *
 * Errors: those of iso_run; ISO_DISAGREE also for ranks whose parts or seeds
 * differ.
 */
iso_status_t iso_rehearse(const iso_run_options_t *options, MPI_Comm comm,
                          iso_rehearsal_t *rehearsal);

#endif
