/* Windows of convolutions and pools: strides, dilations, pads, auto_pad. */
#include "isotome/error.h"

#include "model/onnx/onnx_impl.h"

#include <string.h>

/* Steps and kernels beyond this are refused, so that no sum overflows. */
#define MOST_STEP (INT64_C(1) << 31)

iso_status_t iso__onnx_spatial(iso__onnx_op_t *op, const char *name, int n,
                               int64_t fallback, int64_t *values)
{
    iso__numbers_t numbers;

    ISO_TRY(iso__onnx_attr_ints(op, name, &numbers));
    if (numbers.is_given && numbers.count != n) {
        return iso_fail(ISO_INPUT, "%s has %d values, expected %d", name,
                        numbers.count, n);
    }
    for (int i = 0; i < n; i++) {
        values[i] = numbers.is_given ? numbers.value[i] : fallback;
        if (values[i] < -MOST_STEP || values[i] > MOST_STEP) {
            return iso_fail(ISO_INPUT, "%s[%d] is %lld", name, i,
                            (long long)values[i]);
        }
    }
    return ISO_OK;
}

iso_status_t iso__onnx_steps_of(iso__onnx_op_t *op, iso__onnx_window_t *window)
{
    int n = window->n_spatial;

    ISO_TRY(iso__onnx_spatial(op, "strides", n, 1, window->strides));
    ISO_TRY(iso__onnx_spatial(op, "dilations", n, 1, window->dilations));
    for (int i = 0; i < n; i++) {
        if (window->strides[i] < 1 || window->dilations[i] < 1 ||
            window->kernel[i] < 1 || window->kernel[i] > MOST_STEP) {
            return iso_fail(ISO_INPUT,
                            "kernel %lld, stride %lld, dilation %lld of "
                            "spatial dim %d, expected at least 1",
                            (long long)window->kernel[i],
                            (long long)window->strides[i],
                            (long long)window->dilations[i], i);
        }
    }
    return ISO_OK;
}

iso_status_t iso__onnx_pads_of(iso__onnx_op_t *op, iso__onnx_window_t *window,
                               iso__onnx_pads_t *kind_out)
{
    static const char *const names[] = {"NOTSET", "VALID", "SAME_UPPER",
                                        "SAME_LOWER"};
    const char *name;

    ISO_TRY(
        iso__onnx_spatial(op, "pads", 2 * window->n_spatial, 0, window->pads));
    ISO_TRY(iso__onnx_attr_text(op, "auto_pad", names[0], &name));
    for (int i = 0; i < 4; i++) {
        if (strcmp(name, names[i]) == 0) {
            *kind_out = (iso__onnx_pads_t)i;
            if (*kind_out != ISO__PADS_GIVEN) {
                memset(window->pads, 0, sizeof window->pads);
            }
            return ISO_OK;
        }
    }
    return iso_fail(ISO_INPUT,
                    "auto_pad is '%s', expected NOTSET, VALID, SAME_UPPER or "
                    "SAME_LOWER",
                    name);
}

/* Pads that make ceil(input / stride) windows; the odd one goes to the end
 * (upper) or the beginning. */
static iso_status_t same_pads(const iso_shape_t *input, bool is_upper,
                              iso__onnx_window_t *window)
{
    for (int i = 0; i < window->n_spatial; i++) {
        iso_dim_t dim = input->dim[i + 2];
        int64_t span = (window->kernel[i] - 1) * window->dilations[i] + 1;
        int64_t windows;
        int64_t total;

        if (!iso_dim_is_static(dim) || dim.size < 1 || dim.size > MOST_STEP) {
            char text[ISO_DIM_TEXT_BYTES];

            return iso_fail(ISO_UNSUPPORTED,
                            "auto_pad needs spatial dims that are numbers, "
                            "dim %d of its input is %s",
                            i + 2, iso_dim_text(dim, text));
        }
        windows = (dim.size - 1) / window->strides[i] + 1;
        total = (windows - 1) * window->strides[i] + span - dim.size;
        total = total > 0 ? total : 0;
        window->pads[i] = is_upper ? total / 2 : total - total / 2;
        window->pads[window->n_spatial + i] = total - window->pads[i];
    }
    return ISO_OK;
}

iso_status_t iso__onnx_window_of(iso__onnx_op_t *op, const iso_shape_t *input,
                                 iso__onnx_window_t *window)
{
    iso__onnx_pads_t kind;

    ISO_TRY(iso__onnx_steps_of(op, window));
    ISO_TRY(iso__onnx_pads_of(op, window, &kind));
    if (kind == ISO__PADS_SAME_UPPER || kind == ISO__PADS_SAME_LOWER) {
        return same_pads(input, kind == ISO__PADS_SAME_UPPER, window);
    }
    return ISO_OK;
}
