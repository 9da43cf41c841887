/*
 * Property: a node on the GPU gives the bytes of the reference device,
 * whatever the shape and the values.
 *
 *     test_call_begin(&call, op); ... operands, attributes
 *     test_cuda_check(&call);
 */
#ifndef ISO_TEST_CUDA_H
#define ISO_TEST_CUDA_H

#include "iso_test_call.h"
#include "kernel/cuda.h"
#include "kernel/ref.h"

#include <stdlib.h>
#include <time.h>

enum { TEST_ELEMENTS = 3 << 20 };

static iso_cuda_t *test_cuda; /* one GPU for all tests of a program */
static uint64_t test_state;   /* of the generator */

/* Operands of all calls are taken from here: 0 and 1 clean numbers, 2 and 3
 * with specials. */
static float test_values[4][TEST_ELEMENTS];

static inline void test_cuda_fill(void)
{
    static const uint32_t special[] = {
        0x00000000U, 0x80000000U, 0x7f800000U, 0xff800000U, 0x7fc00000U,
        0xffc12345U, 0x7f812345U, 0x00000001U, 0x80000001U, 0x007fffffU,
        0x7f7fffffU, 0xff7fffffU, 0x3f800000U, 0xbf800000U, 0x40000000U,
        0x3f000000U, 0x40200000U, 0xc0600000U, 0x4b000001U, 0x42b20000U};
    const size_t count = sizeof special / sizeof special[0];

    for (int k = 0; k < 4; k++) {
        for (int i = 0; i < TEST_ELEMENTS; i++) {
            const uint64_t r = test_random(&test_state);
            float x =
                test_random_float(&test_state) * ((r & 64) != 0 ? 1.0F : 50.0F);

            if (k >= 2 && r % (i / 512 % 4 == 0 ? 2 : 512) == 0) {
                memcpy(&x, &special[(r >> 8) % count], sizeof x);
            }
            test_values[k][i] = x;
        }
    }
}

static inline int64_t test_pick(int64_t least, int64_t most)
{
    return test_random_int(&test_state, least, most);
}

/* `count` floats from some place among the values, not always aligned. */
static inline const float *test_some(int64_t count)
{
    const int64_t most = TEST_ELEMENTS - count;

    CU_ASSERT_FATAL(most >= 0);
    return test_values[test_pick(0, 3)] + test_pick(0, most < 63 ? most : 63);
}

static inline int64_t test_product(int rank, const int64_t *dims)
{
    int64_t product = 1;

    for (int axis = 0; axis < rank; axis++) {
        product *= dims[axis];
    }
    return product;
}

static inline void test_operand(test_call_t *call, int rank,
                                const int64_t *dims)
{
    test_call_input(call, ISO_DTYPE_F32, rank, dims,
                    test_some(test_product(rank, dims)));
}

/* Dims whose product is at most `most`. */
static inline void test_dims(int rank, int64_t most, int64_t *dims)
{
    for (int axis = 0; axis < rank; axis++) {
        const int64_t bound = most < 40 || test_pick(0, 3) == 0 ? most : 40;

        dims[axis] = bound < 1 ? 1 : test_pick(1, bound);
        most /= dims[axis];
    }
}

/* ---- On the GPU ---- */

enum {
    TEST_SLOT_BYTES = 1 << 27, /* more than the largest convolution makes */
    TEST_SCRATCH_BYTES = 1 << 28,
    TEST_GUARD = 64, /* bytes after the value that stay as they are */
};

/* Device memory of the operands, the value and the scratch. */
static char *test_slots[TEST_CALL_INPUTS + 1];
static void *test_scratch;

/* The operands there, aligned as it happens, to the width of an element. */
static inline iso_status_t test_cuda_bring(const test_call_t *call,
                                           iso_tensor_t *there,
                                           const iso_tensor_t **operands)
{
    for (int i = 0; i < call->n_inputs; i++) {
        const size_t width = iso_dtype_bytes(call->inputs[i].dtype);

        there[i] = call->inputs[i];
        there[i].data = test_slots[i] + (test_pick(0, 1) == 0 ? 0 : width);
        operands[i] = &there[i];
        ISO_TRY(iso_cuda_upload(test_cuda, there[i].data, call->inputs[i].data,
                                iso_tensor_bytes(&there[i])));
    }
    return ISO_OK;
}

/* Run the call on the GPU; found has TEST_GUARD bytes more than the value. */
static inline iso_status_t test_cuda_run(const test_call_t *call,
                                         iso_tensor_t *found)
{
    const iso_node_id_t id = iso_graph_find(call->graph, "call");
    const size_t bytes = iso_tensor_bytes(found) + TEST_GUARD;
    iso_tensor_t there[TEST_CALL_INPUTS];
    const iso_tensor_t *operands[TEST_CALL_INPUTS];
    iso_tensor_t value = *found;

    CU_ASSERT(iso_cuda_supports(call->graph, id));
    CU_ASSERT_FATAL(iso_cuda_scratch_bytes(call->graph, id) <=
                    TEST_SCRATCH_BYTES);
    value.data = test_slots[TEST_CALL_INPUTS];
    memset(found->data, 0xa5, bytes);
    ISO_TRY(iso_cuda_upload(test_cuda, value.data, found->data, bytes));
    ISO_TRY(test_cuda_bring(call, there, operands));
    ISO_TRY(
        iso_cuda_run(test_cuda, call->node, operands, &value, test_scratch));
    ISO_TRY(iso_cuda_download(test_cuda, found->data, value.data, bytes));
    return iso_cuda_wait(test_cuda);
}

static inline void test_cuda_print(const test_call_t *call,
                                   const iso_tensor_t *found)
{
    const uint8_t *x = call->output.data;
    const uint8_t *y = found->data;
    const size_t width = iso_dtype_bytes(found->dtype);
    size_t at = 0;

    while (at < iso_tensor_bytes(found) && x[at] == y[at]) {
        at++;
    }
    (void)fprintf(stderr, "%s, element %zu:", iso_op_string(call->op),
                  at / width);
    for (int i = 0; i < call->n_inputs; i++) {
        const iso_shape_t shape = iso_tensor_shape(&call->inputs[i]);
        char text[ISO_SHAPE_TEXT_BYTES];

        (void)fprintf(stderr, " %s", iso_shape_text(&shape, text));
    }
    for (int i = 0; i < call->n_attrs; i++) {
        (void)fprintf(stderr, " %s", call->attrs[i].name);
        for (int k = 0; k < call->attrs[i].count && k < 6; k++) {
            if (call->attrs[i].kind == ISO_ATTR_INTS) {
                (void)fprintf(stderr, " %lld", (long long)call->ints[i][k]);
            }
        }
    }
    (void)fprintf(stderr, "\n");
}

/* Compare the call by both and end it. */
static inline void test_cuda_check(test_call_t *call)
{
    const iso_status_t expected = test_call_run(call, iso_ref_run);
    iso_tensor_t found = call->output;
    size_t bytes = 0;
    bool same = false;

    CU_ASSERT_EQUAL_FATAL(expected, ISO_OK);
    bytes = iso_tensor_bytes(&found);
    CU_ASSERT_FATAL(bytes + TEST_GUARD <= TEST_SLOT_BYTES);
    found.data = iso_alloc(bytes + TEST_GUARD);
    CU_ASSERT_PTR_NOT_NULL_FATAL(found.data);
    if (test_cuda_run(call, &found) != ISO_OK) {
        (void)fprintf(stderr, "%s\n", iso_error_text());
    } else {
        same = memcmp(found.data, call->output.data, bytes) == 0 &&
               ((uint8_t *)found.data)[bytes] == 0xa5;
    }
    CU_ASSERT(same);
    if (!same) {
        test_cuda_print(call, &found);
    }
    iso_free(found.data);
    test_call_end(call);
}

/* ---- The program ---- */

static inline iso_status_t test_cuda_reserve(void)
{
    ISO_TRY(iso_cuda_create(0, &test_cuda));
    for (int i = 0; i <= TEST_CALL_INPUTS; i++) {
        ISO_TRY(iso_cuda_alloc(test_cuda, TEST_SLOT_BYTES,
                               (void **)&test_slots[i]));
    }
    return iso_cuda_alloc(test_cuda, TEST_SCRATCH_BYTES, &test_scratch);
}

/* Run the suites on GPU 0, with a seed that is printed or, to do a run again,
 * is taken from ISO_TEST_SEED. */
static inline int test_cuda_main(CU_SuiteInfo *suites)
{
    const char *seed = getenv("ISO_TEST_SEED");
    int code = 0;

    if (iso_cuda_count() == 0) {
        (void)printf("no GPU\n");
        return ISO_TEST_SKIP;
    }
    test_state = seed != NULL ? strtoull(seed, NULL, 10) : (uint64_t)time(NULL);
    (void)printf("ISO_TEST_SEED=%llu\n", (unsigned long long)test_state);
    test_cuda_fill();
    if (test_cuda_reserve() != ISO_OK) {
        (void)fprintf(stderr, "%s\n", iso_error_text());
        return 1;
    }
    (void)printf("%s\n", iso_cuda_text(test_cuda));
    code = iso_test_main(suites);
    for (int i = 0; i <= TEST_CALL_INPUTS; i++) {
        iso_cuda_free(test_cuda, test_slots[i]);
    }
    iso_cuda_free(test_cuda, test_scratch);
    iso_cuda_destroy(&test_cuda);
    return code;
}

#endif
