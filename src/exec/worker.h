/*
 * Worker: one rank's part of a pipeline, from its messages and rows in to
 * its messages and rows out, for every micro-batch of a job. Of a stage with
 * several workers only worker 0 has rows, and the messages of values that do
 * not pass between stages in pieces; what the others compute with comes by
 * exchanges (team.h).
 *
 * Everything is reserved when a worker is made, but for the weights, which are
 * loaded into its programs; the loop allocates nothing.
 */
#ifndef ISO_WORKER_H
#define ISO_WORKER_H

#include "exec/deliver.h"
#include "exec/direct.h"
#include "exec/feed.h"
#include "exec/progress.h"
#include "exec/pulse.h"
#include "exec/route.h"
#include "exec/team.h"
#include "exec/times.h"
#include "exec/watch.h"

typedef struct iso_worker_spec {
    const iso_plan_t *plan;
    const iso_forms_t *forms;
    const iso_local_t *local[ISO_FORM_COUNT]; /* of this rank, NULL as forms */
    int stage;
    MPI_Comm team; /* the stage's workers */
    iso_batches_t batches;
    iso_device_t *device;
    const bool *is_direct;    /* (ranks of comm), of iso_direct_agree */
    iso_feed_t *feed;         /* reserved by the worker */
    iso_deliver_t *deliver;   /* of the last stage; else NULL */
    iso_progress_t *progress; /* NULL: silent */
    iso_pulse_t *pulse;       /* NULL: none */
    const iso_watch_t *watch; /* NULL: nobody watches */
    bool verifies;            /* what it receives, by digests */
} iso_worker_spec_t;

typedef struct iso_worker iso_worker_t;

/*
 * Not collective. All of spec is borrowed and outlives the worker; comm is
 * the communicator that the plan's ranks are of.
 */
iso_status_t iso_worker_create(const iso_worker_spec_t *spec, MPI_Comm comm,
                               iso_worker_t **worker_out);

/* Its program of a form, for the weights to be bound to before it runs; NULL
 * when there is no such form. */
iso_program_t *iso_worker_program(const iso_worker_t *worker, iso_form_t form);

/*
 * Run micro-batches [first, end) of the job, which every worker runs before
 * it runs later ones. Not collective by itself: it talks to the neighbours. On
 * a failure the other ranks are told (stop) and the status is this rank's own;
 * a rank that was told returns ISO_OK early.
 *
 * times  [in, out]  what was spent is added; total_s is set
 */
iso_status_t iso_worker_run(iso_worker_t *worker, int64_t first, int64_t end,
                            iso_stop_t *stop, iso_times_t *times);

/* Bring all messages to an end; every worker does this, after agreeing. */
void iso_worker_finish(iso_worker_t *worker);
void iso_worker_destroy(iso_worker_t **worker);

/* Bytes so far: sent in messages; of these and of those received, from and to
 * the memory of a device; sent in all exchanges, and in exchange number of full
 * micro-batches. */
double iso_worker_sent_bytes(const iso_worker_t *worker);
double iso_worker_direct_bytes(const iso_worker_t *worker); /* also received */
double iso_worker_exchanged_bytes(const iso_worker_t *worker);
double iso_worker_exchange_bytes(const iso_worker_t *worker, int number);

#endif
