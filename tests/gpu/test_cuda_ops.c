#include "iso_test_cuda.h"

/* ---- Elementwise ---- */

static bool is_supported_unary(int op)
{
    return op != ISO_OP_SIN && op != ISO_OP_COS && op != ISO_OP_CAST;
}

static void test_unary(void)
{
    for (int op = ISO_OP_ABS; op <= ISO_OP_CLIP; op++) {
        for (int round = 0; round < 8 && is_supported_unary(op); round++) {
            const int rank = (int)test_pick(0, 4);
            int64_t dims[4];
            test_call_t call;

            test_dims(rank, 50000, dims);
            test_call_begin(&call, (iso_op_t)op);
            test_operand(&call, rank, dims);
            if (op == ISO_OP_CLIP) {
                TEST_FLOATS(&call, "min", -0.5);
                TEST_FLOATS(&call, "max", 1.25);
            }
            test_cuda_check(&call);
        }
    }
}

/* Numbers from all over f32, for what has a polynomial. */
static void test_all_over(void)
{
    static const iso_op_t ops[] = {
        ISO_OP_EXP,      ISO_OP_ERF,       ISO_OP_TANH, ISO_OP_SIGMOID,
        ISO_OP_LOG,      ISO_OP_ELU,       ISO_OP_SELU, ISO_OP_SQRT,
        ISO_OP_SOFTPLUS, ISO_OP_RECIPROCAL};
    enum { COUNT = 1 << 20, STEP = 4093 };
    uint32_t *bits = iso_alloc(COUNT * sizeof *bits);

    CU_ASSERT_PTR_NOT_NULL_FATAL(bits);
    for (uint32_t i = 0; i < COUNT; i++) {
        bits[i] = i * STEP;
    }
    for (size_t k = 0; k < sizeof ops / sizeof ops[0]; k++) {
        test_call_t call;

        test_call_begin(&call, ops[k]);
        TEST_F32(&call, bits, COUNT);
        test_cuda_check(&call);
    }
    iso_free(bits);
}

/* An operand that broadcasts to dims. */
static void broadcast(test_call_t *call, int rank, const int64_t *dims)
{
    const int skip = (int)test_pick(0, 4 * (int64_t)rank) % (rank + 1);
    int64_t own[4];

    if (test_pick(0, 2) == 0) {
        test_operand(call, rank, dims);
        return;
    }
    for (int axis = 0; axis < rank; axis++) {
        own[axis] = test_pick(0, 2) == 0 ? 1 : dims[axis];
    }
    test_operand(call, rank - skip, own + skip);
}

static void test_binary(void)
{
    for (int op = ISO_OP_ADD; op <= ISO_OP_GREATER_EQUAL; op++) {
        for (int round = 0; round < 20 && op != ISO_OP_MOD; round++) {
            const int rank = (int)test_pick(0, 4);
            int64_t dims[4];
            test_call_t call;

            test_dims(rank, 20000, dims);
            test_call_begin(&call, (iso_op_t)op);
            if (op == ISO_OP_PRELU) { /* the slope does not widen x */
                test_operand(&call, rank, dims);
            } else {
                broadcast(&call, rank, dims);
            }
            broadcast(&call, rank, dims);
            test_cuda_check(&call);
        }
    }
}

/* ---- Reductions ---- */

/* Some axes, perhaps none. */
static int pick_axes(int rank, int64_t *axes)
{
    int count = 0;

    for (int axis = 0; axis < rank; axis++) {
        if (test_pick(0, 1) == 0) {
            axes[count++] = axis;
        }
    }
    return count;
}

static void check_reduce(iso_op_t op)
{
    const int rank = (int)test_pick(1, 5);
    int64_t dims[5];
    int64_t axes[5];
    const int count = pick_axes(rank, axes);
    test_call_t call;

    test_dims(rank, 100000, dims);
    test_call_begin(&call, op);
    test_operand(&call, rank, dims);
    if (count > 0) {
        test_call_ints(&call, "axes", count, axes);
    }
    TEST_INTS(&call, "keep_dims", test_pick(0, 1));
    test_cuda_check(&call);
}

static void test_reduce(void)
{
    for (int op = ISO_OP_REDUCE_SUM; op <= ISO_OP_REDUCE_PROD; op++) {
        for (int round = 0; round < 25; round++) {
            check_reduce((iso_op_t)op);
        }
    }
}

static void test_arg(void)
{
    for (int round = 0; round < 20; round++) {
        const int rank = (int)test_pick(1, 4);
        int64_t dims[4];
        test_call_t call;

        test_dims(rank, 20000, dims);
        test_call_begin(&call,
                        round % 2 == 0 ? ISO_OP_ARG_MAX : ISO_OP_ARG_MIN);
        test_operand(&call, rank, dims);
        TEST_INTS(&call, "axis", test_pick(0, rank - 1));
        test_cuda_check(&call);
    }
}

/* ---- Norms ---- */

static void test_softmax(void)
{
    for (int round = 0; round < 40; round++) {
        const int rank = (int)test_pick(1, 4);
        int64_t dims[4];
        test_call_t call;

        test_dims(rank, 50000, dims);
        test_call_begin(&call,
                        round % 3 == 0 ? ISO_OP_LOG_SOFTMAX : ISO_OP_SOFTMAX);
        test_operand(&call, rank, dims);
        TEST_INTS(&call, "axis", test_pick(0, rank - 1));
        test_cuda_check(&call);
    }
}

static void test_channel_norms(void)
{
    for (int round = 0; round < 40; round++) {
        const int rank = (int)test_pick(3, 5);
        const bool is_batch = round % 2 == 0;
        int64_t dims[5];
        test_call_t call;

        test_dims(rank, 50000, dims);
        test_call_begin(&call,
                        is_batch ? ISO_OP_BATCH_NORM : ISO_OP_INSTANCE_NORM);
        test_operand(&call, rank, dims);
        for (int i = 0; i < (is_batch ? 4 : 2); i++) {
            test_operand(&call, 1, &dims[1]);
        }
        TEST_FLOATS(&call, "epsilon", 0.001);
        test_cuda_check(&call);
    }
}

static void test_layer_norm(void)
{
    for (int round = 0; round < 30; round++) {
        const int rank = (int)test_pick(2, 4);
        const int axis = (int)test_pick(1, rank - 1);
        int64_t dims[4];
        test_call_t call;

        test_dims(rank, 50000, dims);
        test_call_begin(&call, ISO_OP_LAYER_NORM);
        test_operand(&call, rank, dims);
        test_operand(&call, rank - axis, dims + axis);
        if (test_pick(0, 1) == 0) {
            test_operand(&call, rank - axis, dims + axis);
        }
        TEST_INTS(&call, "axis", axis);
        test_cuda_check(&call);
    }
}

/* ---- Pools ---- */

static void test_pools(void)
{
    for (int round = 0; round < 80; round++) {
        const int n = (int)test_pick(1, 3);
        int64_t x[5] = {test_pick(1, 3), test_pick(1, 9)};
        int64_t kernel[3] = {0};
        int64_t strides[3] = {0};
        int64_t dilations[3] = {0};
        int64_t pads[6] = {0};
        test_call_t call;

        for (int axis = 0; axis < n; axis++) {
            kernel[axis] = test_pick(1, 5);
            strides[axis] = test_pick(1, 3);
            dilations[axis] = test_pick(0, 3) > 0 ? 1 : 2;
            x[axis + 2] =
                (kernel[axis] - 1) * dilations[axis] + test_pick(1, 15);
            pads[axis] = test_pick(0, kernel[axis] - 1);
            pads[axis + n] = test_pick(0, kernel[axis] - 1);
        }
        test_call_begin(&call,
                        round % 2 == 0 ? ISO_OP_MAX_POOL : ISO_OP_AVG_POOL);
        test_operand(&call, n + 2, x);
        test_call_ints(&call, "kernel", n, kernel);
        test_call_ints(&call, "strides", n, strides);
        test_call_ints(&call, "dilations", n, dilations);
        test_call_ints(&call, "pads", 2 * n, pads);
        TEST_INTS(&call, "ceil_mode", test_pick(0, 1));
        TEST_INTS(&call, "count_pad", test_pick(0, 1));
        test_cuda_check(&call);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {{"unary", test_unary},
                           {"all over f32", test_all_over},
                           {"binary, compare", test_binary},
                           {"reductions", test_reduce},
                           {"arg_max, arg_min", test_arg},
                           {"softmax", test_softmax},
                           {"batch_norm, instance_norm", test_channel_norms},
                           {"layer_norm", test_layer_norm},
                           {"pools", test_pools},
                           CU_TEST_INFO_NULL};
    CU_SuiteInfo suites[] = {{"cuda ops", NULL, NULL, NULL, NULL, tests},
                             CU_SUITE_INFO_NULL};

    return test_cuda_main(suites);
}
