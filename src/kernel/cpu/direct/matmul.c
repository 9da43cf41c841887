/* Products of a matrix and packed weights: matmul and gemm. */
#include "base/log.h"
#include "kernel/cpu/contract.h"
#include "kernel/cpu/direct/direct.h"
#include "kernel/cpu/light_isa.h"
#include "kernel/walk.h"

void iso__direct_set_activations(const iso_cpu_t *cpu,
                                 const iso_activation_param_t *activation,
                                 const iso_cpu_step_t *step,
                                 iso_direct_t *direct)
{
    iso__set_activation(cpu, activation, &direct->before);
    direct->after.activation = ISO_OP_COUNT;
    if (step->activated == NULL) {
        return;
    }
    ISO_ASSERT(iso__coeff_of(step->activated, &direct->after.coeff) == ISO_OK);
    direct->after.activation = step->activated->op;
    direct->after.is_relu = step->activated->op == ISO_OP_RELU;
    if (!direct->after.is_relu) {
        direct->after.activate = cpu->light.isa->unary;
    }
}

/* Rows are positions in a line, of one tap. */
static iso_geometry_t geometry_of(int64_t rows)
{
    iso_geometry_t g = {.in = {1, 1, rows}, .out = {1, 1, rows}, .plane = rows};

    for (int i = 0; i < ISO_MAX_SPATIAL; i++) {
        g.kernel[i] = 1;
        g.step[i] = 1;
        g.tap_step[i] = 1;
        g.divide[i] = 1;
    }
    return g;
}

iso_status_t iso__direct_matmul(const iso_cpu_t *cpu,
                                const iso_cpu_step_t *step)
{
    const iso_tensor_t *a = step->inputs[0];
    const iso_panels_spec_t *spec = &step->panels->spec;
    const int64_t rows = iso__dims_product(a->dims, 0, a->rank - 1);
    iso_direct_t direct = {
        .panels = step->panels,
        .blocks = iso_blocks_of_matmul(spec->length),
        .channels = spec->length,
        .geometry = geometry_of(rows),
        .taps = ISO_ONE_TAP,
        .images = 1,
        .groups = 1,
        .source = ISO_SOURCE_ROWS,
        .in = a->data,
        .in_pixel = spec->length,
        .out = step->output->data,
        .out_step = {0, 0, spec->lanes},
        .out_channel = ISO_BLOCK_CHANNELS,
    };
    iso__chain_t chain;
    iso_gemm_param_t param;

    ISO_TRY(iso_gemm_param_of(step->node, &param));
    if (step->links != NULL) {
        iso__chain_make(cpu, step, &chain);
        direct.chain = &chain;
    }
    if (step->node->n_inputs > 2 && step->inputs[2] != NULL) {
        direct.bias = step->inputs[2]->data;
    }
    if (step->addend != NULL) {
        direct.addend = step->addend->data;
    }
    iso__direct_set_activations(cpu, &param.activation, step, &direct);
    iso__direct_run(cpu, &direct);
    return ISO_OK;
}
