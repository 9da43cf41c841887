/*
 * Networks for the benches as ONNX files with seeded weights:
 *
 *     make_onnx resnet50 F.onnx       (N, 3, 224, 224) to 1000 logits
 *     make_onnx vgg19 F.onnx          the same; 574 MB of weights
 *     make_onnx bert F.onnx [LAYERS]  an encoder of BERT-base's size (12):
 *                                     (N, 128, 768) to the same
 *     make_onnx products DIR M N K COPIES
 *                                     DIR/products-M-N-K-COPIES.onnx: (M, K)
 *                                     times each of so many weights (K, N),
 *                                     all of bench_values
 */
#include "isotome/error.h"

#include "base/text.h"
#include "bench.h"
#include "bench_onnx.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Convolutions ---- */

/* Keeps the size of values: the usual scale for what a relu follows. */
static const char *conv(bench_net_t *net, const char *x, int64_t in,
                        int64_t out, int64_t kernel, int64_t stride)
{
    const int64_t pad = kernel / 2;
    const double fan_in = (double)(in * kernel * kernel);
    const char *w = bench_net_weight(
        net, sqrt(2.0 / fan_in), 4, (const int64_t[]){out, in, kernel, kernel});

    bench_net_attr(net, "kernel_shape", 2, (const int64_t[]){kernel, kernel});
    bench_net_attr(net, "strides", 2, (const int64_t[]){stride, stride});
    bench_net_attr(net, "pads", 4, (const int64_t[]){pad, pad, pad, pad});
    return bench_net_op2(net, "Conv", x, w);
}

static const char *norm(bench_net_t *net, const char *x, int64_t channels,
                        double scale)
{
    const char *const inputs[] = {
        x, bench_net_weight_near(net, scale, 0.2 * scale, 1, &channels),
        bench_net_weight(net, 0.1, 1, &channels),
        bench_net_weight(net, 0.1, 1, &channels),
        bench_net_weight_near(net, 1.0, 0.2, 1, &channels)};

    return bench_net_op(net, "BatchNormalization", 5, inputs);
}

static const char *max_pool(bench_net_t *net, const char *x, int64_t kernel,
                            int64_t pad)
{
    bench_net_attr(net, "kernel_shape", 2, (const int64_t[]){kernel, kernel});
    bench_net_attr(net, "strides", 2, (const int64_t[]){2, 2});
    bench_net_attr(net, "pads", 4, (const int64_t[]){pad, pad, pad, pad});
    return bench_net_op1(net, "MaxPool", x);
}

static const char *dense(bench_net_t *net, const char *x, int64_t in,
                         int64_t out)
{
    const char *const inputs[] = {x,
                                  bench_net_weight(net, sqrt(1.0 / (double)in),
                                                   2,
                                                   (const int64_t[]){out, in}),
                                  bench_net_weight(net, 0.1, 1, &out)};

    bench_net_attr_int(net, "transB", 1);
    return bench_net_op(net, "Gemm", 3, inputs);
}

static const char *image(bench_net_t *net)
{
    return bench_net_input(net, "x", 4, (const int64_t[]){0, 3, 224, 224});
}

/* The last norm is small, so that the sums do not grow from block to block. */
static const char *bottleneck(bench_net_t *net, const char *x, int64_t in,
                              int64_t width, int64_t stride)
{
    const int64_t out = 4 * width;
    const char *y = norm(net, conv(net, x, in, width, 1, 1), width, 1.0);
    const char *side = x;

    y = bench_net_op1(net, "Relu", y);
    y = norm(net, conv(net, y, width, width, 3, stride), width, 1.0);
    y = bench_net_op1(net, "Relu", y);
    y = norm(net, conv(net, y, width, out, 1, 1), out, 0.25);
    if (in != out) {
        side = norm(net, conv(net, x, in, out, 1, stride), out, 0.7);
    }
    return bench_net_op1(net, "Relu", bench_net_op2(net, "Add", y, side));
}

static void make_resnet50(bench_net_t *net)
{
    static const int blocks[] = {3, 4, 6, 3};
    const char *y = norm(net, conv(net, image(net), 3, 64, 7, 2), 64, 1.0);
    int64_t in = 64;

    y = max_pool(net, bench_net_op1(net, "Relu", y), 3, 1);
    for (int stage = 0; stage < 4; stage++) {
        const int64_t width = (int64_t)64 << stage;

        for (int block = 0; block < blocks[stage]; block++) {
            y = bottleneck(net, y, in, width, stage > 0 && block == 0 ? 2 : 1);
            in = 4 * width;
        }
    }
    y = bench_net_op1(net, "Flatten",
                      bench_net_op1(net, "GlobalAveragePool", y));
    bench_net_output(net, dense(net, y, in, 1000));
}

static const char *conv_bias_relu(bench_net_t *net, const char *x, int64_t in,
                                  int64_t out)
{
    const int64_t dims[] = {1, out, 1, 1};
    const char *bias = bench_net_weight(net, 0.1, 4, dims);
    const char *y =
        bench_net_op2(net, "Add", conv(net, x, in, out, 3, 1), bias);

    return bench_net_op1(net, "Relu", y);
}

static void make_vgg19(bench_net_t *net)
{
    static const int convs[] = {2, 2, 4, 4, 4};
    static const int64_t widths[] = {64, 128, 256, 512, 512};
    const char *y = image(net);
    int64_t in = 3;

    for (int stage = 0; stage < 5; stage++) {
        for (int i = 0; i < convs[stage]; i++) {
            y = conv_bias_relu(net, y, in, widths[stage]);
            in = widths[stage];
        }
        y = max_pool(net, y, 2, 0);
    }
    y = bench_net_op1(net, "Flatten", y);
    y = bench_net_op1(net, "Relu", dense(net, y, in * 7 * 7, 4096));
    y = bench_net_op1(net, "Relu", dense(net, y, 4096, 4096));
    bench_net_output(net, dense(net, y, 4096, 1000));
}

/* ---- Attention ---- */

enum { TOKENS = 128, HIDDEN = 768, HEADS = 12, INNER = 3072 };

static const char *project(bench_net_t *net, const char *x, int64_t in,
                           int64_t out)
{
    const char *w = bench_net_weight(net, sqrt(1.0 / (double)in), 2,
                                     (const int64_t[]){in, out});
    const char *bias = bench_net_weight(net, 0.1, 1, &out);

    return bench_net_op2(net, "Add", bench_net_op2(net, "MatMul", x, w), bias);
}

/* (N, TOKENS, HIDDEN) to (N, HEADS, ...) */
static const char *heads(bench_net_t *net, const char *x, const int64_t *perm)
{
    const int64_t shape[] = {0, TOKENS, HEADS, HIDDEN / HEADS};
    const char *y =
        bench_net_op2(net, "Reshape", x, bench_net_ints(net, 4, shape));

    bench_net_attr(net, "perm", 4, perm);
    return bench_net_op1(net, "Transpose", y);
}

static const char *attend(bench_net_t *net, const char *x)
{
    static const int64_t by_head[] = {0, 2, 1, 3};
    static const int64_t turned[] = {0, 2, 3, 1};
    const int64_t together[] = {0, TOKENS, HIDDEN};
    const char *q = heads(net, project(net, x, HIDDEN, HIDDEN), by_head);
    const char *k = heads(net, project(net, x, HIDDEN, HIDDEN), turned);
    const char *v = heads(net, project(net, x, HIDDEN, HIDDEN), by_head);
    const char *y =
        bench_net_op2(net, "Div", bench_net_op2(net, "MatMul", q, k),
                      bench_net_scalar(net, 8.0F));

    bench_net_attr_int(net, "axis", -1);
    y = bench_net_op1(net, "Softmax", y);
    y = bench_net_op2(net, "MatMul", y, v);
    bench_net_attr(net, "perm", 4, by_head);
    y = bench_net_op1(net, "Transpose", y);
    y = bench_net_op2(net, "Reshape", y, bench_net_ints(net, 3, together));
    return project(net, y, HIDDEN, HIDDEN);
}

static const char *gelu(bench_net_t *net, const char *x)
{
    const char *y =
        bench_net_op2(net, "Div", x, bench_net_scalar(net, sqrtf(2.0F)));

    y = bench_net_op2(net, "Add", bench_net_op1(net, "Erf", y),
                      bench_net_scalar(net, 1.0F));
    y = bench_net_op2(net, "Mul", x, y);
    return bench_net_op2(net, "Mul", y, bench_net_scalar(net, 0.5F));
}

static const char *layer_norm(bench_net_t *net, const char *x)
{
    const int64_t size = HIDDEN;
    const char *const inputs[] = {
        x, bench_net_weight_near(net, 1.0, 0.1, 1, &size),
        bench_net_weight(net, 0.1, 1, &size)};

    bench_net_attr_int(net, "axis", -1);
    bench_net_attr_float(net, "epsilon", 1e-12F);
    return bench_net_op(net, "LayerNormalization", 3, inputs);
}

static void make_bert(bench_net_t *net, int layers)
{
    const char *x =
        bench_net_input(net, "x", 3, (const int64_t[]){0, TOKENS, HIDDEN});

    for (int i = 0; i < layers; i++) {
        x = layer_norm(net, bench_net_op2(net, "Add", x, attend(net, x)));

        const char *y = gelu(net, project(net, x, HIDDEN, INNER));

        y = project(net, y, INNER, HIDDEN);
        x = layer_norm(net, bench_net_op2(net, "Add", x, y));
    }
    bench_net_output(net, x);
}

/* ---- Products ---- */

static void make_products(bench_net_t *net, int64_t m, int64_t n, int64_t k,
                          int copies)
{
    const char *a = bench_net_input(net, "a", 2, (const int64_t[]){m, k});

    for (int i = 0; i < copies; i++) {
        const char *b = bench_net_values(net, 2, (const int64_t[]){k, n});

        bench_net_output(net, bench_net_op2(net, "MatMul", a, b));
    }
}

/* ---- Program ---- */

static int number(const char *text, const char *what)
{
    int64_t value = 0;

    bench_need(iso_text_parse_int(text, what, 1, INT32_MAX, &value));
    return (int)value;
}

/* false: not what the program takes. */
static bool make(bench_net_t *net, int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "resnet50") == 0) {
        make_resnet50(net);
    } else if (argc == 3 && strcmp(argv[1], "vgg19") == 0) {
        make_vgg19(net);
    } else if ((argc == 3 || argc == 4) && strcmp(argv[1], "bert") == 0) {
        make_bert(net, argc == 4 ? number(argv[3], "LAYERS") : 12);
    } else if (argc == 7 && strcmp(argv[1], "products") == 0) {
        make_products(net, number(argv[3], "M"), number(argv[4], "N"),
                      number(argv[5], "K"), number(argv[6], "COPIES"));
    } else {
        return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    char path[1024];
    bench_net_t *net = bench_net_create();
    const bool is_made = make(net, argc, argv);

    if (is_made && argc == 7) {
        (void)snprintf(path, sizeof path, "%s/products-%s-%s-%s-%s.onnx",
                       argv[2], argv[3], argv[4], argv[5], argv[6]);
        bench_net_write(net, path);
    } else if (is_made) {
        bench_net_write(net, argv[2]);
    } else {
        (void)fputs("usage: make_onnx resnet50|vgg19 F.onnx\n"
                    "       make_onnx bert F.onnx [LAYERS]\n"
                    "       make_onnx products DIR M N K COPIES\n",
                    stderr);
    }
    bench_net_destroy(&net);
    return is_made ? 0 : 2;
}
