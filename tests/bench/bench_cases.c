#include "bench_cases.h"

#include <stddef.h>
#include <string.h>

/* clang-format off */
#define PLAIN(in, size, out, kernel, stride) \
    {1, in, size, out, {kernel, kernel}, stride, 1, 1, false}
#define DEPTHWISE(channels, size, kernel, stride) \
    {1, channels, size, channels, {kernel, kernel}, stride, 1, channels, false}
#define SHAPED(in, size, out, height, width, dilation) \
    {1, in, size, out, {height, width}, 1, dilation, 1, false}
#define GROUPED(in, size, out, kernel, stride, groups) \
    {1, in, size, out, {kernel, kernel}, stride, 1, groups, false}
#define TRANSPOSED(in, size, out, kernel, stride, groups) \
    {1, in, size, out, {kernel, kernel}, stride, 1, groups, true}

/* All of ResNet-50, each shape once. */
static const bench_conv_t resnet50[] = {
    PLAIN(3, 224, 64, 7, 2),   PLAIN(64, 56, 64, 1, 1),
    PLAIN(64, 56, 64, 3, 1),   PLAIN(64, 56, 256, 1, 1),
    PLAIN(256, 56, 64, 1, 1),  PLAIN(256, 56, 512, 1, 2),
    PLAIN(128, 56, 128, 3, 2), PLAIN(128, 28, 128, 3, 1),
    PLAIN(128, 28, 512, 1, 1), PLAIN(512, 28, 128, 1, 1),
    PLAIN(256, 28, 256, 3, 2), PLAIN(256, 14, 256, 3, 1),
    PLAIN(256, 14, 1024, 1, 1), PLAIN(1024, 14, 256, 1, 1),
    PLAIN(512, 14, 512, 3, 2), PLAIN(512, 7, 512, 3, 1),
    PLAIN(512, 7, 2048, 1, 1), PLAIN(2048, 7, 512, 1, 1),
};

/* Of MobileNet-v2 and EfficientNet-B0, and the less usual forms. */
static const bench_conv_t mobile[] = {
    PLAIN(3, 224, 32, 3, 2),
    DEPTHWISE(32, 112, 3, 1),  DEPTHWISE(96, 112, 3, 2),
    DEPTHWISE(144, 56, 3, 1),  DEPTHWISE(144, 56, 3, 2),
    DEPTHWISE(144, 56, 5, 2),  DEPTHWISE(192, 28, 3, 1),
    DEPTHWISE(192, 28, 3, 2),  DEPTHWISE(240, 28, 5, 1),
    DEPTHWISE(240, 28, 3, 2),  DEPTHWISE(480, 14, 3, 1),
    DEPTHWISE(480, 14, 5, 1),  DEPTHWISE(672, 14, 5, 1),
    DEPTHWISE(672, 14, 5, 2),  DEPTHWISE(960, 7, 3, 1),
    DEPTHWISE(1152, 7, 5, 1),  DEPTHWISE(1152, 7, 3, 1),
    PLAIN(32, 112, 16, 1, 1),  PLAIN(16, 112, 96, 1, 1),
    PLAIN(96, 56, 24, 1, 1),   PLAIN(24, 56, 144, 1, 1),
    PLAIN(144, 56, 24, 1, 1),  PLAIN(144, 28, 40, 1, 1),
    PLAIN(32, 28, 192, 1, 1),  PLAIN(192, 28, 32, 1, 1),
    PLAIN(40, 28, 240, 1, 1),  PLAIN(240, 28, 40, 1, 1),
    PLAIN(240, 14, 80, 1, 1),  PLAIN(80, 14, 480, 1, 1),
    PLAIN(480, 14, 80, 1, 1),  PLAIN(480, 14, 112, 1, 1),
    PLAIN(112, 14, 672, 1, 1), PLAIN(672, 14, 112, 1, 1),
    PLAIN(672, 7, 192, 1, 1),  PLAIN(192, 7, 1152, 1, 1),
    PLAIN(1152, 7, 192, 1, 1), PLAIN(1152, 7, 320, 1, 1),
    PLAIN(960, 7, 160, 1, 1),  PLAIN(320, 7, 1280, 1, 1),
    PLAIN(16, 28, 32, 5, 1),   PLAIN(32, 14, 96, 5, 1),
    PLAIN(48, 28, 64, 5, 2),
    SHAPED(64, 56, 64, 3, 3, 2), SHAPED(256, 14, 256, 3, 3, 2),
    SHAPED(64, 28, 64, 1, 3, 1), SHAPED(64, 28, 64, 3, 1, 1),
    SHAPED(384, 7, 384, 1, 3, 1), SHAPED(384, 7, 384, 3, 1, 1),
};

/* Of ResNeXt-50, RegNet-Y, ShuffleNet; few channels a group. */
static const bench_conv_t grouped[] = {
    GROUPED(128, 56, 128, 3, 1, 32),  GROUPED(256, 56, 256, 3, 2, 32),
    GROUPED(256, 28, 256, 3, 1, 32),  GROUPED(512, 14, 512, 3, 1, 32),
    GROUPED(1024, 7, 1024, 3, 1, 32), GROUPED(104, 28, 104, 3, 1, 13),
    GROUPED(208, 14, 208, 3, 1, 26),  GROUPED(120, 28, 120, 3, 1, 5),
    GROUPED(336, 14, 336, 3, 1, 14),  GROUPED(448, 28, 448, 3, 1, 8),
    GROUPED(896, 14, 896, 3, 1, 16),  GROUPED(96, 28, 96, 5, 1, 8),
    GROUPED(64, 56, 128, 3, 1, 64),   GROUPED(144, 28, 240, 3, 1, 48),
    GROUPED(240, 28, 60, 1, 1, 3),    GROUPED(60, 28, 240, 1, 1, 3),
    GROUPED(384, 28, 96, 1, 1, 8),    GROUPED(96, 28, 384, 1, 1, 8),
};

/* Of U-Net, DCGAN and others that enlarge. */
static const bench_conv_t transposed[] = {
    TRANSPOSED(1024, 14, 512, 2, 2, 1), TRANSPOSED(512, 28, 256, 2, 2, 1),
    TRANSPOSED(256, 56, 128, 2, 2, 1),  TRANSPOSED(128, 112, 64, 2, 2, 1),
    TRANSPOSED(512, 4, 256, 4, 2, 1),   TRANSPOSED(256, 8, 128, 4, 2, 1),
    TRANSPOSED(128, 16, 64, 4, 2, 1),   TRANSPOSED(256, 32, 256, 4, 2, 1),
    TRANSPOSED(128, 28, 64, 3, 2, 1),   TRANSPOSED(96, 28, 48, 5, 2, 1),
    TRANSPOSED(64, 56, 64, 3, 1, 1),    TRANSPOSED(64, 28, 32, 8, 4, 1),
    TRANSPOSED(64, 28, 64, 4, 2, 4),    TRANSPOSED(24, 28, 24, 4, 2, 24),
    TRANSPOSED(64, 64, 3, 4, 2, 1),
};

/* To see that a bench runs, with lanes and borders left over. */
static const bench_conv_t tiny[] = {
    PLAIN(5, 9, 7, 3, 1),      PLAIN(16, 8, 33, 1, 1),
    DEPTHWISE(17, 9, 3, 2),    SHAPED(16, 9, 20, 1, 3, 2),
    GROUPED(12, 9, 20, 3, 1, 4), TRANSPOSED(6, 5, 10, 3, 2, 2),
};

static const bench_product_t products[] = {
    {256, 256, 256},   {1024, 1024, 1024}, {2048, 2048, 2048},
    {197, 768, 768},   {197, 3072, 768},   {197, 768, 3072},
    {64, 3136, 576},   {256, 196, 2304},   {1, 4096, 4096},
    {4, 4096, 4096},   {16, 4096, 1024},   {64, 4096, 4096},
};

static const bench_product_t tiny_products[] = {
    {7, 33, 65}, {1, 40, 300}, {4, 64, 16},
};
/* clang-format on */

#define FOUND(list) (*count_out = (int)(sizeof(list) / sizeof *(list)), (list))

const bench_conv_t *bench_conv_list(const char *name, int *count_out)
{
    if (strcmp(name, "resnet50") == 0) {
        return FOUND(resnet50);
    }
    if (strcmp(name, "mobile") == 0) {
        return FOUND(mobile);
    }
    if (strcmp(name, "grouped") == 0) {
        return FOUND(grouped);
    }
    if (strcmp(name, "transposed") == 0) {
        return FOUND(transposed);
    }
    if (strcmp(name, "tiny") == 0) {
        return FOUND(tiny);
    }
    return NULL;
}

const bench_product_t *bench_product_list(const char *name, int *count_out)
{
    if (strcmp(name, "all") == 0) {
        return FOUND(products);
    }
    if (strcmp(name, "tiny") == 0) {
        return FOUND(tiny_products);
    }
    return NULL;
}

int64_t bench_conv_pad(const bench_conv_t *conv, int axis)
{
    const int64_t more = conv->dilation * (conv->kernel[axis] - 1);

    if (conv->is_transposed) {
        return more + 1 > conv->stride ? (more + 1 - conv->stride) / 2 : 0;
    }
    return more / 2;
}

int64_t bench_conv_out_size(const bench_conv_t *conv, int axis)
{
    const int64_t reach = conv->dilation * (conv->kernel[axis] - 1) + 1;

    if (conv->is_transposed) {
        return (conv->size - 1) * conv->stride + reach -
               2 * bench_conv_pad(conv, axis);
    }
    return (conv->size + 2 * bench_conv_pad(conv, axis) - reach) /
               conv->stride +
           1;
}

double bench_conv_flops(const bench_conv_t *conv)
{
    const int64_t in = conv->in / conv->groups;

    const int64_t places =
        conv->is_transposed
            ? conv->size * conv->size
            : bench_conv_out_size(conv, 0) * bench_conv_out_size(conv, 1);

    return 2.0 * (double)(conv->images * conv->out) * (double)places *
           (double)in * (double)(conv->kernel[0] * conv->kernel[1]);
}

double bench_product_flops(const bench_product_t *product)
{
    return 2.0 * (double)product->m * (double)product->n * (double)product->k;
}
