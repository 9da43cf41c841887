/*
 * Light ops: everything but contractions, fast. Bit-equal to the reference
 * device at any instruction set and number of threads, because each
 * element's arithmetic is the same and only who computes it differs.
 *
 *     const iso__light_t light = {iso__light_isa_of(family), threads};
 *     if (!iso__light_run(&light, node, inputs, output)) {
 *         return iso_ref_run(node, inputs, output);
 *     }
 */
#ifndef ISO_LIGHT_H
#define ISO_LIGHT_H

#include "isotome/graph.h"

#include "kernel/family.h"

/* The vector functions of one instruction set; see light_isa.h. */
typedef struct iso__light_isa iso__light_isa_t;

typedef struct iso__light {
    const iso__light_isa_t *isa;
    int threads;
} iso__light_t;

/* Of a family that this CPU can run. Never NULL. */
const iso__light_isa_t *iso__light_isa_of(iso_family_t family);

/*
 * Compute a node; the contract of iso_ref_run. false: there is no fast
 * version of this op, dtype or shape (or its operands are wrong, which the
 * reference device then says); nothing, or a part of output, was written.
 */
bool iso__light_run(const iso__light_t *light, const iso_node_t *node,
                    const iso_tensor_t *const *inputs,
                    const iso_tensor_t *output);

#endif
