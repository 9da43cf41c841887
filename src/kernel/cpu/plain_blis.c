#include "kernel/cpu/plain_blis.h"

#include "isotome/error.h"

#include "base/mem.h"
#include "graph/param.h"

#include <blis.h>

#include <string.h>

enum { OPERANDS = 2 };

static iso_status_t fail_plain(const iso_node_t *node, const char *what)
{
    return iso_fail(ISO_UNSUPPORTED,
                    "node '%s': plain BLIS computes no %s with %s", node->name,
                    iso_op_string(node->op), what);
}

static iso_status_t check(const iso_node_t *node,
                          const iso_activation_param_t *activation)
{
    if (node->dtype != ISO_DTYPE_F32) {
        return fail_plain(node, "elements other than f32");
    }
    if (node->n_inputs > OPERANDS) {
        return fail_plain(node, "a bias");
    }
    return activation->kind == ISO_ACTIVATION_NONE
               ? ISO_OK
               : fail_plain(node, "an activation");
}

/* ---- Matrix products ---- */

/* c (m, n) = alpha a (m, k) b (k, n), each row-major. */
typedef struct product {
    dim_t m;
    dim_t n;
    dim_t k;
    trans_t trans_a;
    trans_t trans_b;
    float alpha;
} product_t;

static void multiply(const product_t *product, const float *a, const float *b,
                     float *c)
{
    float alpha = product->alpha;
    float zero = 0.0F;
    const inc_t a_row =
        product->trans_a == BLIS_TRANSPOSE ? product->m : product->k;
    const inc_t b_row =
        product->trans_b == BLIS_TRANSPOSE ? product->k : product->n;

    /* BLIS takes pointers to what it only reads. */
    bli_sgemm(product->trans_a, product->trans_b, product->m, product->n,
              product->k, &alpha, (float *)a, a_row, 1, (float *)b, b_row, 1,
              &zero, c, product->n, 1);
}

/* Matrices in a tensor of rank 2 or more. */
static int64_t matrices_of(const iso_tensor_t *tensor)
{
    int64_t count = 1;

    for (int axis = 0; axis < tensor->rank - 2; axis++) {
        count *= tensor->dims[axis];
    }
    return count;
}

/* One product for each matrix, or one for all rows when there is one B. */
static iso_status_t run_matrices(const iso_node_t *node, product_t *product,
                                 const iso_tensor_t *const *inputs,
                                 const iso_tensor_t *output)
{
    int64_t count = matrices_of(output);
    const float *a = inputs[0]->data;
    const float *b = inputs[1]->data;
    float *c = output->data;

    if (matrices_of(inputs[0]) != count) {
        return fail_plain(node, "operands that are broadcast");
    }
    if (matrices_of(inputs[1]) == 1) {
        product->m *= count;
        count = 1;
    } else if (matrices_of(inputs[1]) != count) {
        return fail_plain(node, "operands that are broadcast");
    }
    for (int64_t i = 0; i < count; i++) {
        multiply(product, a + i * product->m * product->k,
                 b + i * product->k * product->n,
                 c + i * product->m * product->n);
    }
    return ISO_OK;
}

static iso_status_t run_matmul(const iso_node_t *node,
                               const iso_tensor_t *const *inputs,
                               const iso_tensor_t *output)
{
    const iso_tensor_t *a = inputs[0];
    iso_gemm_param_t param;

    ISO_TRY(iso_gemm_param_of(node, &param));
    ISO_TRY(check(node, &param.activation));
    if (a->rank < 2 || inputs[1]->rank < 2) {
        return fail_plain(node, "a vector");
    }

    product_t product = {
        .m = output->dims[output->rank - 2],
        .n = output->dims[output->rank - 1],
        .k = a->dims[param.trans_a ? 0 : a->rank - 1],
        .trans_a = param.trans_a ? BLIS_TRANSPOSE : BLIS_NO_TRANSPOSE,
        .trans_b = param.trans_b ? BLIS_TRANSPOSE : BLIS_NO_TRANSPOSE,
        .alpha = param.alpha,
    };

    return run_matrices(node, &product, inputs, output);
}

/* ---- Convolutions ---- */

/* One group of one image; missing spatial dims come first and are 1. */
typedef struct image {
    int64_t channels;
    int64_t in[ISO_MAX_SPATIAL];
    int64_t out[ISO_MAX_SPATIAL];
    int64_t kernel[ISO_MAX_SPATIAL];
    int64_t stride[ISO_MAX_SPATIAL];
    int64_t dilation[ISO_MAX_SPATIAL];
    int64_t pad[ISO_MAX_SPATIAL];
} image_t;

static int64_t product_of(const int64_t *sizes)
{
    return sizes[0] * sizes[1] * sizes[2];
}

/* Where a tap reads for an output position; false: in the padding. */
static bool reads(const image_t *image, int dim, int64_t tap, int64_t position,
                  int64_t *index_out)
{
    *index_out = position * image->stride[dim] + tap * image->dilation[dim] -
                 image->pad[dim];
    return *index_out >= 0 && *index_out < image->in[dim];
}

/* What a tap of one channel reads, for all output positions. */
static void unfold_tap(const image_t *image, const int64_t *tap, const float *x,
                       float *row)
{
    for (int64_t i = 0; i < image->out[0]; i++) {
        int64_t plane;
        const bool has_plane = reads(image, 0, tap[0], i, &plane);

        for (int64_t j = 0; j < image->out[1]; j++) {
            int64_t line;
            int64_t at;
            const bool has_line = reads(image, 1, tap[1], j, &line);
            const int64_t first = (plane * image->in[1] + line) * image->in[2];

            for (int64_t k = 0; k < image->out[2]; k++) {
                const bool has = reads(image, 2, tap[2], k, &at);

                *row++ = has && has_line && has_plane ? x[first + at] : 0.0F;
            }
        }
    }
}

/* columns [out] (channels * taps, positions) */
static void im2col(const image_t *image, const float *x, float *columns)
{
    const int64_t taps = product_of(image->kernel);
    const int64_t lines = image->kernel[1] * image->kernel[2];

    for (int64_t i = 0; i < image->channels * taps; i++) {
        const int64_t tap[] = {i % taps / lines, i % lines / image->kernel[2],
                               i % image->kernel[2]};

        unfold_tap(image, tap, x + i / taps * product_of(image->in),
                   columns + i * product_of(image->out));
    }
}

static image_t image_of(const iso_conv_param_t *param,
                        const iso_tensor_t *const *inputs,
                        const iso_tensor_t *output)
{
    const iso_window_t *window = &param->window;
    image_t image = {.channels = inputs[1]->dims[1]};

    for (int dim = 0; dim < ISO_MAX_SPATIAL; dim++) {
        const int i = dim - (ISO_MAX_SPATIAL - window->n_spatial);
        const bool given = i >= 0;

        image.in[dim] = given ? inputs[0]->dims[2 + i] : 1;
        image.out[dim] = given ? output->dims[2 + i] : 1;
        image.kernel[dim] = given ? window->kernel[i] : 1;
        image.stride[dim] = given ? window->strides[i] : 1;
        image.dilation[dim] = given ? window->dilations[i] : 1;
        image.pad[dim] = given ? window->pads_begin[i] : 0;
    }
    return image;
}

static iso_status_t run_conv(const iso_node_t *node,
                             const iso_tensor_t *const *inputs,
                             const iso_tensor_t *output)
{
    iso_conv_param_t param;

    ISO_TRY(iso_conv_param_of(node, inputs[0]->rank - 2, inputs[1]->dims + 2,
                              &param));
    ISO_TRY(check(node, &param.activation));

    const image_t image = image_of(&param, inputs, output);
    const product_t product = {
        .m = output->dims[1] / param.groups,
        .n = product_of(image.out),
        .k = image.channels * product_of(image.kernel),
        .trans_a = BLIS_NO_TRANSPOSE,
        .trans_b = BLIS_NO_TRANSPOSE,
        .alpha = 1.0F,
    };
    const int64_t n_images = output->dims[0] * param.groups;
    const float *x = inputs[0]->data;
    const float *w = inputs[1]->data;
    float *y = output->data;
    float *columns =
        iso_alloc((size_t)(product.k * product.n) * sizeof *columns);

    if (columns == NULL) {
        return ISO_NOMEM;
    }
    for (int64_t i = 0; i < n_images; i++) {
        im2col(&image, x + i * image.channels * product_of(image.in), columns);
        multiply(&product, w + i % param.groups * product.m * product.k,
                 columns, y + i * product.m * product.n);
    }
    iso_free(columns);
    return ISO_OK;
}

iso_status_t iso_plain_blis_run(iso_cpu_t *cpu, const iso_node_t *node,
                                const iso_tensor_t *const *inputs,
                                const iso_tensor_t *output)
{
    bli_thread_set_num_threads(iso_cpu_threads(cpu));
    switch (node->op) {
    case ISO_OP_MATMUL:
    case ISO_OP_GEMM:
        return run_matmul(node, inputs, output);
    case ISO_OP_CONV:
        return run_conv(node, inputs, output);
    default:
        return iso_cpu_run(cpu, node, inputs, output);
    }
}
