#include "kernel/cpu/vec_avx512.h"

#define TILE_TABLE iso__tile_avx512
#include "kernel/cpu/direct/tile_body.h"

TILE(1, 2)
TILE(2, 2)
TILE(3, 2)
TILE(4, 2)
TILE(5, 2)
TILE(6, 2)
TILE(7, 2)
TILE(8, 2)
TILE(9, 2)
TILE(10, 2)
TILE(11, 2)
TILE(12, 2)
TILE(13, 2)
TILE(14, 2)

TILE(1, 4)
TILE(2, 4)
TILE(3, 4)
TILE(4, 4)
TILE(5, 4)
TILE(6, 4)
TILE(7, 4)

TILE(1, 1)
TILE(2, 1)
TILE(3, 1)
TILE(4, 1)
TILE(5, 1)
TILE(6, 1)
TILE(7, 1)
TILE(8, 1)
TILE(9, 1)
TILE(10, 1)
TILE(11, 1)
TILE(12, 1)
TILE(13, 1)
TILE(14, 1)

const iso_tile_isa_t TILE_TABLE = {
    .lanes = VEC_LANES,
    .many = {2,
             14,
             {ENTRY(1, 2), ENTRY(2, 2), ENTRY(3, 2), ENTRY(4, 2), ENTRY(5, 2),
              ENTRY(6, 2), ENTRY(7, 2), ENTRY(8, 2), ENTRY(9, 2), ENTRY(10, 2),
              ENTRY(11, 2), ENTRY(12, 2), ENTRY(13, 2), ENTRY(14, 2)}},
    .few = {4,
            7,
            {ENTRY(1, 4), ENTRY(2, 4), ENTRY(3, 4), ENTRY(4, 4), ENTRY(5, 4),
             ENTRY(6, 4), ENTRY(7, 4)}},
    .narrow = {1,
               14,
               {ENTRY(1, 1), ENTRY(2, 1), ENTRY(3, 1), ENTRY(4, 1), ENTRY(5, 1),
                ENTRY(6, 1), ENTRY(7, 1), ENTRY(8, 1), ENTRY(9, 1),
                ENTRY(10, 1), ENTRY(11, 1), ENTRY(12, 1), ENTRY(13, 1),
                ENTRY(14, 1)}},
};
