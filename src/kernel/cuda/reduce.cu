/*
 * Reductions in the 16 lanes of arith.h. Where the elements of a group lie
 * beside each other, 16 threads are the lanes; where neighbouring groups lie
 * beside each other, one thread keeps all lanes of a group.
 */
#include "kernel/cuda/apply.cuh"
#include "kernel/cuda/device.cuh"
#include "kernel/cuda/lanes.cuh"

namespace
{

template <int OP> __device__ __forceinline__ float neutral()
{
    switch (OP) {
    case ISO_OP_REDUCE_PROD:
        return 1.0F;
    case ISO_OP_REDUCE_MAX:
        return -INFINITY;
    case ISO_OP_REDUCE_MIN:
        return INFINITY;
    default:
        return 0.0F;
    }
}

template <int OP> __device__ __forceinline__ float joined(float x, float y)
{
    switch (OP) {
    case ISO_OP_REDUCE_PROD:
        return __fmul_rn(x, y);
    case ISO_OP_REDUCE_MAX:
        return greater(x, y);
    case ISO_OP_REDUCE_MIN:
        return lesser(x, y);
    default:
        return __fadd_rn(x, y);
    }
}

template <int OP>
__device__ __forceinline__ float finished(float sum, int32_t count)
{
    if (OP == ISO_OP_REDUCE_MEAN) {
        sum = __fdiv_rn(sum, (float)count);
    }
    return canonical(sum);
}

__device__ __forceinline__ int32_t place_in(const iso__cuda_walk_t &walk,
                                            int32_t i)
{
    int32_t place[1];

    places_of(walk, i, place);
    return place[0];
}

template <int OP>
__global__ void __launch_bounds__(DEVICE_THREADS)
    lanes_kernel(const __grid_constant__ iso__cuda_reduce_t r)
{
    const int64_t group = thread_number() / LANES;
    const int32_t lane = threadIdx.x % LANES;
    float sum = neutral<OP>();

    if (group < r.kept.count) {
        const float *x = r.x + place_in(r.kept, (int32_t)group);

        for (int32_t i = lane; i < r.reduced.count; i += LANES) {
            sum = joined<OP>(sum, x[place_in(r.reduced, i)]);
        }
    }
#pragma unroll
    for (int width = LANES / 2; width > 0; width /= 2) {
        sum = joined<OP>(sum, __shfl_down_sync(0xffffffffU, sum, width, LANES));
    }
    if (lane == 0 && group < r.kept.count) {
        r.y[group] = finished<OP>(sum, r.reduced.count);
    }
}

template <int OP>
__global__ void __launch_bounds__(DEVICE_THREADS)
    groups_kernel(const __grid_constant__ iso__cuda_reduce_t r)
{
    const int64_t group = thread_number();
    float lane[LANES];

    if (group >= r.kept.count) {
        return;
    }

    const float *x = r.x + place_in(r.kept, (int32_t)group);

#pragma unroll
    for (int k = 0; k < LANES; k++) {
        lane[k] = neutral<OP>();
    }
    for (int32_t i = 0; i < r.reduced.count; i += LANES) {
#pragma unroll
        for (int k = 0; k < LANES; k++) {
            if (i + k < r.reduced.count) {
                lane[k] = joined<OP>(lane[k], x[place_in(r.reduced, i + k)]);
            }
        }
    }
#pragma unroll
    for (int width = LANES / 2; width > 0; width /= 2) {
#pragma unroll
        for (int k = 0; k < width; k++) {
            lane[k] = joined<OP>(lane[k], lane[k + width]);
        }
    }
    r.y[group] = finished<OP>(lane[0], r.reduced.count);
}

/* ---- arg_max, arg_min ---- */

/* Does x take the place of the best so far? The first NaN beats everything;
 * of equal ones the first stays. */
__device__ __forceinline__ bool beats(bool is_max, float x, float best)
{
    if (best != best || x != x) {
        return best == best;
    }
    return is_max ? x > best : x < best;
}

__global__ void __launch_bounds__(DEVICE_THREADS)
    arg_kernel(const __grid_constant__ iso__cuda_reduce_t r, int64_t *y)
{
    const int64_t group = thread_number();

    if (group >= r.kept.count) {
        return;
    }

    const float *x = r.x + place_in(r.kept, (int32_t)group);
    float best = 0;
    int32_t at = 0;

    for (int32_t i = 0; i < r.reduced.count; i++) {
        const float next = x[place_in(r.reduced, i)];

        if (i == 0 || beats(r.op == ISO_OP_ARG_MAX, next, best)) {
            best = next;
            at = i;
        }
    }
    y[group] = at;
}

template <int OP>
cudaError_t launch(iso__cuda_stream_t stream, const iso__cuda_reduce_t &r)
{
    const iso__cuda_walk_t &kept = r.kept;
    const iso__cuda_walk_t &reduced = r.reduced;
    const bool is_beside = reduced.rank > 0 &&
                           reduced.step[0][reduced.rank - 1] != 1 &&
                           kept.rank > 0 && kept.step[0][kept.rank - 1] == 1;

    if (is_beside) {
        groups_kernel<OP>
            <<<blocks_for(kept.count), DEVICE_THREADS, 0, stream>>>(r);
    } else {
        lanes_kernel<OP><<<blocks_for((int64_t)kept.count * LANES),
                           DEVICE_THREADS, 0, stream>>>(r);
    }
    return cudaGetLastError();
}

} /* namespace */

iso__cuda_error_t iso__cuda_reduce(iso__cuda_stream_t stream,
                                   const iso__cuda_reduce_t *reduce)
{
    switch (reduce->op) {
    case ISO_OP_REDUCE_SUM:
        return launch<ISO_OP_REDUCE_SUM>(stream, *reduce);
    case ISO_OP_REDUCE_MEAN:
        return launch<ISO_OP_REDUCE_MEAN>(stream, *reduce);
    case ISO_OP_REDUCE_MAX:
        return launch<ISO_OP_REDUCE_MAX>(stream, *reduce);
    case ISO_OP_REDUCE_MIN:
        return launch<ISO_OP_REDUCE_MIN>(stream, *reduce);
    default:
        return launch<ISO_OP_REDUCE_PROD>(stream, *reduce);
    }
}

iso__cuda_error_t iso__cuda_arg(iso__cuda_stream_t stream,
                                const iso__cuda_reduce_t *reduce, int64_t *y)
{
    arg_kernel<<<blocks_for(reduce->kept.count), DEVICE_THREADS, 0, stream>>>(
        *reduce, y);
    return launched();
}
