/* What follows from a plan's decisions: the parts and their figures. */
#include "isotome/error.h"

#include "base/mem.h"
#include "kernel/scratch.h"
#include "plan/buffers.h"
#include "plan/memory_plan.h"
#include "plan/node_seconds.h"
#include "plan/plan_impl.h"
#include "plan/plan_local.h"

#include <math.h>

/* -- bytes and operations -- */

static iso_status_t bytes_of_param(const iso_graph_t *graph, const char *name,
                                   size_t *bytes_out)
{
    const iso_node_t *node = iso_graph_node(graph, iso_graph_find(graph, name));

    return iso_tensor_bytes_of(node->dtype, &node->shape, bytes_out);
}

static iso_status_t count_weights(const iso_local_t *local,
                                  iso_plan_part_t *part)
{
    for (int i = 0; i < local->n_weights; i++) {
        size_t bytes = 0;
        ISO_TRY(bytes_of_param(local->graph, local->weights[i].node, &bytes));
        part->weight_bytes = iso_bytes_add(part->weight_bytes, bytes);
    }
    return ISO_OK;
}

/*
 * Bytes of a value between stages at one rank: worker 0 has all of them,
 * unless the value passes in pieces.
 */
static iso_status_t bytes_of_transfer(const iso_plan_t *plan,
                                      const iso_boundary_t *value, int worker,
                                      size_t *bytes_out)
{
    iso_shape_t shape = value->shape;

    *bytes_out = 0;
    if (iso__plan_is_direct(plan, value)) {
        int axis = 0;
        iso_range_t range = iso__plan_direct_range(plan, value, worker, &axis);

        shape.dim[axis] = iso_dim_of(iso_range_length(range));
    } else if (worker > 0) {
        return ISO_OK;
    }
    return iso_tensor_bytes_of(value->dtype, &shape, bytes_out);
}

static iso_status_t count_transfers(const iso_plan_t *plan,
                                    iso_plan_part_t *part)
{
    for (int i = 0; i < plan->n_boundaries; i++) {
        const iso_boundary_t *one = &plan->boundaries[i];
        size_t bytes = 0;

        if (one->to_stage != part->stage && one->from_stage != part->stage) {
            continue;
        }
        ISO_TRY(bytes_of_transfer(plan, one, part->worker, &bytes));
        if (one->to_stage == part->stage) {
            part->receive_bytes = iso_bytes_add(part->receive_bytes, bytes);
        } else {
            part->send_bytes = iso_bytes_add(part->send_bytes, bytes);
        }
        if (bytes > 0) {
            part->buffer_bytes = iso_bytes_add(
                part->buffer_bytes, iso_transfer_buffer_bytes(one, bytes));
        }
    }
    return ISO_OK;
}

static iso_status_t count_buffers(const iso_plan_t *plan,
                                  const iso_local_t *local,
                                  iso_plan_part_t *part)
{
    if (part->worker == 0) {
        ISO_TRY(iso_stage_input_bytes(
            iso_partition_stage(plan->partition, part->stage),
            &part->buffer_bytes));
    }
    ISO_TRY(count_transfers(plan, part));
    part->buffer_bytes =
        iso_bytes_add(part->buffer_bytes,
                      iso_exchange_buffer_bytes(
                          local->exchanges, local->n_exchanges, part->worker));
    for (int i = 0; i < local->n_exchanges; i++) {
        part->exchange_bytes = iso_bytes_add(
            part->exchange_bytes,
            iso_exchange_sent_bytes(&local->exchanges[i], part->worker));
    }
    return ISO_OK;
}

static void sum_peak(iso_plan_part_t *part)
{
    const size_t bytes[] = {ISO__PROCESS_BASE_BYTES, part->weight_bytes,
                            part->activation_bytes, part->scratch_bytes,
                            part->buffer_bytes};

    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        part->peak_bytes = iso_bytes_add(part->peak_bytes, bytes[i]);
    }
}

static iso_status_t describe_part(const iso_plan_t *plan,
                                  const iso_local_t *local,
                                  iso_plan_part_t *part)
{
    iso_memory_plan_t memory = {0};

    ISO_TRY(iso_layer_split_range(
        &plan->split, iso__plan_group_of(plan, part->stage), &part->layers));
    ISO_TRY(count_weights(local, part));
    ISO_TRY(iso_memory_plan_create(local->graph, &memory));
    part->activation_bytes = memory.total_bytes;
    iso_memory_plan_free(&memory);
    part->scratch_bytes = iso_kernel_scratch_bytes(1);
    ISO_TRY(count_buffers(plan, local, part));
    sum_peak(part);
    return iso_graph_flops(local->graph, &part->flops);
}

/* -- times -- */

static iso_status_t predict_sends(const iso_plan_t *plan,
                                  const iso_machine_t *machine,
                                  iso_plan_part_t *part)
{
    for (int i = 0; part->worker == 0 && i < plan->n_boundaries; i++) {
        const iso_boundary_t *one = &plan->boundaries[i];
        size_t bytes = 0;

        if (one->from_stage != part->stage) {
            continue;
        }
        ISO_TRY(iso_tensor_bytes_of(one->dtype, &one->shape, &bytes));
        iso_link_t link = iso_machine_link(
            machine, part->rank, iso_plan_rank_of(plan, one->to_stage, 0));
        part->send_s += iso_link_seconds(link, bytes);
    }
    return ISO_OK;
}

/* ranks  [in]  (workers of the stage) */
static iso_status_t predict_part(iso_plan_t *plan, const iso_local_t *local,
                                 const iso_machine_t *machine, const int *ranks,
                                 iso_plan_part_t *part)
{
    const iso_machine_rank_t *rank = iso_machine_rank(machine, part->rank);

    part->host = iso_arena_text(plan->arena, rank->host);
    if (part->host == NULL) {
        return ISO_NOMEM;
    }
    ISO_TRY(predict_sends(plan, machine, part));
    for (int i = 0; i < local->n_exchanges; i++) {
        part->exchange_s +=
            iso_exchange_seconds(&local->exchanges[i], machine, ranks);
    }
    ISO_TRY(iso_graph_seconds(local->graph, rank, &part->compute_s));
    if (!isfinite(part->compute_s + part->exchange_s + part->send_s)) {
        return iso_fail(ISO_INVAL,
                        "rank %d on %s would take longer than can be counted "
                        "(%g flop/s, %g B/s); its rates are too small",
                        part->rank, part->host, rank->flops_per_s,
                        rank->memory_bytes_per_s);
    }
    return ISO_OK;
}

/* -- lists -- */

static iso_status_t copy_tied(iso_plan_t *plan)
{
    const iso_partition_t *partition = plan->partition;
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
                                      const iso_graph_t *graph)
{
    int32_t n_nodes = iso_graph_node_count(graph);
    bool *counted = iso_alloc_zeroed((size_t)n_nodes, sizeof *counted);
    iso_status_t status = counted == NULL ? ISO_NOMEM : ISO_OK;

    for (int s = 0; status == ISO_OK && s < plan->n_stages; s++) {
        const iso_stage_t *stage = iso_partition_stage(plan->partition, s);
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

/* The list is the same on every worker of a stage. */
static iso_status_t copy_exchanges(iso_plan_t *plan, const iso_local_t *local,
                                   int stage)
{
    size_t most = (size_t)plan->n_exchanges + (size_t)local->n_exchanges;
    iso_plan_exchange_t *list =
        iso_arena_array(plan->arena, most, sizeof *list);

    if (list == NULL) {
        return ISO_NOMEM;
    }
    for (int i = 0; i < plan->n_exchanges; i++) {
        list[i] = plan->exchanges[i];
    }
    plan->exchanges = list;
    for (int i = 0; i < local->n_exchanges; i++) {
        const iso_exchange_t *exchange = &local->exchanges[i];
        const char *value = iso_arena_text(plan->arena, exchange->value);

        if (value == NULL) {
            return ISO_NOMEM;
        }
        list[plan->n_exchanges++] = (iso_plan_exchange_t){
            stage, exchange->kind, value, iso_exchange_bytes(exchange)};
    }
    return ISO_OK;
}

static iso_status_t describe_worker(iso_plan_t *plan,
                                    const iso_machine_t *machine,
                                    const int *ranks, iso_plan_part_t *part)
{
    iso_plan_local_t mine;

    ISO_TRY(iso_plan_local_create(plan, plan->partition, part->rank, &mine));
    iso_status_t status = describe_part(plan, mine.local, part);

    if (status == ISO_OK && part->worker == 0) {
        status = copy_exchanges(plan, mine.local, part->stage);
    }
    if (status == ISO_OK && machine != NULL) {
        status = predict_part(plan, mine.local, machine, ranks, part);
    }
    iso_plan_local_free(&mine);
    return status;
}

/* ranks  [out]  room for those of the stage */
static iso_status_t describe_stage(iso_plan_t *plan, int stage,
                                   const iso_machine_t *machine, int *ranks)
{
    const int first = iso_plan_rank_of(plan, stage, 0);
    const int n_workers = iso_plan_width(plan, stage);

    for (int worker = 0; worker < n_workers; worker++) {
        ranks[worker] = first + worker;
    }
    for (int worker = 0; worker < n_workers; worker++) {
        iso_plan_part_t *part = &plan->parts[ranks[worker]];

        part->rank = ranks[worker];
        part->stage = stage;
        part->worker = worker;
        part->host = "";
        ISO_TRY(describe_worker(plan, machine, ranks, part));
    }
    return ISO_OK;
}

iso_status_t iso__plan_describe(iso_plan_t *plan, const iso_graph_t *graph,
                                const iso_machine_t *machine)
{
    size_t used = (size_t)plan->used;
    int *ranks = iso_arena_array(plan->arena, used, sizeof *ranks);

    plan->parts = iso_arena_array(plan->arena, used, sizeof *plan->parts);
    if (ranks == NULL || plan->parts == NULL) {
        return ISO_NOMEM;
    }
    ISO_TRY(copy_tied(plan));
    ISO_TRY(count_all_weights(plan, graph));
    for (int stage = 0; stage < plan->n_stages; stage++) {
        ISO_TRY(describe_stage(plan, stage, machine, ranks));
    }
    return ISO_OK;
}
