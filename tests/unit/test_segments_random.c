/* Properties of segments: any graph, any placement. */
#include "base/mem.h"
#include "iso_test.h"
#include "iso_test_call.h"
#include "iso_test_graph.h"
#include "iso_test_memory.h"
#include "placed.h"
#include "plan/place/segments.h"
#include "random_net.h"

enum { SEED = 141421, TRIALS = 400, MOST_NODES = 256, MOST_DEVICES = 4 };

static uint64_t random_state = SEED;

static int next_random(int below)
{
    return (int)test_random_int(&random_state, 0, below - 1);
}

/* Sums of all kinds of earlier values, with reshapes and exchanges between. */
static iso_graph_t *random_sums(void)
{
    const iso_dim_t dims[] = {iso_dim_of(2), iso_dim_of(2)};
    const iso_attr_t same = {
        .name = "shape", .kind = ISO_ATTR_DIMS, .count = 2, .value.dims = dims};
    iso_graph_t *graph = test_graph();
    const int n_nodes = 1 + next_random(40);
    int n_exchanges = 0;

    for (int i = 0; i < 1 + next_random(3); i++) {
        (void)test_input(graph, ((const char *[]){"x", "y", "z"})[i], "2,2");
    }
    for (int i = 0; i < n_nodes; i++) {
        const iso_node_id_t a = next_random(iso_graph_node_count(graph));
        const iso_node_id_t b = next_random(iso_graph_node_count(graph));

        switch (next_random(8)) {
        case 0:
            (void)add_exchange(graph, n_exchanges++,
                               next_random(4) == 0 ? ISO_NO_NODE : a);
            break;
        case 1:
            (void)test_node(
                graph, NULL, ISO_OP_RESHAPE,
                (const iso_node_id_t[]){a, ISO_NO_NODE, ISO_NO_NODE}, &same);
            break;
        default:
            (void)test_binary(graph, NULL, ISO_OP_ADD, a, b);
        }
    }
    (void)test_unary(graph, NULL, ISO_OP_ABS, 0);
    test_output(graph, "first", next_random(iso_graph_node_count(graph)));
    test_output(graph, "last", iso_graph_node_count(graph) - 1);
    return graph;
}

/* Most often on the device before: graphs are placed in runs. */
static iso_placement_t random_placement(const iso_graph_t *graph)
{
    iso_placement_t placement = empty_placement(graph);
    const int n_devices = 1 + next_random(MOST_DEVICES);
    const int stays = 1 + next_random(4);
    int device = next_random(n_devices);

    for (iso_node_id_t id = 0; id < placement.n_nodes; id++) {
        if (has_device(iso_graph_node(graph, id))) {
            device = next_random(stays) == 0 ? next_random(n_devices) : device;
            placement.device_of[id] = device;
        }
    }
    return placement;
}

/* Runs of one device, as the nodes stand. */
static int count_runs(const iso_placement_t *placement)
{
    int runs = 0;
    int device = ISO_NO_DEVICE;

    for (iso_node_id_t id = 0; id < placement->n_nodes; id++) {
        const int next = placement->device_of[id];

        runs += next != ISO_NO_DEVICE && next != device ? 1 : 0;
        device = next != ISO_NO_DEVICE ? next : device;
    }
    return runs;
}

/* What has been computed, going through the segments. */
typedef struct walk {
    const iso_graph_t *graph;
    const iso_placement_t *placement;
    bool is_made[MOST_NODES];   /* in this segment or before */
    bool is_handed[MOST_NODES]; /* it left a segment */
    int n_made;
    iso_node_id_t exchange; /* the latest */
    int device;             /* of the segment before */
} walk_t;

/* Node of the whole graph; in a segment that has this device. */
static bool make_node(walk_t *walk, const iso_node_t *node, iso_node_id_t whole,
                      int device)
{
    const iso_node_t *expected = iso_graph_node(walk->graph, whole);
    const int wanted = walk->placement->device_of[whole];
    bool sound = node->op == expected->op && !walk->is_made[whole] &&
                 (wanted == device || wanted == ISO_NO_DEVICE);

    for (int i = 0; i < expected->n_inputs; i++) {
        sound = sound && (walk->is_made[expected->inputs[i]] ||
                          iso_node_is_leaf(iso_graph_node(
                              walk->graph, expected->inputs[i])));
    }
    if (node->op == ISO_OP_EXCHANGE) {
        sound = sound && whole > walk->exchange;
        walk->exchange = whole;
    }
    walk->is_made[whole] = true;
    walk->n_made++;
    return sound;
}

static bool walk_segment(walk_t *walk, const iso_graph_t *segment, int device)
{
    bool sound = device != walk->device;

    for (iso_node_id_t id = 0; id < iso_graph_node_count(segment); id++) {
        const iso_node_t *node = iso_graph_node(segment, id);
        const iso_node_id_t whole = iso_graph_find(walk->graph, node->name);

        if (whole == ISO_NO_NODE) {
            return false;
        }
        const bool is_leaf =
            iso_node_is_leaf(iso_graph_node(walk->graph, whole));

        sound = sound &&
                (iso_node_is_leaf(node) ? is_leaf || walk->is_handed[whole]
                                        : make_node(walk, node, whole, device));
    }
    for (int i = 0; i < iso_graph_output_count(segment); i++) {
        walk->is_handed[iso_graph_find(
            walk->graph, iso_graph_output(segment, i)->name)] = true;
    }
    walk->device = device;
    return sound;
}

static bool are_sound(const iso_graph_t *graph,
                      const iso_placement_t *placement,
                      const iso_segments_t *segments)
{
    walk_t walk = {.graph = graph,
                   .placement = placement,
                   .exchange = ISO_NO_NODE,
                   .device = ISO_NO_DEVICE};
    bool sound =
        segments->count == iso_partition_stage_count(segments->partition);
    int n_nodes = 0;

    for (int s = 0; s < segments->count; s++) {
        sound = walk_segment(&walk,
                             iso_partition_stage(segments->partition, s)->graph,
                             segments->device_of[s]) &&
                sound;
    }
    for (iso_node_id_t id = 0; id < placement->n_nodes; id++) {
        n_nodes += iso_node_is_leaf(iso_graph_node(graph, id)) ? 0 : 1;
    }
    for (int i = 0; i < iso_graph_output_count(graph); i++) {
        const iso_node_id_t node = iso_graph_output(graph, i)->node;

        sound = sound && walk.is_handed[node];
    }
    return sound && walk.n_made == n_nodes;
}

static bool is_computed(const iso_graph_t *graph)
{
    const iso_node_id_t last = iso_graph_node_count(graph) - 1;

    return last >= 0 && !iso_node_is_leaf(iso_graph_node(graph, last));
}

static void check_random(const iso_graph_t *graph, int trial)
{
    iso_placement_t placement = random_placement(graph);
    iso_segments_t *segments = NULL;
    const int runs = count_runs(&placement);

    CU_ASSERT_EQUAL_FATAL(iso_segments_create(graph, &placement, &segments),
                          ISO_OK);
    const bool sound = are_sound(graph, &placement, segments);
    const bool is_few = segments->count <= (runs > 0 ? runs : 1);

    CU_ASSERT(sound);
    CU_ASSERT(is_few);
    if (!sound || !is_few) {
        (void)fprintf(stderr, "trial %d: %d segments, %d runs as it stands\n",
                      trial, segments->count, runs);
    }
    iso_segments_destroy(&segments);
    iso_placement_free(&placement);
}

static void test_random_graphs(void)
{
    (void)printf("  seed %d\n", SEED);
    for (int trial = 0; trial < TRIALS; trial++) {
        iso_graph_t *graph = trial % 2 == 0
                                 ? random_net(&random_state, 4 + trial % 50)
                                 : random_sums();

        for (int i = 0; i < 4 && is_computed(graph); i++) {
            check_random(graph, trial);
        }
        iso_graph_destroy(&graph);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"random graphs", test_random_graphs},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"segments_random", NULL, NULL, test_remember_blocks, test_check_blocks,
         tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
