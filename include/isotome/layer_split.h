/*
 * Layer split: how many layers of the model each stage holds, by rank.
 *
 * Rank order is the reverse of model order: rank world-1 holds the first
 * block (it embeds), rank 0 the last one (it makes the output). "10,18" on
 * two ranks: rank 1 holds layers [0,18), rank 0 holds [18,28).
 *
 * Everything here is a pure function of its arguments. A split that is made
 * is freed by the caller; on failure it is empty, with nothing to free.
 */
#ifndef ISO_LAYER_SPLIT_H
#define ISO_LAYER_SPLIT_H

#include "isotome/status.h"

#include <stddef.h>
#include <stdint.h>

/* Counts for each rank; a value that owns its counts. */
typedef struct iso_layer_split {
    int world;       /* number of stages, >= 1 */
    int64_t *counts; /* (world), rank order, each >= 1 */
} iso_layer_split_t;

/* Layers [start, start + count). */
typedef struct iso_layer_range {
    int64_t start;
    int64_t count;
} iso_layer_range_t;

typedef enum iso_role {
    ISO_ROLE_SINGLE,
    ISO_ROLE_FIRST, /* holds the first block; rank world-1 */
    ISO_ROLE_MIDDLE,
    ISO_ROLE_LAST, /* holds the last block; rank 0 */
} iso_role_t;

enum { ISO_MAX_WORLD = 1 << 20 };

/* Errors: ISO_INVAL unless 0 <= rank < world. */
iso_status_t iso_role_of(int rank, int world, iso_role_t *role_out);
const char *iso_role_string(iso_role_t role);

/*
 * layers/world each; the first layers % world blocks of the model (the
 * highest ranks) get one more.
 * Errors: ISO_INVAL when world > layers, saying how many stages are possible.
 */
iso_status_t iso_layer_split_even(int64_t layers, int world,
                                  iso_layer_split_t *split_out);

/*
 * One layer for each rank, the spare ones in proportion to weights: floors
 * first, then one each to the largest remainders, ties to the higher rank.
 * Exact in integers. All-zero weights give the even split; no layers or no
 * ranks, an empty one.
 *
 * weights  [in]  (world), usually bytes of memory
 * Errors: ISO_INVAL when world > layers, saying how many stages are possible.
 */
iso_status_t iso_layer_split_weighted(int64_t layers, int world,
                                      const uint64_t *weights,
                                      iso_layer_split_t *split_out);

/* What the balanced split needs to know of one layer and of one rank. */
typedef struct iso_layer_cost {
    double seconds;    /* on a rank of speed 1 */
    size_t bytes;      /* weights and buffers it keeps resident */
    double boundary_s; /* sending what is live after it, once */
} iso_layer_cost_t;

typedef struct iso_rank_power {
    double speed; /* > 0; layers take seconds / speed */
    size_t memory_bytes;
} iso_rank_power_t;

/*
 * The split whose slowest stage is fastest, among those that fit in memory;
 * exact (dynamic programming, O(layers^2 world)). A stage's time is the sum
 * of its layers' seconds / speed plus boundary_s after its last layer (not
 * for the last stage). Ties: the most even split (least sum of squared stage
 * times), then the one whose higher ranks hold more; so equal layers on equal
 * ranks give the even split, unless sums of their seconds are rounded, which
 * may decide who holds the longer blocks.
 *
 * layers     [in]  (n_layers), model order
 * first, last [in] extra cost of the first and last stage (embedding, head);
 *                  NULL for none
 * ranks      [in]  (world)
 * slowest_s_out [out] may be NULL
 * Errors: ISO_INVAL "does not fit" naming rank, need and limit; too many
 * ranks; a speed that is not positive and finite.
 */
typedef struct iso_balance {
    int64_t n_layers;
    const iso_layer_cost_t *layers;
    const iso_layer_cost_t *first;
    const iso_layer_cost_t *last;
    int world;
    const iso_rank_power_t *ranks;
    size_t reserve_bytes; /* what every rank needs besides its layers */
} iso_balance_t;

iso_status_t iso_layer_split_balanced(const iso_balance_t *balance,
                                      iso_layer_split_t *split_out,
                                      double *slowest_s_out);

/*
 * Parse "14,14" or "10, 18". Errors: ISO_INVAL naming the piece and its
 * position, for an empty piece, a sign, a zero, a count over 2^31-1.
 */
iso_status_t iso_layer_split_parse(const char *text,
                                   iso_layer_split_t *split_out);

/* Number of counts = world, no zero count, total = layers; each failure has
 * its own message with both numbers. */
iso_status_t iso_layer_split_check(const iso_layer_split_t *split,
                                   int64_t layers, int world);

/* Range of a rank. Errors: ISO_INVAL for a rank outside. */
iso_status_t iso_layer_split_range(const iso_layer_split_t *split, int rank,
                                   iso_layer_range_t *range_out);

/* The same by formula for the even split, without an array. */
iso_status_t iso_layer_range_even(int64_t layers, int rank, int world,
                                  iso_layer_range_t *range_out);

int64_t iso_layer_split_total(const iso_layer_split_t *split);

/* "10,18"; owned by the caller, iso_free(); NULL when out of memory. */
char *iso_layer_split_text(const iso_layer_split_t *split);

/* FNV-1a over the counts as 4 little-endian bytes, low 24 bits; shown in
 * reports for people who compare with RLX. It collides: agreement uses
 * iso_layer_split_digest. */
uint32_t iso_layer_split_fingerprint24(const iso_layer_split_t *split);
uint64_t iso_layer_split_digest(const iso_layer_split_t *split);

iso_status_t iso_layer_split_copy(const iso_layer_split_t *split,
                                  iso_layer_split_t *copy_out);
void iso_layer_split_free(iso_layer_split_t *split);

#endif
