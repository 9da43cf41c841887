/* Ops on blocked values by parts; private to src/kernel/cpu/direct. */
#ifndef ISO_BLOCKED_IMPL_H
#define ISO_BLOCKED_IMPL_H

#include "kernel/cpu/blocked/blocked.h"

/* Channel blocks of a value, positions of one channel. */
int64_t iso__blocked_blocks(const iso_tensor_t *tensor);
int64_t iso__blocked_plane(const iso_tensor_t *tensor);

/* The contract of iso__blocked_run for one kind of op whose operand 0 is
 * blocked; so is the output, but for a mean (reduce_mean), which is plain. */
bool iso__blocked_pool(const iso__light_t *light, const iso_cpu_step_t *step);
bool iso__blocked_mean(const iso__light_t *light, const iso_cpu_step_t *step);
bool iso__blocked_batch_norm(const iso__light_t *light,
                             const iso_cpu_step_t *step);

#endif
