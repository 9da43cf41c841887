/*
 * What a cut takes by another way than the planner's: exchanges from the
 * local graph that it is lowered to, computing from the shard rules.
 */
#ifndef ISO_ARRANGE_PRICE_H
#define ISO_ARRANGE_PRICE_H

#include "plan/shard/arrange.h"

/* Seconds; -1 and a failed check when the cut cannot be lowered. */
double arrange_price(const iso_graph_t *stage,
                     const iso_arrange_options_t *options,
                     const iso_stage_cut_t *cut);

/* Bytes of the weights that a worker loads. */
double arrange_weight_bytes(const iso_graph_t *stage,
                            const iso_stage_cut_t *cut, int worker);

#endif
