/*
 * The reference device: the arithmetic as plain loops. It defines what every
 * op does to bits and is never the fast one.
 */
#ifndef ISO_REF_H
#define ISO_REF_H

#include "isotome/graph.h"

/* Does the op compute in this dtype, which is its first operand's (or, for an
 * op without operands, its own)? */
bool iso_ref_supports(iso_op_t op, iso_dtype_t dtype);

/*
 * Compute one node. A contraction allocates room to lay out its operands,
 * which it frees; nothing else allocates.
 *
 * node    [in]   not a leaf; static shape
 * inputs  [in]   (node->n_inputs), NULL where an operand is not given
 * output  [in]   dtype and shape of the node; its data is written
 * Errors: ISO_INPUT for an index out of range (gather), naming the node;
 * ISO_UNSUPPORTED for a dtype that the op does not compute in.
 */
iso_status_t iso_ref_run(const iso_node_t *node,
                         const iso_tensor_t *const *inputs,
                         const iso_tensor_t *output);

#endif
