#include "kernel/ref/real.h"

/* ---- softmax, log_softmax ---- */

/* One row whose elements are `step` apart. */
static void softmax_row(bool is_log, const real_t *x, real_t *y, int64_t count,
                        int64_t step)
{
    real_t most = -(real_t)INFINITY;
    real_lanes_t lanes;

    for (int64_t i = 0; i < count; i++) {
        most = real_max(most, x[i * step]);
    }
    real_lanes_begin(&lanes, 0);
    for (int64_t i = 0; i < count; i++) {
        const real_t e = REAL_SLEEF(exp)(x[i * step] - most);

        *real_lanes_next(&lanes) += e;
        y[i * step] = e;
    }

    const real_t sum = real_lanes_sum(&lanes);

    for (int64_t i = 0; i < count; i++) {
        const real_t value = is_log
                                 ? (x[i * step] - most) - REAL_SLEEF(log)(sum)
                                 : y[i * step] / sum;

        y[i * step] = real_canonical(value);
    }
}

iso_status_t REAL(iso__ref_softmax)(const iso_node_t *node,
                                    const iso_tensor_t *const *inputs,
                                    const iso_tensor_t *output)
{
    const bool is_log = node->op == ISO_OP_LOG_SOFTMAX;
    const real_t *x = inputs[0]->data;
    real_t *y = output->data;
    int axis = 0;

    ISO_TRY(iso_axis_of(node, output->rank, -1, &axis));

    const int64_t outer = iso__dims_product(output->dims, 0, axis);
    const int64_t count = output->dims[axis];
    const int64_t inner =
        iso__dims_product(output->dims, axis + 1, output->rank);

    for (int64_t o = 0; o < outer; o++) {
        for (int64_t i = 0; i < inner; i++) {
            const int64_t row = o * count * inner + i;

            softmax_row(is_log, x + row, y + row, count, inner);
        }
    }
    return ISO_OK;
}

/* ---- batch_norm ---- */

/* (x - mean) / sqrt(variance + epsilon) * scale + bias; each rounds once. */
static real_t normalised(real_t x, real_t mean, real_t deviation, real_t scale)
{
    return (x - mean) / deviation * scale;
}

iso_status_t REAL(iso__ref_batch_norm)(const iso_node_t *node,
                                       const iso_tensor_t *const *inputs,
                                       const iso_tensor_t *output)
{
    const real_t *x = inputs[0]->data;
    const real_t *scale = inputs[1]->data;
    const real_t *bias = inputs[2]->data;
    const real_t *mean = inputs[3]->data;
    const real_t *variance = inputs[4]->data;
    real_t *y = output->data;
    const int64_t channels = output->dims[1];
    const int64_t inner = iso__dims_product(output->dims, 2, output->rank);
    const int64_t count = iso_tensor_count(output);
    iso_norm_param_t param;

    ISO_TRY(iso_norm_param_of(node, output->rank, &param));
    for (int64_t i = 0; i < count; i++) {
        const int64_t c = i / inner % channels;
        const real_t deviation = sqrt(variance[c] + param.epsilon);

        y[i] = real_canonical(normalised(x[i], mean[c], deviation, scale[c]) +
                              bias[c]);
    }
    return ISO_OK;
}

/* ---- layer_norm, instance_norm ---- */

static real_t mean_of(const real_t *x, int64_t count)
{
    real_lanes_t lanes;

    real_lanes_begin(&lanes, 0);
    for (int64_t i = 0; i < count; i++) {
        *real_lanes_next(&lanes) += x[i];
    }
    return real_lanes_sum(&lanes) / (real_t)count;
}

static real_t variance_of(const real_t *x, int64_t count, real_t mean)
{
    real_lanes_t lanes;

    real_lanes_begin(&lanes, 0);
    for (int64_t i = 0; i < count; i++) {
        const real_t d = x[i] - mean;
        real_t *lane = real_lanes_next(&lanes);

        *lane = fma(d, d, *lane);
    }
    return real_lanes_sum(&lanes) / (real_t)count;
}

/*
 * Both norms take rows of contiguous elements. Scale and bias of element i of
 * row r are number i of layer_norm's and number r mod channels of
 * instance_norm's.
 */
iso_status_t REAL(iso__ref_row_norm)(const iso_node_t *node,
                                     const iso_tensor_t *const *inputs,
                                     const iso_tensor_t *output)
{
    const bool by_element = node->op == ISO_OP_LAYER_NORM;
    const iso_tensor_t *bias = iso__ref_input(node, inputs, 2);
    const real_t *scale = inputs[1]->data;
    const real_t *add = bias != NULL ? bias->data : NULL;
    iso_norm_param_t param;

    ISO_TRY(iso_norm_param_of(node, output->rank, &param));

    const int first = by_element ? param.axis : 2;
    const int64_t rows = iso__dims_product(output->dims, 0, first);
    const int64_t count = iso__dims_product(output->dims, first, output->rank);

    for (int64_t r = 0; r < rows; r++) {
        const real_t *x = (const real_t *)inputs[0]->data + r * count;
        real_t *y = (real_t *)output->data + r * count;
        const real_t mean = mean_of(x, count);
        const real_t deviation =
            sqrt(variance_of(x, count, mean) + param.epsilon);

        for (int64_t i = 0; i < count; i++) {
            const int64_t c = by_element ? i : r % output->dims[1];
            const real_t value = normalised(x[i], mean, deviation, scale[c]);

            y[i] = real_canonical(add != NULL ? value + add[c] : value);
        }
    }
    return ISO_OK;
}

/* ---- lrn ---- */

/* x / (bias + alpha / size * (sum of squares over the channels around))^beta;
 * the sum is a chain of fused multiply-adds in channel order from +0. */
iso_status_t REAL(iso__ref_lrn)(const iso_node_t *node,
                                const iso_tensor_t *const *inputs,
                                const iso_tensor_t *output)
{
    const real_t *x = inputs[0]->data;
    real_t *y = output->data;
    const int64_t channels = output->dims[1];
    const int64_t inner = iso__dims_product(output->dims, 2, output->rank);
    const int64_t count = iso_tensor_count(output);
    iso_norm_param_t param;

    ISO_TRY(iso_norm_param_of(node, output->rank, &param));

    const real_t alpha = param.lrn_alpha / (real_t)param.lrn_size;
    const int64_t before = (param.lrn_size - 1) / 2;
    const int64_t after = param.lrn_size - 1 - before;

    for (int64_t i = 0; i < count; i++) {
        const int64_t c = i / inner % channels;
        const int64_t begin = c > before ? c - before : 0;
        const int64_t end = channels - c > after ? c + after + 1 : channels;
        real_t sum = 0;

        for (int64_t k = begin; k < end; k++) {
            const real_t v = x[i + (k - c) * inner];

            sum = fma(v, v, sum);
        }
        y[i] =
            real_canonical(x[i] / REAL(iso__ref_apply2)(
                                      ISO_OP_POW, param.lrn_bias + alpha * sum,
                                      param.lrn_beta));
    }
    return ISO_OK;
}
