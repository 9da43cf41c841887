#include "iso_test_light.h"

static void add_input(test_call_t *call, const void *data, int rank,
                      const int64_t *dims)
{
    test_call_input(call, ISO_DTYPE_F32, rank, dims, data);
}

/* ---- Elementwise ---- */

static void test_unary(void)
{
    uint64_t state = TEST_LIGHT_SEED;

    test_fill_values(&state);
    for (int op = ISO_OP_ABS; op <= ISO_OP_CLIP; op++) {
        for (int round = 0; round < TEST_ROUNDS / 2; round++) {
            const int rank = (int)test_random_int(&state, 0, 4);
            int64_t dims[4];
            test_call_t call;

            test_random_dims(&state, rank, 2000, dims);
            test_call_begin(&call, (iso_op_t)op);
            add_input(&call, test_some(&state, 0), rank, dims);
            if (op == ISO_OP_CLIP) {
                TEST_FLOATS(&call, "min", -0.5);
                TEST_FLOATS(&call, "max", 1.25);
            }
            test_light_check(&call);
        }
    }
}

/* Functions that are written out: numbers from all over f32. */
static void test_all_over(void)
{
    static const iso_op_t ops[] = {ISO_OP_ERF, ISO_OP_EXP, ISO_OP_SIGMOID};
    enum { STEP = 1999 };
    uint64_t next = 0;

    while (next <= UINT32_MAX) {
        for (int i = 0; i < TEST_ELEMENTS; i++, next += STEP) {
            const uint32_t bits = (uint32_t)next;

            memcpy(&test_values[0][i], &bits, sizeof bits);
        }
        for (int k = 0; k < 3; k++) {
            test_call_t call;

            test_call_begin(&call, ops[k]);
            TEST_F32(&call, test_values[0], TEST_ELEMENTS);
            test_light_check(&call);
        }
    }
}

/* An operand that broadcasts to dims: some leading dims left out, some 1. */
static void broadcast_input(uint64_t *state, test_call_t *call, int k, int rank,
                            const int64_t *dims)
{
    const int skip =
        (int)test_random_int(state, 0, 4 * (int64_t)rank) % (rank + 1);
    const bool is_full = test_random_int(state, 0, 2) == 0;
    int64_t own[4];

    for (int axis = 0; axis < rank; axis++) {
        own[axis] = test_random_int(state, 0, 2) == 0 ? 1 : dims[axis];
    }
    if (is_full) {
        add_input(call, test_some(state, k), rank, dims);
    } else {
        add_input(call, test_some(state, k), rank - skip, own + skip);
    }
}

static void check_binary(uint64_t *state, iso_op_t op)
{
    const int rank = (int)test_random_int(state, 0, 4);
    int64_t dims[4];
    test_call_t call;

    test_random_dims(state, rank, 3000, dims);
    test_call_begin(&call, op);
    if (op == ISO_OP_PRELU) {
        add_input(&call, test_some(state, 0), rank, dims);
    } else {
        broadcast_input(state, &call, 0, rank, dims);
    }
    broadcast_input(state, &call, 1, rank, dims);
    test_light_check(&call);
}

static void test_binary(void)
{
    static const iso_op_t ops[] = {
        ISO_OP_ADD,          ISO_OP_SUB,  ISO_OP_MUL,        ISO_OP_DIV,
        ISO_OP_POW,          ISO_OP_MIN,  ISO_OP_MAX,        ISO_OP_PRELU,
        ISO_OP_EQUAL,        ISO_OP_LESS, ISO_OP_LESS_EQUAL, ISO_OP_GREATER,
        ISO_OP_GREATER_EQUAL};
    uint64_t state = TEST_LIGHT_SEED + 1;

    test_fill_values(&state);
    for (size_t k = 0; k < sizeof ops / sizeof ops[0]; k++) {
        for (int round = 0; round < TEST_ROUNDS; round++) {
            check_binary(&state, ops[k]);
        }
    }
}

/* Exponents for which there is a short way. */
static void test_pow_of_constants(void)
{
    static const float exponents[] = {2.0F, 0.5F, 1.0F, -1.0F, 3.0F, 0.0F};
    uint64_t state = TEST_LIGHT_SEED + 2;

    test_fill_values(&state);
    for (int i = 0; i < 6; i++) {
        test_call_t call;

        test_call_begin(&call, ISO_OP_POW);
        TEST_F32(&call, test_values[0], 3, 333);
        TEST_F32(&call, &exponents[i], 1);
        test_light_check(&call);

        test_call_begin(&call, ISO_OP_POW);
        TEST_F32(&call, test_values[0], 3, 1);
        TEST_F32(&call, exponents, 6);
        test_light_check(&call);

        test_call_begin(&call, ISO_OP_POW);
        TEST_F32(&call, test_values[1], 1);
        TEST_F32(&call, &exponents[i], 1, 1);
        test_light_check(&call);
    }
}

static void test_where(void)
{
    static uint8_t condition[4096];
    uint64_t state = TEST_LIGHT_SEED + 3;

    test_fill_values(&state);
    for (int i = 0; i < 4096; i++) {
        condition[i] = (uint8_t)(test_random(&state) & 1);
    }
    for (int round = 0; round < TEST_ROUNDS; round++) {
        const int rank = (int)test_random_int(&state, 1, 4);
        int64_t dims[4];
        test_call_t call;

        test_random_dims(&state, rank, 3000, dims);
        test_call_begin(&call, ISO_OP_WHERE);
        test_call_input(&call, ISO_DTYPE_BOOL, rank, dims, condition);
        broadcast_input(&state, &call, 0, rank, dims);
        broadcast_input(&state, &call, 1, rank, dims);
        test_light_check(&call);
    }
}

static void test_cast(void)
{
    static const iso_dtype_t pairs[][2] = {
        {ISO_DTYPE_U8, ISO_DTYPE_F32},  {ISO_DTYPE_I8, ISO_DTYPE_F32},
        {ISO_DTYPE_I32, ISO_DTYPE_F32}, {ISO_DTYPE_I64, ISO_DTYPE_F32},
        {ISO_DTYPE_F16, ISO_DTYPE_F32}, {ISO_DTYPE_BF16, ISO_DTYPE_F32},
        {ISO_DTYPE_F64, ISO_DTYPE_F32}, {ISO_DTYPE_I64, ISO_DTYPE_I32},
        {ISO_DTYPE_I32, ISO_DTYPE_I64}, {ISO_DTYPE_F32, ISO_DTYPE_BOOL}};
    uint64_t state = TEST_LIGHT_SEED + 4;

    test_fill_values(&state);
    for (size_t k = 0; k < sizeof pairs / sizeof pairs[0]; k++) {
        test_call_t call;

        /* The bits of floats serve as any type. */
        test_call_begin(&call, ISO_OP_CAST);
        test_call_input(&call, pairs[k][0], 1, (const int64_t[]){30011},
                        test_values[0]);
        test_call_text(&call, "to", iso_dtype_string(pairs[k][1]));
        test_light_check(&call);
    }
}

/* ---- Reductions and norms ---- */

static void check_reduce(uint64_t *state, iso_op_t op)
{
    const int rank = (int)test_random_int(state, 1, 4);
    const int first = (int)test_random_int(state, 0, rank - 1);
    const int last = (int)test_random_int(state, first, rank - 1);
    const bool may_be_empty =
        op == ISO_OP_REDUCE_SUM || op == ISO_OP_REDUCE_PROD;
    int64_t dims[4];
    int64_t axes[4] = {0};
    test_call_t call;

    test_random_dims(state, rank, 5000, dims);
    for (int axis = first; axis <= last; axis++) {
        axes[axis - first] = axis;
        if (dims[axis] == 0 && !may_be_empty) {
            dims[axis] = 1;
        }
    }
    test_call_begin(&call, op);
    add_input(&call, test_some(state, 0), rank, dims);
    test_call_ints(&call, "axes", last - first + 1, axes);
    TEST_INTS(&call, "keep_dims", first % 2);
    test_light_check(&call);
}

static void check_softmax(uint64_t *state, iso_op_t op)
{
    const int rank = (int)test_random_int(state, 1, 4);
    int64_t dims[4];
    test_call_t call;

    test_random_dims(state, rank, 5000, dims);
    test_call_begin(&call, op);
    add_input(&call, test_some(state, 0), rank, dims);
    TEST_INTS(&call, "axis", test_random_int(state, -rank, rank - 1));
    test_light_check(&call);
}

static void check_norm(uint64_t *state, iso_op_t op)
{
    const int rank = (int)test_random_int(state, 3, 4);
    int64_t dims[4];
    test_call_t call;

    test_random_dims(state, rank, 5000, dims);
    test_call_begin(&call, op);
    add_input(&call, test_some(state, 0), rank, dims);
    if (op == ISO_OP_LAYER_NORM) {
        const int axis = (int)test_random_int(state, 0, rank - 1);

        TEST_INTS(&call, "axis", axis);
        add_input(&call, test_values[1], rank - axis, dims + axis);
        if (axis % 2 == 0) {
            add_input(&call, test_values[2], rank - axis, dims + axis);
        }
    } else if (op == ISO_OP_LRN) {
        TEST_INTS(&call, "size", test_random_int(state, 1, 6));
        TEST_FLOATS(&call, "beta", test_random_int(state, 0, 1) ? 0.5 : 0.75);
    } else {
        const int more = op == ISO_OP_BATCH_NORM ? 4 : 2;

        for (int i = 0; i < more; i++) {
            add_input(&call, test_some(state, i % 3), 1, dims + 1);
        }
    }
    test_light_check(&call);
}

static void check_reductions(uint64_t *state)
{
    static const iso_op_t reduce[] = {ISO_OP_REDUCE_SUM, ISO_OP_REDUCE_MEAN,
                                      ISO_OP_REDUCE_MAX, ISO_OP_REDUCE_MIN,
                                      ISO_OP_REDUCE_PROD};
    static const iso_op_t norm[] = {ISO_OP_BATCH_NORM, ISO_OP_INSTANCE_NORM,
                                    ISO_OP_LAYER_NORM, ISO_OP_LRN};

    for (int round = 0; round < TEST_ROUNDS; round++) {
        for (int k = 0; k < 5; k++) {
            check_reduce(state, reduce[k]);
        }
        for (int k = 0; k < 4; k++) {
            check_norm(state, norm[k]);
        }
        check_softmax(state, ISO_OP_SOFTMAX);
        check_softmax(state, ISO_OP_LOG_SOFTMAX);
    }
}

static void test_reductions(void)
{
    uint64_t state = TEST_LIGHT_SEED + 5;

    test_fill_values(&state);
    check_reductions(&state);
    test_fill_clean(&state);
    check_reductions(&state);
}

/* ---- Pools ---- */

/* A window that the graph accepts: pads below the kernel's span, a span not
 * larger than the padded operand. */
static void check_pool(uint64_t *state, iso_op_t op)
{
    const int n = (int)test_random_int(state, 1, 3);
    int64_t dims[5] = {test_random_int(state, 0, 2),
                       test_random_int(state, 1, 3)};
    int64_t window[4][6];
    test_call_t call;

    for (int i = 0; i < n; i++) {
        const int64_t kernel = test_random_int(state, 1, 4);
        const int64_t dilation = test_random_int(state, 1, 2);
        const int64_t span = (kernel - 1) * dilation + 1;

        window[0][i] = kernel;
        window[1][i] = test_random_int(state, 1, 3);
        window[2][i] = dilation;
        window[3][i] = test_random_int(state, 0, span - 1);
        window[3][n + i] = test_random_int(state, 0, span - 1);
        dims[2 + i] = span + test_random_int(state, 0, i == n - 1 ? 40 : 6);
    }
    test_call_begin(&call, op);
    add_input(&call, test_some(state, 0), 2 + n, dims);
    test_call_ints(&call, "kernel", n, window[0]);
    test_call_ints(&call, "strides", n, window[1]);
    test_call_ints(&call, "dilations", n, window[2]);
    test_call_ints(&call, "pads", 2 * n, window[3]);
    TEST_INTS(&call, "ceil_mode", test_random_int(state, 0, 1));
    TEST_INTS(&call, "count_pad", test_random_int(state, 0, 1));
    test_light_check(&call);
}

static void test_pools(void)
{
    uint64_t state = TEST_LIGHT_SEED + 6;

    for (int round = 0; round < 2 * TEST_ROUNDS; round++) {
        if (round % TEST_ROUNDS == 0) {
            test_fill_values(&state);
        }
        if (round == TEST_ROUNDS) {
            test_fill_clean(&state);
        }
        check_pool(&state, ISO_OP_MAX_POOL);
        check_pool(&state, ISO_OP_AVG_POOL);
    }
}

/* ---- Large enough for two threads ---- */

static void begin_large(iso_op_t op, int rank, const int64_t *dims,
                        test_call_t *call)
{
    test_call_begin(call, op);
    add_input(call, test_values[0], rank, dims);
}

static void test_large(void)
{
    const int64_t wide[] = {2, 65533};
    const int64_t image[] = {1, 7, 131, 137};
    const int64_t matrix[] = {251, 509};
    uint64_t state = TEST_LIGHT_SEED + 8;
    test_call_t call;

    test_fill_values(&state);
    begin_large(ISO_OP_EXP, 2, wide, &call);
    test_light_check(&call);
    begin_large(ISO_OP_ADD, 2, wide, &call);
    add_input(&call, test_values[1], 1, wide + 1);
    test_light_check(&call);
    begin_large(ISO_OP_REDUCE_MEAN, 2, wide, &call);
    TEST_INTS(&call, "axes", 0);
    test_light_check(&call);
    begin_large(ISO_OP_SOFTMAX, 2, matrix, &call);
    test_light_check(&call);
    begin_large(ISO_OP_TRANSPOSE, 2, matrix, &call);
    test_light_check(&call);
    begin_large(ISO_OP_MAX_POOL, 4, image, &call);
    TEST_INTS(&call, "kernel", 3, 3);
    TEST_INTS(&call, "strides", 2, 2);
    TEST_INTS(&call, "pads", 1, 1, 1, 1);
    test_light_check(&call);
    begin_large(ISO_OP_LRN, 4, image, &call);
    TEST_INTS(&call, "size", 5);
    test_light_check(&call);
    begin_large(ISO_OP_LAYER_NORM, 2, matrix, &call);
    add_input(&call, test_values[1], 1, matrix + 1);
    test_light_check(&call);
}

/* ---- What it leaves to the reference device ---- */

static bool light_takes(test_call_t *call)
{
    const iso__light_t light = {iso__light_isa_of(ISO_FAMILY_SCALAR), 1};
    const iso_tensor_t *inputs[TEST_CALL_INPUTS];
    bool taken;

    CU_ASSERT_FATAL(test_call_make(call));
    for (int i = 0; i < call->n_inputs; i++) {
        inputs[i] = &call->inputs[i];
    }
    taken = iso__light_run(&light, call->node, inputs, &call->output);
    test_call_end(call);
    return taken;
}

static void test_left_to_the_reference(void)
{
    const int64_t three[] = {3};
    const int64_t bad[] = {0, 3, 1};
    const double x[] = {1, 2, 3};
    test_call_t call;

    test_call_begin(&call, ISO_OP_GATHER); /* an index out of range */
    TEST_F32(&call, test_values[0], 3);
    test_call_input(&call, ISO_DTYPE_I64, 1, three, bad);
    CU_ASSERT_FALSE(light_takes(&call));

    test_call_begin(&call, ISO_OP_EXP);
    test_call_input(&call, ISO_DTYPE_F64, 1, three, x);
    CU_ASSERT_FALSE(light_takes(&call));

    test_call_begin(&call, ISO_OP_ARG_MAX);
    TEST_F32(&call, test_values[0], 3);
    CU_ASSERT_FALSE(light_takes(&call));
}

static void test_nothing_is_left(void)
{
    CU_ASSERT_EQUAL(iso_mem_count().blocks, 0);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"all over f32", test_all_over},
        {"unary", test_unary},
        {"binary and comparisons", test_binary},
        {"pow of constants", test_pow_of_constants},
        {"where", test_where},
        {"cast", test_cast},
        {"reductions and norms", test_reductions},
        {"pools", test_pools},
        {"large", test_large},
        {"left to the reference", test_left_to_the_reference},
        {"nothing is left", test_nothing_is_left},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"light", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    (void)printf("seed %d\n", (int)TEST_LIGHT_SEED);
    return iso_test_main(suites);
}
