/*
 * Graphs for tests, from short texts: one node a line.
 *
 *     x = input f32[N,3,8,8]
 *     w = param f32[4,3,3,3]
 *     b = constant f32[4] 1,2,3,4
 *     y = conv(x, w, b) strides=i:2,2 activation=t:relu
 *     return y
 *
 * An operand that is not given is "-". Attributes say their kind: i for
 * integers, f for floats, d for dims, t for a text. "return" names outputs
 * after their nodes.
 */
#ifndef GRAPH_TEXT_H
#define GRAPH_TEXT_H

#include "isotome/graph.h"

/*
 * Add what the text says, up to the first failure.
 *
 * last_out  [out]  the latest node added; may be NULL
 * Errors: those of iso_graph_add*; a text that cannot be read is
 * ISO_INTERNAL.
 */
iso_status_t graph_text_add(iso_graph_t *graph, const char *text,
                            iso_node_id_t *last_out);

/* "f32[N,3,8,8]" of a node; buffer has ISO_SHAPE_TEXT_BYTES + 16 bytes. */
const char *graph_text_value(const iso_node_t *node, char *buffer);

#endif
