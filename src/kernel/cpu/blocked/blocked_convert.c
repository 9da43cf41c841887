#include "kernel/cpu/blocked/blocked.h"
#include "kernel/cpu/cpu_impl.h"
#include "kernel/cpu/light_isa.h"
#include "kernel/walk.h"

enum { BLOCK = ISO_BLOCK_CHANNELS };

const iso_blocked_isa_t *iso__blocked_isa_of(const iso__light_t *light)
{
    if (light->isa == &iso__light_avx512) {
        return &iso__blocked_avx512;
    }
    return light->isa == &iso__light_avx2 ? &iso__blocked_avx2
                                          : &iso__blocked_portable;
}

void iso_cpu_convert(const iso_cpu_t *cpu, const iso_tensor_t *input,
                     iso_format_t to, const iso_tensor_t *output)
{
    const iso_blocked_isa_t *isa = iso__blocked_isa_of(&cpu->light);
    const int64_t channels = input->dims[1];
    const int64_t blocks = (channels + BLOCK - 1) / BLOCK;
    const int64_t plane = iso__dims_product(input->dims, 2, input->rank);
    const int64_t tasks = input->dims[0] * blocks;
    const float *x = input->data;
    float *y = output->data;

#pragma omp parallel for schedule(static) num_threads(cpu->threads)
    for (int64_t i = 0; i < tasks; i++) {
        const int64_t first = i % blocks * BLOCK;
        const int64_t left = channels - first;
        const int count = left < BLOCK ? (int)left : BLOCK;
        const int64_t plain = (i / blocks * channels + first) * plane;
        const int64_t blocked = i * plane * BLOCK;

        if (to == ISO_FORMAT_BLOCKED) {
            isa->from_plain(x + plain, plane, count, plane, y + blocked);
        } else {
            isa->to_plain(x + blocked, plane, plane, count, y + plain);
        }
    }
}
