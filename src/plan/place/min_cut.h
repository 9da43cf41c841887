/*
 * Minimum cut: the vertices of a directed graph in two parts, one with the
 * source and one with the sink, so that the capacities of the edges from the
 * first to the second are least in sum. Capacities are whole numbers, so that
 * the cut is exact.
 *
 *     iso_min_cut_t *cut;
 *     ISO_TRY(iso_min_cut_create(4, 8, &cut));
 *     iso_min_cut_begin(cut, 4);
 *     iso_min_cut_join(cut, ISO_MIN_CUT_SOURCE, 2, 7, 0);
 *     iso_min_cut_join(cut, 2, ISO_MIN_CUT_SINK, 5, 0);
 *     iso_min_cut_solve(cut);
 *     if (iso_min_cut_has(cut, 2)) ... // 2 is in the part of the source
 *     iso_min_cut_destroy(&cut);
 */
#ifndef ISO_MIN_CUT_H
#define ISO_MIN_CUT_H

#include "isotome/status.h"

#include <stdbool.h>
#include <stdint.h>

enum { ISO_MIN_CUT_SOURCE = 0, ISO_MIN_CUT_SINK = 1 };

/* Of an edge that is never cut. All others together are at most 2^61. */
#define ISO_MIN_CUT_NEVER (INT64_MAX / 2)

typedef struct iso_min_cut iso_min_cut_t;

/* Room for so many vertices, with source and sink, and so many edges. Errors:
 * ISO_NOMEM. */
iso_status_t iso_min_cut_create(int32_t most_vertices, int32_t most_edges,
                                iso_min_cut_t **cut_out);
void iso_min_cut_destroy(iso_min_cut_t **cut);

/* Forget all edges. */
void iso_min_cut_begin(iso_min_cut_t *cut, int32_t n_vertices);

/* Two edges between two vertices, each with a capacity of at least 0. */
void iso_min_cut_join(iso_min_cut_t *cut, int32_t from, int32_t to,
                      int64_t capacity, int64_t back);

/*
 * Find the cut; of several least ones that with the fewest vertices beside
 * the source. Every path from source to sink has an edge that may be cut.
 *
 * Returns the sum of the capacities.
 */
int64_t iso_min_cut_solve(iso_min_cut_t *cut);

/* After solving: whether a vertex is in the part of the source. */
bool iso_min_cut_has(const iso_min_cut_t *cut, int32_t vertex);

/* Edges looked at so far: the work, in numbers that do not depend on the
 * machine. */
int64_t iso_min_cut_looked_at(const iso_min_cut_t *cut);

#endif
