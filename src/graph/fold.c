#include "isotome/error.h"

#include "base/mem.h"
#include "graph/pass_impl.h"

/* What is known of a node of the graph that is folded. */
typedef struct fold_node {
    bool known;         /* its value is, or will be, in value */
    bool needed;        /* known, and something uses it */
    bool wanted;        /* needed, and something that is not known uses it */
    bool owned;         /* value.data is ours to free */
    iso_tensor_t value; /* data is NULL until computed */
} fold_node_t;

typedef struct fold_state {
    const iso_graph_t *graph;
    iso_eval_fn eval;
    iso_weights_t *weights;
    iso_graph_t *folded;
    int32_t n_nodes;
    fold_node_t *nodes; /* (n_nodes) */
    iso_node_id_t *ids; /* (n_nodes), in the new graph where they are there */
} fold_state_t;

/* ---- What can be computed, and what must be ---- */

static bool attrs_are_static(const iso_node_t *node)
{
    for (int i = 0; i < node->n_attrs; i++) {
        const iso_attr_t *attr = &node->attrs[i];

        for (int j = 0; attr->kind == ISO_ATTR_DIMS && j < attr->count; j++) {
            if (!iso_dim_is_static(attr->value.dims[j])) {
                return false;
            }
        }
    }
    return true;
}

/* A value too large for a constant needs weights to go to. */
static bool has_a_place(const fold_state_t *state, const iso_node_t *node)
{
    size_t bytes = 0;

    return iso_tensor_bytes_of(node->dtype, &node->shape, &bytes) == ISO_OK &&
           (bytes <= ISO_CONSTANT_BYTES || state->weights != NULL);
}

static bool can_compute(const fold_state_t *state, const iso_node_t *node)
{
    bool known = attrs_are_static(node) && iso_shape_is_static(&node->shape) &&
                 has_a_place(state, node);

    for (int i = 0; known && i < node->n_inputs; i++) {
        known = node->inputs[i] == ISO_NO_NODE ||
                state->nodes[node->inputs[i]].known;
    }
    return known;
}

static iso_status_t mark_one(const fold_state_t *state, const iso_node_t *node,
                             fold_node_t *mark)
{
    if (iso_node_is_leaf(node)) {
        return iso__leaf_value(state->weights, node, &mark->value,
                               &mark->known);
    }
    mark->known = can_compute(state, node);
    return ISO_OK;
}

static iso_status_t mark_known(fold_state_t *state)
{
    for (iso_node_id_t id = 0; id < state->n_nodes; id++) {
        ISO_TRY(mark_one(state, iso_graph_node(state->graph, id),
                         &state->nodes[id]));
    }
    return ISO_OK;
}

/* Users come after what they use, so one walk back marks all. */
static void mark_needed(fold_state_t *state)
{
    for (int i = 0; i < iso_graph_output_count(state->graph); i++) {
        fold_node_t *mark =
            &state->nodes[iso_graph_output(state->graph, i)->node];

        mark->needed = true;
        mark->wanted = true;
    }
    for (iso_node_id_t id = state->n_nodes - 1; id >= 0; id--) {
        const iso_node_t *node = iso_graph_node(state->graph, id);
        const fold_node_t *user = &state->nodes[id];

        for (int i = 0; i < node->n_inputs; i++) {
            if (node->inputs[i] != ISO_NO_NODE &&
                (user->needed || !user->known)) {
                fold_node_t *used = &state->nodes[node->inputs[i]];

                used->needed = true;
                used->wanted = used->wanted || !user->known;
            }
        }
    }
}

/* ---- The new graph ---- */

static iso_status_t compute(const fold_state_t *state, const iso_node_t *node,
                            fold_node_t *mark)
{
    const size_t count = (size_t)node->n_inputs;
    const iso_tensor_t **inputs = iso_alloc_zeroed(count, sizeof(void *));
    iso_status_t status =
        iso_tensor_view(node->dtype, &node->shape, NULL, &mark->value);

    if (status == ISO_OK) {
        mark->value.data = iso_alloc(iso_tensor_bytes(&mark->value));
        mark->owned = true;
    }
    if (inputs == NULL || mark->value.data == NULL) {
        status = ISO_NOMEM;
    }
    for (size_t i = 0; status == ISO_OK && i < count; i++) {
        if (node->inputs[i] != ISO_NO_NODE) {
            inputs[i] = &state->nodes[node->inputs[i]].value;
        }
    }
    if (status == ISO_OK) {
        status = state->eval(node, inputs, &mark->value);
    }
    iso_free(inputs);
    if (status != ISO_OK) {
        return iso_fail_context(status, "folding node '%s'", node->name);
    }
    return ISO_OK;
}

/* The value becomes a leaf with the node's name. */
static iso_status_t add_value(const fold_state_t *state, const iso_node_t *node,
                              fold_node_t *mark, iso_node_id_t *id_out)
{
    if (iso_tensor_bytes(&mark->value) <= ISO_CONSTANT_BYTES) {
        return iso_graph_add_constant(state->folded, node->name, &mark->value,
                                      id_out);
    }
    ISO_TRY(iso_graph_add_param(state->folded, node->name, node->dtype,
                                &node->shape, id_out));
    ISO_TRY(iso_weights_add(state->weights, node->name, &mark->value));
    mark->owned = false;
    return ISO_OK;
}

static iso_status_t fold_node(const fold_state_t *state, iso_node_id_t id)
{
    const iso_node_t *node = iso_graph_node(state->graph, id);
    fold_node_t *mark = &state->nodes[id];

    if (iso_node_is_leaf(node) || !mark->known) {
        return iso__pass_copy_node(state->folded, node, state->ids,
                                   &state->ids[id]);
    }
    if (mark->needed) {
        ISO_TRY(compute(state, node, mark));
    }
    return mark->wanted ? add_value(state, node, mark, &state->ids[id])
                        : ISO_OK;
}

static iso_status_t fold_nodes(fold_state_t *state)
{
    ISO_TRY(mark_known(state));
    mark_needed(state);
    for (iso_node_id_t id = 0; id < state->n_nodes; id++) {
        ISO_TRY(fold_node(state, id));
    }
    return iso__pass_copy_outputs(state->folded, state->graph, state->ids);
}

static void free_values(const fold_state_t *state)
{
    for (iso_node_id_t id = 0; id < state->n_nodes; id++) {
        if (state->nodes[id].owned) {
            iso_free(state->nodes[id].value.data);
        }
    }
}

iso_status_t iso_graph_fold(const iso_graph_t *graph, iso_eval_fn eval,
                            iso_weights_t *weights, iso_graph_t **folded_out)
{
    fold_state_t state = {.graph = graph,
                          .eval = eval,
                          .weights = weights,
                          .n_nodes = iso_graph_node_count(graph)};
    const size_t count = (size_t)state.n_nodes;
    iso_status_t status = ISO_NOMEM;

    *folded_out = NULL;
    state.nodes = iso_alloc_zeroed(count, sizeof *state.nodes);
    state.ids = iso_alloc_zeroed(count, sizeof *state.ids);
    if (state.nodes == NULL || state.ids == NULL) {
        goto free_arrays;
    }
    status = iso_graph_create(&state.folded);
    if (status != ISO_OK) {
        goto free_arrays;
    }
    status = fold_nodes(&state);
    free_values(&state);
    if (status == ISO_OK) {
        *folded_out = state.folded;
    } else {
        iso_graph_destroy(&state.folded);
    }
free_arrays:
    iso_free(state.ids);
    iso_free(state.nodes);
    return status;
}
