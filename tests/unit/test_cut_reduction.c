/*
 * Cuts along the reduction: partial sums of subtrees, summed in the tree's
 * order, are the whole node's value, byte for byte.
 */
#include "cut_cases_impl.h"
#include "graph_text.h"
#include "iso_eval.h"
#include "kernel/arith.h"
#include "kernel/ref.h"
#include "plan/shard/cut.h"

#include <stdlib.h>

enum { MOST_WORKERS = 5, MOST_PARTIALS = MOST_WORKERS * ISO_MOST_SUBTREES };

/* ---- Subtrees ---- */

/* [j 2^k, min((j + 1) 2^k, n)) */
static bool is_subtree(int64_t n, iso_range_t range)
{
    for (int64_t size = 1;; size *= 2) {
        const int64_t end = range.begin + size < n ? range.begin + size : n;

        if (range.begin % size == 0 && range.end == end) {
            return true;
        }
        if (size >= n) {
            return false;
        }
    }
}

/* The fewest, by dynamic programming. */
static int fewest(int64_t n, iso_range_t blocks)
{
    int best[66] = {0};

    for (int64_t at = blocks.end - 1; at >= blocks.begin; at--) {
        best[at] = 1000;
        for (int64_t end = at + 1; end <= blocks.end; end++) {
            const int rest = end == blocks.end ? 0 : best[end];

            if (is_subtree(n, (iso_range_t){at, end}) && rest + 1 < best[at]) {
                best[at] = rest + 1;
            }
        }
    }
    return blocks.begin < blocks.end ? best[blocks.begin] : 0;
}

static void check_subtrees(int64_t n, iso_range_t blocks)
{
    iso_range_t subtrees[ISO_MOST_SUBTREES];
    const int count = iso_cut_subtrees(n, blocks, subtrees);
    int64_t at = blocks.begin;

    for (int i = 0; i < count; i++) {
        CU_ASSERT(is_subtree(n, subtrees[i]));
        CU_ASSERT_EQUAL(subtrees[i].begin, at);
        at = subtrees[i].end;
    }
    CU_ASSERT_EQUAL(at, blocks.end);
    CU_ASSERT_EQUAL(count, fewest(n, blocks));
}

static void test_subtrees(void)
{
    for (int64_t n = 1; n <= 33; n++) {
        for (int64_t begin = 0; begin <= n; begin++) {
            for (int64_t end = begin; end <= n; end++) {
                check_subtrees(n, (iso_range_t){begin, end});
            }
        }
    }
}

static void test_many_blocks(void)
{
    const int64_t n = (INT64_C(1) << 48) - 1;
    iso_range_t subtrees[ISO_MOST_SUBTREES];

    CU_ASSERT_EQUAL(iso_cut_subtrees(n, (iso_range_t){0, n}, subtrees), 1);
    CU_ASSERT_EQUAL(subtrees[0].end, n);
    CU_ASSERT_EQUAL(iso_cut_subtrees(n, (iso_range_t){1, n - 1}, subtrees),
                    47 + 46);
    CU_ASSERT_EQUAL(iso_cut_subtrees(n, (iso_range_t){7, 7}, subtrees), 0);
}

/* ---- Partial sums ---- */

/* The local graph of a worker that computes all partial sums: its inputs are
 * the slabs. */
typedef struct local {
    const test_call_t *call;
    iso_node_id_t node;
    iso_graph_t *graph;
    int n_slabs;
    iso_tensor_t slabs[2 * MOST_PARTIALS + 1];
    int n_partials;
    iso_range_t subtrees[MOST_PARTIALS];
    iso_node_id_t partials[MOST_PARTIALS];
} local_t;

/* Element by element, so that nothing is taken for granted. */
static void copy_slab(const iso_tensor_t *whole, const iso_slab_t *slab,
                      iso_tensor_t *part)
{
    const size_t bytes = iso_dtype_bytes(whole->dtype);
    int64_t inner = 1;

    *part = *whole;
    part->dims[slab->axis] = iso_range_length(slab->range);
    part->data = iso_alloc(iso_tensor_bytes(part));
    for (int i = slab->axis + 1; i < whole->rank; i++) {
        inner *= whole->dims[i];
    }

    const int64_t row = part->dims[slab->axis] * inner;
    const int64_t count = iso_tensor_count(part);

    for (int64_t i = 0; i < count; i++) {
        const int64_t from = i / row * whole->dims[slab->axis] * inner +
                             slab->range.begin * inner + i % row;

        memcpy((char *)part->data + (size_t)i * bytes,
               (const char *)whole->data + (size_t)from * bytes, bytes);
    }
}

static iso_node_id_t add_slab(local_t *local, const iso_tensor_t *part)
{
    const iso_shape_t shape = iso_tensor_shape(part);
    iso_node_id_t id = ISO_NO_NODE;
    char name[16];

    (void)snprintf(name, sizeof name, "%d", local->n_slabs);
    local->slabs[local->n_slabs++] = *part;
    CU_ASSERT_EQUAL_FATAL(
        iso_graph_add_input(local->graph, name, part->dtype, &shape, &id),
        ISO_OK);
    return id;
}

static void add_partial(local_t *local, iso_range_t subtree)
{
    const test_call_t *call = local->call;
    const int n = local->n_partials++;
    iso_node_id_t inputs[2];

    for (int i = 0; i < 2; i++) {
        iso_slab_t slab = {0};
        iso_tensor_t part;

        CU_ASSERT_EQUAL_FATAL(iso_cut_partial_operand(call->graph, local->node,
                                                      subtree, i, &slab),
                              ISO_OK);
        CU_ASSERT_FATAL(slab.range.begin >= 0 &&
                        slab.range.begin < slab.range.end &&
                        slab.range.end <= call->inputs[i].dims[slab.axis]);
        copy_slab(&call->inputs[i], &slab, &part);
        inputs[i] = add_slab(local, &part);
    }
    local->subtrees[n] = subtree;
    CU_ASSERT_EQUAL_FATAL(iso_cut_add_partial(call->graph, local->node, subtree,
                                              local->graph, NULL, inputs,
                                              &local->partials[n]),
                          ISO_OK);
}

/* Workers' ranges, some of them empty, as subtrees. */
static void add_partials(local_t *local, int64_t blocks, uint64_t *seed)
{
    const int workers = (int)test_random_int(seed, 1, MOST_WORKERS);
    int64_t at = 0;

    for (int i = 0; i < workers; i++) {
        const int64_t end =
            i + 1 == workers ? blocks : test_random_int(seed, at, blocks);
        iso_range_t subtrees[ISO_MOST_SUBTREES];
        const int count =
            iso_cut_subtrees(blocks, (iso_range_t){at, end}, subtrees);

        for (int k = 0; k < count; k++) {
            add_partial(local, subtrees[k]);
        }
        at = end;
    }
}

static iso_status_t get_slab(void *arg, const char *name,
                             iso_tensor_t *tensor_out)
{
    local_t *local = arg;

    *tensor_out = local->slabs[strtol(name, NULL, 10)];
    return ISO_OK;
}

static void check_sum(local_t *local)
{
    const test_call_t *call = local->call;
    iso_cut_sum_t sum = {.n_partials = local->n_partials,
                         .subtrees = local->subtrees,
                         .partials = local->partials,
                         .bias = ISO_NO_NODE};
    const iso_weight_source_t source = {.arg = local, .get = get_slab};
    iso_node_id_t id = ISO_NO_NODE;
    iso_eval_t eval;

    if (call->n_inputs > 2) {
        iso_tensor_t bias = call->inputs[2];

        bias.data = iso_alloc(iso_tensor_bytes(&bias));
        memcpy(bias.data, call->inputs[2].data, iso_tensor_bytes(&bias));
        sum.bias = add_slab(local, &bias);
    }

    const iso_status_t status = iso_cut_add_sum(call->graph, local->node, &sum,
                                                local->graph, "call", &id);

    if (status != ISO_OK) {
        (void)fprintf(stderr, "%s\n", iso_error_text());
    }
    CU_ASSERT_EQUAL_FATAL(status, ISO_OK);
    CU_ASSERT_STRING_EQUAL(iso_graph_node(local->graph, id)->name, "call");
    CU_ASSERT_EQUAL_FATAL(iso_graph_add_output(local->graph, "call", id),
                          ISO_OK);
    CU_ASSERT_EQUAL_FATAL(iso_eval_run(local->graph, &source, &source, &eval),
                          ISO_OK);

    const iso_tensor_t *value = iso_eval_output(&eval, 0);

    CU_ASSERT_EQUAL_FATAL(iso_tensor_bytes(value),
                          iso_tensor_bytes(&call->output));
    CU_ASSERT_EQUAL(
        memcmp(value->data, call->output.data, iso_tensor_bytes(value)), 0);
    iso_eval_free(&eval);
}

static void check_partition(const test_call_t *call, int64_t blocks,
                            uint64_t *seed)
{
    local_t *local = iso_alloc_zeroed(1, sizeof *local);

    CU_ASSERT_PTR_NOT_NULL_FATAL(local);
    local->call = call;
    local->node = iso_graph_find(call->graph, "call");
    CU_ASSERT_EQUAL_FATAL(iso_graph_create(&local->graph), ISO_OK);
    add_partials(local, blocks, seed);
    check_sum(local);
    for (int i = 0; i < local->n_slabs; i++) {
        iso_free(local->slabs[i].data);
    }
    iso_graph_destroy(&local->graph);
    iso_free(local);
}

/* ---- Contractions of several blocks ---- */

/* The operands and attributes of a random conv, with more channels. */
static void make_conv(cut_case_t *c)
{
    const bool transposed = c->call.op == ISO_OP_CONV_TRANSPOSE;
    const int n = (int)cut_between(c, 1, 2);
    const int64_t in = cut_between(c, 1, 300);
    const int64_t out = cut_between(c, 1, 3);
    const iso_dtype_t dtype = cut_real_dtype(c);
    const int64_t x[4] = {cut_between(c, 1, 2), in, cut_between(c, 3, 5), 4};
    const int64_t weights[4] = {transposed ? in : out, transposed ? out : in,
                                cut_between(c, 1, 3), cut_between(c, 1, 3)};

    cut_case_operand(c, dtype, 2 + n, x);
    cut_case_operand(c, dtype, 2 + n, weights);
    if (cut_coin(c)) {
        cut_case_operand(c, dtype, 1, &out);
    }
    test_call_ints(&c->call, "pads", 2 * n, (const int64_t[]){1, 0, 0, 1});
}

static void make_matmul(cut_case_t *c)
{
    const iso_dtype_t dtype = cut_real_dtype(c);
    const int64_t inner = cut_between(c, 1, 5000);
    const int64_t cols = cut_between(c, 1, 3);
    const int64_t a[3] = {2, cut_between(c, 1, 3), inner};
    const int64_t b[2] = {inner, cols};
    const bool vector_a = cut_between(c, 0, 4) == 0;
    const bool vector_b = cut_between(c, 0, 4) == 0;

    cut_case_operand(c, dtype, vector_a ? 1 : 3, vector_a ? &a[2] : a);
    cut_case_operand(c, dtype, vector_b ? 1 : 2, b);
    if (!vector_b && cut_coin(c)) {
        cut_case_operand(c, dtype, 1, &cols);
    }
}

static void make_gemm(cut_case_t *c)
{
    const iso_dtype_t dtype = cut_real_dtype(c);
    const int64_t inner = cut_between(c, 1, 3000);
    const int64_t dims[2] = {cut_between(c, 1, 3), cut_between(c, 1, 3)};
    const bool trans_a = cut_coin(c);
    const bool trans_b = cut_coin(c);
    const int64_t a[2] = {trans_a ? inner : dims[0], trans_a ? dims[0] : inner};
    const int64_t b[2] = {trans_b ? dims[1] : inner, trans_b ? inner : dims[1]};

    cut_case_operand(c, dtype, 2, a);
    cut_case_operand(c, dtype, 2, b);
    if (cut_coin(c)) {
        cut_broadcast_operand(c, dtype, 2, dims);
    }
    cut_add_int(c, "trans_a", trans_a);
    cut_add_int(c, "trans_b", trans_b);
}

static void make_contraction(cut_case_t *c, iso_op_t op, uint64_t *seed)
{
    static const int64_t special[] = {0, 0, 300, 3000};

    *c = (cut_case_t){0};
    c->random = seed;
    test_call_begin(&c->call, op);
    CU_ASSERT_EQUAL_FATAL(iso_arena_create(&c->arena), ISO_OK);
    c->special_in = special[cut_between(c, 0, 3)];
    switch (op) {
    case ISO_OP_MATMUL:
        make_matmul(c);
        break;
    case ISO_OP_GEMM:
        make_gemm(c);
        break;
    default:
        make_conv(c);
        break;
    }
    cut_add_activation(c);
    CU_ASSERT_FATAL(test_call_make(&c->call));
}

static void test_sums(void)
{
    static const iso_op_t ops[] = {ISO_OP_CONV, ISO_OP_CONV_TRANSPOSE,
                                   ISO_OP_MATMUL, ISO_OP_GEMM};
    const uint64_t start = 815;
    uint64_t seed = start;

    (void)printf("\n    seed %llu ", (unsigned long long)start);
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        int cuts = 0;

        for (int round = 0; round < 120; round++) {
            cut_case_t c;
            int64_t blocks = -1;

            make_contraction(&c, ops[i], &seed);
            CU_ASSERT_EQUAL_FATAL(test_call_run(&c.call, iso_ref_run), ISO_OK);
            CU_ASSERT_EQUAL(iso_cut_blocks(c.call.graph,
                                           iso_graph_find(c.call.graph, "call"),
                                           &blocks),
                            ISO_OK);
            if (blocks > 0) {
                cuts++;
                check_partition(&c.call, blocks, &seed);
            }
            cut_case_end(&c);
        }
        CU_ASSERT(cuts > 40);
    }
}

/* ---- What was decided, and refusals ---- */

static iso_node_id_t make(iso_graph_t **graph, const char *text)
{
    iso_node_id_t id = ISO_NO_NODE;

    CU_ASSERT_EQUAL_FATAL(iso_graph_create(graph), ISO_OK);
    CU_ASSERT_EQUAL_FATAL(graph_text_add(*graph, text, &id), ISO_OK);
    return id;
}

static void test_blocks(void)
{
    static const struct {
        int64_t blocks;
        const char *name;
        const char *text;
    } cases[] = {
        /* 9 taps: 16 channels (144 products) in a block. */
        {4, "in-channel",
         "x = input f32[1,64,5,5]\n"
         "w = param f32[2,64,3,3]\ny = conv(x, w)"},
        {5, "in-channel",
         "x = input f32[1,65,5,5]\n"
         "w = param f32[2,65,3,3]\ny = conv(x, w)"},
        {0, "in-channel",
         "x = input f32[1,16,5,5]\n"
         "w = param f32[2,16,3,3]\ny = conv(x, w)"},
        {0, "in-channel",
         "x = input f32[1,64,5,5]\n"
         "w = param f32[2,32,3,3]\ny = conv(x, w) groups=i:2"},
        /* 289 taps: a channel is more than a block. */
        {0, "in-channel",
         "x = input f32[1,64,17,17]\n"
         "w = param f32[2,64,17,17]\ny = conv(x, w)"},
        {3, "in-channel",
         "x = input f32[1,3,16,16]\n"
         "w = param f32[2,3,16,16]\ny = conv(x, w)"},
        {2, "reduction",
         "x = input f32[3,257]\n"
         "w = param f32[257,2]\ny = matmul(x, w)"},
        {0, "reduction",
         "x = input f32[3,256]\n"
         "w = param f32[256,2]\ny = matmul(x, w)"},
        {0, "reduction",
         "x = input f32[0,257]\n"
         "w = param f32[257,2]\ny = matmul(x, w)"},
        {0, "reduction",
         "x = input f32[3,0]\n"
         "w = param f32[0,2]\ny = matmul(x, w)"},
        {2, "reduction",
         "x = input f32[300,3]\nw = param f32[2,300]\n"
         "y = gemm(x, w) trans_a=i:1 trans_b=i:1 beta=f:3"},
        {0, "reduction",
         "x = input f32[3,300]\nw = param f32[300,2]\n"
         "y = gemm(x, w) alpha=f:2"},
        {0, "reduction",
         "x = input f32[3,300]\nw = param f32[300,2]\n"
         "c = input f32[]\ny = gemm(x, w, c) beta=f:0"},
        {0, "reduction", "x = input f32[3,300]\ny = relu(x)"},
        {0, "reduction", "x = input f32[3,300]\ny = reduce_sum(x)"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        iso_graph_t *graph;
        const iso_node_id_t node = make(&graph, cases[i].text);
        int64_t blocks = -1;

        CU_ASSERT_EQUAL(iso_cut_blocks(graph, node, &blocks), ISO_OK);
        CU_ASSERT_EQUAL(blocks, cases[i].blocks);
        CU_ASSERT_STRING_EQUAL(iso_cut_reduction_name(graph, node),
                               cases[i].name);
        iso_graph_destroy(&graph);
    }
}

#define MATMUL                                  \
    "x = input f32[3,2000]\n"                   \
    "w = param f32[2000,2]\nb = param f32[2]\n" \
    "y = matmul(x, w, b)\n"

static void test_operands(void)
{
    iso_graph_t *graph;
    const iso_node_id_t node = make(&graph, MATMUL);
    iso_slab_t slab;

    CU_ASSERT_EQUAL(
        iso_cut_partial_operand(graph, node, (iso_range_t){4, 8}, 0, &slab),
        ISO_OK);
    CU_ASSERT_EQUAL(slab.axis, 1);
    CU_ASSERT_EQUAL(slab.range.begin, 1024);
    CU_ASSERT_EQUAL(slab.range.end, 2000);
    CU_ASSERT_EQUAL(
        iso_cut_partial_operand(graph, node, (iso_range_t){2, 4}, 1, &slab),
        ISO_OK);
    CU_ASSERT_EQUAL(slab.axis, 0);
    CU_ASSERT_EQUAL(slab.range.begin, 512);
    CU_ASSERT_EQUAL(slab.range.end, 1024);
    CU_ASSERT_EQUAL(
        iso_cut_partial_operand(graph, node, (iso_range_t){2, 4}, 2, &slab),
        ISO_OK);
    CU_ASSERT_EQUAL(slab.axis, 0);
    CU_ASSERT_EQUAL(iso_range_length(slab.range), 0);
    iso_graph_destroy(&graph);
}

static void test_refusals(void)
{
    static const iso_range_t wrong[] = {{1, 3}, {0, 3},  {2, 2},
                                        {4, 9}, {-1, 1}, {5, 8}};
    iso_graph_t *graph;
    const iso_node_id_t node = make(&graph, MATMUL);
    iso_graph_t *local;
    iso_slab_t slab;
    iso_node_id_t inputs[] = {0, 1};
    iso_node_id_t id;

    (void)make(&local, "x = input f32[3,512]\nw = param f32[512,2]");
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        CU_ASSERT_EQUAL(
            iso_cut_partial_operand(graph, node, wrong[i], 0, &slab),
            ISO_INVAL);
        CU_ASSERT_EQUAL(
            iso_cut_add_partial(graph, node, wrong[i], local, "y", inputs, &id),
            ISO_INVAL);
    }
    CU_ASSERT_EQUAL(iso_cut_add_partial(graph, node, (iso_range_t){0, 4}, local,
                                        "y", inputs, &id),
                    ISO_SHAPE);
    inputs[0] = ISO_NO_NODE;
    CU_ASSERT_EQUAL(iso_cut_add_partial(graph, node, (iso_range_t){0, 2}, local,
                                        "y", inputs, &id),
                    ISO_INVAL);
    iso_graph_destroy(&local);
    iso_graph_destroy(&graph);
}

static iso_status_t sum_of(const iso_graph_t *graph, iso_node_id_t node,
                           int count, const iso_range_t *subtrees,
                           iso_graph_t *local)
{
    const iso_node_id_t partials[] = {0, 0, 0};
    const iso_cut_sum_t sum = {.n_partials = count,
                               .subtrees = subtrees,
                               .partials = partials,
                               .bias = 1};
    iso_node_id_t id;

    return iso_cut_add_sum(graph, node, &sum, local, "y", &id);
}

/* Partial sums that are not all, or in another order. */
static void test_wrong_sums(void)
{
    iso_graph_t *graph;
    const iso_node_id_t node = make(&graph, MATMUL "y~0 = relu(y)") - 1;
    iso_graph_t *local;
    const iso_range_t good[] = {{0, 4}, {4, 8}};
    const iso_range_t gap[] = {{0, 2}, {4, 8}};
    const iso_range_t turned[] = {{4, 8}, {0, 4}};
    const iso_range_t no_tree[] = {{0, 3}, {3, 8}};

    (void)make(&local, "a = input f32[3,2]\nb = param f32[2]");
    CU_ASSERT_EQUAL(sum_of(graph, node, 0, good, local), ISO_INVAL);
    CU_ASSERT_EQUAL(sum_of(graph, node, 1, good, local), ISO_INVAL);
    CU_ASSERT_EQUAL(sum_of(graph, node, 2, gap, local), ISO_INVAL);
    CU_ASSERT_EQUAL(sum_of(graph, node, 2, turned, local), ISO_INVAL);
    CU_ASSERT_EQUAL(sum_of(graph, node, 2, no_tree, local), ISO_INVAL);
    CU_ASSERT_EQUAL(iso_graph_node_count(local), 2);
    CU_ASSERT_EQUAL(sum_of(graph, node, 2, good, local), ISO_OK);
    /* A name that the stage has is left to the stage. */
    CU_ASSERT_EQUAL(iso_graph_find(local, "y~0"), ISO_NO_NODE);
    CU_ASSERT(iso_graph_find(local, "y~1") != ISO_NO_NODE);
    iso_graph_destroy(&local);
    iso_graph_destroy(&graph);
}

/* Every allocation fails once. */
static void test_no_memory(void)
{
    const iso_range_t subtrees[] = {{0, 4}, {4, 6}, {6, 8}};
    iso_graph_t *graph;
    const iso_node_id_t node = make(&graph, MATMUL);
    iso_status_t status = ISO_NOMEM;

    for (int64_t n = 1; status == ISO_NOMEM; n++) {
        iso_graph_t *local;

        (void)make(&local, "a = input f32[3,2]\nb = param f32[2]");
        iso_mem_fail_at(n);
        status = sum_of(graph, node, 3, subtrees, local);
        iso_mem_fail_at(0);
        CU_ASSERT(status == ISO_OK || status == ISO_NOMEM);
        CU_ASSERT(n > 1 || status == ISO_NOMEM);
        iso_graph_destroy(&local);
    }
    iso_graph_destroy(&graph);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"subtrees", test_subtrees},
        {"very many blocks", test_many_blocks},
        {"partial sums are the whole", test_sums},
        {"blocks of a node", test_blocks},
        {"operands", test_operands},
        {"subtrees that are none", test_refusals},
        {"sums of something else", test_wrong_sums},
        {"no memory", test_no_memory},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"cut along the reduction", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
