/*
 * Segments: a placed graph in runs of nodes on one device, each a graph of its
 * own. The nodes are put in an order of few runs first: interleaved branches
 * on two devices become two runs. What crosses from one run to another is a
 * boundary, named after its node (isotome/partition.h).
 *
 *     iso_segments_t *segments;
 *     ISO_TRY(iso_segments_create(graph, &placement, &segments));
 *     graph = iso_partition_stage(segments->partition, i)->graph;
 *     device = segments->device_of[i];
 *     iso_segments_destroy(&segments);
 */
#ifndef ISO_SEGMENTS_H
#define ISO_SEGMENTS_H

#include "isotome/device_map.h"
#include "isotome/partition.h"

typedef struct iso_segments {
    iso_graph_t *graph;         /* the whole, in the order of the segments */
    iso_partition_t *partition; /* of it: a stage is a segment */
    int count;
    int *device_of; /* (count) number */
} iso_segments_t;

/*
 * Exchanges stay in their order, so that the workers of a stage need not have
 * the same placement.
 *
 * graph  [in]  static, with a node that is computed
 * Errors: ISO_SHAPE for an unbound dim; ISO_INVAL; ISO_NOMEM.
 */
iso_status_t iso_segments_create(const iso_graph_t *graph,
                                 const iso_placement_t *placement,
                                 iso_segments_t **segments_out);
void iso_segments_destroy(iso_segments_t **segments);

/* The device of all nodes that have one; ISO_NO_DEVICE when there are two, or
 * none. */
int iso_placement_single(const iso_placement_t *placement);

#endif
