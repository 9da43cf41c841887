/* Local graphs: which exchanges small stages need, and what each worker has. */
#include "base/mem.h"
#include "base/text.h"
#include "iso_lockstep.h"
#include "iso_test.h"
#include "iso_test_graph.h"
#include "local_checks.h"
#include "plan/shard/local.h"
#include "stage_samples.h"

#include <stdio.h>
#include <string.h>

/* -- known stages -- */

/* Frees text. */
static void expect_text(iso_text_t *text, const char *expected)
{
    const char *found = text->data == NULL ? "" : text->data;
    const bool same = strcmp(found, expected) == 0;

    CU_ASSERT_EQUAL(text->status, ISO_OK);
    CU_ASSERT(same);
    if (!same) {
        (void)fprintf(stderr, "'%s', expected '%s'\n", found, expected);
    }
    iso_text_free(text);
}

/* "scatter x, gather y": what the workers exchange. */
static void expect_exchanges(const local_workers_t *workers,
                             const char *expected)
{
    const iso_local_t *local = workers->locals[0];
    iso_text_t text = {0};

    for (int i = 0; i < local->n_exchanges; i++) {
        iso_text_add(&text, "%s%s %s", i > 0 ? ", " : "",
                     iso_exchange_kind_string(local->exchanges[i].kind),
                     local->exchanges[i].value);
    }
    expect_text(&text, expected);
}

/* "w[0 2:4], b": the weights of a worker. */
static void expect_weights(const local_workers_t *workers, int worker,
                           const char *expected)
{
    const iso_local_t *local = workers->locals[worker];
    iso_text_t text = {0};

    for (int i = 0; i < local->n_weights; i++) {
        iso_text_add(&text, "%s%s", i > 0 ? ", " : "", local->weights[i].node);
    }
    expect_text(&text, expected);
}

static void expect_to(const local_workers_t *workers, int number, int worker,
                      int64_t begin, int64_t end)
{
    const iso_layout_t *to = &workers->locals[0]->exchanges[number].to;

    CU_ASSERT_EQUAL_FATAL(to->kind, ISO_LAYOUT_SPLIT);
    CU_ASSERT_EQUAL(to->ranges[worker].begin, begin);
    CU_ASSERT_EQUAL(to->ranges[worker].end, end);
}

/* A stage and a cut to be changed; ends with end_case. */
typedef struct sample {
    int64_t blocks;
    iso_graph_t *stage;
    iso_stage_cut_t *cut;
    local_workers_t workers;
} sample_t;

static void begin_case(sample_t *sample, int n_workers, const char *text)
{
    *sample = (sample_t){.blocks = iso_mem_count().blocks};
    sample->stage = stage_of_text(text);
    sample->cut = stage_cut_one(sample->stage, n_workers);
}

static void run_case(sample_t *sample, const char *exchanges)
{
    CU_ASSERT_FATAL(
        local_workers_make(sample->stage, sample->cut, &sample->workers));
    expect_exchanges(&sample->workers, exchanges);
    local_check_stage(&sample->workers);
}

static void end_case(sample_t *sample)
{
    local_workers_free(&sample->workers);
    iso_stage_cut_destroy(&sample->cut);
    iso_graph_destroy(&sample->stage);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, sample->blocks);
}

#define NAMES(...)        \
    (const char *const[]) \
    {                     \
        __VA_ARGS__, NULL \
    }

static const char *const conv_chain = "x = input f32[8,4,8,6]\n"
                                      "u = param f32[4,4,3,3]\n"
                                      "v = param f32[6,4,3,3]\n"
                                      "w = param f32[4,6,1,1]\n"
                                      "a = conv(x, u) pads=i:1,1,1,1\n"
                                      "b = conv(a, v) pads=i:1,1,1,1\n"
                                      "c = conv(b, w)\n"
                                      "return c\n";

static void test_batch_chain(void)
{
    sample_t sample;

    begin_case(&sample, 4, conv_chain);
    stage_split_all(sample.cut, sample.stage, 0, NAMES("a", "b", "c"));
    run_case(&sample, "scatter x, gather c");
    expect_weights(&sample.workers, 3, "u, v, w");
    end_case(&sample);
}

/* An input that comes split, an output that stays so. */
static void test_batch_chain_kept(void)
{
    sample_t sample;

    begin_case(&sample, 3, conv_chain);
    stage_split_all(sample.cut, sample.stage, 0, NAMES("x", "a", "b", "c"));
    sample.cut->keep_outputs[0] = true;
    run_case(&sample, "");
    CU_ASSERT_EQUAL(iso_graph_output_count(sample.workers.locals[2]->graph), 1);
    end_case(&sample);
}

static void test_height_chain(void)
{
    sample_t sample;

    begin_case(&sample, 3, conv_chain);
    stage_split_all(sample.cut, sample.stage, 2, NAMES("a", "b", "c"));
    run_case(&sample, "scatter x, halo a, gather c");
    expect_to(&sample.workers, 0, 0, 0, 4);
    expect_to(&sample.workers, 0, 1, 2, 7);
    expect_to(&sample.workers, 0, 2, 5, 8);
    expect_to(&sample.workers, 1, 1, 2, 7);
    end_case(&sample);
}

static void test_channel_chain(void)
{
    sample_t sample;

    begin_case(&sample, 2, conv_chain);
    stage_split_all(sample.cut, sample.stage, 1, NAMES("a", "b", "c"));
    run_case(&sample, "broadcast x, all-gather a, all-gather b, gather c");
    expect_weights(&sample.workers, 0, "u[0 0:2], v[0 0:3], w[0 0:2]");
    expect_weights(&sample.workers, 1, "u[0 2:4], v[0 3:6], w[0 2:4]");
    end_case(&sample);
}

/* From rows to columns of the batch: everyone has something for everyone. */
static void test_all_to_all(void)
{
    sample_t sample;

    begin_case(&sample, 3,
               "x = input f32[6,9]\n"
               "a = relu(x)\n"
               "b = neg(a)\n"
               "return b\n");
    stage_split_all(sample.cut, sample.stage, 0, NAMES("a"));
    stage_split_all(sample.cut, sample.stage, 1, NAMES("b"));
    run_case(&sample, "scatter x, all-to-all a, gather b");
    end_case(&sample);
}

static const char *const residual = "x = input f32[4,6,5,5]\n"
                                    "u = param f32[6,6,3,3]\n"
                                    "v = param f32[6,6,3,3]\n"
                                    "a = conv(x, u) pads=i:1,1,1,1 "
                                    "activation=t:relu\n"
                                    "b = conv(a, v) pads=i:1,1,1,1\n"
                                    "s = add(b, x)\n"
                                    "y = relu(s)\n"
                                    "return y\n";

static void test_residual(void)
{
    sample_t sample;

    begin_case(&sample, 3, residual);
    stage_split_all(sample.cut, sample.stage, 0, NAMES("a", "b", "s", "y"));
    run_case(&sample, "scatter x, gather y");
    end_case(&sample);

    /* x is on all already: its channels are cut out. */
    begin_case(&sample, 3, residual);
    stage_split_all(sample.cut, sample.stage, 1, NAMES("a", "b", "s", "y"));
    run_case(&sample, "broadcast x, all-gather a, gather y");
    CU_ASSERT(iso_graph_find(sample.workers.locals[1]->graph, "x[1 2:4]") !=
              ISO_NO_NODE);
    end_case(&sample);

    /* The rows that x was scattered with a halo for hold those of the sum. */
    begin_case(&sample, 2, residual);
    stage_split_all(sample.cut, sample.stage, 2, NAMES("a", "b", "s", "y"));
    run_case(&sample, "scatter x, halo a, gather y");
    end_case(&sample);
}

static const char *const long_sum = "x = input f32[2,1500]\n"
                                    "w = param f32[1500,3]\n"
                                    "b = param f32[3]\n"
                                    "y = matmul(x, w, b) activation=t:tanh\n"
                                    "return y\n";

static void set_partial(sample_t *sample, const char *name,
                        const iso_range_t *ranges)
{
    const iso_node_cut_t partial = {ISO_CUT_PARTIAL, 0, ranges};

    CU_ASSERT_EQUAL(iso_stage_cut_set(sample->cut,
                                      iso_graph_find(sample->stage, name),
                                      &partial),
                    ISO_OK);
}

/* 6 blocks of 256, the last one short. */
static void test_partial(void)
{
    sample_t sample;

    begin_case(&sample, 3, long_sum);
    set_partial(&sample, "y", (const iso_range_t[]){{0, 2}, {2, 4}, {4, 6}});
    run_case(&sample, "scatter x, send y, send y");
    expect_weights(&sample.workers, 0, "b, w[0 0:512]");
    expect_weights(&sample.workers, 1, "w[0 512:1024]");
    expect_weights(&sample.workers, 2, "w[0 1024:1500]");
    end_case(&sample);

    /* 1:2 and 2:4 are two subtrees of worker 1; worker 0 has none. */
    begin_case(&sample, 4, long_sum);
    set_partial(&sample, "y",
                (const iso_range_t[]){{0, 0}, {0, 1}, {1, 4}, {4, 6}});
    run_case(&sample, "scatter x, send y, send y, send y, send y");
    expect_weights(&sample.workers, 0, "b");
    expect_weights(&sample.workers, 2, "w[0 256:512], w[0 512:1024]");
    end_case(&sample);

    /* All of it by one that is not worker 0. */
    begin_case(&sample, 2, long_sum);
    set_partial(&sample, "y", (const iso_range_t[]){{0, 0}, {0, 6}});
    run_case(&sample, "scatter x, send y");
    end_case(&sample);
}

static void test_on_all(void)
{
    sample_t sample;

    begin_case(&sample, 3,
               "x = input f32[6,5]\n"
               "a = relu(x)\n"
               "b = neg(a)\n"
               "c = softmax(b)\n"
               "y = add(c, a)\n"
               "return y\n"
               "return c\n");
    stage_set(sample.cut, sample.stage, "a", ISO_CUT_ALL);
    stage_split_all(sample.cut, sample.stage, 0, NAMES("b", "c"));
    stage_set(sample.cut, sample.stage, "y", ISO_CUT_ALL);
    run_case(&sample, "broadcast x, all-gather c");
    end_case(&sample);

    /* What stays on all is everyone's output. */
    begin_case(&sample, 2,
               "x = input f32[6,5]\n"
               "y = relu(x)\n"
               "return y\n");
    stage_set(sample.cut, sample.stage, "y", ISO_CUT_ALL);
    sample.cut->keep_outputs[0] = true;
    run_case(&sample, "broadcast x");
    CU_ASSERT_EQUAL(iso_graph_output_count(sample.workers.locals[1]->graph), 1);
    end_case(&sample);
}

/* Heads of attention: what projects is cut by columns, the rest by heads. */
static void test_heads(void)
{
    sample_t sample;

    begin_case(&sample, 2,
               "x = input f32[1,6,8]\n"
               "wq = param f32[8,8]\n"
               "wk = param f32[8,8]\n"
               "wo = param f32[8,8]\n"
               "q = matmul(x, wq)\n"
               "k = matmul(x, wk)\n"
               "qh = reshape(q) shape=d:1,6,4,2\n"
               "kh = reshape(k) shape=d:1,6,4,2\n"
               "qt = transpose(qh) perm=i:0,2,1,3\n"
               "kt = transpose(kh) perm=i:0,2,3,1\n"
               "s = matmul(qt, kt)\n"
               "p = softmax(s)\n"
               "c = matmul(p, qt)\n"
               "ct = transpose(c) perm=i:0,2,1,3\n"
               "cr = reshape(ct) shape=d:1,6,8\n"
               "y = matmul(cr, wo)\n"
               "return y\n");
    stage_split_all(sample.cut, sample.stage, 2,
                    NAMES("q", "k", "qh", "kh", "ct", "cr", "y"));
    stage_split_all(sample.cut, sample.stage, 1,
                    NAMES("qt", "kt", "s", "p", "c"));
    run_case(&sample, "broadcast x, all-gather cr, gather y");
    expect_weights(&sample.workers, 1, "wk[1 4:8], wo[1 4:8], wq[1 4:8]");
    end_case(&sample);
}

/* -- odd places -- */

static void test_more_local_workers_than_rows(void)
{
    sample_t sample;

    begin_case(&sample, 5,
               "x = input f32[2,3]\n"
               "w = param f32[2,3]\n"
               "y = add(x, w)\n"
               "return y\n");
    stage_split_all(sample.cut, sample.stage, 0, NAMES("y"));
    run_case(&sample, "scatter x, gather y");
    expect_weights(&sample.workers, 0, "w[0 0:1]");
    expect_weights(&sample.workers, 4, "");
    end_case(&sample);
}

static void test_scalars(void)
{
    sample_t sample;

    begin_case(&sample, 3,
               "x = input f32[4]\n"
               "s = input f32[]\n"
               "t = exp(s)\n"
               "y = mul(x, t)\n"
               "m = reduce_sum(y) keep_dims=i:0\n"
               "return y\n"
               "return m\n");
    stage_set(sample.cut, sample.stage, "t", ISO_CUT_ONE);
    stage_split(sample.cut, sample.stage, "y", 0, (const int64_t[]){0, 1, 4});
    run_case(&sample, "scatter x, broadcast t, gather y");
    end_case(&sample);

    begin_case(&sample, 3,
               "s = input f32[]\n"
               "y = exp(s)\n"
               "return y\n");
    stage_set(sample.cut, sample.stage, "y", ISO_CUT_ALL);
    run_case(&sample, "broadcast s");
    end_case(&sample);
}

/* Rows whose windows lie in the padding alone need nothing of x. */
static void test_only_padding(void)
{
    sample_t sample;

    begin_case(&sample, 4,
               "x = input f32[1,2,3,3]\n"
               "w = param f32[2,2,1,1]\n"
               "b = param f32[2]\n"
               "y = conv(x, w, b) pads=i:4,0,4,0\n"
               "return y\n");
    stage_split(sample.cut, sample.stage, "y", 2,
                (const int64_t[]){3, 6, 8, 11});
    run_case(&sample, "scatter x, gather y");
    expect_to(&sample.workers, 0, 1, 0, 2);
    end_case(&sample);
}

/* Leaves that leave, outputs twice, an input that nobody reads. */
static void test_leaf_outputs(void)
{
    sample_t sample;

    begin_case(&sample, 3,
               "x = input f32[6]\n"
               "z = input f32[6]\n"
               "w = param f32[6]\n"
               "k = constant f32[2] 3,4\n"
               "y = add(x, w)\n"
               "return w\n"
               "return k\n"
               "return x\n"
               "return y\n");
    CU_ASSERT_EQUAL(iso_graph_add_output(sample.stage, "again",
                                         iso_graph_find(sample.stage, "y")),
                    ISO_OK);
    iso_stage_cut_destroy(&sample.cut);
    sample.cut = stage_cut_one(sample.stage, 3);
    stage_split_all(sample.cut, sample.stage, 0, NAMES("x", "z", "y"));
    sample.cut->keep_outputs[0] = true; /* a weight has no home to stay at */
    sample.cut->keep_outputs[4] = true;
    run_case(&sample, "gather x, gather y");
    end_case(&sample);
}

/* The part of k that the last of two workers has. */
static void expect_constant(int axis, const int64_t *ends, const char *name,
                            const float expected[4])
{
    sample_t sample;
    const iso_graph_t *graph;
    iso_node_id_t part;

    begin_case(&sample, 2,
               "x = input f32[3,3]\n"
               "k = constant f32[3,3] 1,2,3,4,5,6,7,8,9\n"
               "y = add(x, k)\n"
               "return y\n");
    stage_split(sample.cut, sample.stage, "y", axis, ends);
    run_case(&sample, "scatter x, gather y");
    graph = sample.workers.locals[1]->graph;
    part = iso_graph_find(graph, name);
    CU_ASSERT_FATAL(part != ISO_NO_NODE);
    for (int i = 0; i < 4; i++) {
        CU_ASSERT_EQUAL(((const float *)iso_graph_node(graph, part)->data)[i],
                        expected[i]);
    }
    end_case(&sample);
}

/* Everyone has its part of the elements. */
static void test_constants(void)
{
    expect_constant(1, (const int64_t[]){1, 3}, "k[1 1:3]",
                    (const float[]){2, 3, 5, 6});
    expect_constant(0, (const int64_t[]){1, 3}, "k[0 1:3]",
                    (const float[]){4, 5, 6, 7});
}

/* Names that parts would have had. */
static void test_taken_names(void)
{
    sample_t sample;
    iso_graph_t *stage;
    iso_node_id_t x;
    iso_node_id_t a;

    begin_case(&sample, 2, "");
    stage = sample.stage;
    x = test_input(stage, "x", "4,2");
    a = test_binary(stage, "a", ISO_OP_ADD, x, test_param(stage, "w", "4,2"));
    a = test_binary(stage, "b", ISO_OP_MUL, a,
                    test_param(stage, "w[0 0:2]", "4,2"));
    a = test_unary(stage, "x>0", ISO_OP_NEG, a);
    a = test_unary(stage, "x[0 0:2]", ISO_OP_EXP, a);
    a = test_binary(stage, "x>0.2", ISO_OP_SUB, a, x);
    test_output(stage, "y", a);
    iso_stage_cut_destroy(&sample.cut);
    sample.cut = stage_cut_one(stage, 2);
    stage_split_all(sample.cut, stage, 0, NAMES("a", "b", "x[0 0:2]", "x>0.2"));
    stage_set(sample.cut, stage, "x>0", ISO_CUT_ALL);
    run_case(&sample, "scatter x, all-gather b, gather x>0.2");
    expect_weights(&sample.workers, 0, "w[0 0:2].2, w[0 0:2][0 0:2]");
    CU_ASSERT(iso_graph_find(sample.workers.locals[0]->graph, "x>0.3") !=
              ISO_NO_NODE);
    end_case(&sample);
}

/* A value that two readers need in two ways, a third in one of them. */
static void test_versions(void)
{
    sample_t sample;

    begin_case(&sample, 2,
               "x = input f32[4,6]\n"
               "a = relu(x)\n"
               "b = softmax(a) axis=i:0\n"
               "c = softmax(a) axis=i:1\n"
               "d = neg(a)\n"
               "e = exp(a)\n"
               "return b\n"
               "return c\n"
               "return d\n"
               "return e\n");
    stage_split_all(sample.cut, sample.stage, 0, NAMES("a", "c", "e"));
    stage_split_all(sample.cut, sample.stage, 1, NAMES("b", "d"));
    for (int i = 0; i < 4; i++) {
        sample.cut->keep_outputs[i] = true;
    }
    run_case(&sample, "scatter x, all-to-all a");
    end_case(&sample);
}

/* -- one worker -- */

static void test_one_worker(void)
{
    sample_t sample;
    const iso_local_t *local;

    begin_case(&sample, 1, long_sum);
    set_partial(&sample, "y", (const iso_range_t[]){{0, 6}});
    run_case(&sample, "");
    local = sample.workers.locals[0];
    CU_ASSERT_EQUAL(iso_graph_digest(local->graph),
                    iso_graph_digest(sample.stage));
    CU_ASSERT(local->graph != sample.stage);
    expect_weights(&sample.workers, 0, "b, w");
    end_case(&sample);
}

/* -- failures -- */

/* The lockstep sees a worker that goes its own way. */
static void test_lockstep_sees(void)
{
    sample_t sample;
    stage_values_t values;
    iso_weight_source_t source;
    iso_lockstep_t lockstep;
    iso_local_t *locals[2];

    begin_case(&sample, 2, conv_chain);
    stage_split_all(sample.cut, sample.stage, 0, NAMES("a", "b", "c"));
    run_case(&sample, "scatter x, gather c");
    stage_values_begin(&values, sample.stage, 1);
    source = stage_values_source(&values);
    locals[0] = sample.workers.locals[0];
    locals[1] = sample.workers.locals[0];
    CU_ASSERT_EQUAL(iso_lockstep_run(locals, 2, &source, &source, &lockstep),
                    ISO_INTERNAL);
    locals[1] = NULL;
    stage_set(sample.cut, sample.stage, "b", ISO_CUT_ONE);
    CU_ASSERT_EQUAL_FATAL(
        iso_local_create(sample.stage, sample.cut, 1, &locals[1]), ISO_OK);
    CU_ASSERT_EQUAL(iso_lockstep_run(locals, 2, &source, &source, &lockstep),
                    ISO_INTERNAL);
    CU_ASSERT(test_failed_with("exchange"));
    iso_local_destroy(&locals[1]);
    stage_values_end(&values);
    end_case(&sample);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"convolutions by batch", test_batch_chain},
        {"split from input to output", test_batch_chain_kept},
        {"convolutions by height", test_height_chain},
        {"convolutions by channel", test_channel_chain},
        {"all to all", test_all_to_all},
        {"residual block", test_residual},
        {"partial sums", test_partial},
        {"nodes on all workers", test_on_all},
        {"heads of attention", test_heads},
        {"more workers than rows", test_more_local_workers_than_rows},
        {"scalars", test_scalars},
        {"windows in the padding", test_only_padding},
        {"leaves as outputs", test_leaf_outputs},
        {"constants", test_constants},
        {"names that are taken", test_taken_names},
        {"versions of a value", test_versions},
        {"one worker", test_one_worker},
        {"workers that do not agree", test_lockstep_sees},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"local", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
