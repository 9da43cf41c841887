/* The 16 lanes of a reduction as 16 neighbouring threads of a warp. */
#ifndef ISO_CUDA_LANES_CUH
#define ISO_CUDA_LANES_CUH

enum { LANES = 16 };

/* The fold of the sums of all lanes, in every lane. All threads of the warp
 * take part. */
static __device__ __forceinline__ float lanes_sum(float sum)
{
#pragma unroll
    for (int width = LANES / 2; width > 0; width /= 2) {
        sum = __fadd_rn(sum, __shfl_down_sync(0xffffffffU, sum, width, LANES));
    }
    return __shfl_sync(0xffffffffU, sum, 0, LANES);
}

#endif
