/*
 * Plain BLIS: contractions as a program computes them that takes a library
 * for all of it: bli_sgemm with BLIS's own choice of blocking, kernels for
 * small matrices and shares of threads; convolutions by im2col, one product
 * for each image and group. Its bits depend on how an op is cut: it is the
 * control of experiments, and nothing else uses it.
 */
#ifndef ISO_PLAIN_BLIS_H
#define ISO_PLAIN_BLIS_H

#include "kernel/cpu.h"

/*
 * The contract of iso_cpu_run. conv, matmul and gemm go to BLIS, all else to
 * iso_cpu_run.
 *
 * cpu  [in]  says threads; its family is one of BLIS's
 * Errors: ISO_UNSUPPORTED for a contraction with a bias or activation, of
 * another type than f32, or a matmul whose operands are broadcast; ISO_NOMEM.
 */
iso_status_t iso_plain_blis_run(iso_cpu_t *cpu, const iso_node_t *node,
                                const iso_tensor_t *const *inputs,
                                const iso_tensor_t *output);

#endif
