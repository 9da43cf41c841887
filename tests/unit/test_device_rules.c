/*
 * Devices by a rule: what is not there, what has no steps, values of every
 * kind that cross, exchanges in any segment.
 */
#include "isotome/error.h"

#include "base/mem.h"
#include "device/device.h"
#include "iso_test.h"
#include "iso_test_graph.h"
#include "iso_test_memory.h"
#include "placed.h"
#include "programs.h"

#include <string.h>

/* ---- Outputs ---- */

static const float values[2][16] = {
    {1, -2, 3, -4, 5, -6, 7, -8, 9, -1, 2, -3, 4, -5, 6, -7},
    {-0.0F, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}};

/* Leaves and reshapes of them are where they were bound. */
static void test_nothing_to_compute(void)
{
    iso_graph_t *graph = graph_of("x = input f32[4,4]\n"
                                  "half = constant f32[1] 0.5\n"
                                  "flat = reshape(x) shape=d:16\n"
                                  "return x\n"
                                  "return half\n"
                                  "return flat\n");
    iso_graph_t *empty = test_graph();
    iso_device_t *device = open_device("a*=ref,b*=throttled,*=cpu");
    iso_program_t *program = program_of(device, graph);
    size_t bytes = 1;

    CU_ASSERT_EQUAL(iso_program_bind(program, "x", values[1]), ISO_OK);
    run(program);
    CU_ASSERT_PTR_EQUAL(iso_program_output(program, 0), values[1]);
    CU_ASSERT_EQUAL(*(const float *)iso_program_output(program, 1), 0.5F);
    CU_ASSERT_PTR_EQUAL(iso_program_output(program, 2), values[1]);
    CU_ASSERT_EQUAL(iso_program_buffer_bytes(device, graph, false, &bytes),
                    ISO_OK);
    CU_ASSERT_EQUAL(bytes, 0);
    iso_program_destroy(&program);
    program = program_of(device, empty);
    run(program);
    iso_program_destroy(&program);
    iso_device_close(&device);
    iso_graph_destroy(&empty);
    iso_graph_destroy(&graph);
}

static bool same_bytes(const void *a, const void *b, size_t bytes)
{
    return memcmp(a, b, bytes) == 0;
}

/* Leaves as outputs beside segments; a reshape of a leaf; one value twice. */
static void test_leaf_outputs(void)
{
    iso_graph_t *graph = graph_of("x = input f32[4,4]\n"
                                  "w = param f32[4,4]\n"
                                  "half = constant f32[1] 0.5\n"
                                  "flat = reshape(x) shape=d:16\n"
                                  "a = abs(x)\n"
                                  "b = neg(a)\n"
                                  "return x\n"
                                  "return w\n"
                                  "return half\n"
                                  "return flat\n"
                                  "return b\n");
    iso_device_t *device = open_device("a=ref,*=cpu");

    test_output(graph, "again", iso_graph_find(graph, "b"));
    iso_program_t *program = program_of(device, graph);

    for (int i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL(iso_program_bind(program, "x", values[i]), ISO_OK);
        CU_ASSERT_EQUAL(iso_program_bind(program, "w", values[1 - i]), ISO_OK);
        run(program);
        CU_ASSERT_PTR_EQUAL(iso_program_output(program, 0), values[i]);
        CU_ASSERT_PTR_EQUAL(iso_program_output(program, 1), values[1 - i]);
        CU_ASSERT_EQUAL(*(const float *)iso_program_output(program, 2), 0.5F);
        CU_ASSERT(same_bytes(iso_program_output(program, 3), values[i],
                             sizeof values[i]));
        CU_ASSERT_EQUAL(((const float *)iso_program_output(program, 4))[3],
                        -(values[i][3] < 0 ? -values[i][3] : values[i][3]));
        CU_ASSERT(same_bytes(iso_program_output(program, 4),
                             iso_program_output(program, 5), sizeof values[i]));
    }
    iso_program_destroy(&program);
    iso_device_close(&device);
    iso_graph_destroy(&graph);
}

/* Values of every width cross as themselves; one without elements, too. */
static void test_dtypes_cross(void)
{
    static const char text[] = "x = input f32[4]\n"
                               "y = input f32[4]\n"
                               "none = input f32[0,4]\n"
                               "less = less(x, y)\n"
                               "not = not(less)\n"
                               "wide = cast(x) to=t:i64\n"
                               "back = cast(wide) to=t:f32\n"
                               "empty = abs(none)\n"
                               "still = neg(empty)\n"
                               "return not\n"
                               "return back\n"
                               "return still\n";
    static const float x[4] = {1.5F, -2.5F, 1e6F, 0.0F};
    static const float y[4] = {2.5F, -3.5F, 1e6F, 1.0F};
    iso_graph_t *graph = graph_of(text);
    iso_device_t *device = open_device("less=ref,wide=ref,empty=ref,*=cpu");
    iso_program_t *program = program_of(device, graph);

    CU_ASSERT_EQUAL(iso_program_bind(program, "x", x), ISO_OK);
    CU_ASSERT_EQUAL(iso_program_bind(program, "y", y), ISO_OK);
    CU_ASSERT_EQUAL(iso_program_bind(program, "none", x), ISO_OK);
    run(program);
    const bool *not = iso_program_output(program, 0);
    const float *back = iso_program_output(program, 1);

    CU_ASSERT(!not [0] && not [1] && not [2] && !not [3]);
    CU_ASSERT(back[0] == 1 && back[1] == -2 && back[2] == 1e6F);
    iso_program_destroy(&program);
    iso_device_close(&device);
    iso_graph_destroy(&graph);
}

/* ---- Errors ---- */

static void expect_no_program(const char *rule, const char *text,
                              iso_status_t status, const char *message)
{
    const int64_t blocks = iso_mem_count().blocks;
    iso_graph_t *graph = graph_of(text);
    iso_device_t *device = open_device(rule);
    iso_program_t *program = NULL;
    size_t bytes = 1;

    CU_ASSERT_EQUAL(iso_program_create(device, graph, &own, &program), status);
    CU_ASSERT(test_failed_with(message));
    CU_ASSERT_PTR_NULL(program);
    CU_ASSERT_EQUAL(iso_program_buffer_bytes(device, graph, true, &bytes),
                    status);
    CU_ASSERT(test_failed_with(message));
    iso_device_close(&device);
    iso_graph_destroy(&graph);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, blocks);
}

static void test_no_program(void)
{
    expect_no_program("a=throttled,*=cpu", "x = input f32[2]\na = abs(x)\n",
                      ISO_UNSUPPORTED,
                      "node 'a': device 'throttled' does not compute abs in "
                      "f32 exactly");
    expect_no_program("b=cpu,c=ref", "x = input f32[2]\na = abs(x)\n",
                      ISO_INVAL, "node 'a' is placed nowhere");
    expect_no_program("a=cpu,b=ref",
                      "x = input f32[N]\na = abs(x)\nb = neg(a)\nreturn b\n",
                      ISO_SHAPE, "is not bound");
}

static void expect_no_device(const char *rule, int threads, iso_status_t status,
                             const char *message)
{
    const int64_t blocks = iso_mem_count().blocks;
    iso_device_t *device = NULL;

    CU_ASSERT_EQUAL(iso_device_open(rule, threads, &device), status);
    CU_ASSERT(test_failed_with(message));
    CU_ASSERT_PTR_NULL(device);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, blocks);
}

static void test_no_device(void)
{
    expect_no_device("conv*=tpu,*=cpu", 1, ISO_INVAL, "no device 'tpu'");
    expect_no_device("a=ref,*=cpu", 0, ISO_INVAL, "0 threads");
    expect_no_device("cuda99", 1, ISO_UNSUPPORTED,
                     "'*' has no other device; give one to fall back on: "
                     "'*=cuda99|cpu'");
    expect_no_device("a=cuda99|cpu,b=cuda99,*=cpu", 1, ISO_UNSUPPORTED,
                     "'b' has no other device");
    expect_no_device("cuda98|cuda99", 1, ISO_UNSUPPORTED,
                     "'*' has no other device");
    /* and why it is not */
    expect_no_device("cuda98|cuda99", 1, ISO_UNSUPPORTED, "device 'cuda99': ");
}

static void test_device_text(void)
{
    iso_device_t *device = open_device("a=ref,b=cuda99|throttled:2,*=cpu");
    const char *text = iso_device_text(device);

    CU_ASSERT_PTR_NOT_NULL(strstr(text, "ref, 1 thread + throttled to 2 Gf"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, " + cpu "));
    CU_ASSERT_PTR_NULL(strstr(text, "cuda"));
    iso_device_close(&device);
    /* longer than there is room for */
    device = open_device("a=throttled:1.00000001,b=throttled:1.00000002,"
                         "c=throttled:1.00000003,d=throttled:1.00000004,"
                         "e=throttled:1.00000005,f=throttled:1.00000006,"
                         "g=throttled:1.00000007,*=cpu");
    CU_ASSERT(strlen(iso_device_text(device)) < 512);
    iso_device_close(&device);
}

/* ---- Exchanges ---- */

typedef struct relay {
    iso_graph_t *graph;
    iso_node_id_t exchanges[3];
    iso_node_id_t rows;
} relay_t;

/* Picked rows [2,2], which may fail, an exchange, a negative, two more
 * exchanges, a sum. */
static relay_t relay_of(void)
{
    iso_graph_t *graph = graph_of("picks = input i64[2]\n"
                                  "table = param f32[3,2]\n"
                                  "rows = gather(table, picks)\n");
    relay_t relay = {.graph = graph, .rows = iso_graph_find(graph, "rows")};

    relay.exchanges[0] = add_exchange(graph, 5, relay.rows);
    const iso_node_id_t negative =
        test_unary(graph, "negative", ISO_OP_NEG, relay.exchanges[0]);

    relay.exchanges[1] = add_exchange(graph, 3, negative);
    relay.exchanges[2] = add_exchange(graph, 9, ISO_NO_NODE);
    test_output(graph, "y",
                test_binary(graph, "y", ISO_OP_ADD, relay.exchanges[1],
                            relay.exchanges[2]));
    return relay;
}

/* Each exchange hands its operand back, and one more; number 9 is 100. */
static void carry_out(const iso_pause_t *pause)
{
    float *moved = pause->output->data;

    for (int i = 0; i < 4; i++) {
        moved[i] = pause->input == NULL
                       ? 100
                       : ((const float *)pause->input->data)[i] + 1;
    }
}

static void go_on(iso_program_t *program, const relay_t *relay)
{
    iso_pause_t pause;

    for (int i = 0; i < 3; i++) {
        CU_ASSERT_EQUAL_FATAL(iso_program_advance(program, &pause), ISO_OK);
        CU_ASSERT_EQUAL(pause.node, relay->exchanges[i]);
        CU_ASSERT_EQUAL(pause.number, ((const int[]){5, 3, 9})[i]);
        CU_ASSERT_EQUAL(pause.input == NULL, i == 2);
        carry_out(&pause);
    }
    for (int i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL(iso_program_advance(program, &pause), ISO_OK);
        CU_ASSERT_EQUAL(pause.node, ISO_NO_NODE);
    }
}

static void test_exchanges(void)
{
    static const char *const rules[] = {
        "rows=cpu,negative=ref,*=cpu", "rows=ref,*=cpu",
        "rows=ref,negative=cpu,*=throttled", "*=cpu"};
    static const float table[6] = {1, 2, 3, 4, 5, 6};
    static const int64_t picks[2] = {2, 0};
    static const int64_t bad[2] = {2, 7};
    relay_t relay = relay_of();

    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        iso_device_t *device = open_device(rules[i]);
        iso_program_t *program = program_of(device, relay.graph);
        iso_pause_t pause;

        CU_ASSERT_EQUAL(iso_program_bind(program, "table", table), ISO_OK);
        for (int again = 0; again < 2; again++) {
            CU_ASSERT_EQUAL(iso_program_bind(program, "picks", picks), ISO_OK);
            CU_ASSERT_EQUAL(iso_program_begin(program), ISO_OK);
            CU_ASSERT_EQUAL(iso_program_advance(program, &pause), ISO_OK);
            CU_ASSERT_EQUAL(iso_program_begin(program), ISO_OK);
            go_on(program, &relay);
            /* -(table + 1) + 1 + 100 */
            const float *y = iso_program_output(program, 0);

            CU_ASSERT(y[0] == 95 && y[1] == 94 && y[2] == 99 && y[3] == 98);
            CU_ASSERT_EQUAL(iso_program_run(program), ISO_INVAL);
            CU_ASSERT(test_failed_with("exchange"));
            /* a worker that fails still comes to all exchanges */
            CU_ASSERT_EQUAL(iso_program_bind(program, "picks", bad), ISO_OK);
            CU_ASSERT_EQUAL(iso_program_begin(program), ISO_OK);
            CU_ASSERT_EQUAL(iso_program_advance(program, &pause), ISO_INPUT);
            CU_ASSERT(test_failed_with("'rows'"));
            iso_program_skip(program);
            go_on(program, &relay);
        }
        iso_program_destroy(&program);
        iso_device_close(&device);
    }
    iso_graph_destroy(&relay.graph);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"nothing to compute", test_nothing_to_compute},
        {"leaves as outputs", test_leaf_outputs},
        {"dtypes cross", test_dtypes_cross},
        {"no program", test_no_program},
        {"no device", test_no_device},
        {"what it is called", test_device_text},
        {"exchanges", test_exchanges},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"device_rules", NULL, NULL, test_remember_blocks, test_check_blocks,
         tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
