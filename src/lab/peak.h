/*
 * Peak: what the cores of this process reach at most, beside which a measured
 * speed says something.
 *
 *     const iso_peak_t peak = iso_peak_of(threads, iso_uncached_bytes());
 */
#ifndef ISO_PEAK_H
#define ISO_PEAK_H

#include "isotome/status.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Floating-point operations a second of the calling thread, which multiplies
 * and adds in its widest registers and does nothing else; the best of some
 * tries of a few milliseconds.
 *
 * now_s  [in]  the clock, in seconds
 */
double iso_peak_flops_per_s(double (*now_s)(void));

/* Bytes a second of the calling thread, which reads values (count, a multiple
 * of 64, aligned to 64 bytes) once. */
double iso_peak_read_bytes_per_s(const float *values, int64_t count,
                                 double (*now_s)(void));

/* Of all threads of a process at the same time, together. */
typedef struct iso_peak {
    double flops_per_s;
    double read_bytes_per_s; /* of memory */
} iso_peak_t;

/*
 * Measure; a few tenths of a second. Not collective, but ranks that share a
 * host do it at the same time.
 *
 * threads  [in]  of this process
 * bytes    [in]  of memory that they read together, more than the caches hold
 * Errors: ISO_NOMEM.
 */
iso_status_t iso_peak_measure(int threads, size_t bytes, iso_peak_t *peak_out);

/* Several times the last cache, a power of two. */
size_t iso_peak_uncached_bytes(void);

/* What the processor is called; "unknown" when the system does not say. */
void iso_peak_cpu_name(char *name, size_t bytes);

#endif
