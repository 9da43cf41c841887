/*
 * Chains: nodes that are computed in one visit of each row of the last axis,
 * so that what lies between them stays in the nearest cache. GELU as it is
 * imported (div, erf, add, mul, mul), a layer norm in parts, a scale before a
 * softmax. The product of matrices that they alone read may come first. By
 * constant weights, where all of them are elementwise: they follow it block by
 * block. Of two values: they follow it matrix by matrix.
 *
 * A link of a chain makes, for each row, either a row of n numbers or one
 * number, and reads such from links before it, or operands that come from
 * outside. Its arithmetic is that of the node by itself.
 */
#ifndef ISO_CHAIN_H
#define ISO_CHAIN_H

#include "kernel/format.h"

enum {
    ISO_CHAIN_MOST = 24,      /* links */
    ISO_CHAIN_OPERANDS = 3,   /* of a link */
    ISO_CHAIN_ROW_MOST = 4096 /* elements of a row that is reduced: it stays
                               * in the cache, beside others */
};

/* What a link does with a row. */
typedef enum iso_chain_kind {
    ISO_CHAIN_NONE, /* the node can't be a link, unless it is the product
                     * before the others */
    ISO_CHAIN_UNARY,
    ISO_CHAIN_BINARY,
    ISO_CHAIN_REDUCE, /* a row to one number */
    ISO_CHAIN_SOFTMAX,
    ISO_CHAIN_NORM, /* layer_norm */
} iso_chain_kind_t;

/* What a node may be in a chain, by its op, types and shapes. */
iso_chain_kind_t iso_chain_kind(const iso_graph_t *graph, iso_node_id_t id);

/*
 * How the rows of a link's index space find theirs in an operand that is
 * broadcast to it: row r is at element (r / inner % count) * width.
 */
typedef struct iso_chain_rows {
    int64_t inner;
    int64_t count;
    int64_t width; /* elements of its row: n, or 1 */
} iso_chain_rows_t;

/* dims are the link's, of the given rank. false: it lies otherwise. */
bool iso_chain_rows_of(int rank, const int64_t *dims, int operand_rank,
                       const int64_t *operand_dims, iso_chain_rows_t *rows_out);

/*
 * Join the nodes of each chain in formats, where what they make is known and
 * direct nodes have been joined. Nodes of a chain follow each other in the
 * graph, but for leaves; what one makes is read by others of the chain alone.
 */
iso_status_t iso_chains_join(const iso_graph_t *graph, iso_formats_t *formats);

#endif
