/*
 * The tile of y that a block of threads computes: each thread some rows and
 * columns of it in registers. Where a block of arith.h ends the sums go to a
 * small stack of partial sums, which is the binary counter of the tree; it is
 * in local memory and rarely touched.
 */
#ifndef ISO_CUDA_TILE_CUH
#define ISO_CUDA_TILE_CUH

#include "kernel/cuda/apply.cuh"
#include "kernel/cuda/loaders.cuh"

namespace
{

enum { LEVELS = 4 }; /* partial sums; 2^LEVELS blocks in a split */

/* ---- The tile of one thread block ---- */

template <int ROWS_OF, int COLS_OF, int TM, int TN> struct shape_t {
    static const int ROWS = ROWS_OF;
    static const int COLS = COLS_OF;
    static const int M = TM; /* rows and columns of a thread */
    static const int N = TN;
    static const int THREADS_X = COLS / TN;
    static const int THREADS = ROWS / TM * THREADS_X;
    /* Thread blocks on a processor, as registers allow. */
    static const int RESIDENT = 512 / THREADS;
    static const int A_TILE = STEP * (ROWS + PAD);
    static const int B_TILE = STEP * (COLS + PAD);
    /* Groups of four rows or columns, as far apart as there are threads. */
    static const int M_APART = ROWS / (TM / 4);
    static const int N_APART = COLS / (TN / 4);
};

/* Which thread of the tile this is: warps are 8 rows of 4 threads, so that the
 * eight threads that read shared memory together read few places of it. */
template <class SHAPE> struct place_t {
    int y;
    int x;

    __device__ __forceinline__ place_t()
    {
        const int warp = threadIdx.x / 32;
        const int lane = threadIdx.x % 32;
        const int warps_x = SHAPE::THREADS_X / 4;

        y = warp / warps_x * 8 + lane / 2 % 8;
        x = warp % warps_x * 4 + lane / 16 * 2 + lane % 2;
    }
};

template <class SHAPE> struct sums_t {
    float v[SHAPE::M][SHAPE::N];

    __device__ __forceinline__ void clear()
    {
#pragma unroll
        for (int i = 0; i < SHAPE::M; i++) {
#pragma unroll
            for (int j = 0; j < SHAPE::N; j++) {
                v[i][j] = 0;
            }
        }
    }

    /* earlier + this: the earlier partial is the left operand. */
    __device__ __forceinline__ void add_to(const sums_t &earlier)
    {
#pragma unroll
        for (int i = 0; i < SHAPE::M; i++) {
#pragma unroll
            for (int j = 0; j < SHAPE::N; j++) {
                v[i][j] = __fadd_rn(earlier.v[i][j], v[i][j]);
            }
        }
    }
};

/* What a thread multiplies for one k. */
template <class SHAPE> struct factors_t {
    float row[SHAPE::M];
    float col[SHAPE::N];

    __device__ __forceinline__ void read(const float *a, const float *b, int k,
                                         const place_t<SHAPE> &place)
    {
#pragma unroll
        for (int i = 0; i < SHAPE::M / 4; i++) {
            *(float4 *)&row[4 * i] =
                *(const float4 *)&a[k * (SHAPE::ROWS + PAD) +
                                    i * SHAPE::M_APART + 4 * place.y];
        }
#pragma unroll
        for (int j = 0; j < SHAPE::N / 4; j++) {
            *(float4 *)&col[4 * j] =
                *(const float4 *)&b[k * (SHAPE::COLS + PAD) +
                                    j * SHAPE::N_APART + 4 * place.x];
        }
    }
};

/* The factors of the next k are read while those of this one are multiplied;
 * columns go there and back, so that an instruction shares a factor with the
 * one before it. */
template <class SHAPE>
__device__ __forceinline__ void multiply(const float *a, const float *b,
                                         const place_t<SHAPE> &place,
                                         sums_t<SHAPE> &sums)
{
    factors_t<SHAPE> factors[2];

    factors[0].read(a, b, 0, place);
#pragma unroll
    for (int k = 0; k < STEP; k++) {
        const factors_t<SHAPE> &now = factors[k % 2];

        if (k + 1 < STEP) {
            factors[(k + 1) % 2].read(a, b, k + 1, place);
        }
#pragma unroll
        for (int i = 0; i < SHAPE::M; i++) {
#pragma unroll
            for (int n = 0; n < SHAPE::N; n++) {
                const int j = i % 2 == 0 ? n : SHAPE::N - 1 - n;

                sums.v[i][j] = __fmaf_rn(now.row[i], now.col[j], sums.v[i][j]);
            }
        }
    }
}

/* What one thread block does. */
struct task_t {
    int32_t row;
    int32_t col;
    int32_t z;
    int32_t first; /* blocks of the reduction */
    int32_t last;  /* and after the last one */
    int32_t split;
};

template <class SHAPE>
__device__ __forceinline__ task_t task_of(const iso__cuda_contract_t &c)
{
    const uint32_t rows = (c.rows + SHAPE::ROWS - 1) / SHAPE::ROWS;
    const uint32_t cols = (c.cols + SHAPE::COLS - 1) / SHAPE::COLS;
    uint32_t number = blockIdx.x;
    task_t task;

    task.row = (int32_t)(number % rows) * SHAPE::ROWS;
    number /= rows;
    task.col = (int32_t)(number % cols) * SHAPE::COLS;
    number /= cols;
    task.split = (int32_t)(number % c.n_splits);
    task.z = (int32_t)(number / c.n_splits);
    task.first = task.split * c.split_blocks;
    task.last = min(task.first + c.split_blocks, c.n_blocks);
    return task;
}

/* Offset of matrix z of an operand. */
__device__ __forceinline__ int32_t matrix_of(const iso__cuda_contract_t &c,
                                             const int32_t *steps, int32_t z)
{
    int32_t offset = 0;

    for (int axis = c.z_rank - 1; axis >= 0; axis--) {
        offset += z % c.z_dims[axis] * steps[axis];
        z /= c.z_dims[axis];
    }
    return offset;
}

template <class SHAPE>
__device__ __forceinline__ void
store(const iso__cuda_contract_t &c, const task_t &task,
      const place_t<SHAPE> &place, const sums_t<SHAPE> &sums)
{
    const bool is_part = c.n_splits > 1;
    float *y = is_part ? c.partial + (int64_t)task.split * c.elements : c.y;
    const float *bias =
        c.bias == NULL || is_part ? NULL : c.bias + task.z * c.z_bias;

    y += task.z * c.z_y;
#pragma unroll
    for (int j = 0; j < SHAPE::N; j++) {
        const int32_t col =
            task.col + j / 4 * SHAPE::N_APART + 4 * place.x + j % 4;
        int32_t image = col;
        const int32_t position = split(image, c.positions);
        float *to = y + (image * c.y_image + position);

#pragma unroll
        for (int i = 0; i < SHAPE::M; i++) {
            const int32_t row =
                task.row + i / 4 * SHAPE::M_APART + 4 * place.y + i % 4;
            float value = sums.v[i][j];

            if (row >= c.rows || col >= c.cols) {
                continue;
            }
            if (!is_part) {
                value = __fadd_rn(value, 0.0F);
                if (bias != NULL) {
                    value = __fadd_rn(value, bias[c.bias_by_row ? row : col]);
                }
                value = applied_light(c.activation, value);
            }
            to[row * c.y_row] = value;
        }
    }
}

/* The loop over the reduction: `load` brings step k of a stage. */
template <class SHAPE, class LOAD>
__device__ __forceinline__ void
run_tile(const iso__cuda_contract_t &c, const task_t &task, float *shared,
         const place_t<SHAPE> &place, sums_t<SHAPE> &sums, const LOAD &load)
{
    const int stage_size = SHAPE::A_TILE + SHAPE::B_TILE;
    sums_t<SHAPE> partial[LEVELS];
    cursor_t ahead;
    cursor_t now;
    int stage = 0;

    ahead.begin(c, task.first);
    now = ahead;
#pragma unroll
    for (int s = 0; s < STAGES - 1; s++) {
        if (ahead.b < task.last) {
            load(shared + s * stage_size, ahead);
            ahead.next(c);
        }
        copies_end();
    }
    sums.clear();
    while (now.b < task.last) {
        const int next = stage == 0 ? STAGES - 1 : stage - 1;
        const int32_t number = now.b - task.first;

        copies_wait();
        __syncthreads();
        if (ahead.b < task.last) {
            load(shared + next * stage_size, ahead);
            ahead.next(c);
        }
        copies_end();
        multiply(shared + stage * stage_size,
                 shared + stage * stage_size + SHAPE::A_TILE, place, sums);
        stage = stage + 1 == STAGES ? 0 : stage + 1;
        if (now.next(c)) {
            const bool is_last = now.b >= task.last;
            int level = 0;

            /* Push to the binary counter; after the last one all is added. */
            for (; is_last ? number >> level != 0 : (number >> level & 1) != 0;
                 level++) {
                if ((number >> level & 1) != 0) {
                    sums.add_to(partial[level]);
                }
            }
            if (!is_last) {
                partial[level] = sums;
                sums.clear();
            }
        }
    }
}

} /* namespace */

#endif
