/*
 * Cases: the convolutions and products that bench_conv and bench_matmul
 * compare with other libraries.
 */
#ifndef ISO_BENCH_CASES_H
#define ISO_BENCH_CASES_H

#include <stdbool.h>
#include <stdint.h>

/* Padded on all sides so that stride 1 keeps the size; transposed, so that
 * the output is stride times as large, or a little more. */
typedef struct bench_conv {
    int64_t images;
    int64_t in;
    int64_t size; /* height and width */
    int64_t out;
    int64_t kernel[2]; /* height, width */
    int64_t stride;
    int64_t dilation;
    int64_t groups;
    bool is_transposed; /* weights (in, out / groups, kernel) */
} bench_conv_t;

/* Constant weights (k, n) times values (m, k). */
typedef struct bench_product {
    int64_t m;
    int64_t n;
    int64_t k;
} bench_product_t;

/* Convolutions: "resnet50", "mobile", "grouped", "transposed" or "tiny".
 * Products: "all" or "tiny". NULL for another name. */
const bench_conv_t *bench_conv_list(const char *name, int *count_out);
const bench_product_t *bench_product_list(const char *name, int *count_out);

int64_t bench_conv_pad(const bench_conv_t *conv, int axis);
int64_t bench_conv_out_size(const bench_conv_t *conv, int axis);
/* Those with the padding count, too: who leaves them away may seem to be over
 * the peak. */
double bench_conv_flops(const bench_conv_t *conv);
double bench_product_flops(const bench_product_t *product);

#endif
