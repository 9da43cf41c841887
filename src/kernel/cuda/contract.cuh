/*
 * The kernel of a contraction in tiles, for each way of loading the operands.
 * The tiles of each size are a file of their own, which includes this.
 */
#ifndef ISO_CUDA_CONTRACT_CUH
#define ISO_CUDA_CONTRACT_CUH

#include "kernel/cuda/tile.cuh"

namespace
{

/* ---- The kernels, by how operands are loaded ---- */

template <class SHAPE, bool A_INNER> struct a_loader_t;

template <class SHAPE> struct a_loader_t<SHAPE, true> {
    inner_loader_t<SHAPE::ROWS, SHAPE::THREADS> loader;

    __device__ __forceinline__ a_loader_t(const iso__cuda_contract_t &c,
                                          const task_t &task)
    {
        loader.begin(c.a + matrix_of(c, c.z_a, task.z), c.a_row, task.row,
                     c.rows);
    }
};

template <class SHAPE> struct a_loader_t<SHAPE, false> {
    one_loader_t<SHAPE::ROWS, SHAPE::THREADS> loader;

    __device__ __forceinline__ a_loader_t(const iso__cuda_contract_t &c,
                                          const task_t &task)
    {
        const int32_t row = task.row + (int32_t)threadIdx.x % SHAPE::ROWS;

        loader.begin(c.a + matrix_of(c, c.z_a, task.z), row * c.a_row,
                     c.a_inner, row < c.rows);
    }
};

template <class SHAPE, int COLUMNS> struct b_loader_t;

template <class SHAPE> struct b_loader_t<SHAPE, ISO__CUDA_COLUMNS_FOUR> {
    four_loader_t<SHAPE::COLS, SHAPE::THREADS> loader;

    __device__ __forceinline__ b_loader_t(const iso__cuda_contract_t &c,
                                          const task_t &task, const int4 *)
    {
        const origin_t origin = origin_of(
            c, task.col + (int32_t)threadIdx.x % (SHAPE::COLS / 4) * 4);

        loader.begin(c.b + matrix_of(c, c.z_b, task.z), origin.offset,
                     c.b_inner, origin.is_in);
    }

    __device__ __forceinline__ void load(const iso__cuda_contract_t &,
                                         float *tile, int32_t k,
                                         int32_t end) const
    {
        loader.load(tile, k, end);
    }
};

template <class SHAPE> struct b_loader_t<SHAPE, ISO__CUDA_COLUMNS_ONE> {
    one_loader_t<SHAPE::COLS, SHAPE::THREADS> loader;

    __device__ __forceinline__ b_loader_t(const iso__cuda_contract_t &c,
                                          const task_t &task, const int4 *)
    {
        const origin_t origin =
            origin_of(c, task.col + (int32_t)threadIdx.x % SHAPE::COLS);

        loader.begin(c.b + matrix_of(c, c.z_b, task.z), origin.offset,
                     c.b_inner, origin.is_in);
    }

    __device__ __forceinline__ void load(const iso__cuda_contract_t &,
                                         float *tile, int32_t k,
                                         int32_t end) const
    {
        loader.load(tile, k, end);
    }
};

template <class SHAPE> struct b_loader_t<SHAPE, ISO__CUDA_COLUMNS_INNER> {
    inner_loader_t<SHAPE::COLS, SHAPE::THREADS> loader;

    __device__ __forceinline__ b_loader_t(const iso__cuda_contract_t &c,
                                          const task_t &task, const int4 *)
    {
        loader.begin(c.b + matrix_of(c, c.z_b, task.z), c.window.strides[2],
                     task.col, c.cols);
    }

    __device__ __forceinline__ void load(const iso__cuda_contract_t &,
                                         float *tile, int32_t k,
                                         int32_t end) const
    {
        loader.load(tile, k, end);
    }
};

template <class SHAPE, bool HAS_MASK> struct b_window_t {
    window_loader_t<SHAPE::COLS, SHAPE::THREADS, HAS_MASK> loader;

    __device__ __forceinline__ b_window_t(const iso__cuda_contract_t &c,
                                          const task_t &task, const int4 *table)
    {
        loader.begin(c, c.b + matrix_of(c, c.z_b, task.z), table,
                     task.col + (int32_t)threadIdx.x % SHAPE::COLS);
    }

    __device__ __forceinline__ void load(const iso__cuda_contract_t &c,
                                         float *tile, int32_t k,
                                         int32_t end) const
    {
        loader.load(c, tile, k, end);
    }
};

template <class SHAPE>
struct b_loader_t<SHAPE, ISO__CUDA_COLUMNS_MASK> : b_window_t<SHAPE, true> {
    using b_window_t<SHAPE, true>::b_window_t;
};

template <class SHAPE>
struct b_loader_t<SHAPE, ISO__CUDA_COLUMNS_WINDOW> : b_window_t<SHAPE, false> {
    using b_window_t<SHAPE, false>::b_window_t;
};

template <int COLUMNS> struct table_t {
    static const bool IS_USED = COLUMNS == ISO__CUDA_COLUMNS_MASK ||
                                COLUMNS == ISO__CUDA_COLUMNS_WINDOW;
};

template <class SHAPE, bool A_INNER, int COLUMNS>
__global__ void __launch_bounds__(SHAPE::THREADS, SHAPE::RESIDENT)
    contract_kernel(const __grid_constant__ iso__cuda_contract_t c)
{
    extern __shared__ float4 space[];
    float *tiles = (float *)space;
    int4 *table = (int4 *)(tiles + STAGES * (SHAPE::A_TILE + SHAPE::B_TILE));
    const task_t task = task_of<SHAPE>(c);
    const place_t<SHAPE> place;
    sums_t<SHAPE> sums;

    if (table_t<COLUMNS>::IS_USED) {
        for (int32_t tap = threadIdx.x; tap < c.n_taps; tap += SHAPE::THREADS) {
            int32_t at[ISO__CUDA_SPATIAL];

            tap_of(c, tap, at);
            table[tap] = make_int4(
                (at[0] * c.window.in[1] + at[1]) * c.window.in[2] + at[2],
                at[0], at[1], at[2]);
        }
        __syncthreads();
    }

    const a_loader_t<SHAPE, A_INNER> a(c, task);
    const b_loader_t<SHAPE, COLUMNS> b(c, task, table);

    run_tile<SHAPE>(c, task, tiles, place, sums,
                    [&](float *stage, const cursor_t &at) {
                        a.loader.load(stage, at.k, at.end);
                        b.load(c, stage + SHAPE::A_TILE, at.k, at.end);
                    });
    store(c, task, place, sums);
}

/* ---- Launch ---- */

template <class SHAPE, bool A_INNER, int COLUMNS>
cudaError_t launch(iso__cuda_stream_t stream, const iso__cuda_contract_t &c)
{
    const int64_t rows = (c.rows + SHAPE::ROWS - 1) / SHAPE::ROWS;
    const int64_t cols = (c.cols + SHAPE::COLS - 1) / SHAPE::COLS;
    const size_t bytes =
        STAGES * (SHAPE::A_TILE + SHAPE::B_TILE) * sizeof(float) +
        (table_t<COLUMNS>::IS_USED ? (size_t)c.n_taps * sizeof(int4) : 0);
    const cudaError_t error = cudaFuncSetAttribute(
        contract_kernel<SHAPE, A_INNER, COLUMNS>,
        cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);

    if (error != cudaSuccess) {
        return error;
    }
    contract_kernel<SHAPE, A_INNER, COLUMNS>
        <<<(unsigned)(rows * cols * c.n_splits * c.n_z), SHAPE::THREADS, bytes,
           stream>>>(c);
    return cudaGetLastError();
}

template <class SHAPE>
iso__cuda_error_t launch_shape(iso__cuda_stream_t stream,
                               const iso__cuda_contract_t &c)
{
    switch (c.columns) {
    case ISO__CUDA_COLUMNS_FOUR:
        return c.a_is_inner
                   ? launch<SHAPE, true, ISO__CUDA_COLUMNS_FOUR>(stream, c)
                   : launch<SHAPE, false, ISO__CUDA_COLUMNS_FOUR>(stream, c);
    case ISO__CUDA_COLUMNS_ONE:
        return c.a_is_inner
                   ? launch<SHAPE, true, ISO__CUDA_COLUMNS_ONE>(stream, c)
                   : launch<SHAPE, false, ISO__CUDA_COLUMNS_ONE>(stream, c);
    case ISO__CUDA_COLUMNS_INNER:
        return c.a_is_inner
                   ? launch<SHAPE, true, ISO__CUDA_COLUMNS_INNER>(stream, c)
                   : launch<SHAPE, false, ISO__CUDA_COLUMNS_INNER>(stream, c);
    case ISO__CUDA_COLUMNS_MASK:
        return launch<SHAPE, true, ISO__CUDA_COLUMNS_MASK>(stream, c);
    default:
        return launch<SHAPE, true, ISO__CUDA_COLUMNS_WINDOW>(stream, c);
    }
}

} /* namespace */

#endif
