/*
 * Fit: figures of a machine from measured times.
 *
 *     iso_timing_t timing = iso_timing_of(seconds, 9);  // sorts them
 *     if (iso_link_fit(bytes, medians, 6, &link)) ...
 */
#ifndef ISO_MACHINE_FIT_H
#define ISO_MACHINE_FIT_H

#include "isotome/machine.h"

#include <stdbool.h>

typedef struct iso_timing {
    double median_s;
    double spread; /* interquartile range / median */
} iso_timing_t;

/* seconds [in, out] (count >= 1), sorted. */
iso_timing_t iso_timing_of(double *seconds, int count);

/*
 * The latency and bandwidth whose latency + bytes / bandwidth is nearest to
 * the times, by least squares of the relative error: else the largest
 * messages alone would decide.
 *
 * bytes, seconds  [in]  (count) sizes of messages, and what they took
 * Returns false when there is no such link: fewer than two sizes, a time that
 * is not over 0, times that do not grow with the size.
 */
bool iso_link_fit(const size_t *bytes, const double *seconds, int count,
                  iso_link_t *link_out);

/*
 * Ranks of one host that seem to differ by no more than the measurements of
 * each do are alike: they get the median of their figures. So equal ranks get
 * equal pieces, whatever noise there was.
 *
 * ranks  [in, out]  (count) with host set
 * Errors: ISO_NOMEM.
 */
iso_status_t iso_machine_ranks_level(iso_machine_rank_t *ranks, int count);

#endif
