#include "graph/print.h"

/* A text inside double quotes; graphviz reads "\n" as a line break. */
static void print_escaped(const char *name, iso_text_t *text)
{
    for (; *name != '\0'; name++) {
        switch (*name) {
        case '"':
        case '\\':
            iso_text_add(text, "\\%c", *name);
            break;
        case '\n':
            iso_text_add(text, "\\n");
            break;
        default:
            iso_text_add(text, "%c", *name);
            break;
        }
    }
}

static void print_node(iso_node_id_t id, const iso_node_t *node,
                       const char *indent, iso_text_t *text)
{
    char shape[ISO_SHAPE_TEXT_BYTES];

    iso_text_add(text, "%sn%d [label=\"", indent, id);
    print_escaped(node->name, text);
    iso_text_add(text, "\\n%s %s %s\"%s];\n", iso_op_string(node->op),
                 iso_dtype_string(node->dtype),
                 iso_shape_text(&node->shape, shape),
                 iso_node_is_leaf(node) ? ", shape=ellipse" : "");
}

/* Nodes of a layer stand in its cluster; graphviz joins clusters of one name,
 * so that a cluster may be opened again. */
static void print_nodes(const iso_graph_t *graph, iso_text_t *text)
{
    int open = -1;

    for (iso_node_id_t id = 0; id < iso_graph_node_count(graph); id++) {
        const iso_node_t *node = iso_graph_node(graph, id);

        if (node->layer != open) {
            iso_text_add(text, "%s", open >= 0 ? "  }\n" : "");
            open = node->layer;
            if (open >= 0) {
                iso_text_add(text,
                             "  subgraph cluster_%d {\n"
                             "    label=\"layer %d\";\n",
                             open, open);
            }
        }
        print_node(id, node, open >= 0 ? "    " : "  ", text);
    }
    iso_text_add(text, "%s", open >= 0 ? "  }\n" : "");
}

static void print_edges(const iso_graph_t *graph, iso_text_t *text)
{
    for (iso_node_id_t id = 0; id < iso_graph_node_count(graph); id++) {
        const iso_node_t *node = iso_graph_node(graph, id);

        for (int i = 0; i < node->n_inputs; i++) {
            if (node->inputs[i] != ISO_NO_NODE) {
                iso_text_add(text, "  n%d -> n%d;\n", node->inputs[i], id);
            }
        }
    }
}

void iso_graph_print_dot(const iso_graph_t *graph, iso_text_t *text)
{
    iso_text_add(text, "digraph isotome {\n  node [shape=box];\n");
    print_nodes(graph, text);
    print_edges(graph, text);
    for (int i = 0; i < iso_graph_output_count(graph); i++) {
        const iso_output_t *output = iso_graph_output(graph, i);

        iso_text_add(text, "  out%d [label=\"", i);
        print_escaped(output->name, text);
        iso_text_add(text, "\", shape=ellipse, style=dashed];\n");
        iso_text_add(text, "  n%d -> out%d;\n", output->node, i);
    }
    iso_text_add(text, "}\n");
}
