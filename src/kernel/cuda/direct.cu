/*
 * Convolutions that make poor tiles: few output channels in a group
 * (depthwise), or transposed. One thread computes one element: the chain of
 * each block, then the tree.
 */
#include "kernel/cuda/apply.cuh"
#include "kernel/cuda/device.cuh"

namespace
{

enum { LEVELS = 32 };

/* Index that a tap reads on one axis; -1: it reads +0. */
__device__ __forceinline__ int32_t source_of(const iso__cuda_direct_t &d,
                                             int axis, int32_t out, int32_t tap)
{
    int32_t in = out * d.window.strides[axis] + tap * d.window.dilations[axis] -
                 d.window.pads[axis];

    if (d.transposed) {
        in = out + d.window.pads[axis] - tap * d.window.dilations[axis];
        if (in % d.window.strides[axis] != 0) {
            return -1;
        }
        in /= d.window.strides[axis];
    }
    return in >= 0 && in < d.window.in[axis] ? in : -1;
}

/* The taps of one channel, in order. */
struct taps_t {
    int32_t at[ISO__CUDA_SPATIAL];

    __device__ __forceinline__ void begin()
    {
        at[0] = at[1] = at[2] = 0;
    }

    __device__ __forceinline__ void next(const iso__cuda_direct_t &d)
    {
        if (++at[2] < d.window.kernel[2]) {
            return;
        }
        at[2] = 0;
        if (++at[1] < d.window.kernel[1]) {
            return;
        }
        at[1] = 0;
        ++at[0];
    }
};

/* Offset of the tap in a channel, -1: it reads +0. */
__device__ __forceinline__ int32_t
offset_of(const iso__cuda_direct_t &d, const int32_t (&out)[ISO__CUDA_SPATIAL],
          const taps_t &taps)
{
    const int32_t z = source_of(d, 0, out[0], taps.at[0]);
    const int32_t y = source_of(d, 1, out[1], taps.at[1]);
    const int32_t x = source_of(d, 2, out[2], taps.at[2]);

    return (z | y | x) < 0 ? -1 : (z * d.window.in[1] + y) * d.window.in[2] + x;
}

/* The binary counter of the tree. */
struct tree_t {
    int32_t count;
    float level_sum[LEVELS];

    __device__ __forceinline__ void push(float sum)
    {
        int level = 0;

        for (; (count >> level & 1) != 0; level++) {
            sum = __fadd_rn(level_sum[level], sum);
        }
        level_sum[level] = sum;
        count++;
    }

    __device__ __forceinline__ float finish() const
    {
        float sum = 0;
        bool is_first = true;

        for (int level = 0; count >> level != 0; level++) {
            if ((count >> level & 1) == 0) {
                continue;
            }
            sum =
                is_first ? level_sum[level] : __fadd_rn(level_sum[level], sum);
            is_first = false;
        }
        return __fadd_rn(sum, 0.0F);
    }
};

__global__ void __launch_bounds__(DEVICE_THREADS)
    direct_kernel(const __grid_constant__ iso__cuda_direct_t d)
{
    const int64_t number = thread_number();

    if (number >= d.elements) {
        return;
    }

    int32_t rest = (int32_t)number;
    int32_t out[ISO__CUDA_SPATIAL];

    for (int axis = ISO__CUDA_SPATIAL - 1; axis >= 0; axis--) {
        out[axis] = split(rest, d.window.out[axis]);
    }

    const int32_t m = split(rest, d.out_channels);
    const int32_t x_from = rest * d.in_channels; /* rest: image and group */
    const int32_t group = split(rest, d.groups);
    const float *weights =
        d.weights + group * d.weight_group + m * d.weight_out;
    tree_t tree;
    float sum = 0;
    int32_t in_block = 0;

    tree.count = 0;
    for (int32_t c = 0; c < d.in_channels; c++) {
        const float *x = d.x + (int64_t)(x_from + c) * d.in_positions;
        const float *w = weights + c * d.weight_channel;
        taps_t taps;

        taps.begin();
        for (int32_t t = 0; t < d.n_taps; t++, taps.next(d)) {
            const int32_t offset = offset_of(d, out, taps);

            if (in_block == d.block) {
                tree.push(sum);
                sum = 0;
                in_block = 0;
            }
            sum = __fmaf_rn(offset < 0 ? 0.0F : x[offset], w[t], sum);
            in_block++;
        }
        if (d.pieces != 0) { /* a block does not go on in the next channel */
            in_block = d.block;
        }
    }
    if (in_block > 0) {
        tree.push(sum);
    }
    sum = tree.finish();
    if (d.bias != NULL) {
        sum =
            __fadd_rn(sum, d.bias[group * (int32_t)d.out_channels.divisor + m]);
    }
    d.y[number] = applied_light(d.activation, sum);
}

} /* namespace */

iso__cuda_error_t iso__cuda_direct(iso__cuda_stream_t stream,
                                   const iso__cuda_direct_t *direct)
{
    direct_kernel<<<blocks_for(direct->elements), DEVICE_THREADS, 0, stream>>>(
        *direct);
    return launched();
}
