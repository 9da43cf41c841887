/*
 * Run a graph with static shapes on the reference device, node by node: what
 * a test compares others with.
 *
 *     iso_eval_t eval;
 *     iso_eval_run(graph, &weights, &inputs, &eval);
 *     const iso_tensor_t *y = iso_eval_output(&eval, 0);
 *     iso_eval_free(&eval);
 */
#ifndef ISO_EVAL_H
#define ISO_EVAL_H

#include "isotome/graph.h"
#include "isotome/model_file.h"

typedef struct iso_eval {
    const iso_graph_t *graph;
    iso_tensor_t *values; /* by node id */
} iso_eval_t;

/*
 * weights, inputs  [in]  hand out params and inputs by name; what they give
 *                        must stay until iso_eval_free
 * Errors: those of the sources and of iso_ref_run; ISO_SHAPE for a free dim,
 * ISO_INVAL for an input of another dtype or shape. *eval_out is empty then.
 */
iso_status_t iso_eval_run(const iso_graph_t *graph,
                          const iso_weight_source_t *weights,
                          const iso_weight_source_t *inputs,
                          iso_eval_t *eval_out);

/* Value of the model's output index. */
const iso_tensor_t *iso_eval_output(const iso_eval_t *eval, int index);

void iso_eval_free(iso_eval_t *eval);

#endif
