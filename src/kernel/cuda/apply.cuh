/* The elementwise formulas of ref_unary.c and ref_binary.c, on the GPU. */
#ifndef ISO_CUDA_APPLY_CUH
#define ISO_CUDA_APPLY_CUH

#include "kernel/cuda/launch.h"

#define ISO_EXACT static __device__ __forceinline__
#include "kernel/cuda/exact.h"

static __device__ __forceinline__ float canonical(float x)
{
    return x != x ? __int_as_float(0x7fc00000) : x;
}

/* The greater one; +0 is greater than -0, a NaN wins. */
static __device__ __forceinline__ float greater(float x, float y)
{
    if (x != x || y != y) {
        return __int_as_float(0x7fc00000);
    }
    if (x == y) {
        return signbit(x) ? y : x;
    }
    return x > y ? x : y;
}

static __device__ __forceinline__ float lesser(float x, float y)
{
    if (x != x || y != y) {
        return __int_as_float(0x7fc00000);
    }
    if (x == y) {
        return signbit(x) ? x : y;
    }
    return x < y ? x : y;
}

static __device__ __forceinline__ float ramp(float x, float a, float b)
{
    return lesser(greater(__fadd_rn(__fmul_rn(a, x), b), 0.0F), 1.0F);
}

/* The activations that follow a contraction in the same kernel. */
static __device__ __forceinline__ float
applied_light(const iso__cuda_activation_t &op, float x)
{
    switch (op.op) {
    case ISO_OP_RELU:
        x = x > 0 || x != x ? x : 0.0F;
        break;
    case ISO_OP_CLIP:
        x = lesser(greater(x, op.a), op.b);
        break;
    case ISO_OP_LEAKY_RELU:
        x = x < 0 ? __fmul_rn(op.a, x) : x;
        break;
    case ISO_OP_HARD_SWISH:
        x = __fmul_rn(x, ramp(x, op.a, op.b));
        break;
    default:
        break;
    }
    return canonical(x);
}

#endif
