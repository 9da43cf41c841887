/*
 * Walk: visit an index space in row-major order and keep, for each of some
 * arrays, the offset of the element that belongs to the index. Broadcasting
 * (a step of 0), transposing and slicing are all ways of stepping.
 *
 *     iso__walk_t walk;
 *     iso__walk_begin(&walk, output->rank, output->dims);
 *     const int a = iso__walk_add_broadcast(&walk, inputs[0]);
 *     for (int64_t i = 0; i < count; i++, iso__walk_next(&walk)) {
 *         y[i] = f(x[walk.offset[a]]);
 *     }
 */
#ifndef ISO_WALK_H
#define ISO_WALK_H

#include "isotome/tensor.h"

enum { ISO__WALK_ARRAYS = 4 };

typedef struct iso__walk {
    int rank;
    int n_arrays;
    int64_t dims[ISO_MAX_RANK];
    int64_t index[ISO_MAX_RANK];
    int64_t step[ISO__WALK_ARRAYS][ISO_MAX_RANK]; /* elements for each axis */
    int64_t offset[ISO__WALK_ARRAYS];             /* elements */
} iso__walk_t;

void iso__walk_begin(iso__walk_t *walk, int rank, const int64_t *dims);

/*
 * Follow one more array, at most ISO__WALK_ARRAYS in all; returns its number.
 * first  [in]  offset of index (0, ..., 0)
 * step   [in]  (rank), elements to move for one step along each axis
 */
int iso__walk_add(iso__walk_t *walk, int64_t first, const int64_t *step);

/* Follow a tensor that is broadcast to the index space. */
int iso__walk_add_broadcast(iso__walk_t *walk, const iso_tensor_t *tensor);

/* To the next index; after the last one to the first. */
void iso__walk_next(iso__walk_t *walk);

/* To the index that is number `number` in row-major order. */
void iso__walk_seek(iso__walk_t *walk, int64_t number);

/*
 * Join neighbouring axes that every array steps through as through one, and
 * drop axes of one index; the order of visits stays. At the first index only.
 */
void iso__walk_merge(iso__walk_t *walk);

/* Leave an axis out; no array moves. At index 0 of this axis only. */
void iso__walk_drop(iso__walk_t *walk, int axis);

/* Number of indices. */
int64_t iso__walk_count(const iso__walk_t *walk);

/* Elements between neighbours along each axis of a contiguous array. */
void iso__strides_of(int rank, const int64_t *dims, int64_t *strides_out);

/* Product of dims[begin .. end). */
int64_t iso__dims_product(const int64_t *dims, int begin, int end);

#endif
