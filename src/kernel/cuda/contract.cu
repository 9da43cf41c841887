/*
 * Contractions: the tile that was chosen, then, where the reduction is split,
 * the tree above the splits. Aligned runs of 2^p blocks are nodes of the
 * tree, so that different thread blocks may compute them.
 */
#include "kernel/cuda/apply.cuh"
#include "kernel/cuda/device.cuh"
#include "kernel/cuda/tiles.h"

namespace
{

__global__ void __launch_bounds__(DEVICE_THREADS)
    combine_kernel(const __grid_constant__ iso__cuda_contract_t c)
{
    const int64_t i = thread_number();

    if (i >= c.elements) {
        return;
    }

    float level_sum[32];
    float sum = 0;

    for (int32_t number = 0; number < c.n_splits; number++) {
        const bool is_last = number + 1 == c.n_splits;
        int level = 0;

        sum = c.partial[(int64_t)number * c.elements + i];
        for (; is_last ? number >> level != 0 : (number >> level & 1) != 0;
             level++) {
            if ((number >> level & 1) != 0) {
                sum = __fadd_rn(level_sum[level], sum);
            }
        }
        level_sum[level] = sum;
    }
    sum = __fadd_rn(sum, 0.0F);
    if (c.bias != NULL) {
        const int32_t at = c.bias_by_row
                               ? (int32_t)i / c.y_row % (c.rows * c.n_z)
                               : (int32_t)i % c.cols;

        sum = __fadd_rn(sum, c.bias[at]);
    }
    c.y[i] = applied_light(c.activation, sum);
}

} /* namespace */

iso__cuda_error_t iso__cuda_contract(iso__cuda_stream_t stream,
                                     const iso__cuda_contract_t *contract)
{
    static iso__cuda_tile_fn *const tiles[ISO__CUDA_TILE_COUNT] = {
        iso__cuda_tile_128_128, iso__cuda_tile_64_128, iso__cuda_tile_64_64};
    const iso__cuda_error_t error = tiles[contract->tile](stream, contract);

    if (error != 0 || contract->n_splits == 1) {
        return error;
    }
    combine_kernel<<<blocks_for(contract->elements), DEVICE_THREADS, 0,
                     stream>>>(*contract);
    return launched();
}
