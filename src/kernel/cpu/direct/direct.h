/*
 * Direct contractions: one description for convolutions and products by
 * packed weights, and one driver for them.
 *
 * Pixels are the output positions of a convolution or the rows of a product,
 * lanes its output channels or columns. A task is a region of pixels by some
 * lanes. It lays out what the region reads as a strip, unless the kernels can
 * read it where it lies; then, for a few lanes at a time, so that their panel
 * of weights stays near, it runs all tiles of the region.
 */
#ifndef ISO_DIRECT_H
#define ISO_DIRECT_H

#include "kernel/arith.h"
#include "kernel/cpu/chain.h"
#include "kernel/cpu/cpu_impl.h"
#include "kernel/cpu/direct/pack.h"
#include "kernel/cpu/window.h"

/* How the elements of the channels that are summed lie. */
typedef enum iso_source {
    ISO_SOURCE_PLAIN,   /* (channels, positions) */
    ISO_SOURCE_BLOCKED, /* (channels / 16, positions, 16) */
    ISO_SOURCE_ROWS,    /* (positions, channels) */
} iso_source_t;

/* The taps of the weights that an axis of the geometry reads: its tap number
 * p is tap first + p step of the weights. All of them, but for the runs of a
 * transposed convolution. */
typedef struct iso_tap_line {
    int64_t count; /* taps of the weights */
    int64_t first;
    int64_t step; /* may be negative */
} iso_tap_line_t;

#define ISO_ONE_TAP           \
    {                         \
        {1, 0, 1}, {1, 0, 1}, \
        {                     \
            1, 0, 1           \
        }                     \
    }

typedef struct iso_direct {
    const iso_panels_t *panels;
    iso_blocks_t blocks;
    int64_t channels;        /* of a group, that are summed */
    iso_geometry_t geometry; /* of rows: one tap, positions in a line */
    iso_tap_line_t taps[ISO_MAX_SPATIAL];
    int64_t images;
    int64_t groups;
    iso_source_t source;
    const float *in;
    int64_t in_pixel; /* of rows: elements to the next one */
    int64_t in_image; /* elements to the next image */
    float *out;
    const float *addend; /* NULL: none; lies as out does */
    int64_t out_image;
    int64_t out_step[ISO_MAX_SPATIAL]; /* to the next plane, row, pixel */
    int64_t out_channel; /* elements to the next 16 lanes; to the next lane of
                          * an output that is spread */
    bool is_spread;      /* lanes are no neighbours */
    const float *bias;   /* (groups, lanes); NULL: none */
    iso_finish_t before; /* activations, before and after the addend */
    iso_finish_t after;
    const iso__chain_t *chain; /* of rows: what follows, and writes the output;
                                * NULL: nothing */
} iso_direct_t;

/* Elements of iso_space_t.partials that a task uses: partial sums, a strip,
 * what a chain follows. Those behind are the caller's. */
enum {
    ISO_DIRECT_BLOCK = 32 * 1024,
    ISO_DIRECT_SPACE =
        64 * 1024 + ISO_STRIP_MOST + 96 * 1024 + ISO_DIRECT_BLOCK,
};

/* space: that of the first of cpu's threads. */
void iso__direct_run_in(const iso_cpu_t *cpu, const iso_direct_t *direct,
                        iso_space_t *space);
void iso__direct_run(const iso_cpu_t *cpu, const iso_direct_t *direct);

/* Activations of a step into before and after. */
void iso__direct_set_activations(const iso_cpu_t *cpu,
                                 const iso_activation_param_t *activation,
                                 const iso_cpu_step_t *step,
                                 iso_direct_t *direct);

/* f32 contractions with packed weights; the contract of iso_cpu_run_step. */
iso_status_t iso__direct_conv(const iso_cpu_t *cpu, const iso_cpu_step_t *step);
iso_status_t iso__direct_transposed(const iso_cpu_t *cpu,
                                    const iso_cpu_step_t *step);
iso_status_t iso__direct_matmul(const iso_cpu_t *cpu,
                                const iso_cpu_step_t *step);

#endif
