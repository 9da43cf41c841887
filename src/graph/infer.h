/*
 * Shape inference: dtype and shape of the value that a node makes, from its
 * operands and attributes. This is also where a node is checked; a node that
 * passes is one that every device can run (given static dims).
 */
#ifndef ISO_INFER_H
#define ISO_INFER_H

#include "isotome/graph.h"

/*
 * Errors: ISO_SHAPE or ISO_INVAL naming node, found and expected.
 *
 * graph     [in]  holds the operands
 * node      [in]  name, op, inputs and attrs are set; not yet in the graph
 * shape_out, dtype_out  [out]
 */
iso_status_t iso_infer(const iso_graph_t *graph, const iso_node_t *node,
                       iso_dtype_t *dtype_out, iso_shape_t *shape_out);

#endif
