/*
 * A graph for people (text, dot) and for files (JSON).
 */
#ifndef ISO_PRINT_H
#define ISO_PRINT_H

#include "isotome/graph.h"

#include "base/json.h"
#include "base/text.h"

/* One line for each node: "%12 conv1 = conv(x, w, b) strides=[2,2] f32
 * [N,64,112,112] layer 0". */
void iso_graph_print_text(const iso_graph_t *graph, iso_text_t *text);

/* Graphviz; layers are clusters, names are escaped. */
void iso_graph_print_dot(const iso_graph_t *graph, iso_text_t *text);

/* JSON as in the model file (isotome-model(5)); owned by the caller. */
iso_status_t iso_graph_to_json(const iso_graph_t *graph, json_t **json_out);

/*
 * Inverse; every node is inferred again and compared with what the text
 * claims. Errors: ISO_INPUT or those of iso_graph_add, naming the place.
 */
iso_status_t iso_graph_from_json(const iso_json_t *json,
                                 iso_graph_t **graph_out);

#endif
