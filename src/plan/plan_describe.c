/* What follows from a plan's decisions: the stages and their figures. */
#include "isotome/error.h"

#include "base/mem.h"
#include "graph/pass.h"
#include "kernel/ref.h"
#include "kernel/scratch.h"
#include "plan/buffers.h"
#include "plan/memory_plan.h"
#include "plan/node_seconds.h"
#include "plan/partition_impl.h"
#include "plan/plan_impl.h"

#include <math.h>

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

/* Counts by rank become counts by stage. */
static iso_status_t cut_by_split(const iso_plan_t *plan,
                                 const iso_graph_t *bound,
                                 iso_partition_t **partition_out)
{
    int64_t *counts = iso_alloc_zeroed((size_t)plan->used, sizeof *counts);

    if (counts == NULL) {
        return ISO_NOMEM;
    }
    for (int rank = 0; rank < plan->used; rank++) {
        counts[plan->used - 1 - rank] = plan->split.counts[rank];
    }
    iso_status_t status = iso_partition_create_by_layers(
        bound, counts, plan->used, partition_out);
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

/* -- bytes and operations -- */

static iso_status_t bytes_of_param(const iso_graph_t *graph, const char *name,
                                   size_t *bytes_out)
{
    const iso_node_t *node = iso_graph_node(graph, iso_graph_find(graph, name));

    return iso_tensor_bytes_of(node->dtype, &node->shape, bytes_out);
}

static iso_status_t count_weights(const iso_stage_t *part,
                                  iso_plan_stage_t *stage)
{
    for (int i = 0; i < part->n_params; i++) {
        size_t bytes = 0;
        ISO_TRY(bytes_of_param(part->graph, part->params[i], &bytes));
        stage->weight_bytes = iso_bytes_add(stage->weight_bytes, bytes);
    }
    return ISO_OK;
}

static iso_status_t count_transfers(const iso_plan_t *plan,
                                    iso_plan_stage_t *stage)
{
    for (int i = 0; i < plan->n_boundaries; i++) {
        const iso_boundary_t *one = &plan->boundaries[i];
        size_t bytes = 0;

        ISO_TRY(iso_tensor_bytes_of(one->dtype, &one->shape, &bytes));
        if (one->to_stage == stage->stage) {
            stage->receive_bytes = iso_bytes_add(stage->receive_bytes, bytes);
        }
        if (one->from_stage == stage->stage) {
            stage->send_bytes = iso_bytes_add(stage->send_bytes, bytes);
        }
    }
    return ISO_OK;
}

static iso_status_t describe_stage(const iso_plan_t *plan,
                                   const iso_partition_t *partition,
                                   iso_plan_stage_t *stage)
{
    const iso_stage_t *part = iso_partition_stage(partition, stage->stage);
    iso_memory_plan_t memory = {0};

    ISO_TRY(iso_layer_split_range(&plan->split, stage->rank, &stage->layers));
    ISO_TRY(count_weights(part, stage));
    ISO_TRY(iso_memory_plan_create(part->graph, &memory));
    stage->activation_bytes = memory.total_bytes;
    iso_memory_plan_free(&memory);
    stage->scratch_bytes = iso_kernel_scratch_bytes(1);
    ISO_TRY(iso_stage_buffer_bytes(partition, plan->boundaries,
                                   plan->n_boundaries, stage->stage,
                                   &stage->buffer_bytes));
    stage->peak_bytes = iso_bytes_add(
        ISO__PROCESS_BASE_BYTES,
        iso_bytes_add(stage->weight_bytes, stage->activation_bytes));
    stage->peak_bytes =
        iso_bytes_add(stage->peak_bytes,
                      iso_bytes_add(stage->scratch_bytes, stage->buffer_bytes));
    ISO_TRY(iso_graph_flops(part->graph, &stage->flops));
    return count_transfers(plan, stage);
}

/* -- times -- */

static iso_status_t predict_stage(iso_plan_t *plan,
                                  const iso_partition_t *partition,
                                  const iso_machine_t *machine,
                                  iso_plan_stage_t *stage)
{
    const iso_machine_rank_t *rank = iso_machine_rank(machine, stage->rank);

    stage->host = iso_arena_text(plan->arena, rank->host);
    if (stage->host == NULL) {
        return ISO_NOMEM;
    }
    for (int i = 0; i < plan->n_boundaries; i++) {
        const iso_boundary_t *one = &plan->boundaries[i];
        size_t bytes = 0;

        if (one->from_stage != stage->stage) {
            continue;
        }
        ISO_TRY(iso_tensor_bytes_of(one->dtype, &one->shape, &bytes));
        iso_link_t link = iso_machine_link(machine, stage->rank,
                                           plan->used - 1 - one->to_stage);
        stage->send_s += iso_link_seconds(link, bytes);
    }
    ISO_TRY(
        iso_graph_seconds(iso_partition_stage(partition, stage->stage)->graph,
                          rank, &stage->compute_s));
    if (!isfinite(stage->compute_s + stage->send_s)) {
        return iso_fail(ISO_INVAL,
                        "rank %d on %s would take longer than can be counted "
                        "(%g flop/s, %g B/s); its rates are too small",
                        stage->rank, stage->host, rank->flops_per_s,
                        rank->memory_bytes_per_s);
    }
    return ISO_OK;
}

static iso_status_t predict(iso_plan_t *plan, const iso_partition_t *partition,
                            const iso_machine_t *machine)
{
    for (int rank = 0; rank < plan->used; rank++) {
        ISO_TRY(predict_stage(plan, partition, machine, &plan->stages[rank]));
    }
    return ISO_OK;
}

/* -- lists -- */

static iso_status_t copy_transfers(iso_plan_t *plan, const iso_graph_t *graph,
                                   const iso_partition_t *partition)
{
    iso_boundary_t *list = NULL;
    int count = 0;

    ISO_TRY(iso_transfers_list(graph, partition, &list, &count));
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

static iso_status_t copy_tied(iso_plan_t *plan,
                              const iso_partition_t *partition)
{
    int count = iso_partition_tied_count(partition);

    plan->tied =
        iso_arena_array(plan->arena, (size_t)count, sizeof *plan->tied);
    if (plan->tied == NULL) {
        return ISO_NOMEM;
    }
    for (int i = 0; i < count; i++) {
        plan->tied[i] =
            iso_arena_text(plan->arena, iso_partition_tied(partition, i));
        if (plan->tied[i] == NULL) {
            return ISO_NOMEM;
        }
    }
    plan->n_tied = count;
    return ISO_OK;
}

/* Sum over the weights that some stage loads, each once. */
static iso_status_t count_all_weights(iso_plan_t *plan,
                                      const iso_graph_t *graph,
                                      const iso_partition_t *partition)
{
    int32_t n_nodes = iso_graph_node_count(graph);
    bool *counted = iso_alloc_zeroed((size_t)n_nodes, sizeof *counted);
    iso_status_t status = counted == NULL ? ISO_NOMEM : ISO_OK;

    for (int s = 0; status == ISO_OK && s < plan->used; s++) {
        const iso_stage_t *stage = iso_partition_stage(partition, s);
        for (int i = 0; status == ISO_OK && i < stage->n_params; i++) {
            iso_node_id_t id = iso_graph_find(graph, stage->params[i]);
            size_t bytes = 0;
            if (!counted[id]) {
                counted[id] = true;
                status = bytes_of_param(graph, stage->params[i], &bytes);
                plan->weight_bytes = iso_bytes_add(plan->weight_bytes, bytes);
            }
        }
    }
    iso_free(counted);
    return status;
}

/* -- all of it -- */

static iso_status_t describe(iso_plan_t *plan, const iso_graph_t *graph,
                             const iso_partition_t *partition,
                             const iso_machine_t *machine)
{
    ISO_TRY(copy_transfers(plan, graph, partition));
    ISO_TRY(copy_tied(plan, partition));
    ISO_TRY(count_all_weights(plan, graph, partition));
    plan->stages =
        iso_arena_array(plan->arena, (size_t)plan->used, sizeof *plan->stages);
    if (plan->stages == NULL) {
        return ISO_NOMEM;
    }
    for (int rank = 0; rank < plan->used; rank++) {
        iso_plan_stage_t *stage = &plan->stages[rank];

        stage->rank = rank;
        stage->stage = plan->used - 1 - rank;
        stage->host = "";
        ISO_TRY(describe_stage(plan, partition, stage));
    }
    return machine == NULL ? ISO_OK : predict(plan, partition, machine);
}

iso_status_t iso__plan_describe(iso_plan_t *plan, const iso_graph_t *graph,
                                const iso_machine_t *machine)
{
    iso_graph_t *bound = NULL;
    iso_partition_t *partition = NULL;
    iso_status_t status =
        iso__plan_bind(plan, graph, plan->micro_batch, &bound);

    if (status == ISO_OK) {
        status = cut_by_split(plan, bound, &partition);
    }
    if (status == ISO_OK) {
        status = describe(plan, bound, partition, machine);
    }
    iso_partition_destroy(&partition);
    iso_graph_destroy(&bound);
    return status;
}
