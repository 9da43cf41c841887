#include "base/mem.h"
#include "graph/fuse_impl.h"
#include "graph/param.h"

#include <string.h>

enum { MOST_FUSED_INPUTS = 5 };

/* The node that a chain becomes. */
typedef struct fused_node {
    const iso_node_t *head;
    const iso_node_t *last;
    iso_node_id_t bias;           /* in the old graph, or ISO_NO_NODE */
    const iso_node_t *activation; /* or NULL */
    iso_affine_t affine;          /* channels 0: weights stay as they are */
    iso_node_id_t inputs[MOST_FUSED_INPUTS];
} fused_node_t;

static iso_status_t leaf_tensor(const iso_fuse_t *state, iso_node_id_t id,
                                iso_tensor_t *value_out)
{
    bool known;

    return iso__leaf_value(state->weights, iso_graph_node(state->graph, id),
                           value_out, &known);
}

/* The chain's affine starts from the bias that is there by then. */
static iso_status_t start_affine(const iso_fuse_t *state, fused_node_t *fused)
{
    const int64_t channels = fused->head->shape.dim[1].size;
    iso_tensor_t bias;

    if (fused->affine.channels > 0) {
        return ISO_OK;
    }
    if (fused->bias == ISO_NO_NODE) {
        return iso__affine_create(channels, NULL, &fused->affine);
    }
    ISO_TRY(leaf_tensor(state, fused->bias, &bias));
    return iso__affine_create(channels, &bias, &fused->affine);
}

static iso_status_t take_norm(const iso_fuse_t *state, const iso_node_t *norm,
                              fused_node_t *fused)
{
    iso_tensor_t operands[4];
    iso_norm_param_t param;

    for (int i = 0; i < 4; i++) {
        ISO_TRY(leaf_tensor(state, norm->inputs[i + 1], &operands[i]));
    }
    ISO_TRY(start_affine(state, fused));
    ISO_TRY(iso_norm_param_of(norm, norm->shape.rank, &param));
    iso__affine_norm(&fused->affine, operands, (double)param.epsilon);
    return ISO_OK;
}

static iso_status_t take_channels(const iso_fuse_t *state,
                                  const iso_node_t *node, iso_node_id_t other,
                                  fused_node_t *fused)
{
    iso_tensor_t values;

    ISO_TRY(leaf_tensor(state, other, &values));
    ISO_TRY(start_affine(state, fused));
    if (node->op == ISO_OP_MUL) {
        iso__affine_multiply(&fused->affine, &values);
    } else {
        iso__affine_add(&fused->affine, &values);
    }
    return ISO_OK;
}

/* Take what a node after the one before brings. The first summand where
 * there is neither bias nor affine is a bias as it is. */
static iso_status_t take_node(const iso_fuse_t *state, iso_node_id_t before,
                              const iso_node_t *node, fused_node_t *fused)
{
    switch (node->op) {
    case ISO_OP_BATCH_NORM:
        return take_norm(state, node, fused);
    case ISO_OP_ADD:
    case ISO_OP_MUL: {
        const iso_node_id_t other =
            node->inputs[iso__fuse_other_operand(node, before)];

        if (node->op == ISO_OP_MUL || fused->bias != ISO_NO_NODE ||
            fused->affine.channels > 0) {
            return take_channels(state, node, other, fused);
        }
        fused->bias = other;
        return ISO_OK;
    }
    default:
        fused->activation = node;
        return ISO_OK;
    }
}

/* Walk a chain again from its head to its last. */
static iso_status_t collect(const iso_fuse_t *state, iso_node_id_t head_id,
                            iso_node_id_t last_id, fused_node_t *fused)
{
    iso_node_id_t before = head_id;

    fused->head = iso_graph_node(state->graph, head_id);
    fused->last = iso_graph_node(state->graph, last_id);
    if (iso__fuse_has_operand(fused->head, 2)) {
        fused->bias = fused->head->inputs[2];
    }
    while (before != last_id) {
        const iso_node_id_t id = state->nodes[before].user;

        ISO_TRY(
            take_node(state, before, iso_graph_node(state->graph, id), fused));
        before = id;
    }
    return ISO_OK;
}

/* "last.weights", with a number when that is taken; NULL on failure. */
static const char *new_name(const iso_fuse_t *state, const iso_node_t *last,
                            const char *what)
{
    const char *name =
        iso_arena_format(state->scratch, "%s.%s", last->name, what);

    for (int i = 2;
         name != NULL && (iso_graph_find(state->graph, name) != ISO_NO_NODE ||
                          (state->weights != NULL &&
                           iso_weights_find(state->weights, name) != NULL));
         i++) {
        name =
            iso_arena_format(state->scratch, "%s.%s_%d", last->name, what, i);
    }
    return name;
}

/* Add a param whose elements go to weights; they are freed on failure. */
static iso_status_t add_param(const iso_fuse_t *state, const char *name,
                              iso_tensor_t *value, iso_node_id_t *id_out)
{
    const iso_shape_t shape = iso_tensor_shape(value);
    iso_status_t status = ISO_NOMEM;

    if (name != NULL) {
        status = iso_graph_add_param(state->fused, name, value->dtype, &shape,
                                     id_out);
    }
    if (status == ISO_OK) {
        status = iso_weights_add(state->weights, name, value);
    }
    if (status != ISO_OK) {
        iso_free(value->data);
    }
    return status;
}

static iso_status_t add_affine_params(const iso_fuse_t *state,
                                      fused_node_t *fused)
{
    const iso_node_t *head = fused->head;
    const char *weights_name =
        new_name(state, fused->last,
                 head->op == ISO_OP_BATCH_NORM ? "scale" : "weights");
    iso_tensor_t old;
    iso_tensor_t weights;
    iso_tensor_t bias;
    int64_t groups;

    ISO_TRY(leaf_tensor(state, head->inputs[1], &old));
    ISO_TRY(iso_attr_int(head, "groups", 1, &groups));
    ISO_TRY(iso__affine_weights(&fused->affine, head, groups, &old, &weights));
    ISO_TRY(add_param(state, weights_name, &weights, &fused->inputs[1]));
    ISO_TRY(iso__affine_bias(&fused->affine, head->dtype, &bias));
    return add_param(state, new_name(state, fused->last, "bias"), &bias,
                     &fused->inputs[2]);
}

/* An added [C, 1, 1] becomes a leaf [C]; any other is used as it is. */
static iso_status_t add_bias(const iso_fuse_t *state, fused_node_t *fused)
{
    const iso_node_t *bias = iso_graph_node(state->graph, fused->bias);
    const char *name;
    iso_tensor_t value;
    void *copy;

    if (bias->shape.rank == 1 || iso__fuse_has_operand(fused->head, 2)) {
        fused->inputs[2] = state->ids[fused->bias];
        return ISO_OK;
    }
    ISO_TRY(leaf_tensor(state, fused->bias, &value));
    value.dims[0] = iso_tensor_count(&value);
    value.rank = 1;
    name = new_name(state, fused->last, "bias");
    if (name == NULL) {
        return ISO_NOMEM;
    }
    if (bias->op == ISO_OP_CONSTANT) {
        return iso_graph_add_constant(state->fused, name, &value,
                                      &fused->inputs[2]);
    }
    copy = iso_alloc(iso_tensor_bytes(&value));
    if (copy == NULL) {
        return ISO_NOMEM;
    }
    memcpy(copy, value.data, iso_tensor_bytes(&value));
    value.data = copy;
    return add_param(state, name, &value, &fused->inputs[2]);
}

/* Those of the head, with weights and bias that are there or new ones. */
static iso_status_t add_operands(const iso_fuse_t *state, fused_node_t *fused)
{
    const iso_node_t *head = fused->head;

    for (int i = 0; i < MOST_FUSED_INPUTS; i++) {
        fused->inputs[i] = iso__fuse_has_operand(head, i)
                               ? state->ids[head->inputs[i]]
                               : ISO_NO_NODE;
    }
    if (fused->affine.channels > 0) {
        return add_affine_params(state, fused);
    }
    return fused->bias == ISO_NO_NODE ? ISO_OK : add_bias(state, fused);
}

/* Does an attribute of the head still hold? Those of no activation, and
 * beta when there was nothing to multiply, are said anew. */
static bool keeps_attr(const fused_node_t *fused, const iso_attr_t *attr)
{
    if (strncmp(attr->name, "activation", strlen("activation")) == 0) {
        return fused->activation == NULL;
    }
    return strcmp(attr->name, "beta") != 0 ||
           iso__fuse_has_operand(fused->head, 2);
}

/* Attributes of the head and, as activation_*, of the activation. */
static iso_status_t collect_attrs(const iso_fuse_t *state,
                                  const fused_node_t *fused,
                                  iso_node_spec_t *spec)
{
    const iso_node_t *head = fused->head;
    const iso_node_t *activation = fused->activation;
    const int most =
        head->n_attrs + (activation == NULL ? 0 : activation->n_attrs + 1);
    iso_attr_t *attrs = iso_arena_array(
        state->scratch, (size_t)(most > 0 ? most : 1), sizeof *attrs);

    if (attrs == NULL) {
        return ISO_NOMEM;
    }
    spec->attrs = attrs;
    for (int i = 0; i < head->n_attrs; i++) {
        if (keeps_attr(fused, &head->attrs[i])) {
            attrs[spec->n_attrs++] = head->attrs[i];
        }
    }
    if (activation == NULL) {
        return ISO_OK;
    }
    attrs[spec->n_attrs++] =
        (iso_attr_t){.name = "activation",
                     .kind = ISO_ATTR_TEXT,
                     .count = 1,
                     .value.text = iso__fuse_activation(activation)};
    for (int i = 0; i < activation->n_attrs; i++) {
        iso_attr_t *attr = &attrs[spec->n_attrs++];

        *attr = activation->attrs[i];
        attr->name =
            iso_arena_format(state->scratch, "activation_%s", attr->name);
        if (attr->name == NULL) {
            return ISO_NOMEM;
        }
    }
    return ISO_OK;
}

static iso_status_t add_fused(const iso_fuse_t *state, fused_node_t *fused,
                              iso_node_id_t *id_out)
{
    iso_node_spec_t spec = {.name = fused->last->name,
                            .op = fused->head->op,
                            .inputs = fused->inputs};

    ISO_TRY(add_operands(state, fused));
    while (spec.n_inputs < MOST_FUSED_INPUTS &&
           fused->inputs[spec.n_inputs] != ISO_NO_NODE) {
        spec.n_inputs++;
    }
    ISO_TRY(collect_attrs(state, fused, &spec));
    ISO_TRY(iso_graph_add(state->fused, &spec, id_out));
    iso_graph_set_layer(state->fused, *id_out, fused->last->layer);
    return ISO_OK;
}

static iso_status_t fuse_node(const iso_fuse_t *state, iso_node_id_t id)
{
    const iso_fuse_node_t *mark = &state->nodes[id];
    fused_node_t fused = {.bias = ISO_NO_NODE};
    iso_status_t status;

    if (mark->absorbed) {
        return ISO_OK;
    }
    if (mark->head == ISO_NO_NODE) {
        return iso__pass_copy_node(state->fused,
                                   iso_graph_node(state->graph, id), state->ids,
                                   &state->ids[id]);
    }
    status = collect(state, mark->head, id, &fused);
    if (status == ISO_OK) {
        status = add_fused(state, &fused, &state->ids[id]);
    }
    iso__affine_destroy(&fused.affine);
    return status;
}

static iso_status_t fuse_nodes(iso_fuse_t *state)
{
    ISO_TRY(iso__fuse_mark_chains(state));
    for (iso_node_id_t id = 0; id < state->n_nodes; id++) {
        ISO_TRY(fuse_node(state, id));
    }
    return iso__pass_copy_outputs(state->fused, state->graph, state->ids);
}

iso_status_t iso_graph_fuse(const iso_graph_t *graph, iso_weights_t *weights,
                            iso_graph_t **fused_out)
{
    iso_fuse_t state = {.graph = graph,
                        .weights = weights,
                        .n_nodes = iso_graph_node_count(graph)};
    const size_t count = (size_t)state.n_nodes;
    iso_status_t status = ISO_NOMEM;

    *fused_out = NULL;
    ISO_TRY(iso_arena_create(&state.scratch));
    state.nodes = iso_alloc_zeroed(count, sizeof *state.nodes);
    state.ids = iso_alloc_zeroed(count, sizeof *state.ids);
    if (state.nodes == NULL || state.ids == NULL) {
        goto free_arrays;
    }
    status = iso_graph_create(&state.fused);
    if (status != ISO_OK) {
        goto free_arrays;
    }
    status = fuse_nodes(&state);
    if (status == ISO_OK) {
        *fused_out = state.fused;
    } else {
        iso_graph_destroy(&state.fused);
    }
free_arrays:
    iso_free(state.ids);
    iso_free(state.nodes);
    iso_arena_destroy(&state.scratch);
    return status;
}
