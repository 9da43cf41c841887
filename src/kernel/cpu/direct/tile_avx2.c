#include "kernel/cpu/vec_avx2.h"

#define TILE_TABLE iso__tile_avx2
#include "kernel/cpu/direct/tile_body.h"

TILE(1, 2)
TILE(2, 2)
TILE(3, 2)
TILE(4, 2)
TILE(5, 2)
TILE(6, 2)

TILE(1, 4)
TILE(2, 4)
TILE(3, 4)

TILE(1, 1)
TILE(2, 1)
TILE(3, 1)
TILE(4, 1)
TILE(5, 1)
TILE(6, 1)

const iso_tile_isa_t TILE_TABLE = {
    .lanes = VEC_LANES,
    .many = {2,
             6,
             {ENTRY(1, 2), ENTRY(2, 2), ENTRY(3, 2), ENTRY(4, 2), ENTRY(5, 2),
              ENTRY(6, 2)}},
    .few = {4, 3, {ENTRY(1, 4), ENTRY(2, 4), ENTRY(3, 4)}},
    .narrow = {1,
               6,
               {ENTRY(1, 1), ENTRY(2, 1), ENTRY(3, 1), ENTRY(4, 1), ENTRY(5, 1),
                ENTRY(6, 1)}},
};
