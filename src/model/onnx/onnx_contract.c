/* Products: matrices and convolutions. */
#include "isotome/error.h"

#include "model/onnx/onnx_impl.h"

/* -- matrices -- */

static iso_status_t convert_matmul(iso__onnx_op_t *op)
{
    iso_node_id_t a;
    iso_node_id_t b;

    ISO_TRY(iso__onnx_data(op, 0, &a));
    ISO_TRY(iso__onnx_data(op, 1, &b));
    return iso__onnx_finish_binary(op, ISO_OP_MATMUL, a, b);
}

static iso_status_t draft_gemm_attrs(iso__onnx_op_t *op, iso__draft_t *draft)
{
    int64_t trans_a;
    int64_t trans_b;
    double alpha;
    double beta;

    ISO_TRY(iso__onnx_attr_int(op, "transA", 0, &trans_a));
    ISO_TRY(iso__onnx_attr_int(op, "transB", 0, &trans_b));
    ISO_TRY(iso__onnx_attr_float(op, "alpha", 1.0, &alpha));
    ISO_TRY(iso__onnx_attr_float(op, "beta", 1.0, &beta));
    iso__draft_int(draft, "trans_a", trans_a != 0);
    iso__draft_int(draft, "trans_b", trans_b != 0);
    iso__draft_float(draft, "alpha", alpha);
    iso__draft_float(draft, "beta", beta);
    return ISO_OK;
}

static iso_status_t convert_gemm(iso__onnx_op_t *op)
{
    static const char *const ignored[] = {"broadcast", NULL};
    iso_node_id_t inputs[3];
    iso__draft_t draft;

    ISO_TRY(iso__onnx_data(op, 0, &inputs[0]));
    ISO_TRY(iso__onnx_data(op, 1, &inputs[1]));
    ISO_TRY(iso__onnx_data_or_none(op, 2, &inputs[2]));
    if (iso__onnx_opset(op) < 7) {
        iso__onnx_attr_ignore(op, ignored); /* its third operand always may */
    }
    iso__draft_begin(&draft, ISO_OP_GEMM, inputs[2] == ISO_NO_NODE ? 2 : 3,
                     inputs);
    ISO_TRY(draft_gemm_attrs(op, &draft));
    return iso__onnx_finish(op, &draft);
}

/* -- convolutions -- */

/* Operands, and the kernel from the weights' shape. */
static iso_status_t conv_operands(iso__onnx_op_t *op, iso_node_id_t inputs[3],
                                  iso__onnx_window_t *window)
{
    const iso_shape_t *weights;
    int64_t kernel[ISO_MAX_RANK];

    ISO_TRY(iso__onnx_data(op, 0, &inputs[0]));
    ISO_TRY(iso__onnx_data(op, 1, &inputs[1]));
    ISO_TRY(iso__onnx_data_or_none(op, 2, &inputs[2]));
    weights = &iso__onnx_node(op, inputs[1])->shape;
    window->n_spatial = iso__onnx_node(op, inputs[0])->shape.rank - 2;
    if (window->n_spatial < 1 || weights->rank != window->n_spatial + 2 ||
        !iso_shape_is_static(weights)) {
        char text[ISO_SHAPE_TEXT_BYTES];

        return iso_fail(ISO_SHAPE,
                        "weights %s, expected numbers and %d dims as its "
                        "input has",
                        iso_shape_text(weights, text), window->n_spatial + 2);
    }
    ISO_TRY(
        iso__onnx_spatial(op, "kernel_shape", window->n_spatial, 0, kernel));
    for (int i = 0; i < window->n_spatial; i++) {
        window->kernel[i] = weights->dim[i + 2].size;
        if (kernel[i] != 0 && kernel[i] != window->kernel[i]) {
            return iso_fail(ISO_SHAPE,
                            "kernel_shape[%d] is %lld, expected the %lld of "
                            "the weights",
                            i, (long long)kernel[i],
                            (long long)window->kernel[i]);
        }
    }
    return ISO_OK;
}

static iso_status_t finish_conv(iso__onnx_op_t *op, iso__draft_t *draft,
                                const iso__onnx_window_t *window)
{
    int64_t groups;

    ISO_TRY(iso__onnx_attr_int(op, "group", 1, &groups));
    iso__draft_ints(draft, "strides", window->strides, window->n_spatial);
    iso__draft_ints(draft, "dilations", window->dilations, window->n_spatial);
    iso__draft_ints(draft, "pads", window->pads, 2 * window->n_spatial);
    iso__draft_int(draft, "groups", groups);
    return iso__onnx_finish(op, draft);
}

static iso_status_t convert_conv(iso__onnx_op_t *op)
{
    iso_node_id_t inputs[3];
    iso__onnx_window_t window;
    iso__draft_t draft;

    ISO_TRY(conv_operands(op, inputs, &window));
    ISO_TRY(iso__onnx_window_of(op, &iso__onnx_node(op, inputs[0])->shape,
                                &window));
    iso__draft_begin(&draft, ISO_OP_CONV, inputs[2] == ISO_NO_NODE ? 2 : 3,
                     inputs);
    return finish_conv(op, &draft, &window);
}

/*
 * Pads of a transposed convolution whose output shape is asked for. ONNX
 * puts the odd element at the end for SAME_UPPER and at the beginning
 * otherwise; an output larger than what is made gets output pads.
 */
static void transposed_pads(int64_t total, bool is_upper, int spatial,
                            iso__onnx_window_t *window, int64_t *output_pads)
{
    int64_t half = total / 2;
    int64_t *begin = &window->pads[spatial];
    int64_t *end = &window->pads[window->n_spatial + spatial];

    if (total < 0) {
        *begin = 0;
        *end = 0;
        output_pads[spatial] -= total;
        return;
    }
    *begin = is_upper ? half : total - half;
    *end = total - *begin;
}

/* Sizes beyond this are refused, so that no sum of them overflows. */
#define MOST_SIZE (INT64_C(1) << 31)

static iso_status_t transposed_output(iso__onnx_op_t *op,
                                      const iso_shape_t *input, bool is_upper,
                                      iso__onnx_window_t *window,
                                      int64_t *output_pads)
{
    int n = window->n_spatial;
    iso__numbers_t asked;

    ISO_TRY(iso__onnx_attr_ints(op, "output_shape", &asked));
    if (asked.is_given && asked.count != n && asked.count != n + 2) {
        return iso_fail(ISO_INPUT, "output_shape has %d values, expected %d",
                        asked.count, n);
    }
    for (int i = 0; i < n; i++) {
        iso_dim_t in = input->dim[i + 2];
        int64_t span = (window->kernel[i] - 1) * window->dilations[i] + 1;
        int64_t size;

        if (!iso_dim_is_static(in) || in.size > MOST_SIZE) {
            return iso_fail(ISO_UNSUPPORTED,
                            "auto_pad and output_shape need spatial dims that "
                            "are numbers");
        }
        size = asked.is_given ? asked.value[asked.count - n + i]
                              : in.size * window->strides[i];
        if (size < 1 || size > MOST_SIZE) {
            return iso_fail(ISO_INPUT, "output_shape[%d] is %lld", i,
                            (long long)size);
        }
        transposed_pads(window->strides[i] * (in.size - 1) + output_pads[i] +
                            span - size,
                        is_upper, i, window, output_pads);
    }
    return ISO_OK;
}

static iso_status_t convert_conv_transpose(iso__onnx_op_t *op)
{
    iso_node_id_t inputs[3];
    iso__onnx_window_t window;
    iso__onnx_pads_t pads;
    int64_t output_pads[ISO_MAX_RANK];
    iso__numbers_t asked;
    iso__draft_t draft;
    const iso_shape_t *input;

    ISO_TRY(conv_operands(op, inputs, &window));
    input = &iso__onnx_node(op, inputs[0])->shape;
    ISO_TRY(iso__onnx_steps_of(op, &window));
    ISO_TRY(iso__onnx_pads_of(op, &window, &pads));
    ISO_TRY(iso__onnx_spatial(op, "output_padding", window.n_spatial, 0,
                              output_pads));
    ISO_TRY(iso__onnx_attr_ints(op, "output_shape", &asked));
    if (asked.is_given || pads == ISO__PADS_SAME_UPPER ||
        pads == ISO__PADS_SAME_LOWER) {
        ISO_TRY(transposed_output(op, input, pads == ISO__PADS_SAME_UPPER,
                                  &window, output_pads));
    }
    iso__draft_begin(&draft, ISO_OP_CONV_TRANSPOSE,
                     inputs[2] == ISO_NO_NODE ? 2 : 3, inputs);
    iso__draft_ints(&draft, "output_pads", output_pads, window.n_spatial);
    return finish_conv(op, &draft, &window);
}

const iso__onnx_entry_t iso__onnx_contract[] = {
    {"MatMul", 1, ISO__MOST_OPSET, convert_matmul, ISO_OP_MATMUL},
    {"Gemm", 6, ISO__MOST_OPSET, convert_gemm, ISO_OP_GEMM},
    {"Conv", 1, ISO__MOST_OPSET, convert_conv, ISO_OP_CONV},
    {"ConvTranspose", 1, ISO__MOST_OPSET, convert_conv_transpose,
     ISO_OP_CONV_TRANSPOSE},
    {NULL, 0, 0, NULL, ISO_OP_COUNT},
};
