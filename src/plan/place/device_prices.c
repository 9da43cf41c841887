#include "plan/place/device_prices.h"

#include "base/mem.h"
#include "plan/machine_impl.h"
#include "plan/node_seconds.h"
#include "plan/place/device_spec.h"

#include <math.h>
#include <string.h>

/* ---- Figures ---- */

static const iso_machine_device_t *find_device(const iso_machine_rank_t *rank,
                                               const char *name)
{
    for (int i = 0; i < rank->n_devices; i++) {
        if (strcmp(rank->devices[i].name, name) == 0) {
            return &rank->devices[i];
        }
    }
    return NULL;
}

static iso_machine_rank_t speed_of(const iso_machine_rank_t *figures)
{
    iso_machine_rank_t speed = *figures;

    iso__machine_rank_settle(&speed);
    speed.host = NULL;
    speed.n_devices = 0;
    speed.devices = NULL;
    return speed;
}

iso_device_figures_t iso__device_figures_of(const iso_machine_rank_t *rank,
                                            const iso_device_spec_t *device)
{
    const iso_machine_device_t *found = find_device(rank, device->name);
    iso_device_figures_t figures = {.is_known = true};

    figures.crossing.in_host = device->type != ISO_DEVICE_CUDA;
    if (found != NULL) {
        figures.speed = speed_of(&found->figures);
        figures.crossing.latency_s = found->crossing_latency_s;
        figures.crossing.bytes_per_s = found->crossing_bytes_per_s;
    } else if (device->type == ISO_DEVICE_CPU) {
        figures.speed = speed_of(rank);
        figures.crossing.bytes_per_s = figures.speed.copy_bytes_per_s;
    } else {
        figures.is_known = false;
    }
    if (figures.speed.cost_class == ISO_COST_UNCALIBRATED) {
        figures.is_known = false;
    }
    return figures;
}

/* ---- Prices ---- */

/* seconds [out] (n_devices) of a node. */
static iso_status_t price_node(const iso_graph_t *graph, iso_node_id_t id,
                               const iso_priced_device_t *devices,
                               int n_devices, double *seconds)
{
    const iso_node_t *node = iso_graph_node(graph, id);
    iso_node_cost_t cost;

    ISO_TRY(iso_node_cost_of(graph, id, &cost));
    for (int i = 0; i < n_devices; i++) {
        seconds[i] =
            iso_device_does(devices[i].spec, graph, id)
                ? iso_cost_seconds(node, &cost, &devices[i].figures->speed)
                : INFINITY;
    }
    return ISO_OK;
}

iso_status_t iso__device_prices_place(const iso_graph_t *graph,
                                      const iso_priced_device_t *devices,
                                      int n_devices, int *device_of)
{
    const int32_t n = iso_graph_node_count(graph);
    double *seconds =
        iso_alloc_zeroed((size_t)n * (size_t)n_devices, sizeof *seconds);
    iso_device_prices_t prices = {.n_devices = n_devices, .seconds = seconds};
    iso_status_t status = seconds != NULL ? ISO_OK : ISO_NOMEM;

    for (iso_node_id_t id = 0; status == ISO_OK && id < n; id++) {
        if (iso__node_has_device(iso_graph_node(graph, id))) {
            status = price_node(graph, id, devices, n_devices,
                                &seconds[(size_t)id * (size_t)n_devices]);
        }
    }
    for (int i = 0; i < n_devices; i++) {
        prices.crossings[i] = devices[i].figures->crossing;
    }
    if (status == ISO_OK) {
        status = iso_device_cost_place(graph, &prices, device_of);
    }
    iso_free(seconds);
    return status;
}
