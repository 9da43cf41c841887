/*
 * Copy: a box of one contiguous tensor to a box of the same size of another,
 * as runs of bytes that are contiguous in both. Where a box lies in its tensor
 * is worked out once; copying then takes as few and as long runs as there are.
 *
 *     // rows 2 and 3 of x [8, 5] to rows 0 and 1 of y [2, 5]
 *     const int64_t box[] = {2, 5};
 *     iso_copy_t copy;
 *     iso_copy_of(sizeof(float), 2, box,
 *                 (iso_copy_end_t){(int64_t[]){8, 5}, (int64_t[]){2, 0}},
 *                 (iso_copy_end_t){box, (int64_t[]){0, 0}}, &copy);
 *     iso_copy_run(&copy, x, y);
 */
#ifndef ISO_COPY_H
#define ISO_COPY_H

#include "isotome/shape.h"

/* A tensor and the corner of the box in it. */
typedef struct iso_copy_end {
    const int64_t *dims;  /* (rank) */
    const int64_t *begin; /* (rank) */
} iso_copy_end_t;

typedef struct iso_copy {
    size_t run_bytes; /* 0: the box is empty */
    int rank;         /* loops around a run, outermost first; 0: one run */
    int64_t count[ISO_MAX_RANK];
    size_t from_step[ISO_MAX_RANK]; /* bytes, as all below */
    size_t to_step[ISO_MAX_RANK];
    size_t from_first;
    size_t to_first;
} iso_copy_t;

/*
 * box       [in]  (rank) lengths
 * from, to  [in]  with the box inside; not kept
 */
void iso_copy_of(size_t element_bytes, int rank, const int64_t *box,
                 iso_copy_end_t from, iso_copy_end_t to, iso_copy_t *copy_out);

/* Bytes of the box. */
size_t iso_copy_bytes(const iso_copy_t *copy);

/* from and to are the tensors' first bytes; not read when the box is empty.
 * They do not overlap. */
void iso_copy_run(const iso_copy_t *copy, const void *from, void *to);

#endif
