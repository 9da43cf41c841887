/*
 * Placement by cost: each node of a static graph on one of several devices,
 * so that the predicted time of them all and of the values that cross between
 * them is least in sum.
 *
 * A value leaves the device that makes it once, when anything elsewhere reads
 * it, and enters every other device on which something reads it once, however
 * many readers there are. Inputs, outputs and what exchanges bring and take
 * are in host memory. Params and constants are where they are wanted; reshapes
 * are their operand.
 *
 *     iso_device_prices_t prices = {2, seconds, {{true, 0.0, 8e9},
 *                                                {false, 1e-5, 25e9}}};
 *     ISO_TRY(iso_device_cost_place(graph, &prices, device_of));
 *
 * Exact for two devices. For more, no exchange of nodes between any two of
 * them makes the sum less.
 */
#ifndef ISO_DEVICE_COST_H
#define ISO_DEVICE_COST_H

#include "isotome/device_map.h"

/* How values get from a device to host memory, and back. */
typedef struct iso_crossing {
    bool in_host; /* works in host memory: what leaves it is copied, what
                   * enters it is there already, and so are inputs and
                   * outputs */
    double latency_s;
    double bytes_per_s;
} iso_crossing_t;

typedef struct iso_device_prices {
    int n_devices;         /* at least 1 */
    const double *seconds; /* (n_nodes, n_devices) of each node; INFINITY: not
                            * on this device. Not read for what has none */
    iso_crossing_t crossings[ISO_DEVICES_MOST]; /* (n_devices) */
} iso_device_prices_t;

/*
 * graph      [in]   static; each node with a device has finite seconds on one
 * device_of  [out]  (n_nodes) number; ISO_NO_DEVICE where there is none
 * Of two devices and equal sums the fewest nodes are on the second.
 * Errors: ISO_SHAPE for an unbound dim; ISO_NOMEM.
 */
iso_status_t iso_device_cost_place(const iso_graph_t *graph,
                                   const iso_device_prices_t *prices,
                                   int *device_of);

#endif
