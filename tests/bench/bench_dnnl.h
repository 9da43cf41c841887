/*
 * oneDNN as a peer, on one thread, in the layouts that it likes best: weights
 * and values are brought into them when a job is made, outside the clock.
 *
 *     bench_dnnl_t *peer = bench_dnnl_conv(&conv, x, w); // NULL: not built in
 *     bench_dnnl_run(peer);
 *     bench_dnnl_output(peer, y);
 *     bench_dnnl_destroy(&peer);
 *
 * Without the library (CMake's BENCH_DNNL) every job is NULL. What oneDNN
 * fails in ends the program.
 */
#ifndef ISO_BENCH_DNNL_H
#define ISO_BENCH_DNNL_H

#include "bench_cases.h"

typedef struct bench_dnnl bench_dnnl_t;

/* "oneDNN 2.6.3", or NULL. */
const char *bench_dnnl_version(void);

/* x (images, in, size, size) and w (out, in / groups, kernel), row-major. */
bench_dnnl_t *bench_dnnl_conv(const bench_conv_t *conv, const float *x,
                              const float *w);

/*
 * a (m, k) and b (k, n), row-major; the first is the primitive of products
 * with weights packed as it likes, the second dnnl_sgemm. Weights are held
 * `copies` times, each call takes the next copy.
 */
bench_dnnl_t *bench_dnnl_matmul(const bench_product_t *product, int copies,
                                const float *a, const float *b);
bench_dnnl_t *bench_dnnl_sgemm(const bench_product_t *product, int copies,
                               const float *a, const float *b);

void bench_dnnl_run(bench_dnnl_t *job);

/* What the last run gave, row-major. */
void bench_dnnl_output(const bench_dnnl_t *job, float *y);
void bench_dnnl_destroy(bench_dnnl_t **job);

#endif
