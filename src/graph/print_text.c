#include "graph/print.h"

static void print_attr(const iso_attr_t *attr, iso_text_t *text)
{
    char number[ISO_DIM_TEXT_BYTES];
    bool listed = attr->count != 1;

    iso_text_add(text, " %s=", attr->name);
    if (attr->kind == ISO_ATTR_TEXT) {
        iso_text_add(text, "%s", attr->value.text);
        return;
    }
    iso_text_add(text, "%s", listed ? "[" : "");
    for (int i = 0; i < attr->count; i++) {
        iso_text_add(text, "%s", i > 0 ? "," : "");
        switch (attr->kind) {
        case ISO_ATTR_INTS:
            iso_text_add(text, "%lld", (long long)attr->value.ints[i]);
            break;
        case ISO_ATTR_FLOATS:
            iso_text_add(text, "%.9g", attr->value.floats[i]);
            break;
        default:
            iso_text_add(text, "%s", iso_dim_text(attr->value.dims[i], number));
            break;
        }
    }
    iso_text_add(text, "%s", listed ? "]" : "");
}

static void print_inputs(const iso_graph_t *graph, const iso_node_t *node,
                         iso_text_t *text)
{
    iso_text_add(text, "(");
    for (int i = 0; i < node->n_inputs; i++) {
        iso_node_id_t input = node->inputs[i];

        iso_text_add(text, "%s%s", i > 0 ? ", " : "",
                     input == ISO_NO_NODE ? "-"
                                          : iso_graph_node(graph, input)->name);
    }
    iso_text_add(text, ")");
}

void iso_graph_print_text(const iso_graph_t *graph, iso_text_t *text)
{
    char shape[ISO_SHAPE_TEXT_BYTES];

    for (iso_node_id_t id = 0; id < iso_graph_node_count(graph); id++) {
        const iso_node_t *node = iso_graph_node(graph, id);

        iso_text_add(text, "%%%d %s = %s", id, node->name,
                     iso_op_string(node->op));
        if (!iso_node_is_leaf(node)) {
            print_inputs(graph, node, text);
        }
        for (int i = 0; i < node->n_attrs; i++) {
            print_attr(&node->attrs[i], text);
        }
        iso_text_add(text, " %s %s", iso_dtype_string(node->dtype),
                     iso_shape_text(&node->shape, shape));
        if (node->layer >= 0) {
            iso_text_add(text, " layer %d", node->layer);
        }
        iso_text_add(text, "\n");
    }
    for (int i = 0; i < iso_graph_output_count(graph); i++) {
        const iso_output_t *output = iso_graph_output(graph, i);

        iso_text_add(text, "output %s = %%%d\n", output->name, output->node);
    }
}
