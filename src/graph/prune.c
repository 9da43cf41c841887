#include "base/mem.h"
#include "graph/graph_impl.h"
#include "graph/param.h"
#include "graph/pass.h"
#include "graph/pass_impl.h"

/* A reshape or transpose whose value is its operand, element by element. */
static bool changes_nothing(const iso_graph_t *graph, const iso_node_t *node)
{
    const iso_node_t *operand;
    int perm[ISO_MAX_RANK];

    if (node->op != ISO_OP_RESHAPE && node->op != ISO_OP_TRANSPOSE) {
        return false;
    }
    operand = iso_graph_node(graph, node->inputs[0]);
    if (node->op == ISO_OP_RESHAPE) {
        return iso_shape_equal(&node->shape, &operand->shape);
    }
    if (iso_perm_of(node, operand->shape.rank, perm) != ISO_OK) {
        return false;
    }
    for (int i = 0; i < operand->shape.rank; i++) {
        if (perm[i] != i) {
            return false;
        }
    }
    return true;
}

/* Later nodes only use earlier ones, so one walk back finds all. */
static void mark_needed(const iso_graph_t *graph, bool *needed)
{
    for (int i = 0; i < graph->n_outputs; i++) {
        needed[graph->outputs[i].node] = true;
    }
    for (iso_node_id_t id = graph->n_nodes - 1; id >= 0; id--) {
        const iso_node_t *node = iso_graph_node(graph, id);

        needed[id] = needed[id] || node->op == ISO_OP_INPUT;
        for (int i = 0; needed[id] && i < node->n_inputs; i++) {
            if (node->inputs[i] != ISO_NO_NODE) {
                needed[node->inputs[i]] = true;
            }
        }
    }
}

/* ids: (node count), place of each kept node in pruned. */
static iso_status_t copy_needed(const iso_graph_t *graph, const bool *needed,
                                iso_node_id_t *ids, iso_graph_t *pruned)
{
    for (iso_node_id_t id = 0; id < graph->n_nodes; id++) {
        const iso_node_t *node = iso_graph_node(graph, id);

        if (!needed[id]) {
            continue;
        }
        if (changes_nothing(graph, node)) {
            ids[id] = ids[node->inputs[0]];
            continue;
        }
        ISO_TRY(iso__pass_copy_node(pruned, node, ids, &ids[id]));
    }
    return iso__pass_copy_outputs(pruned, graph, ids);
}

iso_status_t iso_graph_prune(const iso_graph_t *graph, iso_graph_t **pruned_out)
{
    size_t count = (size_t)graph->n_nodes;
    iso_graph_t *pruned = NULL;
    bool *needed = iso_alloc_zeroed(count, sizeof *needed);
    iso_node_id_t *ids = iso_alloc_zeroed(count, sizeof *ids);
    iso_status_t status = ISO_NOMEM;

    *pruned_out = NULL;
    if (needed == NULL || ids == NULL) {
        goto free_arrays;
    }
    status = iso_graph_create(&pruned);
    if (status != ISO_OK) {
        goto free_arrays;
    }
    mark_needed(graph, needed);
    status = copy_needed(graph, needed, ids, pruned);
    if (status == ISO_OK) {
        *pruned_out = pruned;
    } else {
        iso_graph_destroy(&pruned);
    }
free_arrays:
    iso_free(ids);
    iso_free(needed);
    return status;
}
