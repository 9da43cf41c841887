/* Placement by cost beside all placements there are. */
#include "base/mem.h"
#include "graph_text.h"
#include "iso_test_call.h"
#include "iso_test_graph.h"
#include "plan/place/device_cost.h"
#include "plan/place/device_spec.h"

#include <math.h>
#include <stdlib.h>

enum { SEED = 57, MOST_NODES = 256 };

/* ---- What a placement costs, from the definition ---- */

/* The node whose value this is: behind reshapes. */
static iso_node_id_t origin_of(const iso_graph_t *graph, iso_node_id_t id)
{
    while (iso_graph_node(graph, id)->op == ISO_OP_RESHAPE) {
        id = iso_graph_node(graph, id)->inputs[0];
    }
    return id;
}

static bool reads(const iso_graph_t *graph, iso_node_id_t reader,
                  iso_node_id_t value)
{
    const iso_node_t *node = iso_graph_node(graph, reader);

    for (int i = 0; i < node->n_inputs; i++) {
        if (node->inputs[i] != ISO_NO_NODE &&
            origin_of(graph, node->inputs[i]) == value) {
            return node->op != ISO_OP_RESHAPE;
        }
    }
    return false;
}

static bool is_wanted_outside(const iso_graph_t *graph, iso_node_id_t value)
{
    for (int i = 0; i < iso_graph_output_count(graph); i++) {
        if (origin_of(graph, iso_graph_output(graph, i)->node) == value) {
            return true;
        }
    }
    for (iso_node_id_t id = 0; id < iso_graph_node_count(graph); id++) {
        if (iso_graph_node(graph, id)->op == ISO_OP_EXCHANGE &&
            reads(graph, id, value)) {
            return true;
        }
    }
    return false;
}

static double crossing_s(const iso_graph_t *graph, iso_node_id_t value,
                         const iso_crossing_t *crossing)
{
    const int64_t count = iso_shape_count(&iso_graph_node(graph, value)->shape);

    return crossing->latency_s +
           (double)count * sizeof(float) / crossing->bytes_per_s;
}

/* home is ISO_NO_DEVICE for what is in host memory. */
static double value_s(const iso_graph_t *graph,
                      const iso_device_prices_t *prices, const int *device_of,
                      iso_node_id_t value)
{
    const int home = device_of[value];
    bool leaves = home != ISO_NO_DEVICE && !prices->crossings[home].in_host &&
                  is_wanted_outside(graph, value);
    double sum = 0.0;

    for (int device = 0; device < prices->n_devices; device++) {
        bool is_read = false;

        for (iso_node_id_t id = 0; id < iso_graph_node_count(graph); id++) {
            is_read =
                is_read || (device_of[id] == device && reads(graph, id, value));
        }
        if (is_read && device != home) {
            leaves = leaves || home != ISO_NO_DEVICE;
            sum += prices->crossings[device].in_host
                       ? 0.0
                       : crossing_s(graph, value, &prices->crossings[device]);
        }
    }
    return sum +
           (leaves ? crossing_s(graph, value, &prices->crossings[home]) : 0.0);
}

static double total_s(const iso_graph_t *graph,
                      const iso_device_prices_t *prices, const int *device_of)
{
    double sum = 0.0;

    for (iso_node_id_t id = 0; id < iso_graph_node_count(graph); id++) {
        const iso_op_t op = iso_graph_node(graph, id)->op;

        if (device_of[id] != ISO_NO_DEVICE) {
            sum += prices->seconds[id * prices->n_devices + device_of[id]];
        }
        if (device_of[id] != ISO_NO_DEVICE || op == ISO_OP_INPUT ||
            op == ISO_OP_EXCHANGE) {
            sum += value_s(graph, prices, device_of, id);
        }
    }
    return sum;
}

/* The least of all placements. */
static double least_s(const iso_graph_t *graph,
                      const iso_device_prices_t *prices)
{
    int device_of[MOST_NODES] = {0};
    double least = INFINITY;
    bool more = true;

    for (iso_node_id_t id = 0; id < iso_graph_node_count(graph); id++) {
        device_of[id] =
            iso__node_has_device(iso_graph_node(graph, id)) ? 0 : ISO_NO_DEVICE;
    }
    while (more) {
        least = fmin(least, total_s(graph, prices, device_of));
        more = false;
        for (iso_node_id_t id = 0; !more && id < iso_graph_node_count(graph);
             id++) {
            if (device_of[id] == ISO_NO_DEVICE) {
                continue;
            }
            more = device_of[id] < prices->n_devices - 1;
            device_of[id] = more ? device_of[id] + 1 : 0;
        }
    }
    return least;
}

/* ---- Random graphs and prices, all whole numbers ---- */

typedef struct sample {
    iso_graph_t *graph;
    double seconds[MOST_NODES * ISO_DEVICES_MOST];
    iso_device_prices_t prices;
} sample_t;

static int64_t any(uint64_t *state, int64_t least, int64_t most)
{
    return test_random_int(state, least, most);
}

static iso_node_id_t any_value(const iso_graph_t *graph, uint64_t *state)
{
    return (iso_node_id_t)any(state, 0, iso_graph_node_count(graph) - 1);
}

static void add_exchange(iso_graph_t *graph, int number, iso_node_id_t x)
{
    const int64_t numbers[] = {number};
    const iso_node_t *node = iso_graph_node(graph, x);
    const iso_attr_t attrs[] = {
        {"number", ISO_ATTR_INTS, 1, {.ints = numbers}},
        {"shape", ISO_ATTR_DIMS, node->shape.rank, {.dims = node->shape.dim}},
        {"dtype", ISO_ATTR_TEXT, 1, {.text = "f32"}},
    };
    const iso_node_spec_t spec = {.op = ISO_OP_EXCHANGE,
                                  .n_inputs = 1,
                                  .inputs = &x,
                                  .n_attrs = 3,
                                  .attrs = attrs};
    iso_node_id_t id = ISO_NO_NODE;

    CU_ASSERT_EQUAL(iso_graph_add(graph, &spec, &id), ISO_OK);
}

/* One more node; true when it has a device. */
static bool add_node(iso_graph_t *graph, uint64_t *state)
{
    static const int64_t zero = 0;
    const iso_attr_t axis = {"axis", ISO_ATTR_INTS, 1, {.ints = &zero}};
    const iso_node_id_t a = any_value(graph, state);
    const iso_node_id_t b = any_value(graph, state);
    const iso_node_t *node = iso_graph_node(graph, a);
    const iso_attr_t shape = {
        "shape", ISO_ATTR_DIMS, 1, {.dims = node->shape.dim}};

    switch (any(state, 0, 9)) {
    case 0:
        (void)test_node(graph, NULL, ISO_OP_RESHAPE,
                        (const iso_node_id_t[]){a, ISO_NO_NODE, ISO_NO_NODE},
                        &shape);
        return false;
    case 1:
        add_exchange(graph, iso_graph_node_count(graph), a);
        return false;
    case 2:
    case 3:
    case 4:
        (void)test_unary(graph, NULL, ISO_OP_RELU, a);
        return true;
    case 5:
        (void)test_binary(graph, NULL, ISO_OP_ADD, a, a);
        return true;
    default:
        (void)test_node(graph, NULL, ISO_OP_CONCAT,
                        (const iso_node_id_t[]){a, b, ISO_NO_NODE}, &axis);
        return true;
    }
}

static iso_graph_t *any_graph(uint64_t *state, int n_placed)
{
    iso_graph_t *graph = test_graph();
    int placed = 0;

    (void)test_input(graph, "x", "3");
    (void)test_input(graph, "y", "1");
    (void)test_param(graph, "w", "2");
    while (placed < n_placed) {
        placed += add_node(graph, state) ? 1 : 0;
    }
    for (iso_node_id_t id = 0; id < iso_graph_node_count(graph); id++) {
        char name[16];

        (void)snprintf(name, sizeof name, "out%d", (int)id);
        if (any(state, 0, 4) == 0) {
            test_output(graph, name, id);
        }
    }
    return graph;
}

/* A crossing takes a second for so many floats. */
static void set_prices(sample_t *sample, uint64_t *state, int n_devices)
{
    const int64_t most_s = any(state, 1, 40);
    const int64_t most_latency_s = any(state, 0, 6);

    sample->prices = (iso_device_prices_t){.n_devices = n_devices,
                                           .seconds = sample->seconds};
    for (int device = 0; device < n_devices; device++) {
        sample->prices.crossings[device] = (iso_crossing_t){
            any(state, 0, 1) == 0, (double)any(state, 0, most_latency_s),
            (double)(1 << any(state, 1, 4))};
    }
    for (iso_node_id_t id = 0; id < iso_graph_node_count(sample->graph); id++) {
        const int sure = (int)any(state, 0, n_devices - 1);

        for (int device = 0; device < n_devices; device++) {
            const double seconds = (double)any(state, 0, most_s);

            sample->seconds[id * n_devices + device] =
                device != sure && any(state, 0, 5) == 0 ? INFINITY : seconds;
        }
    }
}

/* Of its placement; INFINITY when a node is where it must not be. */
static double place(const sample_t *sample, int *device_of)
{
    CU_ASSERT_EQUAL_FATAL(
        iso_device_cost_place(sample->graph, &sample->prices, device_of),
        ISO_OK);
    for (iso_node_id_t id = 0; id < iso_graph_node_count(sample->graph); id++) {
        const bool is_placed =
            iso__node_has_device(iso_graph_node(sample->graph, id));

        CU_ASSERT_EQUAL_FATAL(device_of[id] != ISO_NO_DEVICE, is_placed);
    }
    return total_s(sample->graph, &sample->prices, device_of);
}

static void test_two_devices(void)
{
    const int64_t before = iso_mem_count().blocks;
    uint64_t state = SEED;

    for (int trial = 0; trial < 600; trial++) {
        sample_t sample = {.graph = any_graph(&state, (int)any(&state, 1, 9))};
        int device_of[MOST_NODES];

        set_prices(&sample, &state, 2);
        const double found = place(&sample, device_of);
        const double expected = least_s(sample.graph, &sample.prices);

        CU_ASSERT_EQUAL(found, expected);
        if (found != expected) {
            (void)fprintf(stderr, "trial %d: %g, expected %g\n", trial, found,
                          expected);
        }
        iso_graph_destroy(&sample.graph);
    }
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

/* Cuts between pairs may end above the least; how often is printed. */
static void test_three_devices(void)
{
    enum { TRIALS = 300 };
    uint64_t state = SEED + 1;
    double worst = 1.0;
    int equal = 0;

    for (int trial = 0; trial < TRIALS; trial++) {
        sample_t sample = {.graph = any_graph(&state, (int)any(&state, 1, 6))};
        int device_of[MOST_NODES];

        set_prices(&sample, &state, 3);
        const double found = place(&sample, device_of);
        const double least = least_s(sample.graph, &sample.prices);

        CU_ASSERT(found >= least);
        CU_ASSERT(found <= 2.0 * least);
        equal += found == least ? 1 : 0;
        worst = least > 0.0 ? fmax(worst, found / least) : worst;
        iso_graph_destroy(&sample.graph);
    }
    (void)printf("three devices: %d of %d placements are the least, the worst "
                 "takes %.3f times as long\n",
                 equal, (int)TRIALS, worst);
}

/* As a sample, but that nodes move between two devices alone. */
static void hold(const sample_t *sample, const int *device_of, int a, int b,
                 sample_t *held)
{
    const int n_devices = sample->prices.n_devices;

    held->prices = sample->prices;
    held->prices.seconds = held->seconds;
    for (iso_node_id_t id = 0; id < iso_graph_node_count(sample->graph); id++) {
        for (int device = 0; device < n_devices; device++) {
            const int on = device_of[id];
            const bool moves =
                (on == a || on == b) && (device == a || device == b);

            held->seconds[id * n_devices + device] =
                moves || device == on ? sample->seconds[id * n_devices + device]
                                      : INFINITY;
        }
    }
}

/* No two devices can exchange nodes for the better. */
static void test_pairs_are_least(void)
{
    enum { N_DEVICES = 4 };
    uint64_t state = SEED + 2;

    for (int trial = 0; trial < 40; trial++) {
        sample_t sample = {.graph = any_graph(&state, (int)any(&state, 1, 7))};
        int device_of[MOST_NODES];

        set_prices(&sample, &state, N_DEVICES);
        const double found = place(&sample, device_of);

        for (int pair = 0; pair < N_DEVICES * N_DEVICES; pair++) {
            sample_t held = {.graph = sample.graph};

            hold(&sample, device_of, pair / N_DEVICES, pair % N_DEVICES, &held);
            CU_ASSERT_EQUAL(least_s(held.graph, &held.prices), found);
        }
        iso_graph_destroy(&sample.graph);
    }
}

/* ---- By hand ---- */

static void set_all(sample_t *sample, double first_s, double second_s)
{
    for (iso_node_id_t id = 0; id < iso_graph_node_count(sample->graph); id++) {
        sample->seconds[(ptrdiff_t)id * 2] = first_s;
        sample->seconds[(ptrdiff_t)id * 2 + 1] = second_s;
    }
}

static void set_node(sample_t *sample, const char *name, double first_s,
                     double second_s)
{
    const iso_node_id_t id = iso_graph_find(sample->graph, name);

    CU_ASSERT_NOT_EQUAL_FATAL(id, ISO_NO_NODE);
    sample->seconds[(ptrdiff_t)id * 2] = first_s;
    sample->seconds[(ptrdiff_t)id * 2 + 1] = second_s;
}

/* The devices of the nodes with one, a digit for each. */
static void expect_placement(const sample_t *sample, const char *expected)
{
    int device_of[MOST_NODES];
    char found[MOST_NODES + 1] = "";
    int count = 0;

    (void)place(sample, device_of);
    for (iso_node_id_t id = 0; id < iso_graph_node_count(sample->graph); id++) {
        if (device_of[id] != ISO_NO_DEVICE) {
            found[count++] = (char)('0' + device_of[id]);
        }
    }
    found[count] = '\0';
    CU_ASSERT_STRING_EQUAL(found, expected);
    if (strcmp(found, expected) != 0) {
        (void)fprintf(stderr, "%s, expected %s\n", found, expected);
    }
}

static void begin(sample_t *sample, const char *text, iso_crossing_t second)
{
    *sample = (sample_t){.graph = test_graph()};
    sample->prices = (iso_device_prices_t){
        .n_devices = 2,
        .seconds = sample->seconds,
        .crossings = {{true, 0.0, 4.0}, second},
    };
    CU_ASSERT_EQUAL_FATAL(graph_text_add(sample->graph, text, NULL), ISO_OK);
}

/* Every other node is a little faster elsewhere: one at a time each would go
 * there, and all values would cross. */
static void test_no_ping_pong(void)
{
    sample_t sample;

    begin(&sample,
          "x = input f32[4]\n"
          "a = relu(x)\nb = relu(a)\nc = relu(b)\n"
          "d = relu(c)\ne = relu(d)\nf = relu(e)\nreturn f\n",
          (iso_crossing_t){true, 0.0, 4.0});
    set_all(&sample, 10.0, 11.0);
    set_node(&sample, "b", 10.0, 7.0);
    set_node(&sample, "d", 10.0, 7.0);
    set_node(&sample, "f", 10.0, 7.0);
    /* All there costs 3 less than all here, in and out are free. */
    expect_placement(&sample, "111111");
    /* A copy costs 4, so that no node alone is worth two. */
    set_node(&sample, "f", 10.0, 20.0);
    expect_placement(&sample, "000000");
    /* Three together are. */
    set_node(&sample, "a", 10.0, 20.0);
    set_node(&sample, "b", 10.0, 6.0);
    set_node(&sample, "c", 10.0, 9.0);
    set_node(&sample, "d", 10.0, 4.0);
    expect_placement(&sample, "011100");
    iso_graph_destroy(&sample.graph);
}

/* A value that many read crosses once. */
static void test_once_for_all_readers(void)
{
    sample_t sample;

    begin(&sample,
          "x = input f32[4]\na = relu(x)\n"
          "b = relu(a)\nc = relu(a)\nd = relu(a)\n"
          "e = add(b, c)\nf = add(e, d)\nreturn f\n",
          (iso_crossing_t){true, 0.0, 4.0});
    set_all(&sample, 10.0, 8.0);
    set_node(&sample, "a", 1.0, INFINITY);
    set_node(&sample, "e", 10.0, 10.0);
    set_node(&sample, "f", 10.0, 10.0);
    /* 4 for a, 6 gained: each reader alone would gain nothing. */
    expect_placement(&sample, "011111");
    set_node(&sample, "d", 10.0, INFINITY);
    expect_placement(&sample, "000000");
    iso_graph_destroy(&sample.graph);
}

/* A device with its own memory pays for what comes and goes. */
static void test_own_memory(void)
{
    sample_t sample;

    begin(&sample,
          "x = input f32[4]\nw = param f32[1000]\n"
          "a = relu(x)\nb = reshape(a) shape=d:4\nc = relu(b)\nreturn "
          "b\nreturn c\n",
          (iso_crossing_t){false, 1.0, 16.0});
    set_all(&sample, 10.0, 8.0);
    /* x in, a and c out: 6 for 4. */
    expect_placement(&sample, "00");
    set_all(&sample, 10.0, 6.0);
    expect_placement(&sample, "11");
    iso_graph_destroy(&sample.graph);
    begin(&sample,
          "x = input f32[4]\nw = param f32[1000]\n"
          "y = concat(x, w) axis=i:0\nz = reduce_max(y) axes=i:0\nreturn z\n",
          (iso_crossing_t){false, 1.0, 16.0});
    set_all(&sample, 10.0, 8.0);
    /* x in, z out: 3.25 for 4; params are there. */
    expect_placement(&sample, "11");
    iso_graph_destroy(&sample.graph);
}

static void test_not_everywhere(void)
{
    sample_t sample;

    begin(&sample,
          "x = input f32[4]\na = relu(x)\nb = relu(a)\nc = relu(b)\nreturn c\n",
          (iso_crossing_t){true, 0.0, 4.0});
    set_all(&sample, 1e9, 1.0);
    set_node(&sample, "b", 1e9, INFINITY);
    expect_placement(&sample, "101");
    set_node(&sample, "a", INFINITY, 1.0);
    set_node(&sample, "c", INFINITY, 1.0);
    expect_placement(&sample, "101");
    /* Equal everywhere: the first. */
    set_all(&sample, 1.0, 1.0);
    expect_placement(&sample, "000");
    set_all(&sample, 0.0, 0.0);
    expect_placement(&sample, "000");
    iso_graph_destroy(&sample.graph);
}

static void test_failures(void)
{
    const int64_t before = iso_mem_count().blocks;
    uint64_t state = SEED + 3;
    sample_t sample = {.graph = any_graph(&state, 6)};
    int device_of[MOST_NODES];
    int64_t failed = 0;

    set_prices(&sample, &state, 3);
    for (int64_t n = 1; failed == n - 1; n++) {
        iso_mem_fail_at(n);
        failed += iso_device_cost_place(sample.graph, &sample.prices,
                                        device_of) == ISO_NOMEM
                      ? 1
                      : 0;
    }
    iso_mem_fail_at(0);
    CU_ASSERT(failed > 8);
    iso_graph_destroy(&sample.graph);
    sample.graph = test_graph();
    (void)test_unary(sample.graph, "y", ISO_OP_RELU,
                     test_input(sample.graph, "x", "N,4"));
    set_prices(&sample, &state, 2);
    CU_ASSERT_EQUAL(
        iso_device_cost_place(sample.graph, &sample.prices, device_of),
        ISO_SHAPE);
    iso_graph_destroy(&sample.graph);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"two devices beside all placements", test_two_devices},
        {"three devices beside all placements", test_three_devices},
        {"no pair can do better", test_pairs_are_least},
        {"no ping-pong", test_no_ping_pong},
        {"once for all readers", test_once_for_all_readers},
        {"own memory", test_own_memory},
        {"not everywhere", test_not_everywhere},
        {"failures", test_failures},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"device_cost", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    (void)printf("seed %d\n", SEED);
    return iso_test_main(suites);
}
