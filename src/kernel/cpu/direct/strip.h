/*
 * Strips: what a region of output pixels reads of one image, laid out for the
 * tile kernels: +0 where the padding is, the channels of a block neighbours.
 *
 *     (channel blocks, planes, rows, columns, width)
 *
 * width is 16, or the number of channels when they are fewer. Of rows
 * (ISO_SOURCE_ROWS) a strip is (columns, width), width a little more than the
 * channels, so that the pixels of a tile do not meet in the same sets of the
 * cache.
 */
#ifndef ISO_STRIP_H
#define ISO_STRIP_H

#include "kernel/cpu/direct/direct.h"

typedef struct iso_strip {
    int64_t plane; /* first one in the image; may be negative, in the padding */
    int64_t row;
    int64_t column;
    int64_t planes;
    int64_t rows;
    int64_t columns;
    int64_t width;
    int64_t blocks;  /* of channels */
    int64_t channel; /* of the image, first one */
} iso_strip_t;

/* Pixels of one plane of output: rows [row, row + rows), columns likewise. */
typedef struct iso_pixels {
    int64_t plane;
    int64_t row;
    int64_t rows;
    int64_t column;
    int64_t columns;
} iso_pixels_t;

iso_strip_t iso__strip_of(const iso_direct_t *direct,
                          const iso_pixels_t *pixels);

/* Elements of a strip. */
int64_t iso__strip_count(const iso_strip_t *strip);

/* from: one image. */
void iso__strip_fill(const iso_cpu_t *cpu, const iso_direct_t *direct,
                     const iso_strip_t *strip, const float *from, float *to);

#endif
