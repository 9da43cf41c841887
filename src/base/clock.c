#include "base/clock.h"

#include <time.h>

double iso_clock_s(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* What the system may be late by. */
static const double slack_s = 100e-6;

void iso_clock_wait(double until_s)
{
    const double wake_s = until_s - slack_s;
    struct timespec wake = {.tv_sec = (time_t)wake_s};

    wake.tv_nsec = (long)((wake_s - (double)wake.tv_sec) * 1e9);
    while (iso_clock_s() < wake_s) {
        (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, NULL);
    }
    while (iso_clock_s() < until_s) {
        /* only the slack is left */
    }
}
