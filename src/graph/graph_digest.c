#include "base/digest.h"
#include "graph/graph_impl.h"

/* Counts stand in front of every list, so that no two graphs give the same
 * stream of fields. */

static void add_dim(iso_digest_t *digest, iso_dim_t dim)
{
    char buffer[ISO_DIM_TEXT_BYTES];

    iso_digest_add_text(digest, iso_dim_text(dim, buffer));
}

static void add_attr(iso_digest_t *digest, const iso_attr_t *attr)
{
    iso_digest_add_text(digest, attr->name);
    iso_digest_add_int(digest, attr->kind);
    iso_digest_add_int(digest, attr->count);
    if (attr->kind == ISO_ATTR_TEXT) {
        iso_digest_add_text(digest, attr->value.text);
        return;
    }
    for (int i = 0; i < attr->count; i++) {
        switch (attr->kind) {
        case ISO_ATTR_INTS:
            iso_digest_add_int(digest, attr->value.ints[i]);
            break;
        case ISO_ATTR_FLOATS:
            iso_digest_add_double(digest, attr->value.floats[i]);
            break;
        default:
            add_dim(digest, attr->value.dims[i]);
            break;
        }
    }
}

static void add_node(iso_digest_t *digest, const iso_node_t *node)
{
    size_t bytes = 0;

    iso_digest_add_text(digest, node->name);
    iso_digest_add_text(digest, iso_op_string(node->op));
    iso_digest_add_text(digest, iso_dtype_string(node->dtype));
    iso_digest_add_int(digest, node->layer);
    iso_digest_add_int(digest, node->shape.rank);
    for (int i = 0; i < node->shape.rank; i++) {
        add_dim(digest, node->shape.dim[i]);
    }
    iso_digest_add_int(digest, node->n_inputs);
    for (int i = 0; i < node->n_inputs; i++) {
        iso_digest_add_int(digest, node->inputs[i]);
    }
    iso_digest_add_int(digest, node->n_attrs);
    for (int i = 0; i < node->n_attrs; i++) {
        add_attr(digest, &node->attrs[i]);
    }
    if (node->data != NULL &&
        iso_tensor_bytes_of(node->dtype, &node->shape, &bytes) == ISO_OK) {
        iso_digest_add_bytes(digest, node->data, bytes);
    }
}

uint64_t iso_graph_digest(const iso_graph_t *graph)
{
    iso_digest_t digest;

    iso_digest_begin(&digest);
    iso_digest_add_int(&digest, graph->n_nodes);
    for (iso_node_id_t id = 0; id < graph->n_nodes; id++) {
        add_node(&digest, iso_graph_node(graph, id));
    }
    iso_digest_add_int(&digest, graph->n_outputs);
    for (int i = 0; i < graph->n_outputs; i++) {
        iso_digest_add_text(&digest, graph->outputs[i].name);
        iso_digest_add_int(&digest, graph->outputs[i].node);
    }
    return iso_digest_end(&digest);
}
