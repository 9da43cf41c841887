/* What a device is made of; private to src/device. */
#ifndef ISO_DEVICE_IMPL_H
#define ISO_DEVICE_IMPL_H

#include "isotome/device_map.h"

#include "device/device.h"
#include "kernel/cpu.h"

enum { ISO_DEVICE_TEXT_BYTES = 128 };

/* A device that works in host memory, node by node. */
typedef struct iso_device_kind {
    const char *name;
    iso_status_t (*open)(iso_device_t *device); /* sets text */
    bool has_formats; /* kernel/format.h; else all is plain and by itself */
    iso_status_t (*run)(const iso_device_t *device, const iso_cpu_step_t *step);
    void (*convert)(const iso_device_t *device, const iso_tensor_t *input,
                    iso_format_t to, const iso_tensor_t *output);
} iso_device_kind_t;

/* One device; or, where a map is given, those that nodes are placed on. */
struct iso_device {
    const iso_device_kind_t *kind;
    int threads;
    iso_cpu_t *cpu;     /* NULL for "ref" */
    double flops_per_s; /* of a throttled one; 0: as fast as it is */
    bool is_direct;     /* direct.h */
    char text[ISO_DEVICE_TEXT_BYTES];

    struct iso_cuda *cuda;           /* of a GPU, else NULL */
    struct iso__resident *residents; /* weights on it */

    iso_device_map_t *map;
    iso_device_map_t *own_map;             /* NULL when lent */
    iso_device_t *units[ISO_DEVICES_MOST]; /* by number; NULL: left out */
};

#endif
