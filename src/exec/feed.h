/*
 * Feed: the model inputs that a rank reads, row by row from files, as
 * micro-batches; or inputs that are made up.
 *
 *     open (all places are checked) -> samples are agreed on -> reserve ->
 *     read and bind, once for each micro-batch
 *     make -> reserve -> read and bind
 */
#ifndef ISO_FEED_H
#define ISO_FEED_H

#include "isotome/graph.h"

#include "device/device.h"
#include "exec/batches.h"

typedef struct iso_feed iso_feed_t;

/*
 * Open the files of places ("NAME=FILE" or, for a model with one input,
 * "FILE") and compare dtype and shape with what the model declares.
 *
 * batch  [in]  name of the free dim, or NULL
 * Errors: ISO_INVAL for a name that the model does not have, given twice or
 * missing; ISO_INPUT for files; ISO_SHAPE for a wrong dtype or shape (both
 * shown).
 */
iso_status_t iso_feed_open(const iso_graph_t *graph, const char *batch,
                           const char *const *places, int n_places,
                           iso_feed_t **feed_out);

/*
 * Inputs that no file holds: random values (tensor/fill.h), made when they are
 * reserved, the same for every micro-batch. Samples and digest are not asked
 * for.
 *
 * Errors: ISO_UNSUPPORTED for an input that does not follow the samples row by
 * row, ISO_NOMEM.
 */
iso_status_t iso_feed_make(const iso_graph_t *graph, const char *batch,
                           uint64_t seed, iso_feed_t **feed_out);
void iso_feed_close(iso_feed_t **feed);

/*
 * Samples in the files; 1 when nothing follows the batch.
 * Errors: ISO_SHAPE when two inputs have different numbers, naming both.
 */
iso_status_t iso_feed_samples(iso_feed_t *feed, int64_t *samples_out);

/*
 * Digest of what the inputs are: dtype, shape, first and last sample of each.
 * Ranks that were given different files are found by it, for the price of
 * two samples. Errors: ISO_INPUT, ISO_NOMEM.
 */
iso_status_t iso_feed_digest(const iso_feed_t *feed, uint64_t *digest_out);

/* Reserve a micro-batch of rows for each input that stage_graph has. */
iso_status_t iso_feed_reserve(iso_feed_t *feed, const iso_graph_t *stage_graph,
                              const iso_batches_t *batches);

/* Read the rows of micro-batch index. Errors: ISO_INPUT. */
iso_status_t iso_feed_read(iso_feed_t *feed, const iso_batches_t *batches,
                           int64_t index);

/* Bind the reserved inputs to a program. */
iso_status_t iso_feed_bind(const iso_feed_t *feed, iso_program_t *program);

#endif
