#include "isotome/equiv.h"

#include <math.h>
#include <string.h>

static int32_t bits_of(float value)
{
    int32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* The bits as an integer whose order is that of the floats; both zeros are 0,
 * neighbours differ by 1. */
static int64_t ordered(float value)
{
    const int32_t bits = bits_of(value);

    return bits >= 0 ? bits : (int64_t)INT32_MIN - bits;
}

static void add_difference(float a, float b, iso_equiv_difference_t *sum)
{
    const int64_t steps = ordered(a) - ordered(b);
    const int64_t ulp = steps < 0 ? -steps : steps;
    const double abs = fabs((double)a - (double)b);

    if (isnan(a) || isnan(b)) {
        sum->max_abs = HUGE_VAL;
        sum->max_ulp = INT64_MAX;
        return;
    }
    sum->max_abs = abs > sum->max_abs ? abs : sum->max_abs;
    sum->max_ulp = ulp > sum->max_ulp ? ulp : sum->max_ulp;
}

iso_equiv_difference_t iso_equiv_compare(const float *a, const float *b,
                                         int64_t count)
{
    iso_equiv_difference_t sum = {.elements = count};

    for (int64_t i = 0; i < count; i++) {
        if (bits_of(a[i]) == bits_of(b[i])) {
            sum.equal++;
        } else {
            add_difference(a[i], b[i], &sum);
        }
    }
    return sum;
}

double iso_equiv_share(const iso_equiv_difference_t *difference)
{
    return difference->elements == 0
               ? 1.0
               : (double)difference->equal / (double)difference->elements;
}
