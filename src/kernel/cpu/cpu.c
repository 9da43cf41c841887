#include "kernel/cpu.h"

#include "base/log.h"
#include "base/mem.h"
#include "kernel/cpu/blocked/blocked.h"
#include "kernel/cpu/chain.h"
#include "kernel/cpu/cpu_impl.h"
#include "kernel/cpu/depthwise/depthwise.h"
#include "kernel/cpu/direct/direct.h"
#include "kernel/ref.h"
#include "kernel/scratch.h"

static const iso_isa_t *isa_of(iso_family_t family)
{
    switch (family) {
    case ISO_FAMILY_SCALAR:
        return iso__isa_portable();
    case ISO_FAMILY_SKX:
        return iso__isa_avx512();
    default:
        return iso__isa_avx2();
    }
}

static iso_micro_t own_micro(const iso_isa_t *isa, int rows, int vectors,
                             iso_micro_fn *call)
{
    return (iso_micro_t){
        .narrow = rows,
        .wide = (int64_t)vectors * isa->lanes,
        .takes_step = true,
        .call = call,
    };
}

static iso_status_t set_kernels(iso_cpu_t *cpu)
{
    const iso_isa_t *isa = isa_of(cpu->family);

    cpu->isa = isa;
    cpu->tile = iso__tile_isa_of(cpu->family);
    cpu->light.isa = iso__light_isa_of(cpu->family);
    cpu->light.threads = cpu->threads;
    cpu->few[0] = own_micro(isa, 1, 4, isa->micro_1);
    cpu->few[1] = own_micro(isa, 2, 4, isa->micro_2);
    cpu->few[2] = own_micro(isa, 4, 2, isa->micro_4);
    if (cpu->family == ISO_FAMILY_SCALAR) {
        cpu->micro = cpu->few[2];
        return ISO_OK;
    }
    return iso__micro_blis(cpu->family, &cpu->micro);
}

iso_status_t iso_cpu_create(int threads, iso_cpu_t **cpu_out)
{
    iso_cpu_t *cpu;
    iso_status_t status = ISO_NOMEM;

    if (threads < 1) {
        return iso_fail(ISO_INVAL, "%d threads, expected at least 1", threads);
    }
    cpu = iso_alloc_zeroed(1, sizeof *cpu);
    if (cpu == NULL) {
        return ISO_NOMEM;
    }
    cpu->threads = threads;
    cpu->space = iso_alloc(iso_kernel_scratch_bytes(threads));
    if (cpu->space == NULL) {
        goto free_cpu;
    }
    status = iso_family_choose(&cpu->family);
    if (status == ISO_OK) {
        status = set_kernels(cpu);
    }
    if (status == ISO_OK) {
        *cpu_out = cpu;
        return ISO_OK;
    }
    iso_free(cpu->space);
free_cpu:
    iso_free(cpu);
    return status;
}

void iso_cpu_destroy(iso_cpu_t **cpu)
{
    if (*cpu != NULL) {
        iso_free((*cpu)->space);
        iso_free(*cpu);
        *cpu = NULL;
    }
}

iso_family_t iso_cpu_family(const iso_cpu_t *cpu)
{
    return cpu->family;
}

int iso_cpu_threads(const iso_cpu_t *cpu)
{
    return cpu->threads;
}

static iso_status_t run_light(const iso_cpu_t *cpu, const iso_node_t *node,
                              const iso_tensor_t *const *inputs,
                              const iso_tensor_t *output)
{
    if (iso__light_run(&cpu->light, node, inputs, output)) {
        return ISO_OK;
    }
    return iso_ref_run(node, inputs, output);
}

iso_status_t iso_cpu_run(iso_cpu_t *cpu, const iso_node_t *node,
                         const iso_tensor_t *const *inputs,
                         const iso_tensor_t *output)
{
    const bool is_f32 = output->dtype == ISO_DTYPE_F32;

    switch (node->op) {
    case ISO_OP_MATMUL:
        return is_f32 ? iso__cpu_matmul(cpu,
                                        &(iso_cpu_step_t){.node = node,
                                                          .inputs = inputs,
                                                          .output = output},
                                        NULL)
                      : iso_ref_run(node, inputs, output);
    case ISO_OP_GEMM:
        return is_f32 ? iso__cpu_gemm(cpu, node, inputs, output)
                      : iso_ref_run(node, inputs, output);
    case ISO_OP_CONV:
    case ISO_OP_CONV_TRANSPOSE:
        return is_f32 ? iso__cpu_conv(cpu, node, inputs, output)
                      : iso_ref_run(node, inputs, output);
    default:
        return run_light(cpu, node, inputs, output);
    }
}

static iso_status_t run_direct(const iso_cpu_t *cpu, const iso_cpu_step_t *step)
{
    switch (step->panels->spec.kind) {
    case ISO_PANELS_CONV:
        return iso__direct_conv(cpu, step);
    case ISO_PANELS_CONV_TRANSPOSED:
        return iso__direct_transposed(cpu, step);
    case ISO_PANELS_DEPTHWISE:
        ISO_ASSERT(iso__depthwise_run(cpu, step));
        return ISO_OK;
    case ISO_PANELS_MATMUL:
    case ISO_PANELS_MATMUL_TRANSPOSED:
        return iso__direct_matmul(cpu, step);
    }
    ISO_UNREACHABLE("kinds of panels");
}

static bool is_blocked(const iso_cpu_step_t *step)
{
    bool blocked = step->format == ISO_FORMAT_BLOCKED;

    for (int i = 0; step->formats != NULL && i < step->node->n_inputs; i++) {
        blocked = blocked || step->formats[i] == ISO_FORMAT_BLOCKED;
    }
    return blocked;
}

/* Of two values: matrix by matrix of the product, when there is one. */
static iso_status_t run_chain(const iso_cpu_t *cpu, const iso_cpu_step_t *step)
{
    iso__chain_t chain;

    iso__chain_make(cpu, step, &chain);
    if (chain.first == 1) {
        return iso__cpu_matmul(cpu, step, &chain);
    }
    iso__chain_run(&chain);
    return ISO_OK;
}

static bool has_views(const iso_cpu_step_t *step)
{
    bool has = false;

    for (int i = 0; step->views != NULL && i < step->node->n_inputs; i++) {
        has = has || step->views[i] != NULL;
    }
    return has;
}

iso_status_t iso_cpu_run_step(iso_cpu_t *cpu, const iso_cpu_step_t *step)
{
    if (step->panels != NULL) {
        return run_direct(cpu, step);
    }
    if (step->links != NULL) {
        return run_chain(cpu, step);
    }
    if (has_views(step)) {
        return iso__cpu_matmul(cpu, step, NULL);
    }
    if (!is_blocked(step)) {
        return iso_cpu_run(cpu, step->node, step->inputs, step->output);
    }
    if (!iso__blocked_run(&cpu->light, step)) {
        return iso_fail(ISO_INTERNAL,
                        "node '%s': no kernel for %s of blocked values",
                        step->node->name, iso_op_string(step->node->op));
    }
    return ISO_OK;
}
