/*
 * Stop: how ranks in the middle of a pipeline come out of it together before
 * its end.
 *
 * A rank that fails ends the others, who are waiting for messages that will
 * not come. A rank that is told to end by a signal (interrupt.h) asks the
 * *source*, the rank that reads the first rows; that one chooses the first
 * micro-batch which nobody begins, and tells all: those before it are
 * finished.
 *
 * Every rank keeps one receive posted for a word of another one, and waits for
 * it together with whatever else it waits for. After the loop, failed or not,
 * all ranks meet in iso_par_agree() and then in iso_stop_destroy().
 */
#ifndef ISO_STOP_H
#define ISO_STOP_H

#include "isotome/status.h"

#include <mpi.h>

#include <stdbool.h>
#include <stdint.h>

typedef struct iso_stop iso_stop_t;

/* Collective over comm (it is duplicated). source [in] the same on all. */
iso_status_t iso_stop_create(MPI_Comm comm, int source, iso_stop_t **stop_out);

/* This rank has failed: tell all other ranks, once. Not collective. */
void iso_stop_raise(iso_stop_t *stop);

/* Before each micro-batch: whether this rank is to begin it. Looks for an
 * interrupt. Not collective. */
bool iso_stop_begins(iso_stop_t *stop, int64_t index);

/*
 * Wait until request is done (true), or a rank has failed, or micro-batch
 * index is not to be finished (false; the request is then still active). A
 * request that is done wins. Not collective.
 */
bool iso_stop_wait(iso_stop_t *stop, int64_t index, MPI_Request *request);

/* Collective: receives every word that is still under way. */
void iso_stop_destroy(iso_stop_t **stop);

#endif
