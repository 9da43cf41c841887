#include "iso_eval.h"

#include "isotome/error.h"

#include "base/mem.h"
#include "kernel/ref.h"

enum { MOST_OPERANDS = 256 };

static iso_status_t fetch(const iso_node_t *node,
                          const iso_weight_source_t *source,
                          iso_tensor_t *value)
{
    iso_shape_t shape;

    ISO_TRY(source->get(source->arg, node->name, value));
    shape = iso_tensor_shape(value);
    if (value->dtype != node->dtype || !iso_shape_equal(&shape, &node->shape)) {
        char found[ISO_SHAPE_TEXT_BYTES];
        char expected[ISO_SHAPE_TEXT_BYTES];

        return iso_fail(ISO_INVAL, "'%s' is %s %s, expected %s %s", node->name,
                        iso_dtype_string(value->dtype),
                        iso_shape_text(&shape, found),
                        iso_dtype_string(node->dtype),
                        iso_shape_text(&node->shape, expected));
    }
    return ISO_OK;
}

static iso_status_t compute(const iso_eval_t *eval, const iso_node_t *node,
                            iso_tensor_t *value)
{
    const iso_tensor_t *operands[MOST_OPERANDS];
    size_t bytes;

    if (node->n_inputs > MOST_OPERANDS) {
        return iso_fail(ISO_UNSUPPORTED, "'%s' has %d operands", node->name,
                        node->n_inputs);
    }
    for (int i = 0; i < node->n_inputs; i++) {
        operands[i] = node->inputs[i] == ISO_NO_NODE
                          ? NULL
                          : &eval->values[node->inputs[i]];
    }
    ISO_TRY(iso_tensor_view(node->dtype, &node->shape, NULL, value));
    ISO_TRY(iso_tensor_bytes_of(node->dtype, &node->shape, &bytes));
    value->data = iso_alloc(bytes);
    return value->data == NULL ? ISO_NOMEM : iso_ref_run(node, operands, value);
}

iso_status_t iso_eval_run(const iso_graph_t *graph,
                          const iso_weight_source_t *weights,
                          const iso_weight_source_t *inputs,
                          iso_eval_t *eval_out)
{
    int32_t count = iso_graph_node_count(graph);
    iso_status_t status = ISO_OK;

    *eval_out = (iso_eval_t){.graph = graph};
    eval_out->values =
        iso_alloc_zeroed((size_t)count, sizeof *eval_out->values);
    if (eval_out->values == NULL) {
        return ISO_NOMEM;
    }
    for (int32_t i = 0; status == ISO_OK && i < count; i++) {
        const iso_node_t *node = iso_graph_node(graph, i);
        iso_tensor_t *value = &eval_out->values[i];

        if (node->op == ISO_OP_INPUT || node->op == ISO_OP_PARAM) {
            status =
                fetch(node, node->op == ISO_OP_INPUT ? inputs : weights, value);
        } else if (node->op == ISO_OP_CONSTANT) {
            status = iso_tensor_view(node->dtype, &node->shape,
                                     (void *)node->data, value);
        } else {
            status = compute(eval_out, node, value);
        }
    }
    if (status != ISO_OK) {
        iso_eval_free(eval_out);
    }
    return status;
}

const iso_tensor_t *iso_eval_output(const iso_eval_t *eval, int index)
{
    return &eval->values[iso_graph_output(eval->graph, index)->node];
}

void iso_eval_free(iso_eval_t *eval)
{
    int32_t count = eval->graph == NULL ? 0 : iso_graph_node_count(eval->graph);

    for (int32_t i = 0; eval->values != NULL && i < count; i++) {
        if (!iso_node_is_leaf(iso_graph_node(eval->graph, i))) {
            iso_free(eval->values[i].data);
        }
    }
    iso_free(eval->values);
    *eval = (iso_eval_t){0};
}
