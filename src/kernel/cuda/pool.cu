/* Pools: a thread for each window, which is one chain in row-major order. */
#include "kernel/cuda/apply.cuh"
#include "kernel/cuda/device.cuh"

namespace
{

/* What a window holds so far. */
struct window_t {
    float value;
    int32_t inside; /* taps in the operand */
    int32_t padded; /* taps in the operand or its padding */
};

/* Taps along the last axis, of one row of the window. */
__device__ __forceinline__ void add_row(const iso__cuda_pool_t &p,
                                        const float *row, bool is_in,
                                        int32_t begin, window_t &window)
{
    for (int32_t t = 0; t < p.window.kernel[2]; t++) {
        const int32_t at = begin + t * p.window.dilations[2];

        if (at >= p.window.in[2] + p.window.pads_end[2]) {
            return;
        }
        window.padded++;
        if (is_in && at >= 0 && at < p.window.in[2]) {
            window.inside++;
            window.value = p.is_max ? greater(window.value, row[at])
                                    : __fadd_rn(window.value, row[at]);
        }
    }
}

__global__ void __launch_bounds__(DEVICE_THREADS)
    pool_kernel(const __grid_constant__ iso__cuda_pool_t p)
{
    const int64_t number = thread_number();

    if (number >= p.count) {
        return;
    }

    int32_t plane = (int32_t)number;
    int32_t begin[ISO__CUDA_SPATIAL];
    window_t window = {p.is_max ? -INFINITY : 0.0F, 0, 0};

    for (int axis = ISO__CUDA_SPATIAL - 1; axis >= 0; axis--) {
        begin[axis] =
            split(plane, p.window.out[axis]) * p.window.strides[axis] -
            p.window.pads[axis];
    }

    const float *x = p.x + (int64_t)plane * p.in_plane;

    for (int32_t tz = 0; tz < p.window.kernel[0]; tz++) {
        const int32_t z = begin[0] + tz * p.window.dilations[0];

        if (z >= p.window.in[0] + p.window.pads_end[0]) {
            break;
        }
        for (int32_t ty = 0; ty < p.window.kernel[1]; ty++) {
            const int32_t y = begin[1] + ty * p.window.dilations[1];

            if (y >= p.window.in[1] + p.window.pads_end[1]) {
                break;
            }

            const bool is_in =
                z >= 0 && z < p.window.in[0] && y >= 0 && y < p.window.in[1];

            add_row(p,
                    is_in ? x + (z * p.window.in[1] + y) * p.window.in[2] : x,
                    is_in, begin[2], window);
        }
    }
    if (!p.is_max) {
        window.value = __fdiv_rn(
            window.value, (float)(p.count_pad ? window.padded : window.inside));
    }
    p.y[number] = canonical(window.value);
}

} /* namespace */

iso__cuda_error_t iso__cuda_pool(iso__cuda_stream_t stream,
                                 const iso__cuda_pool_t *pool)
{
    pool_kernel<<<blocks_for(pool->count), DEVICE_THREADS, 0, stream>>>(*pool);
    return launched();
}
