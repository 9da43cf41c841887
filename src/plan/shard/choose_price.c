/* What an option's operands and value cost to move. */
#include "base/log.h"
#include "plan/shard/choose_impl.h"
#include "plan/shard/exchange.h"
#include "plan/shard/option_impl.h"

#include <math.h>

/* ---- The exchanges of a way, on a machine ---- */

/* Sum over the exchanges of a way. */
typedef struct sum {
    const iso_machine_t *machine;
    const int *ranks; /* of the team: the shards' in order, then the root's
                       * when it has no shard */
    int n_ranks;
    int root; /* in the team */
    double seconds;
    size_t bytes;
    bool count_bytes;
} sum_t;

static void add_exchange(iso_exchange_t *exchange, sum_t *sum)
{
    exchange->kind = iso_exchange_kind_of(&exchange->from, &exchange->to);
    exchange->n_workers = sum->n_ranks;
    if (sum->count_bytes) {
        const size_t bytes = iso_exchange_bytes(exchange);

        sum->bytes =
            bytes > SIZE_MAX - sum->bytes ? SIZE_MAX : sum->bytes + bytes;
    } else {
        sum->seconds +=
            iso_exchange_seconds(exchange, sum->machine, sum->ranks);
    }
}

static iso_layout_t at_root(const sum_t *sum)
{
    return (iso_layout_t){.kind = ISO_LAYOUT_ONE, .worker = sum->root};
}

/* Ranks of the shards, and the root's. */
static void gather_team(iso__shard_chooser_t *chooser,
                        const iso__shard_way_t *way, sum_t *sum)
{
    const iso_shard_question_t *question = chooser->question;

    sum->machine = question->machine;
    sum->ranks = chooser->team;
    sum->root = -1;
    for (int i = 0; i < way->option.count; i++) {
        chooser->team[i] = chooser->usable[way->workers[i]].rank;
        if (chooser->team[i] == question->root) {
            sum->root = i;
        }
    }
    sum->n_ranks = way->option.count;
    if (sum->root < 0) {
        sum->root = sum->n_ranks;
        chooser->team[sum->n_ranks++] = question->root;
    }
}

/* As one axis, rows that are cut as one; the axis is 0 then. */
static void set_shape(const iso_shard_option_t *option,
                      const iso_shape_t *shape, int axis,
                      iso_exchange_t *exchange, iso_layout_t *layout)
{
    exchange->shape = *shape;
    layout->axis = axis;
    if (option->flat_axes > 1) {
        exchange->shape = iso_shape_of(
            2, (const int64_t[]){option->length,
                                 shape->dim[shape->rank - 1].size});
        layout->axis = 0;
    }
}

/* Slabs to the shards, none to a root without a shard. */
static void add_scatter(iso__shard_chooser_t *chooser,
                        const iso__shard_way_t *way, int operand, sum_t *sum)
{
    const iso_shard_question_t *question = chooser->question;
    const iso_shape_t *shape =
        &iso__shard_operand(&question->op, operand)->shape;
    const iso_shard_operand_t *sliced = &way->option.operands[operand];
    iso_exchange_t exchange = {.dtype = sliced->dtype, .from = at_root(sum)};

    chooser->slabs[way->option.count] = (iso_range_t){0, 0};
    for (int i = 0; i < way->option.count; i++) {
        iso_slab_t slab;

        /* It was found once, when the option was measured. */
        ISO_ASSERT(iso_shard_slab(&question->op, &way->option, i, operand,
                                  &slab) == ISO_OK);
        chooser->slabs[i] = slab.range;
    }
    exchange.to =
        (iso_layout_t){.kind = ISO_LAYOUT_SPLIT, .ranges = chooser->slabs};
    set_shape(&way->option, shape, sliced->axis, &exchange, &exchange.to);
    add_exchange(&exchange, sum);
}

static void add_broadcast(const iso__shard_chooser_t *chooser,
                          const iso__shard_way_t *way, int operand, sum_t *sum)
{
    const iso_shard_op_t *op = &chooser->question->op;
    iso_exchange_t exchange = {.dtype = way->option.operands[operand].dtype,
                               .shape = iso__shard_operand(op, operand)->shape,
                               .from = at_root(sum),
                               .to = {.kind = ISO_LAYOUT_ALL}};

    add_exchange(&exchange, sum);
}

/* The pieces of the value back to the root. */
static void add_gather(iso__shard_chooser_t *chooser,
                       const iso__shard_way_t *way, sum_t *sum)
{
    const iso_shard_op_t *op = &chooser->question->op;
    const iso_shape_t *shape = &iso_graph_node(op->graph, op->node)->shape;
    iso_exchange_t exchange = {.dtype = way->option.output_dtype,
                               .to = at_root(sum)};

    for (int i = 0; i < way->option.count; i++) {
        chooser->slabs[i] = way->pieces[i];
    }
    chooser->slabs[way->option.count] = (iso_range_t){0, 0};
    exchange.from =
        (iso_layout_t){.kind = ISO_LAYOUT_SPLIT, .ranges = chooser->slabs};
    set_shape(&way->option, shape, way->option.output_axis, &exchange,
              &exchange.from);
    add_exchange(&exchange, sum);
}

/* The partial sums to the root, where the tree is; its own stay. */
static void add_sends(const iso__shard_chooser_t *chooser,
                      const iso__shard_way_t *way, sum_t *sum)
{
    const iso_shard_op_t *op = &chooser->question->op;
    iso_range_t subtrees[ISO_MOST_SUBTREES];
    iso_exchange_t exchange = {.dtype = way->option.output_dtype,
                               .shape =
                                   iso_graph_node(op->graph, op->node)->shape,
                               .to = at_root(sum)};

    for (int i = 0; i < way->option.count; i++) {
        const int partials =
            iso_cut_subtrees(way->option.length, way->pieces[i], subtrees);

        exchange.from = (iso_layout_t){.kind = ISO_LAYOUT_ONE, .worker = i};
        for (int k = 0; k < partials; k++) {
            add_exchange(&exchange, sum);
        }
    }
}

static void add_all(iso__shard_chooser_t *chooser, const iso__shard_way_t *way,
                    sum_t *sum)
{
    gather_team(chooser, way, sum);
    for (int i = 0; i < ISO_SHARD_OPERANDS; i++) {
        const iso_shard_use_t use = way->option.operands[i].use;

        if ((chooser->question->resident >> i & 1U) != 0) {
            continue;
        }
        if (use == ISO_SHARD_SLICED) {
            add_scatter(chooser, way, i, sum);
        } else if (use == ISO_SHARD_SHARED) {
            add_broadcast(chooser, way, i, sum);
        }
    }
    if (way->option.output_axis == ISO_SHARD_PARTIAL_SUMS) {
        add_sends(chooser, way, sum);
    } else {
        add_gather(chooser, way, sum);
    }
}

/* ---- Either link ---- */

double iso__shard_move_seconds(iso__shard_chooser_t *chooser,
                               const iso__shard_way_t *way)
{
    const iso_shard_question_t *question = chooser->question;
    const iso_link_t *link = &question->flat_link;

    if (question->machine == NULL) {
        const size_t bytes =
            iso_shard_moved_bytes(&way->option, question->resident);

        return link->bytes_per_s > 0 ? iso_link_seconds(*link, (double)bytes)
                                     : (double)INFINITY;
    }

    sum_t sum = {.count_bytes = false};

    add_all(chooser, way, &sum);
    return sum.seconds;
}

size_t iso__shard_moved_bytes(iso__shard_chooser_t *chooser,
                              const iso__shard_way_t *way)
{
    if (chooser->question->machine == NULL) {
        return iso_shard_moved_bytes(&way->option, chooser->question->resident);
    }

    sum_t sum = {.count_bytes = true};

    add_all(chooser, way, &sum);
    return sum.bytes;
}
