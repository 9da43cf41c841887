/*
 * What holds for the local graphs of every stage and every cut: all workers
 * make the same exchanges, weights are slabs, outputs are where they belong,
 * every part of every value has the bits of the whole.
 */
#ifndef ISO_LOCAL_CHECKS_H
#define ISO_LOCAL_CHECKS_H

#include "isotome/model_file.h"

#include "plan/shard/local.h"

enum { MOST_WORKERS = 6 };

/* The local graphs of all workers of a stage. */
typedef struct local_workers {
    const iso_graph_t *stage;
    const iso_stage_cut_t *cut;
    int count;
    iso_local_t *locals[MOST_WORKERS];
} local_workers_t;

/* False, with the reason printed, when the cut or the lowering fails. */
bool local_workers_make(const iso_graph_t *stage, const iso_stage_cut_t *cut,
                        local_workers_t *workers);
void local_workers_free(local_workers_t *workers);

void local_check_all(const local_workers_t *workers,
                     const iso_weight_source_t *weights,
                     const iso_weight_source_t *inputs);

/* As above, with weights and inputs at random. */
void local_check_stage(const local_workers_t *workers);

#endif
