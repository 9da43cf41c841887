#include "plan/machine_fit.h"

#include "base/log.h"

#include <math.h>
#include <stdlib.h>

/* A determinant below this share of its terms is rounding alone. */
static const double near_singular = 1e-12;

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;

    return (x > y) - (x < y);
}

iso_timing_t iso_timing_of(double *seconds, int count)
{
    iso_timing_t timing = {0};

    ISO_ASSERT(count >= 1);
    qsort(seconds, (size_t)count, sizeof *seconds, by_value);
    const int quarter = count / 4;
    const double range = seconds[count - 1 - quarter] - seconds[quarter];

    timing.median_s = (seconds[(count - 1) / 2] + seconds[count / 2]) / 2.0;
    timing.spread = timing.median_s > 0.0 ? range / timing.median_s : 0.0;
    return timing;
}

/*
 * With u = 1 / t the sum of (1 - (a + b x) u)^2 is least where
 *
 *     a sum(u^2)   + b sum(u^2 x)   = sum(u)
 *     a sum(u^2 x) + b sum(u^2 x^2) = sum(u x)
 *
 * A latency a below 0 is taken as 0; then b is sum(u x) / sum(u^2 x^2).
 */
bool iso_link_fit(const size_t *bytes, const double *seconds, int count,
                  iso_link_t *link_out)
{
    double uu = 0.0;
    double uux = 0.0;
    double uuxx = 0.0;
    double u_sum = 0.0;
    double ux = 0.0;

    for (int i = 0; i < count; i++) {
        if (!(seconds[i] > 0.0)) {
            return false;
        }

        const double u = 1.0 / seconds[i];
        const double x = (double)bytes[i];

        uu += u * u;
        uux += u * u * x;
        uuxx += u * u * x * x;
        u_sum += u;
        ux += u * x;
    }
    const double determinant = uu * uuxx - uux * uux;

    if (!(determinant > near_singular * uu * uuxx)) {
        return false; /* all of one size */
    }

    double latency_s = (u_sum * uuxx - ux * uux) / determinant;
    double s_per_byte = (uu * ux - uux * u_sum) / determinant;

    if (latency_s < 0.0) {
        latency_s = 0.0;
        s_per_byte = ux / uuxx;
    }
    *link_out = (iso_link_t){latency_s, 1.0 / s_per_byte};
    return isfinite(latency_s) && s_per_byte > 0.0 &&
           isfinite(link_out->bytes_per_s);
}
