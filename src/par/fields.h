/*
 * Agreement: everything that could differ between ranks is hashed, compared
 * and, if it differs, shown.
 *
 * One MPI_Allreduce of (digest, ~digest) pairs under MPI_MIN compares all
 * fields at once: the least digest and the complement of the least
 * complement are the smallest and largest value, equal when all are.
 */
#ifndef ISO_FIELDS_H
#define ISO_FIELDS_H

#include "isotome/status.h"

#include <mpi.h>

#include <stdint.h>

/* One thing that all ranks must hold equally. */
typedef struct iso_field {
    const char *name; /* "layer split" */
    uint64_t digest;
    const char *text; /* what to show; at most ISO_FIELD_TEXT_BYTES - 1 */
} iso_field_t;

enum { ISO_FIELD_TEXT_BYTES = 256, ISO_MAX_FIELDS = 32 };

/*
 * Compare fields between ranks.
 *
 * Collective over comm; every rank gives the same n and names.
 * Errors: ISO_DISAGREE on every rank when a field differs; the text names
 * the first such field (and counts the others), each value, and the ranks
 * and hosts that hold it.
 */
iso_status_t iso_fields_agree(const iso_field_t *fields, int n, MPI_Comm comm);

#endif
