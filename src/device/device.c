#include "isotome/error.h"

#include "base/mem.h"
#include "device/device_impl.h"
#include "kernel/cpu/plain_blis.h"
#include "kernel/features.h"
#include "kernel/ref.h"

#include <stdio.h>
#include <string.h>

static iso_status_t open_ref(iso_device_t *device)
{
    (void)snprintf(device->text, sizeof device->text, "ref, 1 thread");
    return ISO_OK;
}

static iso_status_t run_ref(const iso_device_t *device,
                            const iso_cpu_step_t *step)
{
    (void)device;
    return iso_ref_run(step->node, step->inputs, step->output);
}

static iso_status_t open_cpu(iso_device_t *device)
{
    ISO_TRY(iso_cpu_create(device->threads, &device->cpu));
    (void)snprintf(device->text, sizeof device->text, "cpu %s, %d thread%s",
                   iso_family_string(iso_cpu_family(device->cpu)),
                   device->threads, device->threads == 1 ? "" : "s");
    return ISO_OK;
}

static iso_status_t run_cpu(const iso_device_t *device,
                            const iso_cpu_step_t *step)
{
    return iso_cpu_run_step(device->cpu, step);
}

static void convert_cpu(const iso_device_t *device, const iso_tensor_t *input,
                        iso_format_t to, const iso_tensor_t *output)
{
    iso_cpu_convert(device->cpu, input, to, output);
}

static iso_status_t open_control(iso_device_t *device)
{
    ISO_TRY(open_cpu(device));
    if (iso_cpu_family(device->cpu) != ISO_FAMILY_SCALAR) {
        return ISO_OK;
    }
    iso_cpu_destroy(&device->cpu);
    return iso_fail(ISO_INVAL, "the kernel family 'scalar' is no BLIS: set "
                               "ISOTOME_KERNELS to another one");
}

static iso_status_t run_control(const iso_device_t *device,
                                const iso_cpu_step_t *step)
{
    return iso_plain_blis_run(device->cpu, step->node, step->inputs,
                              step->output);
}

static const iso_device_kind_t kinds[] = {
    {.name = "ref", .open = open_ref, .run = run_ref},
    {.name = "cpu",
     .open = open_cpu,
     .has_formats = true,
     .run = run_cpu,
     .convert = convert_cpu},
};

static const iso_device_kind_t control = {
    .name = "control", .open = open_control, .run = run_control};

static const iso_device_kind_t *find_kind(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i].name, name) == 0) {
            return &kinds[i];
        }
    }
    return NULL;
}

static iso_status_t open_kind(const iso_device_kind_t *kind, int threads,
                              iso_device_t **device_out)
{
    const iso_features_t features = iso_features_of_cpu();
    iso_device_t *device;
    iso_status_t status;

    if (threads < 1) {
        return iso_fail(ISO_INVAL,
                        "device '%s': %d threads, expected at least 1",
                        kind->name, threads);
    }
    ISO_TRY(iso_features_check(&features));
    device = iso_alloc_zeroed(1, sizeof *device);
    if (device == NULL) {
        return ISO_NOMEM;
    }
    device->kind = kind;
    device->threads = threads;
    status = kind->open(device);
    if (status != ISO_OK) {
        iso_free(device);
        return status;
    }
    *device_out = device;
    return ISO_OK;
}

iso_status_t iso_device_open(const char *name, int threads,
                             iso_device_t **device_out)
{
    const iso_device_kind_t *kind = find_kind(name);

    if (kind == NULL) {
        return iso_fail(ISO_INVAL, "no device '%s'; there are: ref, cpu", name);
    }
    return open_kind(kind, threads, device_out);
}

iso_status_t iso_device_open_control(int threads, iso_device_t **device_out)
{
    return open_kind(&control, threads, device_out);
}

void iso_device_close(iso_device_t **device)
{
    if (*device != NULL) {
        iso_cpu_destroy(&(*device)->cpu);
        iso_free(*device);
        *device = NULL;
    }
}

const char *iso_device_text(const iso_device_t *device)
{
    return device->text;
}
