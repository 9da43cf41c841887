#include "plan/shard/layout.h"

#include "base/log.h"

#include <float.h>

static bool range_equal(iso_range_t a, iso_range_t b)
{
    const bool empty = iso_range_length(a) == 0;

    return empty ? iso_range_length(b) == 0
                 : a.begin == b.begin && a.end == b.end;
}

bool iso_layout_equal(const iso_layout_t *a, const iso_layout_t *b,
                      int n_workers)
{
    bool equal = a->kind == b->kind;

    if (a->kind == ISO_LAYOUT_ONE) {
        equal = equal && a->worker == b->worker;
    }
    if (equal && a->kind == ISO_LAYOUT_SPLIT) {
        equal = a->axis == b->axis;
        for (int i = 0; equal && i < n_workers; i++) {
            equal = range_equal(a->ranges[i], b->ranges[i]);
        }
    }
    return equal;
}

void iso_layout_box(const iso_layout_t *layout, const iso_shape_t *shape,
                    int worker, iso_box_t *box_out)
{
    *box_out = (iso_box_t){.rank = shape->rank};
    if (layout->kind == ISO_LAYOUT_ONE && layout->worker != worker) {
        /* No range of a scalar could say that it is not there. */
        box_out->rank = shape->rank > 0 ? shape->rank : 1;
        return;
    }
    for (int axis = 0; axis < shape->rank; axis++) {
        box_out->range[axis] = (iso_range_t){0, shape->dim[axis].size};
    }
    if (layout->kind == ISO_LAYOUT_SPLIT) {
        box_out->range[layout->axis] = layout->ranges[worker];
    }
}

int64_t iso_box_count(const iso_box_t *box)
{
    int64_t count = 1;

    /* Empty ranges first, so that no product of the others overflows. */
    for (int axis = 0; axis < box->rank; axis++) {
        if (iso_range_length(box->range[axis]) == 0) {
            return 0;
        }
    }
    for (int axis = 0; axis < box->rank; axis++) {
        count *= iso_range_length(box->range[axis]);
    }
    return count;
}

iso_box_t iso_box_intersect(const iso_box_t *a, const iso_box_t *b)
{
    /* Ranks differ for a scalar that one side does not have. */
    iso_box_t both = a->rank >= b->rank ? *a : *b;
    const iso_box_t *other = a->rank >= b->rank ? b : a;

    for (int axis = 0; axis < both.rank; axis++) {
        iso_range_t *range = &both.range[axis];

        if (axis < other->rank) {
            const iso_range_t with = other->range[axis];

            range->begin =
                with.begin > range->begin ? with.begin : range->begin;
            range->end = with.end < range->end ? with.end : range->end;
        }
        if (range->end < range->begin) {
            range->end = range->begin;
        }
    }
    return both;
}

/* -- shares -- */

/* A length to share out: weights are NULL where they are equal, or where they
 * cannot be summed (a NaN, an overflow). */
typedef struct shares {
    int64_t units;
    int count;
    const double *weights;
    double sum;
} shares_t;

static double share_of(const shares_t *shares, int index)
{
    const double units = (double)shares->units;

    if (shares->weights == NULL) {
        return units / shares->count;
    }
    /* In this order: exact where the weights are whole numbers. */
    return shares->weights[index] > 0.0
               ? units * shares->weights[index] / shares->sum
               : 0.0;
}

/* Units of each piece into its end, fractions ignored; gives what is left. */
static int64_t floors(const shares_t *shares, iso_range_t *ranges_out)
{
    int64_t left = shares->units;

    for (int i = 0; i < shares->count; i++) {
        const double whole = share_of(shares, i);
        /* Rounding may give more than there are. */
        const int64_t size = whole < (double)left ? (int64_t)whole : left;

        ranges_out[i] = (iso_range_t){.begin = 0, .end = size};
        left -= size;
    }
    return left;
}

/* The first of the pieces with the largest fraction, of those that have got
 * no extra unit yet (their begin is 0); -1 when all have. */
static int largest_fraction(const shares_t *shares, const iso_range_t *ranges)
{
    double most = -1.0;
    int found = -1;

    for (int i = 0; i < shares->count; i++) {
        const double fraction = share_of(shares, i) - (double)ranges[i].end;

        if (ranges[i].begin == 0 && fraction > most) {
            most = fraction;
            found = i;
        }
    }
    return found;
}

/* What floors left over, a unit at a time. */
static void share_rest(const shares_t *shares, int64_t rest,
                       iso_range_t *ranges)
{
    while (rest > 0) {
        const int i = largest_fraction(shares, ranges);

        if (i < 0) {
            /* More than one each: a length past the digits of a double. */
            ranges[shares->count - 1].end += rest;
            return;
        }
        ranges[i].end++;
        ranges[i].begin = 1;
        rest--;
    }
}

void iso_ranges_share(int64_t length, int64_t unit, const double *weights,
                      int count, iso_range_t *ranges_out)
{
    shares_t shares = {.count = count, .weights = weights};
    int64_t done = 0;

    ISO_ASSERT(unit > 0 && count > 0);
    ISO_ASSERT(length >= 0);
    shares.units = length / unit + (length % unit != 0);
    for (int i = 0; weights != NULL && i < count; i++) {
        shares.sum += weights[i];
    }
    if (!(shares.sum > 0.0 && shares.sum <= DBL_MAX)) {
        shares.weights = NULL;
    }
    share_rest(&shares, floors(&shares, ranges_out), ranges_out);
    for (int i = 0; i < count; i++) {
        const int64_t end = done + ranges_out[i].end;

        /* The last unit may be a short one. */
        ranges_out[i].begin = done < shares.units ? done * unit : length;
        ranges_out[i].end = end < shares.units ? end * unit : length;
        done = end;
    }
}
