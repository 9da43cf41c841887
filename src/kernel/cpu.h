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
#include "kernel/format.h"

typedef struct iso_cpu iso_cpu_t;
typedef struct iso_panels iso_panels_t;

/* threads >= 1. Errors: ISO_INVAL, ISO_NOMEM, ISO_UNSUPPORTED on a CPU
 * without FMA. */
iso_status_t iso_cpu_create(int threads, iso_cpu_t **cpu_out);
void iso_cpu_destroy(iso_cpu_t **cpu);

iso_family_t iso_cpu_family(const iso_cpu_t *cpu);
int iso_cpu_threads(const iso_cpu_t *cpu);

/* One node of a chain (kernel/chain.h). */
typedef struct iso_cpu_link {
    const iso_node_t *node;
    const iso_tensor_t *const *inputs; /* (n_inputs), NULL: not given */
    const int *links;                  /* (n_inputs) number of the link that
                                        * makes it; -1: it is a value */
    const iso_tensor_t *value;         /* no data but for the last one */
} iso_cpu_link_t;

/*
 * One step of a program: a node, a direct contraction with the addition and
 * the activation that are joined with it, or a chain (kernel/format.h).
 * Tensors have the dims of the graph; data of a blocked one lies in blocks.
 */
typedef struct iso_cpu_step {
    const iso_node_t *node;
    const iso_tensor_t *const *inputs; /* (n_inputs), NULL: not given */
    const iso_format_t *formats;       /* (n_inputs) of the operands; NULL:
                                        * all plain */
    const iso_view_t *const *views;    /* (n_inputs) of operands that lie
                                        * otherwise, at their data; NULL for
                                        * others, or for all */
    const iso_tensor_t *output;
    iso_format_t format;         /* of the output */
    const iso_panels_t *panels;  /* of operand 1 of a direct node, else NULL;
                                  * its plain elements are then not read */
    const iso_tensor_t *addend;  /* of the joined addition, in the format of
                                  * the output; NULL: none */
    const iso_node_t *activated; /* the joined activation; NULL: none */
    const iso_cpu_link_t *links; /* of a chain; NULL: no chain. The first one
                                  * is the node; its operands are those of
                                  * the step where it is a product */
    int n_links;
} iso_cpu_step_t;

/* The contract of iso_ref_run for each node of the step, the same bits. */
iso_status_t iso_cpu_run_step(iso_cpu_t *cpu, const iso_cpu_step_t *step);

/* A node by itself: every value plain, nothing packed. */
iso_status_t iso_cpu_run(iso_cpu_t *cpu, const iso_node_t *node,
                         const iso_tensor_t *const *inputs,
                         const iso_tensor_t *output);

/*
 * Copy a value into the other format; both tensors have its dims.
 * to  [in]  the format of output
 */
void iso_cpu_convert(const iso_cpu_t *cpu, const iso_tensor_t *input,
                     iso_format_t to, const iso_tensor_t *output);

#endif
