#include "kernel/cpu/direct/strip.h"

#include "kernel/format.h"

#include <string.h>

enum { ROW_GAP = 16 /* elements: a line of the cache */ };

static int64_t min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* What n outputs of an axis read. */
static int64_t extent(const iso_geometry_t *g, int axis, int64_t n)
{
    return (n - 1) * g->step[axis] + (g->kernel[axis] - 1) * g->tap_step[axis] +
           1;
}

iso_strip_t iso__strip_of(const iso_direct_t *direct,
                          const iso_pixels_t *pixels)
{
    const iso_geometry_t *g = &direct->geometry;
    iso_strip_t strip = {
        .plane = pixels->plane * g->step[0] + g->shift[0],
        .row = pixels->row * g->step[1] + g->shift[1],
        .column = pixels->column * g->step[2] + g->shift[2],
        .planes = extent(g, 0, 1),
        .rows = extent(g, 1, pixels->rows),
        .columns = extent(g, 2, pixels->columns),
        .width = min64(direct->channels, ISO_BLOCK_CHANNELS),
        .blocks =
            (direct->channels + ISO_BLOCK_CHANNELS - 1) / ISO_BLOCK_CHANNELS,
    };

    if (direct->source == ISO_SOURCE_ROWS) {
        strip.width = direct->channels + ROW_GAP;
        strip.blocks = 1;
    }
    return strip;
}

int64_t iso__strip_count(const iso_strip_t *strip)
{
    return strip->blocks * strip->planes * strip->rows * strip->columns *
           strip->width;
}

/* Some channels of n columns, which begin anywhere in a block of them and may
 * end in the next one. */
static void copy_blocked(const float *image, int64_t plane, int64_t channel,
                         int64_t channels, int64_t n, int64_t width, float *to)
{
    const int64_t first = channel % ISO_BLOCK_CHANNELS;
    const int64_t head = min64(channels, ISO_BLOCK_CHANNELS - first);
    const float *from =
        image + channel / ISO_BLOCK_CHANNELS * ISO_BLOCK_CHANNELS * plane;

    if (first == 0 && width == ISO_BLOCK_CHANNELS) {
        memcpy(to, from, (size_t)(n * width) * sizeof *to);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        memcpy(to + i * width, from + i * ISO_BLOCK_CHANNELS + first,
               (size_t)head * sizeof *to);
    }
    from += ISO_BLOCK_CHANNELS * plane;
    for (int64_t i = 0; head < channels && i < n; i++) {
        memcpy(to + i * width + head, from + i * ISO_BLOCK_CHANNELS,
               (size_t)(channels - head) * sizeof *to);
    }
}

/* Columns of a row of a block of channels; from: the first one, of the image's
 * first channel. */
static void copy_columns(const iso_cpu_t *cpu, const iso_direct_t *direct,
                         const iso_strip_t *strip, int64_t block,
                         const float *from, int64_t n, float *to)
{
    const int64_t plane = direct->geometry.plane;
    const int64_t first = block * ISO_BLOCK_CHANNELS;
    const int64_t channels = min64(direct->channels - first, strip->width);

    if (direct->source == ISO_SOURCE_BLOCKED) {
        copy_blocked(from, plane, strip->channel + first, channels, n,
                     strip->width, to);
        return;
    }
    cpu->isa->pack(from + (strip->channel + first) * plane, plane, 1, channels,
                   n, strip->width, to);
}

/* at: of the row in a plane. */
static void fill_row(const iso_cpu_t *cpu, const iso_direct_t *direct,
                     const iso_strip_t *strip, int64_t block,
                     const float *image, int64_t at, float *to)
{
    const int64_t in = direct->geometry.in[2];
    const int64_t width = strip->width;
    const int64_t column_step =
        direct->source == ISO_SOURCE_BLOCKED ? ISO_BLOCK_CHANNELS : 1;
    const int64_t left =
        strip->column < 0 ? min64(-strip->column, strip->columns) : 0;
    int64_t n = min64(in - strip->column, strip->columns) - left;

    n = n < 0 ? 0 : n;
    memset(to, 0, (size_t)(left * width) * sizeof *to);
    if (n > 0) {
        copy_columns(cpu, direct, strip, block,
                     image + (at + strip->column + left) * column_step, n,
                     to + left * width);
    }
    memset(to + (left + n) * width, 0,
           (size_t)((strip->columns - left - n) * width) * sizeof *to);
}

static void fill_block(const iso_cpu_t *cpu, const iso_direct_t *direct,
                       const iso_strip_t *strip, int64_t block,
                       const float *image, float *to)
{
    const iso_geometry_t *g = &direct->geometry;
    const int64_t row_elements = strip->columns * strip->width;

    for (int64_t i = 0; i < strip->planes * strip->rows; i++) {
        const int64_t plane = strip->plane + i / strip->rows;
        const int64_t row = strip->row + i % strip->rows;

        if (plane < 0 || plane >= g->in[0] || row < 0 || row >= g->in[1]) {
            memset(to, 0, (size_t)row_elements * sizeof *to);
        } else {
            fill_row(cpu, direct, strip, block, image,
                     (plane * g->in[1] + row) * g->in[2], to);
        }
        to += row_elements;
    }
}

void iso__strip_fill(const iso_cpu_t *cpu, const iso_direct_t *direct,
                     const iso_strip_t *strip, const float *from, float *to)
{
    if (direct->source == ISO_SOURCE_ROWS) {
        for (int64_t i = 0; i < strip->columns; i++) {
            memcpy(to + i * strip->width,
                   from + (strip->column + i) * direct->in_pixel,
                   (size_t)direct->channels * sizeof *to);
        }
        return;
    }
    for (int64_t b = 0; b < strip->blocks; b++) {
        fill_block(cpu, direct, strip, b, from, to);
        to += iso__strip_count(strip) / strip->blocks;
    }
}
