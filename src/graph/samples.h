/*
 * Samples: does the result of each sample depend on that sample alone?
 *
 * A job is cut into micro-batches along the free dim of a graph. A graph that
 * combines samples (by a mean over the batch, say), changes their order or
 * counts them would give a result that depends on the cut. An axis whose dim
 * is an expression runs over samples; this check follows it through the
 * nodes.
 */
#ifndef ISO_SAMPLES_H
#define ISO_SAMPLES_H

#include "isotome/graph.h"

/*
 * batch  [in]  the one free name of the graph
 * Errors: ISO_UNSUPPORTED naming the first node that does not keep samples
 * apart, or the output that has them in another order; ISO_INVAL when a dim
 * of 3 samples is over 2^62; ISO_NOMEM.
 */
iso_status_t iso_graph_check_samples(const iso_graph_t *graph,
                                     const char *batch);

#endif
