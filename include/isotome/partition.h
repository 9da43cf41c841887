/*
 * Partition: a graph cut into stages, each a self-contained graph.
 *
 * Stages are in model order here (stage 0 first); the rank order is the
 * reverse. A stage holds the leaves it uses (params by name, constants
 * carried, model inputs), receives values of earlier stages as inputs
 * ("boundaries") and emits what later stages or the caller need.
 *
 *     iso_partition_t *partition;
 *     ISO_TRY(iso_partition_create(graph, 3, &partition));
 *     stage = iso_partition_stage(partition, 0);
 *     iso_partition_destroy(&partition);
 */
#ifndef ISO_PARTITION_H
#define ISO_PARTITION_H

#include "isotome/graph.h"

/* One value on its way from the stage that makes it to one that uses it.
 * Sent directly, also over several stages. */
typedef struct iso_boundary {
    const char *name;   /* of the node that makes it */
    iso_node_id_t node; /* in the whole graph */
    iso_dtype_t dtype;
    iso_shape_t shape;
    int from_stage;
    int to_stage;
} iso_boundary_t;

typedef struct iso_stage {
    /* Self-contained. Boundaries and model inputs are its inputs, under
     * their node names, sorted by name (node names are unique in the whole
     * graph, so that none can collide). Every value that leaves is one of
     * its outputs, once, under its node name: leaves first (stage 0 only),
     * then computed values, both in node order. */
    iso_graph_t *graph;
    int n_params;
    const char **params; /* (n_params), sorted, no duplicates */
    int n_inputs;
    const char **inputs; /* (n_inputs) model inputs used, sorted */
} iso_stage_t;

typedef struct iso_partition iso_partition_t;

/*
 * Compute node i of m goes to stage min(i * n_stages / m, n_stages - 1).
 * Errors: ISO_INVAL when n_stages is more than the compute nodes, or < 1;
 * ISO_SHAPE for an unbound dim, naming node and dim.
 */
iso_status_t iso_partition_create(const iso_graph_t *graph, int n_stages,
                                  iso_partition_t **partition_out);

/*
 * stage_of  [in]  (node count) stage of each compute node; entries of leaves
 *                 are ignored; must not decrease along the node order
 * Errors: also ISO_INVAL for an empty stage or a decreasing assignment,
 * naming the node.
 */
iso_status_t iso_partition_create_with(const iso_graph_t *graph,
                                       const int *stage_of, int n_stages,
                                       iso_partition_t **partition_out);

/* Stage of each layer's nodes from a count of layers for each *stage* (model
 * order). Errors: ISO_INVAL when the counts do not cover the layers. */
iso_status_t iso_partition_create_by_layers(const iso_graph_t *graph,
                                            const int64_t *layers_of_stage,
                                            int n_stages,
                                            iso_partition_t **partition_out);

void iso_partition_destroy(iso_partition_t **partition);

int iso_partition_stage_count(const iso_partition_t *partition);
const iso_stage_t *iso_partition_stage(const iso_partition_t *partition,
                                       int stage);

/* All boundaries, ordered by (to_stage, from_stage, node). */
int iso_partition_boundary_count(const iso_partition_t *partition);
const iso_boundary_t *iso_partition_boundary(const iso_partition_t *partition,
                                             int index);

/* Stage that makes model output number index (0 when it is a leaf). */
int iso_partition_output_stage(const iso_partition_t *partition, int index);

/* Params that more than one stage loads: names, sorted. */
int iso_partition_tied_count(const iso_partition_t *partition);
const char *iso_partition_tied(const iso_partition_t *partition, int index);

#endif
