/*
 * Integer tensors whose elements may be expressions of free dims: what the
 * shape arithmetic of an exported model computes ("take dim 0, put 50 and 64
 * behind it"). The importer evaluates such nodes here, so that they vanish
 * before there is a number for N.
 *
 * All values live in the arena they are made in.
 */
#ifndef ISO_SYMBOLIC_H
#define ISO_SYMBOLIC_H

#include "isotome/op.h"
#include "isotome/tensor.h"

#include "base/arena.h"

typedef struct iso_ints {
    iso_dtype_t dtype; /* i64, i32 or bool */
    int rank;          /* 0 or more; static dims */
    int64_t dims[ISO_MAX_RANK];
    int64_t count;
    iso_dim_t *values; /* (dims[0], ...) */
} iso_ints_t;

/* From a constant of integers or bool with at most ISO_INTS_MOST elements;
 * *is_out false (and no error) when it is of another kind. */
enum { ISO_INTS_MOST = 4096 };
iso_status_t iso_ints_of_tensor(iso_arena_t *arena, const iso_tensor_t *tensor,
                                iso_ints_t *ints_out, bool *is_out);

/* The dims of a shape as i64 [rank]; a part of it (ONNX's Shape with start and
 * end) is cut by the caller. */
iso_status_t iso_ints_of_shape(iso_arena_t *arena, const iso_shape_t *shape,
                               iso_ints_t *ints_out);

bool iso_ints_are_static(const iso_ints_t *ints);

/* Elements as numbers into dtype; needs static values. */
iso_status_t iso_ints_to_tensor(iso_arena_t *arena, const iso_ints_t *ints,
                                iso_tensor_t *tensor_out);

/*
 * Elementwise add, sub, mul, div, min, max, equal, less, greater ... with
 * broadcasting. *known_out is false, without an error, when the result
 * cannot be decided (N / 3, N < 7). A free dim is taken to be at least 1.
 */
iso_status_t iso_ints_binary(iso_arena_t *arena, iso_op_t op,
                             const iso_ints_t *a, const iso_ints_t *b,
                             iso_ints_t *ints_out, bool *known_out);
iso_status_t iso_ints_where(iso_arena_t *arena, const iso_ints_t *condition,
                            const iso_ints_t *a, const iso_ints_t *b,
                            iso_ints_t *ints_out, bool *known_out);
iso_status_t iso_ints_concat(iso_arena_t *arena, const iso_ints_t *parts,
                             int n_parts, int axis, iso_ints_t *ints_out);
iso_status_t iso_ints_gather(iso_arena_t *arena, const iso_ints_t *data,
                             const iso_ints_t *indices, int axis,
                             iso_ints_t *ints_out, bool *known_out);
iso_status_t iso_ints_slice(iso_arena_t *arena, const iso_ints_t *data,
                            int64_t start, int64_t end, int64_t step, int axis,
                            iso_ints_t *ints_out);

/* Same elements, other static dims (squeeze, unsqueeze, reshape). */
iso_status_t iso_ints_reshape(const iso_ints_t *data, int rank,
                              const int64_t *dims, iso_ints_t *ints_out);

/* Product of all elements (ReduceProd), for exporters that multiply dims. */
iso_status_t iso_ints_product(iso_arena_t *arena, const iso_ints_t *data,
                              iso_ints_t *ints_out);

#endif
