/* What every kernel file uses: division, walks, launches. */
#ifndef ISO_CUDA_DEVICE_CUH
#define ISO_CUDA_DEVICE_CUH

#include "kernel/cuda/launch.h"

#include <cuda_runtime.h>

enum { DEVICE_THREADS = 256 };

static __device__ __forceinline__ int32_t divided(int32_t n,
                                                  const iso__cuda_divisor_t &by)
{
    return (int32_t)((__umulhi((uint32_t)n, by.factor) + (uint32_t)n) >>
                     by.shift);
}

/* n becomes the remainder. */
static __device__ __forceinline__ int32_t split(int32_t &n,
                                                const iso__cuda_divisor_t &by)
{
    const int32_t q = divided(n, by);
    const int32_t r = n - q * (int32_t)by.divisor;

    n = q;
    return r;
}

/* Offsets of the arrays at index number i. */
template <int ARRAYS>
static __device__ __forceinline__ void
places_of(const iso__cuda_walk_t &walk, int32_t i, int32_t (&place)[ARRAYS])
{
#pragma unroll
    for (int k = 0; k < ARRAYS; k++) {
        place[k] = walk.first[k];
    }
    for (int axis = walk.rank - 1; axis >= 0; axis--) {
        const int32_t at = split(i, walk.dims[axis]);

#pragma unroll
        for (int k = 0; k < ARRAYS; k++) {
            place[k] += at * walk.step[k][axis];
        }
    }
}

/* Number of this thread among all. Threads past the last one have none. */
static __device__ __forceinline__ int64_t thread_number()
{
    return (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

static inline unsigned blocks_for(int64_t threads)
{
    return (unsigned)((threads + DEVICE_THREADS - 1) / DEVICE_THREADS);
}

static inline iso__cuda_error_t launched()
{
    return (iso__cuda_error_t)cudaGetLastError();
}

#endif
