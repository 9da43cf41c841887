/* The peer of bench_dnnl.h where the library is not there. */
#include "bench_dnnl.h"

#include <stddef.h>

const char *bench_dnnl_version(void)
{
    return NULL;
}

bench_dnnl_t *bench_dnnl_conv(const bench_conv_t *conv, const float *x,
                              const float *w)
{
    (void)conv;
    (void)x;
    (void)w;
    return NULL;
}

bench_dnnl_t *bench_dnnl_matmul(const bench_product_t *product, int copies,
                                const float *a, const float *b)
{
    (void)product;
    (void)copies;
    (void)a;
    (void)b;
    return NULL;
}

bench_dnnl_t *bench_dnnl_sgemm(const bench_product_t *product, int copies,
                               const float *a, const float *b)
{
    return bench_dnnl_matmul(product, copies, a, b);
}

void bench_dnnl_run(bench_dnnl_t *job)
{
    (void)job;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): bench_dnnl.c writes it */
void bench_dnnl_output(const bench_dnnl_t *job, float *y)
{
    (void)job;
    (void)y;
}

void bench_dnnl_destroy(bench_dnnl_t **job)
{
    *job = NULL;
}
