/*
 * Stop: how a rank that fails in the middle of a pipeline ends the others,
 * who are waiting for messages that will not come.
 *
 * Every rank keeps one receive posted for the word "stop" and waits for it
 * together with whatever else it waits for. After the loop, failed or not,
 * all ranks meet in iso_par_agree() and then in iso_stop_destroy().
 */
#ifndef ISO_STOP_H
#define ISO_STOP_H

#include "isotome/status.h"

#include <mpi.h>

#include <stdbool.h>

typedef struct iso_stop iso_stop_t;

/* Collective over comm (it is duplicated). */
iso_status_t iso_stop_create(MPI_Comm comm, iso_stop_t **stop_out);

/* Tell all other ranks, once. Not collective. */
void iso_stop_raise(iso_stop_t *stop);

/*
 * Wait until request is done (true) or another rank has stopped (false; the
 * request is then still active). A request that is done wins. Not
 * collective.
 */
bool iso_stop_wait(iso_stop_t *stop, MPI_Request *request);

/* Collective: receives every word that is still under way. */
void iso_stop_destroy(iso_stop_t **stop);

#endif
