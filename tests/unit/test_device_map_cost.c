/* Device maps by cost: figures of a machine file place the nodes of a graph. */
#include "isotome/device_map.h"

#include "base/mem.h"
#include "device/device.h"
#include "graph_text.h"
#include "iso_test_call.h"
#include "iso_test_graph.h"
#include "iso_test_memory.h"
#include "machine_path.h"

#include <stdlib.h>
#include <unistd.h>

/* A network of which a throttled device does some. */
static const char text[] = "x = input f32[4,8,16,16]\n"
                           "w = param f32[8,8,3,3]\n"
                           "v = param f32[8,8,3,3]\n"
                           "conv1 = conv(x, w) pads=i:1,1,1,1\n"
                           "relu1 = relu(conv1)\n"
                           "tanh1 = tanh(relu1)\n"
                           "conv2 = conv(tanh1, v) pads=i:1,1,1,1\n"
                           "add2 = add(conv2, x)\n"
                           "flat = reshape(add2) shape=d:4,2048\n"
                           "y = softmax(flat) axis=i:1\n"
                           "return y\n"
                           "return conv1\n";

static iso_graph_t *network(void)
{
    iso_graph_t *graph = test_graph();

    CU_ASSERT_EQUAL_FATAL(graph_text_add(graph, text, NULL), ISO_OK);
    return graph;
}

/* ---- Machine files ---- */

#define HEAD                                                        \
    "{\"format\":\"isotome-machine\",\"format_version\":1,"         \
    "\"links\":{\"same_host\":{\"latency_s\":0,\"bytes_per_s\":1}," \
    "\"other_host\":{\"latency_s\":0,\"bytes_per_s\":1}},"          \
    "\"ranks\":[{\"host\":\"h\",\"memory_bytes\":1000000,"
/* flops is a number of Gflop/s. */
#define SPEED(flops)                                                    \
    "\"flops_per_s\":" flops "e9,\"memory_bytes_per_s\":1e10,\"cost\":" \
    "\"measured\""
#define CONV(flops)                                             \
    ",\"rates\":{\"conv-few-channels\":{\"flops_per_s\":" flops \
    "e9,\"cost\":\"measured\"}}"
#define DEVICE(name, members)                                         \
    "{\"name\":\"" name "\"," members ",\"crossing_latency_s\":1e-6," \
    "\"crossing_bytes_per_s\":8e9}"

/* As it is measured, and with a cpu that is a thousand times slower at
 * convolutions. */
static const char usual[] = HEAD SPEED("50") ",\"devices\":[" DEVICE(
    "cpu", SPEED("50") CONV("40")) "," DEVICE("throttled:2",
                                              SPEED("2") CONV("1.2")) "]}]}";
static const char slow_cpu[] = HEAD SPEED("50") ",\"devices\":[" DEVICE(
    "cpu", SPEED("50") CONV("0.04")) "," DEVICE("throttled:2",
                                                SPEED("2") CONV("1.2")) "]}]}";
static const char own_is_cpu[] = HEAD SPEED("50")
    CONV("0.04") ",\"devices\":[" DEVICE("throttled:2",
                                         SPEED("2") CONV("1.2")) "]}]}";
static const char uncalibrated[] = HEAD SPEED("50") ",\"devices\":[" DEVICE(
    "throttled:2", SPEED("2") ",\"rates\":{\"pool\":{\"cost\":"
                              "\"uncalibrated\"}}") "]}]}";
static const char none[] = HEAD SPEED("50") "}]}";

static iso_machine_t *machine_of(const char *file_text)
{
    iso_machine_t *machine = NULL;
    FILE *file = fopen(machine_path, "w");

    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT(fputs(file_text, file) >= 0);
    CU_ASSERT_EQUAL(fclose(file), 0);
    CU_ASSERT_EQUAL_FATAL(iso_machine_read(machine_path, &machine), ISO_OK);
    return machine;
}

/* ---- Placements ---- */

/* "conv1=cpu conv2=throttled:2 ...": of the nodes that have a device. */
static void expect_placement(const iso_graph_t *graph,
                             const iso_device_map_t *map, const char *expected)
{
    iso_placement_t placement;
    char found[512] = "";

    CU_ASSERT_EQUAL_FATAL(iso_placement_create(graph, map, &placement), ISO_OK);
    for (iso_node_id_t id = 0; id < placement.n_nodes; id++) {
        const int number = placement.device_of[id];
        const size_t length = strlen(found);

        if (number != ISO_NO_DEVICE) {
            (void)snprintf(found + length, sizeof found - length, "%s%s=%s",
                           length == 0 ? "" : " ",
                           iso_graph_node(graph, id)->name,
                           iso_device_map_device(map, number)->name);
        }
    }
    CU_ASSERT_STRING_EQUAL(found, expected);
    if (strcmp(found, expected) != 0) {
        (void)fprintf(stderr, "%s\n", found);
    }
    iso_placement_free(&placement);
}

static const char all_on_cpu[] = "conv1=cpu relu1=cpu tanh1=cpu conv2=cpu "
                                 "add2=cpu y=cpu";
static const char convolutions_on_throttled[] =
    "conv1=throttled:2 relu1=cpu tanh1=cpu conv2=throttled:2 add2=cpu y=cpu";

static void expect_with(const char *file_text, const char *expected)
{
    static const char *const rules[] = {"cost:throttled:2|cpu",
                                        "cost:cpu|throttled:2"};
    iso_graph_t *graph = network();
    iso_machine_t *machine = machine_of(file_text);

    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        iso_device_map_t *map = NULL;

        CU_ASSERT_EQUAL_FATAL(iso_device_map_create(rules[i], &map), ISO_OK);
        iso_device_map_set_rank(map, iso_machine_rank(machine, 0));
        expect_placement(graph, map, expected);
        iso_device_map_destroy(&map);
    }
    iso_machine_destroy(&machine);
    iso_graph_destroy(&graph);
}

static void test_by_figures(void)
{
    expect_with(usual, all_on_cpu);
    expect_with(slow_cpu, convolutions_on_throttled);
    expect_with(own_is_cpu, convolutions_on_throttled);
}

static void test_from_names(void)
{
    static const char *const names[] = {"cpu", "throttled:2"};
    static const char *const twice[] = {"cpu", "cpu"};
    iso_graph_t *graph = network();
    iso_machine_t *machine = machine_of(slow_cpu);
    iso_device_map_t *map = NULL;

    CU_ASSERT_EQUAL_FATAL(iso_device_map_create_cost(
                              names, 2, iso_machine_rank(machine, 0), &map),
                          ISO_OK);
    CU_ASSERT_EQUAL(iso_device_map_device_count(map), 2);
    CU_ASSERT_EQUAL(iso_device_map_create_cost(twice, 2,
                                               iso_machine_rank(machine, 0),
                                               &(iso_device_map_t *){NULL}),
                    ISO_INVAL);
    CU_ASSERT(test_failed_with("'cpu' is named twice"));
    /* The figures are copies. */
    iso_machine_destroy(&machine);
    expect_placement(graph, map, convolutions_on_throttled);
    iso_device_map_destroy(&map);
    iso_graph_destroy(&graph);
}

static void expect_failure(const char *rule, const char *file_text,
                           iso_status_t expected, const char *message)
{
    iso_graph_t *graph = network();
    iso_placement_t placement = {0};
    iso_device_map_t *map = NULL;

    CU_ASSERT_EQUAL_FATAL(iso_device_map_create(rule, &map), ISO_OK);
    if (file_text != NULL) {
        iso_machine_t *machine = machine_of(file_text);

        iso_device_map_set_rank(map, iso_machine_rank(machine, 0));
        iso_machine_destroy(&machine);
    }
    CU_ASSERT_EQUAL(iso_placement_create(graph, map, &placement), expected);
    CU_ASSERT(test_failed_with(message));
    CU_ASSERT_PTR_NULL(placement.device_of);
    iso_device_map_destroy(&map);
    iso_graph_destroy(&graph);
}

static void test_failures(void)
{
    iso_device_map_t *map = NULL;

    expect_failure("cost:cpu|throttled:2", NULL, ISO_INVAL,
                   "figures of device 'cpu' for this rank: write one with "
                   "isotome calibrate --device 'cpu|throttled:2' -o M.json and "
                   "give --machine M.json");
    expect_failure("cost:cpu|throttled:2", none, ISO_INVAL,
                   "figures of device 'throttled:2'");
    expect_failure("cost:cpu|throttled:2", uncalibrated, ISO_INVAL,
                   "figures of device 'throttled:2'");
    expect_failure("cost:cpu|throttled:3", usual, ISO_INVAL,
                   "figures of device 'throttled:3'");
    expect_failure("cost:throttled:2|throttled:3", usual, ISO_UNSUPPORTED,
                   "node 'tanh1': device 'throttled:2', 'throttled:3' does not "
                   "compute tanh in f32 exactly; give one to fall back on: "
                   "'cost:throttled:2|cpu'");
    CU_ASSERT_EQUAL(iso_device_map_create("cost:cpu|gpu", &map), ISO_INVAL);
    CU_ASSERT(test_failed_with("no device 'gpu'"));
    CU_ASSERT_EQUAL(iso_device_map_create("cost:", &map), ISO_INVAL);
    CU_ASSERT(test_failed_with("no device ''"));
    CU_ASSERT_PTR_NULL(map);
}

/* One that is not there is not placed on, and one alone takes no figures. */
static void test_left_out(void)
{
    iso_graph_t *graph = network();
    iso_machine_t *machine = machine_of(slow_cpu);
    iso_device_map_t *map = NULL;

    CU_ASSERT_EQUAL_FATAL(
        iso_device_map_create("cost:cuda|cpu|throttled:2", &map), ISO_OK);
    iso_device_map_set_rank(map, iso_machine_rank(machine, 0));
    CU_ASSERT_EQUAL(iso_device_map_leave_out(map, 0), ISO_OK);
    expect_placement(graph, map, convolutions_on_throttled);
    iso_device_map_destroy(&map);
    iso_machine_destroy(&machine);
    CU_ASSERT_EQUAL_FATAL(iso_device_map_create("cost:cuda|cpu", &map), ISO_OK);
    CU_ASSERT_EQUAL(iso_device_map_leave_out(map, 0), ISO_OK);
    expect_placement(graph, map, all_on_cpu);
    CU_ASSERT_EQUAL(iso_device_map_leave_out(map, 1), ISO_UNSUPPORTED);
    CU_ASSERT(test_failed_with("'cost' has no other device"));
    iso_device_map_destroy(&map);
    iso_graph_destroy(&graph);
}

static void test_out_of_memory(void)
{
    static const char *const names[] = {"cpu", "throttled:2"};
    const int64_t blocks = iso_mem_count().blocks;
    iso_graph_t *graph = network();
    iso_machine_t *machine = machine_of(slow_cpu);
    iso_status_t status = ISO_NOMEM;
    int failures = 0;

    for (int64_t n = 1; status == ISO_NOMEM; n++) {
        iso_device_map_t *map = NULL;
        iso_placement_t placement = {0};

        iso_mem_fail_at(n);
        status = iso_device_map_create_cost(names, 2,
                                            iso_machine_rank(machine, 0), &map);
        if (status == ISO_OK) {
            status = iso_placement_create(graph, map, &placement);
        }
        iso_mem_fail_at(0);
        failures += status == ISO_NOMEM ? 1 : 0;
        iso_placement_free(&placement);
        iso_device_map_destroy(&map);
    }
    CU_ASSERT_EQUAL(status, ISO_OK);
    CU_ASSERT(failures > 10);
    iso_machine_destroy(&machine);
    iso_graph_destroy(&graph);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, blocks);
}

/* ---- Bits ---- */

enum { VALUES = 4 * 8 * 16 * 16, WEIGHTS = 8 * 8 * 3 * 3 };

/* outputs [out] y, then conv1 */
static void run(iso_device_t *device, const iso_graph_t *graph, float *outputs)
{
    static float values[VALUES];
    const iso_program_options_t options = {.buffer = NULL};
    iso_program_t *program = NULL;
    uint64_t state = 7;

    for (int i = 0; i < VALUES; i++) {
        values[i] = test_random_float(&state);
    }
    CU_ASSERT_EQUAL_FATAL(iso_program_create(device, graph, &options, &program),
                          ISO_OK);
    CU_ASSERT_EQUAL(iso_program_bind(program, "x", values), ISO_OK);
    CU_ASSERT_EQUAL(iso_program_bind(program, "w", values), ISO_OK);
    CU_ASSERT_EQUAL(iso_program_bind(program, "v", values + WEIGHTS), ISO_OK);
    CU_ASSERT_EQUAL(iso_program_run(program), ISO_OK);
    for (int i = 0; i < 2; i++) {
        memcpy(outputs + (size_t)i * VALUES, iso_program_output(program, i),
               VALUES * sizeof *outputs);
    }
    iso_program_destroy(&program);
}

static bool are_equal(const void *a, const void *b, size_t bytes)
{
    return memcmp(a, b, bytes) == 0;
}

static void test_bits(void)
{
    static const char *const files[] = {usual, slow_cpu};
    static float expected[2 * VALUES];
    static float found[2 * VALUES];
    iso_graph_t *graph = network();
    iso_device_map_t *map = NULL;
    iso_device_t *device = NULL;

    CU_ASSERT_EQUAL_FATAL(iso_device_open("ref", 1, &device), ISO_OK);
    run(device, graph, expected);
    iso_device_close(&device);
    for (int i = 0; i < 2; i++) {
        iso_machine_t *machine = machine_of(files[i]);

        CU_ASSERT_EQUAL_FATAL(
            iso_device_map_create("cost:throttled:2|cpu", &map), ISO_OK);
        iso_device_map_set_rank(map, iso_machine_rank(machine, 0));
        iso_machine_destroy(&machine);
        CU_ASSERT_EQUAL_FATAL(iso_device_open_map(map, 2, &device), ISO_OK);
        run(device, graph, found);
        CU_ASSERT(are_equal(expected, found, sizeof expected));
        iso_device_close(&device);
        iso_device_map_destroy(&map);
    }
    iso_graph_destroy(&graph);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"by figures", test_by_figures},
        {"from names", test_from_names},
        {"failures", test_failures},
        {"left out", test_left_out},
        {"out of memory", test_out_of_memory},
        {"bits", test_bits},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"device_map_cost", machine_path_make, machine_path_remove,
         test_remember_blocks, test_check_blocks, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
