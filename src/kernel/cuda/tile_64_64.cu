/* Small products. */
#include "kernel/cuda/contract.cuh"
#include "kernel/cuda/tiles.h"

iso__cuda_error_t iso__cuda_tile_64_64(iso__cuda_stream_t stream,
                                       const iso__cuda_contract_t *contract)
{
    return launch_shape<shape_t<64, 64, 8, 4>>(stream, *contract);
}
