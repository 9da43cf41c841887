/*
 * Layout: where the elements of one value are among the workers of a stage:
 * whole on one worker, whole on all, or split along an axis.
 *
 *     iso_layout_t rows = {.kind = ISO_LAYOUT_SPLIT, .axis = 0,
 *                          .ranges = ranges};  // (n_workers)
 *     iso_layout_box(&rows, &shape, worker, &box);
 */
#ifndef ISO_LAYOUT_H
#define ISO_LAYOUT_H

#include "isotome/shape.h"

#include <stdbool.h>
#include <stdint.h>

/* Indices begin, begin + 1, ... end - 1; empty when end <= begin. */
typedef struct iso_range {
    int64_t begin;
    int64_t end;
} iso_range_t;

typedef enum iso_layout_kind {
    ISO_LAYOUT_ONE, /* whole on one worker */
    ISO_LAYOUT_ALL, /* whole on every worker */
    ISO_LAYOUT_SPLIT,
} iso_layout_kind_t;

typedef struct iso_layout {
    iso_layout_kind_t kind;
    int worker; /* ONE: who has it */
    int axis;   /* SPLIT: of the value */
    /* SPLIT: (n_workers), borrowed. In worker order; some may be empty. Those
     * of a value that was computed are disjoint and cover the axis; those that
     * an op needs may overlap (a halo) or leave out what nobody reads. */
    const iso_range_t *ranges;
} iso_layout_t;

/* Part of a value: a range on each axis. */
typedef struct iso_box {
    int rank;
    iso_range_t range[ISO_MAX_RANK];
} iso_box_t;

static inline int64_t iso_range_length(iso_range_t range)
{
    return range.end > range.begin ? range.end - range.begin : 0;
}

bool iso_layout_equal(const iso_layout_t *a, const iso_layout_t *b,
                      int n_workers);

/* What a worker has; an empty box when it has nothing (of rank 1 for a scalar,
 * whose own box has no range that could be empty). shape is static. */
void iso_layout_box(const iso_layout_t *layout, const iso_shape_t *shape,
                    int worker, iso_box_t *box_out);

/* Elements in a box; 0 when any range is empty, 1 for rank 0. */
int64_t iso_box_count(const iso_box_t *box);

/* The part of both. */
iso_box_t iso_box_intersect(const iso_box_t *a, const iso_box_t *b);

/*
 * Cut length into count pieces in order, whose sizes are multiples of unit
 * (the last may be less) and in proportion to weights: floors first, then
 * one unit each to the largest fractions, ties to the earlier piece.
 *
 * weights     [in]   (count) >= 0, not all 0; NULL: equal
 * ranges_out  [out]  (count); empty ones where a share rounds to nothing
 */
void iso_ranges_share(int64_t length, int64_t unit, const double *weights,
                      int count, iso_range_t *ranges_out);

#endif
