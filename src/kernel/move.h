/*
 * Moves that read one operand element for each output element, at steps that
 * do not change: transpose, slice, expand, tile, depth_to_space,
 * space_to_depth. Each is a walk over the output.
 */
#ifndef ISO_MOVE_H
#define ISO_MOVE_H

#include "isotome/graph.h"

#include "kernel/walk.h"

/*
 * walk_out  [out]  visits the output in row-major order and has one array,
 *                  the operand x; its axes need not be those of the output
 * Errors: those of the attributes.
 */
iso_status_t iso__move_walk_of(const iso_node_t *node, const iso_tensor_t *x,
                               const iso_tensor_t *output,
                               iso__walk_t *walk_out);

#endif
