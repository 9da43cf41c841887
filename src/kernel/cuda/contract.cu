/*
 * Contractions in tiles. A block of threads computes a tile of y, each thread
 * a few rows and columns of it in registers; tiles of a and b go through
 * shared memory by asynchronous copies, some steps ahead. Where a block of
 * arith.h ends the sums go to a small stack of partial sums, which is the
 * binary counter of the tree; it is in local memory and rarely touched.
 *
 * A reduction of many blocks, or a small y, is split: aligned runs of 2^p
 * blocks are nodes of the tree, so that other thread blocks may compute them
 * and combine.cu adds what is above.
 *
 * Past the end of a block, and past the last row or column, both operands
 * read +0: that changes no bit (see arith.h).
 */
#include "kernel/cuda/apply.cuh"
#include "kernel/cuda/device.cuh"

namespace
{

enum {
    STEP = 16,  /* products that a tile of a or b holds */
    STAGES = 3, /* tiles that are there or on their way */
    PAD = 4,    /* floats after a row, against bank conflicts */
    LEVELS = 4, /* partial sums; 2^LEVELS blocks in a split */
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
    int32_t left; /* outer indices from this thread's first one on */

    __device__ __forceinline__ void begin(const float *data, int32_t outer_step,
                                          int32_t first, int32_t count)
    {
        const int32_t at = first + (int32_t)threadIdx.x / 8;

        step = outer_step;
        left = count - at;
        from = data + (int64_t)(left > 0 ? at : 0) * outer_step;
    }

    __device__ __forceinline__ void load(float *tile, int32_t k,
                                         int32_t end) const
    {
        const int lane = threadIdx.x % 8;
        float *to = tile + lane * (OUTER + PAD) + threadIdx.x / 8;

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
            split(position, c.out[axis]) * c.strides[axis] - c.pads[axis];
    }
#pragma unroll
    for (int axis = 0; axis < ISO__CUDA_SPATIAL; axis++) {
        origin.offset = origin.offset * c.in[axis] + origin.at[axis];
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
        at[axis] = tap % c.kernel[axis] * c.dilations[axis];
        tap /= c.kernel[axis];
    }
}

__device__ __forceinline__ bool is_inside(const iso__cuda_contract_t &c,
                                          const origin_t &origin, int32_t z,
                                          int32_t y, int32_t x)
{
    return (uint32_t)(origin.at[0] + z) < (uint32_t)c.in[0] &&
           (uint32_t)(origin.at[1] + y) < (uint32_t)c.in[1] &&
           (uint32_t)(origin.at[2] + x) < (uint32_t)c.in[2];
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

/* ---- The tile of one thread block ---- */

template <int ROWS_OF, int COLS_OF, int TM, int TN> struct shape_t {
    static const int ROWS = ROWS_OF;
    static const int COLS = COLS_OF;
    static const int M = TM; /* rows and columns of a thread */
    static const int N = TN;
    static const int THREADS_X = COLS / TN;
    static const int THREADS = ROWS / TM * THREADS_X;
    static const int A_TILE = STEP * (ROWS + PAD);
    static const int B_TILE = STEP * (COLS + PAD);
    /* Groups of four rows or columns, as far apart as there are threads. */
    static const int M_APART = ROWS / (TM / 4);
    static const int N_APART = COLS / (TN / 4);
};

/* Which thread of the tile this is: warps are 4 rows of 8 threads. */
template <class SHAPE> struct place_t {
    int y;
    int x;

    __device__ __forceinline__ place_t()
    {
        const int warp = threadIdx.x / 32;
        const int lane = threadIdx.x % 32;
        const int warps_x = SHAPE::THREADS_X / 8;

        y = warp / warps_x * 4 + lane / 8;
        x = warp % warps_x * 8 + lane % 8;
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

template <class SHAPE>
__device__ __forceinline__ void multiply(const float *a, const float *b,
                                         const place_t<SHAPE> &place,
                                         sums_t<SHAPE> &sums)
{
#pragma unroll
    for (int k = 0; k < STEP; k++) {
        float row[SHAPE::M];
        float col[SHAPE::N];

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
#pragma unroll
        for (int i = 0; i < SHAPE::M; i++) {
#pragma unroll
            for (int j = 0; j < SHAPE::N; j++) {
                sums.v[i][j] = __fmaf_rn(row[i], col[j], sums.v[i][j]);
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
        loader.begin(c.b + matrix_of(c, c.z_b, task.z), c.strides[2], task.col,
                     c.cols);
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
__global__ void __launch_bounds__(SHAPE::THREADS, 512 / SHAPE::THREADS)
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
            table[tap] = make_int4((at[0] * c.in[1] + at[1]) * c.in[2] + at[2],
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
cudaError_t launch_shape(iso__cuda_stream_t stream,
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

/* ---- The tree above the splits ---- */

__global__ void __launch_bounds__(DEVICE_THREADS)
    combine_kernel(const __grid_constant__ iso__cuda_contract_t c)
{
    const int64_t i = thread_number();

    if (i >= c.elements) {
        return;
    }

    float level_sum[32];
    float sum = 0;

    for (int32_t number = 0; number < c.n_splits; number++) {
        const bool is_last = number + 1 == c.n_splits;
        int level = 0;

        sum = c.partial[(int64_t)number * c.elements + i];
        for (; is_last ? number >> level != 0 : (number >> level & 1) != 0;
             level++) {
            if ((number >> level & 1) != 0) {
                sum = __fadd_rn(level_sum[level], sum);
            }
        }
        level_sum[level] = sum;
    }
    sum = __fadd_rn(sum, 0.0F);
    if (c.bias != NULL) {
        const int32_t at = c.bias_by_row
                               ? (int32_t)i / c.y_row % (c.rows * c.n_z)
                               : (int32_t)i % c.cols;

        sum = __fadd_rn(sum, c.bias[at]);
    }
    c.y[i] = applied_light(c.activation, sum);
}

} /* namespace */

iso__cuda_error_t iso__cuda_contract(iso__cuda_stream_t stream,
                                     const iso__cuda_contract_t *contract)
{
    const iso__cuda_contract_t &c = *contract;
    cudaError_t error = cudaErrorInvalidValue;

    switch (c.tile) {
    case ISO__CUDA_TILE_128_128:
        error = launch_shape<shape_t<128, 128, 8, 8>>(stream, c);
        break;
    case ISO__CUDA_TILE_64_128:
        error = launch_shape<shape_t<64, 128, 8, 8>>(stream, c);
        break;
    default:
        error = launch_shape<shape_t<64, 64, 8, 4>>(stream, c);
        break;
    }
    if (error == cudaSuccess && c.n_splits > 1) {
        combine_kernel<<<blocks_for(c.elements), DEVICE_THREADS, 0, stream>>>(
            c);
        error = cudaGetLastError();
    }
    return (iso__cuda_error_t)error;
}
