/* The fastest way to carry out an option: which workers, which pieces. */
#include "isotome/error.h"

#include "graph/cost.h"
#include "plan/node_seconds.h"
#include "plan/shard/choose_impl.h"
#include "plan/shard/option_impl.h"

#include <math.h>
#include <string.h>

/* More are not counted: their shards are priced by elements alone. */
static const double most_bytes = 1e18;

static double shard_seconds(int64_t elements, double rate)
{
    return (double)elements / rate;
}

/* Bytes of the operands; of those that every shard reads whole. */
static double operand_bytes(const iso_shard_op_t *op,
                            const iso_shard_option_t *option, bool shared_alone)
{
    const iso_node_t *node = iso_graph_node(op->graph, op->node);
    double bytes = 0.0;

    for (int k = 0; k < node->n_inputs && k < ISO_SHARD_OPERANDS; k++) {
        if (node->inputs[k] != ISO_NO_NODE &&
            (!shared_alone || option->operands[k].use == ISO_SHARD_SHARED)) {
            const iso_node_t *operand = iso__shard_operand(op, k);

            bytes += (double)iso_shape_count(&operand->shape) *
                     (double)iso_dtype_bytes(operand->dtype);
        }
    }
    return bytes;
}

/*
 * How much longer a shard takes than its share of the whole, because it reads
 * more than that share: a machine's figures say.
 */
static iso_status_t find_burden(const iso__shard_chooser_t *chooser,
                                const iso_shard_option_t *option, int shard,
                                double *burden_out)
{
    const iso_shard_question_t *question = chooser->question;
    const iso_shard_op_t *op = &question->op;
    const double share = (double)iso_range_length(option->ranges[shard]) /
                         (double)option->length;
    iso_node_cost_t cost;

    *burden_out = 1.0;
    if (question->machine == NULL || share >= 1.0 ||
        operand_bytes(op, option, false) > most_bytes) {
        return ISO_OK;
    }
    ISO_TRY(iso_node_cost_of(op->graph, op->node, &cost));

    const iso_node_t *node = iso_graph_node(op->graph, op->node);
    const iso_machine_rank_t *rank = iso_machine_rank(
        question->machine, chooser->usable[chooser->now.workers[shard]].rank);
    const double whole_s = iso_cost_seconds(node, &cost, rank);
    const double read = (double)cost.operand_bytes * share +
                        operand_bytes(op, option, true) * (1.0 - share);

    cost.flops *= share;
    cost.operand_bytes = (size_t)read;
    cost.output_bytes = (size_t)((double)cost.output_bytes * share);
    if (whole_s > 0.0) {
        *burden_out = iso_cost_seconds(node, &cost, rank) / (share * whole_s);
    }
    return ISO_OK;
}

/* Pieces are what they are, whoever gets which: the widest one may be with
 * the slowest worker. */
static iso_status_t equal_seconds(const iso__shard_chooser_t *chooser,
                                  const iso_shard_option_t *option,
                                  double *seconds_out)
{
    double slowest = chooser->rates[0];
    double worst = 0.0;

    for (int i = 0; i < option->count; i++) {
        double burden = 1.0;

        ISO_TRY(find_burden(chooser, option, i, &burden));
        worst = fmax(worst, burden);
        slowest = fmin(slowest, chooser->rates[i]);
    }
    *seconds_out = worst * shard_seconds(iso_shard_widest(option), slowest);
    return ISO_OK;
}

static iso_status_t shared_seconds(const iso__shard_chooser_t *chooser,
                                   const iso_shard_option_t *option,
                                   double *seconds_out)
{
    *seconds_out = 0.0;
    for (int i = 0; i < option->count; i++) {
        double burden = 1.0;

        ISO_TRY(find_burden(chooser, option, i, &burden));
        *seconds_out = fmax(
            *seconds_out, burden * shard_seconds(iso_shard_elements(option, i),
                                                 chooser->rates[i]));
    }
    return ISO_OK;
}

/* The root adds partial sums up, after it has them. */
static double adding_seconds(const iso__shard_chooser_t *chooser,
                             const iso_shard_option_t *option)
{
    static const iso_node_t add = {.op = ISO_OP_ADD};
    const iso_shard_question_t *question = chooser->question;
    const double adds =
        (double)option->returned_elements - (double)option->output_elements;
    const double bytes = adds * (double)iso_dtype_bytes(option->output_dtype);

    if (question->machine == NULL || adds <= 0.0 || bytes > most_bytes) {
        return 0.0;
    }

    const iso_node_cost_t cost = {.flops = adds,
                                  .operand_bytes = (size_t)(2.0 * bytes),
                                  .output_bytes = (size_t)bytes,
                                  .rate_class = ISO_RATE_ELEMENTWISE};

    return iso_cost_seconds(
        &add, &cost, iso_machine_rank(question->machine, question->root));
}

static void keep_if_best(iso__shard_chooser_t *chooser)
{
    iso__shard_way_t *now = &chooser->now;
    iso__shard_way_t *best = &chooser->best;

    now->compute_seconds += adding_seconds(chooser, &now->option);
    now->seconds = now->compute_seconds + iso__shard_move_seconds(chooser, now);
    if (best->option.count == 0 || now->seconds < best->seconds) {
        const iso__shard_way_t spare = *best;

        *best = *now;
        now->pieces = spare.pieces;
        now->workers = spare.workers;
    }
}

static iso_status_t try_equal(iso__shard_chooser_t *chooser,
                              const iso_shard_option_t *option)
{
    iso__shard_way_t *now = &chooser->now;

    memcpy(now->pieces, option->ranges,
           (size_t)option->count * sizeof *now->pieces);
    now->option = *option;
    now->option.ranges = now->pieces;
    ISO_TRY(equal_seconds(chooser, option, &now->compute_seconds));
    keep_if_best(chooser);
    return ISO_OK;
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
    ISO_TRY(shared_seconds(chooser, &now->option, &now->compute_seconds));
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
    ISO_TRY(try_equal(chooser, option));
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
