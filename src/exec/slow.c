#include "exec/slow.h"

/* Shorter times are noise. */
static const double least_s = 1;

static double ratio_of(const iso_report_rank_t *rank)
{
    return rank->stage < 0 || rank->planned_compute_s <= 0
               ? 0
               : rank->times.compute_s / rank->planned_compute_s;
}

/* Of those that are not 0; 0 when all are. */
static double lower_median(const iso_report_rank_t *ranks, int size)
{
    double median = 0;
    int count = 0;

    for (int i = 0; i < size; i++) {
        count += ratio_of(&ranks[i]) > 0 ? 1 : 0;
    }
    for (int i = 0; i < size; i++) {
        const double ratio = ratio_of(&ranks[i]);
        int below = 0;
        int equal = 0;

        for (int j = 0; j < size; j++) {
            const double other = ratio_of(&ranks[j]);

            below += other > 0 && other < ratio ? 1 : 0;
            equal += other == ratio ? 1 : 0;
        }
        if (ratio > 0 && below <= (count - 1) / 2 &&
            (count - 1) / 2 < below + equal) {
            median = ratio;
        }
    }
    return median;
}

void iso_slow_find(iso_report_rank_t *ranks, int size)
{
    const double median = lower_median(ranks, size);

    for (int i = 0; i < size; i++) {
        const double times = median > 0 ? ratio_of(&ranks[i]) / median : 0;
        const bool is_slow =
            times >= ISO_SLOW_TIMES && ranks[i].times.compute_s >= least_s;

        ranks[i].slow_times = is_slow ? times : 0;
    }
}
