#include "plan/buffers.h"

#include "base/log.h"
#include "base/mem.h"

#include <stdlib.h>

size_t iso_bytes_add(size_t a, size_t b)
{
    return a > SIZE_MAX - b ? SIZE_MAX : a + b;
}

static size_t multiply(size_t a, size_t b)
{
    return b != 0 && a > SIZE_MAX / b ? SIZE_MAX : a * b;
}

static size_t round_up(size_t bytes)
{
    size_t units = bytes / ISO_MESSAGE_UNIT_BYTES +
                   (bytes % ISO_MESSAGE_UNIT_BYTES != 0 ? 1 : 0);

    return multiply(units, ISO_MESSAGE_UNIT_BYTES);
}

size_t iso_message_bytes(size_t tensor_bytes)
{
    return iso_bytes_add(ISO_MESSAGE_HEADER_BYTES, round_up(tensor_bytes));
}

int iso_channel_slots(int from_stage, int to_stage)
{
    ISO_ASSERT(from_stage < to_stage);
    return to_stage - from_stage + 1;
}

/* -- transfers -- */

static int compare_transfers(const void *a, const void *b)
{
    const iso_boundary_t *left = a;
    const iso_boundary_t *right = b;

    if (left->to_stage != right->to_stage) {
        return left->to_stage < right->to_stage ? -1 : 1;
    }
    if (left->from_stage != right->from_stage) {
        return left->from_stage < right->from_stage ? -1 : 1;
    }
    return (left->node > right->node) - (left->node < right->node);
}

/* Boundaries, then outputs that the last stage does not make itself. */
static int fill_transfers(const iso_graph_t *graph,
                          const iso_partition_t *partition,
                          iso_boundary_t *list)
{
    int last_stage = iso_partition_stage_count(partition) - 1;
    int count = 0;

    for (int i = 0; i < iso_partition_boundary_count(partition); i++) {
        list[count++] = *iso_partition_boundary(partition, i);
    }
    for (int i = 0; i < iso_graph_output_count(graph); i++) {
        iso_node_id_t id = iso_graph_output(graph, i)->node;
        const iso_node_t *node = iso_graph_node(graph, id);
        int stage = iso_partition_output_stage(partition, i);

        if (stage != last_stage) {
            list[count++] = (iso_boundary_t){.name = node->name,
                                             .node = id,
                                             .dtype = node->dtype,
                                             .shape = node->shape,
                                             .from_stage = stage,
                                             .to_stage = last_stage};
        }
    }
    return count;
}

static int drop_repeated(iso_boundary_t *list, int count)
{
    int kept = 0;

    for (int i = 0; i < count; i++) {
        if (kept == 0 || compare_transfers(&list[kept - 1], &list[i]) != 0) {
            list[kept++] = list[i];
        }
    }
    return kept;
}

iso_status_t iso_transfers_list(const iso_graph_t *graph,
                                const iso_partition_t *partition,
                                iso_boundary_t **list_out, int *count_out)
{
    size_t most = (size_t)iso_partition_boundary_count(partition) +
                  (size_t)iso_graph_output_count(graph);
    iso_boundary_t *list = iso_alloc_zeroed(most, sizeof *list);

    if (list == NULL) {
        return ISO_NOMEM;
    }
    int count = fill_transfers(graph, partition, list);
    if (count > 1) {
        qsort(list, (size_t)count, sizeof *list, compare_transfers);
    }
    *count_out = drop_repeated(list, count);
    *list_out = list;
    return ISO_OK;
}

/* -- bytes of a stage -- */

size_t iso_transfer_buffer_bytes(const iso_boundary_t *transfer,
                                 size_t tensor_bytes)
{
    int slots = iso_channel_slots(transfer->from_stage, transfer->to_stage);

    return multiply(iso_message_bytes(tensor_bytes), (size_t)slots);
}

iso_status_t iso_stage_input_bytes(const iso_stage_t *stage, size_t *bytes_out)
{
    *bytes_out = 0;
    for (int i = 0; i < stage->n_inputs; i++) {
        iso_node_id_t id = iso_graph_find(stage->graph, stage->inputs[i]);
        const iso_node_t *node = iso_graph_node(stage->graph, id);
        size_t bytes = 0;

        ISO_TRY(iso_tensor_bytes_of(node->dtype, &node->shape, &bytes));
        *bytes_out = iso_bytes_add(*bytes_out, round_up(bytes));
    }
    return ISO_OK;
}
