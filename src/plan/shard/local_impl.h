/*
 * How a stage is lowered to one worker's graph; private to local*.c.
 *
 * What moves is decided first, for all workers at once, from what all of them
 * know: the layouts of the versions of each value (local_moves.c). Then a
 * worker walks the whole stage, adds the node of each exchange where it comes,
 * and the nodes that compute the pieces that it has.
 */
#ifndef ISO_LOCAL_IMPL_H
#define ISO_LOCAL_IMPL_H

#include "plan/shard/local.h"

/* A part of a value, as a node of the local graph. */
typedef struct iso__piece {
    iso_box_t box;
    iso_node_id_t node;
    struct iso__piece *next;
} iso__piece_t;

/* What is known of a value of the stage. Params and constants have pieces
 * alone: every worker takes what it needs of them. */
typedef struct iso__value {
    iso__piece_t *pieces;
    iso_node_id_t home; /* of the local graph; ISO_NO_NODE: not here */
} iso__value_t;

/* A list that grows; it becomes a part of the arena at the end. */
typedef struct iso__list {
    void *items;
    int count;
    int most;
} iso__list_t;

typedef struct iso__lowering {
    const iso_graph_t *stage;
    const iso_stage_cut_t *cut;
    const iso_moves_t *moves;
    int n_moved; /* whose nodes have been added */
    iso_local_t *local;
    int worker;
    int n_workers;
    iso__value_t *values;    /* (nodes of the stage) */
    iso_node_id_t *operands; /* (most inputs of a node) room */
    iso__list_t weights;     /* iso_weight_part_t */
    iso__list_t origins;     /* iso_origin_t, one for each local node */
} iso__lowering_t;

/* Room for one more item, zeroed; NULL when memory ran out. */
void *iso__list_add(iso__list_t *list, size_t size);

iso_box_t iso__box_whole(const iso_shape_t *shape);
iso_box_t iso__box_slab(const iso_shape_t *shape, const iso_slab_t *slab);
/* Rank and dims of a part. */
iso_shape_t iso__box_shape(const iso_box_t *box);

bool iso__box_contains(const iso_box_t *box, const iso_box_t *part);

/* Does a worker have a part, perhaps one without elements? */
bool iso__layout_has(const iso_layout_t *layout, int worker);

/* A name for a part of a value: "x[0 2:4]" for a box. Unique in the stage and
 * in the local graph; NULL when memory ran out. */
const char *iso__part_name(const iso__lowering_t *lowering, iso_node_id_t id,
                           const iso_box_t *box);
/* Likewise, from a text of the caller's. */
const char *iso__unique_name(const iso__lowering_t *lowering, const char *text);

/*
 * Say what the latest local node is of the stage; nodes added before it whose
 * origin is not known yet were steps on the way.
 */
iso_status_t iso__note_origin(iso__lowering_t *lowering, iso_node_id_t id,
                              const iso_box_t *box);

/* A part of the value is now at a local node. */
iso_status_t iso__value_add_piece(iso__lowering_t *lowering, iso_node_id_t id,
                                  const iso_box_t *box, iso_node_id_t node);

/* Where a value is at first. node: here; ISO_NO_NODE where layout has no part
 * for this worker. */
iso_status_t iso__value_begin(iso__lowering_t *lowering, iso_node_id_t id,
                              const iso_layout_t *layout, iso_node_id_t node);

/* Add the exchange that brings an operand to its reader (iso__move_t), if it
 * takes one. */
iso_status_t iso__value_need(iso__lowering_t *lowering, iso_node_id_t reader,
                             int operand);

/* The local node with exactly this part of a value, cut out of a larger piece
 * where need be; after iso__value_need, or of a param or constant. */
iso_status_t iso__value_piece(iso__lowering_t *lowering, iso_node_id_t id,
                              const iso_box_t *box, iso_node_id_t *node_out);

/* Both, for a whole value by one worker or all: node_out is ISO_NO_NODE at the
 * others, and for an operand that is not given. */
iso_status_t iso__value_whole(iso__lowering_t *lowering, iso_node_id_t reader,
                              int operand, const iso_layout_t *layout,
                              iso_node_id_t *node_out);

/*
 * Add the node of the next exchange to the local graph.
 *
 * operand  [in]   what this worker has of the value, or ISO_NO_NODE
 * box_out  [out]  what it gets
 */
iso_status_t iso__add_exchange(iso__lowering_t *lowering, iso_node_id_t operand,
                               iso_box_t *box_out, iso_node_id_t *node_out);

/* Add the part of a param or constant as a leaf. */
iso_status_t iso__add_leaf_part(iso__lowering_t *lowering, iso_node_id_t id,
                                const iso_box_t *box, iso_node_id_t *node_out);
/* A constant without elements, for a part that has none. */
iso_status_t iso__add_empty(iso__lowering_t *lowering, iso_node_id_t id,
                            const iso_box_t *box, iso_node_id_t *node_out);

/* Add a node that is cut along its reduction. */
iso_status_t iso__lower_partial(iso__lowering_t *lowering, iso_node_id_t id);

/* -- what moves -- */

/* An exchange of a value, for an operand of its reader. A partial sum is its
 * node's own value, on the way to the whole sum. */
typedef struct iso__move {
    iso_node_id_t id;     /* of the stage: whose value */
    iso_node_id_t reader; /* ISO_NO_NODE: an output of the stage */
    int operand;          /* number of the operand, or of the output */
} iso__move_t;

enum { ISO__PARTIAL_SUM = -1 };

/* The value that a reader (as in iso__move_t) reads; may be ISO_NO_NODE. */
iso_node_id_t iso__operand_of(const iso_graph_t *stage, iso_node_id_t reader,
                              int operand);
/* Is this output of the stage left where it is computed? */
bool iso__output_stays(const iso_graph_t *stage, const iso_stage_cut_t *cut,
                       int output);

/* A layout in which all workers together have a value. */
typedef struct iso__version {
    iso_layout_t layout;
    struct iso__version *next;
} iso__version_t;

typedef struct iso__versions {
    iso__version_t *home; /* where it is computed; then one by each exchange */
    iso__version_t *last;
} iso__versions_t;

typedef struct iso__deciding {
    const iso_graph_t *stage;
    const iso_stage_cut_t *cut;
    iso_moves_t *moves;
    iso__versions_t *values; /* (nodes of the stage) */
    iso_range_t *ranges;     /* (n_workers) room for the layout of a need */
    iso__list_t exchanges;   /* iso_exchange_t */
    iso__list_t list;        /* iso__move_t */
} iso__deciding_t;

/* Let all workers have what need says of an operand: by an exchange when no
 * version of it has. Nothing to do for params and constants. */
iso_status_t iso__decide_need(iso__deciding_t *deciding, iso_node_id_t reader,
                              int operand, const iso_layout_t *need);

/* Add an exchange; the ranges of both layouts live as long as the moves. */
iso_status_t iso__decide_move(iso__deciding_t *deciding,
                              const iso__move_t *move, const iso_layout_t *from,
                              const iso_layout_t *to);

/* What moves for a node that is cut along its reduction. */
iso_status_t iso__decide_partial(iso__deciding_t *deciding, iso_node_id_t id);

/*
 * The layout that the pieces of a node need of an operand, from their slabs.
 * Along which axis these lie depends on how the node is cut alone; slabs of
 * one worker are joined.
 *
 *     iso__need_begin(&need, deciding);
 *     iso__need_add(&need, worker, &slab);  // any number for each worker
 *     layout = iso__need_end(&need);
 */
typedef struct iso__need {
    iso_range_t *ranges; /* (n_workers), those of deciding */
    int n_workers;
    int n_slabs;
    int axis;
} iso__need_t;

void iso__need_begin(iso__need_t *need, const iso__deciding_t *deciding);
void iso__need_add(iso__need_t *need, int worker, const iso_slab_t *slab);
iso_layout_t iso__need_end(const iso__need_t *need);

#endif
