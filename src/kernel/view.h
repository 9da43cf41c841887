/*
 * Views: transposes, slices and reshapes whose elements nobody copies. A view
 * is the elements of another value at other steps. What reads it can do so:
 * a product of two values (attention), which packs its operands anyway, or
 * another view.
 */
#ifndef ISO_VIEW_H
#define ISO_VIEW_H

#include "isotome/graph.h"

typedef struct iso_formats iso_formats_t;

/* Element (i, j, ...) of the view is at offset + i steps[0] + j steps[1] ...
 * of the plain value that has the bytes. */
typedef struct iso_view {
    int64_t offset;
    int64_t steps[ISO_MAX_RANK];
} iso_view_t;

/* Can this operand of a node be a view? Another view is not asked. */
bool iso_view_is_read(const iso_graph_t *graph, iso_node_id_t id, int input);

/*
 * Find them: is_view and views of formats, where what nodes make is known.
 * Only of plain values, and no outputs of the graph.
 */
void iso_views_find(const iso_graph_t *graph, iso_formats_t *formats);

#endif
