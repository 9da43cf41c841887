/* The tile kernels of the three instruction sets, compiled once more with one
 * straight chain through all blocks in place of blocks and tree. */
#ifndef ISO_BENCH_TREE_CHAIN_H
#define ISO_BENCH_TREE_CHAIN_H

#include "kernel/cpu/direct/tile.h"

extern const iso_tile_isa_t bench_chain_avx512;
extern const iso_tile_isa_t bench_chain_avx2;
extern const iso_tile_isa_t bench_chain_portable;

#endif
