/* What arranging a stage begins with: its readers, workers, units, choices. */
#include "isotome/error.h"

#include "base/mem.h"
#include "plan/node_seconds.h"
#include "plan/shard/arrange_impl.h"

#include <math.h>

/* -- facts of the graph -- */

bool iso__is_weight(const iso_node_t *node)
{
    return node->op == ISO_OP_PARAM || node->op == ISO_OP_CONSTANT;
}

int iso__first_use(const iso_node_t *node, int operand)
{
    int first = 0;

    while (node->inputs[first] != node->inputs[operand]) {
        first++;
    }
    return first;
}

bool iso__reads_value(const iso_graph_t *stage, const iso_node_t *node,
                      int operand)
{
    const iso_node_id_t input = node->inputs[operand];

    return input != ISO_NO_NODE &&
           !iso__is_weight(iso_graph_node(stage, input)) &&
           iso__first_use(node, operand) == operand;
}

static void find_readers(iso__arrange_t *arrange)
{
    const iso_graph_t *stage = arrange->stage;
    const int32_t n = iso_graph_node_count(stage);

    for (iso_node_id_t id = 0; id < n; id++) {
        const iso_node_t *node = iso_graph_node(stage, id);
        arrange->last_reader[id] = ISO_NO_NODE;
        for (int i = 0; i < node->n_inputs; i++) {
            if (node->inputs[i] != ISO_NO_NODE) {
                arrange->last_reader[node->inputs[i]] = id;
            }
        }
    }
    for (int i = 0; i < iso_graph_output_count(stage); i++) {
        arrange->is_output[iso_graph_output(stage, i)->node] = true;
    }
}

/* -- workers -- */

static const iso_machine_rank_t *rank_of(const iso__arrange_t *arrange,
                                         int worker)
{
    return iso_machine_rank(arrange->options->machine,
                            arrange->options->ranks[worker]);
}

static bool is_calibrated(const iso__arrange_t *arrange, int worker)
{
    return rank_of(arrange, worker)->cost_class != ISO_COST_UNCALIBRATED;
}

/* How often a worker could compute the whole stage in a second: the same for
 * all nodes, so that all are cut at the same places. */
static double rate_of(const iso__arrange_t *arrange, int worker,
                      const iso_node_cost_t *costs)
{
    const iso_machine_rank_t *rank = rank_of(arrange, worker);
    double seconds = 0.0;

    for (iso_node_id_t id = 0; id < iso_graph_node_count(arrange->stage);
         id++) {
        seconds += iso_cost_seconds(iso_graph_node(arrange->stage, id),
                                    &costs[id], rank);
    }
    const double rate = 1.0 / seconds;

    return isfinite(rate) && rate > 0.0 ? rate : rank->flops_per_s;
}

/* The fastest first, the earlier one of equals. */
static void insert_worker(iso__arrange_t *arrange, int worker)
{
    int at = arrange->n_usable;

    for (; at > 0 &&
           arrange->rates[arrange->fastest[at - 1]] < arrange->rates[worker];
         at--) {
        arrange->fastest[at] = arrange->fastest[at - 1];
    }
    arrange->fastest[at] = worker;
    arrange->n_usable++;
}

static iso_status_t find_costs(const iso_graph_t *stage, iso_node_cost_t *costs)
{
    for (iso_node_id_t id = 0; id < iso_graph_node_count(stage); id++) {
        ISO_TRY(iso_node_is_leaf(iso_graph_node(stage, id))
                    ? ISO_OK
                    : iso_node_cost_of(stage, id, &costs[id]));
    }
    return ISO_OK;
}

/* All that are calibrated; worker 0 alone where it is not. */
static iso_status_t find_workers(iso__arrange_t *arrange)
{
    const bool alone = !is_calibrated(arrange, 0);
    const size_t n = (size_t)iso_graph_node_count(arrange->stage);
    iso_node_cost_t *costs = iso_alloc_zeroed(n, sizeof *costs);
    iso_status_t status =
        costs == NULL ? ISO_NOMEM : find_costs(arrange->stage, costs);

    for (int i = 0; status == ISO_OK && i < arrange->options->n_workers; i++) {
        if (i == 0 || (!alone && is_calibrated(arrange, i))) {
            arrange->rates[i] = rate_of(arrange, i, costs);
            insert_worker(arrange, i);
        }
    }
    iso_free(costs);
    return status;
}

/* -- prepare -- */

static iso_status_t check_options(const iso_arrange_options_t *options)
{
    const int world = iso_machine_world(options->machine);

    if (options->n_workers < 1) {
        return iso_fail(ISO_INVAL, "a stage of %d workers, expected at least 1",
                        options->n_workers);
    }
    for (int i = 0; i < options->n_workers; i++) {
        if (options->ranks[i] < 0 || options->ranks[i] >= world) {
            return iso_fail(ISO_INVAL,
                            "worker %d is rank %d, expected one of the "
                            "machine's %d ranks",
                            i, options->ranks[i], world);
        }
    }
    return ISO_OK;
}

static iso_status_t allocate(iso__arrange_t *arrange)
{
    const size_t n = (size_t)iso_graph_node_count(arrange->stage);
    const size_t n_workers = (size_t)arrange->options->n_workers;
    iso_arena_t *arena = arrange->arena;

    arrange->fastest =
        iso_arena_array(arena, n_workers, sizeof *arrange->fastest);
    arrange->rates = iso_arena_array(arena, n_workers, sizeof *arrange->rates);
    arrange->form_of = iso_arena_array(arena, n, sizeof *arrange->form_of);
    arrange->last_reader =
        iso_arena_array(arena, n, sizeof *arrange->last_reader);
    arrange->is_output = iso_arena_array(arena, n, sizeof *arrange->is_output);
    arrange->class_of = iso_arena_array(arena, n, sizeof *arrange->class_of);
    return arrange->fastest == NULL || arrange->rates == NULL ||
                   arrange->form_of == NULL || arrange->last_reader == NULL ||
                   arrange->is_output == NULL || arrange->class_of == NULL
               ? ISO_NOMEM
               : ISO_OK;
}

static iso_status_t find_choices(iso__arrange_t *arrange)
{
    const iso_graph_t *stage = arrange->stage;

    ISO_TRY(iso__units_create(stage, arrange->arena, &arrange->units));
    for (iso_node_id_t id = 0; id < iso_graph_node_count(stage); id++) {
        const iso_node_t *node = iso_graph_node(stage, id);
        ISO_TRY(
            iso__places_form(&arrange->places, node, &arrange->form_of[id]));
        ISO_TRY(iso__is_weight(node) ? ISO_OK
                                     : iso__choices_of_node(arrange, id));
    }
    return ISO_OK;
}

iso_status_t iso__arrange_prepare(const iso_graph_t *stage,
                                  const iso_arrange_options_t *options,
                                  iso__arrange_t *arrange_out)
{
    *arrange_out = (iso__arrange_t){.stage = stage, .options = options};
    ISO_TRY(check_options(options));
    ISO_TRY(iso_arena_create(&arrange_out->arena));
    ISO_TRY(iso__places_create(options, &arrange_out->places));
    ISO_TRY(allocate(arrange_out));
    find_readers(arrange_out);
    ISO_TRY(find_workers(arrange_out));
    return find_choices(arrange_out);
}

void iso__arrange_free(iso__arrange_t *arrange)
{
    iso__places_free(&arrange->places);
    iso__index_free(&arrange->class_index);
    iso_free(arrange->classes);
    iso_arena_destroy(&arrange->arena);
}
