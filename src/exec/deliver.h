/*
 * Deliver: the model outputs, written by rank 0 as micro-batches come out,
 * and shown under their names only when the whole job is done.
 */
#ifndef ISO_DELIVER_H
#define ISO_DELIVER_H

#include "isotome/graph.h"

#include "exec/batches.h"

typedef struct iso_deliver iso_deliver_t;

typedef struct iso_deliver_spec {
    const iso_graph_t *graph;  /* the model's, with free dims */
    const char *batch;         /* name of the free dim, or NULL */
    const char *const *places; /* "NAME=FILE" or, for one output, "FILE" */
    int n_places;
    bool force;
    int64_t samples;
} iso_deliver_spec_t;

/*
 * Check places against the model's outputs and create the files under
 * temporary names. Outputs that no place names are not written.
 *
 * Errors: ISO_INVAL for a name that is not an output or given twice, no
 * place, an output that does not follow the samples while there are several
 * micro-batches; ISO_IO (array_out.h).
 */
iso_status_t iso_deliver_open(const iso_deliver_spec_t *spec,
                              iso_deliver_t **deliver_out);

/* Is model output number output wanted? */
bool iso_deliver_wants(const iso_deliver_t *deliver, int output);

/* Write the rows of one micro-batch of a wanted output. */
iso_status_t iso_deliver_write(iso_deliver_t *deliver, int output,
                               const iso_batches_t *batches, int64_t index,
                               const void *rows);

/* Rename the files to their names, or remove them; both close. */
iso_status_t iso_deliver_commit(iso_deliver_t **deliver);
void iso_deliver_abandon(iso_deliver_t **deliver);

#endif
