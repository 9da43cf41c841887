/*
 * Rate classes: kinds of work whose speeds differ on one machine. A class is
 * a class of ops and, for sums of products, a range of shapes: few enough
 * that each is measured (isotome-calibrate(1)) and can be explained.
 *
 *     conv-1x1           one product for each input channel
 *     conv-1x1-short     fewer than 128 of them in all
 *     conv-3x3           2 to 9 of them
 *     conv-large-kernel  more than 9
 *     conv-few-channels  fewer than 32 input channels, ungrouped, any kernel
 *     conv-grouped       groups of 4 input channels or more
 *     conv-depthwise     groups of fewer
 *     matmul-skinny      fewer than 16 rows or columns
 *     matmul-values      of two values, none a weight: attention
 *     matmul-small       fewer than 128^3 products in one matrix
 *     matmul-large       all others
 *     elementwise        one or few instructions for each element
 *     transcendental     exp, log, tanh, erf and what is made of them
 *     reduce, norm, pool by class of op; batch_norm is elementwise
 *     move               copies; its rate is in bytes, read and written
 *
 * Transposed convolutions belong with convolutions, gemm with matmul. Rates
 * are those of f32.
 */
#ifndef ISO_RATE_H
#define ISO_RATE_H

#include <stdbool.h>

typedef enum iso_rate_unit {
    ISO_RATE_FLOPS,
    ISO_RATE_BYTES,
} iso_rate_unit_t;

/* X(NAME, text, unit) */
#define ISO_RATE_MAP(X)                              \
    X(CONV_1X1, "conv-1x1", FLOPS)                   \
    X(CONV_1X1_SHORT, "conv-1x1-short", FLOPS)       \
    X(CONV_3X3, "conv-3x3", FLOPS)                   \
    X(CONV_LARGE_KERNEL, "conv-large-kernel", FLOPS) \
    X(CONV_FEW_CHANNELS, "conv-few-channels", FLOPS) \
    X(CONV_GROUPED, "conv-grouped", FLOPS)           \
    X(CONV_DEPTHWISE, "conv-depthwise", FLOPS)       \
    X(MATMUL_LARGE, "matmul-large", FLOPS)           \
    X(MATMUL_SMALL, "matmul-small", FLOPS)           \
    X(MATMUL_VALUES, "matmul-values", FLOPS)         \
    X(MATMUL_SKINNY, "matmul-skinny", FLOPS)         \
    X(ELEMENTWISE, "elementwise", FLOPS)             \
    X(TRANSCENDENTAL, "transcendental", FLOPS)       \
    X(REDUCE, "reduce", FLOPS)                       \
    X(NORM, "norm", FLOPS)                           \
    X(POOL, "pool", FLOPS)                           \
    X(MOVE, "move", BYTES)

typedef enum iso_rate_class {
#define X(name, text, unit) ISO_RATE_##name,
    ISO_RATE_MAP(X)
#undef X
        ISO_RATE_CLASS_COUNT
} iso_rate_class_t;

const char *iso_rate_class_string(iso_rate_class_t rate_class);
iso_rate_unit_t iso_rate_class_unit(iso_rate_class_t rate_class);

/* Whether the time of the bytes is added to that of the work: a core that
 * waits for memory does not multiply. Of other classes the longer one counts,
 * which is what their rates are measured as. */
bool iso_rate_class_waits(iso_rate_class_t rate_class);

#endif
