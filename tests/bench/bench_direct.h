/*
 * isotome's side of bench_conv and bench_matmul: one node, run as a program
 * runs it, with its weights packed and its values in the formats that a
 * network would have them in (kernel/format.h). Packing and converting are
 * outside the clock.
 *
 *     bench_direct_t *own = bench_direct_conv(cpu, &conv, x, w);
 *     bench_direct_run(own);
 *     bench_direct_output(own, y);
 *     bench_direct_destroy(&own);
 */
#ifndef ISO_BENCH_DIRECT_H
#define ISO_BENCH_DIRECT_H

#include "bench_cases.h"
#include "kernel/cpu.h"

typedef struct bench_direct bench_direct_t;

/* Operands as in bench_dnnl.h. A failure ends the program. */
bench_direct_t *bench_direct_conv(iso_cpu_t *cpu, const bench_conv_t *conv,
                                  const float *x, const float *w);
bench_direct_t *bench_direct_matmul(iso_cpu_t *cpu,
                                    const bench_product_t *product, int copies,
                                    const float *a, const float *b);

/* How it runs: "blocked" (values, and packed weights), "packed" (weights
 * alone), "not packed". */
const char *bench_direct_way(const bench_direct_t *job);

void bench_direct_run(bench_direct_t *job);
void bench_direct_output(const bench_direct_t *job, float *y);
void bench_direct_destroy(bench_direct_t **job);

#endif
