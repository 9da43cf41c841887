/*
 * A program of several devices: what is bound, weights, what stays after a
 * run, observers, memory.
 */
#include "isotome/error.h"

#include "base/mem.h"
#include "device/device.h"
#include "device/weight.h"
#include "iso_test.h"
#include "iso_test_graph.h"
#include "iso_test_memory.h"
#include "programs.h"

#include <stdlib.h>
#include <string.h>

/* ---- A small network, of three devices ---- */

/* w is read packed on "cpu" and plain on "ref"; x by the first and the last
 * segment. */
static const char net_text[] = "x = input f32[4,32]\n"
                               "y = input f32[32]\n"
                               "w = param f32[32,32]\n"
                               "half = constant f32[1] 0.5\n"
                               "fc1 = matmul(x, w)\n"
                               "act1 = relu(fc1)\n"
                               "fc2 = matmul(act1, w)\n"
                               "sum = add(fc2, y)\n"
                               "flat = reshape(sum) shape=d:128\n"
                               "gate = mul(flat, half)\n"
                               "back = reshape(gate) shape=d:4,32\n"
                               "last = add(back, x)\n"
                               "return last\n"
                               "return act1\n"
                               "return flat\n";
static const char net_rule[] = "fc1=cpu,act1=ref,fc2=ref,sum=throttled:1e5,"
                               "gate=ref,*=cpu";

enum { NET_OUTPUTS = 3, NET_ELEMENTS = 4 * 32, WIDTH = 32 };

static float x_values[2][NET_ELEMENTS];
static float y_values[WIDTH];
static float w_values[2][WIDTH * WIDTH];

static void fill_values(void)
{
    for (int i = 0; i < WIDTH * WIDTH; i++) {
        for (int k = 0; k < 2; k++) {
            x_values[k][i % NET_ELEMENTS] =
                0.3F * (float)((i * 7 + k) % 11) - 1.0F;
            w_values[k][i] = 0.7F * (float)((i * 5 + k) % 13) - 2.0F;
        }
        y_values[i % WIDTH] = 0.1F * (float)(i % 17);
    }
}

static void bind_net(iso_program_t *program, int inputs, int weights)
{
    CU_ASSERT_EQUAL(iso_program_bind(program, "x", x_values[inputs]), ISO_OK);
    CU_ASSERT_EQUAL(iso_program_bind(program, "y", y_values), ISO_OK);
    CU_ASSERT_EQUAL(iso_program_bind(program, "w", w_values[weights]), ISO_OK);
}

typedef struct net_outputs {
    float of[NET_OUTPUTS][NET_ELEMENTS];
} net_outputs_t;

static void take_outputs(const iso_program_t *program, net_outputs_t *outputs)
{
    for (int i = 0; i < NET_OUTPUTS; i++) {
        memcpy(outputs->of[i], iso_program_output(program, i),
               sizeof outputs->of[i]);
    }
}

static bool same_bytes(const void *a, const void *b, size_t bytes)
{
    return memcmp(a, b, bytes) == 0;
}

static void expect_outputs(const iso_program_t *program,
                           const net_outputs_t *expected)
{
    for (int i = 0; i < NET_OUTPUTS; i++) {
        CU_ASSERT(same_bytes(iso_program_output(program, i), expected->of[i],
                             sizeof expected->of[i]));
    }
}

static void run_on_ref(int inputs, int weights, net_outputs_t *outputs)
{
    iso_graph_t *graph = graph_of(net_text);
    iso_device_t *ref = open_device("ref");
    iso_program_t *program = program_of(ref, graph);

    bind_net(program, inputs, weights);
    run(program);
    take_outputs(program, outputs);
    iso_program_destroy(&program);
    iso_device_close(&ref);
    iso_graph_destroy(&graph);
}

/* ---- Bindings ---- */

static void test_unbound(void)
{
    iso_graph_t *graph = graph_of(net_text);
    iso_device_t *device = open_device(net_rule);
    iso_program_t *program = program_of(device, graph);

    CU_ASSERT_EQUAL(iso_program_run(program), ISO_INVAL);
    CU_ASSERT(test_failed_with("input 'x' is not bound"));
    CU_ASSERT_EQUAL(iso_program_bind(program, "x", x_values[0]), ISO_OK);
    CU_ASSERT_EQUAL(iso_program_run(program), ISO_INVAL);
    CU_ASSERT(test_failed_with("param 'w' is not bound"));
    CU_ASSERT_EQUAL(iso_program_bind(program, "w", w_values[0]), ISO_OK);
    CU_ASSERT_EQUAL(iso_program_run(program), ISO_INVAL);
    CU_ASSERT(test_failed_with("input 'y' is not bound"));
    CU_ASSERT_EQUAL(iso_program_bind(program, "y", y_values), ISO_OK);
    run(program);
    iso_program_destroy(&program);
    iso_device_close(&device);
    iso_graph_destroy(&graph);
}

/* Values that cross are inputs of segments, but nobody's to bind. */
static void test_bind_errors(void)
{
    static const char *const names[] = {"fc1",  "act1", "sum",
                                        "flat", "half", "nothing"};
    static _Alignas(8) char bytes[128];
    iso_graph_t *graph = graph_of(net_text);
    iso_device_t *device = open_device(net_rule);
    iso_program_t *program = program_of(device, graph);

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        CU_ASSERT_EQUAL(iso_program_bind(program, names[i], x_values[0]),
                        ISO_INVAL);
        CU_ASSERT(test_failed_with("no input or param"));
    }
    CU_ASSERT_EQUAL(iso_program_bind(program, "w", bytes + 2), ISO_INVAL);
    CU_ASSERT(test_failed_with("multiple of 4"));
    iso_program_destroy(&program);
    iso_device_close(&device);
    iso_graph_destroy(&graph);
}

static void test_leaves(void)
{
    iso_graph_t *graph = graph_of(net_text);
    iso_device_t *device = open_device(net_rule);
    iso_program_t *program = program_of(device, graph);
    const iso_node_id_t x = iso_graph_find(graph, "x");
    const iso_tensor_t *leaf = iso_program_leaf(program, x);

    CU_ASSERT_PTR_NULL(leaf->data);
    CU_ASSERT_EQUAL(leaf->rank, 2);
    bind_net(program, 1, 0);
    CU_ASSERT_PTR_EQUAL(iso_program_leaf(program, x)->data, x_values[1]);
    CU_ASSERT_PTR_EQUAL(
        iso_program_leaf(program, iso_graph_find(graph, "w"))->data,
        w_values[0]);
    iso_program_destroy(&program);
    iso_device_close(&device);
    iso_graph_destroy(&graph);
}

/* Other inputs, then other weights, then the first ones. */
static void test_bind_again(void)
{
    static const int bound[][2] = {{0, 0}, {1, 0}, {1, 1}, {0, 1}, {0, 0}};
    iso_graph_t *graph = graph_of(net_text);
    iso_device_t *device = open_device(net_rule);
    iso_program_t *program = program_of(device, graph);
    net_outputs_t expected = {0};

    for (size_t i = 0; i < sizeof bound / sizeof *bound; i++) {
        run_on_ref(bound[i][0], bound[i][1], &expected);
        bind_net(program, bound[i][0], bound[i][1]);
        run(program);
        expect_outputs(program, &expected);
    }
    iso_program_destroy(&program);
    iso_device_close(&device);
    iso_graph_destroy(&graph);
}

/* ---- Weights that two devices read ---- */

static void test_shared_weight(void)
{
    iso_graph_t *graph = graph_of(net_text);
    iso_device_t *device = open_device(net_rule);
    iso_program_t *program = program_of(device, graph);
    const iso_node_id_t w = iso_graph_find(graph, "w");
    const iso_tensor_t view = {
        .dtype = ISO_DTYPE_F32, .rank = 2, .dims = {WIDTH, WIDTH}};
    iso_weight_uses_t uses = {0};
    iso_weight_t *weight = NULL;
    net_outputs_t expected = {0};

    run_on_ref(0, 1, &expected);
    CU_ASSERT_EQUAL_FATAL(iso_program_uses(program, w, &uses), ISO_OK);
    CU_ASSERT_TRUE(uses.plain);
    CU_ASSERT_EQUAL(uses.n_specs, 1);
    CU_ASSERT_EQUAL_FATAL(iso_weight_create(device, &view, &uses, &weight),
                          ISO_OK);
    iso_weight_fill(weight, 0, WIDTH, w_values[1]);
    bind_net(program, 0, 0);
    iso_program_bind_weight(program, w, weight);
    CU_ASSERT_PTR_EQUAL(iso_program_leaf(program, w)->data,
                        iso_weight_plain(weight));
    run(program);
    expect_outputs(program, &expected);
    /* and plain again */
    run_on_ref(0, 0, &expected);
    bind_net(program, 0, 0);
    run(program);
    expect_outputs(program, &expected);
    iso_program_destroy(&program);
    iso_weight_destroy(&weight);
    iso_device_close(&device);
    iso_graph_destroy(&graph);
}

/* ---- Runs ---- */

static void test_run_allocates_nothing(void)
{
    iso_graph_t *graph = graph_of(net_text);
    iso_device_t *device =
        open_device("fc1=cpu,act1=throttled:1e5,fc2=cpu,sum=throttled:1e5|cpu,"
                    "*=cpu");
    iso_program_t *program = program_of(device, graph);

    bind_net(program, 0, 0);
    run(program); /* packs weights */

    const int64_t before = iso_mem_count().allocations;

    run(program);
    CU_ASSERT_EQUAL(iso_mem_count().allocations, before);
    iso_program_destroy(&program);
    iso_device_close(&device);
    iso_graph_destroy(&graph);
}

/* They are not where another program, or a segment, writes. */
static void test_outputs_stay(void)
{
    iso_graph_t *graph = graph_of(net_text);
    iso_device_t *device = open_device(net_rule);
    iso_program_t *first = program_of(device, graph);
    iso_program_t *second = program_of(device, graph);
    net_outputs_t expected = {0};

    run_on_ref(0, 0, &expected);
    bind_net(first, 0, 0);
    bind_net(second, 1, 1);
    run(first);
    run(second);
    expect_outputs(first, &expected);
    iso_program_destroy(&second);
    expect_outputs(first, &expected);
    iso_program_destroy(&first);
    iso_device_close(&device);
    iso_graph_destroy(&graph);
}

/* ---- All on one device ---- */

static void test_one_device(void)
{
    static const char *const rules[] = {"*=ref", "cpu|ref", "none=cpu,*=ref",
                                        "ref,cpu", "cuda99|cpu"};
    iso_graph_t *graph = graph_of(net_text);
    net_outputs_t expected = {0};

    run_on_ref(0, 0, &expected);
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        iso_device_t *device = open_device(rules[i]);
        iso_device_t *plain = open_device(
            strstr(rules[i], "=ref") != NULL || i == 3 ? "ref" : "cpu");
        iso_program_t *program = program_of(device, graph);
        size_t bytes = 0;
        size_t plain_bytes = 1;

        CU_ASSERT_EQUAL(iso_program_buffer_bytes(device, graph, false, &bytes),
                        ISO_OK);
        CU_ASSERT_EQUAL(
            iso_program_buffer_bytes(plain, graph, false, &plain_bytes),
            ISO_OK);
        CU_ASSERT_EQUAL(bytes, plain_bytes);
        bind_net(program, 0, 0);
        run(program);
        expect_outputs(program, &expected);
        iso_program_destroy(&program);
        iso_device_close(&plain);
        iso_device_close(&device);
    }
    iso_graph_destroy(&graph);
}

/* ---- Observers ---- */

typedef struct seen {
    int count;
    int fails_at;
} seen_t;

static iso_status_t see(void *arg, iso_node_id_t node,
                        const iso_tensor_t *value)
{
    seen_t *seen = arg;

    (void)node;
    (void)value;
    return ++seen->count == seen->fails_at ? iso_fail(ISO_IO, "seen enough")
                                           : ISO_OK;
}

/* One that fails ends the run, in whichever segment; the next run is whole. */
static void test_observer_fails(void)
{
    static const iso_program_options_t keeps = {.keeps_values = true};
    iso_graph_t *graph = graph_of(net_text);
    iso_device_t *device = open_device(net_rule);
    iso_program_t *program = NULL;
    net_outputs_t expected = {0};

    run_on_ref(0, 0, &expected);
    CU_ASSERT_EQUAL_FATAL(iso_program_create(device, graph, &keeps, &program),
                          ISO_OK);
    bind_net(program, 0, 0);
    for (int at = 1; at <= 7; at++) {
        seen_t seen = {.fails_at = at};

        iso_program_observe(program, see, &seen);
        CU_ASSERT_EQUAL(iso_program_run(program), at < 7 ? ISO_IO : ISO_OK);
        CU_ASSERT_EQUAL(seen.count, at < 7 ? at : 6);
    }
    expect_outputs(program, &expected);
    iso_program_destroy(&program);
    iso_device_close(&device);
    iso_graph_destroy(&graph);
}

/* ---- Memory ---- */

static void test_failed_allocations(void)
{
    const int64_t blocks = iso_mem_count().blocks;
    iso_graph_t *graph = graph_of(net_text);
    const int64_t with_graph = iso_mem_count().blocks;
    iso_status_t status = ISO_NOMEM;
    int failures = 0;

    for (int64_t n = 1; status == ISO_NOMEM && n < 2000; n++) {
        iso_device_t *device = NULL;
        iso_program_t *program = NULL;
        size_t bytes = 0;

        iso_mem_fail_at(n);
        status = iso_device_open(net_rule, 1, &device);
        if (status == ISO_OK) {
            status = iso_program_buffer_bytes(device, graph, false, &bytes);
        }
        if (status == ISO_OK) {
            status = iso_program_create(device, graph, &own, &program);
        }
        iso_mem_fail_at(0);
        failures += status == ISO_NOMEM ? 1 : 0;
        iso_program_destroy(&program);
        iso_device_close(&device);
        CU_ASSERT_EQUAL(iso_mem_count().blocks, with_graph);
    }
    CU_ASSERT_EQUAL(status, ISO_OK);
    CU_ASSERT(failures > 100);
    iso_graph_destroy(&graph);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, blocks);
}

static void begin_test(void)
{
    fill_values();
    test_remember_blocks();
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"what is not bound", test_unbound},
        {"what cannot be bound", test_bind_errors},
        {"leaves", test_leaves},
        {"bound again", test_bind_again},
        {"a weight of two devices", test_shared_weight},
        {"running allocates nothing", test_run_allocates_nothing},
        {"outputs stay", test_outputs_stay},
        {"all on one device", test_one_device},
        {"an observer that fails", test_observer_fails},
        {"failed allocations", test_failed_allocations},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"device_mixed", NULL, NULL, begin_test, test_check_blocks, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
