/*
 * Stage cut: the decision how each node of a stage is computed by the stage's
 * workers. It is a value: made by arrange.h, or at random, written in plans,
 * and carried out by local.h, which puts an exchange wherever a value is not
 * where its reader needs it.
 */
#ifndef ISO_STAGE_CUT_H
#define ISO_STAGE_CUT_H

#include "isotome/graph.h"

#include "base/arena.h"
#include "plan/shard/layout.h"

typedef enum iso_cut_kind {
    ISO_CUT_ONE,     /* worker 0 computes it, the others nothing */
    ISO_CUT_ALL,     /* every worker computes all of it */
    ISO_CUT_SPLIT,   /* along an axis of the value */
    ISO_CUT_PARTIAL, /* along the reduction; summed on worker 0 */
} iso_cut_kind_t;

typedef struct iso_node_cut {
    iso_cut_kind_t kind;
    int axis; /* SPLIT */
    /* (n_workers): SPLIT: of the axis, PARTIAL: of the blocks; in worker
     * order, disjoint, covering, some may be empty; else NULL. */
    const iso_range_t *ranges;
} iso_node_cut_t;

/*
 * Leaves: the cut of an input says how it arrives (ONE or SPLIT); those of
 * params and constants are not looked at, a worker has what its nodes need.
 * Outputs of the stage are brought to worker 0, but for those that
 * keep_outputs says: they stay as they are computed.
 */
typedef struct iso_stage_cut {
    iso_arena_t *arena; /* of everything below */
    int n_workers;
    int32_t n_nodes;
    iso_node_cut_t *nodes; /* (n_nodes) of the stage's graph */
    bool *keep_outputs;    /* (outputs of the stage's graph) */
} iso_stage_cut_t;

/* All nodes ONE, outputs to worker 0. Errors: ISO_NOMEM. */
iso_status_t iso_stage_cut_create(const iso_graph_t *stage, int n_workers,
                                  iso_stage_cut_t **cut_out);
void iso_stage_cut_destroy(iso_stage_cut_t **cut);

/* Set a node's cut; ranges are copied. */
iso_status_t iso_stage_cut_set(iso_stage_cut_t *cut, iso_node_id_t node,
                               const iso_node_cut_t *node_cut);

/*
 * Errors: ISO_INVAL naming node, axis and piece: an axis that this node
 * cannot be cut along, pieces that are not in order, overlap, leave a gap, or
 * do not lie on the unit.
 */
iso_status_t iso_stage_cut_check(const iso_stage_cut_t *cut,
                                 const iso_graph_t *stage);

/*
 * The same decision for another batch size of the same stage: nodes are found
 * by name; where an axis has another length its pieces keep their shares. A
 * node that cannot be cut so is ONE.
 */
iso_status_t iso_stage_cut_rescale(const iso_stage_cut_t *cut,
                                   const iso_graph_t *stage,
                                   const iso_graph_t *other,
                                   iso_stage_cut_t **cut_out);

/* The layout in which a computed node's value (or an input) is at first. */
iso_layout_t iso_node_cut_layout(const iso_node_cut_t *cut);

#endif
