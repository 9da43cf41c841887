/*
 * The numbers that an elementwise op takes beside its operand. One struct
 * for all of them, so that an activation after a contraction is the op of
 * that name and nothing else.
 */
#ifndef ISO_COEFF_H
#define ISO_COEFF_H

#include "graph/param.h"

/*
 * leaky_relu, elu: a = alpha. selu: a = alpha, b = gamma. hard_sigmoid,
 * hard_swish: a = alpha, b = beta. clip: a = min, b = max.
 */
typedef struct iso__coeff {
    double a;
    double b;
} iso__coeff_t;

/* Of a unary node. */
iso_status_t iso__coeff_of(const iso_node_t *node, iso__coeff_t *coeff_out);

/* The op that an activation is; ISO_OP_COUNT for none. */
iso_op_t iso__activation_op(const iso_activation_param_t *activation,
                            iso__coeff_t *coeff_out);

#endif
