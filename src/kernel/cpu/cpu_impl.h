/* A context of the fast kernels, and its ops; private to src/kernel/cpu. */
#ifndef ISO_CPU_IMPL_H
#define ISO_CPU_IMPL_H

#include "isotome/error.h"

#include "kernel/cpu.h"
#include "kernel/cpu/direct/tile.h"
#include "kernel/cpu/isa.h"
#include "kernel/cpu/light.h"
#include "kernel/cpu/micro.h"
#include "kernel/cpu/space.h"

typedef struct iso__chain iso__chain_t;

struct iso_cpu {
    iso_family_t family;
    int threads;
    const iso_isa_t *isa;
    const iso_tile_isa_t *tile; /* of the direct kernels */
    iso_micro_t micro;          /* of many rows */
    iso_micro_t few[3];         /* of 1, 2 and up to 4 rows */
    iso__light_t light;
    iso_space_t *space; /* (threads) */
};

/*
 * A step that is an f32 matmul; the contract of iso_cpu_run_step.
 * chain  [in]  follows it and writes the output; NULL: nothing does
 */
iso_status_t iso__cpu_matmul(const iso_cpu_t *cpu, const iso_cpu_step_t *step,
                             const iso__chain_t *chain);

/* f32 contractions; the contract of iso_cpu_run. */
iso_status_t iso__cpu_gemm(const iso_cpu_t *cpu, const iso_node_t *node,
                           const iso_tensor_t *const *inputs,
                           const iso_tensor_t *output);
iso_status_t iso__cpu_conv(const iso_cpu_t *cpu, const iso_node_t *node,
                           const iso_tensor_t *const *inputs,
                           const iso_tensor_t *output);

#endif
