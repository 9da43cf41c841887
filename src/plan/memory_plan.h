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
 * With formats (kernel/format.h) a value may have a copy in its other format,
 * at a place of its own, and several nodes may be one step:
 *
 * - A node that is joined with its reader makes no value and has no place. The
 *   step runs where the last of the joined nodes stands; what any of them
 *   reads lives until then.
 * - A copy has its place from its first reader on, where a reshape counts as
 *   one, to its last. What it is copied from lives until the first step that
 *   reads the copy, which is when it must be there. The plain copy of an
 *   output is made right after the value and stays to the end.
 * - A view is the alias of the value that it shows, as a reshape is.
 * - A reshape is the alias of plain elements: of the copy, when its owner is
 *   made blocked. A reshape may itself have a blocked copy.
 *
 *     iso_memory_plan_t plan;
 *     ISO_TRY(iso_memory_plan_create(stage->graph, NULL, &plan));
 *     buffer = iso_alloc(plan.total_bytes);
 *     value = buffer + plan.offset_bytes[id];
 *     iso_memory_plan_free(&plan);
 */
#ifndef ISO_MEMORY_PLAN_H
#define ISO_MEMORY_PLAN_H

#include "isotome/graph.h"

#include "kernel/format.h"

enum { ISO_MEMORY_NONE = -1 };

typedef struct iso_memory_plan {
    int32_t n_nodes;
    int64_t *offset_bytes;      /* (n_nodes), multiples of 64; ISO_MEMORY_NONE
                                 * for leaves, aliases of leaves and nodes that are
                                 * joined with their reader. Of a reshape: where its
                                 * plain elements are */
    int64_t *copy_offset_bytes; /* (n_nodes) of the copy in the other format;
                                 * ISO_MEMORY_NONE where there is none */
    iso_node_id_t *alias;       /* (n_nodes) node whose bytes it shares, or
                                 * ISO_NO_NODE; may be a leaf. Those of its copy
                                 * when it is made blocked */
    size_t total_bytes;
} iso_memory_plan_t;

/*
 * One sweep over the nodes: a value takes the smallest hole that holds it,
 * else bytes at the top.
 *
 * formats  [in]  of this graph; NULL: every value is plain and made by a step
 *                of its own
 * Errors: ISO_SHAPE for an unbound dim; ISO_NOMEM.
 */
iso_status_t iso_memory_plan_create(const iso_graph_t *graph,
                                    const iso_formats_t *formats,
                                    iso_memory_plan_t *plan_out);
void iso_memory_plan_free(iso_memory_plan_t *plan);

/*
 * Bytes of the buffer when a graph is computed by the fast kernels, joined
 * where they can be. Errors: ISO_SHAPE, ISO_NOMEM.
 */
iso_status_t iso_memory_plan_bytes(const iso_graph_t *graph, size_t *bytes_out);

/* Check that no two live values overlap; for tests and debug builds. */
iso_status_t iso_memory_plan_check(const iso_graph_t *graph,
                                   const iso_formats_t *formats,
                                   const iso_memory_plan_t *plan);

#endif
