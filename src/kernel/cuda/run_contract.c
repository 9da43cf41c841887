#include "kernel/arith.h"
#include "kernel/cuda/run.h"

/* An activation that the contraction did not apply, in place. */
static iso__cuda_error_t apply(const iso_cuda_t *cuda,
                               const iso__cuda_activation_t *activation,
                               const iso_tensor_t *output)
{
    return iso__cuda_unary(cuda->stream, activation, output->data, output->data,
                           (int32_t)iso_tensor_count(output));
}

static iso_status_t activation_of(const iso_node_t *node, const iso_tensor_t *w,
                                  iso__cuda_activation_t *activation_out)
{
    iso_activation_param_t param;
    iso__coeff_t coeff;
    iso_op_t op = ISO_OP_COUNT;

    if (node->op == ISO_OP_CONV || node->op == ISO_OP_CONV_TRANSPOSE) {
        iso_conv_param_t conv;

        ISO_TRY(iso_conv_param_of(node, w->rank - 2, &w->dims[2], &conv));
        param = conv.activation;
    } else {
        iso_gemm_param_t gemm;

        ISO_TRY(iso_gemm_param_of(node, &gemm));
        param = gemm.activation;
    }
    op = iso__activation_op(&param, &coeff);
    *activation_out = iso__cuda_activation_of(op, &coeff);
    return ISO_OK;
}

/* ---- One element for each thread ---- */

static iso_status_t run_direct(const iso_cuda_t *cuda, const iso_node_t *node,
                               const iso_tensor_t *const *inputs,
                               const iso_tensor_t *output,
                               const iso__cuda_activation_t *activation,
                               iso__cuda_error_t *error_out)
{
    const iso_tensor_t *x = inputs[0];
    const iso_tensor_t *w = inputs[1];
    const iso_tensor_t *bias = iso__cuda_input(node, inputs, 2);
    const int rank = output->rank;
    const int64_t taps = iso__dims_product(w->dims, 2, rank);
    iso__cuda_direct_t d = {.x = x->data,
                            .weights = w->data,
                            .bias = bias != NULL ? bias->data : NULL,
                            .y = output->data,
                            .activation = *activation};
    iso_conv_param_t param;

    ISO_TRY(iso_conv_param_of(node, rank - 2, &w->dims[2], &param));

    const int64_t in_channels = x->dims[1] / param.groups;
    const int64_t out_channels = output->dims[1] / param.groups;
    const iso_blocks_t blocks = iso_blocks_of_conv(in_channels, taps);

    d.elements = (int32_t)iso_tensor_count(output);
    d.in_channels = (int32_t)in_channels;
    d.in_positions = (int32_t)iso__dims_product(x->dims, 2, rank);
    d.pieces = blocks.channels > 0 ? 0 : 1;
    d.block = blocks.channels > 0 ? (int32_t)(blocks.channels * taps)
                                  : ISO_BLOCK_MOST;
    d.n_taps = (int32_t)taps;
    d.transposed = node->op == ISO_OP_CONV_TRANSPOSE;
    d.weight_channel = (int32_t)(d.transposed ? out_channels * taps : taps);
    d.weight_out = (int32_t)(d.transposed ? taps : in_channels * taps);
    d.weight_group = (int32_t)(in_channels * out_channels * taps);
    d.out_channels = iso__cuda_divisor_of(out_channels);
    d.groups = iso__cuda_divisor_of(param.groups);
    d.window =
        iso__cuda_window_of(&param.window, &x->dims[2], &output->dims[2]);
    *error_out = iso__cuda_direct(cuda->stream, &d);
    return ISO_OK;
}

/* ---- Tiles ---- */

/* alpha y + beta c of a gemm whose product is in the output. */
static iso_status_t finish_gemm(const iso_cuda_t *cuda, const iso_node_t *node,
                                const iso_tensor_t *c,
                                const iso_tensor_t *output,
                                const iso__cuda_activation_t *activation,
                                iso__cuda_error_t *error_out)
{
    iso_gemm_param_t param;
    iso__cuda_walk_t walk;
    iso__walk_t steps;

    ISO_TRY(iso_gemm_param_of(node, &param));
    iso__walk_begin(&steps, output->rank, output->dims);
    (void)iso__walk_add_broadcast(&steps, c != NULL ? c : output);
    walk = iso__cuda_walk_of(&steps);
    *error_out = iso__cuda_gemm_finish(
        cuda->stream, activation, &walk, param.alpha, param.beta,
        c != NULL ? c->data : NULL, output->data);
    return ISO_OK;
}

static iso_status_t run_tiles(const iso_cuda_t *cuda, const iso_node_t *node,
                              const iso_tensor_t *const *inputs,
                              const iso_tensor_t *output, void *scratch,
                              const iso__cuda_activation_t *activation,
                              iso__cuda_error_t *error_out)
{
    const iso_tensor_t *bias = iso__cuda_input(node, inputs, 2);
    iso__cuda_contract_t contract;
    bool is_plain = true;

    ISO_TRY(iso__cuda_contract_of(node, inputs, output, &contract));
    if (node->op == ISO_OP_GEMM) {
        iso_gemm_param_t param;

        ISO_TRY(iso_gemm_param_of(node, &param));
        is_plain = iso__cuda_gemm_is_plain(&param, bias, contract.cols);
    }
    if (is_plain) {
        contract.activation = *activation;
    }
    contract.partial = scratch;
    *error_out = iso__cuda_contract(cuda->stream, &contract);
    if (*error_out != 0 || is_plain) {
        return ISO_OK;
    }
    return finish_gemm(cuda, node, bias, output, activation, error_out);
}

iso_status_t iso__cuda_run_contract(const iso_cuda_t *cuda,
                                    const iso_node_t *node,
                                    const iso_tensor_t *const *inputs,
                                    const iso_tensor_t *output, void *scratch,
                                    iso__cuda_error_t *error_out)
{
    iso__cuda_activation_t activation;

    ISO_TRY(activation_of(node, inputs[1], &activation));

    const bool is_light = iso__cuda_is_light(activation.op);
    const iso__cuda_activation_t none = {.op = ISO_OP_COUNT};
    const iso__cuda_activation_t *inside = is_light ? &activation : &none;

    if (iso__cuda_is_direct(node, inputs, output)) {
        ISO_TRY(run_direct(cuda, node, inputs, output, inside, error_out));
    } else {
        ISO_TRY(
            run_tiles(cuda, node, inputs, output, scratch, inside, error_out));
    }
    if (*error_out == 0 && !is_light) {
        *error_out = apply(cuda, &activation, output);
    }
    return ISO_OK;
}
