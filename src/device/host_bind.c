#include "isotome/error.h"

#include "device/host_impl.h"

void iso__host_bind_node(iso_program_t *program, iso_node_id_t node,
                         const void *data)
{
    iso__host_t *host = (iso__host_t *)program;

    host->values[node].data = (void *)data;
    host->bound[node].weight = NULL;
    host->bound[node].is_stale = true;
    host->is_bound = false;
}

const iso_tensor_t *iso__host_leaf(const iso_program_t *program,
                                   iso_node_id_t node)
{
    return &((const iso__host_t *)program)->values[node];
}

void iso__host_bind_weight(iso_program_t *program, iso_node_id_t param,
                           const iso_weight_t *weight)
{
    iso__host_t *host = (iso__host_t *)program;

    host->values[param].data = iso_weight_plain(weight);
    host->bound[param].weight = weight;
    host->is_bound = false;
}

/* ---- Uses ---- */

static iso_status_t add_spec(const iso_panels_spec_t *spec, const char *name,
                             iso_weight_uses_t *uses)
{
    for (int i = 0; i < uses->n_specs; i++) {
        if (iso_panels_equal(&uses->specs[i], spec)) {
            return ISO_OK;
        }
    }
    if (uses->n_specs == ISO_WEIGHT_USES) {
        return iso_fail(ISO_UNSUPPORTED,
                        "weight '%s' is packed in more than %d ways", name,
                        (int)ISO_WEIGHT_USES);
    }
    uses->specs[uses->n_specs++] = *spec;
    return ISO_OK;
}

/* Whether a node reads the plain elements of a leaf. */
static bool reads_plain(const iso__host_t *program, iso_node_id_t id,
                        iso_node_id_t leaf)
{
    const iso_node_t *node = iso_graph_node(program->base.graph, id);
    const bool is_direct = program->formats.n_nodes != 0 &&
                           iso_panels_of(program->base.graph, id, NULL);

    for (int i = 0; i < node->n_inputs; i++) {
        if (node->inputs[i] == leaf && !(is_direct && i == 1)) {
            return true;
        }
    }
    return false;
}

static bool is_read_plain(const iso__host_t *program, iso_node_id_t leaf)
{
    const iso_graph_t *graph = program->base.graph;
    bool is_plain = false;

    for (iso_node_id_t id = 0; id < iso_graph_node_count(graph); id++) {
        is_plain = is_plain || reads_plain(program, id, leaf);
    }
    for (int i = 0; i < iso_graph_output_count(graph); i++) {
        is_plain = is_plain || iso_graph_output(graph, i)->node == leaf;
    }
    return is_plain;
}

static iso_status_t add_step_use(const iso__host_t *program,
                                 const iso__step_t *step, iso_node_id_t param,
                                 iso_weight_uses_t *uses)
{
    return step->weights == param
               ? add_spec(&step->spec,
                          iso_graph_node(program->base.graph, param)->name,
                          uses)
               : ISO_OK;
}

iso_status_t iso__host_uses(const iso_program_t *program, iso_node_id_t param,
                            iso_weight_uses_t *uses)
{
    const iso__host_t *host = (const iso__host_t *)program;

    for (int32_t i = 0; i < host->n_steps; i++) {
        ISO_TRY(add_step_use(host, &host->steps[i], param, uses));
    }
    uses->plain = uses->plain || is_read_plain(host, param);
    return ISO_OK;
}

/* ---- Before a run ---- */

/* Pack plain elements for the steps that want them so. */
static iso_status_t pack_own(iso__host_t *program, iso_node_id_t leaf)
{
    const iso_tensor_t *plain = &program->values[leaf];
    iso__bound_t *bound = &program->bound[leaf];

    if (bound->own == NULL) {
        iso_weight_uses_t uses = {0};

        ISO_TRY(iso__host_uses(&program->base, leaf, &uses));
        uses.plain = false;
        ISO_TRY(iso_weight_create(program->device, plain, &uses, &bound->own));
    }
    iso__weight_refill(bound->own, plain->data);
    bound->is_stale = false;
    return ISO_OK;
}

/* What a leaf is packed in, packed now where it was not. */
static iso_status_t packed_weight(iso__host_t *program, iso_node_id_t leaf,
                                  const iso_weight_t **weight_out)
{
    iso__bound_t *bound = &program->bound[leaf];

    if (bound->weight == NULL && (bound->own == NULL || bound->is_stale)) {
        ISO_TRY(pack_own(program, leaf));
    }
    *weight_out = bound->weight != NULL ? bound->weight : bound->own;
    return ISO_OK;
}

static iso_status_t set_panels(iso__host_t *program, iso__step_t *step)
{
    const iso_weight_t *weight = NULL;

    if (step->weights == ISO_NO_NODE) {
        return ISO_OK;
    }
    ISO_TRY(packed_weight(program, step->weights, &weight));
    step->what.panels = iso__weight_panels(weight, &step->spec);
    return step->what.panels != NULL
               ? ISO_OK
               : iso_fail(
                     ISO_INVAL,
                     "weight '%s' is bound, but not packed as node '%s' "
                     "reads it",
                     iso_graph_node(program->base.graph, step->weights)->name,
                     step->what.node->name);
}

/* Where the plain elements of a value are. */
static void *plain_of(const iso__host_t *program, iso_node_id_t id)
{
    return iso__host_made(program, id) == ISO_FORMAT_PLAIN
               ? program->values[id].data
               : program->copies[id].data;
}

static iso_status_t set_value(iso__host_t *program, iso_node_id_t id)
{
    const iso_node_t *node = iso_graph_node(program->base.graph, id);
    const iso_node_id_t alias = program->plan.alias[id];
    iso_tensor_t *value = &program->values[id];

    if (alias != ISO_NO_NODE) {
        value->data = plain_of(program, alias);
    }
    if (value->data == NULL && program->bound[id].weight == NULL &&
        iso__program_bindable(node)) {
        return iso_fail(ISO_INVAL, "%s '%s' is not bound",
                        node->op == ISO_OP_INPUT ? "input" : "param",
                        node->name);
    }
    return ISO_OK;
}

iso_status_t iso__host_finish_binding(iso__host_t *program)
{
    const int32_t n = iso_graph_node_count(program->base.graph);

    for (iso_node_id_t id = 0; id < n; id++) {
        ISO_TRY(set_value(program, id));
    }
    for (int32_t i = 0; i < program->n_steps; i++) {
        ISO_TRY(set_panels(program, &program->steps[i]));
    }
    program->is_bound = true;
    return ISO_OK;
}
