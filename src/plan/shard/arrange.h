/*
 * Arrange: choose how each node of a stage is cut, so that the predicted time
 * of the whole stage is least: tensors stay split between neighbouring ops
 * where that saves exchanges, ops that gain nothing run whole.
 *
 * Dynamic programming over the nodes in order; the state is the layout of
 * every value that a later node reads. With one such value (a chain) the
 * result is the best one; of wider states the cheapest few are kept.
 */
#ifndef ISO_ARRANGE_H
#define ISO_ARRANGE_H

#include "isotome/machine.h"

#include "plan/shard/stage_cut.h"

typedef struct iso_arrange_options {
    const iso_machine_t *machine;
    const int *ranks; /* (n_workers) of the machine, worker 0 first */
    int n_workers;
    /* Each worker's limit for weights and values, (n_workers); NULL: none. */
    const size_t *memory_bytes;
} iso_arrange_options_t;

/*
 * Uncalibrated workers (machine.h) get nothing to do, unless worker 0 is one.
 * seconds_out [out] predicted for the stage, computing and exchanging
 * Errors: ISO_INVAL when it fits in no way, naming need and limit.
 */
iso_status_t iso_arrange(const iso_graph_t *stage,
                         const iso_arrange_options_t *options,
                         iso_stage_cut_t **cut_out, double *seconds_out);

/* Any legal cut, for experiments and tests: each node at random ONE, ALL,
 * SPLIT with random pieces, PARTIAL. The same seed gives the same cut. */
iso_status_t iso_arrange_random(const iso_graph_t *stage, int n_workers,
                                uint64_t seed, iso_stage_cut_t **cut_out);

#endif
