#include "graph/infer_impl.h"

/* ---- Convolutions ---- */

/* Sizes of a convolution: x (N, in_channels, ...), weights (out, in / groups,
 * ...) or, transposed, (in, out / groups, ...). */
typedef struct conv_sizes {
    int n_spatial;
    int64_t in_channels;
    int64_t out_channels;
    iso_conv_param_t param;
} conv_sizes_t;

static iso_status_t need_groups_divide(const iso_infer_in_t *in,
                                       int64_t channels, int64_t groups,
                                       const char *which)
{
    if (channels % groups != 0) {
        return iso__node_fail(ISO_SHAPE, in->node,
                              "%lld %s channels in %lld groups, expected a "
                              "multiple of the groups",
                              (long long)channels, which, (long long)groups);
    }
    return ISO_OK;
}

/* Channels of x against those of the weights and the groups. */
static iso_status_t check_channels(const iso_infer_in_t *in, int64_t dim0,
                                   int64_t dim1, conv_sizes_t *sizes)
{
    const int64_t groups = sizes->param.groups;
    const bool transposed = in->node->op == ISO_OP_CONV_TRANSPOSE;

    ISO_TRY(need_groups_divide(in, sizes->in_channels, groups, "input"));

    int64_t found = transposed ? dim0 : dim1;
    int64_t expected =
        transposed ? sizes->in_channels : sizes->in_channels / groups;

    if (found != expected) {
        return iso__node_fail(
            ISO_SHAPE, in->node,
            "weights '%s' have %lld input channels, expected %lld (%lld "
            "channels of '%s' in %lld groups)",
            iso__operand(in, 1)->name, (long long)found, (long long)expected,
            (long long)sizes->in_channels, iso__operand(in, 0)->name,
            (long long)groups);
    }
    if (!transposed) {
        sizes->out_channels = dim0;
        return need_groups_divide(in, dim0, groups, "output");
    }

    iso_dim_t product = {0};

    ISO_TRY(iso__dim_times(in, iso_dim_of(dim1), groups, &product));
    sizes->out_channels = product.size;
    return ISO_OK;
}

static iso_status_t conv_sizes_of(const iso_infer_in_t *in, conv_sizes_t *sizes)
{
    const int rank = iso__operand(in, 0)->shape.rank;
    int64_t dims[2 + ISO_MAX_SPATIAL] = {0};

    sizes->n_spatial = rank - 2;
    ISO_TRY(iso__need_rank(in, 1, rank, rank));
    ISO_TRY(iso__need_number(in, 0, 1, &sizes->in_channels));
    for (int axis = 0; axis < rank; axis++) {
        ISO_TRY(iso__need_number(in, 1, axis, &dims[axis]));
    }
    ISO_TRY(
        iso_conv_param_of(in->node, sizes->n_spatial, &dims[2], &sizes->param));
    return check_channels(in, dims[0], dims[1], sizes);
}

/* (input - 1) stride + span + output pad - pads. */
static iso_status_t transposed_dim(const iso_infer_in_t *in,
                                   const iso_conv_param_t *param, int spatial,
                                   iso_dim_t input, iso_dim_t *output_out)
{
    const iso_window_t *window = &param->window;
    const int64_t stride = window->strides[spatial];
    const int64_t dilation = window->dilations[spatial];
    const int64_t extra = param->output_pads[spatial];

    if (extra >= stride && extra >= dilation) {
        return iso__node_fail(ISO_INVAL, in->node,
                              "output_pads[%d] is %lld, expected less than "
                              "the stride %lld or the dilation %lld",
                              spatial, (long long)extra, (long long)stride,
                              (long long)dilation);
    }
    ISO_TRY(iso__dim_plus(in, input, -1, &input));
    ISO_TRY(iso__dim_times(in, input, stride, output_out));
    ISO_TRY(iso__dim_plus(in, *output_out,
                          iso__window_span(window, spatial) + extra -
                              window->pads_begin[spatial] -
                              window->pads_end[spatial],
                          output_out));
    if (iso_dim_is_static(*output_out) && output_out->size < 1) {
        char text[ISO_DIM_TEXT_BYTES];

        return iso__node_fail(ISO_SHAPE, in->node,
                              "spatial dim %d of the output is %s, expected "
                              "at least 1; the pads are too large",
                              spatial, iso_dim_text(*output_out, text));
    }
    return ISO_OK;
}

static iso_status_t spatial_dims(const iso_infer_in_t *in,
                                 const conv_sizes_t *sizes,
                                 const iso_shape_t *x, iso_shape_t *shape)
{
    const bool transposed = in->node->op == ISO_OP_CONV_TRANSPOSE;

    for (int i = 0; i < sizes->n_spatial; i++) {
        const iso_dim_t input = x->dim[2 + i];
        iso_dim_t *output = &shape->dim[2 + i];

        ISO_TRY(transposed ? transposed_dim(in, &sizes->param, i, input, output)
                           : iso__window_dim(in, &sizes->param.window, i, false,
                                             input, output));
    }
    return ISO_OK;
}

iso_status_t iso__infer_conv(const iso_infer_in_t *in, iso_value_t *value_out)
{
    const iso_node_t *x = iso__operand(in, 0);
    conv_sizes_t sizes;

    ISO_TRY(iso__need_dtype(in, 0, ISO__FLOATS));
    ISO_TRY(iso__need_same_dtypes(in, 1, 0));
    ISO_TRY(iso__need_rank(in, 0, 3, 2 + ISO_MAX_SPATIAL));
    ISO_TRY(conv_sizes_of(in, &sizes));
    if (iso__operand(in, 2) != NULL) {
        ISO_TRY(iso__need_vector(in, 2, iso_dim_of(sizes.out_channels),
                                 "output channels"));
    }
    *value_out = (iso_value_t){x->dtype, x->shape};
    value_out->shape.dim[1] = iso_dim_of(sizes.out_channels);
    return spatial_dims(in, &sizes, &x->shape, &value_out->shape);
}

/* ---- Matrices ---- */

static iso_status_t need_inner_equal(const iso_infer_in_t *in, iso_dim_t a,
                                     iso_dim_t b)
{
    if (!iso_dim_equal(a, b)) {
        char text_b[ISO_DIM_TEXT_BYTES];
        char text_a[ISO_DIM_TEXT_BYTES];

        return iso__node_fail(
            ISO_SHAPE, in->node,
            "'%s' has %s columns and '%s' has %s rows, expected equal numbers",
            iso__operand(in, 0)->name, iso_dim_text(a, text_a),
            iso__operand(in, 1)->name, iso_dim_text(b, text_b));
    }
    return ISO_OK;
}

/* The dims before the last count; none when there are fewer. */
static iso_shape_t leading_dims(const iso_shape_t *shape, int count)
{
    iso_shape_t leading = *shape;

    leading.rank = shape->rank > count ? shape->rank - count : 0;
    return leading;
}

static iso_status_t append_dim(const iso_infer_in_t *in, iso_dim_t dim,
                               iso_shape_t *shape)
{
    if (shape->rank == ISO_MAX_RANK) {
        return iso__node_fail(ISO_SHAPE, in->node,
                              "the value would have rank %d, expected at most "
                              "%d",
                              shape->rank + 1, ISO_MAX_RANK);
    }
    shape->dim[shape->rank++] = dim;
    return ISO_OK;
}

/* (..., rows, inner) (..., inner, cols); an operand of rank 1 is a row or a
 * column that leaves no dim behind. */
static iso_status_t matmul_shape(const iso_infer_in_t *in,
                                 iso_shape_t *shape_out)
{
    const iso_shape_t *a = &iso__operand(in, 0)->shape;
    const iso_shape_t *b = &iso__operand(in, 1)->shape;
    const iso_shape_t batch_a = leading_dims(a, 2);
    const iso_shape_t batch_b = leading_dims(b, 2);
    const int inner_b = b->rank == 1 ? 0 : b->rank - 2;

    ISO_TRY(need_inner_equal(in, a->dim[a->rank - 1], b->dim[inner_b]));
    ISO_TRY(iso__broadcast(in, &batch_a, &batch_b, shape_out));
    if (a->rank > 1) {
        ISO_TRY(append_dim(in, a->dim[a->rank - 2], shape_out));
    }
    if (b->rank > 1) {
        ISO_TRY(append_dim(in, b->dim[b->rank - 1], shape_out));
    }
    return ISO_OK;
}

iso_status_t iso__infer_matmul(const iso_infer_in_t *in, iso_value_t *value_out)
{
    const iso_shape_t *b = &iso__operand(in, 1)->shape;
    iso_gemm_param_t param;

    ISO_TRY(iso__need_dtype(in, 0, ISO__FLOATS));
    ISO_TRY(iso__need_same_dtypes(in, 1, 0));
    ISO_TRY(iso__need_rank(in, 0, 1, ISO_MAX_RANK));
    ISO_TRY(iso__need_rank(in, 1, 1, ISO_MAX_RANK));
    ISO_TRY(iso_gemm_param_of(in->node, &param));
    if (iso__operand(in, 2) != NULL) {
        ISO_TRY(iso__need_rank(in, 1, 2, ISO_MAX_RANK));
        ISO_TRY(iso__need_vector(in, 2, b->dim[b->rank - 1], "columns"));
    }
    value_out->dtype = iso__operand(in, 0)->dtype;
    return matmul_shape(in, &value_out->shape);
}

iso_status_t iso__infer_gemm(const iso_infer_in_t *in, iso_value_t *value_out)
{
    const iso_shape_t *a = &iso__operand(in, 0)->shape;
    const iso_shape_t *b = &iso__operand(in, 1)->shape;
    iso_gemm_param_t param;

    ISO_TRY(iso__need_dtype(in, 0, ISO__FLOATS));
    ISO_TRY(iso__need_same_dtypes(in, 1, 0));
    ISO_TRY(iso__need_rank(in, 0, 2, 2));
    ISO_TRY(iso__need_rank(in, 1, 2, 2));
    ISO_TRY(iso_gemm_param_of(in->node, &param));
    ISO_TRY(need_inner_equal(in, a->dim[param.trans_a ? 0 : 1],
                             b->dim[param.trans_b ? 1 : 0]));
    value_out->dtype = iso__operand(in, 0)->dtype;
    value_out->shape = (iso_shape_t){
        .rank = 2,
        .dim = {a->dim[param.trans_a ? 1 : 0], b->dim[param.trans_b ? 0 : 1]}};
    if (iso__operand(in, 2) != NULL) {
        ISO_TRY(iso__need_broadcast_to(in, 2, &value_out->shape));
    }
    return ISO_OK;
}
