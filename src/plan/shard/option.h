/*
 * Shard options: the ways in which one op can be cut into shards, and what
 * each way moves. This is about an op by itself (its operands at a root, its
 * value wanted there); a whole stage is arrange.h's.
 *
 *     const iso_shard_op_t op = {.graph = graph, .node = node};
 *     iso_shard_list_t *list;
 *     ISO_TRY(iso_shard_list_create(&op, 4, &list));
 *     for (int i = 0; i < list->count; i++) {
 *         bytes = iso_shard_moved_bytes(&list->options[i], 0);
 *     }
 *     iso_shard_list_destroy(&list);
 *
 * What a shard needs of an operand is the rule in cut.h. An option becomes a
 * node's cut in a stage as it is: (output axis, ranges), or for partial sums
 * (ranges of blocks); only rows that are flattened have no such form.
 */
#ifndef ISO_SHARD_OPTION_H
#define ISO_SHARD_OPTION_H

#include "isotome/graph.h"

#include "base/arena.h"
#include "plan/shard/cut.h"
#include "plan/shard/layout.h"

/*
 * X(NAME, text) in the order in which options are listed for an op.
 *
 *   BATCH        conv: samples
 *   OUT_CHANNEL  conv without groups
 *   ROWS         of A, in matmul and gemm; of A[b,M,K] B[K,N] (a B without
 *                batch) all b M rows, see flat_axes
 *   COLS         of B
 *   GROUP        conv with groups, by whole groups
 *   IN_CHANNEL   conv: partial sums of whole blocks of channels
 *   HEIGHT       conv: the first spatial axis, with the halo rows of x
 *   MATRICES     batched matmul: one of the batch axes (attention: heads)
 *   REDUCTION    matmul, gemm: partial sums of whole blocks
 */
#define ISO_SHARD_AXIS_MAP(X)     \
    X(BATCH, "batch")             \
    X(OUT_CHANNEL, "out-channel") \
    X(ROWS, "rows")               \
    X(COLS, "cols")               \
    X(GROUP, "group")             \
    X(IN_CHANNEL, "in-channel")   \
    X(HEIGHT, "height")           \
    X(MATRICES, "batch")          \
    X(REDUCTION, "reduction")

typedef enum iso_shard_axis {
#define X(name, text) ISO_SHARD_##name,
    ISO_SHARD_AXIS_MAP(X)
#undef X
        ISO_SHARD_AXIS_COUNT
} iso_shard_axis_t;

const char *iso_shard_axis_string(iso_shard_axis_t axis);

/* Sets of axes; an empty set in iso_shard_op_t means all. */
#define ISO_SHARD_BIT(name) (1U << (unsigned)ISO_SHARD_##name)
#define ISO_SHARD_CLASSIC_AXES                                                 \
    (ISO_SHARD_BIT(BATCH) | ISO_SHARD_BIT(OUT_CHANNEL) | ISO_SHARD_BIT(ROWS) | \
     ISO_SHARD_BIT(COLS))
#define ISO_SHARD_ALL_AXES ((1U << (unsigned)ISO_SHARD_AXIS_COUNT) - 1U)

enum {
    ISO_SHARD_OPERANDS = 3, /* most that an op with options has */
    ISO_SHARD_MOST = 1024,  /* shards of one op */
    ISO_SHARD_PARTIAL_SUMS = -1,
};

/* The op that is asked about. */
typedef struct iso_shard_op {
    const iso_graph_t *graph;
    iso_node_id_t node;
    unsigned axes; /* ISO_SHARD_BIT(...); 0: all */
    /* (ISO_SHARD_OPERANDS) types in which operands are moved, where weights
     * are kept in fewer bytes than they are computed in; NULL: their own. */
    const iso_dtype_t *moved_as;
} iso_shard_op_t;

typedef enum iso_shard_use {
    ISO_SHARD_KEPT,   /* not given, or only the root needs it (a bias that is
                       * added to the sum of partial sums) */
    ISO_SHARD_SLICED, /* each shard has its slab */
    ISO_SHARD_SHARED, /* read whole by every shard */
} iso_shard_use_t;

typedef struct iso_shard_operand {
    iso_shard_use_t use;
    int axis;          /* SLICED: of the operand; with flat_axes the last one */
    iso_dtype_t dtype; /* in which it is moved */
    /* SLICED: of all slabs together, so that a halo counts twice; SHARED: of
     * one copy. INT64_MAX when there are more. */
    int64_t elements;
} iso_shard_operand_t;

typedef struct iso_shard_option {
    iso_shard_axis_t axis;
    int output_axis; /* or ISO_SHARD_PARTIAL_SUMS */
    /* Axes of the value, the last being output_axis, that are taken as one in
     * row-major order: more than 1 only for the rows of a batched A. */
    int flat_axes;
    int64_t length; /* of the axis or axes; PARTIAL_SUMS: blocks */
    int64_t unit;   /* shards begin at its multiples (channels of a group) */
    int count;
    const iso_range_t *ranges; /* (count) of length; borrowed */
    iso_shard_operand_t operands[ISO_SHARD_OPERANDS];
    iso_dtype_t output_dtype;
    int64_t output_elements; /* of the whole value */
    /* What the shards give back: output_elements or, when they are partial
     * sums, that many for each subtree (cut.h). Saturates. */
    int64_t returned_elements;
} iso_shard_option_t;

typedef struct iso_shard_list {
    iso_arena_t *arena;
    int count;
    iso_shard_option_t *options; /* (count) */
} iso_shard_list_t;

/*
 * Cut length into count pieces in order, none empty: the remainder is spread
 * over the first ones.
 *
 * ranges_out  [out]  (count)
 * Returns the number of pieces: count, at most length; 0 for no length or no
 * count.
 */
int iso_shard_ranges(int64_t length, int count, iso_range_t *ranges_out);

/*
 * All options of an op: by axis in the order of iso_shard_axis_t (batch axes
 * of a matmul from the first), for each the counts 2 to most_shards or as
 * many as there are units. The list is empty for other ops than conv, matmul
 * of two operands of rank 2 or more, and gemm, for a symbolic dim and for
 * most_shards < 2.
 *
 * Errors: ISO_INVAL for more than ISO_SHARD_MOST shards, ISO_NOMEM.
 */
iso_status_t iso_shard_list_create(const iso_shard_op_t *op, int most_shards,
                                   iso_shard_list_t **list_out);
void iso_shard_list_destroy(iso_shard_list_t **list);

/*
 * The same option with other pieces, what it moves counted anew.
 *
 * ranges  [in]  (option->count) as in option; borrowed by *option_out
 */
iso_status_t iso_shard_recut(const iso_shard_op_t *op,
                             const iso_shard_option_t *option,
                             const iso_range_t *ranges,
                             iso_shard_option_t *option_out);

/*
 * The part of an operand that a shard needs; of all rows of a batched A,
 * which are one axis, the axis is that of option->operands. Empty (of axis
 * 0) for an operand that is kept.
 */
iso_status_t iso_shard_slab(const iso_shard_op_t *op,
                            const iso_shard_option_t *option, int shard,
                            int operand, iso_slab_t *slab_out);

/* Output elements worth of work in a shard: output elements x range / length,
 * rounded up. */
int64_t iso_shard_elements(const iso_shard_option_t *option, int shard);

/* Of the longest range. */
int64_t iso_shard_widest(const iso_shard_option_t *option);

/*
 * Bytes to and from the shards, all of them elsewhere: slabs, a copy for each
 * shard of what is shared, and what is given back. Saturates at SIZE_MAX.
 *
 * resident  [in]  bit i: operand i is where it is needed and does not move
 */
size_t iso_shard_moved_bytes(const iso_shard_option_t *option,
                             unsigned resident);

/* The operands that an option shares, as bits. */
unsigned iso_shard_shared(const iso_shard_option_t *option);

#endif
