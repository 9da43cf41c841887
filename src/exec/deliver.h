/*
 * Deliver: the model outputs, written by rank 0 as micro-batches come out,
 * and shown under their names only when the whole job is done. A ledger beside
 * the first one says which samples are finished, so that a later job can go on
 * where this one ended.
 */
#ifndef ISO_DELIVER_H
#define ISO_DELIVER_H

#include "isotome/graph.h"

#include "exec/batches.h"
#include "io/ledger.h"

typedef struct iso_deliver iso_deliver_t;

typedef struct iso_deliver_spec {
    const iso_graph_t *graph;  /* the model's, with free dims */
    const char *batch;         /* name of the free dim, or NULL */
    const char *const *places; /* "NAME=FILE" or, for one output, "FILE" */
    int n_places;
    bool force;
    bool resume;
    bool fleeting; /* nobody goes on with it: nothing is left but outputs */
    double sync_s; /* seconds from one flush to disk to the next */
    int64_t samples;
    const iso_ledger_trait_t *traits; /* (n_traits) the job's: what the bytes */
    int n_traits;                     /* depend on, but for the outputs */
} iso_deliver_spec_t;

/*
 * Check places against the model's outputs and create the files under
 * temporary names, or go on with those that are there: finished samples are
 * read again and compared with the ledger, and count up to the first
 * difference. Outputs that no place names are not written.
 *
 * Errors: ISO_INVAL for a name that is not an output or given twice, no
 * place, an output that does not follow the samples while there are several
 * micro-batches; ISO_IO (array_out.h), ISO_INPUT (ledger.h).
 */
iso_status_t iso_deliver_open(const iso_deliver_spec_t *spec,
                              iso_deliver_t **deliver_out);

/* Samples [0, this) are finished. */
int64_t iso_deliver_done(const iso_deliver_t *deliver);

/* An earlier job finished it all: the outputs have their names. */
bool iso_deliver_is_finished(const iso_deliver_t *deliver);

/* Is model output number output wanted? */
bool iso_deliver_wants(const iso_deliver_t *deliver, int output);

/* Write the rows of one micro-batch of a wanted output. */
iso_status_t iso_deliver_write(iso_deliver_t *deliver, int output,
                               const iso_batches_t *batches, int64_t index,
                               const void *rows);

/* All wanted outputs have the rows of a micro-batch, the one behind those
 * before it. Errors: ISO_IO. */
iso_status_t iso_deliver_end_batch(iso_deliver_t *deliver,
                                   const iso_batches_t *batches, int64_t index);

/* Rename the files to their names; closes. On a failure what was done is kept,
 * for another try. */
iso_status_t iso_deliver_commit(iso_deliver_t **deliver);

/* Say what is finished, for a later job, and close. kept_out [out] whether
 * there is anything to go on with; else the files are removed. Errors: ISO_IO;
 * what the ledger said before still holds then. */
iso_status_t iso_deliver_suspend(iso_deliver_t **deliver, bool *kept_out);

/* After a failure: as suspend when the job took long enough for the ledger to
 * say something (a second), else the files are removed. Returns whether there
 * is something to go on with. */
bool iso_deliver_abandon(iso_deliver_t **deliver);

#endif
