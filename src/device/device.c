#include "isotome/error.h"

#include "base/log.h"
#include "base/mem.h"
#include "device/device_impl.h"
#include "kernel/cpu/plain_blis.h"
#include "kernel/cuda.h"
#include "kernel/features.h"
#include "kernel/ref.h"

#include <stdio.h>
#include <string.h>

/* ---- Kinds ---- */

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

static iso_status_t open_throttled(iso_device_t *device)
{
    ISO_TRY(iso_cpu_create(device->threads, &device->cpu));
    device->is_direct = true;
    (void)snprintf(device->text, sizeof device->text, "throttled to %g Gflop/s",
                   device->flops_per_s / 1e9);
    return ISO_OK;
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
    [ISO_DEVICE_REF] = {.name = "ref", .open = open_ref, .run = run_ref},
    [ISO_DEVICE_CPU] = {.name = "cpu",
                        .open = open_cpu,
                        .has_formats = true,
                        .run = run_cpu,
                        .convert = convert_cpu},
    [ISO_DEVICE_THROTTLED] = {.name = "throttled",
                              .open = open_throttled,
                              .run = run_cpu},
};

static const iso_device_kind_t control = {
    .name = "control", .open = open_control, .run = run_control};

/* ---- One device ---- */

static iso_status_t check_threads(const char *name, int threads)
{
    return threads >= 1
               ? ISO_OK
               : iso_fail(ISO_INVAL,
                          "device '%s': %d threads, expected at least 1", name,
                          threads);
}

static iso_status_t open_kind(const iso_device_kind_t *kind, int threads,
                              double flops_per_s, iso_device_t **device_out)
{
    const iso_features_t features = iso_features_of_cpu();
    iso_device_t *device;
    iso_status_t status;

    ISO_TRY(check_threads(kind->name, threads));
    ISO_TRY(iso_features_check(&features));
    device = iso_alloc_zeroed(1, sizeof *device);
    if (device == NULL) {
        return ISO_NOMEM;
    }
    device->kind = kind;
    device->threads = threads;
    device->flops_per_s = flops_per_s;
    status = kind->open(device);
    if (status != ISO_OK) {
        iso_free(device);
        return status;
    }
    *device_out = device;
    return ISO_OK;
}

iso_status_t iso_device_open_control(int threads, iso_device_t **device_out)
{
    return open_kind(&control, threads, 0.0, device_out);
}

static int ordinal_of(const iso_device_spec_t *spec, int seat)
{
    const int count = iso_cuda_count();

    return spec->ordinal >= 0 ? spec->ordinal : count > 0 ? seat % count : 0;
}

static iso_status_t open_cuda(const iso_device_spec_t *spec, int seat,
                              iso_device_t **device_out)
{
    iso_device_t *device = iso_alloc_zeroed(1, sizeof *device);
    iso_status_t status;

    if (device == NULL) {
        return ISO_NOMEM;
    }
    status = iso_cuda_create(ordinal_of(spec, seat), &device->cuda);
    if (status != ISO_OK) {
        iso_free(device);
        return iso_fail_context(status, "device '%s'", spec->name);
    }
    (void)snprintf(device->text, sizeof device->text, "%s, %s", spec->name,
                   iso_cuda_text(device->cuda));
    *device_out = device;
    return ISO_OK;
}

static iso_status_t open_unit(const iso_device_t *device, int number,
                              iso_device_t **unit_out)
{
    const iso_device_spec_t *spec = iso_device_map_device(device->map, number);

    return spec->type == ISO_DEVICE_CUDA
               ? open_cuda(spec, iso_device_map_seat(device->map), unit_out)
               : open_kind(&kinds[spec->type], device->threads,
                           spec->flops_per_s, unit_out);
}

/* ---- Several ---- */

/* A device that is not there is left out where others are named behind it. */
static iso_status_t open_number(iso_device_t *device, int number)
{
    char reason[ISO_ERROR_TEXT_BYTES];

    const iso_status_t status =
        open_unit(device, number, &device->units[number]);

    if (status != ISO_UNSUPPORTED) {
        return status;
    }
    (void)snprintf(reason, sizeof reason, "%s", iso_error_text());
    if (iso_device_map_leave_out(device->map, number) != ISO_OK) {
        return iso_fail_context(status, "%s", reason);
    }
    iso_log(ISO_LOG_WARNING, "%s; what is placed on it falls back", reason);
    return ISO_OK;
}

/* "cpu skx, 2 threads + ref, 1 thread" */
static void add_text(iso_device_t *device, const iso_device_t *unit)
{
    const size_t length = strlen(device->text);

    (void)snprintf(device->text + length, sizeof device->text - length, "%s%s",
                   length == 0 ? "" : " + ", unit->text);
}

static iso_status_t open_units(iso_device_t *device)
{
    for (int i = 0; i < iso_device_map_device_count(device->map); i++) {
        ISO_TRY(open_number(device, i));
        if (device->units[i] != NULL) {
            add_text(device, device->units[i]);
            device->cpu =
                device->cpu == NULL ? device->units[i]->cpu : device->cpu;
        }
    }
    return ISO_OK;
}

iso_status_t iso_device_open_map(iso_device_map_t *map, int threads,
                                 iso_device_t **device_out)
{
    iso_device_t *device;

    *device_out = NULL;
    ISO_TRY(check_threads(iso_device_map_device(map, 0)->name, threads));
    device = iso_alloc_zeroed(1, sizeof *device);
    if (device == NULL) {
        return ISO_NOMEM;
    }
    device->threads = threads;
    device->map = map;

    const iso_status_t status = open_units(device);

    if (status != ISO_OK) {
        iso_device_close(&device);
    }
    *device_out = device;
    return status;
}

/* Everything on one of the devices that compute everything. */
static const iso_device_kind_t *find_whole(const char *rule)
{
    return strcmp(rule, "ref") == 0   ? &kinds[ISO_DEVICE_REF]
           : strcmp(rule, "cpu") == 0 ? &kinds[ISO_DEVICE_CPU]
                                      : NULL;
}

/* rank NULL: no figures */
iso_status_t iso_device_open(const char *rule, int threads,
                             iso_device_t **device_out)
{
    const iso_device_kind_t *kind = find_whole(rule);
    iso_device_map_t *map = NULL;

    if (kind != NULL) {
        return open_kind(kind, threads, 0.0, device_out);
    }
    ISO_TRY(iso_device_map_create(rule, &map));

    const iso_status_t status = iso_device_open_map(map, threads, device_out);

    if (status == ISO_OK) {
        (*device_out)->own_map = map;
    } else {
        iso_device_map_destroy(&map);
    }
    return status;
}

static void close_unit(iso_device_t *unit)
{
    if (unit != NULL) {
        iso_cpu_destroy(&unit->cpu);
        iso_cuda_destroy(&unit->cuda);
        iso_free(unit);
    }
}

void iso_device_close(iso_device_t **device)
{
    iso_device_t *dead = *device;

    if (dead == NULL) {
        return;
    }
    for (int i = 0; i < ISO_DEVICES_MOST; i++) {
        close_unit(dead->units[i]);
    }
    if (dead->map != NULL) {
        dead->cpu = NULL; /* one of theirs */
    }
    iso_device_map_destroy(&dead->own_map);
    close_unit(dead);
    *device = NULL;
}

size_t iso_device_memory(const iso_device_t *device)
{
    const iso_device_t *first =
        device->units[0] != NULL ? device->units[0] : device;

    return first->cuda != NULL ? iso_cuda_memory(first->cuda) : 0;
}

const char *iso_device_text(const iso_device_t *device)
{
    return device->text;
}
