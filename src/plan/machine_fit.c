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

/* -- times as sums -- */

enum { MOST_TERMS = 3, MOST_TIMES = 32 };

/* What a time is made of: seconds = sum over the terms of factor * value. */
typedef struct terms {
    int n_terms;
    int n_times;
    double values[MOST_TERMS][MOST_TIMES];
    double seconds[MOST_TIMES];
    double factors[MOST_TERMS]; /* found; none is below 0 */
} terms_t;

/* The matrix and right side of the equations, over the terms that are in. */
typedef struct equations {
    double matrix[MOST_TERMS][MOST_TERMS];
    double right[MOST_TERMS];
} equations_t;

/*
 * With u = 1 / seconds the sum of (1 - sum_i factor_i value_i u)^2 is least
 * where, for each term i,
 *
 *     sum_k factor_k sum(u^2 value_i value_k) = sum(u value_i)
 *
 * A term that is out has the factor 0.
 */
static void set_equations(const terms_t *terms, const bool *is_in,
                          equations_t *equations)
{
    *equations = (equations_t){0};
    for (int i = 0; i < terms->n_terms; i++) {
        if (!is_in[i]) {
            equations->matrix[i][i] = 1.0;
            continue;
        }
        for (int t = 0; t < terms->n_times; t++) {
            const double value = terms->values[i][t] / terms->seconds[t];

            equations->right[i] += value;
            for (int k = 0; k < terms->n_terms; k++) {
                equations->matrix[i][k] +=
                    is_in[k] ? value * terms->values[k][t] / terms->seconds[t]
                             : 0.0;
            }
        }
    }
}

/* By elimination; the matrix is positive definite but where terms are
 * multiples of one another, which is false. */
static bool solve(equations_t *equations, int n, double *factors)
{
    for (int i = 0; i < n; i++) {
        const double whole = equations->matrix[i][i];

        for (int k = 0; k < i; k++) {
            const double share =
                equations->matrix[i][k] / equations->matrix[k][k];

            for (int c = k; c < n; c++) {
                equations->matrix[i][c] -= share * equations->matrix[k][c];
            }
            equations->right[i] -= share * equations->right[k];
        }
        if (!(equations->matrix[i][i] > near_singular * whole)) {
            return false;
        }
    }
    for (int i = n - 1; i >= 0; i--) {
        factors[i] = equations->right[i];
        for (int k = i + 1; k < n; k++) {
            factors[i] -= equations->matrix[i][k] * factors[k];
        }
        factors[i] /= equations->matrix[i][i];
    }
    return true;
}

/* The factors of least relative error: a term whose factor would be below 0
 * is left out, the worst first. */
static bool find_factors(terms_t *terms)
{
    bool is_in[MOST_TERMS];

    for (int i = 0; i < MOST_TERMS; i++) {
        is_in[i] = true;
    }

    for (;;) {
        equations_t equations;
        int worst = 0;

        set_equations(terms, is_in, &equations);
        if (!solve(&equations, terms->n_terms, terms->factors)) {
            return false;
        }
        for (int i = 1; i < terms->n_terms; i++) {
            worst = terms->factors[i] < terms->factors[worst] ? i : worst;
        }
        if (!(terms->factors[worst] < 0.0)) {
            return true;
        }
        is_in[worst] = false;
    }
}

/* Sum of the squares of the relative errors. */
static double error_of(const terms_t *terms)
{
    double sum = 0.0;

    for (int t = 0; t < terms->n_times; t++) {
        double seconds = 0.0;

        for (int i = 0; i < terms->n_terms; i++) {
            seconds += terms->factors[i] * terms->values[i][t];
        }
        sum += (1.0 - seconds / terms->seconds[t]) *
               (1.0 - seconds / terms->seconds[t]);
    }
    return sum;
}

/* seconds [in] (count) into the terms; false when one is not over 0. */
static bool set_seconds(terms_t *terms, const double *seconds, int count)
{
    ISO_ASSERT(count <= MOST_TIMES);
    terms->n_times = count;
    for (int t = 0; t < count; t++) {
        if (!(seconds[t] > 0.0)) {
            return false;
        }
        terms->seconds[t] = seconds[t];
    }
    return true;
}

/* -- links -- */

/* A handshake is believed when it leaves less than this share of the error
 * that there is without one. */
static const double believed_share = 0.25;

enum { LATENCY, BYTES, HANDSHAKE };

/* The link whose messages from the border on shake hands; border == count:
 * none does. Its error, or infinity. */
static double fit_border(const size_t *bytes, terms_t *terms, int border,
                         iso_link_t *link_out)
{
    terms->n_terms = border < terms->n_times ? 3 : 2;
    for (int t = 0; t < terms->n_times; t++) {
        terms->values[LATENCY][t] = 1.0;
        terms->values[BYTES][t] = (double)bytes[t];
        terms->values[HANDSHAKE][t] = t < border ? 0.0 : 1.0;
    }
    if (!find_factors(terms)) {
        return INFINITY;
    }
    *link_out = (iso_link_t){.latency_s = terms->factors[LATENCY],
                             .bytes_per_s = 1.0 / terms->factors[BYTES]};
    if (border < terms->n_times) {
        link_out->handshake_s = terms->factors[HANDSHAKE];
        link_out->eager_bytes = bytes[border - 1];
    }
    return isfinite(link_out->latency_s) && isfinite(link_out->bytes_per_s) &&
                   isfinite(link_out->handshake_s)
               ? error_of(terms)
               : INFINITY;
}

bool iso_link_fit(const size_t *bytes, const double *seconds, int count,
                  iso_link_t *link_out)
{
    terms_t terms = {0};

    if (!set_seconds(&terms, seconds, count)) {
        return false;
    }
    const double plain = fit_border(bytes, &terms, count, link_out);
    double least = plain;

    /* At least two sizes on either side. */
    for (int border = 2; border <= count - 2; border++) {
        iso_link_t link = {0};
        const double error = fit_border(bytes, &terms, border, &link);

        if (error < believed_share * plain && error < least &&
            link.handshake_s > 0.0) {
            least = error;
            *link_out = link;
        }
    }
    return isfinite(least);
}

bool iso_collective_fit(const double *latencies, const double *byte_seconds,
                        const double *seconds, int count,
                        iso_collective_figures_t *figures)
{
    terms_t terms = {.n_terms = 2};

    if (!set_seconds(&terms, seconds, count)) {
        return false;
    }
    memcpy(terms.values[LATENCY], latencies, (size_t)count * sizeof *latencies);
    memcpy(terms.values[BYTES], byte_seconds,
           (size_t)count * sizeof *byte_seconds);
    if (!find_factors(&terms)) {
        return false;
    }
    figures->latency_factor = terms.factors[LATENCY];
    figures->bytes_factor = terms.factors[BYTES];
    return isfinite(figures->latency_factor) &&
           isfinite(figures->bytes_factor) && figures->latency_factor > 0.0 &&
           figures->bytes_factor > 0.0;
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
