#include "plan/machine_fit.h"

#include "base/log.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* -- ranks that are alike -- */

/* Times that a figure's spread may lie between equal ranks; and the spread of
 * figures that have none of their own. */
static const double spreads_apart = 2.0;
static const double usual_spread = 0.15;

/* A figure of the ranks of one host: the median for all of them when they
 * differ by noise. values [in] (count) as they are, sorted here; false when
 * they truly differ. */
static bool level_values(double *values, int count, double spread,
                         double *median_out)
{
    qsort(values, (size_t)count, sizeof *values, by_value);
    *median_out = values[count / 2];
    return values[count - 1] - values[0] <=
           spreads_apart * spread * *median_out;
}

/* The ranks of one host and room for one figure of each. */
typedef struct host_ranks {
    iso_machine_rank_t **ranks; /* (count) */
    double *values;             /* (count) */
    int count;
} host_ranks_t;

static void level_rate(const host_ranks_t *host, int rate_class)
{
    double spread = 0.0;
    double median = 0.0;

    for (int i = 0; i < host->count; i++) {
        host->values[i] = host->ranks[i]->rates[rate_class].per_s;
        spread = fmax(spread, host->ranks[i]->rates[rate_class].spread);
    }
    if (level_values(host->values, host->count, spread, &median)) {
        for (int i = 0; i < host->count; i++) {
            host->ranks[i]->rates[rate_class].per_s = median;
        }
    }
}

/* Bandwidths have no spread of their own. */
static void level_memory(const host_ranks_t *host)
{
    double median = 0.0;

    for (int i = 0; i < host->count; i++) {
        host->values[i] = host->ranks[i]->memory_bytes_per_s;
    }
    if (level_values(host->values, host->count, usual_spread, &median)) {
        for (int i = 0; i < host->count; i++) {
            host->ranks[i]->memory_bytes_per_s = median;
        }
    }
}

static void level_copies(const host_ranks_t *host)
{
    double median = 0.0;

    for (int i = 0; i < host->count; i++) {
        host->values[i] = host->ranks[i]->copy_bytes_per_s;
    }
    if (level_values(host->values, host->count, usual_spread, &median)) {
        for (int i = 0; i < host->count; i++) {
            host->ranks[i]->copy_bytes_per_s = median;
        }
    }
}

static void level_host(const host_ranks_t *host)
{
    for (int i = 0; i < ISO_RATE_CLASS_COUNT; i++) {
        level_rate(host, i);
    }
    level_memory(host);
    level_copies(host);
    for (int i = 0; i < host->count; i++) {
        host->ranks[i]->flops_per_s =
            host->ranks[i]->rates[ISO_RATE_MATMUL_LARGE].per_s;
    }
}

iso_status_t iso_machine_ranks_level(iso_machine_rank_t *ranks, int count)
{
    host_ranks_t host = {
        .ranks = iso_alloc_zeroed((size_t)count, sizeof(iso_machine_rank_t *)),
        .values = iso_alloc_zeroed((size_t)count, sizeof(double)),
    };
    iso_status_t status =
        host.ranks == NULL || host.values == NULL ? ISO_NOMEM : ISO_OK;

    for (int first = 0; status == ISO_OK && first < count; first++) {
        bool seen = false;

        host.count = 0;
        for (int i = 0; i < count; i++) {
            if (strcmp(ranks[i].host, ranks[first].host) == 0) {
                seen = seen || i < first;
                host.ranks[host.count++] = &ranks[i];
            }
        }
        if (!seen) {
            level_host(&host);
        }
    }
    iso_free(host.ranks);
    iso_free(host.values);
    return status;
}
