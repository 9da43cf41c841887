#include "base/mem.h"
#include "graph/fuse_impl.h"

#include <math.h>

/* Elements of a float tensor as doubles. */
static double get(const iso_tensor_t *tensor, int64_t index)
{
    if (tensor->dtype == ISO_DTYPE_F64) {
        return ((const double *)tensor->data)[index];
    }
    return (double)((const float *)tensor->data)[index];
}

static void set(const iso_tensor_t *tensor, int64_t index, double value)
{
    if (tensor->dtype == ISO_DTYPE_F64) {
        ((double *)tensor->data)[index] = value;
    } else {
        ((float *)tensor->data)[index] = (float)value;
    }
}

iso_status_t iso__affine_create(int64_t channels, const iso_tensor_t *bias,
                                iso_affine_t *affine_out)
{
    affine_out->channels = channels;
    affine_out->scale =
        iso_alloc_zeroed((size_t)channels, sizeof *affine_out->scale);
    affine_out->shift =
        iso_alloc_zeroed((size_t)channels, sizeof *affine_out->shift);
    if (affine_out->scale == NULL || affine_out->shift == NULL) {
        iso__affine_destroy(affine_out);
        return ISO_NOMEM;
    }
    for (int64_t c = 0; c < channels; c++) {
        affine_out->scale[c] = 1.0;
        affine_out->shift[c] = bias == NULL ? 0.0 : get(bias, c);
    }
    return ISO_OK;
}

void iso__affine_destroy(iso_affine_t *affine)
{
    iso_free(affine->scale);
    iso_free(affine->shift);
    *affine = (iso_affine_t){0};
}

void iso__affine_norm(iso_affine_t *affine, const iso_tensor_t operands[4],
                      double epsilon)
{
    for (int64_t c = 0; c < affine->channels; c++) {
        double factor =
            get(&operands[0], c) / sqrt(get(&operands[3], c) + epsilon);

        affine->scale[c] *= factor;
        affine->shift[c] = (affine->shift[c] - get(&operands[2], c)) * factor +
                           get(&operands[1], c);
    }
}

void iso__affine_multiply(iso_affine_t *affine, const iso_tensor_t *factors)
{
    for (int64_t c = 0; c < affine->channels; c++) {
        affine->scale[c] *= get(factors, c);
        affine->shift[c] *= get(factors, c);
    }
}

void iso__affine_add(iso_affine_t *affine, const iso_tensor_t *summands)
{
    for (int64_t c = 0; c < affine->channels; c++) {
        affine->shift[c] += get(summands, c);
    }
}

/* Allocate a tensor like this one. */
static iso_status_t new_like(const iso_tensor_t *tensor,
                             iso_tensor_t *tensor_out)
{
    *tensor_out = *tensor;
    tensor_out->data = iso_alloc(iso_tensor_bytes(tensor));
    return tensor_out->data == NULL ? ISO_NOMEM : ISO_OK;
}

/* Output channel that weight i belongs to; slice weights share an index of
 * the first axis. */
static int64_t channel_of(const iso_node_t *head, int64_t groups,
                          const iso_tensor_t *weights, int64_t slice, int64_t i)
{
    if (head->op != ISO_OP_CONV_TRANSPOSE) {
        return i / slice;
    }

    /* Transposed weights are (in, out / groups, taps). */
    const int64_t rows = weights->dims[0] / groups;
    const int64_t taps = slice / weights->dims[1];

    return i / slice / rows * weights->dims[1] + i / taps % weights->dims[1];
}

iso_status_t iso__affine_weights(const iso_affine_t *affine,
                                 const iso_node_t *head, int64_t groups,
                                 const iso_tensor_t *weights,
                                 iso_tensor_t *weights_out)
{
    const int64_t count = iso_tensor_count(weights);
    const int64_t slice = count / weights->dims[0];

    ISO_TRY(new_like(weights, weights_out));
    for (int64_t i = 0; i < count; i++) {
        const int64_t channel = channel_of(head, groups, weights, slice, i);

        set(weights_out, i, get(weights, i) * affine->scale[channel]);
    }
    return ISO_OK;
}

iso_status_t iso__affine_bias(const iso_affine_t *affine, iso_dtype_t dtype,
                              iso_tensor_t *bias_out)
{
    const iso_tensor_t bias = {
        .dtype = dtype, .rank = 1, .dims = {affine->channels}};

    ISO_TRY(new_like(&bias, bias_out));
    for (int64_t c = 0; c < affine->channels; c++) {
        set(bias_out, c, affine->shift[c]);
    }
    return ISO_OK;
}
