/* A plan's stages, and how each is cut among its workers. */
#include "isotome/error.h"

#include "base/mem.h"
#include "graph/pass.h"
#include "kernel/ref.h"
#include "kernel/scratch.h"
#include "plan/buffers.h"
#include "plan/partition_impl.h"
#include "plan/plan_impl.h"
#include "plan/plan_local.h"
#include "plan/shard/arrange.h"

/* -- the stages -- */

static iso_status_t fold_stages(iso_partition_t *partition)
{
    for (int i = 0; i < partition->n_stages; i++) {
        iso_stage_t *stage = &partition->stages[i];
        iso_graph_t *folded = NULL;

        ISO_TRY(iso_graph_fold(stage->graph, iso_ref_run, NULL, &folded));
        iso_graph_destroy(&stage->graph);
        stage->graph = folded;
    }
    return ISO_OK;
}

/* Counts in rank order become counts in model order. */
static iso_status_t cut_by_split(const iso_plan_t *plan,
                                 const iso_graph_t *bound,
                                 iso_partition_t **partition_out)
{
    int64_t *counts = iso_alloc_zeroed((size_t)plan->n_stages, sizeof *counts);

    if (counts == NULL) {
        return ISO_NOMEM;
    }
    for (int group = 0; group < plan->n_stages; group++) {
        counts[plan->n_stages - 1 - group] = plan->split.counts[group];
    }
    iso_status_t status = iso_partition_create_by_layers(
        bound, counts, plan->n_stages, partition_out);
    if (status == ISO_OK) {
        status = fold_stages(*partition_out);
        if (status != ISO_OK) {
            iso_partition_destroy(partition_out);
        }
    }
    iso_free(counts);
    return status;
}

iso_status_t iso_plan_partition(const iso_plan_t *plan,
                                const iso_graph_t *graph, int64_t samples,
                                iso_partition_t **partition_out)
{
    iso_graph_t *bound = NULL;

    *partition_out = NULL;
    if (samples < 1 || samples > plan->micro_batch) {
        return iso_fail(ISO_INVAL,
                        "%lld samples, expected 1 to %lld, the "
                        "micro-batch",
                        (long long)samples, (long long)plan->micro_batch);
    }
    ISO_TRY(iso__plan_bind(plan, graph, samples, &bound));
    iso_status_t status = cut_by_split(plan, bound, partition_out);
    iso_graph_destroy(&bound);
    return status;
}

/* -- what passes between stages -- */

static iso_status_t copy_transfers(iso_plan_t *plan, const iso_graph_t *graph)
{
    iso_boundary_t *list = NULL;
    int count = 0;

    ISO_TRY(iso_transfers_list(graph, plan->partition, &list, &count));
    plan->boundaries =
        iso_arena_copy(plan->arena, list, (size_t)count * sizeof *list);
    iso_free(list);
    if (plan->boundaries == NULL) {
        return ISO_NOMEM;
    }
    for (int i = 0; i < count; i++) {
        iso_boundary_t *one = &plan->boundaries[i];
        one->name = iso_arena_text(plan->arena, one->name);
        if (one->name == NULL) {
            return ISO_NOMEM;
        }
    }
    plan->n_boundaries = count;
    return ISO_OK;
}

static iso_status_t list_transfers(iso_plan_t *plan, const iso_graph_t *graph)
{
    iso_graph_t *bound = NULL;
    iso_status_t status =
        iso__plan_bind(plan, graph, plan->micro_batch, &bound);

    if (status == ISO_OK) {
        status = copy_transfers(plan, bound);
    }
    iso_graph_destroy(&bound);
    return status;
}

iso_status_t iso__plan_cut_stages(iso_plan_t *plan, const iso_graph_t *graph)
{
    ISO_TRY(
        iso_plan_partition(plan, graph, plan->micro_batch, &plan->partition));
    return list_transfers(plan, graph);
}

/* -- cuts -- */

/* What workers have for weights and values. */
static void leave_memory(const iso_machine_t *machine, const int *ranks,
                         int n_workers, size_t *memory)
{
    const size_t fixed = ISO_PLAN_PROCESS_BYTES + iso_kernel_scratch_bytes(1);

    for (int worker = 0; worker < n_workers; worker++) {
        size_t all = iso_machine_rank(machine, ranks[worker])->memory_bytes;

        memory[worker] = all > fixed ? all - fixed : 0;
    }
}

static iso_status_t arrange(const iso_graph_t *stage,
                            const iso_machine_t *machine, const int *ranks,
                            int n_workers, iso_stage_cut_t **cut_out)
{
    size_t *memory = iso_alloc_zeroed((size_t)n_workers, sizeof *memory);
    double seconds = 0.0;

    if (memory == NULL) {
        return ISO_NOMEM;
    }
    leave_memory(machine, ranks, n_workers, memory);
    iso_arrange_options_t options = {.machine = machine,
                                     .ranks = ranks,
                                     .n_workers = n_workers,
                                     .memory_bytes = memory};
    iso_status_t status = iso_arrange(stage, &options, cut_out, &seconds);

    iso_free(memory);
    return status;
}

static iso_status_t choose_cut(const iso_plan_t *plan, int stage,
                               const iso_machine_t *machine,
                               const iso_plan_options_t *options,
                               iso_stage_cut_t **cut_out)
{
    const iso_graph_t *graph =
        iso_partition_stage(plan->partition, stage)->graph;
    int n_workers = iso_plan_width(plan, stage);
    int *ranks = NULL;

    if (n_workers == 1) {
        return iso_stage_cut_create(graph, 1, cut_out);
    }
    if (options->cuts == ISO_CUT_RANDOM) {
        return iso_arrange_random(graph, n_workers,
                                  options->seed + (uint64_t)stage, cut_out);
    }
    ranks = iso_alloc_zeroed((size_t)n_workers, sizeof *ranks);
    if (ranks == NULL) {
        return ISO_NOMEM;
    }
    for (int worker = 0; worker < n_workers; worker++) {
        ranks[worker] = iso_plan_rank_of(plan, stage, worker);
    }
    iso_status_t status = arrange(graph, machine, ranks, n_workers, cut_out);

    iso_free(ranks);
    return status;
}

iso_status_t iso__plan_choose_cuts(iso_plan_t *plan,
                                   const iso_machine_t *machine,
                                   const iso_plan_options_t *options)
{
    ISO_TRY(iso__plan_start_cuts(plan));
    for (int stage = 0; stage < plan->n_stages; stage++) {
        ISO_TRY(choose_cut(plan, stage, machine, options, &plan->cuts[stage]));
    }
    ISO_TRY(iso__plan_choose_direct(plan));
    return iso__plan_follow_direct(plan);
}

iso_status_t iso__plan_start_cuts(iso_plan_t *plan)
{
    plan->cuts =
        iso_alloc_zeroed((size_t)plan->n_stages, sizeof(iso_stage_cut_t *));
    return plan->cuts == NULL ? ISO_NOMEM : ISO_OK;
}

/* -- one rank's part of it -- */

iso_status_t iso_plan_local_create(const iso_plan_t *plan,
                                   const iso_partition_t *partition, int rank,
                                   iso_plan_local_t *out)
{
    const iso_plan_part_t *part = iso_plan_part(plan, rank);
    const iso_graph_t *planned =
        iso_partition_stage(plan->partition, part->stage)->graph;
    const iso_graph_t *stage =
        iso_partition_stage(partition, part->stage)->graph;
    const iso_stage_cut_t *cut = plan->cuts[part->stage];

    *out = (iso_plan_local_t){0};
    if (stage != planned) {
        ISO_TRY(iso_stage_cut_rescale(cut, planned, stage, &out->cut));
        cut = out->cut;
    }
    iso_status_t status =
        iso_local_create(stage, cut, part->worker, &out->local);

    if (status != ISO_OK) {
        iso_plan_local_free(out);
    }
    return status;
}

void iso_plan_local_free(iso_plan_local_t *local)
{
    iso_local_destroy(&local->local);
    iso_stage_cut_destroy(&local->cut);
}
