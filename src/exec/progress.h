/*
 * Progress of a job on stderr: rate and time left, on a terminal twice a
 * second in place, else one line a minute.
 */
#ifndef ISO_PROGRESS_H
#define ISO_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct iso_progress {
    int64_t samples; /* in the whole job */
    int64_t begin;   /* done before */
    double begin_s;
    double shown_s;
    bool terminal;
    bool shown; /* a line is on the terminal */
} iso_progress_t;

/* begin  [in]  samples that were done by an earlier job */
void iso_progress_begin(iso_progress_t *progress, int64_t begin,
                        int64_t samples);
void iso_progress_update(iso_progress_t *progress, int64_t done);

/* Clear the terminal's line. */
void iso_progress_end(iso_progress_t *progress);

#endif
