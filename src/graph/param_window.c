#include "graph/param_impl.h"

static iso_status_t window_steps_of(const iso_node_t *node,
                                    iso_window_t *window)
{
    const int n = window->n_spatial;
    const iso_int_rule_t strides = {"strides", n, 1, ISO__MOST_WINDOW};
    const iso_int_rule_t dilations = {"dilations", n, 1, ISO__MOST_WINDOW};
    const iso_int_rule_t pads = {"pads", 2 * n, 0, ISO__MOST_WINDOW};
    int64_t both[2 * ISO_MAX_SPATIAL] = {0};

    ISO_TRY(iso__attr_ints(node, &strides, 1, window->strides));
    ISO_TRY(iso__attr_ints(node, &dilations, 1, window->dilations));
    ISO_TRY(iso__attr_ints(node, &pads, 0, both));
    for (int i = 0; i < n; i++) {
        window->pads_begin[i] = both[i];
        window->pads_end[i] = both[n + i];
    }
    return ISO_OK;
}

int64_t iso__window_span(const iso_window_t *window, int spatial)
{
    return (window->kernel[spatial] - 1) * window->dilations[spatial] + 1;
}

iso_status_t iso_conv_param_of(const iso_node_t *node, int n_spatial,
                               const int64_t *kernel_dims,
                               iso_conv_param_t *param_out)
{
    const iso_int_rule_t groups = {"groups", 1, 1, ISO__MOST_WINDOW};
    const iso_int_rule_t output_pads = {"output_pads", n_spatial, 0,
                                        ISO__MOST_WINDOW};

    if (n_spatial < 1 || n_spatial > ISO_MAX_SPATIAL) {
        return iso__node_fail(ISO_SHAPE, node,
                              "%d spatial dims, expected 1 to %d", n_spatial,
                              ISO_MAX_SPATIAL);
    }
    *param_out = (iso_conv_param_t){.window.n_spatial = n_spatial};
    for (int i = 0; i < n_spatial; i++) {
        if (kernel_dims[i] < 1 || kernel_dims[i] > ISO__MOST_WINDOW) {
            return iso__node_fail(
                ISO_SHAPE, node, "kernel[%d] is %lld, expected 1 to %lld", i,
                (long long)kernel_dims[i], (long long)ISO__MOST_WINDOW);
        }
        param_out->window.kernel[i] = kernel_dims[i];
    }
    ISO_TRY(window_steps_of(node, &param_out->window));
    ISO_TRY(iso__attr_ints(node, &groups, 1, &param_out->groups));
    if (node->op == ISO_OP_CONV_TRANSPOSE) {
        ISO_TRY(iso__attr_ints(node, &output_pads, 0, param_out->output_pads));
    }
    return iso__activation_of(node, &param_out->activation);
}

/* A window that lies in the padding alone has no value. */
static iso_status_t need_small_pads(const iso_node_t *node,
                                    const iso_window_t *window)
{
    for (int i = 0; i < window->n_spatial; i++) {
        int64_t span = iso__window_span(window, i);

        if (window->pads_begin[i] >= span || window->pads_end[i] >= span) {
            return iso__node_fail(
                ISO_INVAL, node,
                "pads of spatial dim %d are %lld and %lld, expected less than "
                "the window's span %lld",
                i, (long long)window->pads_begin[i],
                (long long)window->pads_end[i], (long long)span);
        }
    }
    return ISO_OK;
}

iso_status_t iso_pool_param_of(const iso_node_t *node,
                               iso_pool_param_t *param_out)
{
    const iso_attr_t *attr;

    ISO_TRY(iso__attr_need(node, "kernel", &attr));
    if (attr->count < 1 || attr->count > ISO_MAX_SPATIAL) {
        return iso__node_fail(ISO_INVAL, node,
                              "kernel has %d values, expected 1 to %d",
                              attr->count, ISO_MAX_SPATIAL);
    }

    const iso_int_rule_t kernel = {"kernel", attr->count, 1, ISO__MOST_WINDOW};

    *param_out = (iso_pool_param_t){.window.n_spatial = attr->count};
    ISO_TRY(iso__attr_ints(node, &kernel, 1, param_out->window.kernel));
    ISO_TRY(window_steps_of(node, &param_out->window));
    ISO_TRY(need_small_pads(node, &param_out->window));
    ISO_TRY(iso__attr_bool(node, "ceil_mode", false, &param_out->ceil_mode));
    return iso__attr_bool(node, "count_pad", false, &param_out->count_pad);
}

iso_status_t iso_window_output(const iso_node_t *node,
                               const iso_window_t *window, int spatial,
                               int64_t input, bool ceil_mode,
                               int64_t *output_out)
{
    const int64_t stride = window->strides[spatial];
    const int64_t span = iso__window_span(window, spatial);
    const int64_t begin = window->pads_begin[spatial];
    const int64_t padded = input + begin + window->pads_end[spatial];

    if (span > padded) {
        return iso__node_fail(
            ISO_SHAPE, node,
            "kernel spans %lld in spatial dim %d, expected at most the padded "
            "input's %lld",
            (long long)span, spatial, (long long)padded);
    }

    int64_t last = (padded - span) / stride;

    /* With ceil_mode one more window may stick out at the end, but only when
     * it starts on the input or the padding before it. */
    if (ceil_mode && (padded - span) % stride != 0 &&
        (last + 1) * stride < input + begin) {
        last++;
    }
    *output_out = last + 1;
    return ISO_OK;
}
