/* What nodes and crossings take on devices, from the figures of a rank;
 * private to src/plan. */
#ifndef ISO_DEVICE_PRICES_H
#define ISO_DEVICE_PRICES_H

#include "isotome/device_map.h"

#include "plan/place/device_cost.h"

typedef struct iso_device_figures {
    bool is_known;
    iso_machine_rank_t speed; /* no texts, no devices */
    iso_crossing_t crossing;
} iso_device_figures_t;

/* Those of a device in a rank. "cpu" that is none of the rank's devices has
 * the rank's own; of another nothing is known, nor of one whose figures are
 * uncalibrated. */
iso_device_figures_t iso__device_figures_of(const iso_machine_rank_t *rank,
                                            const iso_device_spec_t *device);

typedef struct iso_priced_device {
    const iso_device_spec_t *spec;
    const iso_device_figures_t *figures; /* known */
} iso_priced_device_t;

/*
 * Place the nodes of a graph by cost (device_cost.h).
 *
 * devices    [in]   (n_devices); each node is computed by one of them
 * device_of  [out]  (n_nodes) index in devices, or ISO_NO_DEVICE
 * Errors: ISO_SHAPE for an unbound dim; ISO_NOMEM.
 */
iso_status_t iso__device_prices_place(const iso_graph_t *graph,
                                      const iso_priced_device_t *devices,
                                      int n_devices, int *device_of);

#endif
