/*
 * Device map: which device computes each node of a graph. The bits are the same
 * whatever is decided here; time and memory are not.
 *
 * A rule is a text, PATTERN=DEVICE[|DEVICE...] with commas between, of which
 * the first pattern that matches a node's name counts:
 *
 *     conv*=cuda|cpu,*=cpu
 *
 * A pattern has * for any characters and ? for one; @conv* is for ops of such
 * a name. Of several devices the first one that computes the node exactly does
 * it; DEVICE alone, without a pattern, is for all nodes. Devices are
 *
 *     ref                the definition, slow
 *     cpu                the fast kernels
 *     cuda, cudaN        the GPU of the rank's number on its host, or GPU N
 *     throttled[:RATE]   cpu, at most RATE Gflop/s (1), and only contractions,
 *                        additions and relu: to try placements with
 *
 * A rule of the form cost:DEVICE|DEVICE... is for all nodes: each goes where
 * the predicted time of the whole graph is least, with what crosses between
 * the devices. It takes figures of the devices: those of a rank of a machine
 * file, isotome-machine(5).
 *
 * Leaves, reshapes and exchanges between workers have no device: they are
 * where they are wanted.
 *
 *     ISO_TRY(iso_device_map_create("conv*=cuda|cpu,*=cpu", &map));
 *     ISO_TRY(iso_placement_create(graph, map, &placement));
 *     device = iso_device_map_device(map, placement.device_of[id])->name;
 *     iso_placement_free(&placement);
 *     iso_device_map_destroy(&map);
 */
#ifndef ISO_DEVICE_MAP_H
#define ISO_DEVICE_MAP_H

#include "isotome/graph.h"
#include "isotome/machine.h"

enum { ISO_DEVICES_MOST = 8, ISO_DEVICE_NAME_BYTES = 32, ISO_NO_DEVICE = -1 };

typedef enum iso_device_type {
    ISO_DEVICE_REF,
    ISO_DEVICE_CPU,
    ISO_DEVICE_THROTTLED,
    ISO_DEVICE_CUDA,
} iso_device_type_t;

typedef struct iso_device_spec {
    iso_device_type_t type;
    int ordinal;        /* of a GPU; -1: by the rank's number on its host */
    double flops_per_s; /* of a throttled one */
    char name[ISO_DEVICE_NAME_BYTES]; /* as it was written */
} iso_device_spec_t;

/* Does a device compute a node with the bits of the definition? Pure: whether
 * there is such a device is not asked. */
bool iso_device_does(const iso_device_spec_t *device, const iso_graph_t *graph,
                     iso_node_id_t node);

/* ---- Where nodes go ---- */

typedef struct iso_device_map iso_device_map_t;

/* By a rule. Errors: ISO_INVAL, saying what cannot be read; ISO_NOMEM. */
iso_status_t iso_device_map_create(const char *rule,
                                   iso_device_map_t **map_out);

/* Number in devices of the one for a node; asked once for each node. */
typedef int iso_device_map_function_t(void *arg, const iso_graph_t *graph,
                                      iso_node_id_t node);

/*
 * By a function. Errors: as above.
 *
 * devices  [in]  (n_devices) as in a rule, all different, at least one
 */
iso_status_t iso_device_map_create_from(const char *const *devices,
                                        int n_devices,
                                        iso_device_map_function_t *function,
                                        void *arg, iso_device_map_t **map_out);

/*
 * By cost.
 *
 * devices  [in]  (n_devices) as in a rule, all different
 * rank     [in]  with figures of each (n_devices of iso_machine_rank_t)
 * Errors: as above; ISO_NOMEM. What rank has no figures of is found when
 * nodes are placed.
 */
iso_status_t iso_device_map_create_cost(const char *const *devices,
                                        int n_devices,
                                        const iso_machine_rank_t *rank,
                                        iso_device_map_t **map_out);

/* The figures that a rule by cost: takes, copied; others take none. */
void iso_device_map_set_rank(iso_device_map_t *map,
                             const iso_machine_rank_t *rank);
void iso_device_map_destroy(iso_device_map_t **map);

int iso_device_map_device_count(const iso_device_map_t *map);
const iso_device_spec_t *iso_device_map_device(const iso_device_map_t *map,
                                               int number);

/* The rank's number among the ranks of its host, from 0 (the default): which
 * GPU "cuda" is, counted over again where there are fewer GPUs than ranks. */
void iso_device_map_set_seat(iso_device_map_t *map, int seat);
int iso_device_map_seat(const iso_device_map_t *map);

/*
 * A device that is not there: those named behind it do its nodes.
 * Errors: ISO_UNSUPPORTED when a pattern names no other, or a function
 * decides.
 */
iso_status_t iso_device_map_leave_out(iso_device_map_t *map, int number);

typedef struct iso_placement {
    int32_t n_nodes;
    int *device_of; /* (n_nodes) number; ISO_NO_DEVICE for leaves, reshapes
                     * and exchanges */
} iso_placement_t;

/*
 * graph  [in]  static, where nodes are placed by cost
 * Errors: ISO_INVAL for a node that no pattern matches, and for a device by
 * cost without figures; ISO_UNSUPPORTED for a node that none of its devices
 * computes exactly, naming both; ISO_SHAPE; ISO_NOMEM.
 */
iso_status_t iso_placement_create(const iso_graph_t *graph,
                                  const iso_device_map_t *map,
                                  iso_placement_t *placement_out);
void iso_placement_free(iso_placement_t *placement);

#endif
