#include "graph/pass.h"

#include "isotome/error.h"

#include "base/mem.h"
#include "graph/graph_impl.h"
#include "graph/pass_impl.h"

static iso_status_t check_weight(const iso_node_t *node,
                                 const iso_tensor_t *weight)
{
    const iso_shape_t shape = iso_tensor_shape(weight);

    if (weight->dtype != node->dtype ||
        !iso_shape_equal(&shape, &node->shape)) {
        char expected[ISO_SHAPE_TEXT_BYTES];
        char found[ISO_SHAPE_TEXT_BYTES];

        return iso_fail(ISO_SHAPE, "weight '%s' is %s %s, expected %s %s",
                        node->name, iso_dtype_string(weight->dtype),
                        iso_shape_text(&shape, found),
                        iso_dtype_string(node->dtype),
                        iso_shape_text(&node->shape, expected));
    }
    return ISO_OK;
}

iso_status_t iso__leaf_value(const iso_weights_t *weights,
                             const iso_node_t *node, iso_tensor_t *value_out,
                             bool *known_out)
{
    const iso_tensor_t *weight = NULL;

    *known_out = false;
    if (node->op == ISO_OP_CONSTANT) {
        *known_out = true;
        return iso_tensor_view(node->dtype, &node->shape, (void *)node->data,
                               value_out);
    }
    if (node->op == ISO_OP_PARAM && weights != NULL) {
        weight = iso_weights_find(weights, node->name);
    }
    if (weight == NULL) {
        return ISO_OK;
    }
    ISO_TRY(check_weight(node, weight));
    *value_out = *weight;
    *known_out = true;
    return ISO_OK;
}

iso_status_t iso__pass_copy_node(iso_graph_t *graph, const iso_node_t *node,
                                 const iso_node_id_t *ids,
                                 iso_node_id_t *node_out)
{
    iso_node_id_t *inputs = iso_alloc((size_t)node->n_inputs * sizeof *inputs);
    iso_status_t status;

    if (inputs == NULL) {
        return ISO_NOMEM;
    }
    for (int i = 0; i < node->n_inputs; i++) {
        inputs[i] =
            node->inputs[i] == ISO_NO_NODE ? ISO_NO_NODE : ids[node->inputs[i]];
    }
    status = iso__graph_add_copy(graph, node, inputs, node_out);
    iso_free(inputs);
    return status;
}

iso_status_t iso__pass_copy_outputs(iso_graph_t *graph, const iso_graph_t *old,
                                    const iso_node_id_t *ids)
{
    for (int i = 0; i < iso_graph_output_count(old); i++) {
        const iso_output_t *output = iso_graph_output(old, i);

        ISO_TRY(iso_graph_add_output(graph, output->name, ids[output->node]));
    }
    return ISO_OK;
}
