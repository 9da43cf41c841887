/*
 * Counts of MPI calls, which are ints: what does not fit goes in pieces.
 *
 *     for (size_t i = 0; i < iso_piece_count(bytes, most); i++) {
 *         MPI_Send(data + i * (size_t)most, iso_piece_bytes(bytes, most, i),
 *                  MPI_BYTE, ...);
 *     }
 */
#ifndef ISO_COUNTS_H
#define ISO_COUNTS_H

#include <stdbool.h>
#include <stddef.h>

/* Can one call count so many? most [in] >= 1, INT_MAX but in tests. */
static inline bool iso_count_fits(size_t bytes, int most)
{
    return bytes <= (size_t)most;
}

/* Pieces of most bytes each, the last one of what is left; 0 of nothing. */
static inline size_t iso_piece_count(size_t bytes, int most)
{
    return bytes / (size_t)most + (bytes % (size_t)most != 0 ? 1 : 0);
}

/* piece [in] < iso_piece_count */
static inline int iso_piece_bytes(size_t bytes, int most, size_t piece)
{
    const size_t left = bytes - piece * (size_t)most;

    return left < (size_t)most ? (int)left : most;
}

#endif
