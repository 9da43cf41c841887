/*
 * Cut: how one op is computed in pieces. The shard rule of every op is here:
 * along which axes of its value it may be cut, what of each operand a piece
 * needs, and the node that computes the piece.
 *
 *     for each piece:
 *         for each operand: iso_cut_operand(...) says which slab it needs
 *         iso_cut_add(...) adds the node that makes the piece
 *
 * Putting the pieces together gives the bits of the whole, always: no rule
 * changes the order of a sum (isotome-arithmetic(7)). A sum of products may
 * also be cut along its reduction, into subtrees of the fixed tree of blocks:
 * then every piece is a partial sum of the whole value, and
 * iso_cut_add_sum adds these in the tree's own order.
 */
#ifndef ISO_CUT_H
#define ISO_CUT_H

#include "isotome/graph.h"

#include "plan/shard/layout.h"

enum { ISO_AXIS_WHOLE = -1 };

/* A part of an operand. */
typedef struct iso_slab {
    int axis;          /* ISO_AXIS_WHOLE: all of it */
    iso_range_t range; /* of axis; may be empty (a window in the padding) */
} iso_slab_t;

/*
 * Where a cut along axis of node's value may lie: at multiples of *unit_out
 * (counted from 0). 0 when the node cannot be cut along this axis; a leaf
 * cannot be cut. The graph is static.
 */
iso_status_t iso_cut_unit(const iso_graph_t *graph, iso_node_id_t node,
                          int axis, int64_t *unit_out);

/*
 * What the piece `range` of the value along axis needs of an operand.
 *
 * range    [in]  not empty; begins at a multiple of the unit, ends at one or
 *                at the axis' end
 * operand  [in]  of node, one that is given
 */
iso_status_t iso_cut_operand(const iso_graph_t *graph, iso_node_id_t node,
                             int axis, iso_range_t range, int operand,
                             iso_slab_t *slab_out);

/*
 * Add to local the node that computes the piece.
 *
 * inputs  [in]  (n_inputs of node) nodes of local, each with the slab of
 *               iso_cut_operand; ISO_NO_NODE where node has none
 * Errors: those of iso_graph_add; ISO_INVAL for a cut that is not allowed.
 */
iso_status_t iso_cut_add(const iso_graph_t *graph, iso_node_id_t node, int axis,
                         iso_range_t range, iso_graph_t *local,
                         const char *name, const iso_node_id_t *inputs,
                         iso_node_id_t *node_out);

/*
 * The node as it is, whole, with other inputs of the same shapes.
 */
iso_status_t iso_cut_add_whole(const iso_graph_t *graph, iso_node_id_t node,
                               iso_graph_t *local, const char *name,
                               const iso_node_id_t *inputs,
                               iso_node_id_t *node_out);

/* ---- Along the reduction ---- */

/*
 * Blocks of a sum of products that can be cut between any two of them;
 * *blocks_out is 0 when the node has none (not a contraction, grouped, a gemm
 * with alpha or beta, a channel larger than a block) or only one.
 */
iso_status_t iso_cut_blocks(const iso_graph_t *graph, iso_node_id_t node,
                            int64_t *blocks_out);

/*
 * A range of blocks as the fewest subtrees of the tree over all blocks:
 * [j 2^k, min((j + 1) 2^k, n_blocks)) each.
 *
 * subtrees_out  [out]  (ISO_MOST_SUBTREES) in order
 */
enum { ISO_MOST_SUBTREES = 128 };
int iso_cut_subtrees(int64_t n_blocks, iso_range_t blocks,
                     iso_range_t *subtrees_out);

/* What the partial sum of a subtree needs of an operand: a slab of the two
 * factors, nothing (an empty slab of axis 0) of the bias. */
iso_status_t iso_cut_partial_operand(const iso_graph_t *graph,
                                     iso_node_id_t node, iso_range_t subtree,
                                     int operand, iso_slab_t *slab_out);

/* Add the node that computes a partial sum, without bias and activation.
 * inputs [in] (2). */
iso_status_t iso_cut_add_partial(const iso_graph_t *graph, iso_node_id_t node,
                                 iso_range_t subtree, iso_graph_t *local,
                                 const char *name, const iso_node_id_t *inputs,
                                 iso_node_id_t *node_out);

/*
 * Add the nodes that sum the partial sums in the tree's order, then add the
 * bias and apply the activation: the whole node's value and bits.
 *
 * subtrees  [in]  (n_partials) in order, covering all blocks
 * partials  [in]  (n_partials) nodes of local
 * bias      [in]  node of local, ISO_NO_NODE when node has none
 */
typedef struct iso_cut_sum {
    int n_partials;
    const iso_range_t *subtrees;
    const iso_node_id_t *partials;
    iso_node_id_t bias;
} iso_cut_sum_t;

iso_status_t iso_cut_add_sum(const iso_graph_t *graph, iso_node_id_t node,
                             const iso_cut_sum_t *sum, iso_graph_t *local,
                             const char *name, iso_node_id_t *node_out);

/* ---- Names ---- */

/* How output names an axis of this node's value: "batch", "out-channel",
 * "group", "height", "rows", "cols", or "axis". */
const char *iso_cut_axis_name(const iso_graph_t *graph, iso_node_id_t node,
                              int axis);
/* "in-channel" or "reduction". */
const char *iso_cut_reduction_name(const iso_graph_t *graph,
                                   iso_node_id_t node);

#endif
