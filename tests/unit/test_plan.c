#include "base/mem.h"
#include "iso_test_memory.h"
#include "plan/buffers.h"
#include "plan_model.h"

#include <math.h>
#include <stdbool.h>

static void expect_refused(const iso_graph_t *graph, iso_machine_t *machine,
                           const iso_plan_options_t *options, const char *text)
{
    iso_plan_t *plan = NULL;

    CU_ASSERT_EQUAL(iso_plan_create(graph, machine, options, &plan), ISO_INVAL);
    CU_ASSERT(test_failed_with(text));
    CU_ASSERT_PTR_NULL(plan);
    iso_plan_destroy(&plan);
}

static void expect_split(const iso_plan_t *plan, const char *text)
{
    char *found = iso_layer_split_text(iso_plan_split(plan));

    CU_ASSERT_PTR_NOT_NULL_FATAL(found);
    CU_ASSERT_STRING_EQUAL(found, text);
    iso_free(found);
}

/* -- decisions -- */

static void test_figures_of_stages(void)
{
    iso_graph_t *graph = make_model("N,64");
    iso_plan_options_t options = {
        .world = 3, .micro_batch = 16, .split_kind = ISO_SPLIT_EVEN};
    iso_plan_t *plan = make_plan(graph, &options);
    const size_t weight = (size_t)64 * 64 * 4;
    const size_t rows = (size_t)16 * 64 * 4;
    const iso_plan_part_t *last = iso_plan_part(plan, 0);
    const iso_plan_part_t *first = iso_plan_part(plan, 2);

    expect_split(plan, "2,2,2");
    CU_ASSERT_EQUAL(last->stage, 2);
    CU_ASSERT_EQUAL(first->stage, 0);
    CU_ASSERT_EQUAL(first->layers.start, 0);
    CU_ASSERT_EQUAL(last->layers.start, 4);
    CU_ASSERT_STRING_EQUAL(first->host, "host1");
    CU_ASSERT_EQUAL(first->weight_bytes, 2 * weight);
    CU_ASSERT_EQUAL(last->weight_bytes, 2 * weight);
    CU_ASSERT_EQUAL(first->flops, 2 * 2.0 * 16 * 64 * 64);
    CU_ASSERT_EQUAL(last->flops, 2 * 2.0 * 16 * 64 * 64 + 16 * 64);
    CU_ASSERT_EQUAL(first->activation_bytes, 2 * rows);
    CU_ASSERT(first->peak_bytes > first->weight_bytes +
                                      first->activation_bytes +
                                      first->buffer_bytes);
    CU_ASSERT(first->compute_s > 0.0);
    CU_ASSERT(first->send_s > 0.0);
    CU_ASSERT_EQUAL(last->send_s, 0.0);
    iso_plan_destroy(&plan);
    iso_graph_destroy(&graph);
}

static void test_bytes_of_messages(void)
{
    iso_graph_t *graph = make_model("N,64");
    iso_plan_options_t options = {
        .world = 3, .micro_batch = 16, .split_kind = ISO_SPLIT_EVEN};
    iso_plan_t *plan = make_plan(graph, &options);
    const size_t rows = (size_t)16 * 64 * 4;
    const iso_plan_part_t *last = iso_plan_part(plan, 0);
    const iso_plan_part_t *middle = iso_plan_part(plan, 1);
    const iso_plan_part_t *first = iso_plan_part(plan, 2);

    /* m1 goes on to stage 1, m0 over it to stage 2. */
    CU_ASSERT_EQUAL(first->send_bytes, 2 * rows);
    CU_ASSERT_EQUAL(first->receive_bytes, 0);
    CU_ASSERT_EQUAL(middle->receive_bytes, rows);
    /* m3, and the output m2 on its way to rank 0. */
    CU_ASSERT_EQUAL(middle->send_bytes, 2 * rows);
    CU_ASSERT_EQUAL(last->receive_bytes, 3 * rows);
    /* 2 messages of m1, 3 of m0, one buffer of rows of x. */
    CU_ASSERT_EQUAL(first->buffer_bytes, 5 * (rows + 128) + rows);
    CU_ASSERT_EQUAL(middle->buffer_bytes, 6 * (rows + 128));
    CU_ASSERT_EQUAL(last->buffer_bytes, 7 * (rows + 128));
    iso_plan_destroy(&plan);
    iso_graph_destroy(&graph);
}

static void test_transfers(void)
{
    static const struct {
        const char *name;
        int from_stage;
        int to_stage;
    } expected[] = {{"m1", 0, 1}, {"m0", 0, 2}, {"m2", 1, 2}, {"m3", 1, 2}};
    iso_graph_t *graph = make_model("N,64");
    iso_plan_options_t options = {
        .world = 3, .micro_batch = 16, .split_kind = ISO_SPLIT_EVEN};
    iso_plan_t *plan = make_plan(graph, &options);

    CU_ASSERT_EQUAL_FATAL(iso_plan_boundary_count(plan), 4);
    for (int i = 0; i < 4; i++) {
        const iso_boundary_t *found = iso_plan_boundary(plan, i);
        CU_ASSERT_STRING_EQUAL(found->name, expected[i].name);
        CU_ASSERT_EQUAL(found->from_stage, expected[i].from_stage);
        CU_ASSERT_EQUAL(found->to_stage, expected[i].to_stage);
        CU_ASSERT_EQUAL(found->shape.dim[0].size, 16);
    }
    iso_plan_destroy(&plan);
    iso_graph_destroy(&graph);
}

static void test_messages(void)
{
    CU_ASSERT_EQUAL(iso_message_bytes(0), 128);
    CU_ASSERT_EQUAL(iso_message_bytes(1), 128 + 64);
    CU_ASSERT_EQUAL(iso_message_bytes(64), 128 + 64);
    CU_ASSERT_EQUAL(iso_message_bytes(SIZE_MAX - 10), SIZE_MAX);
    CU_ASSERT_EQUAL(iso_message_bytes(SIZE_MAX / 64 * 64), SIZE_MAX);
    CU_ASSERT_EQUAL(iso_channel_slots(0, 1), 2);
    CU_ASSERT_EQUAL(iso_channel_slots(1, 4), 4);
    CU_ASSERT_EQUAL(iso_bytes_add(SIZE_MAX, 1), SIZE_MAX);
}

static void test_split_kinds(void)
{
    iso_graph_t *graph = make_model("N,64");
    iso_machine_t *machine = make_machine(2);
    iso_machine_rank_t rank = *iso_machine_rank(machine, 0);
    iso_layer_split_t split = {0};
    iso_plan_options_t options = {.world = 2, .split_kind = ISO_SPLIT_EXPLICIT};
    iso_plan_t *plan = NULL;

    CU_ASSERT_EQUAL_FATAL(iso_layer_split_parse("1,5", &split), ISO_OK);
    options.split = &split;
    plan = make_plan(graph, &options);
    expect_split(plan, "1,5");
    iso_plan_destroy(&plan);
    split.counts[0] = 2;
    expect_refused(graph, machine, &options,
                   "holds 7 layers, but the model has 6");
    options.world = 1;
    expect_refused(graph, machine, &options, "2 counts, expected 1");
    options.split = NULL;
    expect_refused(graph, machine, &options, "without counts");
    iso_layer_split_free(&split);

    rank.memory_bytes *= 3;
    CU_ASSERT_EQUAL(iso_machine_set_rank(machine, 0, &rank), ISO_OK);
    options = (iso_plan_options_t){.world = 2, .split_kind = ISO_SPLIT_MEMORY};
    CU_ASSERT_EQUAL_FATAL(iso_plan_create(graph, machine, &options, &plan),
                          ISO_OK);
    expect_split(plan, "4,2");
    iso_plan_destroy(&plan);
    iso_machine_destroy(&machine);
    iso_graph_destroy(&graph);
}

/* A rank three times as fast gets three quarters of the equal layers; without
 * the memory for more than two it gets two. */
static void test_balanced(void)
{
    iso_graph_t *graph = test_graph();
    iso_node_id_t at = test_input(graph, "x", "N,64");
    char name[16];
    char weight[16];

    for (int layer = 0; layer < 8; layer++) {
        (void)snprintf(name, sizeof name, "m%d", layer);
        (void)snprintf(weight, sizeof weight, "w%d", layer);
        at = add_dense(graph, name, weight, at, layer);
    }
    test_output(graph, "y", at);
    iso_machine_t *machine = make_machine(2);
    iso_machine_rank_t rank = *iso_machine_rank(machine, 0);
    iso_plan_options_t options = {.world = 2, .micro_batch = 4096};
    iso_plan_t *plan = NULL;

    rank.flops_per_s *= 3.0;
    rank.memory_bytes_per_s *= 3.0;
    CU_ASSERT_EQUAL(iso_machine_set_rank(machine, 0, &rank), ISO_OK);
    CU_ASSERT_EQUAL_FATAL(iso_plan_create(graph, machine, &options, &plan),
                          ISO_OK);
    expect_split(plan, "6,2");
    size_t scratch_bytes = iso_plan_part(plan, 0)->scratch_bytes;
    iso_plan_destroy(&plan);
    /* The process; two values of 1 MiB alive, four messages, the rows of x;
     * two weights and a half. */
    rank.memory_bytes = scratch_bytes + ((size_t)28 << 20) + ((size_t)7 << 20) +
                        (size_t)5 * 64 * 64 * 4 / 2;
    CU_ASSERT_EQUAL(iso_machine_set_rank(machine, 0, &rank), ISO_OK);
    CU_ASSERT_EQUAL_FATAL(iso_plan_create(graph, machine, &options, &plan),
                          ISO_OK);
    expect_split(plan, "2,6");
    iso_plan_destroy(&plan);
    rank.cost_class = ISO_COST_UNCALIBRATED;
    CU_ASSERT_EQUAL(iso_machine_set_rank(machine, 0, &rank), ISO_OK);
    expect_refused(graph, machine, &options, "rank 0 on host0 is uncalibrated");
    iso_machine_destroy(&machine);
    iso_graph_destroy(&graph);
}

static void test_does_not_fit(void)
{
    iso_graph_t *graph = make_model("N,64");
    iso_machine_t *machine = make_machine(2);
    iso_machine_rank_t rank = *iso_machine_rank(machine, 1);
    iso_plan_options_t options = {.world = 2, .split_kind = ISO_SPLIT_EVEN};

    rank.memory_bytes = 1000;
    CU_ASSERT_EQUAL(iso_machine_set_rank(machine, 1, &rank), ISO_OK);
    expect_refused(graph, machine, &options,
                   "the model does not fit: rank 1 on host0 would need");
    options.split_kind = ISO_SPLIT_BALANCED;
    expect_refused(graph, machine, &options, "does not fit on 2 ranks: rank 1");
    iso_machine_destroy(&machine);
    iso_graph_destroy(&graph);
}

static void test_more_ranks_than_layers(void)
{
    iso_graph_t *graph = make_model("N,64");
    iso_machine_t *machine = make_machine(9);
    iso_plan_options_t options = {.world = 9};
    iso_plan_t *plan = make_plan(graph, &options);

    CU_ASSERT_EQUAL(iso_plan_world(plan), 9);
    CU_ASSERT_EQUAL(iso_plan_used(plan), 6);
    CU_ASSERT_EQUAL(iso_plan_seconds(plan, 0), 0.0); /* samples not known */
    CU_ASSERT_EQUAL(iso_plan_bubble(plan, 0), 0.0);
    CU_ASSERT(iso_plan_seconds(plan, INT64_MAX) > 0.0);
    expect_split(plan, "1,1,1,1,1,1");
    char *text = iso_plan_text(plan);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(text, "ranks 6 to 8 stay idle: the model has only 6 layers"));
    iso_free(text);
    iso_plan_destroy(&plan);
    options.strict = true;
    expect_refused(graph, machine, &options,
                   "9 ranks for a model of 6 layers: at most 6");
    options.world = 0;
    expect_refused(graph, machine, &options, "0 ranks");
    options.world = 10;
    expect_refused(graph, machine, &options, "10 ranks, expected 1 to 9");
    options = (iso_plan_options_t){.world = 2, .samples = -1};
    expect_refused(graph, machine, &options, "-1 samples");
    iso_machine_destroy(&machine);
    iso_graph_destroy(&graph);
}

/* -- micro-batch -- */

static int64_t batch_chosen(const iso_graph_t *graph, int world,
                            int64_t samples)
{
    iso_plan_options_t options = {.world = world, .samples = samples};
    iso_plan_t *plan = make_plan(graph, &options);
    int64_t batch = iso_plan_micro_batch(plan);

    iso_plan_destroy(&plan);
    return batch;
}

static void test_micro_batch_chosen(void)
{
    iso_graph_t *small = make_model("N,64");
    /* Two values of 64 * 40000 floats alive: 20.5 MB for each sample. */
    iso_graph_t *large = test_graph();
    iso_node_id_t x = test_input(large, "x", "N,64,40000");
    iso_node_id_t a = test_unary(large, "a", ISO_OP_RELU, x);
    iso_node_id_t b = test_unary(large, "b", ISO_OP_RELU, a);

    iso_graph_set_layer(large, a, 0);
    iso_graph_set_layer(large, b, 1);
    test_output(large, "middle", a);
    test_output(large, "y", b);
    CU_ASSERT_EQUAL(batch_chosen(small, 1, 0), 64);
    CU_ASSERT_EQUAL(batch_chosen(small, 1, 10), 64);
    CU_ASSERT_EQUAL(batch_chosen(small, 4, 0), 64);
    CU_ASSERT_EQUAL(batch_chosen(small, 4, 1024), 64);
    CU_ASSERT_EQUAL(batch_chosen(small, 4, 1000), 64);
    CU_ASSERT_EQUAL(batch_chosen(small, 4, 960), 32);
    CU_ASSERT_EQUAL(batch_chosen(small, 4, 100), 4);
    CU_ASSERT_EQUAL(batch_chosen(small, 4, 3), 1);
    CU_ASSERT_EQUAL(batch_chosen(small, 4, INT64_MAX), 64);
    CU_ASSERT_EQUAL(batch_chosen(large, 1, 0), 2);
    iso_graph_destroy(&large);
    iso_graph_destroy(&small);
}

/* Three values pass the cut, each of 2^61 bytes less a quarter: a rank's four
 * times as many bytes of messages are more than a size_t counts. */
static void test_messages_beyond_size(void)
{
    iso_graph_t *graph = test_graph();
    iso_machine_t *machine = make_machine(2);
    iso_plan_options_t options = {.world = 2};
    iso_node_id_t x = test_input(graph, "x", "432345564227567616");
    iso_node_id_t a = test_unary(graph, "a", ISO_OP_RELU, x);
    iso_node_id_t b = test_unary(graph, "b", ISO_OP_ABS, x);
    iso_node_id_t c = test_unary(graph, "c", ISO_OP_NEG, x);
    iso_node_id_t ab = test_binary(graph, "ab", ISO_OP_ADD, a, b);
    iso_node_id_t abc = test_binary(graph, "abc", ISO_OP_ADD, ab, c);

    iso_graph_set_layer(graph, a, 0);
    iso_graph_set_layer(graph, b, 0);
    iso_graph_set_layer(graph, c, 0);
    iso_graph_set_layer(graph, ab, 1);
    iso_graph_set_layer(graph, abc, 1);
    test_output(graph, "y", abc);
    expect_refused(graph, machine, &options,
                   "would need 16 EiB (18446744073709551615 B)");
    iso_machine_destroy(&machine);
    iso_graph_destroy(&graph);
}

static void test_fixed_batch(void)
{
    iso_graph_t *graph = make_model("8,64");
    iso_machine_t *machine = make_machine(2);
    iso_plan_options_t options = {.world = 2};
    iso_plan_t *plan = make_plan(graph, &options);

    CU_ASSERT_EQUAL(iso_plan_micro_batch(plan), 1);
    CU_ASSERT_PTR_NULL(iso_plan_batch(plan));
    CU_ASSERT_EQUAL(iso_plan_boundary(plan, 0)->shape.dim[0].size, 8);
    iso_plan_destroy(&plan);
    options.micro_batch = 8;
    expect_refused(graph, machine, &options, "--free-batch");
    options.micro_batch = -1;
    expect_refused(graph, machine, &options, "micro-batch of -1");
    iso_machine_destroy(&machine);
    iso_graph_destroy(&graph);
}

static void test_free_dims(void)
{
    iso_graph_t *graph = make_model("B,64");
    iso_graph_t *two = test_graph();
    iso_machine_t *machine = make_machine(1);
    iso_plan_options_t options = {.world = 1, .micro_batch = 3};
    iso_plan_t *plan = make_plan(graph, &options);

    CU_ASSERT_STRING_EQUAL(iso_plan_batch(plan), "B");
    iso_plan_destroy(&plan);
    iso_node_id_t a =
        test_unary(two, "a", ISO_OP_RELU, test_input(two, "x", "N,T,4"));
    iso_graph_set_layer(two, a, 0);
    test_output(two, "y", a);
    expect_refused(two, machine, &options, "2 free dims (N, T)");
    iso_graph_set_layer(two, a, -1);
    expect_refused(two, machine, &options, "no layers");
    iso_machine_destroy(&machine);
    iso_graph_destroy(&two);
    iso_graph_destroy(&graph);
}

/* -- time -- */

/* Micro-batch by micro-batch: a stage takes one when it is free and the one
 * before has handed it on. */
static double simulate(const iso_plan_t *plan, int64_t batches)
{
    double free_s[16] = {0.0};
    double done_s = 0.0;

    for (int64_t batch = 0; batch < batches; batch++) {
        done_s = 0.0;
        for (int rank = iso_plan_used(plan) - 1; rank >= 0; rank--) {
            const iso_plan_part_t *stage = iso_plan_part(plan, rank);
            done_s =
                fmax(done_s, free_s[rank]) + stage->compute_s + stage->send_s;
            free_s[rank] = done_s;
        }
    }
    return done_s;
}

static void test_time_is_that_of_a_simulation(void)
{
    static const int64_t samples[] = {1, 15, 16, 17, 160, 1000};
    iso_graph_t *graph = make_model("N,64");

    for (int world = 1; world <= 6; world++) {
        iso_plan_options_t options = {
            .world = world, .micro_batch = 16, .samples = 1000};
        iso_plan_t *plan = make_plan(graph, &options);
        for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
            double expected_s = simulate(plan, (samples[i] + 15) / 16);
            CU_ASSERT_DOUBLE_EQUAL(iso_plan_seconds(plan, samples[i]),
                                   expected_s, 1e-9 * expected_s);
        }
        CU_ASSERT_EQUAL(iso_plan_seconds(plan, 0),
                        iso_plan_seconds(plan, 1000));
        double bubble = iso_plan_bubble(plan, 1);
        CU_ASSERT_DOUBLE_EQUAL(bubble, 1.0 - 1.0 / world, 1e-9);
        CU_ASSERT(iso_plan_bubble(plan, 1000) <= bubble + 1e-12);
        iso_plan_destroy(&plan);
    }
    iso_graph_destroy(&graph);
}

/* -- digest -- */

static uint64_t digest_of(const iso_graph_t *graph,
                          const iso_plan_options_t *options)
{
    iso_plan_t *plan = make_plan(graph, options);
    uint64_t digest = iso_plan_digest(plan);

    iso_plan_destroy(&plan);
    return digest;
}

static void test_digest_covers_decisions(void)
{
    iso_graph_t *graph = make_model("N,64");
    iso_graph_t *other = make_model("M,64");
    iso_layer_split_t split = {0};
    const iso_plan_options_t base = {
        .world = 2, .micro_batch = 16, .split_kind = ISO_SPLIT_EVEN};
    iso_plan_options_t changed = base;
    uint64_t digest = digest_of(graph, &base);

    changed.samples = 77;
    CU_ASSERT_EQUAL(digest_of(graph, &changed), digest);
    CU_ASSERT_NOT_EQUAL(digest_of(other, &base), digest);
    changed = base;
    changed.micro_batch = 17;
    CU_ASSERT_NOT_EQUAL(digest_of(graph, &changed), digest);
    changed = base;
    changed.world = 3;
    CU_ASSERT_NOT_EQUAL(digest_of(graph, &changed), digest);
    CU_ASSERT_EQUAL_FATAL(iso_layer_split_parse("3,3", &split), ISO_OK);
    changed = base;
    changed.split_kind = ISO_SPLIT_EXPLICIT;
    changed.split = &split;
    CU_ASSERT_EQUAL(digest_of(graph, &changed), digest);
    split.counts[0] = 2;
    split.counts[1] = 4;
    CU_ASSERT_NOT_EQUAL(digest_of(graph, &changed), digest);
    iso_layer_split_free(&split);
    iso_graph_destroy(&other);
    iso_graph_destroy(&graph);
}

/* -- text -- */

static void test_text(void)
{
    static const char *const parts[] = {
        "6 layers on 3 of 3 ranks, micro-batch 16\n",
        "split 2,2,2 (even), rank 0 holds the last layers; fingerprint ",
        "rank  stage  host   layers  weights  activations",
        "   0      2  host0     4-5   32 KiB        8 KiB",
        "   2      0  host1     0-1   32 KiB        8 KiB",
        " all                     6   80 KiB ",
        "100 samples in 7 micro-batches: ",
        "note: times are from default figures",
        "note: weight 'tied' is loaded by more than one stage",
        "note: 'm0' is sent directly from stage 0 to stage 2\n",
    };
    iso_graph_t *graph = make_model("N,64");
    iso_plan_options_t options = {.world = 3,
                                  .micro_batch = 16,
                                  .samples = 100,
                                  .split_kind = ISO_SPLIT_EVEN};
    iso_plan_t *plan = make_plan(graph, &options);
    char *text = iso_plan_text(plan);

    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        bool found = strstr(text, parts[i]) != NULL;
        CU_ASSERT(found);
        if (!found) {
            (void)fprintf(stderr, "no '%s' in\n%s\n", parts[i], text);
        }
    }
    iso_free(text);
    iso_plan_destroy(&plan);
    iso_graph_destroy(&graph);
}

/* -- memory -- */

static void test_out_of_memory(void)
{
    iso_graph_t *graph = make_model("N,64");
    iso_machine_t *machine = make_machine(3);
    iso_plan_options_t options = {.world = 3};
    int64_t blocks = iso_mem_count().blocks;
    iso_status_t status = ISO_NOMEM;
    int failures = 0;

    for (int64_t n = 1; status == ISO_NOMEM && n < 10000; n++) {
        iso_plan_t *plan = NULL;
        iso_mem_fail_at(n);
        status = iso_plan_create(graph, machine, &options, &plan);
        iso_mem_fail_at(0);
        failures += status == ISO_NOMEM ? 1 : 0;
        iso_plan_destroy(&plan);
        CU_ASSERT_EQUAL(iso_mem_count().blocks, blocks);
    }
    CU_ASSERT_EQUAL(status, ISO_OK);
    CU_ASSERT(failures > 50);
    iso_machine_destroy(&machine);
    iso_graph_destroy(&graph);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"figures of stages", test_figures_of_stages},
        {"bytes of messages", test_bytes_of_messages},
        {"transfers", test_transfers},
        {"messages", test_messages},
        {"split kinds", test_split_kinds},
        {"balanced", test_balanced},
        {"does not fit", test_does_not_fit},
        {"more ranks than layers", test_more_ranks_than_layers},
        {"micro-batch chosen", test_micro_batch_chosen},
        {"fixed batch", test_fixed_batch},
        {"messages beyond size", test_messages_beyond_size},
        {"free dims", test_free_dims},
        {"time is that of a simulation", test_time_is_that_of_a_simulation},
        {"digest covers decisions", test_digest_covers_decisions},
        {"text", test_text},
        {"out of memory", test_out_of_memory},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"plan", NULL, NULL, test_remember_blocks, test_check_blocks, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
