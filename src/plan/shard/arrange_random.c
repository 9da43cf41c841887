/* Legal cuts at random. */
#include "isotome/error.h"

#include "base/mem.h"
#include "base/random.h"
#include "plan/shard/arrange.h"
#include "plan/shard/cut.h"

typedef struct dice {
    iso_random_t random;
    int n_workers;
    iso_range_t *ranges; /* (n_workers) */
} dice_t;

/* Below a number > 0. */
static int64_t roll(dice_t *dice, int64_t below)
{
    return (int64_t)iso_random_below(&dice->random, (uint64_t)below);
}

/* Random places to cut at, in order. */
static void cut_at_random(dice_t *dice, int64_t length, int64_t unit)
{
    const int64_t units = (length - 1) / unit + 1;
    const int last = dice->n_workers - 1;

    for (int i = 0; i < last; i++) {
        const int64_t end = roll(dice, units + 1) * unit;
        int at = i;
        for (; at > 0 && dice->ranges[at - 1].end > end; at--) {
            dice->ranges[at].end = dice->ranges[at - 1].end;
        }
        dice->ranges[at].end = end;
    }
    dice->ranges[last].end = length;
    for (int i = 0; i <= last; i++) {
        iso_range_t *range = &dice->ranges[i];
        range->end = range->end < length ? range->end : length;
        range->begin = i > 0 ? dice->ranges[i - 1].end : 0;
    }
}

/* Pieces of a length > 0: mostly of any size, at times all on one worker or
 * as equal as can be. */
static void share_at_random(dice_t *dice, int64_t length, int64_t unit)
{
    const int64_t way = roll(dice, 8);
    const int64_t chosen = roll(dice, dice->n_workers);

    if (way == 0) {
        iso_ranges_share(length, unit, NULL, dice->n_workers, dice->ranges);
        return;
    }
    if (way > 1) {
        cut_at_random(dice, length, unit);
        return;
    }
    for (int i = 0; i < dice->n_workers; i++) {
        dice->ranges[i] =
            (iso_range_t){i > chosen ? length : 0, i >= chosen ? length : 0};
    }
}

/* Along one of the axes that allow it; else the cut stays as it is. */
static iso_status_t try_split(dice_t *dice, const iso_graph_t *stage,
                              iso_node_id_t id, iso_node_cut_t *cut)
{
    const iso_shape_t *shape = &iso_graph_node(stage, id)->shape;
    int64_t units[ISO_MAX_RANK];
    int axes[ISO_MAX_RANK];
    int n = 0;

    for (int axis = 0; axis < shape->rank; axis++) {
        ISO_TRY(iso_cut_unit(stage, id, axis, &units[n]));
        if (units[n] > 0 && shape->dim[axis].size > 0) {
            axes[n++] = axis;
        }
    }
    if (n > 0) {
        const int64_t chosen = roll(dice, n);
        cut->kind = ISO_CUT_SPLIT;
        cut->axis = axes[chosen];
        cut->ranges = dice->ranges;
        share_at_random(dice, shape->dim[cut->axis].size, units[chosen]);
    }
    return ISO_OK;
}

static iso_status_t try_partial(dice_t *dice, const iso_graph_t *stage,
                                iso_node_id_t id, iso_node_cut_t *cut)
{
    int64_t blocks;

    ISO_TRY(iso_cut_blocks(stage, id, &blocks));
    if (blocks > 0) {
        cut->kind = ISO_CUT_PARTIAL;
        cut->ranges = dice->ranges;
        share_at_random(dice, blocks, 1);
    }
    return ISO_OK;
}

/* Half of the nodes are split; of those that can be, a quarter is cut along
 * the reduction. */
static iso_status_t cut_node(dice_t *dice, const iso_graph_t *stage,
                             iso_node_id_t id, iso_stage_cut_t *stage_cut)
{
    const int64_t way = roll(dice, 8);
    iso_node_cut_t cut = {.kind = ISO_CUT_ONE};

    if (way == 0) {
        cut.kind = ISO_CUT_ALL;
    } else if (way < 3) {
        ISO_TRY(try_partial(dice, stage, id, &cut));
    } else if (way < 7) {
        ISO_TRY(try_split(dice, stage, id, &cut));
    }
    return iso_stage_cut_set(stage_cut, id, &cut);
}

static iso_status_t cut_nodes(dice_t *dice, const iso_graph_t *stage,
                              iso_stage_cut_t *cut)
{
    for (iso_node_id_t id = 0; id < iso_graph_node_count(stage); id++) {
        ISO_TRY(iso_node_is_leaf(iso_graph_node(stage, id))
                    ? ISO_OK
                    : cut_node(dice, stage, id, cut));
    }
    return ISO_OK;
}

iso_status_t iso_arrange_random(const iso_graph_t *stage, int n_workers,
                                uint64_t seed, iso_stage_cut_t **cut_out)
{
    dice_t dice = {.random = {.state = seed}, .n_workers = n_workers};

    *cut_out = NULL;
    if (n_workers < 1) {
        return iso_fail(ISO_INVAL, "a stage of %d workers, expected at least 1",
                        n_workers);
    }
    ISO_TRY(iso_stage_cut_create(stage, n_workers, cut_out));
    dice.ranges = iso_alloc_zeroed((size_t)n_workers, sizeof *dice.ranges);
    iso_status_t status =
        dice.ranges == NULL ? ISO_NOMEM : cut_nodes(&dice, stage, *cut_out);

    if (status != ISO_OK) {
        iso_stage_cut_destroy(cut_out);
    }
    iso_free(dice.ranges);
    return status;
}
