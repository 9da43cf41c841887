/* A rule of devices: refused, or it places the model or is refused there. */
#include "isotome/device_map.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static iso_graph_t *graph;
    iso_device_map_t *map = NULL;
    iso_placement_t placement = {0};

    if (graph == NULL) {
        graph = fuzz_graph();
    }
    const int64_t held = fuzz_begin();
    iso_status_t status = iso_device_map_create(fuzz_text(data, size), &map);
    if (status == ISO_OK) {
        status = iso_placement_create(graph, map, &placement);
    }
    if (status == ISO_OK) {
        iso_placement_free(&placement);
    }
    iso_device_map_destroy(&map);
    fuzz_end(status, held);
    return 0;
}
