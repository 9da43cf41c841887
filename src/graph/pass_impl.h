/*
 * What passes that make a new graph share; private to src/graph.
 */
#ifndef ISO_PASS_IMPL_H
#define ISO_PASS_IMPL_H

#include "graph/pass.h"

/*
 * The elements of a constant, or of a param that weights has.
 *
 * weights    [in]   may be NULL
 * value_out  [out]  borrowed from the graph or from weights
 * known_out  [out]  false, without an error, when there are none
 * Errors: ISO_SHAPE when the weight is not what the param says.
 */
iso_status_t iso__leaf_value(const iso_weights_t *weights,
                             const iso_node_t *node, iso_tensor_t *value_out,
                             bool *known_out);

/*
 * Add a copy of a node of an old graph to a new one.
 *
 * ids  [in]  by id in the old graph: id in the new one, of all its inputs
 */
iso_status_t iso__pass_copy_node(iso_graph_t *graph, const iso_node_t *node,
                                 const iso_node_id_t *ids,
                                 iso_node_id_t *node_out);

/* Declare the outputs of an old graph in a new one. */
iso_status_t iso__pass_copy_outputs(iso_graph_t *graph, const iso_graph_t *old,
                                    const iso_node_id_t *ids);

#endif
