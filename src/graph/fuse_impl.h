/*
 * Fusing, in three steps; private to src/graph.
 *
 * A chain starts at a contraction, or at a batch norm that no chain took;
 * each further node of it is the only user of the one before: batch norms,
 * factors and summands of the channels, an added bias and, after a
 * contraction, an activation. fuse_chain.c finds the chains, fuse_affine.c
 * turns what happens to the channels into numbers, fuse.c makes one node of
 * the whole, with the name of its last.
 */
#ifndef ISO_FUSE_IMPL_H
#define ISO_FUSE_IMPL_H

#include "base/arena.h"
#include "graph/pass_impl.h"

/* What is known of a node of the graph that is fused. */
typedef struct iso_fuse_node {
    iso_node_id_t user; /* the only one; ISO_NO_NODE: none or several */
    iso_node_id_t head; /* of a chain that ends here, else ISO_NO_NODE */
    int32_t n_uses;     /* by nodes */
    bool absorbed;      /* in a chain that ends later */
} iso_fuse_node_t;

typedef struct iso_fuse {
    const iso_graph_t *graph;
    iso_weights_t *weights; /* may be NULL: then no elements are known */
    iso_graph_t *fused;
    iso_arena_t *scratch; /* names and attributes on their way */
    int32_t n_nodes;
    iso_fuse_node_t *nodes; /* (n_nodes) */
    iso_node_id_t *ids;     /* (n_nodes), in the new graph */
} iso_fuse_t;

/* Set user, head and absorbed of all nodes. */
iso_status_t iso__fuse_mark_chains(iso_fuse_t *state);

/* Is this optional operand given? */
bool iso__fuse_has_operand(const iso_node_t *node, int index);

/* Index of the operand of a node of two that is not id. */
int iso__fuse_other_operand(const iso_node_t *node, iso_node_id_t id);

/* Name of the activation that this node can become; NULL when none. */
const char *iso__fuse_activation(const iso_node_t *node);

/*
 * What happens to each output channel of a convolution (or of a batch norm)
 * without bias: scale * value + shift. Kept in double until the weights are
 * made.
 */
typedef struct iso_affine {
    int64_t channels;
    double *scale; /* (channels) */
    double *shift; /* (channels) */
} iso_affine_t;

/* scale 1 and shift bias (0 when bias is NULL). */
iso_status_t iso__affine_create(int64_t channels, const iso_tensor_t *bias,
                                iso_affine_t *affine_out);
void iso__affine_destroy(iso_affine_t *affine);

/* Then a batch norm with these scale, bias, mean and variance. */
void iso__affine_norm(iso_affine_t *affine, const iso_tensor_t operands[4],
                      double epsilon);

/* Then a factor or a summand for each channel. */
void iso__affine_multiply(iso_affine_t *affine, const iso_tensor_t *factors);
void iso__affine_add(iso_affine_t *affine, const iso_tensor_t *summands);

/*
 * Weights (of a batch norm: its scale) times scale, each product rounded
 * once.
 *
 * head         [in]   the convolution or batch norm, for its op and groups
 * weights_out  [out]  data is owned by the caller, iso_free()
 */
iso_status_t iso__affine_weights(const iso_affine_t *affine,
                                 const iso_node_t *head, int64_t groups,
                                 const iso_tensor_t *weights,
                                 iso_tensor_t *weights_out);

/* Shift as a tensor [channels] of this dtype; data is owned by the caller. */
iso_status_t iso__affine_bias(const iso_affine_t *affine, iso_dtype_t dtype,
                              iso_tensor_t *bias_out);

#endif
