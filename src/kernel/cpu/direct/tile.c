#include "kernel/cpu/direct/tile.h"

const iso_tile_isa_t *iso__tile_isa_of(iso_family_t family)
{
    switch (family) {
    case ISO_FAMILY_SCALAR:
        return &iso__tile_portable;
    case ISO_FAMILY_SKX:
        return &iso__tile_avx512;
    default:
        return &iso__tile_avx2;
    }
}

int iso__tree_levels(int64_t n_blocks)
{
    int levels = 0;

    for (int64_t n = n_blocks - 1; n > 0; n /= 2) {
        levels++;
    }
    return levels;
}
