#include "isotome/error.h"

#include "base/log.h"
#include "base/mem.h"
#include "plan/partition_impl.h"

/* -- life -- */

void iso_partition_destroy(iso_partition_t **partition)
{
    iso_partition_t *dead = *partition;

    if (dead == NULL) {
        return;
    }
    for (int stage = 0; dead->stages != NULL && stage < dead->n_stages;
         stage++) {
        iso_graph_destroy(&dead->stages[stage].graph);
    }
    iso_free(dead->boundaries);
    iso_arena_destroy(&dead->arena);
    iso_free(dead);
    *partition = NULL;
}

static iso_status_t create_empty(const iso_graph_t *graph, int n_stages,
                                 iso_partition_t **partition_out)
{
    iso_partition_t *partition = iso_alloc_zeroed(1, sizeof *partition);

    if (partition == NULL) {
        return ISO_NOMEM;
    }
    partition->n_stages = n_stages;
    partition->n_outputs = iso_graph_output_count(graph);
    iso_status_t status = iso_arena_create(&partition->arena);
    if (status == ISO_OK) {
        partition->stages = iso_arena_array(partition->arena, (size_t)n_stages,
                                            sizeof *partition->stages);
        partition->output_stages =
            iso_arena_array(partition->arena, (size_t)partition->n_outputs,
                            sizeof *partition->output_stages);
        if (partition->stages == NULL || partition->output_stages == NULL) {
            status = ISO_NOMEM;
        }
    }
    if (status != ISO_OK) {
        iso_partition_destroy(&partition);
    }
    *partition_out = partition;
    return status;
}

/* -- assignment -- */

static iso_status_t check_bound(const iso_graph_t *graph)
{
    for (iso_node_id_t id = 0; id < iso_graph_node_count(graph); id++) {
        const iso_node_t *node = iso_graph_node(graph, id);
        for (int i = 0; i < node->shape.rank; i++) {
            if (!iso_dim_is_static(node->shape.dim[i])) {
                char text[ISO_SHAPE_TEXT_BYTES];
                return iso_fail(ISO_SHAPE,
                                "node '%s': dim %d of %s is not bound to a "
                                "number",
                                node->name, i,
                                iso_shape_text(&node->shape, text));
            }
        }
    }
    return ISO_OK;
}

static int64_t count_compute_nodes(const iso_graph_t *graph)
{
    int64_t count = 0;

    for (iso_node_id_t id = 0; id < iso_graph_node_count(graph); id++) {
        count += iso_node_is_leaf(iso_graph_node(graph, id)) ? 0 : 1;
    }
    return count;
}

static iso_status_t check_stage_count(const iso_graph_t *graph, int n_stages)
{
    int64_t n_compute = count_compute_nodes(graph);

    if (n_stages < 1 || n_stages > n_compute) {
        return iso_fail(ISO_INVAL,
                        "%d stages of a graph with %lld compute nodes, "
                        "expected 1 to %lld",
                        n_stages, (long long)n_compute, (long long)n_compute);
    }
    return ISO_OK;
}

/* No stage is skipped, none comes back; leaves get ISO__NO_STAGE. */
static iso_status_t check_assignment(const iso_graph_t *graph,
                                     const int *stage_of, int n_stages,
                                     int *checked)
{
    int previous = ISO__NO_STAGE;

    for (iso_node_id_t id = 0; id < iso_graph_node_count(graph); id++) {
        const iso_node_t *node = iso_graph_node(graph, id);
        int stage = stage_of[id];

        checked[id] = ISO__NO_STAGE;
        if (iso_node_is_leaf(node)) {
            continue;
        }
        if (stage < 0 || stage >= n_stages) {
            return iso_fail(ISO_INVAL, "node '%s': stage %d, expected 0 to %d",
                            node->name, stage, n_stages - 1);
        }
        if (stage < previous) {
            return iso_fail(ISO_INVAL,
                            "node '%s': stage %d after stage %d; stages must "
                            "not decrease along the graph",
                            node->name, stage, previous);
        }
        if (stage > previous + 1) {
            return iso_fail(ISO_INVAL,
                            "stage %d is empty: node '%s' is the first after "
                            "stage %d and goes to stage %d",
                            previous + 1, node->name, previous, stage);
        }
        checked[id] = stage;
        previous = stage;
    }
    if (previous != n_stages - 1) {
        return iso_fail(ISO_INVAL,
                        "stage %d is empty: the last node goes to "
                        "stage %d of %d",
                        previous + 1, previous, n_stages);
    }
    return ISO_OK;
}

iso_status_t iso_partition_create_with(const iso_graph_t *graph,
                                       const int *stage_of, int n_stages,
                                       iso_partition_t **partition_out)
{
    size_t n_nodes = (size_t)iso_graph_node_count(graph);
    iso_partition_t *partition = NULL;
    iso_status_t status;
    int *checked;

    *partition_out = NULL;
    ISO_TRY(check_stage_count(graph, n_stages));
    ISO_TRY(check_bound(graph));
    checked = iso_alloc_zeroed(n_nodes, sizeof *checked);
    if (checked == NULL) {
        return ISO_NOMEM;
    }
    status = check_assignment(graph, stage_of, n_stages, checked);
    if (status == ISO_OK) {
        status = create_empty(graph, n_stages, &partition);
    }
    if (status == ISO_OK) {
        status = iso__partition_cut(graph, checked, partition);
    }
    if (status != ISO_OK) {
        iso_partition_destroy(&partition);
    }
    *partition_out = partition;
    iso_free(checked);
    return status;
}

iso_status_t iso_partition_create(const iso_graph_t *graph, int n_stages,
                                  iso_partition_t **partition_out)
{
    int32_t n_nodes = iso_graph_node_count(graph);
    int64_t n_compute = count_compute_nodes(graph);
    int64_t at = 0;
    int *stage_of;

    *partition_out = NULL;
    ISO_TRY(check_stage_count(graph, n_stages));
    stage_of = iso_alloc_zeroed((size_t)n_nodes, sizeof *stage_of);
    if (stage_of == NULL) {
        return ISO_NOMEM;
    }
    for (iso_node_id_t id = 0; id < n_nodes; id++) {
        if (!iso_node_is_leaf(iso_graph_node(graph, id))) {
            stage_of[id] = (int)(at * n_stages / n_compute);
            at++;
        }
    }
    iso_status_t status =
        iso_partition_create_with(graph, stage_of, n_stages, partition_out);
    iso_free(stage_of);
    return status;
}

/* -- by layers -- */

/* (layers) stage of each layer. */
static iso_status_t stages_of_layers(const int64_t *layers_of_stage,
                                     int n_stages, int n_layers, int *stages)
{
    int64_t at = 0;

    for (int stage = 0; stage < n_stages; stage++) {
        int64_t count = layers_of_stage[stage];
        if (count < 1 || count > n_layers - at) {
            return iso_fail(ISO_INVAL,
                            "stage %d has %lld layers, expected 1 to %lld (the "
                            "graph has %d)",
                            stage, (long long)count, (long long)(n_layers - at),
                            n_layers);
        }
        for (int64_t end = at + count; at < end; at++) {
            stages[at] = stage;
        }
    }
    if (at != n_layers) {
        return iso_fail(ISO_INVAL,
                        "the stages hold %lld layers, but the graph has %d",
                        (long long)at, n_layers);
    }
    return ISO_OK;
}

static iso_status_t assign_layers(const iso_graph_t *graph, const int *stages,
                                  int *stage_of)
{
    for (iso_node_id_t id = 0; id < iso_graph_node_count(graph); id++) {
        const iso_node_t *node = iso_graph_node(graph, id);
        if (iso_node_is_leaf(node)) {
            continue;
        }
        if (node->layer < 0) {
            return iso_fail(ISO_INVAL, "node '%s' is in no layer", node->name);
        }
        stage_of[id] = stages[node->layer];
    }
    return ISO_OK;
}

iso_status_t iso_partition_create_by_layers(const iso_graph_t *graph,
                                            const int64_t *layers_of_stage,
                                            int n_stages,
                                            iso_partition_t **partition_out)
{
    int n_layers = iso_graph_layer_count(graph);
    size_t n_nodes = (size_t)iso_graph_node_count(graph);
    int *stages = iso_alloc_zeroed((size_t)n_layers, sizeof *stages);
    int *stage_of = iso_alloc_zeroed(n_nodes, sizeof *stage_of);
    iso_status_t status = ISO_NOMEM;

    *partition_out = NULL;
    if (stages != NULL && stage_of != NULL) {
        status = stages_of_layers(layers_of_stage, n_stages, n_layers, stages);
    }
    if (status == ISO_OK) {
        status = assign_layers(graph, stages, stage_of);
    }
    if (status == ISO_OK) {
        status =
            iso_partition_create_with(graph, stage_of, n_stages, partition_out);
    }
    iso_free(stages);
    iso_free(stage_of);
    return status;
}

/* -- queries -- */

int iso_partition_stage_count(const iso_partition_t *partition)
{
    return partition->n_stages;
}

const iso_stage_t *iso_partition_stage(const iso_partition_t *partition,
                                       int stage)
{
    ISO_ASSERT(stage >= 0 && stage < partition->n_stages);
    return &partition->stages[stage];
}

int iso_partition_boundary_count(const iso_partition_t *partition)
{
    return partition->n_boundaries;
}

const iso_boundary_t *iso_partition_boundary(const iso_partition_t *partition,
                                             int index)
{
    ISO_ASSERT(index >= 0 && index < partition->n_boundaries);
    return &partition->boundaries[index];
}

int iso_partition_output_stage(const iso_partition_t *partition, int index)
{
    ISO_ASSERT(index >= 0 && index < partition->n_outputs);
    return partition->output_stages[index];
}

int iso_partition_tied_count(const iso_partition_t *partition)
{
    return partition->n_tied;
}

const char *iso_partition_tied(const iso_partition_t *partition, int index)
{
    ISO_ASSERT(index >= 0 && index < partition->n_tied);
    return partition->tied[index];
}
