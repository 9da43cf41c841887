#include "bench_tree_chain.h"

#define TILE_CHAIN     1
#define iso__tile_avx2 bench_chain_avx2
/* NOLINTNEXTLINE(bugprone-suspicious-include): the same kernels again */
#include "kernel/cpu/direct/tile_avx2.c"
