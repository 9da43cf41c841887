#include "kernel/ref/real_dot.h"

/* One matrix product; a step is the distance between neighbours. */
typedef struct product {
    int64_t rows;
    int64_t inner;
    int64_t cols;
    int64_t a_row;
    int64_t a_inner;
    int64_t b_inner;
    int64_t b_col;
} product_t;

/* to (inner), a row of a. */
static void lay_out_row(const product_t *product, const real_t *a, real_t *to)
{
    for (int64_t k = 0; k < product->inner; k++) {
        to[k] = a[k * product->a_inner];
    }
}

/* to (inner, n), n columns of b. */
static void lay_out_columns(const product_t *product, const real_t *b,
                            int64_t n, real_t *to)
{
    for (int64_t k = 0; k < product->inner; k++) {
        for (int64_t j = 0; j < n; j++) {
            to[k * n + j] = b[k * product->b_inner + j * product->b_col];
        }
    }
}

/* y (rows, cols) = a b, before anything is added. */
static void multiply(const real_dot_t *dot, const product_t *product,
                     const real_t *a, const real_t *b, real_t *y)
{
    for (int64_t j = 0; j < product->cols; j += dot->most) {
        const int64_t rest = product->cols - j;
        const int64_t n = rest < dot->most ? rest : dot->most;

        lay_out_columns(product, b + j * product->b_col, n, dot->columns);
        for (int64_t i = 0; i < product->rows; i++) {
            lay_out_row(product, a + i * product->a_row, dot->row);
            REAL(iso__ref_dot)(dot, dot->row, n, y + i * product->cols + j);
        }
    }
}

/* ---- matmul ---- */

static product_t product_of_matmul(const iso_tensor_t *a, const iso_tensor_t *b)
{
    product_t product = {.rows = 1, .cols = 1, .a_inner = 1, .b_col = 1};

    product.inner = a->dims[a->rank - 1];
    product.a_row = product.inner;
    if (a->rank > 1) {
        product.rows = a->dims[a->rank - 2];
    }
    if (b->rank > 1) {
        product.cols = b->dims[b->rank - 1];
    }
    product.b_inner = product.cols;
    return product;
}

/* Follow the matrices of an operand through the batch dims. */
static int add_matrices(iso__walk_t *walk, const iso_tensor_t *tensor)
{
    iso_tensor_t batch = *tensor;
    const int matrix = tensor->rank > 1 ? 2 : 1;
    const int64_t elements =
        iso__dims_product(tensor->dims, tensor->rank - matrix, tensor->rank);

    batch.rank = tensor->rank - matrix;

    const int array = iso__walk_add_broadcast(walk, &batch);

    for (int axis = 0; axis < walk->rank; axis++) {
        walk->step[array][axis] *= elements;
    }
    return array;
}

static void finish(const iso_activation_param_t *activation,
                   const iso_tensor_t *bias, const iso_tensor_t *output,
                   int64_t cols)
{
    const real_t *add = bias != NULL ? bias->data : NULL;
    const int64_t count = iso_tensor_count(output);
    real_t *y = output->data;
    iso__coeff_t coeff;
    const iso_op_t op = iso__activation_op(activation, &coeff);

    for (int64_t i = 0; i < count; i++) {
        const real_t sum = add != NULL ? y[i] + add[i % cols] : y[i];

        y[i] = REAL(iso__ref_apply)(op, &coeff, sum);
    }
}

iso_status_t REAL(iso__ref_matmul)(const iso_node_t *node,
                                   const iso_tensor_t *const *inputs,
                                   const iso_tensor_t *output)
{
    const iso_tensor_t *a = inputs[0];
    const iso_tensor_t *b = inputs[1];
    const product_t product = product_of_matmul(a, b);
    const int batch_rank = output->rank - (a->rank > 1) - (b->rank > 1);
    real_t *y = output->data;
    iso_gemm_param_t param;
    iso__walk_t walk;
    real_dot_t dot;

    ISO_TRY(iso_gemm_param_of(node, &param));
    ISO_TRY(
        REAL(iso__ref_dot_begin)(iso_blocks_of_matmul(product.inner), &dot));
    iso__walk_begin(&walk, batch_rank, output->dims);

    const int at_a = add_matrices(&walk, a);
    const int at_b = add_matrices(&walk, b);
    const int64_t count = iso__walk_count(&walk);

    for (int64_t i = 0; i < count; i++, iso__walk_next(&walk)) {
        multiply(&dot, &product, (const real_t *)a->data + walk.offset[at_a],
                 (const real_t *)b->data + walk.offset[at_b],
                 y + i * product.rows * product.cols);
    }
    REAL(iso__ref_dot_end)(&dot);
    finish(&param.activation, iso__ref_input(node, inputs, 2), output,
           product.cols);
    return ISO_OK;
}

/* ---- gemm ---- */

static product_t product_of_gemm(const iso_tensor_t *a, const iso_tensor_t *b,
                                 const iso_gemm_param_t *param)
{
    product_t product = {
        .rows = a->dims[param->trans_a ? 1 : 0],
        .inner = a->dims[param->trans_a ? 0 : 1],
        .cols = b->dims[param->trans_b ? 0 : 1],
    };

    product.a_row = param->trans_a ? 1 : product.inner;
    product.a_inner = param->trans_a ? product.rows : 1;
    product.b_inner = param->trans_b ? 1 : product.cols;
    product.b_col = param->trans_b ? product.inner : 1;
    return product;
}

/* alpha y, plus beta c: each product and the sum round once. */
static void finish_gemm(const iso_gemm_param_t *param, const iso_tensor_t *c,
                        const iso_tensor_t *output)
{
    const real_t *add = c != NULL ? c->data : NULL;
    const int64_t count = iso_tensor_count(output);
    real_t *y = output->data;
    iso__coeff_t coeff;
    const iso_op_t op = iso__activation_op(&param->activation, &coeff);
    iso__walk_t walk;

    iso__walk_begin(&walk, output->rank, output->dims);

    const int at_c = iso__walk_add_broadcast(&walk, c != NULL ? c : output);

    for (int64_t i = 0; i < count; i++, iso__walk_next(&walk)) {
        real_t sum = param->alpha * y[i];

        if (add != NULL) {
            sum += param->beta * add[walk.offset[at_c]];
        }
        y[i] = REAL(iso__ref_apply)(op, &coeff, sum);
    }
}

iso_status_t REAL(iso__ref_gemm)(const iso_node_t *node,
                                 const iso_tensor_t *const *inputs,
                                 const iso_tensor_t *output)
{
    iso_gemm_param_t param;
    real_dot_t dot;

    ISO_TRY(iso_gemm_param_of(node, &param));

    const product_t product = product_of_gemm(inputs[0], inputs[1], &param);

    ISO_TRY(
        REAL(iso__ref_dot_begin)(iso_blocks_of_matmul(product.inner), &dot));
    multiply(&dot, &product, inputs[0]->data, inputs[1]->data, output->data);
    REAL(iso__ref_dot_end)(&dot);
    finish_gemm(&param, iso__ref_input(node, inputs, 2), output);
    return ISO_OK;
}
