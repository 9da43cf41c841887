/*
 * How tiles of the operands of a contraction come to shared memory: by
 * asynchronous copies of single floats or of four, each thread those of a few
 * places. Past the end of a block, and past the last row or column, +0 is
 * stored: that changes no bit, because both operands have it (see arith.h).
 */
#ifndef ISO_CUDA_LOADERS_CUH
#define ISO_CUDA_LOADERS_CUH

#include "kernel/cuda/device.cuh"

namespace
{

enum {
    STEP = 16,  /* products that a tile of a or b holds */
    STAGES = 3, /* tiles that are there or on their way */
    PAD = 4,    /* floats after a row, against bank conflicts */
};

/* ---- Asynchronous copies ---- */

__device__ __forceinline__ void copy_one(float *to, const float *from,
                                         bool is_there)
{
    const uint32_t at = (uint32_t)__cvta_generic_to_shared(to);

    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;\n" ::"r"(at),
                 "l"(from), "r"(is_there ? 4 : 0));
}

__device__ __forceinline__ void copy_four(float *to, const float *from,
                                          bool is_there)
{
    const uint32_t at = (uint32_t)__cvta_generic_to_shared(to);

    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(at),
                 "l"(from), "r"(is_there ? 16 : 0));
}

__device__ __forceinline__ void copies_end()
{
    asm volatile("cp.async.commit_group;\n");
}

__device__ __forceinline__ void copies_wait()
{
    asm volatile("cp.async.wait_group %0;\n" ::"n"(STAGES - 2));
}

/* ---- Blocks of the reduction ---- */

__device__ __forceinline__ int32_t block_begin(const iso__cuda_contract_t &c,
                                               int32_t b)
{
    if (c.pieces == 0) {
        return b * c.block;
    }
    return b / c.pieces * c.n_taps + b % c.pieces * c.block;
}

__device__ __forceinline__ int32_t block_end(const iso__cuda_contract_t &c,
                                             int32_t b)
{
    return b + 1 >= c.n_blocks ? c.length : block_begin(c, b + 1);
}

/* A place in the reduction that goes on by steps, none across a block. */
struct cursor_t {
    int32_t b;
    int32_t k;
    int32_t end;

    __device__ __forceinline__ void begin(const iso__cuda_contract_t &c,
                                          int32_t block)
    {
        b = block;
        k = block_begin(c, block);
        end = block_end(c, block);
    }

    /* Is the block done? */
    __device__ __forceinline__ bool next(const iso__cuda_contract_t &c)
    {
        k += STEP;
        if (k < end) {
            return false;
        }
        begin(c, b + 1);
        return true;
    }
};

/* ---- Operands to shared memory, tile (STEP, OUTER + PAD) ---- */

/* Neighbours along k: rows of the tile are columns of the operand. */
template <int OUTER, int THREADS> struct inner_loader_t {
    static const int ROWS = THREADS / 8;
    const float *from;
    int32_t step;
    int32_t left;  /* outer indices from this thread's first one on */
    bool is_whole; /* are all outer indices of the tile there? */

    __device__ __forceinline__ void begin(const float *data, int32_t outer_step,
                                          int32_t first, int32_t count)
    {
        const int32_t at = first + (int32_t)threadIdx.x / 8;

        step = outer_step;
        left = count - at;
        is_whole = first + OUTER <= count;
        from = data + (int64_t)(left > 0 ? at : 0) * outer_step;
    }

    /* All of the tile is there. */
    __device__ __forceinline__ void load_whole(float *to, const float *at) const
    {
#pragma unroll
        for (int r = 0; r < OUTER / ROWS; r++, at += ROWS * step) {
#pragma unroll
            for (int i = 0; i < STEP; i += 8) {
                copy_one(to + i * (OUTER + PAD) + r * ROWS, at + i, true);
            }
        }
    }

    __device__ __forceinline__ void load(float *tile, int32_t k,
                                         int32_t end) const
    {
        const int lane = threadIdx.x % 8;
        float *to = tile + lane * (OUTER + PAD) + threadIdx.x / 8;

        if (is_whole && k + STEP <= end) {
            load_whole(to, from + k + lane);
            return;
        }
#pragma unroll
        for (int r = 0; r < OUTER / ROWS; r++) {
#pragma unroll
            for (int i = 0; i < STEP; i += 8) {
                const bool is_there = k + lane + i < end && r * ROWS < left;
                const float *at = from + (r * ROWS * step + k + lane + i);

                copy_one(to + i * (OUTER + PAD) + r * ROWS,
                         is_there ? at : from, is_there);
            }
        }
    }
};

/* One outer index for each thread, some values of k. */
template <int OUTER, int THREADS> struct one_loader_t {
    static const int ROWS = THREADS / OUTER;
    const float *from;
    int32_t step;
    bool is_in;

    __device__ __forceinline__ void begin(const float *data, int32_t offset,
                                          int32_t inner_step, bool inside)
    {
        is_in = inside;
        step = inner_step;
        from = data + (inside ? offset : 0);
    }

    __device__ __forceinline__ void load(float *tile, int32_t k,
                                         int32_t end) const
    {
        const int row = threadIdx.x / OUTER;
        float *to = tile + row * (OUTER + PAD) + threadIdx.x % OUTER;

#pragma unroll
        for (int i = 0; i < STEP; i += ROWS) {
            const bool is_there = is_in && k + row + i < end;
            const float *at = from + (k + row + i) * step;

            copy_one(to + i * (OUTER + PAD), is_there ? at : from, is_there);
        }
    }
};

/* Four outer indices for each thread; all are there, or none. */
template <int OUTER, int THREADS> struct four_loader_t {
    static const int ROWS = THREADS / (OUTER / 4);
    const float *from;
    int32_t step;
    bool is_in;

    __device__ __forceinline__ void begin(const float *data, int32_t offset,
                                          int32_t inner_step, bool inside)
    {
        is_in = inside;
        step = inner_step;
        from = data + (inside ? offset : 0);
    }

    __device__ __forceinline__ void load(float *tile, int32_t k,
                                         int32_t end) const
    {
        const int row = threadIdx.x / (OUTER / 4);
        float *to = tile + row * (OUTER + PAD) + threadIdx.x % (OUTER / 4) * 4;

#pragma unroll
        for (int i = 0; i < STEP; i += ROWS) {
            const bool is_there = is_in && k + row + i < end;
            const float *at = from + (k + row + i) * step;

            copy_four(to + i * (OUTER + PAD), is_there ? at : from, is_there);
        }
    }
};

/* Where the window of a column begins: coordinates, perhaps in the padding,
 * and the offset of that place. */
struct origin_t {
    int32_t at[ISO__CUDA_SPATIAL];
    int32_t offset;
    bool is_in;
};

__device__ __forceinline__ origin_t origin_of(const iso__cuda_contract_t &c,
                                              int32_t column)
{
    origin_t origin;
    int32_t image = column;
    int32_t position = split(image, c.positions);

    origin.is_in = column < c.cols;
    origin.offset = 0;
#pragma unroll
    for (int axis = ISO__CUDA_SPATIAL - 1; axis >= 0; axis--) {
        origin.at[axis] =
            split(position, c.window.out[axis]) * c.window.strides[axis] -
            c.window.pads[axis];
    }
#pragma unroll
    for (int axis = 0; axis < ISO__CUDA_SPATIAL; axis++) {
        origin.offset = origin.offset * c.window.in[axis] + origin.at[axis];
    }
    origin.offset += image * c.b_image;
    return origin;
}

/* Distance of a tap from the begin of the window, by axis. */
__device__ __forceinline__ void tap_of(const iso__cuda_contract_t &c,
                                       int32_t tap,
                                       int32_t (&at)[ISO__CUDA_SPATIAL])
{
#pragma unroll
    for (int axis = ISO__CUDA_SPATIAL - 1; axis >= 0; axis--) {
        at[axis] = tap % c.window.kernel[axis] * c.window.dilations[axis];
        tap /= c.window.kernel[axis];
    }
}

__device__ __forceinline__ bool is_inside(const iso__cuda_contract_t &c,
                                          const origin_t &origin, int32_t z,
                                          int32_t y, int32_t x)
{
    return (uint32_t)(origin.at[0] + z) < (uint32_t)c.window.in[0] &&
           (uint32_t)(origin.at[1] + y) < (uint32_t)c.window.in[1] &&
           (uint32_t)(origin.at[2] + x) < (uint32_t)c.window.in[2];
}

/* Windows. The table has for each tap its offset and its distances. */
template <int OUTER, int THREADS, bool HAS_MASK> struct window_loader_t {
    static const int ROWS = THREADS / OUTER;
    const float *from;
    const int4 *table;
    origin_t origin;
    uint64_t inside; /* taps that are, where they are at most 64 */

    __device__ __forceinline__ void begin(const iso__cuda_contract_t &c,
                                          const float *data,
                                          const int4 *tap_table, int32_t column)
    {
        origin = origin_of(c, column);
        from = data;
        table = tap_table;
        inside = 0;
        if (HAS_MASK && origin.is_in) {
            for (int32_t tap = 0; tap < c.n_taps; tap++) {
                const int4 at = tap_table[tap];

                if (is_inside(c, origin, at.y, at.z, at.w)) {
                    inside |= (uint64_t)1 << tap;
                }
            }
        }
    }

    __device__ __forceinline__ void load(const iso__cuda_contract_t &c,
                                         float *tile, int32_t k,
                                         int32_t end) const
    {
        const int row = threadIdx.x / OUTER;
        float *to = tile + row * (OUTER + PAD) + threadIdx.x % OUTER;

#pragma unroll
        for (int i = 0; i < STEP; i += ROWS) {
            int32_t channel = k + row + i;
            const bool is_in = channel < end;
            const int32_t tap = split(channel, c.taps);
            int32_t offset = origin.offset + channel * c.b_inner;
            bool is_there;

            if (HAS_MASK) {
                offset += table[tap].x;
                is_there = is_in && ((inside >> tap) & 1) != 0;
            } else {
                const int4 at = table[tap];

                offset += at.x;
                is_there = is_in && origin.is_in &&
                           is_inside(c, origin, at.y, at.z, at.w);
            }
            copy_one(to + i * (OUTER + PAD), from + (is_there ? offset : 0),
                     is_there);
        }
    }
};

} /* namespace */

#endif
