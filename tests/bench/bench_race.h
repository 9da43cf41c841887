/*
 * Race: contestants that do the same work, timed in turns, so that what
 * disturbs the machine disturbs all of them alike.
 *
 *     bench_runner_t runners[] = {{"isotome", run_own, own},
 *                                 {"oneDNN", run_peer, peer}};
 *     bench_race(runners, 2, repeats);
 *     runners[0].median_s
 */
#ifndef ISO_BENCH_RACE_H
#define ISO_BENCH_RACE_H

#include <stdint.h>

enum { BENCH_REPEATS_MOST = 101, BENCH_RUNNERS_MOST = 4 };

typedef struct bench_runner {
    const char *name;
    /* Do the work times times, in some way; returns the seconds of all. */
    double (*run)(void *arg, int times);
    void *arg;
    double median_s; /* [out] of the work once */
    int times;       /* of it in one repeat, at least 5 ms together */
} bench_runner_t;

/* repeats  [in]  1 to BENCH_REPEATS_MOST */
void bench_race(bench_runner_t *runners, int count, int repeats);

/* The fastest of runners 1 to count - 1. */
const bench_runner_t *bench_race_best_peer(const bench_runner_t *runners,
                                           int count);

/* The largest difference over the largest value of b. A NaN gives infinity. */
double bench_difference(const float *a, const float *b, int64_t count);

/* Ends the program when two results are further apart than other libraries'
 * are. */
void bench_compare(const char *what, const float *own, const float *peer,
                   int64_t count);

#endif
