/* The memory plan with formats: copies, and nodes that are one step. */
#include "base/mem.h"
#include "iso_test.h"
#include "iso_test_call.h"
#include "iso_test_graph.h"
#include "plan/memory_plan.h"
#include "random_net.h"

#include <stdbool.h>
#include <stdio.h>

enum { SEED = 161803, NETS = 1500 };

static uint64_t random_state = SEED;

static void expect_error(iso_status_t found, iso_status_t expected,
                         const char *text)
{
    CU_ASSERT_EQUAL(found, expected);
    CU_ASSERT(test_failed_with(text));
}

/* -- playing -- */

/*
 * A run without arithmetic: a place in the buffer is filled line by line with
 * its number, and read by looking whether all of it is still there. The place
 * of what node id makes is id + 1, that of its copy is id + 1 + n_nodes.
 */
typedef struct play {
    const iso_graph_t *graph;
    const iso_formats_t *formats;
    const iso_memory_plan_t *plan;
    bool eager;      /* copies are made where a reshape reads them */
    bool *is_copied; /* (n_nodes) */
    int32_t *lines;  /* (total_bytes / 64) */
    bool is_intact;
} play_t;

static size_t lines_of(const play_t *play, iso_node_id_t id,
                       iso_format_t format)
{
    size_t bytes = 0;

    CU_ASSERT_EQUAL_FATAL(
        iso_format_bytes(iso_graph_node(play->graph, id), format, &bytes),
        ISO_OK);
    return bytes == 0 ? 1 : (bytes + 63) / 64;
}

/* The lines of node id's own value, or of its copy. */
static int32_t *own_lines(const play_t *play, iso_node_id_t id, bool is_copy,
                          size_t *count_out)
{
    const iso_memory_plan_t *plan = play->plan;
    const int64_t offset =
        is_copy ? plan->copy_offset_bytes[id] : plan->offset_bytes[id];
    const bool is_blocked =
        (play->formats->made[id] == ISO_FORMAT_BLOCKED) != is_copy;

    *count_out =
        lines_of(play, id, is_blocked ? ISO_FORMAT_BLOCKED : ISO_FORMAT_PLAIN);
    CU_ASSERT_FATAL(offset >= 0 && offset % 64 == 0);
    CU_ASSERT_FATAL((size_t)offset + *count_out * 64 <= plan->total_bytes);
    return play->lines + offset / 64;
}

static int32_t mark_of(const play_t *play, iso_node_id_t id, bool is_copy)
{
    return id + 1 + (is_copy ? play->plan->n_nodes : 0);
}

static void write_own(play_t *play, iso_node_id_t id, bool is_copy)
{
    size_t count = 0;
    int32_t *lines = own_lines(play, id, is_copy, &count);

    for (size_t i = 0; i < count; i++) {
        lines[i] = mark_of(play, id, is_copy);
    }
}

static void read_own(play_t *play, iso_node_id_t id, bool is_copy)
{
    size_t count = 0;
    const int32_t *lines = own_lines(play, id, is_copy, &count);

    for (size_t i = 0; i < count; i++) {
        play->is_intact =
            play->is_intact && lines[i] == mark_of(play, id, is_copy);
    }
}

/* Or a view, which is treated alike. */
static bool is_reshape(const play_t *play, iso_node_id_t id)
{
    return iso_graph_node(play->graph, id)->op == ISO_OP_RESHAPE ||
           play->formats->is_view[id];
}

/* Whose elements a reshape shows. */
static iso_node_id_t shown_by(const play_t *play, iso_node_id_t id)
{
    while (is_reshape(play, id)) {
        id = iso_graph_node(play->graph, id)->inputs[0];
    }
    return id;
}

/* The plain copy of what a node makes blocked. */
static void copy_own(play_t *play, iso_node_id_t id)
{
    if (!play->is_copied[id]) {
        CU_ASSERT(play->formats->has_copy[id]);
        read_own(play, id, false);
        write_own(play, id, true);
        play->is_copied[id] = true;
    }
}

static void read_plain(play_t *play, iso_node_id_t id)
{
    const iso_node_id_t owner = shown_by(play, id);

    CU_ASSERT_EQUAL(play->plan->alias[id], owner == id ? ISO_NO_NODE : owner);
    if (play->formats->made[owner] == ISO_FORMAT_BLOCKED) {
        copy_own(play, owner);
        read_own(play, owner, true);
    } else if (!iso_node_is_leaf(iso_graph_node(play->graph, owner))) {
        read_own(play, owner, false);
    }
}

static void read_blocked(play_t *play, iso_node_id_t id)
{
    if (play->formats->made[id] == ISO_FORMAT_BLOCKED) {
        read_own(play, id, false);
        return;
    }
    if (!play->is_copied[id]) {
        CU_ASSERT(play->formats->has_copy[id]);
        read_plain(play, id);
        write_own(play, id, true);
        play->is_copied[id] = true;
    }
    read_own(play, id, true);
}

static bool is_joined(const play_t *play, iso_node_id_t id)
{
    return play->formats->joined[id] != ISO_NO_NODE;
}

/* All that a node reads, but what its step makes itself. */
static void read_operands_of(play_t *play, iso_node_id_t id)
{
    const iso_node_t *node = iso_graph_node(play->graph, id);

    for (int i = 0; i < node->n_inputs; i++) {
        const iso_node_id_t operand = node->inputs[i];

        if (operand == ISO_NO_NODE) {
            continue;
        }
        if (is_joined(play, operand)) {
            CU_ASSERT_EQUAL(play->plan->offset_bytes[operand], ISO_MEMORY_NONE);
            CU_ASSERT_EQUAL(play->plan->alias[operand], ISO_NO_NODE);
        } else if (iso_formats_read(play->graph, play->formats, id, i) ==
                   ISO_FORMAT_PLAIN) {
            read_plain(play, operand);
        } else {
            read_blocked(play, operand);
        }
    }
}

/* The node whose step computes it. */
static iso_node_id_t step_of(const play_t *play, iso_node_id_t id)
{
    while (is_joined(play, id)) {
        id = play->formats->joined[id];
    }
    return id;
}

/* All that a step reads: of the node and of those joined with it. */
static void read_operands(play_t *play, iso_node_id_t last)
{
    for (iso_node_id_t id = 0; id <= last; id++) {
        if (step_of(play, id) == last) {
            read_operands_of(play, id);
        }
    }
}

static void play_step(play_t *play, iso_node_id_t id)
{
    read_operands(play, id);
    write_own(play, id, false);
    /* what it makes lies beside what it reads */
    read_operands(play, id);
    for (int i = 0; i < iso_graph_output_count(play->graph); i++) {
        const iso_node_id_t output = iso_graph_output(play->graph, i)->node;

        if (shown_by(play, output) == id &&
            play->formats->made[id] == ISO_FORMAT_BLOCKED) {
            copy_own(play, id);
        }
    }
}

static void play_all(play_t *play)
{
    const iso_graph_t *graph = play->graph;

    for (iso_node_id_t id = 0; id < play->plan->n_nodes; id++) {
        const iso_node_t *node = iso_graph_node(graph, id);

        if (is_reshape(play, id)) {
            const iso_node_id_t owner = shown_by(play, id);

            if (play->eager &&
                play->formats->made[owner] == ISO_FORMAT_BLOCKED) {
                copy_own(play, owner);
            }
        } else if (!iso_node_is_leaf(node) &&
                   play->formats->joined[id] == ISO_NO_NODE) {
            play_step(play, id);
        }
    }
    for (int i = 0; i < iso_graph_output_count(graph); i++) {
        read_plain(play, iso_graph_output(graph, i)->node);
    }
}

static bool is_played(const iso_graph_t *graph, const iso_formats_t *formats,
                      const iso_memory_plan_t *plan, bool eager)
{
    play_t play = {.graph = graph,
                   .formats = formats,
                   .plan = plan,
                   .eager = eager,
                   .is_copied = iso_alloc_zeroed((size_t)plan->n_nodes, 1),
                   .lines = iso_alloc_zeroed(plan->total_bytes / 64 + 1,
                                             sizeof *play.lines),
                   .is_intact = true};

    CU_ASSERT_PTR_NOT_NULL_FATAL(play.is_copied);
    CU_ASSERT_PTR_NOT_NULL_FATAL(play.lines);
    play_all(&play);
    iso_free(play.is_copied);
    iso_free(play.lines);
    return play.is_intact;
}

static void check_copies(const iso_formats_t *formats,
                         const iso_memory_plan_t *plan)
{
    for (iso_node_id_t id = 0; id < plan->n_nodes; id++) {
        CU_ASSERT_EQUAL(plan->copy_offset_bytes[id] != ISO_MEMORY_NONE,
                        formats->has_copy[id]);
    }
}

static void test_random_nets(void)
{
    int n_copies = 0;

    (void)printf("  seed %d\n", SEED);
    for (int trial = 0; trial < NETS; trial++) {
        iso_graph_t *graph = random_net(
            &random_state, (int)test_random_int(&random_state, 1, 60));
        iso_formats_t formats;
        iso_memory_plan_t plan;

        CU_ASSERT_EQUAL_FATAL(
            iso_formats_create(graph, trial % 4 != 0, &formats), ISO_OK);
        CU_ASSERT_EQUAL_FATAL(iso_memory_plan_create(graph, &formats, &plan),
                              ISO_OK);
        CU_ASSERT_EQUAL(iso_memory_plan_check(graph, &formats, &plan), ISO_OK);
        check_copies(&formats, &plan);
        CU_ASSERT(is_played(graph, &formats, &plan, trial % 2 == 0));
        for (iso_node_id_t id = 0; id < plan.n_nodes; id++) {
            n_copies += formats.has_copy[id] ? 1 : 0;
        }
        iso_memory_plan_free(&plan);
        iso_formats_free(&formats);
        iso_graph_destroy(&graph);
    }
    CU_ASSERT(n_copies > NETS);
}

/* Bytes by hand: x [1,16,4,4] through conv, relu, a reshape and a product. */
static void test_copy_of_blocked(void)
{
    const iso_dim_t size = iso_dim_of((int64_t)17 * 4 * 4);
    const iso_attr_t shape = {.name = "shape",
                              .kind = ISO_ATTR_DIMS,
                              .count = 1,
                              .value.dims = &size};
    iso_graph_t *graph = test_graph();
    const iso_node_id_t x = test_input(graph, "x", "1,16,4,4");
    const iso_node_id_t w = test_param(graph, "w", "17,16,1,1");
    const iso_node_id_t c = test_binary(graph, "c", ISO_OP_CONV, x, w);
    const iso_node_id_t a = test_unary(graph, "a", ISO_OP_ABS, c);
    const iso_node_id_t r =
        test_node(graph, "r", ISO_OP_RESHAPE,
                  (const iso_node_id_t[]){a, ISO_NO_NODE, ISO_NO_NODE}, &shape);
    const iso_node_id_t e = test_unary(graph, "e", ISO_OP_RELU, r);
    iso_formats_t formats;
    iso_memory_plan_t plan;
    size_t bytes = 0;

    test_output(graph, "out", e);
    CU_ASSERT_EQUAL_FATAL(iso_formats_create(graph, true, &formats), ISO_OK);
    CU_ASSERT_EQUAL(formats.made[a], ISO_FORMAT_BLOCKED);
    CU_ASSERT_EQUAL_FATAL(iso_memory_plan_create(graph, &formats, &plan),
                          ISO_OK);
    CU_ASSERT_EQUAL(plan.alias[r], a);
    CU_ASSERT_NOT_EQUAL(plan.copy_offset_bytes[a], ISO_MEMORY_NONE);
    CU_ASSERT_EQUAL(plan.offset_bytes[r], plan.copy_offset_bytes[a]);
    CU_ASSERT_EQUAL(plan.copy_offset_bytes[r], ISO_MEMORY_NONE);
    /* two values of 32 channels; the copy of 17 takes the place of the first
     * one, and the output lies beyond both */
    CU_ASSERT_EQUAL(plan.total_bytes, (size_t)(32 + 32 + 17) * 16 * 4);
    CU_ASSERT_EQUAL(iso_memory_plan_bytes(graph, &bytes), ISO_OK);
    CU_ASSERT_EQUAL(bytes, plan.total_bytes);

    const int64_t right = plan.copy_offset_bytes[a];

    plan.copy_offset_bytes[a] = plan.offset_bytes[a];
    plan.offset_bytes[r] = plan.copy_offset_bytes[a];
    expect_error(iso_memory_plan_check(graph, &formats, &plan), ISO_INTERNAL,
                 "'a' and the copy of 'a' overlap");
    plan.offset_bytes[r] = right;
    expect_error(iso_memory_plan_check(graph, &formats, &plan), ISO_INTERNAL,
                 "has offset");
    plan.copy_offset_bytes[a] = ISO_MEMORY_NONE;
    plan.offset_bytes[r] = ISO_MEMORY_NONE;
    expect_error(iso_memory_plan_check(graph, &formats, &plan), ISO_INTERNAL,
                 "the copy of 'a' has offset -1");
    iso_memory_plan_free(&plan);
    iso_formats_free(&formats);
    iso_graph_destroy(&graph);
}

/* The blocked copy of a reshape is made of the plain copy of its owner, as
 * late as it is read: until then the owner lives. */
static void test_copy_of_copy(void)
{
    static const int64_t dims[] = {1, 16, 2, 8};
    const iso_attr_t shape = {
        .name = "shape", .kind = ISO_ATTR_INTS, .count = 4, .value.ints = dims};
    iso_graph_t *graph = test_graph();
    const iso_node_id_t x = test_input(graph, "x", "1,16,4,4");
    const iso_node_id_t z = test_input(graph, "z", "1,16,2,8");
    const iso_node_id_t w = test_param(graph, "w", "16,16,1,1");
    const iso_node_id_t c = test_binary(graph, "c", ISO_OP_CONV, x, w);
    const iso_node_id_t a = test_unary(graph, "a", ISO_OP_ABS, c);
    const iso_node_id_t r =
        test_node(graph, "r", ISO_OP_RESHAPE,
                  (const iso_node_id_t[]){a, ISO_NO_NODE, ISO_NO_NODE}, &shape);
    iso_node_id_t d = test_binary(graph, "d", ISO_OP_CONV, z, w);
    iso_formats_t formats;
    iso_memory_plan_t plan;

    for (int i = 0; i < 5; i++) {
        d = test_unary(graph, NULL, ISO_OP_ABS, d);
    }
    test_output(graph, "out", test_binary(graph, "m", ISO_OP_MUL, d, r));
    CU_ASSERT_EQUAL_FATAL(iso_formats_create(graph, true, &formats), ISO_OK);
    CU_ASSERT(formats.has_copy[a] && formats.has_copy[r]);
    CU_ASSERT_EQUAL_FATAL(iso_memory_plan_create(graph, &formats, &plan),
                          ISO_OK);
    CU_ASSERT(is_played(graph, &formats, &plan, false));
    CU_ASSERT(is_played(graph, &formats, &plan, true));
    iso_memory_plan_free(&plan);
    iso_formats_free(&formats);
    iso_graph_destroy(&graph);
}

/* A joined sum has no place, and what it reads lives to the end of the step:
 * y = relu(matmul(x, w) + b), with b made between. */
static void test_joined(void)
{
    iso_graph_t *graph = test_graph();
    const iso_node_id_t x = test_input(graph, "x", "4,16");
    const iso_node_id_t w = test_param(graph, "w", "16,16");
    const iso_node_id_t h = test_unary(graph, "h", ISO_OP_ABS, x);
    const iso_node_id_t m = test_binary(graph, "m", ISO_OP_MATMUL, h, w);
    const iso_node_id_t b = test_unary(graph, "b", ISO_OP_EXP, x);
    const iso_node_id_t a = test_binary(graph, "a", ISO_OP_ADD, b, m);
    const iso_node_id_t y = test_unary(graph, "y", ISO_OP_RELU, a);
    iso_formats_t formats;
    iso_memory_plan_t plan;

    test_output(graph, "out", y);
    CU_ASSERT_EQUAL_FATAL(iso_formats_create(graph, true, &formats), ISO_OK);
    CU_ASSERT_EQUAL_FATAL(iso_memory_plan_create(graph, &formats, &plan),
                          ISO_OK);
    CU_ASSERT_EQUAL(plan.offset_bytes[m], ISO_MEMORY_NONE);
    CU_ASSERT_EQUAL(plan.offset_bytes[a], ISO_MEMORY_NONE);
    CU_ASSERT_NOT_EQUAL(plan.offset_bytes[h], plan.offset_bytes[b]);
    CU_ASSERT_NOT_EQUAL(plan.offset_bytes[y], plan.offset_bytes[b]);
    CU_ASSERT_NOT_EQUAL(plan.offset_bytes[y], plan.offset_bytes[h]);
    CU_ASSERT_EQUAL(plan.total_bytes, (size_t)3 * 4 * 16 * 4);
    plan.offset_bytes[m] = 0;
    expect_error(iso_memory_plan_check(graph, &formats, &plan), ISO_INTERNAL,
                 "'m' has offset 0");
    iso_memory_plan_free(&plan);
    iso_formats_free(&formats);
    iso_graph_destroy(&graph);
}

static void test_out_of_memory(void)
{
    iso_graph_t *graph = random_net(&random_state, 20);
    int64_t blocks = iso_mem_count().blocks;
    iso_status_t status = ISO_NOMEM;
    int failures = 0;

    for (int64_t n = 1; status == ISO_NOMEM && n < 100; n++) {
        size_t bytes = 0;
        iso_mem_fail_at(n);
        status = iso_memory_plan_bytes(graph, &bytes);
        iso_mem_fail_at(0);
        failures += status == ISO_NOMEM ? 1 : 0;
        CU_ASSERT_EQUAL(iso_mem_count().blocks, blocks);
    }
    CU_ASSERT_EQUAL(status, ISO_OK);
    CU_ASSERT(failures >= 20);
    iso_graph_destroy(&graph);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"random nets", test_random_nets},
        {"copy of blocked", test_copy_of_blocked},
        {"copy of copy", test_copy_of_copy},
        {"joined", test_joined},
        {"out of memory", test_out_of_memory},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"memory_formats", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
