/*
 * Any graph, any rule: nodes on "ref", "cpu" and throttled devices have the
 * bits of "ref" alone, whatever is looked at and however weights are bound.
 */
#include "isotome/error.h"

#include "base/mem.h"
#include "device/device.h"
#include "device/weight.h"
#include "device_checks.h"
#include "iso_test.h"
#include "iso_test_call.h"
#include "iso_test_graph.h"
#include "iso_test_memory.h"
#include "random_net.h"

#include <string.h>

enum { SEED = 173205, GRAPHS = 30, RULES = 3, MOST_NODES = 512 };
enum { RULE_BYTES = 512, GUARD_BYTES = 64 };

static uint64_t random_state = SEED;

static int next_random(int below)
{
    return (int)test_random_int(&random_state, 0, below - 1);
}

/* ---- Rules ---- */

static const char *const pieces[] = {
    "ref", "cpu", "throttled:1e6|cpu", "throttled:2e4|ref", "cpu", "ref|cpu"};

/* Some patterns for kinds of nodes, some for numbers of nodes, and the rest. */
static void random_rule(char rule[RULE_BYTES])
{
    static const char *const patterns[] = {
        "conv*", "add*", "relu*", "gemm*", "*0", "*1", "*2", "*3",
        "*4",    "*5",   "*6",    "*7",    "*8", "*9", "*??"};
    const int n_clauses = next_random(7);
    size_t length = 0;

    for (int i = 0; i < n_clauses; i++) {
        length +=
            (size_t)snprintf(rule + length, RULE_BYTES - length, "%s=%s,",
                             patterns[next_random(15)], pieces[next_random(6)]);
    }
    (void)snprintf(rule + length, RULE_BYTES - length, "*=%s",
                   pieces[next_random(6)]);
}

static iso_device_t *open_device(const char *rule)
{
    iso_device_t *device = NULL;

    CU_ASSERT_EQUAL_FATAL(iso_device_open(rule, 1 + next_random(2), &device),
                          ISO_OK);
    return device;
}

/* A random graph on the devices of a random rule. */
typedef struct placed {
    iso_graph_t *graph;
    char rule[RULE_BYTES];
    iso_device_t *device;
    iso_device_t *ref;
} placed_t;

static placed_t placed_of(int trial)
{
    placed_t placed = {.graph = random_net(&random_state, 4 + trial % 30)};

    device_checks_fill(&random_state, trial % 2 == 1);
    random_rule(placed.rule);
    placed.device = open_device(placed.rule);
    placed.ref = open_device("ref");
    return placed;
}

static void free_placed(placed_t *placed, int trial, bool passed)
{
    CU_ASSERT(passed);
    if (!passed) {
        (void)fprintf(stderr, "trial %d: %s\n", trial, placed->rule);
    }
    iso_device_close(&placed->ref);
    iso_device_close(&placed->device);
    iso_graph_destroy(&placed->graph);
}

static iso_program_t *program_of(iso_device_t *device, const iso_graph_t *graph,
                                 const iso_program_options_t *options)
{
    iso_program_t *program = NULL;

    CU_ASSERT_EQUAL_FATAL(iso_program_create(device, graph, options, &program),
                          ISO_OK);
    return program;
}

static void bind_and_run(iso_program_t *program, const iso_graph_t *graph)
{
    device_checks_bind(program, graph);
    CU_ASSERT_EQUAL_FATAL(iso_program_run(program), ISO_OK);
}

/* ---- By rules and functions ---- */

static void test_rules(void)
{
    (void)printf("  seed %d\n", SEED);
    for (int trial = 0; trial < GRAPHS; trial++) {
        iso_graph_t *graph = random_net(&random_state, 2 + trial);

        device_checks_fill(&random_state, trial % 2 == 1);
        for (int i = 0; i < RULES; i++) {
            char rule[RULE_BYTES];

            random_rule(rule);
            iso_device_t *device = open_device(rule);

            if (!device_checks_device(graph, device)) {
                (void)fprintf(stderr, "trial %d: %s\n", trial, rule);
            }
            iso_device_close(&device);
        }
        iso_graph_destroy(&graph);
    }
}

/* The same for a node whenever asked: a program asks more than once. */
static int number_of(void *arg, const iso_graph_t *graph, iso_node_id_t node)
{
    uint64_t state = *(const uint64_t *)arg + (uint64_t)node;
    const int number = (int)(test_random(&state) % 3);
    iso_device_map_t *map = NULL;

    CU_ASSERT_EQUAL_FATAL(iso_device_map_create("throttled", &map), ISO_OK);
    const bool is_done =
        iso_device_does(iso_device_map_device(map, 0), graph, node);

    iso_device_map_destroy(&map);
    return number < 2 || is_done ? number : 0;
}

static void test_functions(void)
{
    static const char *const devices[] = {"cpu", "ref", "throttled:1e5"};

    for (int trial = 0; trial < GRAPHS; trial++) {
        iso_graph_t *graph = random_net(&random_state, 2 + trial);
        uint64_t seed = test_random(&random_state);
        iso_device_map_t *map = NULL;
        iso_device_t *device = NULL;

        device_checks_fill(&random_state, trial % 2 == 1);
        CU_ASSERT_EQUAL_FATAL(
            iso_device_map_create_from(devices, 3, number_of, &seed, &map),
            ISO_OK);
        CU_ASSERT_EQUAL_FATAL(iso_device_open_map(map, 1, &device), ISO_OK);
        if (!device_checks_device(graph, device)) {
            (void)fprintf(stderr, "trial %d\n", trial);
        }
        iso_device_close(&device);
        iso_device_map_destroy(&map);
        iso_graph_destroy(&graph);
    }
}

/* ---- Observers ---- */

/* Values of a whole graph by id, and how often each was seen. */
typedef struct seen {
    const iso_graph_t *graph;
    const struct seen *expected; /* NULL: keep what is seen */
    void *data[MOST_NODES];
    int count[MOST_NODES];
    bool equal;
} seen_t;

static iso_status_t see(void *arg, iso_node_id_t node,
                        const iso_tensor_t *value)
{
    seen_t *seen = arg;
    const iso_node_t *found = iso_graph_node(seen->graph, node);
    const iso_shape_t shape = iso_tensor_shape(value);
    const size_t bytes = iso_tensor_bytes(value);

    seen->count[node]++;
    seen->equal = seen->equal && found->dtype == value->dtype &&
                  iso_shape_equal(&found->shape, &shape);
    if (seen->expected != NULL) {
        seen->equal =
            seen->equal && seen->expected->data[node] != NULL &&
            memcmp(seen->expected->data[node], value->data, bytes) == 0;
        return ISO_OK;
    }
    seen->data[node] = iso_alloc(bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(seen->data[node]);
    memcpy(seen->data[node], value->data, bytes);
    return ISO_OK;
}

static void observe(iso_device_t *device, const iso_graph_t *graph,
                    seen_t *seen)
{
    static const iso_program_options_t options = {.keeps_values = true};
    iso_program_t *program = program_of(device, graph, &options);

    seen->graph = graph;
    seen->equal = true;
    iso_program_observe(program, see, seen);
    bind_and_run(program, graph);
    iso_program_observe(program, NULL, NULL);
    bind_and_run(program, graph);
    iso_program_destroy(&program);
}

/* Each computed value once, leaves and reshapes never. */
static bool are_all_seen(const seen_t *seen)
{
    bool all = true;

    for (iso_node_id_t id = 0; id < iso_graph_node_count(seen->graph); id++) {
        const iso_node_t *node = iso_graph_node(seen->graph, id);
        const bool is_made =
            !iso_node_is_leaf(node) && node->op != ISO_OP_RESHAPE;

        all = all && seen->count[id] == (is_made ? 1 : 0);
    }
    return all;
}

static void test_observers(void)
{
    for (int trial = 0; trial < GRAPHS; trial++) {
        placed_t placed = placed_of(trial);
        seen_t expected = {0};
        seen_t found = {.expected = &expected};

        observe(placed.ref, placed.graph, &expected);
        observe(placed.device, placed.graph, &found);
        const bool passed = expected.equal && found.equal &&
                            are_all_seen(&expected) && are_all_seen(&found);

        for (int id = 0; id < MOST_NODES; id++) {
            iso_free(expected.data[id]);
        }
        free_placed(&placed, trial, passed);
    }
}

/* ---- Buffers ---- */

static bool is_untouched(const char *guard)
{
    bool untouched = true;

    for (int i = 0; i < GUARD_BYTES; i++) {
        untouched = untouched && guard[i] == 0x5a;
    }
    return untouched;
}

/* Exactly what it says is enough; a byte less is not. */
static bool check_lent(const placed_t *placed, bool keeps_values,
                       const iso_program_t *expected)
{
    iso_program_options_t options = {.keeps_values = keeps_values};
    iso_program_t *program = NULL;
    size_t bytes = 0;

    CU_ASSERT_EQUAL_FATAL(iso_program_buffer_bytes(placed->device,
                                                   placed->graph, keeps_values,
                                                   &bytes),
                          ISO_OK);
    char *buffer = iso_alloc(bytes + GUARD_BYTES);

    CU_ASSERT_PTR_NOT_NULL_FATAL(buffer);
    memset(buffer, 0x5a, bytes + GUARD_BYTES);
    options.buffer = buffer;
    if (bytes > 0) {
        options.buffer_bytes = bytes - 1;
        CU_ASSERT_EQUAL(iso_program_create(placed->device, placed->graph,
                                           &options, &program),
                        ISO_INVAL);
        CU_ASSERT(test_failed_with("the program needs"));
        CU_ASSERT_PTR_NULL_FATAL(program);
    }
    options.buffer_bytes = bytes;
    program = program_of(placed->device, placed->graph, &options);
    bind_and_run(program, placed->graph);
    const bool passed = device_checks_equal(placed->graph, expected, program) &&
                        is_untouched(buffer + bytes);

    iso_program_destroy(&program);
    iso_free(buffer);
    return passed;
}

static void test_lent_buffers(void)
{
    static const iso_program_options_t own = {.buffer = NULL};

    for (int trial = 0; trial < GRAPHS; trial++) {
        placed_t placed = placed_of(trial);
        iso_program_t *expected = program_of(placed.ref, placed.graph, &own);

        bind_and_run(expected, placed.graph);
        const bool passed = check_lent(&placed, false, expected) &&
                            check_lent(&placed, true, expected);

        iso_program_destroy(&expected);
        free_placed(&placed, trial, passed);
    }
}

/* ---- Weights ---- */

/* A param as a loader binds it: only in the forms that programs read, filled
 * in two parts. */
static iso_weight_t *bind_weight(iso_device_t *device, iso_program_t *program,
                                 const iso_graph_t *graph, iso_node_id_t id)
{
    const iso_node_t *node = iso_graph_node(graph, id);
    const float *data = device_checks_leaf(id);
    iso_weight_uses_t uses = {0};
    iso_weight_t *weight = NULL;
    iso_tensor_t view;

    CU_ASSERT_EQUAL_FATAL(
        iso_tensor_view(node->dtype, &node->shape, NULL, &view), ISO_OK);
    CU_ASSERT_EQUAL_FATAL(iso_program_uses(program, id, &uses), ISO_OK);
    CU_ASSERT_EQUAL_FATAL(iso_weight_create(device, &view, &uses, &weight),
                          ISO_OK);
    const int64_t rows = view.rank == 0 ? 1 : view.dims[0];
    const int64_t unit = iso_weight_part(weight);
    const int64_t first = unit < rows ? unit : 0;
    const int64_t row = iso_tensor_count(&view) / rows;

    if (first > 0) {
        iso_weight_fill(weight, 0, first, data);
    }
    iso_weight_fill(weight, first, rows - first, data + first * row);
    iso_program_bind_weight(program, id, weight);
    return weight;
}

static void test_weights(void)
{
    static const iso_program_options_t own = {.buffer = NULL};

    for (int trial = 0; trial < GRAPHS; trial++) {
        placed_t placed = placed_of(trial);
        const iso_graph_t *graph = placed.graph;
        iso_program_t *expected = program_of(placed.ref, graph, &own);
        iso_program_t *found = program_of(placed.device, graph, &own);
        iso_weight_t *weights[MOST_NODES] = {NULL};

        bind_and_run(expected, graph);
        for (iso_node_id_t id = 0; id < iso_graph_node_count(graph); id++) {
            if (iso_graph_node(graph, id)->op == ISO_OP_PARAM) {
                weights[id] = bind_weight(placed.device, found, graph, id);
            } else if (iso_graph_node(graph, id)->op == ISO_OP_INPUT) {
                iso_program_bind_node(found, id, device_checks_leaf(id));
            }
        }
        CU_ASSERT_EQUAL_FATAL(iso_program_run(found), ISO_OK);
        const bool passed = device_checks_equal(graph, expected, found);

        iso_program_destroy(&found);
        iso_program_destroy(&expected);
        for (int id = 0; id < MOST_NODES; id++) {
            iso_weight_destroy(&weights[id]);
        }
        free_placed(&placed, trial, passed);
    }
}

/* ---- Again ---- */

/* The same programs with other inputs and weights, bound again: what was
 * packed of the first ones is not read. */
static void test_run_again(void)
{
    static const iso_program_options_t own = {.buffer = NULL};

    for (int trial = 0; trial < GRAPHS; trial++) {
        placed_t placed = placed_of(trial);
        iso_program_t *expected = program_of(placed.ref, placed.graph, &own);
        iso_program_t *found = program_of(placed.device, placed.graph, &own);
        bool passed = true;

        for (int run = 0; run < 3; run++) {
            bind_and_run(expected, placed.graph);
            bind_and_run(found, placed.graph);
            passed =
                device_checks_equal(placed.graph, expected, found) && passed;
            device_checks_fill(&random_state, run == 0);
        }
        iso_program_destroy(&found);
        iso_program_destroy(&expected);
        free_placed(&placed, trial, passed);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"random rules", test_rules},
        {"random functions", test_functions},
        {"observers", test_observers},
        {"lent buffers", test_lent_buffers},
        {"weights of a loader", test_weights},
        {"run again", test_run_again},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"device_places", NULL, NULL, test_remember_blocks, test_check_blocks,
         tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
