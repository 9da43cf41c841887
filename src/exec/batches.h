/*
 * Batches: how the samples of a job that are to be done are cut into
 * micro-batches. All have the same size but the last, which may be smaller; the
 * two sizes are the two *forms* in which a stage is compiled.
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
    int64_t begin;                /* the first one to do */
    int64_t size[ISO_FORM_COUNT]; /* samples in one; tail 0: there is none */
    int64_t count;                /* micro-batches to do */
} iso_batches_t;

/* micro_batch >= 1, samples >= begin >= 0. Fewer samples than a micro-batch has
 * are one full form of their own size. */
static inline iso_batches_t iso_batches_of(int64_t begin, int64_t samples,
                                           int64_t micro_batch)
{
    iso_batches_t batches = {.samples = samples, .begin = begin};
    int64_t left = samples - begin;
    int64_t full = left < micro_batch ? left : micro_batch;

    if (full < 1) {
        full = 1;
    }
    batches.size[ISO_FORM_FULL] = full;
    batches.size[ISO_FORM_TAIL] = left % full;
    batches.count = (left + full - 1) / full;
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
    return batches->begin + index * batches->size[ISO_FORM_FULL];
}

/* Number behind the last sample of a micro-batch. */
static inline int64_t iso_batches_end(const iso_batches_t *batches,
                                      int64_t index)
{
    return iso_batches_first(batches, index) +
           batches->size[iso_batches_form(batches, index)];
}

#endif
