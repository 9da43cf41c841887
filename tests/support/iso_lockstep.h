/*
 * Run the local graphs of all workers of a stage in one process, on the
 * reference device: every worker computes up to its next exchange node, the
 * exchange is done by copying, and so on. What a test compares with the stage
 * run whole (iso_eval.h), without MPI or a device.
 *
 *     iso_lockstep_t lockstep;
 *     iso_lockstep_run(locals, n_workers, &weights, &inputs, &lockstep);
 *     iso_lockstep_check(&lockstep, &eval); // every part has the whole's bits
 *     iso_lockstep_free(&lockstep);
 */
#ifndef ISO_LOCKSTEP_H
#define ISO_LOCKSTEP_H

#include "isotome/model_file.h"

#include "iso_eval.h"
#include "plan/shard/local.h"

typedef struct iso_lockstep {
    iso_local_t *const *locals; /* (n_workers), borrowed */
    int n_workers;
    iso_tensor_t **values; /* (n_workers), each by node id of its graph */
    size_t *sent_bytes;    /* (n_exchanges, n_workers) as they were copied */
} iso_lockstep_t;

/*
 * weights, inputs  [in]  hand out whole weights and inputs of the stage by
 *                        name; every worker takes its part
 * Errors: ISO_INTERNAL naming worker and node when workers do not come to the
 * same exchanges in the same order, a part that is to be sent is not there, or
 * one that is needed is not sent; those of the sources and of iso_ref_run.
 * *lockstep_out is empty then.
 */
iso_status_t iso_lockstep_run(iso_local_t *const *locals, int n_workers,
                              const iso_weight_source_t *weights,
                              const iso_weight_source_t *inputs,
                              iso_lockstep_t *lockstep_out);

/* Compare every node of every worker with its part of the whole's value, byte
 * by byte. Errors: ISO_INTERNAL naming worker, node and element. */
iso_status_t iso_lockstep_check(const iso_lockstep_t *lockstep,
                                const iso_eval_t *whole);

void iso_lockstep_free(iso_lockstep_t *lockstep);

#endif
