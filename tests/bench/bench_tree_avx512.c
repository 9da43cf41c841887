#include "bench_tree_chain.h"

#define TILE_CHAIN       1
#define iso__tile_avx512 bench_chain_avx512
/* NOLINTNEXTLINE(bugprone-suspicious-include): the same kernels again */
#include "kernel/cpu/direct/tile_avx512.c"
