/* A partition as stored; private to its two files. */
#ifndef ISO_PARTITION_IMPL_H
#define ISO_PARTITION_IMPL_H

#include "isotome/partition.h"

#include "base/arena.h"

struct iso_partition {
    iso_arena_t *arena; /* names and arrays but the boundaries */
    int n_stages;
    iso_stage_t *stages;        /* (n_stages) */
    iso_boundary_t *boundaries; /* (n_boundaries); may move while growing */
    int n_boundaries;
    int most_boundaries;
    int n_outputs;      /* of the model */
    int *output_stages; /* (n_outputs) */
    const char **tied;  /* (n_tied) */
    int n_tied;
};

/* The stage of a leaf in an assignment. */
enum { ISO__NO_STAGE = -1 };

/*
 * Build the stages of an empty partition, which is destroyed by the caller
 * when this fails.
 *
 * stage_of  [in]  (node count) ISO__NO_STAGE for leaves; from 0 up without a
 *                 gap along the compute nodes
 */
iso_status_t iso__partition_cut(const iso_graph_t *graph, const int *stage_of,
                                iso_partition_t *partition);

#endif
