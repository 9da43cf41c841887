#include "isotome/error.h"

#include "base/mem.h"
#include "device/cuda_impl.h"
#include "graph/param.h"

enum { ALIGNMENT = 64 };

static bool is_exchange(const iso_node_t *node)
{
    return node->op == ISO_OP_EXCHANGE;
}

/* The node whose value is the largest of those that are made here. */
static const iso_node_t *largest(const iso__cuda_t *cuda)
{
    const iso_node_t *node = NULL;
    size_t most = 0;

    for (iso_node_id_t id = 0; id < cuda->plan.n_nodes; id++) {
        const size_t bytes = iso_tensor_bytes(&cuda->values[id]);

        if (cuda->plan.offset_bytes[id] != ISO_MEMORY_NONE && bytes > most) {
            most = bytes;
            node = iso__cuda_node(cuda, id);
        }
    }
    return node;
}

static iso_status_t make_room(iso__cuda_t *cuda)
{
    const iso_status_t status =
        iso_cuda_alloc(cuda->device->cuda, cuda->plan.total_bytes, &cuda->room);
    const iso_node_t *node = largest(cuda);

    return status == ISO_OK || node == NULL
               ? status
               : iso_fail_context(status,
                                  "all values, of which that of node '%s' is "
                                  "the largest",
                                  node->name);
}

/* Constants are to be copied, others have their place in the room. */
static void place_value(iso__cuda_t *cuda, iso_node_id_t id)
{
    const iso_node_t *node = iso__cuda_node(cuda, id);
    const int64_t offset = cuda->plan.offset_bytes[id];

    cuda->leaves[id] = cuda->values[id];
    if (node->op == ISO_OP_CONSTANT) {
        cuda->leaves[id].data = (void *)node->data;
        cuda->bound[id] =
            (iso__cuda_bound_t){.data = node->data, .is_stale = true};
    } else if (offset != ISO_MEMORY_NONE) {
        cuda->values[id].data = (char *)cuda->room + offset;
    }
}

static iso_status_t make_values(iso__cuda_t *cuda)
{
    const int32_t n = iso_graph_node_count(cuda->base.graph);

    cuda->values = iso_alloc_zeroed((size_t)n, sizeof *cuda->values);
    cuda->leaves = iso_alloc_zeroed((size_t)n, sizeof *cuda->leaves);
    cuda->bound = iso_alloc_zeroed((size_t)n, sizeof *cuda->bound);
    if (cuda->values == NULL || cuda->leaves == NULL || cuda->bound == NULL) {
        return ISO_NOMEM;
    }
    for (iso_node_id_t id = 0; id < n; id++) {
        const iso_node_t *node = iso__cuda_node(cuda, id);

        ISO_TRY(iso_tensor_view(node->dtype, &node->shape, NULL,
                                &cuda->values[id]));
    }
    ISO_TRY(make_room(cuda));
    for (iso_node_id_t id = 0; id < n; id++) {
        place_value(cuda, id);
    }
    return ISO_OK;
}

static iso_status_t reserve_steps(iso__cuda_t *cuda)
{
    const int32_t n = iso_graph_node_count(cuda->base.graph);
    size_t n_inputs = 0;

    for (iso_node_id_t id = 0; id < n; id++) {
        n_inputs += (size_t)iso__cuda_node(cuda, id)->n_inputs;
    }
    cuda->steps = iso_alloc_zeroed((size_t)n, sizeof *cuda->steps);
    cuda->inputs = iso_alloc_zeroed(n_inputs, sizeof(const iso_tensor_t *));
    return cuda->steps == NULL || cuda->inputs == NULL ? ISO_NOMEM : ISO_OK;
}

/* inputs [out] (node->n_inputs) of the step. */
static iso_status_t add_step(iso__cuda_t *cuda, iso_node_id_t id,
                             const iso_tensor_t **inputs)
{
    const iso_node_t *node = iso__cuda_node(cuda, id);
    int64_t number = -1;

    ISO_TRY(is_exchange(node) ? iso_attr_int(node, "number", 0, &number)
                              : ISO_OK);
    for (int i = 0; i < node->n_inputs; i++) {
        inputs[i] = node->inputs[i] == ISO_NO_NODE
                        ? NULL
                        : &cuda->values[node->inputs[i]];
    }
    cuda->steps[cuda->n_steps++] = (iso__cuda_step_t){id, (int)number, inputs};
    return ISO_OK;
}

static iso_status_t make_steps(iso__cuda_t *cuda)
{
    const int32_t n = iso_graph_node_count(cuda->base.graph);
    const iso_tensor_t **inputs;

    ISO_TRY(reserve_steps(cuda));
    inputs = cuda->inputs;
    for (iso_node_id_t id = 0; id < n; id++) {
        const iso_node_t *node = iso__cuda_node(cuda, id);

        if (iso_node_is_leaf(node) || node->op == ISO_OP_RESHAPE) {
            continue;
        }
        ISO_TRY(add_step(cuda, id, inputs));
        inputs += node->n_inputs;
    }
    return ISO_OK;
}

static iso_status_t make_scratch(iso__cuda_t *cuda)
{
    size_t most = 0;

    for (int32_t i = 0; i < cuda->n_steps; i++) {
        const size_t bytes =
            cuda->steps[i].exchange >= 0
                ? 0
                : iso_cuda_scratch_bytes(cuda->base.graph, cuda->steps[i].node);

        most = bytes > most ? bytes : most;
    }
    return most == 0 ? ISO_OK
                     : iso_cuda_alloc(cuda->device->cuda, most, &cuda->scratch);
}

static iso_status_t make_outputs(iso__cuda_t *cuda)
{
    const iso_graph_t *graph = cuda->base.graph;
    const int count = iso_graph_output_count(graph);
    size_t bytes = 0;

    cuda->output_at = iso_alloc_zeroed((size_t)count, sizeof *cuda->output_at);
    cuda->is_kept = iso_alloc_zeroed((size_t)count, sizeof *cuda->is_kept);
    if (cuda->output_at == NULL || cuda->is_kept == NULL) {
        return ISO_NOMEM;
    }
    for (int i = 0; i < count; i++) {
        const iso_tensor_t *value =
            &cuda->values[iso_graph_output(graph, i)->node];

        cuda->output_at[i] = bytes;
        bytes +=
            (iso_tensor_bytes(value) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    return bytes == 0 ? ISO_OK
                      : iso_cuda_alloc_host(cuda->device->cuda, bytes,
                                            (void **)&cuda->outputs);
}

/* Room for the largest exchange, and for any value that an observer sees. */
static iso_status_t make_stages(iso__cuda_t *cuda)
{
    size_t sent = 0;
    size_t received = 0;
    size_t most = 0;

    for (int32_t i = 0; i < cuda->n_steps; i++) {
        const iso__cuda_step_t *step = &cuda->steps[i];
        const size_t bytes = iso_tensor_bytes(&cuda->values[step->node]);

        most = bytes > most ? bytes : most;
        if (step->exchange < 0) {
            continue;
        }
        received = bytes > received ? bytes : received;
        if (iso__cuda_node(cuda, step->node)->n_inputs > 0 &&
            iso_tensor_bytes(step->inputs[0]) > sent) {
            sent = iso_tensor_bytes(step->inputs[0]);
        }
    }
    if (sent > 0) {
        ISO_TRY(
            iso_cuda_alloc_host(cuda->device->cuda, sent, &cuda->sent.data));
    }
    if (received > 0) {
        ISO_TRY(iso_cuda_alloc_host(cuda->device->cuda, received,
                                    &cuda->received.data));
    }
    if (cuda->base.keeps_values) {
        cuda->seen = iso_alloc(most);
        return cuda->seen == NULL ? ISO_NOMEM : ISO_OK;
    }
    return ISO_OK;
}

iso_status_t iso__cuda_make(iso__cuda_t *cuda)
{
    ISO_TRY(iso_memory_plan_create(cuda->base.graph, NULL, &cuda->plan));
    ISO_TRY(make_values(cuda));
    ISO_TRY(make_steps(cuda));
    ISO_TRY(make_scratch(cuda));
    ISO_TRY(make_outputs(cuda));
    return make_stages(cuda);
}
