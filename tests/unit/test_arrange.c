/* Which cuts networks and workers get. */
#include "arrange_sample.h"
#include "iso_test.h"

/* All computed nodes are split along axis in pieces of equal length. */
static void expect_all_split(const arrange_sample_t *sample, int axis)
{
    for (iso_node_id_t id = 0; id < sample->cut->n_nodes; id++) {
        const iso_node_t *node = iso_graph_node(sample->stage, id);
        const iso_node_cut_t *cut = &sample->cut->nodes[id];
        if (iso_node_is_leaf(node)) {
            continue;
        }
        CU_ASSERT_EQUAL_FATAL(cut->kind, ISO_CUT_SPLIT);
        CU_ASSERT_EQUAL(cut->axis, axis);
        for (int i = 0; i < sample->cut->n_workers; i++) {
            CU_ASSERT_EQUAL(iso_range_length(cut->ranges[i]) *
                                sample->cut->n_workers,
                            node->shape.dim[axis].size);
        }
    }
}

/* -- networks -- */

static void test_batch_of_convolutions(void)
{
    arrange_sample_t sample;

    arrange_begin_convolutions(&sample, 4, 64);
    arrange_again(&sample);
    expect_all_split(&sample, 0);
    arrange_expect_exchanges(&sample, "scatter x, gather c3");
    CU_ASSERT(sample.seconds < 0.35 * arrange_seconds_of_one(&sample));
    arrange_end(&sample);
}

/* One image: along its height or channels, where that pays. */
static void test_one_image(void)
{
    arrange_sample_t sample;

    arrange_begin_convolutions(&sample, 4, 1);
    arrange_again(&sample);
    CU_ASSERT_EQUAL(arrange_cut_of(&sample, "c1")->kind, ISO_CUT_SPLIT);
    CU_ASSERT(arrange_cut_of(&sample, "c1")->axis > 0);
    CU_ASSERT(sample.seconds < 0.5 * arrange_seconds_of_one(&sample));
    arrange_set_links(&sample, 1.0, 1e3);
    arrange_again(&sample);
    arrange_expect_all_one(&sample);
    arrange_expect_exchanges(&sample, "");
    arrange_end(&sample);
}

static void test_residual_network(void)
{
    arrange_sample_t sample;

    arrange_begin(&sample, 4,
                  "x = input f32[32,64,28,28]\n"
                  "w1 = param f32[64,64,3,3]\n"
                  "w2 = param f32[64,64,3,3]\n"
                  "b = param f32[64]\n"
                  "v = param f32[10,64]\n"
                  "c1 = conv(x, w1, b) pads=i:1,1,1,1 activation=t:relu\n"
                  "c2 = conv(c1, w2, b) pads=i:1,1,1,1\n"
                  "sum = add(c2, c1)\n"
                  "r = relu(sum)\n"
                  "p = max_pool(r) kernel=i:2,2 strides=i:2,2\n"
                  "m = reduce_mean(p) axes=i:2,3\n"
                  "f = reshape(m) shape=d:32,64\n"
                  "y = gemm(f, v) trans_b=i:1\n"
                  "return y\n");
    arrange_again(&sample);
    expect_all_split(&sample, 0);
    arrange_expect_exchanges(&sample, "scatter x, gather y");
    arrange_end(&sample);
}

/* A value that two nodes read elsewhere moves once; an output in the middle
 * is brought together too. */
static void test_shared_values(void)
{
    arrange_sample_t sample;

    arrange_begin(&sample, 4,
                  "x = input f32[1024,512]\n"
                  "w1 = param f32[512,512]\n"
                  "w2 = param f32[512,512]\n"
                  "a = matmul(x, w1)\n"
                  "b = matmul(x, w2)\n"
                  "y = add(a, b)\n"
                  "return y\n"
                  "return a\n"
                  "return x\n");
    arrange_again(&sample);
    expect_all_split(&sample, 0);
    arrange_expect_exchanges(&sample, "scatter x, gather y, gather a");
    arrange_end(&sample);
}

/* Columns that become heads are cut between heads, so that attention goes on
 * with the pieces: few tokens, so that all is about reading the weights. */
static void test_heads(void)
{
    static const int64_t heads_each = 5;
    static const int64_t head = 128;
    arrange_sample_t sample;

    arrange_begin(&sample, 6,
                  "x = input f32[1,4,3840]\n"
                  "wq = param f32[3840,3840]\n"
                  "wk = param f32[3840,3840]\n"
                  "q = matmul(x, wq)\n"
                  "k = matmul(x, wk)\n"
                  "k1 = exp(k)\n"
                  "q4 = reshape(q) shape=d:1,4,30,128\n"
                  "k4 = reshape(k1) shape=d:1,4,30,128\n"
                  "qh = transpose(q4) perm=i:0,2,1,3\n"
                  "kh = transpose(k4) perm=i:0,2,3,1\n"
                  "s = matmul(qh, kh)\n"
                  "y = softmax(s)\n"
                  "return y\n");
    arrange_set_links(&sample, 0.0, 4e9);
    arrange_again(&sample);
    CU_ASSERT_EQUAL_FATAL(arrange_cut_of(&sample, "q")->kind, ISO_CUT_SPLIT);
    CU_ASSERT_EQUAL(arrange_cut_of(&sample, "q")->axis, 2);
    for (int i = 0; i < 6; i++) {
        CU_ASSERT_EQUAL(arrange_piece_of(&sample, "q", i), heads_each * head);
        CU_ASSERT_EQUAL(arrange_piece_of(&sample, "k", i), heads_each * head);
        CU_ASSERT_EQUAL(arrange_piece_of(&sample, "s", i), heads_each);
    }
    arrange_expect_exchanges(&sample, "broadcast x, gather y");
    /* Between heads, too, where they cannot be shared out evenly. */
    sample.options.n_workers = 4;
    arrange_again(&sample);
    for (int i = 0; i < 4; i++) {
        CU_ASSERT_EQUAL(arrange_piece_of(&sample, "q", i) % head, 0);
    }
    arrange_expect_exchanges(&sample, "broadcast x, gather y");
    arrange_end(&sample);
}

/* -- workers -- */

static void test_proportional_pieces(void)
{
    arrange_sample_t sample;

    arrange_begin_convolutions(&sample, 4, 70);
    arrange_set_links(&sample, 1e-6, 1e11);
    arrange_set_rank(&sample, 0, 4.0, ISO_COST_MEASURED);
    arrange_again(&sample);
    CU_ASSERT_EQUAL(arrange_piece_of(&sample, "c1", 0), 40);
    for (int i = 1; i < 4; i++) {
        CU_ASSERT_EQUAL(arrange_piece_of(&sample, "c1", i), 10);
    }
    arrange_set_rank(&sample, 2, 0.1, ISO_COST_MEASURED);
    arrange_again(&sample);
    CU_ASSERT(arrange_piece_of(&sample, "c1", 2) <
              arrange_piece_of(&sample, "c1", 1) / 5);
    arrange_end(&sample);
}

/* The fast ones work; the first, that has the input, does not. */
static void test_slow_first_worker(void)
{
    arrange_sample_t sample;

    arrange_begin_convolutions(&sample, 3, 64);
    arrange_set_links(&sample, 1e-6, 1e11);
    arrange_set_rank(&sample, 0, 1e-6, ISO_COST_MEASURED);
    arrange_again(&sample);
    CU_ASSERT_EQUAL(arrange_piece_of(&sample, "c2", 0), 0);
    CU_ASSERT_EQUAL(arrange_piece_of(&sample, "c2", 1), 32);
    CU_ASSERT_EQUAL(arrange_piece_of(&sample, "c2", 2), 32);
    arrange_end(&sample);
}

/* One fast worker that is not the first can do all. */
static void test_one_fast_worker(void)
{
    arrange_sample_t sample;

    arrange_begin_convolutions(&sample, 3, 64);
    arrange_set_rank(&sample, 0, 1e-6, ISO_COST_MEASURED);
    arrange_set_rank(&sample, 2, 1e-6, ISO_COST_MEASURED);
    arrange_again(&sample);
    CU_ASSERT_EQUAL(arrange_piece_of(&sample, "c2", 1), 64);
    arrange_end(&sample);
}

static void test_uncalibrated_workers(void)
{
    arrange_sample_t sample;

    arrange_begin_convolutions(&sample, 4, 66);
    arrange_set_rank(&sample, 1, 100.0, ISO_COST_UNCALIBRATED);
    arrange_again(&sample);
    for (int i = 0; i < 4; i++) {
        CU_ASSERT_EQUAL(arrange_piece_of(&sample, "c1", i), i == 1 ? 0 : 22);
    }
    for (iso_node_id_t id = 0; id < sample.cut->n_nodes; id++) {
        CU_ASSERT_NOT_EQUAL(sample.cut->nodes[id].kind, ISO_CUT_ALL);
    }
    arrange_set_rank(&sample, 0, 1.0, ISO_COST_UNCALIBRATED);
    arrange_again(&sample);
    arrange_expect_all_one(&sample);
    arrange_end(&sample);
}

static void test_one_worker(void)
{
    arrange_sample_t sample;

    arrange_begin_convolutions(&sample, 1, 64);
    arrange_again(&sample);
    arrange_expect_all_one(&sample);
    arrange_end(&sample);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        {"a batch of convolutions", test_batch_of_convolutions},
        {"one image", test_one_image},
        {"a residual network", test_residual_network},
        {"shared values", test_shared_values},
        {"heads", test_heads},
        {"proportional pieces", test_proportional_pieces},
        {"a slow first worker", test_slow_first_worker},
        {"one fast worker", test_one_fast_worker},
        {"uncalibrated workers", test_uncalibrated_workers},
        {"one worker", test_one_worker},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"arrange", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
