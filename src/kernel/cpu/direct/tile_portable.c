#include "kernel/cpu/vec_portable.h"

#define TILE_TABLE iso__tile_portable
#include "kernel/cpu/direct/tile_body.h"

TILE(1, 2)
TILE(2, 2)

TILE(1, 4)

TILE(1, 1)
TILE(2, 1)
TILE(3, 1)
TILE(4, 1)

const iso_tile_isa_t TILE_TABLE = {
    .lanes = VEC_LANES,
    .many = {2, 2, {ENTRY(1, 2), ENTRY(2, 2)}},
    .few = {4, 1, {ENTRY(1, 4)}},
    .narrow = {1, 4, {ENTRY(1, 1), ENTRY(2, 1), ENTRY(3, 1), ENTRY(4, 1)}},
};
