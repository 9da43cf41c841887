/*
 * Programs of graphs with exchange nodes: pauses, observers, going on after a
 * failure. The test itself plays the other workers.
 */
#include "isotome/error.h"

#include "base/mem.h"
#include "device/device.h"
#include "iso_test_graph.h"
#include "iso_test_memory.h"

#include <string.h>

static iso_device_t *open_device(const char *name)
{
    iso_device_t *device = NULL;

    CU_ASSERT_EQUAL_FATAL(iso_device_open(name, 1, &device), ISO_OK);
    return device;
}

static iso_program_t *program_of(iso_device_t *device, const iso_graph_t *graph)
{
    static const iso_program_options_t own = {.keeps_values = true};
    iso_program_t *program = NULL;

    CU_ASSERT_EQUAL_FATAL(iso_program_create(device, graph, &own, &program),
                          ISO_OK);
    return program;
}

/* x [4] i64 picks rows of table [5, 2]; the row values go through exchanges:
 *   rows -> exchange 7 [3, 2] -> flat (reshape) -> exchange 0 [0]
 *                                flat -> neg -> exchange 2 [2], no operand
 *   last = sqrt(exchange 2), out = neg; exchange 5 [] is read by nobody. */
typedef struct relay {
    iso_graph_t *graph;
    iso_node_id_t rows;
    iso_node_id_t exchanges[4];
    iso_node_id_t neg;
    iso_node_id_t last;
} relay_t;

static const int relay_numbers[4] = {7, 0, 2, 5};
static const int64_t relay_rows[4] = {4, 0, 2, 0};
static float relay_table[10];

static iso_node_id_t add_exchange(iso_graph_t *graph, int64_t number,
                                  iso_node_id_t x, const char *shape_text)
{
    const iso_shape_t shape = test_shape(shape_text);
    const iso_attr_t attrs[] = {
        {.name = "number",
         .kind = ISO_ATTR_INTS,
         .count = 1,
         .value.ints = &number},
        {.name = "dtype",
         .kind = ISO_ATTR_TEXT,
         .count = 1,
         .value.text = "f32"},
        {.name = "shape",
         .kind = ISO_ATTR_DIMS,
         .count = shape.rank,
         .value.dims = shape.dim},
    };
    const iso_node_spec_t spec = {.op = ISO_OP_EXCHANGE,
                                  .n_inputs = x == ISO_NO_NODE ? 0 : 1,
                                  .inputs = &x,
                                  .n_attrs = 3,
                                  .attrs = attrs};
    iso_node_id_t id = ISO_NO_NODE;

    CU_ASSERT_EQUAL_FATAL(iso_graph_add(graph, &spec, &id), ISO_OK);
    return id;
}

static relay_t relay_of(void)
{
    const iso_shape_t picks = test_shape("4");
    const iso_dim_t flat_dim = iso_dim_of(6);
    const iso_attr_t flat = {.name = "shape",
                             .kind = ISO_ATTR_DIMS,
                             .count = 1,
                             .value.dims = &flat_dim};
    iso_graph_t *graph = test_graph();
    relay_t relay = {.graph = graph};
    iso_node_id_t id = test_param(graph, "table", "5,2");
    iso_node_id_t x = ISO_NO_NODE;

    CU_ASSERT_EQUAL(iso_graph_add_input(graph, "x", ISO_DTYPE_I64, &picks, &x),
                    ISO_OK);
    relay.rows = test_binary(graph, "rows", ISO_OP_GATHER, id, x);
    id = add_exchange(graph, relay_numbers[0], relay.rows, "3,2");
    relay.exchanges[0] = id;
    id =
        test_node(graph, "flat", ISO_OP_RESHAPE,
                  (const iso_node_id_t[]){id, ISO_NO_NODE, ISO_NO_NODE}, &flat);
    relay.exchanges[1] = add_exchange(graph, relay_numbers[1], id, "0");
    relay.neg = test_unary(graph, "neg", ISO_OP_NEG, id);
    id = add_exchange(graph, relay_numbers[2], ISO_NO_NODE, "2");
    relay.exchanges[2] = id;
    relay.last = test_unary(graph, "last", ISO_OP_SQRT, id);
    relay.exchanges[3] = add_exchange(graph, relay_numbers[3], relay.rows, "");
    test_output(graph, "out", relay.neg);
    test_output(graph, "last", relay.last);
    for (int i = 0; i < 10; i++) {
        relay_table[i] = 0.5F * (float)i - 1;
    }
    return relay;
}

static iso_program_t *relay_program(iso_device_t *device, const relay_t *relay,
                                    const int64_t *picks)
{
    iso_program_t *program = program_of(device, relay->graph);

    CU_ASSERT_EQUAL(iso_program_bind(program, "table", relay_table), ISO_OK);
    CU_ASSERT_EQUAL(iso_program_bind(program, "x", picks), ISO_OK);
    return program;
}

/* What an observer saw; it gives up at the call number `fails_at`. */
typedef struct seen {
    int count;
    int fails_at;
    iso_node_id_t nodes[16];
    float first[16]; /* element of each value, if it has one */
} seen_t;

static iso_status_t see(void *arg, iso_node_id_t node,
                        const iso_tensor_t *value)
{
    seen_t *seen = arg;

    seen->nodes[seen->count] = node;
    seen->first[seen->count] =
        iso_tensor_count(value) > 0 ? *(const float *)value->data : 0;
    return ++seen->count == seen->fails_at ? iso_fail(ISO_IO, "seen enough")
                                           : ISO_OK;
}

/* As the others would: number n fills its value with n, n + 1, ... */
static void carry_out(const iso_pause_t *pause)
{
    float *values = pause->output->data;

    for (int64_t i = 0; i < iso_tensor_count(pause->output); i++) {
        values[i] = (float)(pause->number + i);
    }
}

/* From here to the end: every exchange from number `first` on, no failure. */
static void go_on(iso_program_t *program, const relay_t *relay, int first)
{
    iso_pause_t pause;

    for (int i = first; i < 4; i++) {
        CU_ASSERT_EQUAL_FATAL(iso_program_advance(program, &pause), ISO_OK);
        CU_ASSERT_EQUAL(pause.node, relay->exchanges[i]);
        CU_ASSERT_EQUAL(pause.number, relay_numbers[i]);
        CU_ASSERT_EQUAL(pause.input == NULL, i == 2);
        carry_out(&pause);
    }
    CU_ASSERT_EQUAL(iso_program_advance(program, &pause), ISO_OK);
    CU_ASSERT_EQUAL(pause.node, ISO_NO_NODE);
    CU_ASSERT_EQUAL(iso_program_advance(program, &pause), ISO_OK);
    CU_ASSERT_EQUAL(pause.node, ISO_NO_NODE);
}

static void test_pauses(void)
{
    relay_t relay = relay_of();
    iso_device_t *device = open_device("cpu");
    iso_program_t *program = relay_program(device, &relay, relay_rows);
    const iso_mem_count_t before = iso_mem_count();
    iso_pause_t pause;

    CU_ASSERT_EQUAL(iso_program_begin(program), ISO_OK);
    CU_ASSERT_EQUAL(iso_program_advance(program, &pause), ISO_OK);
    CU_ASSERT_EQUAL(iso_tensor_count(pause.input), 8);
    CU_ASSERT_EQUAL(((const float *)pause.input->data)[0], relay_table[8]);
    CU_ASSERT_EQUAL(pause.output->dims[0], 3);
    carry_out(&pause);
    CU_ASSERT_EQUAL(iso_program_advance(program, &pause), ISO_OK);
    /* The operand is a reshape of what came before. */
    CU_ASSERT_EQUAL(pause.input->rank, 1);
    CU_ASSERT_EQUAL(((const float *)pause.input->data)[5], 7 + 5);
    CU_ASSERT_EQUAL(iso_tensor_count(pause.output), 0);
    for (int run = 0; run < 3; run++) { /* begun again in the middle */
        CU_ASSERT_EQUAL(iso_program_begin(program), ISO_OK);
        go_on(program, &relay, 0);
        const float *out = iso_program_output(program, 0);
        const float *last = iso_program_output(program, 1);

        CU_ASSERT_EQUAL(out[0], -7);
        CU_ASSERT_EQUAL(out[5], -12);
        CU_ASSERT_DOUBLE_EQUAL(last[0], 1.4142135, 1e-6);
    }
    CU_ASSERT_EQUAL(iso_mem_count().allocations, before.allocations);
    CU_ASSERT_EQUAL(iso_program_run(program), ISO_INVAL);
    CU_ASSERT_TRUE(test_failed_with("exchange_"));
    iso_program_destroy(&program);
    iso_device_close(&device);
    iso_graph_destroy(&relay.graph);
}

static void test_observer(void)
{
    relay_t relay = relay_of();
    const iso_node_id_t order[] = {
        relay.rows,         relay.exchanges[0], relay.exchanges[1], relay.neg,
        relay.exchanges[2], relay.last,         relay.exchanges[3]};
    const float first[] = {0, 7, 0, -7, 2, 1.4142135F, 5};
    iso_device_t *device = open_device("ref");
    iso_program_t *program = relay_program(device, &relay, relay_rows);
    seen_t seen = {0};

    iso_program_observe(program, see, &seen);
    CU_ASSERT_EQUAL(iso_program_begin(program), ISO_OK);
    go_on(program, &relay, 0);
    CU_ASSERT_EQUAL(seen.count, 7);
    for (int i = 0; i < seen.count; i++) {
        CU_ASSERT_EQUAL(seen.nodes[i], order[i]);
        CU_ASSERT_DOUBLE_EQUAL(seen.first[i],
                               i == 0 ? relay_table[8] : first[i], 1e-6);
    }
    iso_program_observe(program, NULL, NULL);
    CU_ASSERT_EQUAL(iso_program_begin(program), ISO_OK);
    go_on(program, &relay, 0);
    CU_ASSERT_EQUAL(seen.count, 7);
    iso_program_destroy(&program);
    iso_device_close(&device);
    iso_graph_destroy(&relay.graph);
}

/* An observer that fails, at a computed node or behind an exchange. */
static void fail_to_observe(iso_program_t *program, const relay_t *relay,
                            int fails_at)
{
    seen_t seen = {.fails_at = fails_at};
    iso_pause_t pause;

    iso_program_observe(program, see, &seen);
    CU_ASSERT_EQUAL(iso_program_begin(program), ISO_OK);
    if (fails_at == 2) {
        CU_ASSERT_EQUAL(iso_program_advance(program, &pause), ISO_OK);
        carry_out(&pause);
    }
    CU_ASSERT_EQUAL(iso_program_advance(program, &pause), ISO_IO);
    iso_program_skip(program);
    go_on(program, relay, fails_at - 1);
    CU_ASSERT_EQUAL(seen.count, fails_at);
}

/* After a failure all exchanges that are left come, and nothing is computed;
 * then the program is as new. */
static void test_skip(void)
{
    static const int64_t bad_rows[4] = {4, 0, 99, 0};
    relay_t relay = relay_of();
    iso_device_t *device = open_device("cpu");
    iso_program_t *program = relay_program(device, &relay, bad_rows);
    seen_t seen = {0};
    iso_pause_t pause;

    iso_program_observe(program, see, &seen);
    CU_ASSERT_EQUAL(iso_program_begin(program), ISO_OK);
    CU_ASSERT_EQUAL(iso_program_advance(program, &pause), ISO_INPUT);
    CU_ASSERT_TRUE(test_failed_with("'rows'"));
    iso_program_skip(program);
    go_on(program, &relay, 0);
    CU_ASSERT_EQUAL(seen.count, 0);
    CU_ASSERT_EQUAL(iso_program_bind(program, "x", relay_rows), ISO_OK);
    fail_to_observe(program, &relay, 1);
    fail_to_observe(program, &relay, 2);
    iso_program_observe(program, see, &seen);
    /* Skipped from the start, as a rank does that could not read its rows:
     * the node that would fail is not computed. */
    CU_ASSERT_EQUAL(iso_program_bind(program, "x", bad_rows), ISO_OK);
    CU_ASSERT_EQUAL(iso_program_begin(program), ISO_OK);
    iso_program_skip(program);
    go_on(program, &relay, 0);
    CU_ASSERT_EQUAL(seen.count, 0);
    CU_ASSERT_EQUAL(iso_program_bind(program, "x", relay_rows), ISO_OK);
    CU_ASSERT_EQUAL(iso_program_begin(program), ISO_OK);
    go_on(program, &relay, 0);
    CU_ASSERT_EQUAL(seen.count, 7);
    iso_program_destroy(&program);
    iso_device_close(&device);
    iso_graph_destroy(&relay.graph);
}

/* A worker with nothing to do: no node, or exchanges without elements, and
 * no output. */
static void test_idle_worker(void)
{
    iso_device_t *device = open_device("cpu");

    for (int n_exchanges = 0; n_exchanges < 3; n_exchanges++) {
        iso_graph_t *graph = NULL;
        iso_pause_t pause;

        CU_ASSERT_EQUAL_FATAL(iso_graph_create(&graph), ISO_OK);
        for (int i = 0; i < n_exchanges; i++) {
            (void)add_exchange(graph, i, ISO_NO_NODE, "0,3");
        }
        iso_program_t *program = program_of(device, graph);

        CU_ASSERT_EQUAL(iso_program_begin(program), ISO_OK);
        for (int i = 0; i < n_exchanges; i++) {
            CU_ASSERT_EQUAL(iso_program_advance(program, &pause), ISO_OK);
            CU_ASSERT_EQUAL(pause.number, i);
            CU_ASSERT_PTR_NULL(pause.input);
            CU_ASSERT_EQUAL(iso_tensor_count(pause.output), 0);
        }
        CU_ASSERT_EQUAL(iso_program_advance(program, &pause), ISO_OK);
        CU_ASSERT_EQUAL(pause.node, ISO_NO_NODE);
        CU_ASSERT_EQUAL(iso_program_run(program),
                        n_exchanges == 0 ? ISO_OK : ISO_INVAL);
        iso_program_destroy(&program);
        iso_graph_destroy(&graph);
    }
    iso_device_close(&device);
}

/* Elements of 8 bytes want an address of 8; those of 4 do not. */
static void test_alignment(void)
{
    static _Alignas(64) char bytes[64];
    relay_t relay = relay_of();
    iso_device_t *device = open_device("cpu");
    iso_program_t *program = relay_program(device, &relay, relay_rows);

    CU_ASSERT_EQUAL(iso_program_bind(program, "x", bytes + 4), ISO_INVAL);
    CU_ASSERT_TRUE(test_failed_with("multiple of 8"));
    CU_ASSERT_EQUAL(iso_program_bind(program, "x", bytes + 8), ISO_OK);
    CU_ASSERT_EQUAL(iso_program_bind(program, "table", bytes + 4), ISO_OK);
    CU_ASSERT_EQUAL(iso_program_bind(program, "table", bytes + 2), ISO_INVAL);
    iso_program_destroy(&program);
    iso_device_close(&device);
    iso_graph_destroy(&relay.graph);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"pauses at exchanges", test_pauses},
        {"an observer", test_observer},
        {"skipping after a failure", test_skip},
        {"a worker with nothing to do", test_idle_worker},
        {"alignment of what is bound", test_alignment},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"device_exchange", NULL, NULL, test_remember_blocks, test_check_blocks,
         tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
