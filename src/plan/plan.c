#include "isotome/plan.h"

#include "isotome/error.h"

#include "base/digest.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "graph/samples.h"
#include "plan/plan_impl.h"

#include <math.h>

const char *const iso__split_kind_names[] = {"balanced", "even", "memory",
                                             "explicit", NULL};

/* -- life -- */

void iso_plan_destroy(iso_plan_t **plan)
{
    iso_plan_t *dead = *plan;

    if (dead == NULL) {
        return;
    }
    for (int stage = 0; dead->cuts != NULL && stage < dead->n_stages; stage++) {
        iso_stage_cut_destroy(&dead->cuts[stage]);
    }
    iso_free(dead->cuts);
    iso_partition_destroy(&dead->partition);
    iso_layer_split_free(&dead->split);
    iso_arena_destroy(&dead->arena);
    iso_free(dead);
    *plan = NULL;
}

/* -- batch dim -- */

static iso_status_t fail_free_dims(const char **names, int count)
{
    iso_text_t list = {0};

    for (int i = 0; i < count; i++) {
        iso_text_add(&list, "%s%s", i == 0 ? "" : ", ", names[i]);
    }
    iso_status_t status = list.status;
    if (status == ISO_OK) {
        status = iso_fail(ISO_INVAL,
                          "the model has %d free dims (%s), expected one, the "
                          "batch; give the others numbers when importing",
                          count, list.data);
    }
    iso_text_free(&list);
    return status;
}

static iso_status_t find_batch(iso_plan_t *plan, const iso_graph_t *graph)
{
    const char **names = NULL;
    int count = 0;
    iso_status_t status = iso_graph_free_dims(graph, &names, &count);

    if (status == ISO_OK && count > 1) {
        status = fail_free_dims(names, count);
    }
    if (status == ISO_OK && count == 1) {
        plan->batch = iso_arena_text(plan->arena, names[0]);
        status = plan->batch == NULL ? ISO_NOMEM : ISO_OK;
    }
    if (status == ISO_OK && count == 1) {
        status = iso_graph_check_samples(graph, plan->batch);
    }
    iso_free(names);
    return status;
}

iso_status_t iso__plan_start(const iso_graph_t *graph, iso_plan_t **plan_out)
{
    iso_plan_t *plan = iso_alloc_zeroed(1, sizeof *plan);
    iso_status_t status;

    *plan_out = NULL;
    if (plan == NULL) {
        return ISO_NOMEM;
    }
    status = iso_arena_create(&plan->arena);
    if (status == ISO_OK) {
        plan->graph_digest = iso_graph_digest(graph);
        plan->layer_count = iso_graph_layer_count(graph);
        if (plan->layer_count < 1) {
            status = iso_fail(ISO_INVAL, "the graph has no layers, so that "
                                         "there is nothing to split");
        }
    }
    if (status == ISO_OK) {
        status = find_batch(plan, graph);
    }
    if (status != ISO_OK) {
        iso_plan_destroy(&plan);
    }
    *plan_out = plan;
    return status;
}

/* -- create -- */

static iso_status_t choose_world(iso_plan_t *plan, const iso_machine_t *machine,
                                 const iso_plan_options_t *options)
{
    if (options->world < 1 || options->world > iso_machine_world(machine)) {
        return iso_fail(ISO_INVAL,
                        "%d ranks, expected 1 to %d, which the "
                        "machine has",
                        options->world, iso_machine_world(machine));
    }
    if (options->samples < 0) {
        return iso_fail(ISO_INVAL, "%lld samples, expected at least 0",
                        (long long)options->samples);
    }
    plan->world = options->world;
    ISO_TRY(iso__plan_choose_grid(plan, options));
    plan->samples = options->samples;
    plan->split_kind = options->split_kind;
    for (int rank = 0; rank < plan->used; rank++) {
        iso_cost_class_t figures = iso_machine_rank(machine, rank)->cost_class;
        if (figures > plan->figures &&
            !iso__plan_leaves_out(plan, machine, rank)) {
            plan->figures = figures;
        }
    }
    return ISO_OK;
}

static iso_status_t check_memory(const iso_plan_t *plan,
                                 const iso_machine_t *machine)
{
    char need[ISO_TEXT_NUMBER_BYTES];
    char limit[ISO_TEXT_NUMBER_BYTES];
    int rank = 0;

    while (rank < plan->used &&
           plan->parts[rank].peak_bytes <=
               iso_machine_rank(machine, rank)->memory_bytes) {
        rank++;
    }
    if (rank == plan->used) {
        return ISO_OK;
    }
    return iso_fail(
        ISO_INVAL,
        "the model does not fit: rank %d on %s would need %s but has %s; use "
        "more ranks, a smaller micro-batch or a machine file with its memory",
        rank, plan->parts[rank].host,
        iso_text_bytes(plan->parts[rank].peak_bytes, need),
        iso_text_bytes(iso_machine_rank(machine, rank)->memory_bytes, limit));
}

static iso_status_t decide(iso_plan_t *plan, const iso_graph_t *graph,
                           const iso_machine_t *machine,
                           const iso_plan_options_t *options)
{
    ISO_TRY(choose_world(plan, machine, options));
    ISO_TRY(iso__plan_choose_batch(plan, graph, options));
    ISO_TRY(iso__plan_choose_split(plan, graph, machine, options));
    ISO_TRY(iso__plan_cut_stages(plan, graph));
    ISO_TRY(iso__plan_choose_cuts(plan, machine, options));
    ISO_TRY(iso__plan_describe(plan, graph, machine));
    return check_memory(plan, machine);
}

iso_status_t iso_plan_create(const iso_graph_t *graph,
                             const iso_machine_t *machine,
                             const iso_plan_options_t *options,
                             iso_plan_t **plan_out)
{
    if (options->propose) {
        *plan_out = NULL;
        return iso__plan_propose(graph, machine, options, plan_out);
    }
    ISO_TRY(iso__plan_start(graph, plan_out));
    iso_status_t status = decide(*plan_out, graph, machine, options);

    if (status != ISO_OK) {
        iso_plan_destroy(plan_out);
    }
    return status;
}

/* -- queries -- */

int iso_plan_world(const iso_plan_t *plan)
{
    return plan->world;
}

int iso_plan_used(const iso_plan_t *plan)
{
    return plan->used;
}

int iso_plan_stage_count(const iso_plan_t *plan)
{
    return plan->n_stages;
}

int64_t iso_plan_micro_batch(const iso_plan_t *plan)
{
    return plan->micro_batch;
}

const char *iso_plan_batch(const iso_plan_t *plan)
{
    return plan->batch;
}

int iso_plan_layer_count(const iso_plan_t *plan)
{
    return plan->layer_count;
}

const iso_layer_split_t *iso_plan_split(const iso_plan_t *plan)
{
    return &plan->split;
}

const iso_plan_part_t *iso_plan_part(const iso_plan_t *plan, int rank)
{
    ISO_ASSERT(rank >= 0 && rank < plan->used);
    return &plan->parts[rank];
}

int iso_plan_boundary_count(const iso_plan_t *plan)
{
    return plan->n_boundaries;
}

const iso_boundary_t *iso_plan_boundary(const iso_plan_t *plan, int index)
{
    ISO_ASSERT(index >= 0 && index < plan->n_boundaries);
    return &plan->boundaries[index];
}

int iso_plan_exchange_count(const iso_plan_t *plan)
{
    return plan->n_exchanges;
}

const iso_plan_exchange_t *iso_plan_exchange(const iso_plan_t *plan, int index)
{
    ISO_ASSERT(index >= 0 && index < plan->n_exchanges);
    return &plan->exchanges[index];
}

uint64_t iso_plan_graph_digest(const iso_plan_t *plan)
{
    return plan->graph_digest;
}

static void add_cut(iso_digest_t *digest, const iso_stage_cut_t *cut)
{
    for (iso_node_id_t id = 0; id < cut->n_nodes; id++) {
        const iso_node_cut_t *node = &cut->nodes[id];

        iso_digest_add_int(digest, node->kind);
        iso_digest_add_int(digest,
                           node->kind == ISO_CUT_SPLIT ? node->axis : 0);
        for (int i = 0; node->ranges != NULL && i < cut->n_workers; i++) {
            iso_digest_add_int(digest, iso_range_length(node->ranges[i]));
        }
    }
}

uint64_t iso_plan_digest(const iso_plan_t *plan)
{
    iso_digest_t digest;

    iso_digest_begin(&digest);
    iso_digest_add_text(&digest, "plan");
    iso_digest_add_int(&digest, (int64_t)plan->graph_digest);
    iso_digest_add_int(&digest, plan->layer_count);
    iso_digest_add_int(&digest, plan->world);
    iso_digest_add_int(&digest, plan->used);
    iso_digest_add_int(&digest, plan->micro_batch);
    iso_digest_add_int(&digest, (int64_t)iso_layer_split_digest(&plan->split));
    for (int stage = 0; stage < plan->n_stages; stage++) {
        iso_digest_add_int(&digest, iso_plan_width(plan, stage));
        add_cut(&digest, plan->cuts[stage]);
    }
    return iso_digest_end(&digest);
}

/* -- time -- */

/* A worker is busy while it computes, exchanges and hands on. */
double iso__plan_busy_s(const iso_plan_t *plan, int stage)
{
    double slowest_s = 0.0;

    for (int worker = 0; worker < iso_plan_width(plan, stage); worker++) {
        const iso_plan_part_t *part =
            &plan->parts[iso_plan_rank_of(plan, stage, worker)];

        slowest_s =
            fmax(slowest_s, part->compute_s + part->exchange_s + part->send_s);
    }
    return slowest_s;
}

static double micro_batches(const iso_plan_t *plan, int64_t samples)
{
    return (double)iso__plan_count_batches(
        samples > 0 ? samples : plan->samples, plan->micro_batch);
}

/*
 * Every micro-batch takes the same time in a stage, so that it waits for the
 * slowest stage alone: the first one runs through all stages, each further
 * one comes out as much later as the slowest stage takes.
 */
double iso_plan_seconds(const iso_plan_t *plan, int64_t samples)
{
    double count = micro_batches(plan, samples);
    double through_s = 0.0;
    double slowest_s = 0.0;

    for (int stage = 0; stage < plan->n_stages; stage++) {
        double stage_s = iso__plan_busy_s(plan, stage);
        through_s += stage_s;
        slowest_s = fmax(slowest_s, stage_s);
    }
    return count > 0.0 ? through_s + (count - 1.0) * slowest_s : 0.0;
}

double iso_plan_bubble(const iso_plan_t *plan, int64_t samples)
{
    double seconds = iso_plan_seconds(plan, samples);
    double all_busy_s = 0.0;

    for (int stage = 0; stage < plan->n_stages; stage++) {
        all_busy_s +=
            iso__plan_busy_s(plan, stage) * micro_batches(plan, samples);
    }
    return seconds > 0.0 ? 1.0 - all_busy_s / (seconds * plan->n_stages) : 0.0;
}
