/* What follows from a plan's decisions: the parts and their figures. */
#include "isotome/error.h"

#include "base/mem.h"
#include "kernel/panels.h"
#include "kernel/scratch.h"
#include "plan/buffers.h"
#include "plan/memory_plan.h"
#include "plan/node_seconds.h"
#include "plan/plan_impl.h"
#include "plan/plan_local.h"

#include <math.h>

/* What the workers of a stage have in common. */
typedef struct stage {
    int number;
    int n_workers;
    const iso_machine_t *machine; /* NULL: nothing is predicted */
    int *ranks;                   /* (n_workers) */
    const iso_moves_t *moves;
    double exchange_s;
    size_t *sent;     /* (n_workers) room for the bytes of an exchange */
    size_t *received; /* (n_workers) */
} stage_t;

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

/* Weights as they are kept: packed, plain or both. */
static iso_status_t count_held(const iso_local_t *local, iso_plan_part_t *part)
{
    const int32_t n = iso_graph_node_count(local->graph);
    size_t *bytes = iso_alloc_zeroed((size_t)n, sizeof *bytes);

    if (bytes == NULL) {
        return ISO_NOMEM;
    }
    iso_status_t status = iso_panels_bytes(local->graph, bytes);

    for (iso_node_id_t id = 0; status == ISO_OK && id < n; id++) {
        part->held_bytes = iso_bytes_add(part->held_bytes, bytes[id]);
    }
    iso_free(bytes);
    return status;
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

/* To what the exchanges need. */
static iso_status_t count_buffers(const iso_plan_t *plan, iso_plan_part_t *part)
{
    size_t bytes = 0;

    if (part->worker == 0) {
        ISO_TRY(iso_stage_input_bytes(
            iso_partition_stage(plan->partition, part->stage), &bytes));
    }
    part->buffer_bytes = iso_bytes_add(part->buffer_bytes, bytes);
    return count_transfers(plan, part);
}

static void sum_peak(iso_plan_part_t *part)
{
    const size_t bytes[] = {ISO_PLAN_PROCESS_BYTES, part->held_bytes,
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
    ISO_TRY(iso_layer_split_range(
        &plan->split, iso__plan_group_of(plan, part->stage), &part->layers));
    ISO_TRY(count_weights(local, part));
    ISO_TRY(count_held(local, part));
    ISO_TRY(iso_memory_plan_bytes(local->graph, &part->activation_bytes));
    part->scratch_bytes = iso_kernel_scratch_bytes(1);
    ISO_TRY(count_buffers(plan, part));
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
        part->send_s += iso_link_seconds(link, (double)bytes);
    }
    return ISO_OK;
}

static iso_status_t predict_part(iso_plan_t *plan, const iso_local_t *local,
                                 const stage_t *stage, iso_plan_part_t *part)
{
    const iso_machine_rank_t *rank =
        iso_machine_rank(stage->machine, part->rank);

    part->figures = rank->cost_class;
    part->host = iso_arena_text(plan->arena, rank->host);
    if (part->host == NULL) {
        return ISO_NOMEM;
    }
    ISO_TRY(predict_sends(plan, stage->machine, part));
    part->exchange_s = stage->exchange_s;
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

/* -- a stage -- */

static void begin_parts(iso_plan_t *plan, const stage_t *stage)
{
    for (int worker = 0; worker < stage->n_workers; worker++) {
        const int rank = iso_plan_rank_of(plan, stage->number, worker);

        stage->ranks[worker] = rank;
        plan->parts[rank] = (iso_plan_part_t){
            .rank = rank, .stage = stage->number, .worker = worker, .host = ""};
    }
}

/* A worker has room to pack and unpack the largest exchange. */
static size_t count_exchange(iso_plan_t *plan, const iso_exchange_t *exchange,
                             const stage_t *stage)
{
    size_t bytes = 0;

    iso_exchange_count_bytes(exchange, stage->sent, stage->received);
    for (int worker = 0; worker < stage->n_workers; worker++) {
        iso_plan_part_t *part = &plan->parts[stage->ranks[worker]];
        const size_t sent = stage->sent[worker];
        const size_t both = iso_bytes_add(sent, stage->received[worker]);

        bytes = iso_bytes_add(bytes, sent);
        part->exchange_bytes = iso_bytes_add(part->exchange_bytes, sent);
        if (both > part->buffer_bytes) {
            part->buffer_bytes = both;
        }
    }
    return bytes;
}

static iso_status_t describe_exchanges(iso_plan_t *plan, stage_t *stage)
{
    const iso_moves_t *moves = stage->moves;
    size_t most = (size_t)plan->n_exchanges + (size_t)moves->count;
    iso_plan_exchange_t *list =
        iso_arena_array(plan->arena, most, sizeof *list);

    if (list == NULL) {
        return ISO_NOMEM;
    }
    for (int i = 0; i < plan->n_exchanges; i++) {
        list[i] = plan->exchanges[i];
    }
    plan->exchanges = list;
    for (int i = 0; i < moves->count; i++) {
        const iso_exchange_t *exchange = &moves->exchanges[i];
        const char *value = iso_arena_text(plan->arena, exchange->value);

        if (value == NULL) {
            return ISO_NOMEM;
        }
        list[plan->n_exchanges++] =
            (iso_plan_exchange_t){stage->number, exchange->kind, value,
                                  count_exchange(plan, exchange, stage)};
        if (stage->machine != NULL) {
            stage->exchange_s +=
                iso_exchange_seconds(exchange, stage->machine, stage->ranks);
        }
    }
    return ISO_OK;
}

static iso_status_t describe_worker(iso_plan_t *plan, const stage_t *stage,
                                    int worker)
{
    iso_plan_part_t *part = &plan->parts[stage->ranks[worker]];
    iso_local_t *local = NULL;

    ISO_TRY(iso_local_create_from(stage->moves, worker, &local));
    iso_status_t status = describe_part(plan, local, part);

    if (status == ISO_OK && stage->machine != NULL) {
        status = predict_part(plan, local, stage, part);
    }
    iso_local_destroy(&local);
    return status;
}

static iso_status_t describe_stage(iso_plan_t *plan, stage_t *stage)
{
    const iso_partition_t *partition = plan->partition;
    iso_moves_t *moves = NULL;

    ISO_TRY(
        iso_moves_create(iso_partition_stage(partition, stage->number)->graph,
                         plan->cuts[stage->number], &moves));
    stage->moves = moves;
    begin_parts(plan, stage);
    iso_status_t status = describe_exchanges(plan, stage);

    for (int i = 0; status == ISO_OK && i < stage->n_workers; i++) {
        status = describe_worker(plan, stage, i);
    }
    iso_moves_destroy(&moves);
    return status;
}

/* -- all of it -- */

iso_status_t iso__plan_describe(iso_plan_t *plan, const iso_graph_t *graph,
                                const iso_machine_t *machine)
{
    size_t used = (size_t)plan->used;
    int *ranks = iso_arena_array(plan->arena, used, sizeof *ranks);
    size_t *sent = iso_arena_array(plan->arena, used, sizeof *sent);
    size_t *received = iso_arena_array(plan->arena, used, sizeof *received);

    plan->parts = iso_arena_array(plan->arena, used, sizeof *plan->parts);
    if (ranks == NULL || sent == NULL || received == NULL ||
        plan->parts == NULL) {
        return ISO_NOMEM;
    }
    ISO_TRY(copy_tied(plan));
    ISO_TRY(count_all_weights(plan, graph));
    for (int i = 0; i < plan->n_stages; i++) {
        stage_t stage = {.number = i,
                         .n_workers = iso_plan_width(plan, i),
                         .machine = machine,
                         .ranks = ranks,
                         .sent = sent,
                         .received = received};

        ISO_TRY(describe_stage(plan, &stage));
    }
    return ISO_OK;
}
