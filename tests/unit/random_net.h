/*
 * Random networks of convolutions and what stands between them: residual
 * sums, gates, pools, concatenations, reshapes, products.
 */
#ifndef RANDOM_NET_H
#define RANDOM_NET_H

#include "isotome/graph.h"

/*
 * state    [in,out]  of test_random
 * n_nodes  [in]      that compute; leaves come on top
 * Owned by the caller. A failed check ends the test.
 */
iso_graph_t *random_net(uint64_t *state, int n_nodes);

#endif
