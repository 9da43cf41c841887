/* Moves, of elements of any type. */
#include "kernel/cuda/run.h"
#include "kernel/move.h"
#include "kernel/ref/ref_impl.h"

static int element_of(const iso_tensor_t *tensor)
{
    return (int)iso_dtype_bytes(tensor->dtype);
}

static iso_status_t run_steps(const iso_cuda_t *cuda, const iso_node_t *node,
                              const iso_tensor_t *const *inputs,
                              const iso_tensor_t *output,
                              iso__cuda_error_t *error_out)
{
    iso__cuda_walk_t walk;
    iso__walk_t steps;

    ISO_TRY(iso__move_walk_of(node, inputs[0], output, &steps));
    walk = iso__cuda_walk_of(&steps);
    *error_out = iso__cuda_move(cuda->stream, element_of(output), &walk,
                                inputs[0]->data, output->data);
    return ISO_OK;
}

static iso__cuda_error_t run_where(const iso_cuda_t *cuda,
                                   const iso_tensor_t *const *inputs,
                                   const iso_tensor_t *output)
{
    iso__cuda_walk_t walk;
    iso__walk_t steps;

    iso__walk_begin(&steps, output->rank, output->dims);
    for (int i = 0; i < 3; i++) {
        (void)iso__walk_add_broadcast(&steps, inputs[i]);
    }
    walk = iso__cuda_walk_of(&steps);
    return iso__cuda_where(cuda->stream, element_of(output), &walk,
                           inputs[0]->data, inputs[1]->data, inputs[2]->data,
                           output->data);
}

static iso_status_t run_concat(const iso_cuda_t *cuda, const iso_node_t *node,
                               const iso_tensor_t *const *inputs,
                               const iso_tensor_t *output,
                               iso__cuda_error_t *error_out)
{
    const int element = element_of(output);
    char *to = output->data;
    int axis = 0;

    ISO_TRY(iso_axis_of(node, output->rank, 0, &axis));

    const int64_t inner =
        iso__dims_product(output->dims, axis + 1, output->rank);
    const int64_t out_row = output->dims[axis] * inner;

    for (int i = 0; i < node->n_inputs && *error_out == 0; i++) {
        const int64_t row = inputs[i]->dims[axis] * inner;
        const int64_t count = iso_tensor_count(inputs[i]);

        if (count > 0) {
            *error_out = iso__cuda_rows(cuda->stream, element, (int32_t)count,
                                        (int32_t)row, (int32_t)out_row,
                                        inputs[i]->data, to);
        }
        to += row * element;
    }
    return ISO_OK;
}

/* The bits of a padding value as ref stores it. */
static uint64_t bits_of(iso_dtype_t dtype, double value)
{
    uint64_t bits = 0;
    const iso_tensor_t one = {.dtype = dtype, .data = &bits};

    iso__ref_store_f64(&one, 0, value);
    return bits;
}

static iso_status_t run_pad(const iso_cuda_t *cuda, const iso_node_t *node,
                            const iso_tensor_t *x, const iso_tensor_t *output,
                            iso__cuda_error_t *error_out)
{
    iso__cuda_pad_t pad = {.count = (int32_t)iso_tensor_count(output),
                           .rank = x->rank};
    iso_pad_param_t param;

    ISO_TRY(iso_pad_param_of(node, x->rank, &param));
    pad.mode = (int32_t)param.mode;
    for (int axis = 0; axis < x->rank; axis++) {
        pad.out[axis] = iso__cuda_divisor_of(output->dims[axis]);
        pad.in[axis] = (int32_t)x->dims[axis];
        pad.begin[axis] = (int32_t)param.begin[axis];
    }
    pad.value = bits_of(output->dtype, param.value);
    *error_out = iso__cuda_pad(cuda->stream, element_of(output), &pad, x->data,
                               output->data);
    return ISO_OK;
}

/* ---- gather ---- */

static iso__cuda_indices_t indices_of(const iso_tensor_t *indices, int64_t dim)
{
    return (iso__cuda_indices_t){
        .indices = indices->data,
        .width = (int32_t)iso_dtype_bytes(indices->dtype),
        .is_signed = indices->dtype != ISO_DTYPE_U8,
        .count = (int32_t)iso_tensor_count(indices),
        .dim = (int32_t)dim,
    };
}

static iso__cuda_error_t check(const iso_cuda_t *cuda, const iso_node_t *node,
                               const iso__cuda_indices_t *indices)
{
    return iso__cuda_check(cuda->stream, indices, node, cuda->device_fault);
}

static iso_status_t run_gather(const iso_cuda_t *cuda, const iso_node_t *node,
                               const iso_tensor_t *const *inputs,
                               const iso_tensor_t *output,
                               iso__cuda_error_t *error_out)
{
    const iso_tensor_t *x = inputs[0];
    int axis = 0;

    ISO_TRY(iso_axis_of(node, x->rank, 0, &axis));

    const iso__cuda_indices_t indices = indices_of(inputs[1], x->dims[axis]);

    *error_out = check(cuda, node, &indices);
    if (*error_out == 0 && x->dims[axis] > 0) {
        *error_out = iso__cuda_gather(
            cuda->stream, element_of(output), &indices,
            (int32_t)iso__dims_product(x->dims, 0, axis),
            (int32_t)iso__dims_product(x->dims, axis + 1, x->rank), x->data,
            output->data);
    }
    return ISO_OK;
}

static iso_status_t run_gather_elements(const iso_cuda_t *cuda,
                                        const iso_node_t *node,
                                        const iso_tensor_t *const *inputs,
                                        const iso_tensor_t *output,
                                        iso__cuda_error_t *error_out)
{
    const iso_tensor_t *x = inputs[0];
    int64_t strides[ISO_MAX_RANK];
    int axis = 0;
    iso__cuda_walk_t walk;
    iso__walk_t steps;

    ISO_TRY(iso_axis_of(node, x->rank, 0, &axis));
    iso__strides_of(x->rank, x->dims, strides);

    const int64_t along = strides[axis];
    const iso__cuda_indices_t indices = indices_of(inputs[1], x->dims[axis]);

    strides[axis] = 0;
    iso__walk_begin(&steps, output->rank, output->dims);
    (void)iso__walk_add(&steps, 0, strides);
    walk = iso__cuda_walk_of(&steps);
    *error_out = check(cuda, node, &indices);
    if (*error_out == 0 && x->dims[axis] > 0) {
        *error_out = iso__cuda_gather_elements(cuda->stream, element_of(output),
                                               &indices, &walk, (int32_t)along,
                                               x->data, output->data);
    }
    return ISO_OK;
}

iso_status_t iso__cuda_run_move(const iso_cuda_t *cuda, const iso_node_t *node,
                                const iso_tensor_t *const *inputs,
                                const iso_tensor_t *output,
                                iso__cuda_error_t *error_out)
{
    switch (node->op) {
    case ISO_OP_RESHAPE:
        *error_out = iso__cuda_copy(cuda, output->data, inputs[0]->data,
                                    iso_tensor_bytes(output));
        return ISO_OK;
    case ISO_OP_WHERE:
        *error_out = run_where(cuda, inputs, output);
        return ISO_OK;
    case ISO_OP_CONCAT:
        return run_concat(cuda, node, inputs, output, error_out);
    case ISO_OP_PAD:
        return run_pad(cuda, node, inputs[0], output, error_out);
    case ISO_OP_GATHER:
        return run_gather(cuda, node, inputs, output, error_out);
    case ISO_OP_GATHER_ELEMENTS:
        return run_gather_elements(cuda, node, inputs, output, error_out);
    default:
        return run_steps(cuda, node, inputs, output, error_out);
    }
}
