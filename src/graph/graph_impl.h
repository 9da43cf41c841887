/*
 * Storage of a graph; private to src/graph.
 *
 * Nodes lie in chunks that never move, so a borrowed node stays valid while
 * others are added.
 */
#ifndef ISO_GRAPH_IMPL_H
#define ISO_GRAPH_IMPL_H

#include "isotome/graph.h"

#include "base/arena.h"
#include "base/names.h"

enum { ISO__CHUNK_NODES = 256 };

/* Layers that a graph may have; keeps what a file claims within reason. */
enum { ISO__MOST_LAYERS = 1 << 20 };

struct iso_graph {
    iso_arena_t *arena;
    iso_node_t **chunks; /* (capacity / ISO__CHUNK_NODES), each in the arena */
    int64_t capacity;    /* nodes that the chunks hold */
    int64_t most_chunks; /* length of the array */
    int32_t n_nodes;
    int32_t next_number; /* for nodes without a name */
    iso_names_t *names;  /* node name to id */
    iso_output_t *outputs;
    int n_outputs;
    int64_t most_outputs;
    iso_names_t *output_names;
    const char **free_dims; /* in order of first appearance */
    int n_free_dims;
    int64_t most_free_dims;
    iso_names_t *free_names;
};

/* A node that may be changed. */
iso_node_t *iso__graph_node(iso_graph_t *graph, iso_node_id_t id);

/* Append a checked node; its texts and arrays are in the arena. */
iso_status_t iso__graph_push(iso_graph_t *graph, const iso_node_t *node,
                             iso_node_id_t *node_out);

/* Errors: ISO_INVAL when name is empty or taken. */
iso_status_t iso__graph_check_name(const iso_graph_t *graph, const char *name);

/*
 * Add a node of another graph: a leaf as it is, a compute node inferred
 * again; name, layer and attributes are kept.
 *
 * inputs  [in]  (node->n_inputs), ids in graph
 */
iso_status_t iso__graph_add_copy(iso_graph_t *graph, const iso_node_t *node,
                                 const iso_node_id_t *inputs,
                                 iso_node_id_t *node_out);

#endif
