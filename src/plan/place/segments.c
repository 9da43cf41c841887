#include "plan/place/segments.h"

#include "base/log.h"
#include "base/mem.h"
#include "graph/pass.h"

#include <limits.h>
#include <string.h>

int iso_placement_single(const iso_placement_t *placement)
{
    int single = ISO_NO_DEVICE;

    for (iso_node_id_t id = 0; id < placement->n_nodes; id++) {
        const int device = placement->device_of[id];

        if (device != ISO_NO_DEVICE && single != ISO_NO_DEVICE &&
            device != single) {
            return ISO_NO_DEVICE;
        }
        single = device != ISO_NO_DEVICE ? device : single;
    }
    return single;
}

/* ---- Runs ---- */

enum { NO_SEGMENT = -1 };

/* Which run each node is in, so far. */
typedef struct runs {
    const iso_graph_t *graph;
    const iso_placement_t *placement;
    int n_devices;     /* numbers that nodes have, at least 1 */
    int *segment_of;   /* (n_nodes) NO_SEGMENT: in none yet; leaves are 0 */
    int *device_of;    /* (n_nodes) of the runs; each has a node at least */
    int count;         /* runs */
    int32_t remaining; /* nodes in none */
} runs_t;

static void clear(runs_t *runs)
{
    runs->count = 0;
    runs->remaining = 0;
    for (iso_node_id_t id = 0; id < runs->placement->n_nodes; id++) {
        const bool is_leaf = iso_node_is_leaf(iso_graph_node(runs->graph, id));

        runs->segment_of[id] = is_leaf ? 0 : NO_SEGMENT;
        runs->remaining += is_leaf ? 0 : 1;
    }
}

static bool is_ready(const runs_t *runs, const iso_node_t *node)
{
    for (int i = 0; i < node->n_inputs; i++) {
        if (node->inputs[i] != ISO_NO_NODE &&
            runs->segment_of[node->inputs[i]] == NO_SEGMENT) {
            return false;
        }
    }
    return true;
}

/*
 * Everything that a device can do next, and what needs no device: one walk
 * finds it all, because operands have smaller ids. Returns how many nodes.
 */
static int32_t take(runs_t *runs, int device)
{
    bool may_exchange = true;
    int32_t taken = 0;

    for (iso_node_id_t id = 0; id < runs->placement->n_nodes; id++) {
        const iso_node_t *node = iso_graph_node(runs->graph, id);
        const int on = runs->placement->device_of[id];

        if (runs->segment_of[id] != NO_SEGMENT) {
            continue;
        }
        if ((on == device || on == ISO_NO_DEVICE) && is_ready(runs, node) &&
            (node->op != ISO_OP_EXCHANGE || may_exchange)) {
            runs->segment_of[id] = runs->count;
            taken++;
        } else if (node->op == ISO_OP_EXCHANGE) {
            may_exchange = false; /* later ones wait for it */
        }
    }
    return taken;
}

static void give_back(runs_t *runs)
{
    for (iso_node_id_t id = 0; id < runs->placement->n_nodes; id++) {
        if (runs->segment_of[id] == runs->count &&
            !iso_node_is_leaf(iso_graph_node(runs->graph, id))) {
            runs->segment_of[id] = NO_SEGMENT;
        }
    }
}

/* The device that can go on with most nodes; not the one before, which has
 * done what it can. */
static int choose_next(runs_t *runs, int previous)
{
    int best = ISO_NO_DEVICE;
    int32_t most = 0;

    for (int device = 0; device < runs->n_devices; device++) {
        const int32_t taken = device == previous ? 0 : take(runs, device);

        if (taken > 0) {
            give_back(runs);
        }
        if (taken > most) {
            most = taken;
            best = device;
        }
    }
    ISO_ASSERT(best != ISO_NO_DEVICE);
    return best;
}

/* All runs when the first one is on this device; false when nothing is. */
static bool find_from(runs_t *runs, int device)
{
    clear(runs);
    for (;;) {
        const int32_t taken = take(runs, device);

        if (taken == 0) {
            return false;
        }
        runs->remaining -= taken;
        runs->device_of[runs->count++] = device;
        if (runs->remaining == 0) {
            return true;
        }
        device = choose_next(runs, device);
    }
}

/* Runs on devices in the order of the graph's own, each with all that can
 * come before: no more of them than the graph has. False: none has a device. */
static bool find_in_order(runs_t *runs)
{
    clear(runs);
    for (iso_node_id_t id = 0; id < runs->placement->n_nodes; id++) {
        const int device = runs->placement->device_of[id];

        if (device != ISO_NO_DEVICE && runs->segment_of[id] == NO_SEGMENT) {
            runs->remaining -= take(runs, device);
            runs->device_of[runs->count++] = device;
        }
    }
    ISO_ASSERT(runs->remaining == 0 || runs->count == 0);
    return runs->count > 0;
}

/* The fewest runs: from the first device that begins so few, or, where the
 * graph's order has fewer, in that order. */
static void find_runs(runs_t *runs)
{
    int best = ISO_NO_DEVICE;
    int least = find_in_order(runs) ? runs->count : INT_MAX;

    for (int device = runs->n_devices - 1; device >= 0; device--) {
        if (find_from(runs, device) && runs->count <= least) {
            best = device;
            least = runs->count;
        }
    }
    if (best == ISO_NO_DEVICE) {
        (void)find_in_order(runs);
    } else {
        (void)find_from(runs, best);
    }
}

/* ---- Graphs ---- */

/* order [out] (n_nodes): leaves, then run by run. stage_of [out] (n_nodes) by
 * id in that order. */
static void order_nodes(const runs_t *runs, iso_node_id_t *order, int *stage_of)
{
    const int32_t n = runs->placement->n_nodes;
    int32_t at = 0;

    for (iso_node_id_t id = 0; id < n; id++) {
        if (iso_node_is_leaf(iso_graph_node(runs->graph, id))) {
            stage_of[at] = 0;
            order[at++] = id;
        }
    }
    for (int run = 0; run < runs->count; run++) {
        for (iso_node_id_t id = 0; id < n; id++) {
            if (runs->segment_of[id] == run &&
                !iso_node_is_leaf(iso_graph_node(runs->graph, id))) {
                stage_of[at] = run;
                order[at++] = id;
            }
        }
    }
}

static iso_status_t cut(const runs_t *runs, iso_segments_t *segments)
{
    const size_t n = (size_t)runs->placement->n_nodes;
    iso_node_id_t *order = iso_alloc_zeroed(n, sizeof *order);
    int *stage_of = iso_alloc_zeroed(n, sizeof *stage_of);
    iso_status_t status =
        order == NULL || stage_of == NULL ? ISO_NOMEM : ISO_OK;

    if (status == ISO_OK) {
        order_nodes(runs, order, stage_of);
        status = iso_graph_reorder(runs->graph, order, &segments->graph);
    }
    if (status == ISO_OK) {
        status = iso_partition_create_with(segments->graph, stage_of,
                                           runs->count, &segments->partition);
    }
    iso_free(order);
    iso_free(stage_of);
    return status;
}

static int count_devices(const iso_placement_t *placement)
{
    int count = 1;

    for (iso_node_id_t id = 0; id < placement->n_nodes; id++) {
        const int device = placement->device_of[id];

        count = device >= count ? device + 1 : count;
    }
    return count;
}

static iso_status_t create(runs_t *runs, iso_segments_t *segments)
{
    const size_t n = (size_t)runs->placement->n_nodes;

    runs->segment_of = iso_alloc_zeroed(n, sizeof *runs->segment_of);
    runs->device_of = iso_alloc_zeroed(n, sizeof *runs->device_of);
    if (runs->segment_of == NULL || runs->device_of == NULL) {
        return ISO_NOMEM;
    }
    runs->n_devices = count_devices(runs->placement);
    find_runs(runs);
    segments->count = runs->count;
    segments->device_of =
        iso_alloc_zeroed((size_t)runs->count, sizeof *segments->device_of);
    if (segments->device_of == NULL) {
        return ISO_NOMEM;
    }
    memcpy(segments->device_of, runs->device_of,
           (size_t)runs->count * sizeof *segments->device_of);
    return cut(runs, segments);
}

iso_status_t iso_segments_create(const iso_graph_t *graph,
                                 const iso_placement_t *placement,
                                 iso_segments_t **segments_out)
{
    runs_t runs = {.graph = graph, .placement = placement};
    iso_segments_t *segments = iso_alloc_zeroed(1, sizeof *segments);
    const iso_status_t status =
        segments == NULL ? ISO_NOMEM : create(&runs, segments);

    iso_free(runs.segment_of);
    iso_free(runs.device_of);
    if (status != ISO_OK) {
        iso_segments_destroy(&segments);
    }
    *segments_out = segments;
    return status;
}

void iso_segments_destroy(iso_segments_t **segments)
{
    if (*segments != NULL) {
        iso_partition_destroy(&(*segments)->partition);
        iso_graph_destroy(&(*segments)->graph);
        iso_free((*segments)->device_of);
        iso_free(*segments);
        *segments = NULL;
    }
}
