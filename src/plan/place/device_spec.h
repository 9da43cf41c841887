/* What a device is by its name, and what it computes; private to src/plan. */
#ifndef ISO_DEVICE_SPEC_H
#define ISO_DEVICE_SPEC_H

#include "isotome/device_map.h"

/* Errors: ISO_INVAL for a device that there is none of, with the list. */
iso_status_t iso__device_spec_parse(const char *name,
                                    iso_device_spec_t *spec_out);

/* Leaves, reshapes and exchanges have none. */
bool iso__node_has_device(const iso_node_t *node);

#endif
