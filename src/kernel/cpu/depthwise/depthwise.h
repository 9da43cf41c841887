/*
 * Depthwise convolution of weights in panels: every output channel is one
 * input channel under its own kernel, so 16 channels are the lanes of a
 * vector and a sum is one block. Groups of 2, 4 or 8 channels are the same
 * with as many kernels for each, one after the other: the lanes of a group
 * read the first of its channels, then the second...
 *
 * Values that are plain are brought into blocks of 16 channels on the way in
 * and out, a few rows at a time, in the space of the thread.
 */
#ifndef ISO_DEPTHWISE_H
#define ISO_DEPTHWISE_H

#include "kernel/cpu/cpu_impl.h"

/* What follows a sum before it is stored: + 0, + bias, then min(max(x,
 * least), most), which keeps a NaN. */
typedef struct iso_depthwise_finish {
    bool is_clipped;
    bool has_most; /* else only least counts */
    float least;
    float most; /* not 0 */
} iso_depthwise_finish_t;

/* An axis of the operand and the output, of which a part is looked at. */
typedef struct iso_depthwise_axis {
    int64_t in;   /* indices that exist; taps elsewhere are left out */
    int64_t out;  /* indices to compute */
    int64_t taps; /* of the kernel */
    int64_t stride;
    int64_t dilation;
    int64_t shift; /* index that tap 0 of the first output reads */
} iso_depthwise_axis_t;

/* Some rows of the output, (rows, columns, 16) of each of some channel
 * blocks. */
typedef struct iso_depthwise_run {
    int64_t n_planes;     /* of taps, all of which lie inside */
    const float *in;      /* (rows.in, columns.in, 16) of the first plane */
    int64_t in_plane;     /* elements to the next plane that is read */
    int64_t in_row;       /* elements to the next row */
    int64_t depth;        /* channels of a group: 1, 2, 4, 8 */
    const float *weights; /* (depth, n_planes, rows.taps, columns.taps, 16) */
    int64_t weights_channel; /* elements to the next channel of a group */
    iso_depthwise_axis_t rows;
    iso_depthwise_axis_t columns;
    const float *bias; /* (channels), or NULL */
    iso_depthwise_finish_t finish;
    float *out;
    int64_t out_row;
    int64_t channels; /* of all blocks */
    int64_t n_blocks;
    int64_t in_block; /* elements to the next block */
    int64_t weights_block;
    int64_t out_block;
} iso_depthwise_run_t;

/* depthwise_body.h, compiled once for each instruction set. */
typedef struct iso_depthwise_isa {
    void (*run)(const iso_depthwise_run_t *run);
} iso_depthwise_isa_t;

extern const iso_depthwise_isa_t iso__depthwise_avx512;
extern const iso_depthwise_isa_t iso__depthwise_avx2;
extern const iso_depthwise_isa_t iso__depthwise_portable;

/* Of a family that this CPU can run. Never NULL. */
const iso_depthwise_isa_t *iso__depthwise_isa_of(iso_family_t family);

/*
 * Compute a conv whose panels are depthwise, with what is joined to it; the
 * contract of iso_cpu_run_step. false: the step is no such conv; nothing was
 * written.
 */
bool iso__depthwise_run(const iso_cpu_t *cpu, const iso_cpu_step_t *step);

#endif
