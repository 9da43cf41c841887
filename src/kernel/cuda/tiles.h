/* Contractions in tiles of each size; in the order of iso__cuda_tile_t. */
#ifndef ISO_CUDA_TILES_H
#define ISO_CUDA_TILES_H

#include "kernel/cuda/launch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The sums of all splits: values where there is one, else partial sums. */
typedef iso__cuda_error_t
iso__cuda_tile_fn(iso__cuda_stream_t stream,
                  const iso__cuda_contract_t *contract);

iso__cuda_tile_fn iso__cuda_tile_128_128;
iso__cuda_tile_fn iso__cuda_tile_64_128;
iso__cuda_tile_fn iso__cuda_tile_64_64;

#ifdef __cplusplus
}
#endif

#endif
