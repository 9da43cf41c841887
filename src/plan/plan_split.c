/* The layer split of a plan. */
#include "isotome/error.h"

#include "base/mem.h"
#include "kernel/panels.h"
#include "kernel/scratch.h"
#include "plan/buffers.h"
#include "plan/memory_plan.h"
#include "plan/node_seconds.h"
#include "plan/plan_impl.h"

#include <math.h>

/* -- costs of layers -- */

/* What the balanced split looks at, made from the graph at the micro-batch. */
typedef struct costs {
    const iso_plan_t *plan;
    const iso_machine_t *machine;
    iso_graph_t *bound;
    iso_layer_cost_t *layers; /* (layer_count) */
    iso_rank_power_t *groups; /* (n_stages) in rank order */
    size_t reserve_bytes;     /* that each rank needs besides its layers */
    double *passing_bytes;    /* (layer_count) over the cut after a layer */
    int *last_use;      /* (n_nodes) last layer that uses a value; -1: none */
    size_t *held_bytes; /* (n_nodes) that a weight takes in memory */
} costs_t;

static void free_costs(costs_t *costs)
{
    iso_free(costs->layers);
    iso_free(costs->groups);
    iso_free(costs->passing_bytes);
    iso_free(costs->last_use);
    iso_free(costs->held_bytes);
    iso_graph_destroy(&costs->bound);
}

static iso_status_t start_costs(const iso_graph_t *graph, costs_t *costs)
{
    size_t n_layers = (size_t)costs->plan->layer_count;
    size_t n_groups = (size_t)costs->plan->n_stages;
    size_t n_nodes = (size_t)iso_graph_node_count(graph);

    costs->layers = iso_alloc_zeroed(n_layers, sizeof *costs->layers);
    costs->groups = iso_alloc_zeroed(n_groups, sizeof *costs->groups);
    costs->passing_bytes =
        iso_alloc_zeroed(n_layers, sizeof *costs->passing_bytes);
    costs->last_use = iso_alloc_zeroed(n_nodes, sizeof *costs->last_use);
    costs->held_bytes = iso_alloc_zeroed(n_nodes, sizeof *costs->held_bytes);
    if (costs->layers == NULL || costs->groups == NULL ||
        costs->passing_bytes == NULL || costs->last_use == NULL ||
        costs->held_bytes == NULL) {
        return ISO_NOMEM;
    }
    for (size_t i = 0; i < n_nodes; i++) {
        costs->last_use[i] = -1;
    }
    ISO_TRY(iso__plan_bind(costs->plan, graph, costs->plan->micro_batch,
                           &costs->bound));
    return iso_panels_bytes(costs->bound, costs->held_bytes);
}

/*
 * Note that a layer uses a value. A weight counts in each layer that uses
 * it, also when two layers of one stage share one; the plan's own figures
 * are exact.
 */
static void use(costs_t *costs, iso_node_id_t id, int layer)
{
    if (id != ISO_NO_NODE && costs->last_use[id] != layer) {
        costs->last_use[id] = layer;
        costs->layers[layer].bytes =
            iso_bytes_add(costs->layers[layer].bytes, costs->held_bytes[id]);
    }
}

static iso_status_t add_node(costs_t *costs, iso_node_id_t id)
{
    const iso_node_t *node = iso_graph_node(costs->bound, id);
    double seconds = 0.0;

    if (iso_node_is_leaf(node)) {
        return ISO_OK;
    }
    ISO_TRY(iso_node_seconds(costs->bound, id,
                             iso_machine_rank(costs->machine, 0), &seconds));
    costs->layers[node->layer].seconds += seconds;
    for (int i = 0; i < node->n_inputs; i++) {
        use(costs, node->inputs[i], node->layer);
    }
    return ISO_OK;
}

/* Between the first workers of neighbouring stages; the slowest link counts,
 * since where stages begin is what the split decides. */
static double slowest_link_s(const costs_t *costs, size_t bytes)
{
    double slowest_s = 0.0;

    for (int group = 1; group < costs->plan->n_stages; group++) {
        iso_link_t link =
            iso_machine_link(costs->machine, costs->plan->bases[group],
                             costs->plan->bases[group - 1]);
        slowest_s = fmax(slowest_s, iso_link_seconds(link, (double)bytes));
    }
    return slowest_s;
}

/* A value passes each cut from the layer that makes it to the last one that
 * uses it: changes first, which add_passing sums up. */
static iso_status_t add_change(costs_t *costs, iso_node_id_t id)
{
    const iso_node_t *node = iso_graph_node(costs->bound, id);
    int last_use = costs->last_use[id];
    size_t bytes = 0;

    if (iso_node_is_leaf(node) || last_use <= node->layer) {
        return ISO_OK;
    }
    ISO_TRY(iso_tensor_bytes_of(node->dtype, &node->shape, &bytes));
    double seconds = slowest_link_s(costs, bytes);

    costs->layers[node->layer].boundary_s += seconds;
    costs->layers[last_use].boundary_s -= seconds;
    costs->passing_bytes[node->layer] += (double)bytes;
    costs->passing_bytes[last_use] -= (double)bytes;
    return ISO_OK;
}

static iso_status_t add_passing(costs_t *costs)
{
    double seconds = 0.0;
    double bytes = 0.0;

    for (iso_node_id_t id = 0; id < iso_graph_node_count(costs->bound); id++) {
        ISO_TRY(add_change(costs, id));
    }
    for (int layer = 0; layer < costs->plan->layer_count; layer++) {
        seconds += costs->layers[layer].boundary_s;
        bytes += costs->passing_bytes[layer];
        costs->layers[layer].boundary_s = fmax(seconds, 0.0);
        costs->passing_bytes[layer] = bytes;
    }
    return ISO_OK;
}

/* -- what a rank has for weights -- */

/* Two messages in and two out of the widest cut, and the model's inputs. */
static iso_status_t reserve_buffers(const costs_t *costs, size_t *reserve)
{
    double most_passing = 0.0;

    for (int layer = 0; layer < costs->plan->layer_count; layer++) {
        most_passing = fmax(most_passing, costs->passing_bytes[layer]);
    }
    double messages = 4.0 * most_passing;

    *reserve = iso_bytes_add(
        *reserve, messages < (double)SIZE_MAX ? (size_t)messages : SIZE_MAX);
    for (iso_node_id_t id = 0; id < iso_graph_node_count(costs->bound); id++) {
        const iso_node_t *node = iso_graph_node(costs->bound, id);
        size_t bytes = 0;

        if (node->op != ISO_OP_INPUT) {
            continue;
        }
        ISO_TRY(iso_tensor_bytes_of(node->dtype, &node->shape, &bytes));
        *reserve = iso_bytes_add(*reserve, bytes);
    }
    return ISO_OK;
}

/*
 * What a rank needs beside weights: the process, scratch, activations as if
 * it ran the whole model (a stage seldom has more), and buffers.
 */
static iso_status_t find_reserve(const costs_t *costs, size_t *reserve_out)
{
    size_t bytes = 0;

    ISO_TRY(iso_memory_plan_bytes(costs->bound, &bytes));
    *reserve_out = iso_bytes_add(
        ISO_PLAN_PROCESS_BYTES + iso_kernel_scratch_bytes(1), bytes);
    return reserve_buffers(costs, reserve_out);
}

/* Seconds of the whole model on a rank. Most ranks are like the one before,
 * whose seconds are then kept. */
static iso_status_t time_model(const costs_t *costs,
                               const iso_machine_rank_t *rank,
                               const iso_machine_rank_t *before,
                               double *seconds)
{
    if (iso_cost_same_speed(rank, before)) {
        return ISO_OK;
    }
    return iso_graph_seconds(costs->bound, rank, seconds);
}

/* The reserve is taken off a group's memory once, so that what further workers
 * need of it is taken off here. */
static void add_worker(iso_rank_power_t *group, double speed,
                       size_t memory_bytes, size_t reserve_bytes)
{
    if (group->speed > 0.0) {
        memory_bytes -=
            memory_bytes < reserve_bytes ? memory_bytes : reserve_bytes;
    }
    group->speed += speed;
    group->memory_bytes = iso_bytes_add(group->memory_bytes, memory_bytes);
}

/* A rank's speed is how much faster it would run the whole model than rank 0
 * does, for which layers' seconds are counted. Workers of a stage add up, in
 * speed, since they share the work, and in memory, since weights can be cut. */
static iso_status_t fill_groups(costs_t *costs)
{
    const iso_machine_rank_t *before = iso_machine_rank(costs->machine, 0);
    double first_s = 0.0;
    double seconds;
    int group = 0;

    ISO_TRY(find_reserve(costs, &costs->reserve_bytes));
    ISO_TRY(iso_graph_seconds(costs->bound, before, &first_s));
    seconds = first_s;
    for (int i = 0; i < costs->plan->used; i++) {
        const iso_machine_rank_t *rank = iso_machine_rank(costs->machine, i);

        group += i == costs->plan->bases[group + 1] ? 1 : 0;
        if (iso__plan_leaves_out(costs->plan, costs->machine, i)) {
            continue;
        }
        ISO_TRY(time_model(costs, rank, before, &seconds));
        before = rank;
        add_worker(&costs->groups[group], seconds > 0.0 ? first_s / seconds : 1,
                   rank->memory_bytes, costs->reserve_bytes);
    }
    return ISO_OK;
}

static iso_status_t fill_costs(costs_t *costs)
{
    for (iso_node_id_t id = 0; id < iso_graph_node_count(costs->bound); id++) {
        ISO_TRY(add_node(costs, id));
    }
    ISO_TRY(add_passing(costs));
    return fill_groups(costs);
}

static iso_status_t check_calibrated(const iso_plan_t *plan,
                                     const iso_machine_t *machine)
{
    for (int rank = 0; rank < plan->used; rank++) {
        const iso_machine_rank_t *facts = iso_machine_rank(machine, rank);
        if (facts->cost_class == ISO_COST_UNCALIBRATED &&
            !iso__plan_leaves_out(plan, machine, rank)) {
            return iso_fail(ISO_INVAL,
                            "rank %d on %s is uncalibrated, so that the split "
                            "cannot be balanced; calibrate it or ask for the "
                            "even split",
                            rank, facts->host);
        }
    }
    return ISO_OK;
}

static iso_status_t check_layers(const iso_graph_t *graph)
{
    for (iso_node_id_t id = 0; id < iso_graph_node_count(graph); id++) {
        const iso_node_t *node = iso_graph_node(graph, id);
        if (!iso_node_is_leaf(node) && node->layer < 0) {
            return iso_fail(ISO_INVAL, "node '%s' is in no layer", node->name);
        }
    }
    return ISO_OK;
}

/* -- the kinds -- */

static iso_status_t split_balanced(iso_plan_t *plan, const iso_graph_t *graph,
                                   const iso_machine_t *machine)
{
    costs_t costs = {.plan = plan, .machine = machine};
    iso_status_t status;

    ISO_TRY(check_calibrated(plan, machine));
    ISO_TRY(check_layers(graph));
    status = start_costs(graph, &costs);
    if (status == ISO_OK) {
        status = fill_costs(&costs);
    }
    if (status == ISO_OK) {
        iso_balance_t balance = {.n_layers = plan->layer_count,
                                 .layers = costs.layers,
                                 .world = plan->n_stages,
                                 .ranks = costs.groups,
                                 .reserve_bytes = costs.reserve_bytes};
        status = iso_layer_split_balanced(&balance, &plan->split, NULL);
    }
    free_costs(&costs);
    return status;
}

static iso_status_t split_by_memory(iso_plan_t *plan,
                                    const iso_machine_t *machine)
{
    uint64_t *weights =
        iso_alloc_zeroed((size_t)plan->n_stages, sizeof *weights);

    if (weights == NULL) {
        return ISO_NOMEM;
    }
    for (int group = 0; group < plan->n_stages; group++) {
        for (int i = plan->bases[group]; i < plan->bases[group + 1]; i++) {
            weights[group] += iso_machine_rank(machine, i)->memory_bytes;
        }
    }
    iso_status_t status = iso_layer_split_weighted(
        plan->layer_count, plan->n_stages, weights, &plan->split);
    iso_free(weights);
    return status;
}

static iso_status_t split_as_given(iso_plan_t *plan,
                                   const iso_layer_split_t *split)
{
    if (split == NULL) {
        return iso_fail(ISO_INVAL, "an explicit split without counts");
    }
    ISO_TRY(iso_layer_split_check(split, plan->layer_count, plan->n_stages));
    return iso_layer_split_copy(split, &plan->split);
}

iso_status_t iso__plan_choose_split(iso_plan_t *plan, const iso_graph_t *graph,
                                    const iso_machine_t *machine,
                                    const iso_plan_options_t *options)
{
    switch (options->split_kind) {
    case ISO_SPLIT_BALANCED:
        return split_balanced(plan, graph, machine);
    case ISO_SPLIT_EVEN:
        return iso_layer_split_even(plan->layer_count, plan->n_stages,
                                    &plan->split);
    case ISO_SPLIT_MEMORY:
        return split_by_memory(plan, machine);
    case ISO_SPLIT_EXPLICIT:
        return split_as_given(plan, options->split);
    }
    return iso_fail(ISO_INVAL, "split kind %d is not known",
                    (int)options->split_kind);
}
