/*
 * Local: what one worker of a stage computes, as a graph of its own, and what
 * it exchanges with the others.
 *
 * Nodes of the local graph compute pieces (cut.h). Where a value is not where
 * its reader needs it there is an exchange node (ISO_OP_EXCHANGE): its
 * attribute `number` is the index into exchanges, which is the same list on
 * every worker. All workers have all exchange nodes, in the same order; a
 * worker that has nothing of the value gives no operand, one that gets nothing
 * has a value without elements.
 *
 *     iso_local_create(stage->graph, cut, worker, &local);
 *     run local->graph; at an exchange node: all workers, the exchange
 *
 * Who wants the graphs of many workers decides what moves once:
 *
 *     iso_moves_create(stage->graph, cut, &moves);
 *     iso_local_create_from(moves, worker, &local);  // for each
 */
#ifndef ISO_LOCAL_H
#define ISO_LOCAL_H

#include "plan/shard/cut.h"
#include "plan/shard/exchange.h"
#include "plan/shard/stage_cut.h"

/* Which values move between the workers of a stage, and when. */
typedef struct iso_moves {
    iso_arena_t *arena; /* of the lists */
    const iso_graph_t *stage;
    const iso_stage_cut_t *cut;
    int count;
    iso_exchange_t *exchanges; /* (count) in the order they happen */
    struct iso__move *list;    /* (count) for whom each of them is */
} iso_moves_t;

/* The part of a weight that a param node of the local graph is. */
typedef struct iso_weight_part {
    const char *node;   /* in the local graph */
    const char *weight; /* in the model */
    iso_slab_t slab;
} iso_weight_part_t;

/* What a node of the local graph is of the stage. */
typedef struct iso_origin {
    iso_node_id_t node; /* of the stage's graph; ISO_NO_NODE: a partial sum,
                         * or a step on the way to the whole sum */
    iso_box_t box;      /* in indices of the stage's value */
} iso_origin_t;

typedef struct iso_local {
    iso_moves_t *moves; /* its own; NULL: the caller's */
    iso_arena_t *arena; /* of the lists; the graph is its own */
    iso_graph_t *graph;
    int worker;
    int n_workers;
    int n_exchanges;
    iso_exchange_t *exchanges; /* (n_exchanges) those of the moves */
    int n_weights;
    iso_weight_part_t *weights; /* (n_weights) sorted by node */
    iso_origin_t *origins;      /* (nodes of graph) */
} iso_local_t;

/*
 * stage  [in]  static, as in a partition; borrowed while local lives
 * cut    [in]  checked; borrowed while local lives
 * Outputs of the local graph: those of the stage that this worker holds a
 * part of, under their names; inputs: those it receives, under their names.
 * One worker gives the stage's graph itself, copied.
 */
iso_status_t iso_local_create(const iso_graph_t *stage,
                              const iso_stage_cut_t *cut, int worker,
                              iso_local_t **local_out);

/* stage and cut as above, borrowed while moves lives. */
iso_status_t iso_moves_create(const iso_graph_t *stage,
                              const iso_stage_cut_t *cut,
                              iso_moves_t **moves_out);
void iso_moves_destroy(iso_moves_t **moves);

/* As iso_local_create; moves is borrowed while local lives. */
iso_status_t iso_local_create_from(const iso_moves_t *moves, int worker,
                                   iso_local_t **local_out);
void iso_local_destroy(iso_local_t **local);

#endif
