#include "bench_race.h"

#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Times that take the repeat's least seconds, after a run that warms up. */
static void find_times(bench_runner_t *runner)
{
    const double least_s = 5e-3;

    runner->times = 1;
    (void)runner->run(runner->arg, 1);
    for (;;) {
        const double seconds = runner->run(runner->arg, runner->times);
        if (seconds >= least_s || runner->times >= 1 << 20) {
            return;
        }
        const double more = seconds > 0 ? ceil(1.2 * least_s / seconds) : 16.0;

        runner->times *= more < 16.0 ? (int)more : 16;
    }
}

void bench_race(bench_runner_t *runners, int count, int repeats)
{
    double seconds[BENCH_RUNNERS_MOST][BENCH_REPEATS_MOST] = {{0}};

    for (int i = 0; i < count; i++) {
        find_times(&runners[i]);
    }
    for (int r = 0; r < repeats; r++) {
        for (int i = 0; i < count; i++) {
            seconds[i][r] = runners[i].run(runners[i].arg, runners[i].times) /
                            runners[i].times;
        }
    }
    for (int i = 0; i < count; i++) {
        runners[i].median_s = iso_timing_of(seconds[i], repeats).median_s;
    }
}

const bench_runner_t *bench_race_best_peer(const bench_runner_t *runners,
                                           int count)
{
    const bench_runner_t *best = NULL;

    for (int i = 1; i < count; i++) {
        if (best == NULL || runners[i].median_s < best->median_s) {
            best = &runners[i];
        }
    }
    return best;
}

double bench_difference(const float *a, const float *b, int64_t count)
{
    double largest = 0;
    double difference = 0;

    for (int64_t i = 0; i < count; i++) {
        const double apart = fabs((double)a[i] - (double)b[i]);

        if (isnan(apart)) {
            return INFINITY;
        }
        difference = fmax(difference, apart);
        largest = fmax(largest, fabs((double)b[i]));
    }
    return difference > 0 ? difference / largest : 0;
}

void bench_compare(const char *what, const float *own, const float *peer,
                   int64_t count)
{
    const double limit = 1e-4;
    const double difference = bench_difference(own, peer, count);

    if (!(difference <= limit)) {
        (void)fprintf(stderr,
                      "%s: the results differ by %.3g of the largest value, "
                      "the limit is %g\n",
                      what, difference, limit);
        exit(EXIT_FAILURE);
    }
}
