/*
 * Views: operands of products of two values that nobody copies give the bits
 * of the reference device.
 */
#include "device_checks.h"
#include "iso_test.h"
#include "iso_test_call.h"
#include "iso_test_graph.h"
#include "kernel/format.h"

#include <stdio.h>
#include <string.h>

enum { SEED = 299792, NETS = 300 };

/* -- by hand -- */

/* Heads out of one value, as it is met in vision transformers. */
static void test_heads(void)
{
    device_checks_text("x = input f32[3,50,64]\n"
                       "w = param f32[64,192]\n"
                       "a = matmul(x, w)\n"
                       "r = reshape(a) shape=d:3,50,3,4,16\n"
                       "t = transpose(r) perm=i:2,0,3,1,4\n"
                       "s0 = slice(t) starts=i:0 ends=i:1 axes=i:0\n"
                       "s1 = slice(t) starts=i:1 ends=i:2 axes=i:0\n"
                       "s2 = slice(t) starts=i:2 ends=i:3 axes=i:0\n"
                       "q = reshape(s0) shape=d:3,4,50,16\n"
                       "k = reshape(s1) shape=d:3,4,50,16\n"
                       "v = reshape(s2) shape=d:3,4,50,16\n"
                       "kt = transpose(k) perm=i:0,1,3,2\n"
                       "p = matmul(q, kt)\n"
                       "y = matmul(p, v)\n"
                       "return y\n",
                       8);
}

/* Of rows that meet in few sets of the cache, and of few rows. */
static void test_heads_of_many_channels(void)
{
    static const char text[] = "x = input f32[1,%d,256]\n"
                               "z = input f32[1,20,256]\n"
                               "r = reshape(x) shape=d:1,%d,4,64\n"
                               "q = transpose(r) perm=i:0,2,1,3\n"
                               "s = reshape(z) shape=d:1,20,4,64\n"
                               "k = transpose(s) perm=i:0,2,3,1\n"
                               "p = matmul(q, k)\n"
                               "return p\n";
    static const int rows[] = {1, 3, 40};

    for (int i = 0; i < 3; i++) {
        char graph[512];

        (void)snprintf(graph, sizeof graph, text, rows[i], rows[i]);
        device_checks_text(graph, 2);
    }
}

/* An output that is a reshape of a value in blocks: its plain copy is made
 * with the value, whose place another one takes before the reshape. */
static void test_reshaped_outputs(void)
{
    static const char *const shapes[] = {"r = reshape(h) shape=d:2,15,4,1",
                                         "q = reshape(h) shape=d:30,4\n"
                                         "r = reshape(q) shape=d:120"};
    static const char text[] = "x = input f32[2,3,1,4]\n"
                               "w = param f32[15,3,1,1]\n"
                               "c = conv(x, w)\n"
                               "h = hard_swish(c)\n"
                               "k = clip(c)\n"
                               "%s\n"
                               "m = reduce_mean(c) axes=i:2,3\n"
                               "return r\n"
                               "return m\n";

    for (int i = 0; i < 2; i++) {
        char graph[512];

        (void)snprintf(graph, sizeof graph, text, shapes[i]);
        device_checks_text(graph, 0);
    }
}

/* What others read, too, is made; so is an output, and what is multiplied by
 * constant weights. */
static void test_no_views(void)
{
    device_checks_text("x = input f32[5,6,7]\n"
                       "y = input f32[5,7,9]\n"
                       "t = transpose(x) perm=i:0,2,1\n"
                       "u = transpose(t) perm=i:0,2,1\n"
                       "p = matmul(u, y)\n"
                       "e = exp(t)\n"
                       "return p\n"
                       "return e\n",
                       1);
    device_checks_text("x = input f32[5,7,6]\n"
                       "y = input f32[5,7,9]\n"
                       "t = transpose(x) perm=i:0,2,1\n"
                       "p = matmul(t, y)\n"
                       "return p\n"
                       "return t\n",
                       0);
    device_checks_text("x = input f32[5,7,6]\n"
                       "w = param f32[7,9]\n"
                       "t = transpose(x) perm=i:0,2,1\n"
                       "p = matmul(t, w)\n"
                       "return p\n",
                       0);
    /* a reshape that joins axes is of plain elements */
    device_checks_text("x = input f32[5,7,6]\n"
                       "y = input f32[5,9]\n"
                       "t = transpose(x) perm=i:1,2,0\n"
                       "r = reshape(t) shape=d:42,5\n"
                       "p = matmul(r, y)\n"
                       "return p\n",
                       0);
}

/* The only view that a value in blocks has is of its plain copy. */
static void test_of_blocks(void)
{
    device_checks_text("x = input f32[2,16,5,5]\n"
                       "w = param f32[16,16,3,3]\n"
                       "v = param f32[16,16,1,1]\n"
                       "a = conv(x, w) pads=i:1,1,1,1\n"
                       "b = conv(a, v)\n"
                       "r = reshape(a) shape=d:2,16,25\n"
                       "t = transpose(r) perm=i:0,2,1\n"
                       "p = matmul(t, r)\n"
                       "return p\n"
                       "return b\n",
                       1);
}

/* -- by chance -- */

typedef struct net {
    iso_graph_t *graph;
    uint64_t *state;
} net_t;

static int64_t pick(net_t *net, int64_t below)
{
    return test_random_int(net->state, 0, below - 1);
}

/* A leaf from which `dims` come when the slice and the transpose below are
 * applied: which are added, or one of them. */
static iso_node_id_t add_operand(net_t *net, int rank, const int64_t *dims)
{
    const int64_t axis = pick(net, rank);
    const int64_t start = pick(net, 3);
    const int64_t step = 1 + pick(net, 2);
    const int64_t end = start + step * dims[axis];
    const iso_attr_t slice[] = {
        test_ints("starts", 1, &start), test_ints("ends", 1, &end),
        test_ints("axes", 1, &axis), test_ints("steps", 1, &step)};
    int64_t perm[ISO_MAX_RANK];
    int64_t wide[ISO_MAX_RANK];
    int64_t turned[ISO_MAX_RANK];

    memcpy(wide, dims, (size_t)rank * sizeof *wide);
    wide[axis] = end + pick(net, 2);
    for (int i = 0; i < rank; i++) {
        perm[i] = i;
    }
    for (int i = 0; i < rank; i++) {
        const int64_t other = pick(net, rank);
        const int64_t swapped = perm[i];

        perm[i] = perm[other];
        perm[other] = swapped;
    }
    for (int i = 0; i < rank; i++) {
        turned[perm[i]] = wide[i];
    }
    const iso_attr_t turn = test_ints("perm", rank, perm);
    const iso_node_id_t leaf = test_leaf(net->graph, false, rank, turned);
    const iso_node_id_t id =
        test_add(net->graph, ISO_OP_TRANSPOSE, 1, &leaf, 1, &turn);

    return test_add(net->graph, ISO_OP_SLICE, 1, &id, 4, slice);
}

static void add_product(net_t *net)
{
    static const int64_t sizes[] = {1, 2, 7, 8, 16, 33, 50, 64, 300};
    const int64_t rows = sizes[pick(net, 9)];
    const int64_t columns = sizes[pick(net, 9)];
    const int64_t inner = sizes[pick(net, 9)];
    const int64_t outer[] = {1 + pick(net, 3), 1 + pick(net, 3)};
    const bool is_one = pick(net, 4) == 0; /* b for all of a batch dim */
    const int64_t a[] = {outer[0], outer[1], rows, inner};
    const int64_t b[] = {outer[0], is_one ? 1 : outer[1], inner, columns};
    const int rank = 2 + (int)pick(net, 3);
    const int b_rank = 2 + (int)pick(net, rank - 1);
    iso_node_id_t inputs[2];

    inputs[0] = add_operand(net, rank, a + 4 - rank);
    inputs[1] = add_operand(net, b_rank, b + 4 - b_rank);
    test_output(net->graph, "y",
                test_add(net->graph, ISO_OP_MATMUL, 2, inputs, 0, NULL));
}

static void test_random_products(void)
{
    uint64_t state = SEED;

    (void)printf("  seed %d\n", SEED);
    for (int i = 0; i < NETS; i++) {
        net_t net = {.graph = test_graph(), .state = &state};

        if (i % 50 == 0) {
            device_checks_fill(&state, i % 100 == 0);
        }
        add_product(&net);
        CU_ASSERT_EQUAL(device_checks_plan(net.graph), 4);
        device_checks_run(net.graph, 1 + i % 2);
        iso_graph_destroy(&net.graph);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"heads", test_heads},
        {"heads of many channels", test_heads_of_many_channels},
        {"reshaped outputs", test_reshaped_outputs},
        {"no views", test_no_views},
        {"of blocks", test_of_blocks},
        {"random products", test_random_products},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"view", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
