/*
 * Watch: to see every value that a rank reads, computes or receives in a run,
 * piece by piece, before it is computed with.
 */
#ifndef ISO_WATCH_H
#define ISO_WATCH_H

#include "isotome/run.h"

#include "plan/shard/local.h"

/* Borrowed for the call. */
typedef struct iso_seen {
    int64_t first_sample; /* of the micro-batch */
    int64_t samples;      /* in it */
    int stage;
    const iso_graph_t *whole; /* the stage's graph, which local is a part of */
    const iso_local_t *local; /* this worker's */
    iso_node_id_t node;       /* of local->graph */
    const iso_tensor_t *value;
} iso_seen_t;

typedef struct iso_watch {
    iso_status_t (*see)(void *arg, const iso_seen_t *seen);
    void *arg;
} iso_watch_t;

/* iso_run() with a watch, which may differ from rank to rank. A failure of
 * see fails the run. */
iso_status_t iso_run_watched(const iso_run_options_t *options, MPI_Comm comm,
                             FILE *table, const iso_watch_t *watch);

#endif
