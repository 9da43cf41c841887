/* Elementwise ops of one and two operands. */
#include "kernel/cuda/apply.cuh"
#include "kernel/cuda/device.cuh"

namespace
{

/* ---- One operand ---- */

__device__ __forceinline__ float sigmoid(float x)
{
    return 1.0F / (1.0F + iso__exact_exp(-x));
}

__device__ __forceinline__ float elu(float x, float a)
{
    return x < 0 ? a * iso__exact_expm1(x) : x;
}

/* ref_unary.c, line by line. */
template <int OP>
__device__ __forceinline__ float unary(float x, float a, float b)
{
    switch (OP) {
    case ISO_OP_ABS:
        return fabsf(x);
    case ISO_OP_NEG:
        return -x;
    case ISO_OP_CEIL:
        return ceilf(x);
    case ISO_OP_FLOOR:
        return floorf(x);
    case ISO_OP_ROUND:
        return rintf(x);
    case ISO_OP_SIGN:
        return x > 0 ? 1.0F : (x < 0 ? -1.0F : x + 0.0F);
    case ISO_OP_SQRT:
        return __fsqrt_rn(x);
    case ISO_OP_RECIPROCAL:
        return __fdiv_rn(1.0F, x);
    case ISO_OP_EXP:
        return iso__exact_exp(x);
    case ISO_OP_LOG:
        return iso__exact_log(x);
    case ISO_OP_TANH:
        return iso__exact_tanh(x);
    case ISO_OP_ERF:
        return iso__exact_erf(x);
    case ISO_OP_ELU:
        return elu(x, a);
    case ISO_OP_SELU:
        return b * elu(x, a);
    case ISO_OP_SOFTPLUS:
        return greater(x, 0.0F) + iso__exact_log1p(iso__exact_exp(-fabsf(x)));
    case ISO_OP_SIGMOID:
        return sigmoid(x);
    case ISO_OP_RELU:
        return x != x ? x : (x > 0 ? x : 0.0F);
    case ISO_OP_LEAKY_RELU:
        return x < 0 ? a * x : x;
    case ISO_OP_SOFTSIGN:
        return __fdiv_rn(x, 1.0F + fabsf(x));
    case ISO_OP_CLIP:
        return lesser(greater(x, a), b);
    case ISO_OP_HARD_SIGMOID:
        return ramp(x, a, b);
    case ISO_OP_HARD_SWISH:
        return x * ramp(x, a, b);
    default:
        return x;
    }
}

template <int OP>
__global__ void __launch_bounds__(DEVICE_THREADS)
    unary_kernel(const float *x, float *y, int32_t count, float a, float b)
{
    const int64_t i = thread_number();

    if (i < count) {
        y[i] = canonical(unary<OP>(x[i], a, b));
    }
}

/* ---- Two operands ---- */

template <int OP> __device__ __forceinline__ float binary(float x, float y)
{
    switch (OP) {
    case ISO_OP_ADD:
        return __fadd_rn(x, y);
    case ISO_OP_SUB:
        return __fsub_rn(x, y);
    case ISO_OP_MUL:
        return __fmul_rn(x, y);
    case ISO_OP_DIV:
        return __fdiv_rn(x, y);
    case ISO_OP_POW:
        return y == 2.0F ? __fmul_rn(x, x)
                         : (y == 0.5F ? __fsqrt_rn(x) : iso__exact_pow(x, y));
    case ISO_OP_MIN:
        return lesser(x, y);
    case ISO_OP_MAX:
        return greater(x, y);
    default: /* prelu */
        return x < 0 ? __fmul_rn(y, x) : x;
    }
}

/* Operands of the shape of the result. */
template <int OP>
__global__ void __launch_bounds__(DEVICE_THREADS)
    same_kernel(const float *x, const float *y, float *z, int32_t count)
{
    const int64_t i = thread_number();

    if (i < count) {
        z[i] = canonical(binary<OP>(x[i], y[i]));
    }
}

template <int OP>
__global__ void __launch_bounds__(DEVICE_THREADS)
    binary_kernel(const __grid_constant__ iso__cuda_walk_t walk, const float *x,
                  const float *y, float *z)
{
    const int64_t i = thread_number();

    if (i < walk.count) {
        int32_t place[2];

        places_of(walk, (int32_t)i, place);
        z[i] = canonical(binary<OP>(x[place[0]], y[place[1]]));
    }
}

__device__ __forceinline__ bool holds(iso_op_t op, float x, float y)
{
    switch (op) {
    case ISO_OP_EQUAL:
        return x == y;
    case ISO_OP_LESS:
        return x < y;
    case ISO_OP_LESS_EQUAL:
        return x <= y;
    case ISO_OP_GREATER:
        return x > y;
    default:
        return x >= y;
    }
}

__global__ void __launch_bounds__(DEVICE_THREADS)
    compare_kernel(iso_op_t op, const __grid_constant__ iso__cuda_walk_t walk,
                   const float *x, const float *y, uint8_t *z)
{
    const int64_t i = thread_number();

    if (i < walk.count) {
        int32_t place[2];

        places_of(walk, (int32_t)i, place);
        z[i] = holds(op, x[place[0]], y[place[1]]) ? 1 : 0;
    }
}

/* ---- What follows the product of a gemm ---- */

__global__ void __launch_bounds__(DEVICE_THREADS)
    gemm_finish_kernel(iso__cuda_activation_t op,
                       const __grid_constant__ iso__cuda_walk_t walk,
                       float alpha, float beta, const float *c, float *y)
{
    const int64_t i = thread_number();

    if (i < walk.count) {
        float sum = __fmul_rn(alpha, y[i]);

        if (c != NULL) {
            int32_t place[1];

            places_of(walk, (int32_t)i, place);
            sum = __fadd_rn(sum, __fmul_rn(beta, c[place[0]]));
        }
        y[i] = applied_light(op, sum);
    }
}

/* ---- Launch ---- */

template <int OP>
cudaError_t launch_unary(iso__cuda_stream_t stream,
                         const iso__cuda_activation_t &op, const float *x,
                         float *y, int32_t count)
{
    unary_kernel<OP><<<blocks_for(count), DEVICE_THREADS, 0, stream>>>(
        x, y, count, op.a, op.b);
    return cudaGetLastError();
}

template <int OP>
cudaError_t launch_binary(iso__cuda_stream_t stream,
                          const iso__cuda_walk_t &walk, const float *x,
                          const float *y, float *z)
{
    const bool is_same =
        walk.rank == 0 ||
        (walk.rank == 1 && walk.step[0][0] == 1 && walk.step[1][0] == 1);

    if (is_same) {
        same_kernel<OP><<<blocks_for(walk.count), DEVICE_THREADS, 0, stream>>>(
            x, y, z, walk.count);
    } else {
        binary_kernel<OP>
            <<<blocks_for(walk.count), DEVICE_THREADS, 0, stream>>>(walk, x, y,
                                                                    z);
    }
    return cudaGetLastError();
}

} /* namespace */

#define UNARY_OPS(X) \
    X(ABS)           \
    X(NEG)           \
    X(CEIL)          \
    X(FLOOR)         \
    X(ROUND)         \
    X(SIGN)          \
    X(SQRT)          \
    X(RECIPROCAL)    \
    X(EXP)           \
    X(LOG)           \
    X(TANH)          \
    X(ERF)           \
    X(ELU)           \
    X(SELU)          \
    X(SOFTPLUS)      \
    X(SIGMOID)       \
    X(RELU)          \
    X(LEAKY_RELU)    \
    X(SOFTSIGN)      \
    X(CLIP)          \
    X(HARD_SIGMOID)  \
    X(HARD_SWISH)

#define BINARY_OPS(X) \
    X(ADD)            \
    X(SUB)            \
    X(MUL)            \
    X(DIV)            \
    X(POW)            \
    X(MIN)            \
    X(MAX)            \
    X(PRELU)

iso__cuda_error_t iso__cuda_unary(iso__cuda_stream_t stream,
                                  const iso__cuda_activation_t *op,
                                  const float *x, float *y, int32_t count)
{
    switch (op->op) {
#define X(name)         \
    case ISO_OP_##name: \
        return launch_unary<ISO_OP_##name>(stream, *op, x, y, count);
        UNARY_OPS(X)
#undef X
    default:
        return cudaErrorNotSupported;
    }
}

iso__cuda_error_t iso__cuda_binary(iso__cuda_stream_t stream, iso_op_t op,
                                   const iso__cuda_walk_t *walk, const float *x,
                                   const float *y, float *z)
{
    switch (op) {
#define X(name)         \
    case ISO_OP_##name: \
        return launch_binary<ISO_OP_##name>(stream, *walk, x, y, z);
        BINARY_OPS(X)
#undef X
    default:
        return cudaErrorNotSupported;
    }
}

iso__cuda_error_t iso__cuda_compare(iso__cuda_stream_t stream, iso_op_t op,
                                    const iso__cuda_walk_t *walk,
                                    const float *x, const float *y, uint8_t *z)
{
    compare_kernel<<<blocks_for(walk->count), DEVICE_THREADS, 0, stream>>>(
        op, *walk, x, y, z);
    return launched();
}

iso__cuda_error_t iso__cuda_gemm_finish(iso__cuda_stream_t stream,
                                        const iso__cuda_activation_t *op,
                                        const iso__cuda_walk_t *walk,
                                        float alpha, float beta, const float *c,
                                        float *y)
{
    gemm_finish_kernel<<<blocks_for(walk->count), DEVICE_THREADS, 0, stream>>>(
        *op, *walk, alpha, beta, c, y);
    return launched();
}
