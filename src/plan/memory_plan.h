/*
 * Memory plan: where in one buffer each value of a stage lives, from the
 * times at which values are born and last used. Two values share bytes only
 * when their lives do not overlap.
 *
 * Params, constants and stage inputs (which live in message buffers) get no
 * place. Reshapes share the place of their operand (an alias), so they cost
 * nothing; through a chain of reshapes the alias is the node that owns the
 * bytes. A stage output stays alive to the end.
 *
 *     iso_memory_plan_t plan;
 *     ISO_TRY(iso_memory_plan_create(stage->graph, &plan));
 *     buffer = iso_alloc(plan.total_bytes);
 *     value = buffer + plan.offset_bytes[id];
 *     iso_memory_plan_free(&plan);
 */
#ifndef ISO_MEMORY_PLAN_H
#define ISO_MEMORY_PLAN_H

#include "isotome/graph.h"

enum { ISO_MEMORY_NONE = -1 };

typedef struct iso_memory_plan {
    int32_t n_nodes;
    int64_t *offset_bytes; /* (n_nodes), multiples of 64; ISO_MEMORY_NONE
                            * for leaves and aliases of leaves */
    iso_node_id_t *alias;  /* (n_nodes) node whose bytes it shares, or
                            * ISO_NO_NODE; may be a leaf */
    size_t total_bytes;
} iso_memory_plan_t;

/*
 * One sweep over the nodes: a value takes the smallest hole that holds it,
 * else bytes at the top. Errors: ISO_SHAPE for an unbound dim.
 */
iso_status_t iso_memory_plan_create(const iso_graph_t *graph,
                                    iso_memory_plan_t *plan_out);
void iso_memory_plan_free(iso_memory_plan_t *plan);

/* Check that no two live values overlap; for tests and debug builds. */
iso_status_t iso_memory_plan_check(const iso_graph_t *graph,
                                   const iso_memory_plan_t *plan);

#endif
