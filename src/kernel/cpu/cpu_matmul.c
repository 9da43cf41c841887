#include "kernel/cpu/chain.h"
#include "kernel/cpu/contract.h"
#include "kernel/cpu/direct/product.h"
#include "kernel/cpu/light_isa.h"
#include "kernel/walk.h"

#include <string.h>

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
    if (c->chain != NULL) {
        iso__chain_run_behind(c->chain);
    }
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

/* A matrix operand, or a batch of them. */
typedef struct matrices {
    const iso_tensor_t *tensor;
    const float *data;
    bool is_dense;
    int64_t steps[ISO_MAX_RANK]; /* elements to the next one of each axis */
} matrices_t;

static matrices_t matrices_of(const iso_tensor_t *tensor,
                              const iso_view_t *view)
{
    matrices_t m = {
        .tensor = tensor, .data = tensor->data, .is_dense = view == NULL};

    if (view == NULL) {
        iso__strides_of(tensor->rank, tensor->dims, m.steps);
    } else {
        m.data += view->offset;
        memcpy(m.steps, view->steps, sizeof m.steps);
    }
    return m;
}

/* Steps of an operand through the batch dims of the result; 0 where it is
 * broadcast. Returns the number of its matrices. */
static int64_t batch_steps(const matrices_t *m, int matrix_rank, int batch_rank,
                           int64_t *steps_out)
{
    const int missing = batch_rank - (m->tensor->rank - matrix_rank);
    int64_t matrices = 1;

    for (int i = batch_rank - 1; i >= 0; i--) {
        const int64_t dim = i < missing ? 1 : m->tensor->dims[i - missing];

        steps_out[i] = dim == 1 ? 0 : m->steps[i - missing];
        matrices *= dim;
    }
    return matrices;
}

static void set_batch(const matrices_t *a, const matrices_t *b,
                      const iso_tensor_t *output, iso_contraction_t *c)
{
    const int a_rank = a->tensor->rank > 1 ? 2 : 1;
    const int b_rank = b->tensor->rank > 1 ? 2 : 1;
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
    if (of_b == 1 && of_a == count && a->is_dense) {
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

/* Rows of a, columns of b. */
static void set_operands(const matrices_t *a, const matrices_t *b,
                         iso_contraction_t *c)
{
    const int a_rank = a->tensor->rank;
    const int b_rank = b->tensor->rank;

    c->narrow.data = a->data;
    c->narrow.lane_step = a_rank > 1 ? a->steps[a_rank - 2] : 0;
    c->narrow.k_step = a->steps[a_rank - 1];
    c->narrow.channel_step = c->narrow.k_step;
    c->wide.data = b->data;
    c->wide.lane_step = b_rank > 1 ? b->steps[b_rank - 1] : 1;
    c->wide.k_step = b_rank > 1 ? b->steps[b_rank - 2] : 1;
    c->wide.channel_step = c->wide.k_step;
}

iso_status_t iso__cpu_matmul(const iso_cpu_t *cpu, const iso_cpu_step_t *step,
                             const iso__chain_t *chain)
{
    const iso_tensor_t *const *inputs = step->inputs;
    const iso_view_t *const *views = step->views;
    const matrices_t a =
        matrices_of(inputs[0], views != NULL ? views[0] : NULL);
    const matrices_t b =
        matrices_of(inputs[1], views != NULL ? views[1] : NULL);
    const int64_t columns =
        b.tensor->rank > 1 ? b.tensor->dims[b.tensor->rank - 1] : 1;
    iso_contraction_t c = {
        .blocks = iso_blocks_of_matmul(a.tensor->dims[a.tensor->rank - 1]),
        .rows = a.tensor->rank > 1 ? a.tensor->dims[a.tensor->rank - 2] : 1,
        .columns = columns,
        .image_columns = columns,
        .addend_column = 1,
        .out = step->output->data,
        .out_row = columns,
        .out_column = 1,
        .chain = chain,
    };
    iso_gemm_param_t param;

    ISO_TRY(iso_gemm_param_of(step->node, &param));
    iso__set_activation(cpu, &param.activation, &c.finish);
    if (step->node->n_inputs > 2 && inputs[2] != NULL) {
        c.addend = inputs[2]->data;
    }
    set_operands(&a, &b, &c);
    set_batch(&a, &b, step->output, &c);
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
