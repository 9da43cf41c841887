#include "kernel/cpu/contract.h"
#include "kernel/cpu/direct/product.h"
#include "kernel/cpu/light_isa.h"
#include "kernel/walk.h"

/* Rows and columns change places where few columns would waste most of a
 * wide panel. */
static void choose_roles(const iso_cpu_t *cpu, iso_contraction_t *c)
{
    iso_contraction_t turned = *c;

    if (c->columns >= c->rows || 2 * c->columns > cpu->micro.wide) {
        return;
    }
    turned.rows = c->columns;
    turned.columns = c->rows;
    turned.image_columns = c->rows;
    turned.narrow = c->wide;
    turned.wide = c->narrow;
    turned.addend_row = c->addend_column;
    turned.addend_column = c->addend_row;
    turned.out_row = c->out_column;
    turned.out_column = c->out_row;
    for (int i = 0; i < c->batch.rank; i++) {
        turned.batch.narrow[i] = c->batch.wide[i];
        turned.batch.wide[i] = c->batch.narrow[i];
    }
    *c = turned;
}

void iso__contract_plain(const iso_cpu_t *cpu, const iso_contraction_t *c)
{
    iso_contraction_t chosen = *c;

    if (iso__direct_product(cpu, c)) {
        return;
    }
    choose_roles(cpu, &chosen);
    iso__contract(cpu, &chosen);
}

static iso_operand_t operand_of(const iso_tensor_t *tensor, int64_t lane_step,
                                int64_t k_step)
{
    return (iso_operand_t){
        .data = tensor->data,
        .lane_step = lane_step,
        .channel_step = k_step,
        .k_step = k_step,
    };
}

/* Steps of an operand through the batch dims of the result; 0 where it is
 * broadcast. Returns the number of its matrices. */
static int64_t batch_steps(const iso_tensor_t *tensor, int matrix_rank,
                           int batch_rank, int64_t *steps_out)
{
    const int missing = batch_rank - (tensor->rank - matrix_rank);
    int64_t step = iso__dims_product(tensor->dims, tensor->rank - matrix_rank,
                                     tensor->rank);
    int64_t matrices = 1;

    for (int i = batch_rank - 1; i >= 0; i--) {
        const int64_t dim = i < missing ? 1 : tensor->dims[i - missing];

        steps_out[i] = dim == 1 ? 0 : step;
        step *= dim;
        matrices *= dim;
    }
    return matrices;
}

static void set_batch(const iso_tensor_t *a, const iso_tensor_t *b,
                      const iso_tensor_t *output, iso_contraction_t *c)
{
    const int a_rank = a->rank > 1 ? 2 : 1;
    const int b_rank = b->rank > 1 ? 2 : 1;
    iso_batch_t *batch = &c->batch;
    int64_t count = 1;
    int64_t step = c->rows * c->columns;

    batch->rank = output->rank - (a_rank - 1) - (b_rank - 1);

    const int64_t of_a = batch_steps(a, a_rank, batch->rank, batch->narrow);
    const int64_t of_b = batch_steps(b, b_rank, batch->rank, batch->wide);

    for (int i = batch->rank - 1; i >= 0; i--) {
        batch->dims[i] = output->dims[i];
        batch->out[i] = step;
        step *= output->dims[i];
        count *= output->dims[i];
    }
    /* One matrix b for all: the rows of all a are one matrix. */
    if (of_b == 1 && of_a == count) {
        c->rows *= count;
        batch->rank = 0;
    }
}

void iso__set_activation(const iso_cpu_t *cpu,
                         const iso_activation_param_t *activation,
                         iso_finish_t *finish)
{
    finish->activation = iso__activation_op(activation, &finish->coeff);
    finish->is_relu = finish->activation == ISO_OP_RELU;
    if (!finish->is_relu && finish->activation != ISO_OP_COUNT) {
        finish->activate = cpu->light.isa->unary;
    }
}

iso_status_t iso__cpu_matmul(const iso_cpu_t *cpu, const iso_node_t *node,
                             const iso_tensor_t *const *inputs,
                             const iso_tensor_t *output)
{
    const iso_tensor_t *a = inputs[0];
    const iso_tensor_t *b = inputs[1];
    const int64_t inner = a->dims[a->rank - 1];
    const int64_t columns = b->rank > 1 ? b->dims[b->rank - 1] : 1;
    iso_contraction_t c = {
        .blocks = iso_blocks_of_matmul(inner),
        .rows = a->rank > 1 ? a->dims[a->rank - 2] : 1,
        .columns = columns,
        .image_columns = columns,
        .narrow = operand_of(a, inner, 1),
        .wide = operand_of(b, 1, columns),
        .addend_column = 1,
        .out = output->data,
        .out_row = columns,
        .out_column = 1,
    };
    iso_gemm_param_t param;

    ISO_TRY(iso_gemm_param_of(node, &param));
    iso__set_activation(cpu, &param.activation, &c.finish);
    if (node->n_inputs > 2 && inputs[2] != NULL) {
        c.addend = inputs[2]->data;
    }
    set_batch(a, b, output, &c);
    iso__contract_plain(cpu, &c);
    return ISO_OK;
}

/* The addend of a gemm, broadcast to (rows, columns). */
static void set_addend(const iso_tensor_t *addend, iso_contraction_t *c)
{
    const int rank = addend->rank;
    const int64_t columns = rank > 0 ? addend->dims[rank - 1] : 1;
    const int64_t rows = rank > 1 ? addend->dims[rank - 2] : 1;

    c->addend = addend->data;
    c->addend_column = columns == 1 ? 0 : 1;
    c->addend_row = rows == 1 ? 0 : columns;
}

iso_status_t iso__cpu_gemm(const iso_cpu_t *cpu, const iso_node_t *node,
                           const iso_tensor_t *const *inputs,
                           const iso_tensor_t *output)
{
    iso_gemm_param_t param;

    ISO_TRY(iso_gemm_param_of(node, &param));

    const int64_t rows = output->dims[0];
    const int64_t columns = output->dims[1];
    const int64_t inner = inputs[0]->dims[param.trans_a ? 0 : 1];
    iso_contraction_t c = {
        .blocks = iso_blocks_of_matmul(inner),
        .rows = rows,
        .columns = columns,
        .image_columns = columns,
        .narrow = param.trans_a ? operand_of(inputs[0], 1, rows)
                                : operand_of(inputs[0], inner, 1),
        .wide = param.trans_b ? operand_of(inputs[1], inner, 1)
                              : operand_of(inputs[1], 1, columns),
        .out = output->data,
        .out_row = columns,
        .out_column = 1,
        .finish = {.scale = param.alpha,
                   .is_scaled = param.alpha != 1.0F,
                   .addend_scale = param.beta,
                   .is_addend_scaled = param.beta != 1.0F},
    };

    iso__set_activation(cpu, &param.activation, &c.finish);
    if (node->n_inputs > 2 && inputs[2] != NULL) {
        set_addend(inputs[2], &c);
    }
    iso__contract_plain(cpu, &c);
    return ISO_OK;
}
