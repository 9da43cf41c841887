/*
 * The fast kernels of one process: bit-equal to the reference device.
 *
 * A context holds the kernel family, the number of threads and the packing
 * space of each thread, so that running allocates nothing (but for
 * contractions in f64, which are the reference device's). The first context
 * of a process decides the family of all.
 */
#ifndef ISO_CPU_H
#define ISO_CPU_H

#include "isotome/graph.h"

#include "kernel/family.h"

typedef struct iso_cpu iso_cpu_t;

/* threads >= 1. Errors: ISO_INVAL, ISO_NOMEM, ISO_UNSUPPORTED on a CPU
 * without FMA. */
iso_status_t iso_cpu_create(int threads, iso_cpu_t **cpu_out);
void iso_cpu_destroy(iso_cpu_t **cpu);

iso_family_t iso_cpu_family(const iso_cpu_t *cpu);
int iso_cpu_threads(const iso_cpu_t *cpu);

/* Same contract as iso_ref_run, the same bits. */
iso_status_t iso_cpu_run(iso_cpu_t *cpu, const iso_node_t *node,
                         const iso_tensor_t *const *inputs,
                         const iso_tensor_t *output);

#endif
