/* Moves: each element of the result is copied from somewhere. */
#include "kernel/cuda/device.cuh"

namespace
{

template <class ELEMENT>
__global__ void __launch_bounds__(DEVICE_THREADS)
    move_kernel(const __grid_constant__ iso__cuda_walk_t walk, const ELEMENT *x,
                ELEMENT *y)
{
    const int64_t i = thread_number();

    if (i < walk.count) {
        int32_t place[1];

        places_of(walk, (int32_t)i, place);
        y[i] = x[place[0]];
    }
}

template <class ELEMENT>
__global__ void __launch_bounds__(DEVICE_THREADS)
    where_kernel(const __grid_constant__ iso__cuda_walk_t walk,
                 const uint8_t *condition, const ELEMENT *x, const ELEMENT *y,
                 ELEMENT *z)
{
    const int64_t i = thread_number();

    if (i < walk.count) {
        int32_t place[3];

        places_of(walk, (int32_t)i, place);
        z[i] = condition[place[0]] != 0 ? x[place[1]] : y[place[2]];
    }
}

template <class ELEMENT>
__global__ void __launch_bounds__(DEVICE_THREADS)
    rows_kernel(int32_t count, iso__cuda_divisor_t row, int32_t y_row,
                const ELEMENT *x, ELEMENT *y)
{
    const int64_t i = thread_number();

    if (i < count) {
        int32_t number = (int32_t)i;
        const int32_t at = split(number, row);

        y[(int64_t)number * y_row + at] = x[i];
    }
}

/* Index that is read for index i of a padded axis; -1: the constant. The
 * modes are those of graph/param.h: constant, reflect, edge. */
__device__ __forceinline__ int32_t pad_source(int32_t mode, int32_t i,
                                              int32_t dim)
{
    const int32_t period = 2 * (dim - 1);

    if (i >= 0 && i < dim) {
        return i;
    }
    if (mode == 0) {
        return -1;
    }
    if (mode == 2) {
        return i < 0 ? 0 : dim - 1;
    }
    if (period == 0) {
        return 0;
    }
    i = (i < 0 ? -i : i) % period;
    return i < dim ? i : period - i;
}

template <class ELEMENT>
__global__ void __launch_bounds__(DEVICE_THREADS)
    pad_kernel(const __grid_constant__ iso__cuda_pad_t p, const ELEMENT *x,
               ELEMENT *y)
{
    const int64_t i = thread_number();

    if (i >= p.count) {
        return;
    }

    int32_t rest = (int32_t)i;
    int32_t step = 1;
    int32_t offset = 0;

    for (int axis = p.rank - 1; axis >= 0 && offset >= 0; axis--) {
        const int32_t from = pad_source(
            p.mode, split(rest, p.out[axis]) - p.begin[axis], p.in[axis]);

        offset = from < 0 ? -1 : offset + from * step;
        step *= p.in[axis];
    }
    y[i] = offset < 0 ? (ELEMENT)p.value : x[offset];
}

/* ---- Places that indices name ---- */

__device__ __forceinline__ int64_t index_at(const iso__cuda_indices_t &indices,
                                            int32_t i)
{
    switch (indices.width) {
    case 8:
        return ((const int64_t *)indices.indices)[i];
    case 4:
        return ((const int32_t *)indices.indices)[i];
    default:
        return indices.is_signed ? ((const int8_t *)indices.indices)[i]
                                 : ((const uint8_t *)indices.indices)[i];
    }
}

/* Counted from the end where it is negative; 0 where it is out of range. */
__device__ __forceinline__ int32_t
resolved_at(const iso__cuda_indices_t &indices, int32_t i)
{
    const int64_t index = index_at(indices, i);

    if (index < -indices.dim || index >= indices.dim) {
        return 0;
    }
    return (int32_t)(index < 0 ? index + indices.dim : index);
}

/* One block, so that the first bad index is found without a race. */
__global__ void __launch_bounds__(DEVICE_THREADS)
    check_kernel(iso__cuda_indices_t indices, const void *node,
                 iso__cuda_fault_t *fault)
{
    __shared__ int32_t first;

    if (threadIdx.x == 0) {
        first = INT32_MAX;
    }
    __syncthreads();
    for (int32_t i = threadIdx.x; i < indices.count; i += DEVICE_THREADS) {
        const int64_t index = index_at(indices, i);

        if (index < -indices.dim || index >= indices.dim) {
            atomicMin(&first, i);
            break;
        }
    }
    __syncthreads();
    if (threadIdx.x == 0 && first != INT32_MAX && fault->node == NULL) {
        fault->index = index_at(indices, first);
        fault->place = first;
        fault->dim = indices.dim;
        fault->node = node;
    }
}

template <class ELEMENT>
__global__ void __launch_bounds__(DEVICE_THREADS)
    gather_kernel(iso__cuda_indices_t indices, int32_t count,
                  iso__cuda_divisor_t picks, iso__cuda_divisor_t inner,
                  const ELEMENT *x, ELEMENT *y)
{
    const int64_t i = thread_number();

    if (i < count) {
        int32_t outer = (int32_t)i;
        const int32_t in = split(outer, inner);
        const int32_t from = resolved_at(indices, split(outer, picks));

        y[i] = x[(outer * indices.dim + from) * (int32_t)inner.divisor + in];
    }
}

template <class ELEMENT>
__global__ void __launch_bounds__(DEVICE_THREADS)
    gather_elements_kernel(iso__cuda_indices_t indices,
                           const __grid_constant__ iso__cuda_walk_t walk,
                           int32_t along, const ELEMENT *x, ELEMENT *y)
{
    const int64_t i = thread_number();

    if (i < walk.count) {
        int32_t place[1];

        places_of(walk, (int32_t)i, place);
        y[i] = x[place[0] + resolved_at(indices, (int32_t)i) * along];
    }
}

} /* namespace */

/* The statement for the type of elements of this width. */
#define BY_ELEMENT(...)             \
    switch (element) {              \
    case 1: {                       \
        typedef uint8_t element_t;  \
        __VA_ARGS__;                \
        break;                      \
    }                               \
    case 2: {                       \
        typedef uint16_t element_t; \
        __VA_ARGS__;                \
        break;                      \
    }                               \
    case 4: {                       \
        typedef uint32_t element_t; \
        __VA_ARGS__;                \
        break;                      \
    }                               \
    default: {                      \
        typedef uint64_t element_t; \
        __VA_ARGS__;                \
        break;                      \
    }                               \
    }

iso__cuda_error_t iso__cuda_move(iso__cuda_stream_t stream, int element,
                                 const iso__cuda_walk_t *walk, const void *x,
                                 void *y)
{
    const unsigned blocks = blocks_for(walk->count);

    BY_ELEMENT(move_kernel<element_t><<<blocks, DEVICE_THREADS, 0, stream>>>(
        *walk, (const element_t *)x, (element_t *)y))
    return launched();
}

iso__cuda_error_t iso__cuda_where(iso__cuda_stream_t stream, int element,
                                  const iso__cuda_walk_t *walk,
                                  const uint8_t *condition, const void *x,
                                  const void *y, void *z)
{
    const unsigned blocks = blocks_for(walk->count);

    BY_ELEMENT(where_kernel<element_t><<<blocks, DEVICE_THREADS, 0, stream>>>(
        *walk, condition, (const element_t *)x, (const element_t *)y,
        (element_t *)z))
    return launched();
}

iso__cuda_error_t iso__cuda_rows(iso__cuda_stream_t stream, int element,
                                 int32_t count, int32_t row, int32_t y_row,
                                 const void *x, void *y)
{
    const unsigned blocks = blocks_for(count);

    BY_ELEMENT(rows_kernel<element_t><<<blocks, DEVICE_THREADS, 0, stream>>>(
        count, iso__cuda_divisor_of(row), y_row, (const element_t *)x,
        (element_t *)y))
    return launched();
}

iso__cuda_error_t iso__cuda_pad(iso__cuda_stream_t stream, int element,
                                const iso__cuda_pad_t *pad, const void *x,
                                void *y)
{
    const unsigned blocks = blocks_for(pad->count);

    BY_ELEMENT(pad_kernel<element_t><<<blocks, DEVICE_THREADS, 0, stream>>>(
        *pad, (const element_t *)x, (element_t *)y))
    return launched();
}

iso__cuda_error_t iso__cuda_check(iso__cuda_stream_t stream,
                                  const iso__cuda_indices_t *indices,
                                  const void *node, iso__cuda_fault_t *fault)
{
    check_kernel<<<1, DEVICE_THREADS, 0, stream>>>(*indices, node, fault);
    return launched();
}

iso__cuda_error_t iso__cuda_gather(iso__cuda_stream_t stream, int element,
                                   const iso__cuda_indices_t *indices,
                                   int32_t outer, int32_t inner, const void *x,
                                   void *y)
{
    const int32_t count = outer * indices->count * inner;
    const unsigned blocks = blocks_for(count);

    BY_ELEMENT(gather_kernel<element_t><<<blocks, DEVICE_THREADS, 0, stream>>>(
        *indices, count, iso__cuda_divisor_of(indices->count),
        iso__cuda_divisor_of(inner), (const element_t *)x, (element_t *)y))
    return launched();
}

iso__cuda_error_t iso__cuda_gather_elements(
    iso__cuda_stream_t stream, int element, const iso__cuda_indices_t *indices,
    const iso__cuda_walk_t *walk, int32_t along, const void *x, void *y)
{
    const unsigned blocks = blocks_for(walk->count);

    BY_ELEMENT(gather_elements_kernel<element_t>
               <<<blocks, DEVICE_THREADS, 0, stream>>>(*indices, *walk, along,
                                                       (const element_t *)x,
                                                       (element_t *)y))
    return launched();
}
