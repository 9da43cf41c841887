#include "iso_test_cuda.h"

/* Elements of all widths. */
static const iso_dtype_t dtypes[] = {ISO_DTYPE_F32, ISO_DTYPE_F16,
                                     ISO_DTYPE_I64, ISO_DTYPE_U8,
                                     ISO_DTYPE_F64, ISO_DTYPE_I32};

static iso_dtype_t any_dtype(void)
{
    return dtypes[test_pick(0, 5)];
}

/* The bits of the values, whatever they mean. */
static void any_operand(test_call_t *call, iso_dtype_t dtype, int rank,
                        const int64_t *dims)
{
    test_call_input(call, dtype, rank, dims,
                    test_some(2 * test_product(rank, dims)));
}

static void test_transpose(void)
{
    for (int round = 0; round < 40; round++) {
        const int rank = (int)test_pick(1, 6);
        int64_t dims[6] = {0};
        int64_t perm[6] = {0};
        test_call_t call;

        test_dims(rank, 50000, dims);
        for (int axis = 0; axis < rank; axis++) {
            const int64_t at = test_pick(0, axis);

            perm[axis] = perm[at];
            perm[at] = axis;
        }
        test_call_begin(&call, ISO_OP_TRANSPOSE);
        any_operand(&call, any_dtype(), rank, dims);
        test_call_ints(&call, "perm", rank, perm);
        test_cuda_check(&call);
    }
}

static void test_slice(void)
{
    for (int round = 0; round < 40; round++) {
        const int rank = (int)test_pick(1, 4);
        int64_t dims[4] = {0};
        int64_t starts[4] = {0};
        int64_t ends[4] = {0};
        int64_t steps[4] = {0};
        test_call_t call;

        test_dims(rank, 50000, dims);
        for (int axis = 0; axis < rank; axis++) {
            const int64_t first = test_pick(0, dims[axis] - 1);

            steps[axis] = test_pick(1, 3);
            starts[axis] = first;
            ends[axis] = test_pick(first + 1, dims[axis]);
            if (test_pick(0, 3) == 0) {
                steps[axis] = -steps[axis];
                ends[axis] = -1000000;
            }
        }
        test_call_begin(&call, ISO_OP_SLICE);
        any_operand(&call, any_dtype(), rank, dims);
        test_call_dims(&call, "starts", rank, starts);
        test_call_dims(&call, "ends", rank, ends);
        test_call_ints(&call, "steps", rank, steps);
        test_cuda_check(&call);
    }
}

static void test_repeats(void)
{
    for (int round = 0; round < 40; round++) {
        const int rank = (int)test_pick(1, 4);
        const bool is_tile = round % 2 == 0;
        int64_t dims[4] = {0};
        int64_t times[4] = {0};
        test_call_t call;

        test_dims(rank, 2000, dims);
        for (int axis = 0; axis < rank; axis++) {
            times[axis] = test_pick(1, 3);
            if (!is_tile && test_pick(0, 1) == 0) {
                dims[axis] = 1;
            } else if (!is_tile) {
                times[axis] = dims[axis];
            }
        }
        test_call_begin(&call, is_tile ? ISO_OP_TILE : ISO_OP_EXPAND);
        any_operand(&call, any_dtype(), rank, dims);
        if (is_tile) {
            test_call_ints(&call, "repeats", rank, times);
        } else {
            test_call_dims(&call, "shape", rank, times);
        }
        test_cuda_check(&call);
    }
}

static void test_blocks(void)
{
    for (int round = 0; round < 20; round++) {
        const int64_t b = test_pick(1, 3);
        int64_t dims[4] = {test_pick(1, 3), test_pick(1, 5), test_pick(1, 9),
                           test_pick(1, 9)};
        const bool is_deep = round % 2 == 0;
        test_call_t call;

        dims[1] *= is_deep ? b * b : 1;
        dims[2] *= is_deep ? 1 : b;
        dims[3] *= is_deep ? 1 : b;
        test_call_begin(&call, is_deep ? ISO_OP_DEPTH_TO_SPACE
                                       : ISO_OP_SPACE_TO_DEPTH);
        any_operand(&call, any_dtype(), 4, dims);
        TEST_INTS(&call, "block", b);
        if (is_deep) {
            test_call_text(&call, "mode", test_pick(0, 1) == 0 ? "dcr" : "crd");
        }
        test_cuda_check(&call);
    }
}

static void test_concat(void)
{
    for (int round = 0; round < 30; round++) {
        const int rank = (int)test_pick(1, 4);
        const int axis = (int)test_pick(0, rank - 1);
        const iso_dtype_t dtype = any_dtype();
        int64_t dims[4] = {0};
        test_call_t call;

        test_dims(rank, 10000, dims);
        test_call_begin(&call, ISO_OP_CONCAT);
        for (int64_t i = test_pick(1, 5); i > 0; i--) {
            dims[axis] = test_pick(0, 9);
            any_operand(&call, dtype, rank, dims);
        }
        TEST_INTS(&call, "axis", axis);
        test_cuda_check(&call);
    }
}

static void test_pad(void)
{
    static const char *const modes[] = {"constant", "reflect", "edge"};

    for (int round = 0; round < 60; round++) {
        const int rank = (int)test_pick(1, 4);
        int64_t dims[4] = {0};
        int64_t pads[8] = {0};
        test_call_t call;

        test_dims(rank, 10000, dims);
        for (int axis = 0; axis < rank; axis++) {
            pads[axis] = test_pick(dims[axis] > 4 ? -2 : 0, dims[axis] - 1);
            pads[axis + rank] = test_pick(0, dims[axis] - 1);
        }
        test_call_begin(&call, ISO_OP_PAD);
        any_operand(&call, any_dtype(), rank, dims);
        test_call_ints(&call, "pads", 2 * rank, pads);
        test_call_text(&call, "mode", modes[round % 3]);
        if (round % 3 == 0) {
            TEST_FLOATS(&call, "value", test_pick(0, 1) == 0 ? 0.0 : 1.5);
        }
        test_cuda_check(&call);
    }
}

static void test_where(void)
{
    static uint8_t chosen[10000];

    for (int i = 0; i < 10000; i++) {
        chosen[i] = (uint8_t)test_pick(0, 1);
    }
    for (int round = 0; round < 20; round++) {
        const iso_dtype_t dtype = any_dtype();
        int64_t dims[3] = {0};
        test_call_t call;

        test_dims(3, 10000, dims);
        test_call_begin(&call, ISO_OP_WHERE);
        test_call_input(&call, ISO_DTYPE_BOOL, 3, dims, chosen);
        any_operand(&call, dtype, 2, dims + 1);
        any_operand(&call, dtype, 3, dims);
        test_cuda_check(&call);
    }
}

/* ---- gather ---- */

enum { INDICES = 4000 };

typedef struct indices {
    iso_dtype_t dtype;
    int64_t wide[INDICES];
    int32_t narrow[INDICES];
} indices_t;

static const void *fill_indices(indices_t *indices, int64_t dim)
{
    indices->dtype = test_pick(0, 1) == 0 ? ISO_DTYPE_I64 : ISO_DTYPE_I32;
    for (int i = 0; i < INDICES; i++) {
        indices->wide[i] = test_pick(-dim, dim - 1);
        indices->narrow[i] = (int32_t)indices->wide[i];
    }
    return indices->dtype == ISO_DTYPE_I64 ? (const void *)indices->wide
                                           : (const void *)indices->narrow;
}

static void test_gather(void)
{
    static indices_t indices;

    for (int round = 0; round < 40; round++) {
        const int rank = (int)test_pick(1, 4);
        const int axis = (int)test_pick(0, rank - 1);
        const bool by_element = round % 2 == 0;
        int64_t dims[4] = {0};
        int64_t own[4] = {0};
        test_call_t call;

        test_dims(rank, INDICES, dims);
        memcpy(own, dims, sizeof own);
        own[axis] = test_pick(1, dims[axis]);

        const void *data = fill_indices(&indices, dims[axis]);

        test_call_begin(&call,
                        by_element ? ISO_OP_GATHER_ELEMENTS : ISO_OP_GATHER);
        any_operand(&call, any_dtype(), rank, dims);
        if (by_element) {
            test_call_input(&call, indices.dtype, rank, own, data);
        } else {
            test_call_input(&call, indices.dtype, 2,
                            (const int64_t[]){test_pick(1, 5), 7}, data);
        }
        TEST_INTS(&call, "axis", axis);
        test_cuda_check(&call);
    }
}

/* A bad index is a failure at the wait, in the words of ref; after that the
 * GPU goes on. */
static void test_gather_bad(void)
{
    static const int64_t indices[] = {0, -5, 3, 4, -6, 9};

    for (int round = 0; round < 2; round++) {
        char expected[ISO_ERROR_TEXT_BYTES];
        iso_tensor_t found;
        test_call_t call;

        test_call_begin(&call, ISO_OP_GATHER);
        TEST_F32(&call, test_some(20), 5, 4);
        test_call_input(&call, ISO_DTYPE_I64, 1, (const int64_t[]){6}, indices);
        CU_ASSERT_EQUAL(test_call_run(&call, iso_ref_run), ISO_INPUT);
        (void)snprintf(expected, sizeof expected, "%s", iso_error_text());
        iso_error_clear();
        found = call.output;
        found.data = iso_alloc(iso_tensor_bytes(&found) + TEST_GUARD);
        CU_ASSERT_EQUAL(test_cuda_run(&call, &found), ISO_INPUT);
        CU_ASSERT_STRING_EQUAL(iso_error_text(), expected);
        CU_ASSERT_EQUAL(iso_cuda_wait(test_cuda), ISO_OK);
        iso_free(found.data);
        test_call_end(&call);
    }
}

/* ---- The context ---- */

static void test_memory(void)
{
    void *data = NULL;

    CU_ASSERT(iso_cuda_memory(test_cuda) > 0);
    CU_ASSERT_EQUAL(iso_cuda_alloc(test_cuda, (size_t)1 << 50, &data),
                    ISO_NOMEM);
    CU_ASSERT_PTR_NULL(data);
    CU_ASSERT_PTR_NOT_NULL(strstr(iso_error_text(), "GPU 0"));
    CU_ASSERT_PTR_NOT_NULL(strstr(iso_error_text(), "1125899906842624 bytes"));
    CU_ASSERT_EQUAL(iso_cuda_alloc(test_cuda, 0, &data), ISO_OK);
    iso_cuda_free(test_cuda, data);
    CU_ASSERT_EQUAL(iso_cuda_alloc_host(test_cuda, 1000, &data), ISO_OK);
    iso_cuda_free_host(test_cuda, data);
}

static void test_ordinal(void)
{
    iso_cuda_t *cuda = NULL;

    CU_ASSERT_EQUAL(iso_cuda_create(iso_cuda_count(), &cuda), ISO_UNSUPPORTED);
    CU_ASSERT_PTR_NULL(cuda);
    CU_ASSERT_PTR_NOT_NULL(strstr(iso_error_text(), "this machine has"));
}

int main(void)
{
    CU_TestInfo tests[] = {{"transpose", test_transpose},
                           {"slice", test_slice},
                           {"tile, expand", test_repeats},
                           {"depth and space", test_blocks},
                           {"concat", test_concat},
                           {"pad", test_pad},
                           {"where", test_where},
                           {"gather", test_gather},
                           {"gather: a bad index", test_gather_bad},
                           {"memory", test_memory},
                           {"ordinal", test_ordinal},
                           CU_TEST_INFO_NULL};
    CU_SuiteInfo suites[] = {{"cuda move", NULL, NULL, NULL, NULL, tests},
                             CU_SUITE_INFO_NULL};

    return test_cuda_main(suites);
}
