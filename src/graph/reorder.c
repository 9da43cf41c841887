#include "isotome/error.h"

#include "base/mem.h"
#include "graph/pass.h"
#include "graph/pass_impl.h"

/* ids [in, out] (node count) of the copies, ISO_NO_NODE for what is not there
 * yet. */
static iso_status_t copy_node(const iso_graph_t *graph, iso_node_id_t id,
                              iso_node_id_t *ids, iso_graph_t *reordered)
{
    const iso_node_t *node = iso_graph_node(graph, id);

    for (int i = 0; i < node->n_inputs; i++) {
        if (node->inputs[i] != ISO_NO_NODE &&
            ids[node->inputs[i]] == ISO_NO_NODE) {
            return iso_fail(ISO_INVAL, "node '%s' comes before its operand %d",
                            node->name, i);
        }
    }
    return ids[id] == ISO_NO_NODE
               ? iso__pass_copy_node(reordered, node, ids, &ids[id])
               : iso_fail(ISO_INVAL, "node '%s' comes twice", node->name);
}

static iso_status_t copy_all(const iso_graph_t *graph,
                             const iso_node_id_t *order, iso_node_id_t *ids,
                             iso_graph_t *reordered)
{
    const int32_t n = iso_graph_node_count(graph);

    for (iso_node_id_t id = 0; id < n; id++) {
        ids[id] = ISO_NO_NODE;
    }
    for (int32_t i = 0; i < n; i++) {
        ISO_TRY(copy_node(graph, order[i], ids, reordered));
    }
    return iso__pass_copy_outputs(reordered, graph, ids);
}

iso_status_t iso_graph_reorder(const iso_graph_t *graph,
                               const iso_node_id_t *order,
                               iso_graph_t **reordered_out)
{
    iso_node_id_t *ids =
        iso_alloc_zeroed((size_t)iso_graph_node_count(graph), sizeof *ids);
    iso_status_t status =
        ids == NULL ? ISO_NOMEM : iso_graph_create(reordered_out);

    if (status == ISO_OK) {
        status = copy_all(graph, order, ids, *reordered_out);
        if (status != ISO_OK) {
            iso_graph_destroy(reordered_out);
        }
    }
    iso_free(ids);
    return status;
}
