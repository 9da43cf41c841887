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
 * The link whose seconds are nearest to the times, by least squares of the
 * relative error: else the largest messages alone would decide. It has a
 * handshake, from the size on that explains the times best, when the times
 * are far nearer with one.
 *
 * bytes, seconds  [in]  (count <= 32) sizes of messages, growing, and what
 *                       they took
 * Returns false when there is no such link: fewer than two sizes, a time that
 * is not over 0, times that do not grow with the size.
 */
bool iso_link_fit(const size_t *bytes, const double *seconds, int count,
                  iso_link_t *link_out);

/*
 * The factors of a collective, likewise.
 *
 * latencies, byte_seconds  [in]  (count <= 32) for each call the sums over its
 *                                messages of their latencies, and of the time
 *                                of their bytes
 * seconds                  [in]  (count) what the calls took
 * Returns false when there are no factors over 0.
 */
bool iso_collective_fit(const double *latencies, const double *byte_seconds,
                        const double *seconds, int count,
                        iso_collective_figures_t *figures);

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
