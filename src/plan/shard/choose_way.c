/* The fastest way to carry out an option: which workers, which pieces. */
#include "plan/shard/choose_impl.h"

#include <math.h>
#include <string.h>

static double shard_seconds(int64_t elements, double rate)
{
    return (double)elements / rate;
}

/* Pieces are what they are, whoever gets which: the widest one may be with
 * the slowest worker. */
static double equal_seconds(const iso__shard_chooser_t *chooser,
                            const iso_shard_option_t *option)
{
    double slowest = chooser->rates[0];

    for (int i = 1; i < option->count; i++) {
        slowest = fmin(slowest, chooser->rates[i]);
    }
    return shard_seconds(iso_shard_widest(option), slowest);
}

static double shared_seconds(const iso__shard_chooser_t *chooser,
                             const iso_shard_option_t *option)
{
    double longest = 0.0;

    for (int i = 0; i < option->count; i++) {
        longest = fmax(longest, shard_seconds(iso_shard_elements(option, i),
                                              chooser->rates[i]));
    }
    return longest;
}

static void keep_if_best(iso__shard_chooser_t *chooser)
{
    iso__shard_way_t *now = &chooser->now;
    iso__shard_way_t *best = &chooser->best;

    now->seconds = now->compute_seconds + iso__shard_move_seconds(chooser, now);
    if (best->option.count == 0 || now->seconds < best->seconds) {
        const iso__shard_way_t spare = *best;

        *best = *now;
        now->pieces = spare.pieces;
        now->workers = spare.workers;
    }
}

static void try_equal(iso__shard_chooser_t *chooser,
                      const iso_shard_option_t *option)
{
    iso__shard_way_t *now = &chooser->now;

    memcpy(now->pieces, option->ranges,
           (size_t)option->count * sizeof *now->pieces);
    now->option = *option;
    now->option.ranges = now->pieces;
    now->compute_seconds = equal_seconds(chooser, option);
    keep_if_best(chooser);
}

static bool has_empty(const iso_range_t *pieces, int count)
{
    bool empty = false;

    for (int i = 0; i < count; i++) {
        empty = empty || iso_range_length(pieces[i]) == 0;
    }
    return empty;
}

/* A worker whose share rounds to nothing makes this no option of so many
 * shards. */
static iso_status_t try_in_proportion(iso__shard_chooser_t *chooser,
                                      const iso_shard_option_t *option)
{
    iso__shard_way_t *now = &chooser->now;

    iso_ranges_share(option->length, option->unit, chooser->rates,
                     option->count, now->pieces);
    if (has_empty(now->pieces, option->count)) {
        return ISO_OK;
    }
    ISO_TRY(iso_shard_recut(&chooser->question->op, option, now->pieces,
                            &now->option));
    now->compute_seconds = shared_seconds(chooser, &now->option);
    keep_if_best(chooser);
    return ISO_OK;
}

/* The shards' workers: those taken, in the order given. */
static void line_up(iso__shard_chooser_t *chooser)
{
    int shard = 0;

    for (int i = 0; i < chooser->n_usable; i++) {
        if (chooser->taken[i]) {
            chooser->now.workers[shard] = i;
            chooser->rates[shard] = chooser->usable[i].elements_per_s;
            shard++;
        }
    }
}

static void take(iso__shard_chooser_t *chooser,
                 const int counts[ISO__SHARD_PLACES])
{
    memset(chooser->taken, 0,
           (size_t)chooser->n_usable * sizeof *chooser->taken);
    for (int place = 0; place < ISO__SHARD_PLACES; place++) {
        for (int i = 0; i < counts[place]; i++) {
            chooser->taken[chooser->at[place][i]] = true;
        }
    }
}

static bool rates_are_equal(const iso__shard_chooser_t *chooser, int count)
{
    bool equal = true;

    for (int i = 1; i < count; i++) {
        equal = equal && chooser->rates[i] == chooser->rates[0];
    }
    return equal;
}

static iso_status_t try_subset(iso__shard_chooser_t *chooser,
                               const iso_shard_option_t *option,
                               const int counts[ISO__SHARD_PLACES])
{
    take(chooser, counts);
    line_up(chooser);
    try_equal(chooser, option);
    if (chooser->question->equal_pieces ||
        rates_are_equal(chooser, option->count)) {
        return ISO_OK;
    }
    line_up(chooser); /* the best way may have kept the list */
    return try_in_proportion(chooser, option);
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* With that many shards at the root, all shares of the others between its
 * host and other hosts. */
static iso_status_t try_others(iso__shard_chooser_t *chooser,
                               const iso_shard_option_t *option, int root)
{
    const int *n_at = chooser->n_at;
    const int others = option->count - root;

    for (int near = least(others, n_at[ISO__SHARD_NEAR]);
         near >= 0 && others - near <= n_at[ISO__SHARD_FAR]; near--) {
        const int counts[ISO__SHARD_PLACES] = {root, near, others - near};

        ISO_TRY(try_subset(chooser, option, counts));
    }
    return ISO_OK;
}

iso_status_t iso__shard_best_way(iso__shard_chooser_t *chooser,
                                 const iso_shard_option_t *option)
{
    chooser->best.option.count = 0;
    /* The root and its host first: ties stay near. */
    for (int root = chooser->n_at[ISO__SHARD_ROOT]; root >= 0; root--) {
        ISO_TRY(try_others(chooser, option, root));
    }
    return ISO_OK;
}
