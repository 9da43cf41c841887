#include "isotome/error.h"

#include "base/log.h"
#include "base/mem.h"
#include "graph/graph_impl.h"

#include <string.h>

/* -- life -- */

iso_status_t iso_graph_create(iso_graph_t **graph_out)
{
    iso_graph_t *graph = iso_alloc_zeroed(1, sizeof *graph);
    iso_status_t status = ISO_NOMEM;

    *graph_out = NULL;
    if (graph == NULL) {
        return ISO_NOMEM;
    }
    status = iso_arena_create(&graph->arena);
    if (status == ISO_OK) {
        status = iso_names_create(&graph->names);
    }
    if (status == ISO_OK) {
        status = iso_names_create(&graph->output_names);
    }
    if (status == ISO_OK) {
        status = iso_names_create(&graph->free_names);
    }
    if (status != ISO_OK) {
        iso_graph_destroy(&graph);
        return status;
    }
    *graph_out = graph;
    return ISO_OK;
}

void iso_graph_destroy(iso_graph_t **graph)
{
    iso_graph_t *dead = *graph;

    if (dead == NULL) {
        return;
    }
    iso_names_destroy(&dead->free_names);
    iso_names_destroy(&dead->output_names);
    iso_names_destroy(&dead->names);
    iso_free(dead->free_dims);
    iso_free(dead->outputs);
    iso_free(dead->chunks);
    iso_arena_destroy(&dead->arena);
    iso_free(dead);
    *graph = NULL;
}

/* -- nodes -- */

static iso_status_t grow_nodes(iso_graph_t *graph)
{
    int64_t n_chunks = graph->capacity / ISO__CHUNK_NODES;
    iso_node_t *chunk;
    void *chunks;

    if (graph->n_nodes < graph->capacity) {
        return ISO_OK;
    }
    if (graph->n_nodes == INT32_MAX) {
        return iso_fail(ISO_INVAL, "graph has %d nodes, the most it can",
                        INT32_MAX);
    }
    chunks = iso_array_grow(graph->chunks, n_chunks, &graph->most_chunks,
                            sizeof(iso_node_t *));
    if (chunks == NULL) {
        return ISO_NOMEM;
    }
    graph->chunks = chunks;
    chunk = iso_arena_array(graph->arena, ISO__CHUNK_NODES, sizeof *chunk);
    if (chunk == NULL) {
        return ISO_NOMEM;
    }
    graph->chunks[n_chunks] = chunk;
    graph->capacity += ISO__CHUNK_NODES;
    return ISO_OK;
}

iso_status_t iso__graph_push(iso_graph_t *graph, const iso_node_t *node,
                             iso_node_id_t *node_out)
{
    iso_node_id_t id = graph->n_nodes;

    ISO_TRY(grow_nodes(graph));
    ISO_TRY(iso_names_set(graph->names, node->name, id));
    graph->n_nodes++;
    *iso__graph_node(graph, id) = *node;
    *node_out = id;
    return ISO_OK;
}

iso_node_t *iso__graph_node(iso_graph_t *graph, iso_node_id_t id)
{
    ISO_ASSERT(id >= 0 && id < graph->n_nodes);
    return &graph->chunks[id / ISO__CHUNK_NODES][id % ISO__CHUNK_NODES];
}

int32_t iso_graph_node_count(const iso_graph_t *graph)
{
    return graph->n_nodes;
}

const iso_node_t *iso_graph_node(const iso_graph_t *graph, iso_node_id_t id)
{
    ISO_ASSERT(id >= 0 && id < graph->n_nodes);
    return &graph->chunks[id / ISO__CHUNK_NODES][id % ISO__CHUNK_NODES];
}

iso_node_id_t iso_graph_find(const iso_graph_t *graph, const char *name)
{
    int64_t id = ISO_NO_NODE;

    (void)iso_names_get(graph->names, name, &id);
    return (iso_node_id_t)id;
}

bool iso_node_is_leaf(const iso_node_t *node)
{
    return iso_op_info(node->op)->op_class == ISO_OP_CLASS_LEAF;
}

const iso_attr_t *iso_node_attr(const iso_node_t *node, const char *name)
{
    for (int i = 0; i < node->n_attrs; i++) {
        if (strcmp(node->attrs[i].name, name) == 0) {
            return &node->attrs[i];
        }
    }
    return NULL;
}

/* -- leaves -- */

iso_status_t iso__graph_check_name(const iso_graph_t *graph, const char *name)
{
    iso_node_id_t taken;

    if (name == NULL || name[0] == '\0') {
        return iso_fail(ISO_INVAL, "a node needs a name that is not empty");
    }
    taken = iso_graph_find(graph, name);
    if (taken != ISO_NO_NODE) {
        return iso_fail(ISO_INVAL,
                        "node name '%s' is taken by node %d (%s); names of "
                        "nodes must differ",
                        name, taken,
                        iso_op_string(iso_graph_node(graph, taken)->op));
    }
    return ISO_OK;
}

static iso_status_t check_leaf(const iso_graph_t *graph, const char *name,
                               iso_dtype_t dtype, const iso_shape_t *shape)
{
    char text[ISO_SHAPE_TEXT_BYTES];

    ISO_TRY(iso__graph_check_name(graph, name));
    if ((unsigned)dtype >= ISO_DTYPE_COUNT) {
        return iso_fail(ISO_INVAL, "node '%s': dtype %d is not known", name,
                        (int)dtype);
    }
    if (shape->rank < 0 || shape->rank > ISO_MAX_RANK) {
        return iso_fail(ISO_INVAL, "node '%s': rank %d, expected 0 to %d", name,
                        shape->rank, ISO_MAX_RANK);
    }
    for (int i = 0; i < shape->rank; i++) {
        if (iso_dim_is_static(shape->dim[i]) && shape->dim[i].size < 0) {
            return iso_fail(ISO_SHAPE,
                            "node '%s': dim %d of shape %s is negative", name,
                            i, iso_shape_text(shape, text));
        }
    }
    if (iso_shape_is_static(shape) && iso_shape_count(shape) < 0) {
        return iso_fail(ISO_SHAPE, "node '%s': shape %s has over 2^62 elements",
                        name, iso_shape_text(shape, text));
    }
    return ISO_OK;
}

static iso_status_t add_leaf(iso_graph_t *graph, iso_op_t op, const char *name,
                             const iso_node_t *leaf, iso_node_id_t *node_out)
{
    iso_node_t node = *leaf;

    node.op = op;
    node.layer = -1;
    node.name = iso_arena_text(graph->arena, name);
    if (node.name == NULL) {
        return ISO_NOMEM;
    }
    return iso__graph_push(graph, &node, node_out);
}

/* What iso_dim_names hands on while the free names are collected. */
typedef struct free_names_visit {
    iso_graph_t *graph;
    iso_status_t status;
} free_names_visit_t;

/* The name is interned (shape.h), so it is kept as it is. */
static iso_status_t add_free_name(iso_graph_t *graph, const char *name)
{
    void *array;

    if (iso_names_get(graph->free_names, name, NULL)) {
        return ISO_OK;
    }
    array = iso_array_grow(graph->free_dims, graph->n_free_dims,
                           &graph->most_free_dims, sizeof *graph->free_dims);
    if (array == NULL) {
        return ISO_NOMEM;
    }
    graph->free_dims = array;
    ISO_TRY(iso_names_set(graph->free_names, name, graph->n_free_dims));
    graph->free_dims[graph->n_free_dims] = name;
    graph->n_free_dims++;
    return ISO_OK;
}

static void visit_free_name(const char *name, void *arg)
{
    free_names_visit_t *visit = arg;

    if (visit->status == ISO_OK) {
        visit->status = add_free_name(visit->graph, name);
    }
}

iso_status_t iso_graph_add_input(iso_graph_t *graph, const char *name,
                                 iso_dtype_t dtype, const iso_shape_t *shape,
                                 iso_node_id_t *node_out)
{
    iso_node_t leaf = {.dtype = dtype, .shape = *shape};
    free_names_visit_t visit = {graph, ISO_OK};

    ISO_TRY(check_leaf(graph, name, dtype, shape));
    for (int i = 0; i < shape->rank; i++) {
        iso_dim_names(shape->dim[i], visit_free_name, &visit);
    }
    ISO_TRY(visit.status);
    return add_leaf(graph, ISO_OP_INPUT, name, &leaf, node_out);
}

iso_status_t iso_graph_add_param(iso_graph_t *graph, const char *name,
                                 iso_dtype_t dtype, const iso_shape_t *shape,
                                 iso_node_id_t *node_out)
{
    iso_node_t leaf = {.dtype = dtype, .shape = *shape};

    ISO_TRY(check_leaf(graph, name, dtype, shape));
    if (!iso_shape_is_static(shape)) {
        char text[ISO_SHAPE_TEXT_BYTES];

        return iso_fail(ISO_SHAPE,
                        "param '%s': shape %s, expected numbers only", name,
                        iso_shape_text(shape, text));
    }
    return add_leaf(graph, ISO_OP_PARAM, name, &leaf, node_out);
}

iso_status_t iso_graph_add_constant(iso_graph_t *graph, const char *name,
                                    const iso_tensor_t *value,
                                    iso_node_id_t *node_out)
{
    iso_node_t leaf = {.dtype = value->dtype, .shape = iso_tensor_shape(value)};
    size_t bytes = 0;
    void *data;

    ISO_TRY(check_leaf(graph, name, value->dtype, &leaf.shape));
    ISO_TRY(iso_tensor_bytes_of(leaf.dtype, &leaf.shape, &bytes));
    if (value->data == NULL && bytes > 0) {
        return iso_fail(ISO_INVAL, "constant '%s' has no elements given", name);
    }
    data = iso_arena_alloc(graph->arena, bytes > 0 ? bytes : 1);
    if (data == NULL) {
        return ISO_NOMEM;
    }
    if (bytes > 0) {
        memcpy(data, value->data, bytes);
    }
    leaf.data = data;
    return add_leaf(graph, ISO_OP_CONSTANT, name, &leaf, node_out);
}

/* -- outputs -- */

iso_status_t iso_graph_add_output(iso_graph_t *graph, const char *name,
                                  iso_node_id_t node)
{
    void *array;
    char *copy;

    if (name == NULL || name[0] == '\0') {
        return iso_fail(ISO_INVAL, "an output needs a name that is not empty");
    }
    if (iso_names_get(graph->output_names, name, NULL)) {
        return iso_fail(ISO_INVAL, "output name '%s' is taken", name);
    }
    if (node < 0 || node >= graph->n_nodes) {
        return iso_fail(ISO_INVAL,
                        "output '%s': node %d does not exist, the graph has %d",
                        name, node, graph->n_nodes);
    }
    array = iso_array_grow(graph->outputs, graph->n_outputs,
                           &graph->most_outputs, sizeof *graph->outputs);
    if (array == NULL) {
        return ISO_NOMEM;
    }
    graph->outputs = array;
    copy = iso_arena_text(graph->arena, name);
    if (copy == NULL) {
        return ISO_NOMEM;
    }
    ISO_TRY(iso_names_set(graph->output_names, copy, graph->n_outputs));
    graph->outputs[graph->n_outputs] = (iso_output_t){copy, node};
    graph->n_outputs++;
    return ISO_OK;
}

int iso_graph_output_count(const iso_graph_t *graph)
{
    return graph->n_outputs;
}

const iso_output_t *iso_graph_output(const iso_graph_t *graph, int index)
{
    ISO_ASSERT(index >= 0 && index < graph->n_outputs);
    return &graph->outputs[index];
}

/* -- layers and free dims -- */

int iso_graph_layer_count(const iso_graph_t *graph)
{
    int count = 0;

    for (iso_node_id_t id = 0; id < graph->n_nodes; id++) {
        int layer = iso_graph_node(graph, id)->layer;

        count = layer >= count ? layer + 1 : count;
    }
    return count;
}

void iso_graph_set_layer(iso_graph_t *graph, iso_node_id_t node, int layer)
{
    iso_node_t *marked = iso__graph_node(graph, node);

    ISO_ASSERT(!iso_node_is_leaf(marked));
    ISO_ASSERT(layer >= -1 && layer < ISO__MOST_LAYERS);
    marked->layer = layer;
}

iso_status_t iso_graph_free_dims(const iso_graph_t *graph,
                                 const char ***names_out, int *count_out)
{
    size_t bytes = (size_t)graph->n_free_dims * sizeof **names_out;
    const char **names = iso_alloc(bytes);

    if (names == NULL) {
        return ISO_NOMEM;
    }
    if (bytes > 0) {
        memcpy(names, graph->free_dims, bytes);
    }
    *names_out = names;
    *count_out = graph->n_free_dims;
    return ISO_OK;
}
