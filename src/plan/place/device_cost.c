/*
 * Two devices by a minimum cut, as Stone 1977 ("Multiprocessor scheduling with
 * the aid of network flow algorithms"): a node is a vertex, in the part of the
 * source on one device and in that of the sink on the other. An edge from the
 * source to it costs its seconds on the sink's device, and the other way
 * round. A value that one node makes and one reads is an edge between them.
 *
 * A value with several readers pays once, so it has a vertex of its own for
 * each direction (as nets have, Lawler 1973, "Cutsets and partitions of
 * hypergraphs"):
 *
 *     maker --price--> once --never--> each reader
 *     each reader --never--> once --price--> maker
 *
 * The first is cut when the maker is with the source and any reader is with
 * the sink, the second the other way round. An input is made by the source
 * and by the sink: it enters either device from host memory.
 *
 * More than two devices: the nodes on any two of them are cut anew while the
 * others stay, until no pair makes the sum less (the swap moves of Boykov,
 * Veksler and Zabih 2001, "Fast approximate energy minimization via graph
 * cuts").
 *
 * Seconds become whole numbers of a unit that is 2^-60 of them all or less:
 * sums are exact, and comparing them ends.
 */
#include "plan/place/device_cost.h"

#include "base/log.h"
#include "base/mem.h"
#include "plan/place/device_spec.h"
#include "plan/place/min_cut.h"

#include <math.h>
#include <string.h>

enum { SUM_BITS = 60, NOTHING = -1 };

/* The two parts of a cut. */
enum { SOURCE, SINK, N_SIDES };

/* What crosses: the value of a node that has a device, or of host memory. */
typedef struct value {
    iso_node_id_t maker; /* ISO_NO_NODE: it is in host memory */
    bool goes_out;       /* something reads it in host memory */
    int64_t first;       /* of its readers */
    int32_t n_readers;   /* nodes with a device, each once */
    double bytes;
} value_t;

typedef struct place {
    const iso_graph_t *graph;
    const iso_device_prices_t *prices;
    int32_t n_nodes;
    int n_devices;
    int32_t n_values;
    value_t *values;        /* (n_values) */
    int32_t *value_of;      /* (n_nodes) NOTHING: it does not cross */
    iso_node_id_t *readers; /* value by value */
    int unit;               /* exponent: seconds are times 2^unit */
    iso_min_cut_t *cut;
    int32_t n_vertices;
    int32_t *vertex_of;      /* (n_nodes) NOTHING: stays where it is */
    int64_t *costs[N_SIDES]; /* (n_nodes) of a vertex on that side */
    int *device_of;          /* (n_nodes) the least so far */
    int *trial;              /* (n_nodes) */
} place_t;

/* ---- Values and who reads them ---- */

static iso_status_t add_value(place_t *place, iso_node_id_t id,
                              iso_node_id_t maker)
{
    const iso_node_t *node = iso_graph_node(place->graph, id);
    size_t bytes = 0;

    ISO_TRY(iso_tensor_bytes_of(node->dtype, &node->shape, &bytes));
    place->value_of[id] = place->n_values;
    place->values[place->n_values++] =
        (value_t){.maker = maker, .bytes = (double)bytes};
    return ISO_OK;
}

/* Params and constants do not cross: they are where they are wanted. */
static iso_status_t find_value(place_t *place, iso_node_id_t id)
{
    const iso_node_t *node = iso_graph_node(place->graph, id);

    place->value_of[id] = NOTHING;
    if (iso__node_has_device(node)) {
        return add_value(place, id, id);
    }
    if (node->op == ISO_OP_INPUT || node->op == ISO_OP_EXCHANGE) {
        return add_value(place, id, ISO_NO_NODE);
    }
    if (node->op == ISO_OP_RESHAPE) {
        place->value_of[id] = place->value_of[node->inputs[0]];
    }
    return ISO_OK;
}

static iso_status_t find_values(place_t *place)
{
    for (iso_node_id_t id = 0; id < place->n_nodes; id++) {
        ISO_TRY(find_value(place, id));
    }
    return ISO_OK;
}

/* A node that reads a value twice is one reader. */
static void add_reader(place_t *place, value_t *value, iso_node_id_t reader)
{
    iso_node_id_t *readers = &place->readers[value->first];

    if (value->n_readers == 0 || readers[value->n_readers - 1] != reader) {
        readers[value->n_readers++] = reader;
    }
}

/* Operands that cross, counted or, with readers, noted. */
static void read_operands(place_t *place, iso_node_id_t id)
{
    const iso_node_t *node = iso_graph_node(place->graph, id);

    for (int i = 0; i < node->n_inputs; i++) {
        const int32_t index = node->inputs[i] == ISO_NO_NODE
                                  ? NOTHING
                                  : place->value_of[node->inputs[i]];

        if (index == NOTHING) {
            continue;
        }
        if (node->op == ISO_OP_EXCHANGE) {
            place->values[index].goes_out = true;
        } else if (!iso__node_has_device(node)) {
            continue;
        } else if (place->readers == NULL) {
            place->values[index].n_readers++;
        } else {
            add_reader(place, &place->values[index], id);
        }
    }
}

static void read_all(place_t *place)
{
    for (iso_node_id_t id = 0; id < place->n_nodes; id++) {
        read_operands(place, id);
    }
}

static iso_status_t find_readers(place_t *place)
{
    int64_t count = 0;

    read_all(place);
    for (int32_t i = 0; i < place->n_values; i++) {
        place->values[i].first = count;
        count += place->values[i].n_readers;
        place->values[i].n_readers = 0;
    }
    place->readers = iso_alloc_zeroed((size_t)count, sizeof *place->readers);
    if (place->readers == NULL) {
        return ISO_NOMEM;
    }
    read_all(place);
    for (int i = 0; i < iso_graph_output_count(place->graph); i++) {
        const int32_t index =
            place->value_of[iso_graph_output(place->graph, i)->node];

        if (index != NOTHING) {
            place->values[index].goes_out = true;
        }
    }
    return ISO_OK;
}

/* ---- Prices ---- */

static double crossing_s(const place_t *place, const value_t *value, int device)
{
    const iso_crossing_t *crossing = &place->prices->crossings[device];

    return crossing->latency_s + value->bytes / crossing->bytes_per_s;
}

static int64_t units_of(const place_t *place, double seconds)
{
    return (int64_t)ldexp(seconds, place->unit);
}

static double seconds_of(const place_t *place, iso_node_id_t id, int device)
{
    return place->prices
        ->seconds[(size_t)id * (size_t)place->n_devices + (size_t)device];
}

static int64_t cost_of(const place_t *place, iso_node_id_t id, int device)
{
    const double seconds = seconds_of(place, id, device);

    return isfinite(seconds) ? units_of(place, seconds) : ISO_MIN_CUT_NEVER;
}

/* Of a value, from the memory of the device that made it to host memory. */
static int64_t leaving(const place_t *place, const value_t *value, int device)
{
    return units_of(place, crossing_s(place, value, device));
}

/* Of a value that has left, to the memory of another device. */
static int64_t entering(const place_t *place, const value_t *value, int device)
{
    return place->prices->crossings[device].in_host
               ? 0
               : leaving(place, value, device);
}

static bool is_wanted_in_host(const place_t *place, const value_t *value,
                              int device)
{
    return value->goes_out && !place->prices->crossings[device].in_host;
}

/* All that could ever be paid is at most 2^SUM_BITS units. */
static void find_unit(place_t *place)
{
    double sum = 0.0;
    int exponent = 0;

    for (iso_node_id_t id = 0; id < place->n_nodes; id++) {
        for (int device = 0; device < place->n_devices; device++) {
            const double seconds =
                iso__node_has_device(iso_graph_node(place->graph, id))
                    ? seconds_of(place, id, device)
                    : 0.0;

            sum += isfinite(seconds) ? seconds : 0.0;
        }
    }
    for (int32_t i = 0; i < place->n_values; i++) {
        for (int device = 0; device < place->n_devices; device++) {
            sum += 2.0 * crossing_s(place, &place->values[i], device);
        }
    }
    (void)frexp(sum, &exponent);
    place->unit = SUM_BITS - exponent;
}

static int64_t sum_of_value(const place_t *place, const value_t *value,
                            const int *device_of)
{
    const int home =
        value->maker == ISO_NO_NODE ? ISO_NO_DEVICE : device_of[value->maker];
    bool is_on[ISO_DEVICES_MOST] = {false};
    bool leaves = false;
    int64_t sum = 0;

    for (int32_t i = 0; i < value->n_readers; i++) {
        is_on[device_of[place->readers[value->first + i]]] = true;
    }
    for (int device = 0; device < place->n_devices; device++) {
        if (is_on[device] && device != home) {
            leaves = true;
            sum += entering(place, value, device);
        }
    }
    if (home != ISO_NO_DEVICE &&
        (leaves || is_wanted_in_host(place, value, home))) {
        sum += leaving(place, value, home);
    }
    return sum;
}

static int64_t sum_of(const place_t *place, const int *device_of)
{
    int64_t sum = 0;

    for (iso_node_id_t id = 0; id < place->n_nodes; id++) {
        if (device_of[id] != ISO_NO_DEVICE) {
            sum += cost_of(place, id, device_of[id]);
        }
    }
    for (int32_t i = 0; i < place->n_values; i++) {
        sum += sum_of_value(place, &place->values[i], device_of);
    }
    return sum;
}

/* ---- One cut ---- */

/* The devices of the two sides. */
typedef struct pair {
    int device[N_SIDES];
} pair_t;

static void begin_cut(place_t *place, const pair_t *pair)
{
    place->n_vertices = 2;
    for (iso_node_id_t id = 0; id < place->n_nodes; id++) {
        const int device = place->device_of[id];

        place->vertex_of[id] = NOTHING;
        if (device != ISO_NO_DEVICE &&
            (device == pair->device[SOURCE] || device == pair->device[SINK])) {
            place->vertex_of[id] = place->n_vertices++;
            for (int side = 0; side < N_SIDES; side++) {
                place->costs[side][id] = cost_of(place, id, pair->device[side]);
            }
        }
    }
}

/* Readers of a value that the cut places. */
typedef struct readers {
    int32_t count;
    int32_t vertex; /* of the last one */
    bool others;    /* there are some that stay, on other devices */
} readers_t;

static readers_t readers_of(const place_t *place, const value_t *value)
{
    readers_t readers = {0, NOTHING, false};

    for (int32_t i = 0; i < value->n_readers; i++) {
        const int32_t vertex =
            place->vertex_of[place->readers[value->first + i]];

        if (vertex == NOTHING) {
            readers.others = true;
        } else {
            readers.vertex = vertex;
            readers.count++;
        }
    }
    return readers;
}

/*
 * prices [out] by side: what is paid when any reader is there and the maker is
 * not. What the maker pays on its side in any case is added to its costs.
 */
static void price(place_t *place, const pair_t *pair, const value_t *value,
                  const readers_t *readers, int64_t *prices)
{
    const bool is_placed = value->maker != ISO_NO_NODE &&
                           place->vertex_of[value->maker] != NOTHING;

    for (int side = 0; side < N_SIDES; side++) {
        prices[side] = entering(place, value, pair->device[side]);
    }
    for (int side = 0; is_placed && side < N_SIDES; side++) {
        const int device = pair->device[side];
        const int64_t leaves = leaving(place, value, device);

        if (readers->others || is_wanted_in_host(place, value, device)) {
            place->costs[side][value->maker] += leaves;
        } else {
            prices[SOURCE + SINK - side] += leaves;
        }
    }
}

/* What is paid when any reader is on a side and the maker is on the other. */
static void join_side(place_t *place, const value_t *value,
                      const readers_t *readers, int side, int64_t price)
{
    const bool to_sink = side == SINK;
    const bool is_placed = value->maker != ISO_NO_NODE &&
                           place->vertex_of[value->maker] != NOTHING;
    const int32_t maker = is_placed ? place->vertex_of[value->maker]
                          : to_sink ? ISO_MIN_CUT_SOURCE
                                    : ISO_MIN_CUT_SINK;
    const int32_t once =
        readers->count == 1 ? readers->vertex : place->n_vertices++;

    iso_min_cut_join(place->cut, to_sink ? maker : once, to_sink ? once : maker,
                     price, 0);
    for (int32_t i = 0; readers->count > 1 && i < value->n_readers; i++) {
        const int32_t reader =
            place->vertex_of[place->readers[value->first + i]];

        if (reader != NOTHING) {
            iso_min_cut_join(place->cut, to_sink ? once : reader,
                             to_sink ? reader : once, ISO_MIN_CUT_NEVER, 0);
        }
    }
}

static void join_value(place_t *place, const pair_t *pair, const value_t *value)
{
    const readers_t readers = readers_of(place, value);
    int64_t prices[N_SIDES];

    price(place, pair, value, &readers, prices);
    for (int side = 0; side < N_SIDES; side++) {
        if (readers.count > 0 && prices[side] > 0) {
            join_side(place, value, &readers, side, prices[side]);
        }
    }
}

/* Where a node costs something on both sides, the less is paid anyway. */
static void join_node(place_t *place, iso_node_id_t id)
{
    const int32_t vertex = place->vertex_of[id];
    const int64_t more = place->costs[SINK][id] - place->costs[SOURCE][id];

    if (more > 0) {
        iso_min_cut_join(place->cut, ISO_MIN_CUT_SOURCE, vertex, more, 0);
    } else {
        iso_min_cut_join(place->cut, vertex, ISO_MIN_CUT_SINK, -more, 0);
    }
}

/* trial [out] the nodes of two devices, placed anew on them. */
static void cut_pair(place_t *place, const pair_t *pair)
{
    begin_cut(place, pair);
    iso_min_cut_begin(place->cut, place->n_vertices + 2 * place->n_values);
    for (int32_t i = 0; i < place->n_values; i++) {
        join_value(place, pair, &place->values[i]);
    }
    for (iso_node_id_t id = 0; id < place->n_nodes; id++) {
        if (place->vertex_of[id] != NOTHING) {
            join_node(place, id);
        }
    }
    (void)iso_min_cut_solve(place->cut);
    for (iso_node_id_t id = 0; id < place->n_nodes; id++) {
        const int32_t vertex = place->vertex_of[id];

        place->trial[id] =
            vertex == NOTHING
                ? place->device_of[id]
                : pair->device[iso_min_cut_has(place->cut, vertex) ? SOURCE
                                                                   : SINK];
    }
}

/* ---- All cuts ---- */

static int first_device_of(const place_t *place, iso_node_id_t id)
{
    int device = 0;

    while (!isfinite(seconds_of(place, id, device))) {
        device++;
        ISO_ASSERT(device < place->n_devices);
    }
    return device;
}

static void start(place_t *place)
{
    for (iso_node_id_t id = 0; id < place->n_nodes; id++) {
        place->device_of[id] =
            iso__node_has_device(iso_graph_node(place->graph, id))
                ? first_device_of(place, id)
                : ISO_NO_DEVICE;
    }
}

/* least [in,out] the sum; false when this pair cannot make it less. */
static bool improve_pair(place_t *place, const pair_t *pair, int64_t *least)
{
    cut_pair(place, pair);

    const int64_t sum = sum_of(place, place->trial);

    if (sum >= *least) {
        return false;
    }
    *least = sum;
    memcpy(place->device_of, place->trial,
           (size_t)place->n_nodes * sizeof *place->device_of);
    return true;
}

static bool improve_pairs(place_t *place, int64_t *least)
{
    bool is_better = false;

    for (int later = 1; later < place->n_devices; later++) {
        for (int device = 0; device < later; device++) {
            const pair_t pair = {{later, device}};

            is_better = improve_pair(place, &pair, least) || is_better;
        }
    }
    return is_better;
}

/* The first cut of two devices is the least already. */
static void improve(place_t *place)
{
    int64_t least = sum_of(place, place->device_of);
    bool is_better = true;

    while (is_better) {
        is_better = improve_pairs(place, &least) && place->n_devices > 2;
    }
}

static iso_status_t make_room(place_t *place)
{
    const size_t n = (size_t)place->n_nodes;

    place->values = iso_alloc_zeroed(n, sizeof *place->values);
    place->value_of = iso_alloc_zeroed(n, sizeof *place->value_of);
    place->vertex_of = iso_alloc_zeroed(n, sizeof *place->vertex_of);
    place->costs[SOURCE] = iso_alloc_zeroed(n, sizeof(int64_t));
    place->costs[SINK] = iso_alloc_zeroed(n, sizeof(int64_t));
    place->device_of = iso_alloc_zeroed(n, sizeof *place->device_of);
    place->trial = iso_alloc_zeroed(n, sizeof *place->trial);
    return place->values != NULL && place->value_of != NULL &&
                   place->vertex_of != NULL && place->costs[SOURCE] != NULL &&
                   place->costs[SINK] != NULL && place->device_of != NULL &&
                   place->trial != NULL
               ? ISO_OK
               : ISO_NOMEM;
}

static iso_status_t make_cut(place_t *place)
{
    int32_t n_edges = place->n_nodes;

    for (int32_t i = 0; i < place->n_values; i++) {
        n_edges += 2 + 2 * place->values[i].n_readers;
    }
    return iso_min_cut_create(2 + place->n_nodes + 2 * place->n_values, n_edges,
                              &place->cut);
}

static iso_status_t run(place_t *place)
{
    ISO_TRY(make_room(place));
    ISO_TRY(find_values(place));
    ISO_TRY(find_readers(place));
    ISO_TRY(make_cut(place));
    find_unit(place);
    start(place);
    improve(place);
    return ISO_OK;
}

static void free_room(place_t *place)
{
    iso_min_cut_destroy(&place->cut);
    iso_free(place->values);
    iso_free(place->value_of);
    iso_free(place->readers);
    iso_free(place->vertex_of);
    iso_free(place->costs[SOURCE]);
    iso_free(place->costs[SINK]);
    iso_free(place->device_of);
    iso_free(place->trial);
}

iso_status_t iso_device_cost_place(const iso_graph_t *graph,
                                   const iso_device_prices_t *prices,
                                   int *device_of)
{
    place_t place = {.graph = graph,
                     .prices = prices,
                     .n_nodes = iso_graph_node_count(graph),
                     .n_devices = prices->n_devices};
    const iso_status_t status = run(&place);

    if (status == ISO_OK) {
        memcpy(device_of, place.device_of,
               (size_t)place.n_nodes * sizeof *device_of);
    }
    free_room(&place);
    return status;
}
