/*
 * Adopt: temporary files of rank 0, which all ranks remove when they are told
 * to end. A launcher that ends a job may kill the last ranks as soon as the
 * first is gone: rank 0 may have had no time to do it.
 *
 *     iso_adopted_t adopted = {0};
 *     ISO_TRY(iso_adopt(comm, &adopted));    rank 0 has created its files
 *     ...
 *     iso_adopt_end(&adopted);               in any case
 */
#ifndef ISO_ADOPT_H
#define ISO_ADOPT_H

#include "isotome/status.h"

#include <mpi.h>

#include <stddef.h>

typedef struct iso_adopted {
    char *names; /* (bytes) absolute paths, each ends with a zero */
    size_t bytes;
} iso_adopted_t;

/* All drafts (io/draft.h) that rank 0 has now. Collective over comm. Errors,
 * the same on every rank: ISO_NOMEM. */
iso_status_t iso_adopt(MPI_Comm comm, iso_adopted_t *adopted);

/* Not collective. */
void iso_adopt_end(iso_adopted_t *adopted);

#endif
