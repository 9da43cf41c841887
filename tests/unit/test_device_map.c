#include "isotome/device_map.h"
#include "isotome/error.h"

#include "base/mem.h"
#include "graph_text.h"
#include "iso_test.h"
#include "iso_test_graph.h"
#include "iso_test_memory.h"

#include <stdlib.h>
#include <string.h>

enum { LONG = 100000 };

static iso_graph_t *network(void)
{
    iso_graph_t *graph = test_graph();

    CU_ASSERT_EQUAL_FATAL(graph_text_add(graph,
                                         "x = input f32[2,4]\n"
                                         "w = param f32[4,4]\n"
                                         "half = constant f32[1] 0.5\n"
                                         "fc1 = matmul(x, w)\n"
                                         "act1 = relu(fc1)\n"
                                         "flat = reshape(act1) shape=d:4,2\n"
                                         "back = reshape(flat) shape=d:2,4\n"
                                         "fc2 = matmul(back, w)\n"
                                         "sum = add(fc2, half)\n"
                                         "gate = sigmoid(sum)\n"
                                         "return gate\n",
                                         NULL),
                          ISO_OK);
    return graph;
}

static iso_device_map_t *map_of(const char *rule)
{
    iso_device_map_t *map = NULL;

    CU_ASSERT_EQUAL_FATAL(iso_device_map_create(rule, &map), ISO_OK);
    return map;
}

/* "fc1=cpu act1=ref gate=cpu": where the nodes that have a device are. */
static void expect_placement(const iso_graph_t *graph,
                             const iso_device_map_t *map, const char *text)
{
    char found[1024] = "";
    iso_placement_t placement;

    CU_ASSERT_EQUAL_FATAL(iso_placement_create(graph, map, &placement), ISO_OK);
    CU_ASSERT_EQUAL(placement.n_nodes, iso_graph_node_count(graph));
    for (iso_node_id_t id = 0; id < placement.n_nodes; id++) {
        const int device = placement.device_of[id];
        const size_t length = strlen(found);

        if (device != ISO_NO_DEVICE) {
            (void)snprintf(found + length, sizeof found - length, "%s%s=%s",
                           length == 0 ? "" : " ",
                           iso_graph_node(graph, id)->name,
                           iso_device_map_device(map, device)->name);
        }
    }
    CU_ASSERT_STRING_EQUAL(found, text);
    if (strcmp(found, text) != 0) {
        (void)fprintf(stderr, "found '%s', expected '%s'\n", found, text);
    }
    iso_placement_free(&placement);
    CU_ASSERT_PTR_NULL(placement.device_of);
}

static void expect_places(const char *rule, const char *text)
{
    iso_graph_t *graph = network();
    iso_device_map_t *map = map_of(rule);

    expect_placement(graph, map, text);
    iso_device_map_destroy(&map);
    CU_ASSERT_PTR_NULL(map);
    iso_graph_destroy(&graph);
}

static void expect_no_map(const char *rule, const char *message)
{
    iso_device_map_t *map = NULL;

    CU_ASSERT_EQUAL(iso_device_map_create(rule, &map), ISO_INVAL);
    CU_ASSERT_PTR_NULL(map);
    CU_ASSERT(test_failed_with(message));
}

static void expect_no_placement(const iso_device_map_t *map,
                                iso_status_t status, const char *message)
{
    iso_graph_t *graph = network();
    iso_placement_t placement;

    CU_ASSERT_EQUAL(iso_placement_create(graph, map, &placement), status);
    CU_ASSERT_PTR_NULL(placement.device_of);
    CU_ASSERT(test_failed_with(message));
    iso_graph_destroy(&graph);
}

/* ---- Rules ---- */

static void test_one_device(void)
{
    expect_places("cpu", "fc1=cpu act1=cpu fc2=cpu sum=cpu gate=cpu");
    expect_places("*=ref", "fc1=ref act1=ref fc2=ref sum=ref gate=ref");
    expect_places("ref,cpu", "fc1=ref act1=ref fc2=ref sum=ref gate=ref");
}

/* The first pattern that matches counts. */
static void test_pattern_order(void)
{
    expect_places("fc1=ref,fc*=throttled,*=cpu",
                  "fc1=ref act1=cpu fc2=throttled sum=cpu gate=cpu");
    expect_places("fc*=throttled,fc1=ref,*=cpu",
                  "fc1=throttled act1=cpu fc2=throttled sum=cpu gate=cpu");
    expect_places("*=cpu,fc1=ref", "fc1=cpu act1=cpu fc2=cpu sum=cpu gate=cpu");
    expect_places("fc1=ref,cpu,*=ref",
                  "fc1=ref act1=cpu fc2=cpu sum=cpu gate=cpu");
}

static void test_patterns(void)
{
    expect_places("fc?=ref,*=cpu", "fc1=ref act1=cpu fc2=ref sum=cpu gate=cpu");
    expect_places("?\?\?=ref,*=cpu",
                  "fc1=ref act1=cpu fc2=ref sum=ref gate=cpu");
    expect_places("*1=ref,*=cpu", "fc1=ref act1=ref fc2=cpu sum=cpu gate=cpu");
    expect_places("*c*1=ref,*=cpu",
                  "fc1=ref act1=ref fc2=cpu sum=cpu gate=cpu");
    expect_places("*a*e*=ref,**=cpu",
                  "fc1=cpu act1=cpu fc2=cpu sum=cpu gate=ref");
    expect_places("fc=ref,fc1?=ref,c1=ref,F*=ref,*=cpu",
                  "fc1=cpu act1=cpu fc2=cpu sum=cpu gate=cpu");
    expect_places("*?ate*=ref,*?\?te?*=throttled,*=cpu",
                  "fc1=cpu act1=cpu fc2=cpu sum=cpu gate=ref");
}

/* Of several devices the first that does the node exactly. */
static void test_fall_back(void)
{
    expect_places("throttled|ref", "fc1=throttled act1=throttled fc2=throttled "
                                   "sum=throttled gate=ref");
    expect_places("gate=throttled|throttled:3|ref|cpu,*=cpu|throttled",
                  "fc1=cpu act1=cpu fc2=cpu sum=cpu gate=ref");
    expect_places("cpu|cpu|cpu|cpu|cpu|cpu|cpu|cpu",
                  "fc1=cpu act1=cpu fc2=cpu sum=cpu gate=cpu");
}

static void test_device_texts(void)
{
    iso_device_map_t *map =
        map_of("a=throttled,b=throttled:2.5,c=throttled:1e-3|cuda|cuda0,"
               "d=cuda1023|ref|cpu");

    CU_ASSERT_EQUAL_FATAL(iso_device_map_device_count(map), 8);
    for (int i = 0; i < 3; i++) {
        const iso_device_spec_t *spec = iso_device_map_device(map, i);

        CU_ASSERT_EQUAL(spec->type, ISO_DEVICE_THROTTLED);
        CU_ASSERT_DOUBLE_EQUAL(spec->flops_per_s,
                               ((const double[]){1e9, 2.5e9, 1e6})[i], 1e-3);
    }
    for (int i = 3; i < 6; i++) {
        const iso_device_spec_t *spec = iso_device_map_device(map, i);

        CU_ASSERT_EQUAL(spec->type, ISO_DEVICE_CUDA);
        CU_ASSERT_EQUAL(spec->ordinal, ((const int[]){-1, 0, 1023})[i - 3]);
    }
    CU_ASSERT_STRING_EQUAL(iso_device_map_device(map, 1)->name,
                           "throttled:2.5");
    CU_ASSERT_STRING_EQUAL(iso_device_map_device(map, 5)->name, "cuda1023");
    CU_ASSERT_EQUAL(iso_device_map_device(map, 6)->type, ISO_DEVICE_REF);
    CU_ASSERT_EQUAL(iso_device_map_device(map, 7)->type, ISO_DEVICE_CPU);
    iso_device_map_destroy(&map);
}

/* ---- Rules that cannot be read ---- */

static void test_bad_devices(void)
{
    static const struct {
        const char *rule;
        const char *message;
    } cases[] = {
        {"tpu", "no device 'tpu'; there are: ref, cpu, cuda, cudaN, throttled"},
        {"a*=ref,*=CPU", "no device 'CPU'"},
        {"*=cpu|", "no device ''"},
        {"*=|cpu", "no device ''"},
        {"*=cpu||ref", "no device ''"},
        {"*=cpu=ref", "no device 'cpu=ref'"},
        {"cpu ", "no device 'cpu '"},
        {"ref2", "no device 'ref2'"},
        {"throttledX", "no device 'throttledX'"},
        {"cudaX", "'cudaN': 'X' is not"},
        {"cuda-1", "'cudaN': '-1' is not"},
        {"cuda+1", "'cudaN': '+1' is not"},
        {"cuda 1", "'cudaN': ' 1' is not"},
        {"cuda1024", "'1024'"},
        {"cuda99999999", "'99999999'"},
        {"cuda99999999999999999999", "'99999999999999999999'"},
        {"throttled:", "'throttled:RATE': '' is not a finite number"},
        {"throttled:0", "'throttled:0': a rate of 0 Gflop/s, expected more"},
        {"throttled:-0", "expected more than 0"},
        {"throttled:-2", "a rate of -2 Gflop/s"},
        {"throttled:nan", "'nan' is not a finite number"},
        {"throttled:inf", "'inf' is not a finite number"},
        {"throttled:1e999", "'1e999' is not a finite number"},
        {"throttled:fast", "'fast' is not a finite number"},
        {"throttled:1:2", "'1:2' is not a finite number"},
        {"throttled:000000000000000000000000001", "no device 'throttled:0000"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        expect_no_map(cases[i].rule, cases[i].message);
    }
}

static void test_bad_patterns(void)
{
    expect_no_map("=cpu", "place '=cpu' has no pattern; '*' is for all nodes");
    expect_no_map("a=ref,=cpu", "place '=cpu' has no pattern");
    expect_no_map("=", "place '=' has no pattern");
    expect_no_map("a=", "no device ''");
    expect_no_map("==", "place '==' has no pattern");
}

static void test_too_many_devices(void)
{
    expect_no_map("a=cuda0|cuda1|cuda2|cuda3,b=cuda4|cuda5|cuda6|cuda7,c=cuda8",
                  "device 'cuda8' is one more than the 8 that there can be");
    expect_no_map("a=cuda0|cuda1|cuda2|cuda3|cuda4|cuda5|cuda6|cuda7|cuda8",
                  "pattern 'a' has more than 8 devices");
    expect_no_map("cpu|cpu|cpu|cpu|cpu|cpu|cpu|cpu|cpu",
                  "pattern '*' has more than 8 devices");
}

/* A text of one character, with an end. */
static char *repeated(char character, size_t count, const char *end)
{
    char *text = iso_alloc(count + strlen(end) + 1);

    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    memset(text, character, count);
    memcpy(text + count, end, strlen(end) + 1);
    return text;
}

static void test_hostile_texts(void)
{
    static const struct {
        char character;
        const char *end;
        const char *message;
    } cases[] = {{',', "", "no device ''"},    {'=', "", "place '==="},
                 {'|', "", "no device ''"},    {'a', "", "no device 'aaaa"},
                 {'a', "=tpu", "no device"},   {'1', ",cpu", "no device '1111"},
                 {'\xff', "", "no device '"},  {'%', "s", "no device '%%%%"},
                 {'0', "=cuda,x", "device 'x"}};

    expect_no_map("", "no device ''");
    expect_no_map(",", "no device ''");
    expect_no_map("cpu,", "no device ''");
    expect_no_map(",cpu", "no device ''");
    expect_no_map("*", "no device '*'");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = repeated(cases[i].character, LONG, cases[i].end);

        expect_no_map(text, cases[i].message);
        iso_free(text);
    }
}

/* Patterns that a careless search would be at for years. */
static void test_long_patterns(void)
{
    static const char *const ends[] = {"=ref,cpu", "t=ref,cpu", "?=ref,cpu",
                                       "*x=ref,cpu"};
    char *name = repeated('a', 3000, "");
    iso_graph_t *graph = test_graph();
    const iso_node_id_t x = test_input(graph, "x", "2,2");

    test_output(graph, "y", test_unary(graph, name, ISO_OP_RELU, x));
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char *rule = repeated('*', LONG, ends[i]);
        iso_placement_t placement;

        for (size_t k = 1; k < 4000; k += 2) {
            rule[k] = 'a';
        }
        iso_device_map_t *map = map_of(rule);

        CU_ASSERT_EQUAL(iso_placement_create(graph, map, &placement), ISO_OK);
        CU_ASSERT_EQUAL(placement.device_of[1], i == 0 || i == 2 ? 0 : 1);
        iso_placement_free(&placement);
        iso_device_map_destroy(&map);
        iso_free(rule);
    }
    iso_graph_destroy(&graph);
    iso_free(name);
}

/* As many clauses as there is text. */
static void test_many_clauses(void)
{
    static const char clause[] = {'z', '=', 'r', 'e', 'f', ','};
    char *rule = repeated('*', LONG * sizeof clause, "*=cpu");

    for (size_t i = 0; i < LONG; i++) {
        memcpy(rule + i * sizeof clause, clause, sizeof clause);
    }
    expect_places(rule, "fc1=cpu act1=cpu fc2=cpu sum=cpu gate=cpu");
    iso_free(rule);
}

/* ---- Nodes that have no place ---- */

static void test_no_match(void)
{
    iso_device_map_t *map = map_of("fc*=cpu,act?=ref");

    expect_no_placement(map, ISO_INVAL,
                        "node 'sum' is placed nowhere: no pattern matches it; "
                        "end the rule with '*=cpu'");
    iso_device_map_destroy(&map);
}

static void test_not_exact(void)
{
    iso_device_map_t *map = map_of("g*=throttled|throttled:2,*=cpu");

    expect_no_placement(map, ISO_UNSUPPORTED,
                        "node 'gate': device 'throttled', 'throttled:2' does "
                        "not compute sigmoid in f32 exactly; give one to fall "
                        "back on: 'g*=throttled|cpu'");
    iso_device_map_destroy(&map);
}

/* What the throttled device does is a part of what the others do. */
static void test_does(void)
{
    iso_graph_t *graph = network();
    iso_device_map_t *map = map_of("ref|cpu|throttled");

    for (iso_node_id_t id = 3; id < iso_graph_node_count(graph); id++) {
        const char *name = iso_graph_node(graph, id)->name;
        const bool is_done = strcmp(name, "gate") != 0 &&
                             iso_graph_node(graph, id)->op != ISO_OP_RESHAPE;

        CU_ASSERT(iso_device_does(iso_device_map_device(map, 0), graph, id));
        CU_ASSERT(iso_device_does(iso_device_map_device(map, 1), graph, id));
        CU_ASSERT_EQUAL(
            iso_device_does(iso_device_map_device(map, 2), graph, id), is_done);
    }
    iso_device_map_destroy(&map);
    iso_graph_destroy(&graph);
}

/* ---- By a function ---- */

/* The next number of a list for each node that it is asked about. */
typedef struct numbers {
    const int *next;
    int asked;
} numbers_t;

static int next_number(void *arg, const iso_graph_t *graph, iso_node_id_t node)
{
    numbers_t *numbers = arg;

    CU_ASSERT_FALSE(iso_node_is_leaf(iso_graph_node(graph, node)));
    CU_ASSERT_NOT_EQUAL(iso_graph_node(graph, node)->op, ISO_OP_RESHAPE);
    numbers->asked++;
    return *numbers->next++;
}

static iso_device_map_t *map_from(numbers_t *numbers, const int *list)
{
    static const char *const devices[] = {"cpu", "throttled", "ref"};
    iso_device_map_t *map = NULL;

    *numbers = (numbers_t){.next = list};
    CU_ASSERT_EQUAL_FATAL(
        iso_device_map_create_from(devices, 3, next_number, numbers, &map),
        ISO_OK);
    return map;
}

static void test_function(void)
{
    iso_graph_t *graph = network();
    numbers_t numbers;
    iso_device_map_t *map = map_from(&numbers, (const int[]){2, 1, 0, 1, 2});

    CU_ASSERT_EQUAL(iso_device_map_device_count(map), 3);
    expect_placement(graph, map,
                     "fc1=ref act1=throttled fc2=cpu sum=throttled gate=ref");
    CU_ASSERT_EQUAL(numbers.asked, 5);
    iso_device_map_destroy(&map);
    iso_graph_destroy(&graph);
}

static void test_function_errors(void)
{
    static const struct {
        int numbers[5];
        iso_status_t status;
        const char *message;
    } cases[] = {
        {{0, 3}, ISO_INVAL, "node 'act1' is placed on device number 3, expect"},
        {{-1}, ISO_INVAL, "node 'fc1' is placed on device number -1"},
        {{0, 0, 0, 0, 2000000000}, ISO_INVAL, "node 'gate' is placed on"},
        {{1, 1, 1, 1, 1}, ISO_UNSUPPORTED, "node 'gate': device 'throttled'"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        numbers_t numbers;
        iso_device_map_t *map = map_from(&numbers, cases[i].numbers);

        expect_no_placement(map, cases[i].status, cases[i].message);
        iso_device_map_destroy(&map);
    }
}

static void expect_no_devices(const char *const *devices, int n_devices,
                              const char *message)
{
    iso_device_map_t *map = NULL;

    CU_ASSERT_EQUAL(
        iso_device_map_create_from(devices, n_devices, next_number, NULL, &map),
        ISO_INVAL);
    CU_ASSERT_PTR_NULL(map);
    CU_ASSERT(test_failed_with(message));
}

static void test_function_devices(void)
{
    static const char *const twice[] = {"cpu", "ref", "cpu"};
    static const char *const unknown[] = {"cpu", "tpu"};
    static const char *const many[] = {"cuda0", "cuda1", "cuda2",
                                       "cuda3", "cuda4", "cuda5",
                                       "cuda6", "cuda7", "cuda8"};

    expect_no_devices(twice, 3, "device 'cpu' is named twice");
    expect_no_devices(unknown, 2, "no device 'tpu'");
    expect_no_devices(many, 9, "device 'cuda8' is one more than the 8");
    expect_no_devices(many, 0, "0 devices");
}

/* ---- Devices that are not there ---- */

static void test_leave_out(void)
{
    iso_graph_t *graph = network();
    iso_device_map_t *map = map_of("fc1=cuda|ref|cpu,act*=cpu|cuda,*=cuda|cpu");

    CU_ASSERT_EQUAL(iso_device_map_leave_out(map, 0), ISO_OK);
    expect_placement(graph, map, "fc1=ref act1=cpu fc2=cpu sum=cpu gate=cpu");
    CU_ASSERT_EQUAL(iso_device_map_leave_out(map, 1), ISO_OK);
    expect_placement(graph, map, "fc1=cpu act1=cpu fc2=cpu sum=cpu gate=cpu");
    CU_ASSERT_EQUAL(iso_device_map_device_count(map), 3);
    CU_ASSERT_EQUAL(iso_device_map_leave_out(map, 2), ISO_UNSUPPORTED);
    CU_ASSERT(test_failed_with("'fc1' has no other device"));
    iso_device_map_destroy(&map);
    iso_graph_destroy(&graph);
}

static void test_leave_out_errors(void)
{
    iso_device_map_t *map = map_of("fc*=cuda5,*=cuda5|cpu");
    numbers_t numbers;

    CU_ASSERT_EQUAL(iso_device_map_leave_out(map, 0), ISO_UNSUPPORTED);
    CU_ASSERT(test_failed_with("'fc*' has no other device; give one to fall "
                               "back on: 'fc*=cuda5|cpu'"));
    iso_device_map_destroy(&map);
    map = map_from(&numbers, NULL);
    CU_ASSERT_EQUAL(iso_device_map_leave_out(map, 1), ISO_UNSUPPORTED);
    CU_ASSERT(test_failed_with("the function that places nodes may name "
                               "'throttled'"));
    iso_device_map_destroy(&map);
    iso_device_map_destroy(&map);
}

static void test_out_of_memory(void)
{
    const int64_t blocks = iso_mem_count().blocks;
    iso_graph_t *graph = network();
    const int64_t with_graph = iso_mem_count().blocks;
    iso_status_t status = ISO_NOMEM;
    int failures = 0;

    for (int64_t n = 1; status == ISO_NOMEM && n < 100; n++) {
        iso_device_map_t *map = NULL;
        iso_placement_t placement = {0};

        iso_mem_fail_at(n);
        status = iso_device_map_create("fc*=ref,*=cpu", &map);
        status = status == ISO_OK ? iso_placement_create(graph, map, &placement)
                                  : status;
        iso_mem_fail_at(0);
        failures += status == ISO_NOMEM ? 1 : 0;
        iso_placement_free(&placement);
        iso_device_map_destroy(&map);
        CU_ASSERT_EQUAL(iso_mem_count().blocks, with_graph);
    }
    CU_ASSERT_EQUAL(status, ISO_OK);
    CU_ASSERT_EQUAL(failures, 4);
    iso_graph_destroy(&graph);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, blocks);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"one device", test_one_device},
        {"the order of patterns", test_pattern_order},
        {"patterns", test_patterns},
        {"falling back", test_fall_back},
        {"device texts", test_device_texts},
        {"bad devices", test_bad_devices},
        {"bad patterns", test_bad_patterns},
        {"too many devices", test_too_many_devices},
        {"hostile texts", test_hostile_texts},
        {"long patterns", test_long_patterns},
        {"many clauses", test_many_clauses},
        {"no pattern matches", test_no_match},
        {"no device is exact", test_not_exact},
        {"what devices do", test_does},
        {"by a function", test_function},
        {"errors of a function", test_function_errors},
        {"devices of a function", test_function_devices},
        {"leaving a device out", test_leave_out},
        {"nothing to fall back on", test_leave_out_errors},
        {"out of memory", test_out_of_memory},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"device_map", NULL, NULL, test_remember_blocks, test_check_blocks,
         tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
