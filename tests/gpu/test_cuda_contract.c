#include "iso_test_cuda.h"

/* ---- Convolution ---- */

typedef struct conv_shape {
    int64_t n_spatial;
    int64_t batch;
    int64_t groups;
    int64_t in_channels; /* of one group */
    int64_t out_channels;
    int64_t size[3];
    int64_t kernel[3];
    int64_t strides[3];
    int64_t dilations[3];
    int64_t pads[6];
    bool transposed;
} conv_shape_t;

static void add_activation(test_call_t *call)
{
    static const char *const names[] = {"relu", "sigmoid", "tanh",
                                        "hard_swish"};

    switch (test_pick(0, 8)) {
    case 0:
        test_call_text(call, "activation", "clip");
        TEST_FLOATS(call, "activation_min", 0.0);
        TEST_FLOATS(call, "activation_max", 6.0);
        break;
    case 1:
        test_call_text(call, "activation", "leaky_relu");
        TEST_FLOATS(call, "activation_alpha", 0.125);
        break;
    case 2:
    case 3:
        test_call_text(call, "activation", names[test_pick(0, 3)]);
        break;
    default:
        break;
    }
}

static void check_conv(const conv_shape_t *s)
{
    const int n = (int)s->n_spatial;
    const int rank = n + 2;
    const int64_t channels = s->groups * s->in_channels;
    const int64_t outs = s->groups * s->out_channels;
    int64_t x[5] = {s->batch, channels};
    int64_t w[5] = {outs, s->in_channels};
    test_call_t call;

    if (s->transposed) {
        w[0] = channels;
        w[1] = s->out_channels;
    }
    for (int axis = 0; axis < s->n_spatial; axis++) {
        x[axis + 2] = s->size[axis];
        w[axis + 2] = s->kernel[axis];
    }
    test_call_begin(&call, s->transposed ? ISO_OP_CONV_TRANSPOSE : ISO_OP_CONV);
    test_operand(&call, rank, x);
    test_operand(&call, rank, w);
    if (test_pick(0, 2) > 0) {
        test_operand(&call, 1, &outs);
    }
    test_call_ints(&call, "strides", n, s->strides);
    test_call_ints(&call, "dilations", n, s->dilations);
    test_call_ints(&call, "pads", 2 * n, s->pads);
    TEST_INTS(&call, "groups", s->groups);
    add_activation(&call);
    test_cuda_check(&call);
}

static int64_t odd_count(int64_t most)
{
    static const int64_t counts[] = {1, 2, 3, 4, 7, 8, 13, 16, 17, 31, 64, 67};
    const int64_t count = counts[test_pick(0, 11)];

    return count < most ? count : most;
}

/* Products of a case, which ref does one by one. */
static int64_t products_of(const conv_shape_t *s)
{
    const int n = (int)s->n_spatial;
    const int64_t spread = s->transposed ? test_product(n, s->strides) : 1;

    return s->batch * s->groups * s->in_channels * s->out_channels *
           test_product(n, s->size) * test_product(n, s->kernel) * spread;
}

/* Whether there are as many random values as an operand has elements. */
static bool has_values(const conv_shape_t *s)
{
    const int n = (int)s->n_spatial;
    const int64_t weights = s->groups * s->in_channels * s->out_channels *
                            test_product(n, s->kernel);
    const int64_t inputs =
        s->batch * s->groups * s->in_channels * test_product(n, s->size);

    return weights < TEST_ELEMENTS / 2 && inputs < TEST_ELEMENTS / 2;
}

static conv_shape_t random_conv(bool transposed)
{
    conv_shape_t s;

    do {
        s = (conv_shape_t){.n_spatial = test_pick(1, 3),
                           .transposed = transposed};
        s.batch = test_pick(1, 3);
        s.groups = test_pick(0, 2) > 0 ? 1 : odd_count(17);
        s.in_channels = odd_count(100);
        s.out_channels = odd_count(100);
        for (int axis = 0; axis < s.n_spatial; axis++) {
            s.kernel[axis] = test_pick(0, 2) == 0 ? 1 : test_pick(1, 7);
            s.strides[axis] = test_pick(1, 3);
            s.dilations[axis] = test_pick(0, 3) > 0 ? 1 : test_pick(1, 3);
            s.size[axis] = (s.kernel[axis] - 1) * s.dilations[axis] +
                           test_pick(1, s.n_spatial == 1 ? 200 : 20);
            s.pads[axis] = test_pick(0, s.kernel[axis] - 1);
            s.pads[axis + s.n_spatial] = test_pick(0, s.kernel[axis] - 1);
        }
        if (transposed) { /* every stride has a tap, nothing is cut to 0 */
            for (int axis = 0; axis < s.n_spatial; axis++) {
                s.pads[axis] = s.pads[axis + s.n_spatial] = 0;
            }
        }
    } while (products_of(&s) > 20000000 || !has_values(&s));
    return s;
}

static void test_conv_random(void)
{
    for (int i = 0; i < 250; i++) {
        const conv_shape_t s = random_conv(i % 8 == 7);

        check_conv(&s);
    }
}

/* What networks have: each a way through the kernels. */
static void test_conv_known(void)
{
    static const conv_shape_t shapes[] = {
        {2, 2, 1, 64, 64, {14, 14}, {1, 1}, {1, 1}, {1, 1}, {0}, false},
        {2, 1, 1, 256, 128, {14, 14}, {1, 1}, {2, 2}, {1, 1}, {0}, false},
        {2, 3, 1, 40, 130, {7, 7}, {1, 1}, {1, 1}, {1, 1}, {0}, false},
        {2, 2, 1, 3, 64, {32, 32}, {7, 7}, {2, 2}, {1, 1}, {3, 3, 3, 3}, false},
        {2, 1, 1, 512, 64, {7, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, false},
        {2,
         2,
         1,
         64,
         64,
         {12, 12},
         {3, 3},
         {2, 2},
         {1, 1},
         {1, 1, 1, 1},
         false},
        {2, 2, 96, 1, 1, {15, 15}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, false},
        {2, 2, 4, 8, 32, {9, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, false},
        {2,
         1,
         1,
         4,
         16,
         {40, 40},
         {11, 11},
         {4, 4},
         {1, 1},
         {2, 2, 2, 2},
         false},
        {2,
         1,
         1,
         3,
         16,
         {40, 40},
         {17, 17},
         {3, 3},
         {1, 1},
         {8, 8, 8, 8},
         false},
        {1, 2, 1, 5, 9, {900}, {300}, {2}, {1}, {10, 20}, false},
        {3,
         1,
         1,
         8,
         16,
         {6, 10, 10},
         {3, 3, 3},
         {1, 1, 1},
         {1, 1, 1},
         {1, 1, 1, 1, 1, 1},
         false},
        {2, 1, 1, 16, 8, {7, 9}, {4, 4}, {2, 2}, {1, 1}, {1, 1, 1, 1}, true},
    };

    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        for (int round = 0; round < 3; round++) {
            check_conv(&shapes[i]);
        }
    }
}

/* ---- Matrices ---- */

static int64_t odd_size(void)
{
    static const int64_t sizes[] = {1,  2,  3,   4,   5,   16,  17,  63, 64,
                                    65, 96, 127, 128, 129, 200, 256, 257};

    return sizes[test_pick(0, 16)];
}

static int64_t odd_inner(void)
{
    static const int64_t sizes[] = {1,   3,   15,  16,  17,   255,  256,
                                    257, 511, 513, 777, 1024, 4097, 8192};

    return sizes[test_pick(0, 13)];
}

enum { BATCH_MOST = 24 }; /* matrices */

/* The batch dims of an operand: some left out, some 1. */
static int batch_of(int batch_rank, const int64_t *batch, int64_t *dims)
{
    const int skip = (int)test_pick(0, batch_rank);

    for (int axis = skip; axis < batch_rank; axis++) {
        dims[axis - skip] = test_pick(0, 2) == 0 ? 1 : batch[axis];
    }
    return batch_rank - skip;
}

static void check_matmul(int64_t rows, int64_t inner, int64_t cols)
{
    const int batch_rank = (int)test_pick(0, 3);
    const int64_t batch[3] = {test_pick(1, 3), test_pick(1, 4),
                              test_pick(1, 2)};
    int64_t a[5];
    int64_t b[5];
    int a_rank = batch_of(batch_rank, batch, a);
    int b_rank = batch_of(batch_rank, batch, b);
    test_call_t call;

    a[a_rank++] = rows;
    a[a_rank++] = inner;
    b[b_rank++] = inner;
    b[b_rank++] = cols;
    if (a_rank == 2 && b_rank > 1 && test_pick(0, 9) == 0) {
        a[0] = inner;
        a_rank = 1;
    } else if (b_rank == 2 && test_pick(0, 9) == 0) {
        b_rank = 1;
        cols = 1;
    }
    test_call_begin(&call, ISO_OP_MATMUL);
    test_operand(&call, a_rank, a);
    test_operand(&call, b_rank, b);
    if (b_rank > 1 && test_pick(0, 2) == 0) {
        test_operand(&call, 1, &cols);
    }
    add_activation(&call);
    test_cuda_check(&call);
}

static void test_matmul(void)
{
    for (int i = 0; i < 200; i++) {
        int64_t rows = odd_size();
        int64_t cols = odd_size();
        int64_t inner = odd_inner();

        while (rows * cols * inner > 4000000 ||
               (rows + cols) * inner > TEST_ELEMENTS / BATCH_MOST) {
            inner = (inner + 1) / 2;
        }
        check_matmul(rows, inner, cols);
    }
    check_matmul(1, 8192, 13);
    check_matmul(3, 20000, 3);
}

static void test_gemm(void)
{
    for (int i = 0; i < 200; i++) {
        const int64_t rows = odd_size();
        const int64_t cols = odd_size();
        const int64_t inner = rows * cols > 10000 ? odd_size() : odd_inner();
        const int64_t trans_a = test_pick(0, 1);
        const int64_t trans_b = test_pick(0, 1);
        const int64_t c[2] = {test_pick(0, 1) == 0 ? 1 : rows,
                              test_pick(0, 2) == 0 ? 1 : cols};
        const int skip = (int)test_pick(0, 1);
        test_call_t call;

        test_call_begin(&call, ISO_OP_GEMM);
        test_operand(&call, 2,
                     (const int64_t[]){trans_a != 0 ? inner : rows,
                                       trans_a != 0 ? rows : inner});
        test_operand(&call, 2,
                     (const int64_t[]){trans_b != 0 ? cols : inner,
                                       trans_b != 0 ? inner : cols});
        if (test_pick(0, 3) > 0) {
            test_operand(&call, 2 - skip, c + skip);
        }
        TEST_INTS(&call, "trans_a", trans_a);
        TEST_INTS(&call, "trans_b", trans_b);
        if (test_pick(0, 1) == 0) {
            TEST_FLOATS(&call, "alpha", 0.75);
            TEST_FLOATS(&call, "beta", test_pick(0, 1) == 0 ? 1.0 : -1.25);
        }
        add_activation(&call);
        test_cuda_check(&call);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {{"conv: what networks have", test_conv_known},
                           {"conv: any", test_conv_random},
                           {"matmul", test_matmul},
                           {"gemm", test_gemm},
                           CU_TEST_INFO_NULL};
    CU_SuiteInfo suites[] = {{"cuda contract", NULL, NULL, NULL, NULL, tests},
                             CU_SUITE_INFO_NULL};

    return test_cuda_main(suites);
}
