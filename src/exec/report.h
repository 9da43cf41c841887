/*
 * Report: where the time went, rank by rank, and what was planned against
 * what was measured.
 */
#ifndef ISO_REPORT_H
#define ISO_REPORT_H

#include "isotome/plan.h"

#include "exec/times.h"
#include "io/draft.h"
#include "par/affinity.h"

#include <mpi.h>

#include <stdio.h>

enum { ISO_REPORT_TEXT_BYTES = 64 };

/* One rank's figures; plain bytes, gathered to rank 0. */
typedef struct iso_report_rank {
    char host[ISO_REPORT_TEXT_BYTES];
    char device[ISO_REPORT_TEXT_BYTES];
    int stage; /* -1: idle */
    int worker;
    iso_affinity_t binding;
    iso_times_t times;
    double planned_compute_s; /* in the whole job */
    double slow_times;        /* of a slow rank (slow.h); found at rank 0 */
    double sent_bytes;        /* in messages, whole job */
    double direct_bytes;      /* in messages, from and to a device's memory */
    double exchanged_bytes;   /* sent to workers of the stage, whole job */
    double read_bytes;        /* of weights, from the model */
    double packed_bytes;      /* of weights that came packed */
    double planned_read_bytes;
    double peak_bytes; /* resident */
    double planned_peak_bytes;
} iso_report_rank_t;

/* What the workers of a stage sent each other in one exchange, in all full
 * micro-batches. */
typedef struct iso_report_exchange {
    int stage;
    const char *value; /* borrowed from the plan */
    const char *kind;
    double bytes;
    double planned_bytes;
} iso_report_exchange_t;

typedef struct iso_report {
    int size;                 /* ranks */
    iso_report_rank_t *ranks; /* (size), at rank 0; else NULL */
    int n_exchanges;
    iso_report_exchange_t *exchanges; /* (n_exchanges), as the plan's */
    int64_t samples;
    int64_t micro_batch;
    double planned_s; /* predicted for the job */
} iso_report_t;

/* Collective over comm: gather to rank 0. Errors: ISO_NOMEM. */
iso_status_t iso_report_gather(const iso_report_rank_t *mine, MPI_Comm comm,
                               iso_report_t *report);

/*
 * Collective over comm: sum up what was exchanged, to rank 0.
 *
 * bytes         [in]  (exchanges of the plan) sent by this rank in all full
 *                     micro-batches; overwritten
 * full_batches  [in]  how many of these there were, of the plan's size
 * Errors: ISO_NOMEM.
 */
iso_status_t iso_report_sum_exchanges(const iso_plan_t *plan, double *bytes,
                                      int64_t full_batches, MPI_Comm comm,
                                      iso_report_t *report);
void iso_report_free(iso_report_t *report);

/*
 * At rank 0. The table for people, and the JSON file of --report, written
 * and flushed but not published.
 * Errors: ISO_NOMEM; ISO_IO for the file.
 */
iso_status_t iso_report_print(const iso_report_t *report, FILE *file);
iso_status_t iso_report_write(const iso_report_t *report, iso_draft_t *draft);

#endif
