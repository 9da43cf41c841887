#include "isotome/error.h"

#include "base/text.h"
#include "graph/graph_impl.h"
#include "graph/pass.h"

#include <string.h>

/* What a node is bound with. */
typedef struct bind_state {
    const iso_binding_t *bindings;
    int count;
    iso_arena_t *scratch; /* attributes on their way into the new graph */
    iso_graph_t *bound;
} bind_state_t;

/* -- checks -- */

static iso_status_t fail_not_free(const iso_graph_t *graph, const char *name)
{
    iso_text_t list = {0};
    iso_status_t status;

    for (int i = 0; i < graph->n_free_dims; i++) {
        iso_text_add(&list, "%s%s", i > 0 ? ", " : "", graph->free_dims[i]);
    }
    status = list.status;
    if (status == ISO_OK) {
        status = iso_fail(ISO_INVAL,
                          "'%s' is not a free size of the model; it has: %s",
                          name, list.length > 0 ? list.data : "none");
    }
    iso_text_free(&list);
    return status;
}

static iso_status_t check_bindings(const iso_graph_t *graph,
                                   const iso_binding_t *bindings, int count)
{
    for (int i = 0; i < count; i++) {
        if (!iso_names_get(graph->free_names, bindings[i].name, NULL)) {
            return fail_not_free(graph, bindings[i].name);
        }
        if (bindings[i].size < 1) {
            return iso_fail(ISO_INVAL, "size %s is %lld, expected at least 1",
                            bindings[i].name, (long long)bindings[i].size);
        }
        for (int j = 0; j < i; j++) {
            if (strcmp(bindings[i].name, bindings[j].name) == 0) {
                return iso_fail(ISO_INVAL, "size %s is given twice",
                                bindings[i].name);
            }
        }
    }
    return ISO_OK;
}

/* -- nodes -- */

static iso_status_t bind_attr(const bind_state_t *state, iso_attr_t *attr)
{
    iso_dim_t *dims;

    if (attr->kind != ISO_ATTR_DIMS) {
        return ISO_OK;
    }
    dims = iso_arena_array(state->scratch, (size_t)attr->count, sizeof *dims);
    if (dims == NULL) {
        return ISO_NOMEM;
    }
    for (int i = 0; i < attr->count; i++) {
        ISO_TRY(iso_dim_bind(attr->value.dims[i], state->bindings, state->count,
                             &dims[i]));
    }
    attr->value.dims = dims;
    return ISO_OK;
}

static iso_status_t bind_compute(const bind_state_t *state,
                                 const iso_node_t *node,
                                 iso_node_id_t *node_out)
{
    iso_node_t copy = *node;
    iso_attr_t *attrs;

    attrs = iso_arena_copy(state->scratch, node->attrs,
                           (size_t)node->n_attrs * sizeof *attrs);
    if (attrs == NULL) {
        return ISO_NOMEM;
    }
    for (int i = 0; i < node->n_attrs; i++) {
        iso_status_t status = bind_attr(state, &attrs[i]);

        if (status != ISO_OK) {
            return iso_fail_context(status, "node '%s'", node->name);
        }
    }
    copy.attrs = attrs;
    return iso__graph_add_copy(state->bound, &copy, node->inputs, node_out);
}

static iso_status_t bind_input(const bind_state_t *state,
                               const iso_node_t *node, iso_node_id_t *node_out)
{
    iso_shape_t shape;
    iso_status_t status =
        iso_shape_bind(&node->shape, state->bindings, state->count, &shape);

    if (status != ISO_OK) {
        return iso_fail_context(status, "input '%s'", node->name);
    }
    return iso_graph_add_input(state->bound, node->name, node->dtype, &shape,
                               node_out);
}

static iso_status_t bind_node(const bind_state_t *state, const iso_node_t *node)
{
    iso_node_id_t added;

    if (node->op == ISO_OP_INPUT) {
        return bind_input(state, node, &added);
    }
    if (iso_node_is_leaf(node)) {
        return iso__graph_add_copy(state->bound, node, NULL, &added);
    }
    return bind_compute(state, node, &added);
}

/* Every node is added in order, so ids stay as they are. */
static iso_status_t bind_graph(const bind_state_t *state,
                               const iso_graph_t *graph)
{
    for (iso_node_id_t id = 0; id < graph->n_nodes; id++) {
        ISO_TRY(bind_node(state, iso_graph_node(graph, id)));
    }
    for (int i = 0; i < graph->n_outputs; i++) {
        ISO_TRY(iso_graph_add_output(state->bound, graph->outputs[i].name,
                                     graph->outputs[i].node));
    }
    return ISO_OK;
}

iso_status_t iso_graph_bind(const iso_graph_t *graph,
                            const iso_binding_t *bindings, int count,
                            iso_graph_t **bound_out)
{
    bind_state_t state = {.bindings = bindings, .count = count};
    iso_status_t status;

    *bound_out = NULL;
    ISO_TRY(check_bindings(graph, bindings, count));
    ISO_TRY(iso_arena_create(&state.scratch));
    status = iso_graph_create(&state.bound);
    if (status == ISO_OK) {
        status = bind_graph(&state, graph);
    }
    if (status == ISO_OK) {
        *bound_out = state.bound;
    } else {
        iso_graph_destroy(&state.bound);
    }
    iso_arena_destroy(&state.scratch);
    return status;
}
