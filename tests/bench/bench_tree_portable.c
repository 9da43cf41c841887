#include "bench_tree_chain.h"

#define TILE_CHAIN         1
#define iso__tile_portable bench_chain_portable
/* NOLINTNEXTLINE(bugprone-suspicious-include): the same kernels again */
#include "kernel/cpu/direct/tile_portable.c"
