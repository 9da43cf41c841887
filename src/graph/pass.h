/*
 * Passes: each takes a graph and gives a new one (or marks nodes in place).
 * Node names and layer marks survive, so that a plan made on one form of a
 * graph holds for another.
 */
#ifndef ISO_PASS_H
#define ISO_PASS_H

#include "isotome/graph.h"

/*
 * Where passes get the elements of params from, and where new ones go. The
 * importer holds all weights in memory; a rank that only binds has none, and
 * passes a NULL store (params are then opaque).
 */
typedef struct iso_weights iso_weights_t;

iso_status_t iso_weights_create(iso_weights_t **weights_out);
void iso_weights_destroy(iso_weights_t **weights);

/*
 * Add a weight by name; data is taken over (iso_free at the end) on success.
 * A second weight of the same name is ISO_INVAL.
 */
iso_status_t iso_weights_add(iso_weights_t *weights, const char *name,
                             const iso_tensor_t *tensor);

/* Borrowed; NULL when there is none. */
const iso_tensor_t *iso_weights_find(const iso_weights_t *weights,
                                     const char *name);

/*
 * Computes one node from its operands' elements; the reference device. Passed
 * in, because the arithmetic lives in a later layer.
 * inputs  [in]   NULL where the operand is not given
 * output  [out]  data is allocated by the caller
 */
typedef iso_status_t (*iso_eval_fn)(const iso_node_t *node,
                                    const iso_tensor_t *const *inputs,
                                    const iso_tensor_t *output);

/*
 * Put numbers in place of free dims, then infer every node again.
 * Errors: ISO_INVAL for a name that is not free in the graph or a size < 1;
 * ISO_SHAPE where the numbers do not fit, naming the node.
 */
iso_status_t iso_graph_bind(const iso_graph_t *graph,
                            const iso_binding_t *bindings, int count,
                            iso_graph_t **bound_out);

/*
 * Compute what depends on constants (and, with weights, params) alone.
 * Results up to ISO_CONSTANT_BYTES become constants, larger ones params in
 * weights (without weights: they stay computed nodes).
 */
enum { ISO_CONSTANT_BYTES = 4096 };
iso_status_t iso_graph_fold(const iso_graph_t *graph, iso_eval_fn eval,
                            iso_weights_t *weights, iso_graph_t **folded_out);

/*
 * Batch norm, and a factor or summand for each channel, into the convolution
 * or batch norm before it (new weights, computed in double and rounded once),
 * then bias and activation into conv, matmul and gemm. A value that something
 * else also uses, or that is an output, is left alone. Needs weights.
 */
iso_status_t iso_graph_fuse(const iso_graph_t *graph, iso_weights_t *weights,
                            iso_graph_t **fused_out);

/* Drop what no output needs (inputs stay, so that the model's interface
 * does), and reshapes and transposes that change nothing. */
iso_status_t iso_graph_prune(const iso_graph_t *graph,
                             iso_graph_t **pruned_out);

/*
 * Mark layers in place: runs of nodes between places where the fewest bytes
 * are live (free dims count as 1). A layer holds at least one contraction
 * with weights where the graph has one. Marks never decrease along the node
 * order. Errors: ISO_NOMEM.
 */
iso_status_t iso_graph_mark_layers(iso_graph_t *graph);

/*
 * The same graph in another order of its nodes.
 *
 * order  [in]  (node count) ids, each once; operands before their readers
 * Errors: ISO_INVAL for another order, naming the node.
 */
iso_status_t iso_graph_reorder(const iso_graph_t *graph,
                               const iso_node_id_t *order,
                               iso_graph_t **reordered_out);

#endif
