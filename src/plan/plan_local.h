/*
 * What one rank of a plan computes: its worker's local graph of its stage, for
 * a batch of any size that the plan allows.
 *
 *     iso_plan_partition(plan, graph, samples, &partition);
 *     iso_plan_local_create(plan, partition, rank, &mine);
 *     ... mine.local->graph ...
 *     iso_plan_local_free(&mine);
 */
#ifndef ISO_PLAN_LOCAL_H
#define ISO_PLAN_LOCAL_H

#include "isotome/plan.h"

#include "plan/shard/local.h"

typedef struct iso_plan_local {
    iso_stage_cut_t *cut; /* the plan's, for another batch; else NULL */
    iso_local_t *local;
} iso_plan_local_t;

/* One exchange between the workers of a stage, in each micro-batch. */
typedef struct iso_plan_exchange {
    int stage;
    iso_exchange_kind_t kind;
    const char *value; /* node of the stage */
    size_t bytes;      /* sent, over all workers */
} iso_plan_exchange_t;

/* All of them, at full micro-batch size, by stage and as they happen. */
int iso_plan_exchange_count(const iso_plan_t *plan);
const iso_plan_exchange_t *iso_plan_exchange(const iso_plan_t *plan, int index);

/* Does boundary number index (iso_plan_boundary) pass in pieces, from each
 * worker of a stage to the same one of the next? */
bool iso_plan_passes_pieces(const iso_plan_t *plan, int index);

/* plan and partition are borrowed while it lives. */
iso_status_t iso_plan_local_create(const iso_plan_t *plan,
                                   const iso_partition_t *partition, int rank,
                                   iso_plan_local_t *out);
void iso_plan_local_free(iso_plan_local_t *local);

#endif
