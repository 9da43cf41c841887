/* Figures of a bench, from what was measured; at rank 0. */
#include "lab/bench_impl.h"

#include <math.h>

int iso__bench_stage_count(const iso__bench_size_t *size)
{
    int count = 0;

    for (int rank = 0; rank < size->report.size; rank++) {
        const int stage = size->report.ranks[rank].stage;

        count = stage >= count ? stage + 1 : count;
    }
    return count;
}

iso__bench_stage_t iso__bench_stage_of(const iso__bench_size_t *size, int stage)
{
    iso__bench_stage_t figures = {0};

    for (int rank = 0; rank < size->report.size; rank++) {
        const iso_times_t *times = &size->times[rank];

        if (size->report.ranks[rank].stage == stage && times->total_s > 0) {
            figures.workers++;
            figures.compute += times->compute_s / times->total_s;
            figures.exchange += times->exchange_s / times->total_s;
            figures.wait += (times->receive_s + times->send_s) / times->total_s;
        }
    }
    if (figures.workers > 0) {
        figures.compute /= figures.workers;
        figures.exchange /= figures.workers;
        figures.wait /= figures.workers;
    }
    return figures;
}

int iso__bench_slowest(const iso__bench_size_t *size)
{
    int slowest = 0;

    for (int stage = 1; stage < iso__bench_stage_count(size); stage++) {
        if (iso__bench_stage_of(size, stage).wait <
            iso__bench_stage_of(size, slowest).wait) {
            slowest = stage;
        }
    }
    return slowest;
}

iso_peak_t iso__bench_peak(const iso__bench_t *bench,
                           const iso__bench_size_t *size)
{
    iso_peak_t sum = {0};

    for (int rank = 0; rank < size->report.size; rank++) {
        if (size->report.ranks[rank].stage >= 0) {
            sum.flops_per_s += bench->ranks[rank].peak.flops_per_s;
            sum.read_bytes_per_s += bench->ranks[rank].peak.read_bytes_per_s;
        }
    }
    return sum;
}

double iso__bench_error(double measured_s, double planned_s)
{
    return planned_s > 0 ? measured_s / planned_s - 1 : 0;
}

double iso__bench_peak_bytes(const iso__bench_size_t *size)
{
    double most = 0;

    for (int rank = 0; rank < size->report.size; rank++) {
        most = fmax(most, size->report.ranks[rank].peak_bytes);
    }
    return most;
}

double iso__bench_planned_peak_bytes(const iso__bench_size_t *size)
{
    double most = 0;

    for (int rank = 0; rank < size->report.size; rank++) {
        most = fmax(most, size->report.ranks[rank].planned_peak_bytes);
    }
    return most;
}
