/* Softmax and norms: 16 threads for each row are the lanes of arith.h. */
#include "kernel/cuda/apply.cuh"
#include "kernel/cuda/device.cuh"
#include "kernel/cuda/lanes.cuh"

namespace
{

/* ---- softmax, log_softmax ---- */

__device__ __forceinline__ float lanes_most(float most)
{
#pragma unroll
    for (int width = LANES / 2; width > 0; width /= 2) {
        most = greater(most, __shfl_xor_sync(0xffffffffU, most, width, LANES));
    }
    return most;
}

template <bool IS_LOG>
__global__ void __launch_bounds__(DEVICE_THREADS)
    softmax_kernel(const float *x, float *y, int32_t outer, int32_t count,
                   int32_t inner)
{
    const int64_t row = thread_number() / LANES;
    const bool is_there = row < (int64_t)outer * inner;
    const int32_t end = is_there ? count : 0;
    const int64_t first =
        is_there ? row / inner * count * inner + row % inner : 0;
    float most = -INFINITY;
    float sum = 0;

    x += first;
    y += first;
    for (int32_t i = threadIdx.x % LANES; i < end; i += LANES) {
        most = greater(most, x[(int64_t)i * inner]);
    }
    most = lanes_most(most);
    for (int32_t i = threadIdx.x % LANES; i < end; i += LANES) {
        const float e = iso__exact_exp(__fsub_rn(x[(int64_t)i * inner], most));

        sum = __fadd_rn(sum, e);
        if (!IS_LOG) {
            y[(int64_t)i * inner] = e;
        }
    }
    sum = lanes_sum(sum);
    if (IS_LOG) {
        sum = iso__exact_log(sum);
    }
    for (int32_t i = threadIdx.x % LANES; i < end; i += LANES) {
        const int64_t at = (int64_t)i * inner;

        y[at] = canonical(IS_LOG ? __fsub_rn(__fsub_rn(x[at], most), sum)
                                 : __fdiv_rn(y[at], sum));
    }
}

/* ---- layer_norm, instance_norm, batch_norm ---- */

__device__ __forceinline__ float normalised(float x, float mean,
                                            float deviation, float scale)
{
    return __fmul_rn(__fdiv_rn(__fsub_rn(x, mean), deviation), scale);
}

__global__ void __launch_bounds__(DEVICE_THREADS)
    row_norm_kernel(const __grid_constant__ iso__cuda_row_norm_t n)
{
    const int64_t row = thread_number() / LANES;
    const bool is_there = row < n.rows;
    const int32_t end = is_there ? n.count : 0;
    const int32_t lane = threadIdx.x % LANES;
    const float *x = n.x + (is_there ? row * n.count : 0);
    float *y = n.y + (is_there ? row * n.count : 0);
    float sum = 0;

    for (int32_t i = lane; i < end; i += LANES) {
        sum = __fadd_rn(sum, x[i]);
    }

    const float mean = __fdiv_rn(lanes_sum(sum), (float)n.count);

    sum = 0;
    for (int32_t i = lane; i < end; i += LANES) {
        const float d = __fsub_rn(x[i], mean);

        sum = __fmaf_rn(d, d, sum);
    }

    const float variance = __fdiv_rn(lanes_sum(sum), (float)n.count);
    const float deviation = __fsqrt_rn(__fadd_rn(variance, n.epsilon));

    for (int32_t i = lane; i < end; i += LANES) {
        const int32_t c = n.channels == 0 ? i : (int32_t)row % n.channels;
        float value = normalised(x[i], mean, deviation, n.scale[c]);

        if (n.bias != NULL) {
            value = __fadd_rn(value, n.bias[c]);
        }
        y[i] = canonical(value);
    }
}

__global__ void __launch_bounds__(DEVICE_THREADS)
    batch_norm_kernel(const __grid_constant__ iso__cuda_batch_norm_t n)
{
    const int64_t i = thread_number();

    if (i < n.count) {
        int32_t c = divided((int32_t)i, n.inner);

        c = split(c, n.channels);

        const float deviation = __fsqrt_rn(__fadd_rn(n.variance[c], n.epsilon));
        const float value =
            normalised(n.x[i], n.mean[c], deviation, n.scale[c]);

        n.y[i] = canonical(__fadd_rn(value, n.bias[c]));
    }
}

} /* namespace */

iso__cuda_error_t iso__cuda_softmax(iso__cuda_stream_t stream, int is_log,
                                    const float *x, float *y, int32_t outer,
                                    int32_t count, int32_t inner)
{
    const unsigned blocks = blocks_for((int64_t)outer * inner * LANES);

    if (is_log) {
        softmax_kernel<true>
            <<<blocks, DEVICE_THREADS, 0, stream>>>(x, y, outer, count, inner);
    } else {
        softmax_kernel<false>
            <<<blocks, DEVICE_THREADS, 0, stream>>>(x, y, outer, count, inner);
    }
    return launched();
}

iso__cuda_error_t iso__cuda_row_norm(iso__cuda_stream_t stream,
                                     const iso__cuda_row_norm_t *norm)
{
    row_norm_kernel<<<blocks_for((int64_t)norm->rows * LANES), DEVICE_THREADS,
                      0, stream>>>(*norm);
    return launched();
}

iso__cuda_error_t iso__cuda_batch_norm(iso__cuda_stream_t stream,
                                       const iso__cuda_batch_norm_t *norm)
{
    batch_norm_kernel<<<blocks_for(norm->count), DEVICE_THREADS, 0, stream>>>(
        *norm);
    return launched();
}
