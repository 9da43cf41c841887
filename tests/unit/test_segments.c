#include "isotome/error.h"

#include "base/mem.h"
#include "device/device.h"
#include "graph_text.h"
#include "iso_test.h"
#include "iso_test_graph.h"
#include "iso_test_memory.h"
#include "placed.h"
#include "plan/place/segments.h"

#include <stdlib.h>
#include <string.h>

static iso_graph_t *graph_of(const char *text)
{
    iso_graph_t *graph = test_graph();

    CU_ASSERT_EQUAL_FATAL(graph_text_add(graph, text, NULL), ISO_OK);
    return graph;
}

/* ---- Placements ---- */

/* "0110": devices of the nodes that have one, in their order. */
static iso_placement_t placement_of(const iso_graph_t *graph, const char *text)
{
    iso_placement_t placement = empty_placement(graph);

    for (iso_node_id_t id = 0; id < placement.n_nodes; id++) {
        if (has_device(iso_graph_node(graph, id))) {
            CU_ASSERT_NOT_EQUAL_FATAL(*text, '\0');
            placement.device_of[id] = *text++ - '0';
        }
    }
    CU_ASSERT_EQUAL(*text, '\0');
    return placement;
}

static iso_segments_t *segments_of(const iso_graph_t *graph,
                                   const char *devices)
{
    iso_placement_t placement = placement_of(graph, devices);
    iso_segments_t *segments = NULL;

    CU_ASSERT_EQUAL_FATAL(iso_segments_create(graph, &placement, &segments),
                          ISO_OK);
    iso_placement_free(&placement);
    return segments;
}

/* ---- What is expected ---- */

/* "0:a,b 1:c": the device of each segment, and what it computes. */
static void expect_segments(const iso_segments_t *segments, const char *text)
{
    char found[1024] = "";
    size_t length = 0;

    for (int s = 0; s < segments->count; s++) {
        const iso_graph_t *graph =
            iso_partition_stage(segments->partition, s)->graph;
        const char *before = ":";

        (void)snprintf(found + length, sizeof found - length, "%s%d",
                       s == 0 ? "" : " ", segments->device_of[s]);
        length = strlen(found);
        for (iso_node_id_t id = 0; id < iso_graph_node_count(graph); id++) {
            const iso_node_t *node = iso_graph_node(graph, id);

            if (!iso_node_is_leaf(node)) {
                (void)snprintf(found + length, sizeof found - length, "%s%s",
                               before, node->name);
                length = strlen(found);
                before = ",";
            }
        }
    }
    CU_ASSERT_STRING_EQUAL(found, text);
    if (strcmp(found, text) != 0) {
        (void)fprintf(stderr, "found '%s', expected '%s'\n", found, text);
    }
}

/* "a:0>1 b:0>2": what passes from segment to segment. */
static void expect_boundaries(const iso_segments_t *segments, const char *text)
{
    const iso_partition_t *partition = segments->partition;
    char found[1024] = "";

    for (int i = 0; i < iso_partition_boundary_count(partition); i++) {
        const iso_boundary_t *one = iso_partition_boundary(partition, i);
        const size_t length = strlen(found);

        (void)snprintf(found + length, sizeof found - length, "%s%s:%d>%d",
                       i == 0 ? "" : " ", one->name, one->from_stage,
                       one->to_stage);
    }
    CU_ASSERT_STRING_EQUAL(found, text);
    if (strcmp(found, text) != 0) {
        (void)fprintf(stderr, "found '%s', expected '%s'\n", found, text);
    }
}

static void expect_cut(const char *text, const char *devices,
                       const char *segments_text, const char *boundaries)
{
    iso_graph_t *graph = graph_of(text);
    iso_segments_t *segments = segments_of(graph, devices);

    expect_segments(segments, segments_text);
    expect_boundaries(segments, boundaries);
    iso_segments_destroy(&segments);
    CU_ASSERT_PTR_NULL(segments);
    iso_segments_destroy(&segments);
    iso_graph_destroy(&graph);
}

/* ---- x . w + b, then added to itself ---- */

static const char small_net[] = "x = input f32[2,3]\n"
                                "w = param f32[3,4]\n"
                                "b = param f32[2,4]\n"
                                "dot = matmul(x, w)\n"
                                "sum = add(dot, b)\n"
                                "twice = add(sum, sum)\n"
                                "return twice\n";

static void test_small_net(void)
{
    expect_cut(small_net, "000", "0:dot,sum,twice", "");
    expect_cut(small_net, "111", "1:dot,sum,twice", "");
    expect_cut(small_net, "001", "0:dot,sum 1:twice", "sum:0>1");
    expect_cut(small_net, "110", "1:dot,sum 0:twice", "sum:0>1");
    expect_cut(small_net, "010", "0:dot 1:sum 0:twice", "dot:0>1 sum:1>2");
}

static void run_small_net(const char *rule, float twice[8])
{
    static const iso_program_options_t own = {.buffer = NULL};
    float x[6];
    float w[12];
    float b[8];
    iso_graph_t *graph = graph_of(small_net);
    iso_device_t *device = NULL;
    iso_program_t *program = NULL;

    for (int i = 0; i < 12; i++) {
        x[i % 6] = 0.1F * (float)(i % 6);
        w[i] = 0.05F * (float)i - 0.3F;
        b[i % 8] = 0.1F;
    }
    CU_ASSERT_EQUAL_FATAL(iso_device_open(rule, 1, &device), ISO_OK);
    CU_ASSERT_EQUAL_FATAL(iso_program_create(device, graph, &own, &program),
                          ISO_OK);
    CU_ASSERT_EQUAL(iso_program_bind(program, "x", x), ISO_OK);
    CU_ASSERT_EQUAL(iso_program_bind(program, "w", w), ISO_OK);
    CU_ASSERT_EQUAL(iso_program_bind(program, "b", b), ISO_OK);
    CU_ASSERT_EQUAL_FATAL(iso_program_run(program), ISO_OK);
    memcpy(twice, iso_program_output(program, 0), 8 * sizeof *twice);
    iso_program_destroy(&program);
    iso_device_close(&device);
    iso_graph_destroy(&graph);
}

static bool same_bytes(const void *a, const void *b, size_t bytes)
{
    return memcmp(a, b, bytes) == 0;
}

static void test_small_net_bits(void)
{
    static const char *const rules[] = {
        "cpu",
        "*=ref",
        "twice=ref,*=cpu",
        "twice=cpu,*=ref",
        "sum=throttled,*=cpu",
        "sum=ref,twice=throttled:2,*=cpu",
        "throttled|cpu",
        "twice=cuda99|ref,*=cuda98|throttled|cpu",
    };
    float expected[8];
    float found[8];

    run_small_net("ref", expected);
    CU_ASSERT_DOUBLE_EQUAL(expected[0], 0.22, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(expected[7], 0.4, 1e-6);
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        run_small_net(rules[i], found);
        CU_ASSERT(same_bytes(expected, found, sizeof found));
    }
}

/* ---- Few segments ---- */

static void test_alternating_chain(void)
{
    static const char chain[] = "x = input f32[2,2]\n"
                                "a = relu(x)\n"
                                "b = abs(a)\n"
                                "c = neg(b)\n"
                                "d = relu(c)\n"
                                "e = abs(d)\n"
                                "f = neg(e)\n"
                                "return f\n";

    expect_cut(chain, "010101", "0:a 1:b 0:c 1:d 0:e 1:f",
               "a:0>1 b:1>2 c:2>3 d:3>4 e:4>5");
    expect_cut(chain, "012012", "0:a 1:b 2:c 0:d 1:e 2:f",
               "a:0>1 b:1>2 c:2>3 d:3>4 e:4>5");
    expect_cut(chain, "001112", "0:a,b 1:c,d,e 2:f", "b:0>1 e:1>2");
}

/* What stands in turns is not computed in turns. */
static void test_interleaved_branches(void)
{
    static const char branches[] = "x = input f32[2,2]\n"
                                   "a1 = relu(x)\n"
                                   "b1 = abs(x)\n"
                                   "a2 = neg(a1)\n"
                                   "b2 = neg(b1)\n"
                                   "a3 = abs(a2)\n"
                                   "b3 = relu(b2)\n"
                                   "join = add(a3, b3)\n"
                                   "return join\n";

    expect_cut(branches, "0101010", "1:b1,b2,b3 0:a1,a2,a3,join", "b3:0>1");
    expect_cut(branches, "0101011", "0:a1,a2,a3 1:b1,b2,b3,join", "a3:0>1");
    expect_cut(branches, "0101012", "0:a1,a2,a3 1:b1,b2,b3 2:join",
               "a3:0>2 b3:1>2");
    expect_cut(branches, "0102012", "0:a1,a2,a3 1:b1 2:b2 1:b3 2:join",
               "b1:1>2 b2:2>3 a3:0>4 b3:3>4");
}

/* A branch waits for its last operand, and then does everything. */
static void test_waiting_branch(void)
{
    expect_cut("x = input f32[2,2]\n"
               "a = relu(x)\n"
               "b = abs(a)\n"
               "free = neg(x)\n"
               "c = neg(b)\n"
               "d = add(c, free)\n"
               "return d\n",
               "01100", "0:a 1:b,free 0:c,d", "a:0>1 b:1>2 free:1>2");
}

/* ---- What opens no segment ---- */

static void test_leaves_at_borders(void)
{
    static const char net[] = "x = input f32[2,2]\n"
                              "half = constant f32[1] 0.5\n"
                              "p = param f32[2,2]\n"
                              "a = mul(x, half)\n"
                              "late = constant f32[1] 0.25\n"
                              "b = mul(a, late)\n"
                              "c = mul(b, half)\n"
                              "d = add(c, p)\n"
                              "e = add(d, p)\n"
                              "return e\n";
    iso_graph_t *graph = graph_of(net);
    iso_segments_t *segments = segments_of(graph, "00111");

    expect_segments(segments, "0:a,b 1:c,d,e");
    expect_boundaries(segments, "b:0>1");
    CU_ASSERT_EQUAL(iso_partition_tied_count(segments->partition), 0);
    iso_segments_destroy(&segments);
    segments = segments_of(graph, "01010");
    expect_segments(segments, "0:a 1:b 0:c 1:d 0:e");
    CU_ASSERT_EQUAL(iso_partition_tied_count(segments->partition), 1);
    iso_segments_destroy(&segments);
    iso_graph_destroy(&graph);
}

/* Reshapes are where their operand is, or before anything, where they are
 * wanted. */
static void test_reshapes_at_borders(void)
{
    static const char net[] = "x = input f32[2,4]\n"
                              "flat = reshape(x) shape=d:8\n"
                              "a = relu(flat)\n"
                              "wide = reshape(a) shape=d:4,2\n"
                              "t = transpose(wide) perm=i:1,0\n"
                              "s = slice(t) axes=i:1 starts=i:0 ends=i:2\n"
                              "b = neg(s)\n"
                              "last = reshape(b) shape=d:4\n"
                              "return last\n";

    expect_cut(net, "0000", "0:flat,a,wide,t,s,b,last", "");
    expect_cut(net, "1000", "1:flat,a,wide 0:t,s,b,last", "wide:0>1");
    expect_cut(net, "0110", "0:flat,a,wide 1:t,s 0:b,last", "wide:0>1 s:1>2");
    expect_cut(net, "0001", "0:flat,a,wide,t,s 1:b,last", "s:0>1");
}

static void test_only_reshapes(void)
{
    iso_graph_t *graph = graph_of("x = input f32[2,4]\n"
                                  "flat = reshape(x) shape=d:8\n"
                                  "wide = reshape(flat) shape=d:4,2\n"
                                  "return wide\n");
    iso_placement_t placement = placement_of(graph, "");
    iso_segments_t *segments = segments_of(graph, "");

    CU_ASSERT_EQUAL(iso_placement_single(&placement), ISO_NO_DEVICE);
    expect_segments(segments, "0:flat,wide");
    iso_segments_destroy(&segments);
    iso_placement_free(&placement);
    iso_graph_destroy(&graph);
}

static void test_single(void)
{
    iso_graph_t *graph = graph_of(small_net);
    static const struct {
        const char *devices;
        int single;
    } cases[] = {{"000", 0}, {"222", 2},  {"001", ISO_NO_DEVICE},
                 {"111", 1}, {"100", -1}, {"121", -1}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        iso_placement_t placement = placement_of(graph, cases[i].devices);

        CU_ASSERT_EQUAL(iso_placement_single(&placement), cases[i].single);
        iso_placement_free(&placement);
    }
    iso_graph_destroy(&graph);
}

/* ---- Outputs and boundaries ---- */

/* Several outputs, one that is read again, one twice, and leaves. */
static void test_outputs(void)
{
    static const char *const names[] = {"late",  "again", "early",
                                        "twice", "leaf",  "weight"};
    iso_graph_t *graph = graph_of("x = input f32[2,2]\n"
                                  "p = param f32[2,2]\n"
                                  "a = relu(x)\n"
                                  "b = abs(a)\n"
                                  "c = add(b, a)\n");

    test_output(graph, "late", iso_graph_find(graph, "c"));
    test_output(graph, "again", iso_graph_find(graph, "a"));
    test_output(graph, "early", iso_graph_find(graph, "b"));
    test_output(graph, "twice", iso_graph_find(graph, "c"));
    test_output(graph, "leaf", iso_graph_find(graph, "x"));
    test_output(graph, "weight", iso_graph_find(graph, "p"));
    iso_segments_t *segments = segments_of(graph, "010");

    expect_segments(segments, "0:a 1:b 0:c");
    expect_boundaries(segments, "a:0>1 a:0>2 b:1>2");
    CU_ASSERT_EQUAL_FATAL(iso_graph_output_count(segments->graph), 6);
    for (int i = 0; i < 6; i++) {
        const iso_output_t *found = iso_graph_output(segments->graph, i);
        const iso_output_t *expected = iso_graph_output(graph, i);

        CU_ASSERT_STRING_EQUAL(found->name, names[i]);
        CU_ASSERT_STRING_EQUAL(
            iso_graph_node(segments->graph, found->node)->name,
            iso_graph_node(graph, expected->node)->name);
        CU_ASSERT_EQUAL(iso_partition_output_stage(segments->partition, i),
                        ((const int[]){2, 0, 1, 2, 0, 0})[i]);
    }
    iso_segments_destroy(&segments);
    iso_graph_destroy(&graph);
}

/* One value to four segments: a boundary each, whatever number of readers
 * there are. */
static void test_many_readers(void)
{
    expect_cut("x = input f32[2,2]\n"
               "v = relu(x)\n"
               "a = abs(v)\n"
               "b = add(v, v)\n"
               "c = add(a, b)\n"
               "d = add(c, v)\n"
               "e = add(d, v)\n"
               "f = mul(e, v)\n"
               "return f\n",
               "0111023", "0:v 1:a,b,c 0:d 2:e 3:f",
               "v:0>1 v:0>2 c:1>2 v:0>3 d:2>3 v:0>4 e:3>4");
}

/* ---- Exchanges ---- */

/* A later exchange that could be done waits for an earlier one. */
static void test_exchanges_wait(void)
{
    iso_graph_t *graph = test_graph();
    const iso_node_id_t x = test_input(graph, "x", "2,2");
    const iso_node_id_t a = test_unary(graph, "a", ISO_OP_RELU, x);
    const iso_node_id_t b = test_unary(graph, "b", ISO_OP_ABS, a);

    (void)add_exchange(graph, 0, b);
    const iso_node_id_t c = test_unary(graph, "c", ISO_OP_ABS, x);
    const iso_node_id_t moved = add_exchange(graph, 1, c);

    test_output(graph, "y", test_unary(graph, "d", ISO_OP_NEG, moved));
    iso_segments_t *segments = segments_of(graph, "0100");

    expect_segments(segments, "0:a,c 1:b,exchange_0,exchange_1 0:d");
    expect_boundaries(segments, "a:0>1 c:0>1 exchange_1:1>2");
    iso_segments_destroy(&segments);
    segments = segments_of(graph, "0011");
    expect_segments(segments, "0:a,b,exchange_0 1:c,exchange_1,d");
    expect_boundaries(segments, "");
    iso_segments_destroy(&segments);
    iso_graph_destroy(&graph);
}

/* ---- Failures ---- */

static void test_unbound_dim(void)
{
    iso_graph_t *graph = graph_of("x = input f32[N,2]\n"
                                  "a = relu(x)\n"
                                  "b = abs(a)\n"
                                  "return b\n");
    iso_placement_t placement = placement_of(graph, "01");
    iso_segments_t *segments = NULL;

    CU_ASSERT_EQUAL(iso_segments_create(graph, &placement, &segments),
                    ISO_SHAPE);
    CU_ASSERT(test_failed_with("is not bound"));
    CU_ASSERT_PTR_NULL(segments);
    iso_placement_free(&placement);
    iso_graph_destroy(&graph);
}

static void test_out_of_memory(void)
{
    iso_graph_t *graph = graph_of(small_net);
    iso_placement_t placement = placement_of(graph, "010");
    const int64_t blocks = iso_mem_count().blocks;
    iso_status_t status = ISO_NOMEM;
    int failures = 0;

    for (int64_t n = 1; status == ISO_NOMEM && n < 1000; n++) {
        iso_segments_t *segments = NULL;

        iso_mem_fail_at(n);
        status = iso_segments_create(graph, &placement, &segments);
        iso_mem_fail_at(0);
        failures += status == ISO_NOMEM ? 1 : 0;
        iso_segments_destroy(&segments);
        CU_ASSERT_EQUAL(iso_mem_count().blocks, blocks);
    }
    CU_ASSERT_EQUAL(status, ISO_OK);
    CU_ASSERT(failures > 10);
    iso_placement_free(&placement);
    iso_graph_destroy(&graph);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"a small network", test_small_net},
        {"its bits", test_small_net_bits},
        {"a chain in turns", test_alternating_chain},
        {"branches in turns", test_interleaved_branches},
        {"a branch that waits", test_waiting_branch},
        {"leaves at borders", test_leaves_at_borders},
        {"reshapes at borders", test_reshapes_at_borders},
        {"only reshapes", test_only_reshapes},
        {"a single device", test_single},
        {"outputs", test_outputs},
        {"many readers", test_many_readers},
        {"exchanges wait", test_exchanges_wait},
        {"an unbound dim", test_unbound_dim},
        {"out of memory", test_out_of_memory},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"segments", NULL, NULL, test_remember_blocks, test_check_blocks,
         tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
