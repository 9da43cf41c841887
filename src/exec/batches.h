/*
 * Batches: how the samples of a job are cut into micro-batches. All have the
 * same size but the last, which may be smaller; the two sizes are the two
 * *forms* in which a stage is compiled.
 */
#ifndef ISO_BATCHES_H
#define ISO_BATCHES_H

#include <stdint.h>

typedef enum iso_form {
    ISO_FORM_FULL,
    ISO_FORM_TAIL,
    ISO_FORM_COUNT
} iso_form_t;

typedef struct iso_batches {
    int64_t samples;              /* in the job; may be 0 */
    int64_t size[ISO_FORM_COUNT]; /* samples in one; tail 0: there is none */
    int64_t count;                /* micro-batches in the job */
} iso_batches_t;

/* micro_batch >= 1, samples >= 0. A job smaller than the micro-batch has one
 * full form of its own size. */
static inline iso_batches_t iso_batches_of(int64_t samples, int64_t micro_batch)
{
    iso_batches_t batches = {.samples = samples};
    int64_t full = samples < micro_batch ? samples : micro_batch;

    if (full < 1) {
        full = 1;
    }
    batches.size[ISO_FORM_FULL] = full;
    batches.size[ISO_FORM_TAIL] = samples % full;
    batches.count = (samples + full - 1) / full;
    return batches;
}

static inline iso_form_t iso_batches_form(const iso_batches_t *batches,
                                          int64_t index)
{
    return index == batches->count - 1 && batches->size[ISO_FORM_TAIL] > 0
               ? ISO_FORM_TAIL
               : ISO_FORM_FULL;
}

/* Number of the first sample of a micro-batch. */
static inline int64_t iso_batches_first(const iso_batches_t *batches,
                                        int64_t index)
{
    return index * batches->size[ISO_FORM_FULL];
}

/* Number behind the last sample of a micro-batch. */
static inline int64_t iso_batches_end(const iso_batches_t *batches,
                                      int64_t index)
{
    return iso_batches_first(batches, index) +
           batches->size[iso_batches_form(batches, index)];
}

#endif
