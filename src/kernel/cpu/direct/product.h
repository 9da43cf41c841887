/*
 * Products of two values (attention): the wide operand of each matrix is
 * packed into a panel when it is met, then the tiles run as for weights.
 */
#ifndef ISO_PRODUCT_H
#define ISO_PRODUCT_H

#include "kernel/cpu/contract.h"

/* false: not for this one (few rows, an operand or an addend that lies
 * otherwise, a wide operand larger than the space); nothing was written. */
bool iso__direct_product(const iso_cpu_t *cpu, const iso_contraction_t *c);

#endif
