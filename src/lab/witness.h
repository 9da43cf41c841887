/*
 * Witness: remembers every value of a run on one rank, whole, and compares
 * what the ranks of another run compute of them, bit by bit.
 *
 *     iso_witness_create(&witness);
 *     iso_run_watched(whole, MPI_COMM_SELF, NULL, iso_witness_record(witness));
 *     iso_run_watched(cut, comm, NULL, iso_witness_compare(witness));
 *     if (iso_witness_difference(witness)->found) ...
 */
#ifndef ISO_WITNESS_H
#define ISO_WITNESS_H

#include "exec/watch.h"

enum { ISO_WITNESS_TEXT_BYTES = 512 };

/* Plain bytes, for MPI. */
typedef struct iso_difference {
    bool found;
    /* Where it is; values are made in this order. */
    int64_t first_sample;
    int stage;
    iso_node_id_t node;
    int exchange; /* number of the one that brought it; -1: made there */
    char
        text[ISO_WITNESS_TEXT_BYTES]; /* op, axis, piece, index, bits, reason */
} iso_difference_t;

typedef struct iso_witness iso_witness_t;

iso_status_t iso_witness_create(iso_witness_t **witness_out);
void iso_witness_destroy(iso_witness_t **witness);

/* Borrowed from the witness. A value is known by its node's name and the
 * samples it is of. */
const iso_watch_t *iso_witness_record(iso_witness_t *witness);
const iso_watch_t *iso_witness_compare(iso_witness_t *witness);

/* Are the values of this micro-batch remembered? */
bool iso_witness_knows(const iso_witness_t *witness, int64_t samples);
void iso_witness_learned(iso_witness_t *witness, int64_t samples);

/* Since the last iso_witness_forget: the first difference, and how many
 * pieces were equal. */
const iso_difference_t *iso_witness_difference(const iso_witness_t *witness);
int64_t iso_witness_compared(const iso_witness_t *witness);
void iso_witness_forget(iso_witness_t *witness);

/* Does a come before b in the order in which values are made? */
bool iso_difference_before(const iso_difference_t *a,
                           const iso_difference_t *b);

#endif
