/*
 * Slow ranks: those that compute much longer than was predicted of them,
 * beside the others of the job. That all take longer than predicted says
 * something of the prediction; that one does, of its host.
 */
#ifndef ISO_SLOW_H
#define ISO_SLOW_H

#include "exec/report.h"

/* So many times the prediction, beside the median rank's, is slow. */
enum { ISO_SLOW_TIMES = 10 };

/*
 * Fill in slow_times of all ranks: how many times longer than predicted the
 * rank computed, beside the lower median of all ranks that compute, when that
 * is slow and the rank computed for a second at least; else 0.
 */
void iso_slow_find(iso_report_rank_t *ranks, int size);

#endif
