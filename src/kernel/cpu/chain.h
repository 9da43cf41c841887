/* Chains of nodes (kernel/chain.h) on the fast kernels. */
#ifndef ISO_CPU_CHAIN_H
#define ISO_CPU_CHAIN_H

#include "kernel/cpu/cpu_impl.h"

/* A step that has links; the contract of iso_cpu_run_step. */
void iso__chain_run(const iso_cpu_t *cpu, const iso_cpu_step_t *step);

#endif
