#include "isotome/error.h"

#include "base/mem.h"
#include "device/cuda_impl.h"

/* ---- Weights that stay ---- */

static iso_status_t upload_resident(iso_device_t *device,
                                    const iso_weight_t *weight, size_t bytes,
                                    iso__resident_t *resident)
{
    *resident = (iso__resident_t){.weight = weight, .next = device->residents};
    ISO_TRY(iso_cuda_alloc(device->cuda, bytes, &resident->data));
    return iso_cuda_upload(device->cuda, resident->data,
                           iso_weight_plain(weight), bytes);
}

/* On the GPU, where another program may have brought it. */
static iso_status_t take_resident(iso_device_t *device,
                                  const iso_weight_t *weight, size_t bytes,
                                  iso__resident_t **resident_out)
{
    iso__resident_t *resident = device->residents;

    while (resident != NULL && resident->weight != weight) {
        resident = resident->next;
    }
    if (resident == NULL) {
        resident = iso_alloc_zeroed(1, sizeof *resident);
        if (resident == NULL) {
            return ISO_NOMEM;
        }
        const iso_status_t status =
            upload_resident(device, weight, bytes, resident);

        if (status != ISO_OK) {
            iso_cuda_free(device->cuda, resident->data);
            iso_free(resident);
            return status;
        }
        device->residents = resident;
    }
    resident->n_users++;
    *resident_out = resident;
    return ISO_OK;
}

static void release_resident(iso_device_t *device, iso__resident_t *resident)
{
    iso__resident_t **link = &device->residents;

    if (resident == NULL || --resident->n_users > 0) {
        return;
    }
    while (*link != resident) {
        link = &(*link)->next;
    }
    *link = resident->next;
    iso_cuda_free(device->cuda, resident->data);
    iso_free(resident);
}

static void destroy(iso_program_t *program)
{
    iso__cuda_t *cuda = (iso__cuda_t *)program;
    iso_cuda_t *gpu = cuda->device->cuda;
    const int32_t n = iso_graph_node_count(program->graph);

    for (iso_node_id_t id = 0; cuda->bound != NULL && id < n; id++) {
        release_resident(cuda->device, cuda->bound[id].resident);
        iso_cuda_free(gpu, cuda->bound[id].own);
    }
    iso_cuda_free(gpu, cuda->room);
    iso_cuda_free(gpu, cuda->scratch);
    iso_cuda_free_host(gpu, cuda->outputs);
    iso_cuda_free_host(gpu, cuda->sent.data);
    iso_cuda_free_host(gpu, cuda->received.data);
    iso_free(cuda->output_at);
    iso_free(cuda->is_kept);
    iso_free(cuda->inputs);
    iso_free(cuda->steps);
    iso_free(cuda->bound);
    iso_free(cuda->leaves);
    iso_free(cuda->values);
    iso_free(cuda->seen);
    iso_memory_plan_free(&cuda->plan);
    iso_free(cuda);
}

/* ---- Leaves ---- */

static iso_status_t uses(const iso_program_t *program, iso_node_id_t param,
                         iso_weight_uses_t *uses)
{
    (void)program;
    (void)param;
    uses->plain = true;
    return ISO_OK;
}

static void bind(iso__cuda_t *cuda, iso_node_id_t node, const void *data,
                 const iso_weight_t *weight)
{
    iso__cuda_bound_t *bound = &cuda->bound[node];

    release_resident(cuda->device, bound->resident);
    bound->resident = NULL;
    bound->data = data;
    bound->weight = weight;
    bound->is_stale = true;
    bound->is_direct = false;
    cuda->leaves[node].data = (void *)data;
}

static void bind_node(iso_program_t *program, iso_node_id_t node,
                      const void *data)
{
    bind((iso__cuda_t *)program, node, data, NULL);
}

static void bind_weight(iso_program_t *program, iso_node_id_t param,
                        const iso_weight_t *weight)
{
    bind((iso__cuda_t *)program, param, iso_weight_plain(weight), weight);
}

static const iso_tensor_t *leaf(const iso_program_t *program,
                                iso_node_id_t node)
{
    return &((const iso__cuda_t *)program)->leaves[node];
}

/* ---- Running ---- */

/* Aliases of leaves point where these do. */
static void place_aliases(iso__cuda_t *cuda)
{
    for (iso_node_id_t id = 0; id < cuda->plan.n_nodes; id++) {
        const iso_node_id_t alias = cuda->plan.alias[id];

        if (alias != ISO_NO_NODE) {
            cuda->values[id].data = cuda->values[alias].data;
        }
    }
}

static iso_status_t fail_leaf(const iso__cuda_t *cuda, iso_node_id_t id,
                              iso_status_t status)
{
    return status == ISO_OK ? ISO_OK
                            : iso_fail_context(status, "'%s' on device '%s'",
                                               iso__cuda_node(cuda, id)->name,
                                               cuda->device->text);
}

/* Room for a leaf; a weight's, or a message's, has its elements as well. */
static iso_status_t reserve(iso__cuda_t *cuda, iso_node_id_t id)
{
    iso__cuda_bound_t *bound = &cuda->bound[id];
    iso_tensor_t *value = &cuda->values[id];
    const size_t bytes = iso_tensor_bytes(value);

    if (bound->weight != NULL) {
        ISO_TRY(take_resident(cuda->device, bound->weight, bytes,
                              &bound->resident));
        value->data = bound->resident->data;
        return ISO_OK;
    }
    if (bound->is_direct) {
        value->data = (void *)bound->data;
        return ISO_OK;
    }
    if (bound->own == NULL) {
        ISO_TRY(iso_cuda_alloc(cuda->device->cuda, bytes, &bound->own));
    }
    value->data = bound->own;
    return ISO_OK;
}

static iso_status_t upload(const iso__cuda_t *cuda, iso_node_id_t id)
{
    const iso__cuda_bound_t *bound = &cuda->bound[id];

    return bound->weight != NULL || bound->is_direct
               ? ISO_OK
               : iso_cuda_upload(cuda->device->cuda, bound->own, bound->data,
                                 iso_tensor_bytes(&cuda->values[id]));
}

/* Params and constants that the GPU does not have; room for inputs. */
static iso_status_t prepare_leaf(iso__cuda_t *cuda, iso_node_id_t id)
{
    const iso_node_t *node = iso__cuda_node(cuda, id);
    iso__cuda_bound_t *bound = &cuda->bound[id];

    if (bound->data == NULL && iso_tensor_bytes(&cuda->values[id]) > 0) {
        return iso_fail(ISO_INVAL, "%s '%s' is not bound",
                        node->op == ISO_OP_INPUT ? "input" : "param",
                        node->name);
    }
    if (!bound->is_stale) {
        return ISO_OK;
    }
    ISO_TRY(fail_leaf(cuda, id, reserve(cuda, id)));
    if (node->op != ISO_OP_INPUT) {
        ISO_TRY(fail_leaf(cuda, id, upload(cuda, id)));
    }
    bound->is_stale = false;
    return ISO_OK;
}

static iso_status_t begin(iso_program_t *program)
{
    iso__cuda_t *cuda = (iso__cuda_t *)program;

    for (iso_node_id_t id = 0; id < cuda->plan.n_nodes; id++) {
        ISO_TRY(iso_node_is_leaf(iso__cuda_node(cuda, id))
                    ? prepare_leaf(cuda, id)
                    : ISO_OK);
    }
    place_aliases(cuda);
    cuda->next = -1;
    cuda->paused = NULL;
    return ISO_OK;
}

/* Inputs are read now: they may be made by what runs before this. */
static iso_status_t bring_inputs(const iso__cuda_t *cuda)
{
    for (iso_node_id_t id = 0; id < cuda->plan.n_nodes; id++) {
        ISO_TRY(iso__cuda_node(cuda, id)->op == ISO_OP_INPUT
                    ? fail_leaf(cuda, id, upload(cuda, id))
                    : ISO_OK);
    }
    return ISO_OK;
}

static iso_status_t show(const iso__cuda_t *cuda, iso_node_id_t node)
{
    iso_cuda_t *gpu = cuda->device->cuda;
    iso_tensor_t value = cuda->values[node];

    if (cuda->observer == NULL) {
        return ISO_OK;
    }
    ISO_TRY(iso_cuda_download(gpu, cuda->seen, value.data,
                              iso_tensor_bytes(&value)));
    ISO_TRY(iso_cuda_wait(gpu));
    value.data = cuda->seen;
    return cuda->observer(cuda->observer_arg, node, &value);
}

static iso_status_t run_step(const iso__cuda_t *cuda,
                             const iso__cuda_step_t *step)
{
    const iso_node_t *node = iso__cuda_node(cuda, step->node);

    const iso_status_t status =
        iso_cuda_run(cuda->device->cuda, node, step->inputs,
                     &cuda->values[step->node], cuda->scratch);

    return status == ISO_OK
               ? show(cuda, step->node)
               : iso_fail_context(status, "node '%s' on device '%s'",
                                  node->name, cuda->device->text);
}

/* A value of the GPU as it is, or will be, in memory of the host. */
static iso_tensor_t staged(const iso_tensor_t *value, void *data)
{
    iso_tensor_t stage = *value;

    stage.data = data;
    return stage;
}

/* Bring the operand of an exchange to the host. */
static iso_status_t bring_sent(iso__cuda_t *cuda, const iso_tensor_t *operand)
{
    iso_cuda_t *gpu = cuda->device->cuda;

    cuda->sent = staged(operand, cuda->sent.data);
    if (cuda->base.skips) {
        return ISO_OK;
    }
    ISO_TRY(iso_cuda_download(gpu, cuda->sent.data, operand->data,
                              iso_tensor_bytes(operand)));
    return iso_cuda_wait(gpu);
}

static iso_status_t pause_at(iso__cuda_t *cuda, const iso__cuda_step_t *step,
                             iso_pause_t *pause_out)
{
    const bool has_input = iso__cuda_node(cuda, step->node)->n_inputs > 0;

    cuda->paused = step;
    ISO_TRY(has_input ? bring_sent(cuda, step->inputs[0]) : ISO_OK);
    cuda->received = staged(&cuda->values[step->node], cuda->received.data);
    *pause_out = (iso_pause_t){.node = step->node,
                               .number = step->exchange,
                               .input = has_input ? &cuda->sent : NULL,
                               .output = &cuda->received};
    return ISO_OK;
}

static iso_status_t resume(iso__cuda_t *cuda)
{
    const iso__cuda_step_t *step = cuda->paused;

    cuda->paused = NULL;
    if (step == NULL || cuda->base.skips) {
        return ISO_OK;
    }
    ISO_TRY(iso_cuda_upload(cuda->device->cuda, cuda->values[step->node].data,
                            cuda->received.data,
                            iso_tensor_bytes(&cuda->received)));
    return show(cuda, step->node);
}

static const iso_tensor_t *value_of_output(const iso__cuda_t *cuda, int index)
{
    return &cuda->values[iso_graph_output(cuda->base.graph, index)->node];
}

static iso_status_t bring_outputs(const iso__cuda_t *cuda)
{
    const iso_graph_t *graph = cuda->base.graph;
    iso_cuda_t *gpu = cuda->device->cuda;

    for (int i = 0; i < iso_graph_output_count(graph); i++) {
        const iso_tensor_t *value = value_of_output(cuda, i);

        ISO_TRY(cuda->is_kept[i]
                    ? ISO_OK
                    : iso_cuda_download(gpu, cuda->outputs + cuda->output_at[i],
                                        value->data, iso_tensor_bytes(value)));
    }
    return ISO_OK;
}

static iso_status_t finish(iso_program_t *program)
{
    return iso_cuda_wait(((const iso__cuda_t *)program)->device->cuda);
}

static iso_status_t advance(iso_program_t *program, iso_pause_t *pause_out)
{
    iso__cuda_t *cuda = (iso__cuda_t *)program;

    ISO_TRY(resume(cuda));
    if (cuda->next < 0) {
        cuda->next = 0;
        ISO_TRY(program->skips ? ISO_OK : bring_inputs(cuda));
    }
    while (cuda->next < cuda->n_steps) {
        const iso__cuda_step_t *step = &cuda->steps[cuda->next++];

        if (step->exchange >= 0) {
            return pause_at(cuda, step, pause_out);
        }
        ISO_TRY(program->skips ? ISO_OK : run_step(cuda, step));
    }
    *pause_out = (iso_pause_t){.node = ISO_NO_NODE};
    return program->skips ? ISO_OK : bring_outputs(cuda);
}

static void observe(iso_program_t *program, iso_program_observer_t *observer,
                    void *arg)
{
    iso__cuda_t *cuda = (iso__cuda_t *)program;

    cuda->observer = observer;
    cuda->observer_arg = arg;
}

static const void *output(const iso_program_t *program, int index)
{
    const iso__cuda_t *cuda = (const iso__cuda_t *)program;

    return cuda->outputs + cuda->output_at[index];
}

/* ---- Direct ---- */

static iso_device_t *direct_device(const iso__cuda_t *cuda)
{
    return cuda->device->is_direct ? cuda->device : NULL;
}

static iso_device_t *maker(const iso_program_t *program, int index)
{
    (void)index;
    return direct_device((const iso__cuda_t *)program);
}

static iso_device_t *reader(const iso_program_t *program, iso_node_id_t input)
{
    (void)input;
    return direct_device((const iso__cuda_t *)program);
}

static void keep(iso_program_t *program, int index)
{
    ((iso__cuda_t *)program)->is_kept[index] = true;
}

static iso_status_t put(const iso_program_t *program, int index, void *to)
{
    const iso__cuda_t *cuda = (const iso__cuda_t *)program;
    const iso_tensor_t *value = value_of_output(cuda, index);

    ISO_TRY(iso_cuda_copy(cuda->device->cuda, to, value->data,
                          iso_tensor_bytes(value)));
    return iso_cuda_wait(cuda->device->cuda);
}

static void bind_direct(iso_program_t *program, iso_node_id_t input,
                        const void *data)
{
    iso__cuda_t *cuda = (iso__cuda_t *)program;

    bind(cuda, input, data, NULL);
    cuda->bound[input].is_direct = true;
}

static const iso__program_kind_t kind = {
    .destroy = destroy,
    .uses = uses,
    .bind_node = bind_node,
    .bind_weight = bind_weight,
    .leaf = leaf,
    .begin = begin,
    .advance = advance,
    .finish = finish,
    .observe = observe,
    .output = output,
    .maker = maker,
    .keep = keep,
    .put = put,
    .reader = reader,
    .bind_direct = bind_direct,
};

iso_status_t iso__cuda_create(iso_device_t *device, const iso_graph_t *graph,
                              const iso_program_options_t *options,
                              iso_program_t **program_out)
{
    iso__cuda_t *cuda = iso_alloc_zeroed(1, sizeof *cuda);

    if (cuda == NULL) {
        return ISO_NOMEM;
    }
    cuda->base = (iso_program_t){
        .kind = &kind, .graph = graph, .keeps_values = options->keeps_values};
    cuda->device = device;

    const iso_status_t status = iso__cuda_make(cuda);

    if (status != ISO_OK) {
        destroy(&cuda->base);
        return iso_fail_context(status, "device '%s'", device->text);
    }
    *program_out = &cuda->base;
    return ISO_OK;
}
