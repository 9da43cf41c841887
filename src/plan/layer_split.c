#include "isotome/layer_split.h"

#include "isotome/error.h"

#include "base/mem.h"
#include "plan/layer_split_impl.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* -- life -- */

iso_status_t iso__layer_split_alloc(int world, iso_layer_split_t *split_out)
{
    *split_out = (iso_layer_split_t){0};
    split_out->counts =
        iso_alloc_zeroed((size_t)world, sizeof *split_out->counts);
    if (split_out->counts == NULL) {
        return ISO_NOMEM;
    }
    split_out->world = world;
    return ISO_OK;
}

iso_status_t iso_layer_split_copy(const iso_layer_split_t *split,
                                  iso_layer_split_t *copy_out)
{
    ISO_TRY(iso__layer_split_alloc(split->world, copy_out));
    if (split->world > 0) {
        memcpy(copy_out->counts, split->counts,
               (size_t)split->world * sizeof *copy_out->counts);
    }
    return ISO_OK;
}

void iso_layer_split_free(iso_layer_split_t *split)
{
    iso_free(split->counts);
    *split = (iso_layer_split_t){0};
}

/* -- roles and ranges -- */

static iso_status_t check_world(int world)
{
    if (world < 1 || world > ISO_MAX_WORLD) {
        return iso_fail(ISO_INVAL, "%d ranks, expected 1 to %d", world,
                        (int)ISO_MAX_WORLD);
    }
    return ISO_OK;
}

static iso_status_t check_rank(int rank, int world)
{
    ISO_TRY(check_world(world));
    if (rank < 0 || rank >= world) {
        return iso_fail(ISO_INVAL, "rank %d, expected 0 to %d (%d ranks)", rank,
                        world - 1, world);
    }
    return ISO_OK;
}

iso_status_t iso_role_of(int rank, int world, iso_role_t *role_out)
{
    ISO_TRY(check_rank(rank, world));
    if (world == 1) {
        *role_out = ISO_ROLE_SINGLE;
    } else if (rank == world - 1) {
        *role_out = ISO_ROLE_FIRST;
    } else if (rank == 0) {
        *role_out = ISO_ROLE_LAST;
    } else {
        *role_out = ISO_ROLE_MIDDLE;
    }
    return ISO_OK;
}

const char *iso_role_string(iso_role_t role)
{
    switch (role) {
    case ISO_ROLE_SINGLE:
        return "single";
    case ISO_ROLE_FIRST:
        return "first";
    case ISO_ROLE_MIDDLE:
        return "middle";
    case ISO_ROLE_LAST:
        return "last";
    }
    return "unknown";
}

iso_status_t iso_layer_split_range(const iso_layer_split_t *split, int rank,
                                   iso_layer_range_t *range_out)
{
    int64_t start = 0;

    ISO_TRY(check_rank(rank, split->world));
    for (int above = rank + 1; above < split->world; above++) {
        start += split->counts[above];
    }
    *range_out = (iso_layer_range_t){start, split->counts[rank]};
    return ISO_OK;
}

int64_t iso_layer_split_total(const iso_layer_split_t *split)
{
    int64_t total = 0;

    for (int rank = 0; rank < split->world; rank++) {
        int64_t count = split->counts[rank];
        if (count > INT64_MAX - total) {
            return INT64_MAX;
        }
        total += count;
    }
    return total;
}

iso_status_t iso_layer_split_check(const iso_layer_split_t *split,
                                   int64_t layers, int world)
{
    if (split->world != world) {
        return iso_fail(ISO_INVAL,
                        "the layer split has %d counts, expected %d, one for "
                        "each stage",
                        split->world, world);
    }
    for (int rank = 0; rank < world; rank++) {
        if (split->counts[rank] < 1) {
            return iso_fail(ISO_INVAL,
                            "the layer split gives rank %d a count of %lld, "
                            "expected at least 1",
                            rank, (long long)split->counts[rank]);
        }
    }
    if (iso_layer_split_total(split) != layers) {
        return iso_fail(ISO_INVAL,
                        "the layer split holds %lld layers, but the model has "
                        "%lld",
                        (long long)iso_layer_split_total(split),
                        (long long)layers);
    }
    return ISO_OK;
}

/* -- even -- */

iso_status_t iso__layer_split_possible(int64_t layers, int world)
{
    ISO_TRY(check_world(world));
    if (world > layers) {
        return iso_fail(ISO_INVAL,
                        "%d stages of %lld layers: at most %lld stages are "
                        "possible, each needs a layer",
                        world, (long long)layers,
                        (long long)(layers < 0 ? 0 : layers));
    }
    return ISO_OK;
}

iso_status_t iso_layer_range_even(int64_t layers, int rank, int world,
                                  iso_layer_range_t *range_out)
{
    ISO_TRY(iso__layer_split_possible(layers, world));
    ISO_TRY(check_rank(rank, world));

    int64_t base = layers / world;
    int64_t longer = layers % world; /* blocks with one layer more */
    int64_t block = world - 1 - rank;
    int64_t longer_before = block < longer ? block : longer;

    range_out->start = block * base + longer_before;
    range_out->count = base + (block < longer ? 1 : 0);
    return ISO_OK;
}

iso_status_t iso_layer_split_even(int64_t layers, int world,
                                  iso_layer_split_t *split_out)
{
    *split_out = (iso_layer_split_t){0};
    ISO_TRY(iso__layer_split_possible(layers, world));
    ISO_TRY(iso__layer_split_alloc(world, split_out));
    for (int rank = 0; rank < world; rank++) {
        bool longer = world - 1 - rank < layers % world;
        split_out->counts[rank] = layers / world + (longer ? 1 : 0);
    }
    return ISO_OK;
}

/* -- weighted -- */

/* An unsigned number of 128 bits: sums of weights do not fit in 64. */
typedef struct wide {
    uint64_t high;
    uint64_t low;
} wide_t;

static wide_t wide_add(wide_t a, wide_t b)
{
    wide_t sum = {a.high + b.high, a.low + b.low};

    sum.high += sum.low < a.low ? 1 : 0;
    return sum;
}

static wide_t wide_sub(wide_t a, wide_t b)
{
    return (wide_t){a.high - b.high - (a.low < b.low ? 1 : 0), a.low - b.low};
}

static int wide_compare(wide_t a, wide_t b)
{
    if (a.high != b.high) {
        return a.high < b.high ? -1 : 1;
    }
    if (a.low != b.low) {
        return a.low < b.low ? -1 : 1;
    }
    return 0;
}

/* A rank's part of the spare layers: spare * weight / total. */
typedef struct share {
    int rank;
    wide_t remainder; /* in units of 1 / total */
} share_t;

/*
 * floor(spare * weight / total) and what remains, by long division: bits of
 * spare from the top, doubling quotient and remainder. Since weight <= total
 * and remainder < total, a step subtracts total at most twice.
 */
static int64_t divide_share(int64_t spare, uint64_t weight, wide_t total,
                            wide_t *remainder_out)
{
    wide_t remainder = {0, 0};
    int64_t quotient = 0;

    for (int bit = 62; bit >= 0; bit--) {
        quotient *= 2;
        remainder = wide_add(remainder, remainder);
        if (((spare >> bit) & 1) != 0) {
            remainder = wide_add(remainder, (wide_t){0, weight});
        }
        while (wide_compare(remainder, total) >= 0) {
            remainder = wide_sub(remainder, total);
            quotient++;
        }
    }
    *remainder_out = remainder;
    return quotient;
}

/* Largest remainder first, then the higher rank. */
static int compare_shares(const void *a, const void *b)
{
    const share_t *left = a;
    const share_t *right = b;
    int order = wide_compare(right->remainder, left->remainder);

    if (order != 0) {
        return order;
    }
    return left->rank > right->rank ? -1 : 1;
}

static void give_shares(int64_t layers, const uint64_t *weights, wide_t total,
                        share_t *shares, iso_layer_split_t *split)
{
    int world = split->world;
    int64_t left = layers - world;

    for (int rank = 0; rank < world; rank++) {
        int64_t floor = divide_share(layers - world, weights[rank], total,
                                     &shares[rank].remainder);
        shares[rank].rank = rank;
        split->counts[rank] = 1 + floor;
        left -= floor;
    }
    qsort(shares, (size_t)world, sizeof *shares, compare_shares);
    for (int64_t i = 0; i < left; i++) {
        split->counts[shares[i].rank]++;
    }
}

iso_status_t iso_layer_split_weighted(int64_t layers, int world,
                                      const uint64_t *weights,
                                      iso_layer_split_t *split_out)
{
    wide_t total = {0, 0};
    share_t *shares;

    *split_out = (iso_layer_split_t){0};
    if (layers == 0 || world == 0) {
        return ISO_OK;
    }
    ISO_TRY(iso__layer_split_possible(layers, world));
    for (int rank = 0; rank < world; rank++) {
        total = wide_add(total, (wide_t){0, weights[rank]});
    }
    if (total.high == 0 && total.low == 0) {
        return iso_layer_split_even(layers, world, split_out);
    }
    shares = iso_alloc_zeroed((size_t)world, sizeof *shares);
    if (shares == NULL) {
        return ISO_NOMEM;
    }
    iso_status_t status = iso__layer_split_alloc(world, split_out);
    if (status == ISO_OK) {
        give_shares(layers, weights, total, shares, split_out);
    }
    iso_free(shares);
    return status;
}
