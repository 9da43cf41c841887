/*
 * Ops on values in channel blocks (kernel/format.h), but for contractions.
 * What lies in the lanes behind the last channel reaches no other lane.
 */
#ifndef ISO_BLOCKED_H
#define ISO_BLOCKED_H

#include "graph/param.h"
#include "kernel/cpu.h"
#include "kernel/cpu/light.h"

/*
 * Compute a step of which the output or operand 0 is blocked; the contract of
 * iso_cpu_run_step. false: there is no blocked version of this op, these
 * formats or shapes; nothing was written.
 */
bool iso__blocked_run(const iso__light_t *light, const iso_cpu_step_t *step);

/* ---- The innermost loops, once for each instruction set ---- */

/* (16) each; y = (x - mean) / deviation * scale + bias. */
typedef struct iso_blocked_norm {
    float mean[ISO_BLOCK_CHANNELS];
    float deviation[ISO_BLOCK_CHANNELS];
    float scale[ISO_BLOCK_CHANNELS];
    float bias[ISO_BLOCK_CHANNELS];
} iso_blocked_norm_t;

/* Neighbouring positions of a pool that have the same taps inside. */
typedef struct iso_blocked_pool {
    bool is_max;
    const float *in;               /* first tap of the first position */
    int64_t taps[ISO_MAX_SPATIAL]; /* inside */
    int64_t step[ISO_MAX_SPATIAL]; /* elements to the next tap */
    int64_t count;                 /* positions */
    int64_t pixel_step;            /* elements to the next position's taps */
    float divisor;                 /* of a mean */
    float *out;                    /* (count, 16) */
} iso_blocked_pool_t;

typedef struct iso_blocked_isa {
    /* Positions of `channels` plain channels, at most 16, which are
     * channel_step apart, from and to (n, 16). Lanes without a channel are
     * written as +0. */
    void (*from_plain)(const float *from, int64_t channel_step, int channels,
                       int64_t n, float *to);
    void (*to_plain)(const float *from, int64_t n, int64_t channel_step,
                     int channels, float *to);

    /* y (n, 16) of x (n, 16). */
    void (*norm)(const iso_blocked_norm_t *norm, const float *x, float *y,
                 int64_t n);

    /* y (16): means of x (n, 16). */
    void (*mean)(const float *x, int64_t n, float *y);

    void (*pool)(const iso_blocked_pool_t *pool);
} iso_blocked_isa_t;

extern const iso_blocked_isa_t iso__blocked_avx512;
extern const iso_blocked_isa_t iso__blocked_avx2;
extern const iso_blocked_isa_t iso__blocked_portable;

/* The one that goes with these light ops. Never NULL. */
const iso_blocked_isa_t *iso__blocked_isa_of(const iso__light_t *light);

#endif
