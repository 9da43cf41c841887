#include "iso_test_light.h"

/* ---- Moves ---- */

static iso_dtype_t random_dtype(uint64_t *state)
{
    return (iso_dtype_t)test_random_int(state, 0, ISO_DTYPE_COUNT - 1);
}

static void check_transpose(uint64_t *state)
{
    const int rank = (int)test_random_int(state, 0, 5);
    int64_t dims[5];
    int64_t perm[5] = {0, 1, 2, 3, 4};
    test_call_t call;

    test_random_dims(state, rank, 5000, dims);
    for (int i = rank - 1; i > 0; i--) {
        const int64_t other = test_random_int(state, 0, i);
        const int64_t kept = perm[i];

        perm[i] = perm[other];
        perm[other] = kept;
    }
    test_call_begin(&call, ISO_OP_TRANSPOSE);
    test_call_input(&call, random_dtype(state), rank, dims, test_values[0]);
    test_call_ints(&call, "perm", rank, perm);
    test_light_check(&call);
}

static void check_slice(uint64_t *state)
{
    const int rank = (int)test_random_int(state, 1, 4);
    int64_t dims[4];
    int64_t starts[4] = {0};
    int64_t ends[4] = {0};
    int64_t steps[4] = {0};
    test_call_t call;

    test_random_dims(state, rank, 5000, dims);
    for (int axis = 0; axis < rank; axis++) {
        const int64_t d = dims[axis];

        starts[axis] = test_random_int(state, -d - 1, d + 1);
        ends[axis] = test_random_int(state, -d - 1, d + 1);
        steps[axis] = test_random_int(state, 0, 1)
                          ? 1
                          : test_random_int(state, 1, 3) * (axis % 2 ? 1 : -1);
        if (test_random_int(state, 0, 1) == 0) {
            starts[axis] = steps[axis] > 0 ? 0 : d;
            ends[axis] = steps[axis] > 0 ? d : -d - 1;
        }
    }
    test_call_begin(&call, ISO_OP_SLICE);
    test_call_input(&call, random_dtype(state), rank, dims, test_values[0]);
    test_call_dims(&call, "starts", rank, starts);
    test_call_dims(&call, "ends", rank, ends);
    test_call_ints(&call, "steps", rank, steps);
    test_light_check(&call);
}

static void check_repeats(uint64_t *state)
{
    const int rank = (int)test_random_int(state, 1, 4);
    int64_t dims[4];
    int64_t times[4] = {0};
    test_call_t call;

    test_random_dims(state, rank, 500, dims);
    for (int axis = 0; axis < rank; axis++) {
        times[axis] = test_random_int(state, 1, 3);
    }
    test_call_begin(&call, ISO_OP_TILE);
    test_call_input(&call, random_dtype(state), rank, dims, test_values[0]);
    test_call_ints(&call, "repeats", rank, times);
    test_light_check(&call);

    for (int axis = 0; axis < rank; axis++) {
        times[axis] = dims[axis];
        dims[axis] = test_random_int(state, 0, 1) ? 1 : dims[axis];
    }
    test_call_begin(&call, ISO_OP_EXPAND);
    test_call_input(&call, random_dtype(state), rank, dims, test_values[0]);
    test_call_dims(&call, "shape", rank, times);
    test_light_check(&call);
}

static void check_blocks(uint64_t *state)
{
    const int64_t b = test_random_int(state, 1, 3);
    const int64_t deep[] = {2, 3 * b * b, test_random_int(state, 1, 6), 5};
    const int64_t flat[] = {2, 3, b * test_random_int(state, 1, 6), 5 * b};
    test_call_t call;

    test_call_begin(&call, ISO_OP_DEPTH_TO_SPACE);
    test_call_input(&call, random_dtype(state), 4, deep, test_values[0]);
    TEST_INTS(&call, "block", b);
    test_call_text(&call, "mode", deep[2] % 2 == 0 ? "dcr" : "crd");
    test_light_check(&call);

    test_call_begin(&call, ISO_OP_SPACE_TO_DEPTH);
    test_call_input(&call, random_dtype(state), 4, flat, test_values[0]);
    TEST_INTS(&call, "block", b);
    test_light_check(&call);
}

static void check_concat(uint64_t *state)
{
    const int rank = (int)test_random_int(state, 1, 4);
    const int axis = (int)test_random_int(state, 0, rank - 1);
    const int n = (int)test_random_int(state, 1, 4);
    const iso_dtype_t dtype = random_dtype(state);
    int64_t dims[4];
    test_call_t call;

    test_random_dims(state, rank, 2000, dims);
    test_call_begin(&call, ISO_OP_CONCAT);
    for (int i = 0; i < n; i++) {
        test_call_input(&call, dtype, rank, dims, test_values[i % 3]);
        dims[axis] = test_random_int(state, 0, 5);
    }
    TEST_INTS(&call, "axis", axis);
    test_light_check(&call);
}

static void check_pad(uint64_t *state)
{
    const int rank = (int)test_random_int(state, 1, 4);
    int64_t dims[4];
    int64_t pads[8] = {0};
    test_call_t call;

    test_random_dims(state, rank, 1000, dims);
    for (int i = 0; i < 2 * rank; i++) {
        const int64_t crop = dims[i % rank] > 4 ? -2 : 0;

        pads[i] = test_random_int(state, crop, 3);
    }
    test_call_begin(&call, ISO_OP_PAD);
    test_call_input(&call, random_dtype(state), rank, dims, test_values[0]);
    test_call_ints(&call, "pads", 2 * rank, pads);
    TEST_FLOATS(&call, "value", test_random_int(state, 0, 1) ? 0.0 : -1.5);
    test_light_check(&call);
}

static void check_gather(uint64_t *state)
{
    const int rank = (int)test_random_int(state, 1, 4);
    const int axis = (int)test_random_int(state, 0, rank - 1);
    int64_t dims[4];
    int64_t picks[35];
    test_call_t call;

    test_random_dims(state, rank, 500, dims);
    dims[axis] = dims[axis] == 0 ? 1 : dims[axis];
    for (int i = 0; i < 35; i++) {
        picks[i] = test_random_int(state, -dims[axis], dims[axis] - 1);
    }
    test_call_begin(&call, ISO_OP_GATHER);
    test_call_input(&call, random_dtype(state), rank, dims, test_values[0]);
    test_call_input(&call, ISO_DTYPE_I64, 2, (const int64_t[]){5, 7}, picks);
    TEST_INTS(&call, "axis", axis);
    test_light_check(&call);
}

static void test_moves(void)
{
    uint64_t state = TEST_LIGHT_SEED + 7;

    test_fill_values(&state);
    for (int round = 0; round < 2 * TEST_ROUNDS; round++) {
        check_transpose(&state);
        check_slice(&state);
        check_repeats(&state);
        check_blocks(&state);
        check_concat(&state);
        check_pad(&state);
        check_gather(&state);
    }
}

static void test_nothing_is_left(void)
{
    CU_ASSERT_EQUAL(iso_mem_count().blocks, 0);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"moves", test_moves},
        {"nothing is left", test_nothing_is_left},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"light moves", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    (void)printf("seed %d\n", (int)TEST_LIGHT_SEED);
    return iso_test_main(suites);
}
