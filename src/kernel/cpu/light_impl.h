/* Light ops by parts; private to src/kernel/cpu. */
#ifndef ISO_LIGHT_IMPL_H
#define ISO_LIGHT_IMPL_H

#include "kernel/cpu/light.h"
#include "kernel/cpu/light_isa.h"
#include "kernel/walk.h"

/* The contract of iso__light_run for one kind of op; output is not empty. */
typedef bool iso__light_fn(const iso__light_t *light, const iso_node_t *node,
                           const iso_tensor_t *const *inputs,
                           const iso_tensor_t *output);

iso__light_fn iso__light_unary;
iso__light_fn iso__light_binary;
iso__light_fn iso__light_compare;
iso__light_fn iso__light_where;
iso__light_fn iso__light_cast;
iso__light_fn iso__light_reduce;
iso__light_fn iso__light_softmax;
iso__light_fn iso__light_batch_norm;
iso__light_fn iso__light_row_norm;
iso__light_fn iso__light_lrn;
iso__light_fn iso__light_pool;
iso__light_fn iso__light_reshape;
iso__light_fn iso__light_steps;
iso__light_fn iso__light_concat;
iso__light_fn iso__light_pad;
iso__light_fn iso__light_gather;

/* Works on [begin, end). Runs on several threads at once. */
typedef void iso__light_part_fn(const void *arg, int64_t begin, int64_t end);

/*
 * Give each thread a range of [0, count); one thread when there is little to
 * do.
 * bytes  [in]  written in all, as a measure of the work
 */
void iso__light_split(const iso__light_t *light, int64_t count, size_t bytes,
                      iso__light_part_fn *part, const void *arg);

/*
 * Rows of an index space: a walk over their first elements, and how far each
 * array moves inside a row. Long rows are cut into pieces.
 */
typedef struct iso__rows {
    iso__walk_t walk;
    int64_t length;
    int64_t step[ISO__WALK_ARRAYS];
    int64_t piece;  /* elements, the last one of a row may be shorter */
    int64_t pieces; /* of one row */
    int64_t count;  /* pieces of all rows */
} iso__rows_t;

/* Take the merged last axis of walk as rows. */
void iso__rows_of(const iso__walk_t *walk, iso__rows_t *rows_out);

/* One piece: elements [at, at + n) of the row that the walk is at. */
typedef struct iso__piece {
    int64_t first; /* of the output, elements */
    int64_t at;
    int64_t n;
} iso__piece_t;

/* Piece number index; moves the walk of rows to its row. */
iso__piece_t iso__rows_piece(iso__rows_t *rows, int64_t index);

#endif
