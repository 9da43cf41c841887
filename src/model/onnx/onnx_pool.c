/* Pools over windows and over all spatial dims. */
#include "isotome/error.h"

#include "model/onnx/onnx_impl.h"

static iso_status_t pool_kernel(iso__onnx_op_t *op, iso_node_id_t x,
                                iso__onnx_window_t *window)
{
    iso__numbers_t kernel;

    window->n_spatial = iso__onnx_node(op, x)->shape.rank - 2;
    ISO_TRY(iso__onnx_attr_ints(op, "kernel_shape", &kernel));
    if (window->n_spatial < 1 || kernel.count != window->n_spatial) {
        return iso_fail(ISO_INPUT, "kernel_shape has %d values, expected %d",
                        kernel.count, window->n_spatial);
    }
    for (int i = 0; i < kernel.count; i++) {
        window->kernel[i] = kernel.value[i];
    }
    return ISO_OK;
}

static iso_status_t convert_pool(iso__onnx_op_t *op)
{
    static const char *const ignored[] = {"storage_order", NULL};
    bool is_avg = op->entry->op == ISO_OP_AVG_POOL;
    iso__onnx_window_t window;
    iso__draft_t draft;
    iso_node_id_t x;
    int64_t ceil_mode;
    int64_t count_pad = 0;

    ISO_TRY(iso__onnx_data(op, 0, &x));
    ISO_TRY(pool_kernel(op, x, &window));
    ISO_TRY(iso__onnx_window_of(op, &iso__onnx_node(op, x)->shape, &window));
    ISO_TRY(iso__onnx_attr_int(op, "ceil_mode", 0, &ceil_mode));
    if (is_avg) {
        ISO_TRY(iso__onnx_attr_int(op, "count_include_pad", 0, &count_pad));
    } else {
        iso__onnx_attr_ignore(op, ignored); /* of the indices alone */
    }
    iso__draft_begin(&draft, op->entry->op, 1, &x);
    iso__draft_ints(&draft, "kernel", window.kernel, window.n_spatial);
    iso__draft_ints(&draft, "strides", window.strides, window.n_spatial);
    iso__draft_ints(&draft, "dilations", window.dilations, window.n_spatial);
    iso__draft_ints(&draft, "pads", window.pads, 2 * window.n_spatial);
    iso__draft_int(&draft, "ceil_mode", ceil_mode != 0);
    if (is_avg) {
        iso__draft_int(&draft, "count_pad", count_pad != 0);
    }
    return iso__onnx_finish(op, &draft);
}

static iso_status_t convert_global_pool(iso__onnx_op_t *op)
{
    int64_t axes[ISO_MAX_RANK];
    iso__draft_t draft;
    iso_node_id_t x;
    int rank;

    ISO_TRY(iso__onnx_data(op, 0, &x));
    rank = iso__onnx_node(op, x)->shape.rank;
    if (rank < 3) {
        return iso_fail(ISO_SHAPE, "%d dims, expected at least 3", rank);
    }
    for (int i = 2; i < rank; i++) {
        axes[i - 2] = i;
    }
    iso__draft_begin(&draft, op->entry->op, 1, &x);
    iso__draft_ints(&draft, "axes", axes, rank - 2);
    iso__draft_int(&draft, "keep_dims", 1);
    return iso__onnx_finish(op, &draft);
}

const iso__onnx_entry_t iso__onnx_pool[] = {
    {"MaxPool", 1, ISO__MOST_OPSET, convert_pool, ISO_OP_MAX_POOL},
    {"AveragePool", 1, ISO__MOST_OPSET, convert_pool, ISO_OP_AVG_POOL},
    {"GlobalMaxPool", 1, ISO__MOST_OPSET, convert_global_pool,
     ISO_OP_REDUCE_MAX},
    {"GlobalAveragePool", 1, ISO__MOST_OPSET, convert_global_pool,
     ISO_OP_REDUCE_MEAN},
    {NULL, 0, 0, NULL, ISO_OP_COUNT},
};
