/*
 * Property: a light op gives the bits of the reference device, with every
 * instruction set of this CPU and at 1 and 2 threads, whatever the shape and
 * the values.
 */
#ifndef ISO_TEST_LIGHT_H
#define ISO_TEST_LIGHT_H

#include "iso_test_call.h"
#include "kernel/cpu/light.h"
#include "kernel/ref.h"

enum { TEST_LIGHT_SEED = 20240229, TEST_ROUNDS = 60, TEST_ELEMENTS = 1 << 17 };

/* Operands of all calls are taken from here. */
static float test_values[3][TEST_ELEMENTS + 64];

static inline void test_fill_values(uint64_t *state)
{
    static const uint32_t special[] = {
        0x00000000U, 0x80000000U, 0x7f800000U, 0xff800000U, 0x7fc00000U,
        0xffc12345U, 0x7f812345U, 0x00000001U, 0x80000001U, 0x007fffffU,
        0x7f7fffffU, 0xff7fffffU, 0x3f800000U, 0xbf800000U, 0x40000000U,
        0x3f000000U, 0x40200000U, 0xc0600000U, 0x4b000001U, 0x42b20000U};
    const size_t count = sizeof special / sizeof special[0];

    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < TEST_ELEMENTS + 64; i++) {
            const uint64_t r = test_random(state);
            float x = test_random_float(state) * ((r & 64) != 0 ? 1.0F : 50.0F);

            /* Here and there dense enough for two to meet. */
            if (r % (i / 512 % 4 == 0 ? 2 : 32) == 0) {
                memcpy(&x, &special[(r >> 8) % count], sizeof x);
            }
            test_values[k][i] = x;
        }
    }
}

/* Clean numbers, so that a single NaN does not hide the rest of a row. */
static inline void test_fill_clean(uint64_t *state)
{
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < TEST_ELEMENTS + 64; i++) {
            test_values[k][i] = 4 * test_random_float(state);
        }
    }
}

/* Some place among the values, not always aligned. */
static inline const float *test_some(uint64_t *state, int k)
{
    return test_values[k] + test_random_int(state, 0, 63);
}

/* rank dims whose product is at most `most`; zeros now and then. */
static inline void test_random_dims(uint64_t *state, int rank, int64_t most,
                                    int64_t *dims)
{
    static const int64_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 31, 33};
    const int wide = (int)test_random_int(state, 0, 3 * (int64_t)rank + 1);

    for (int axis = 0; axis < rank; axis++) {
        int64_t dim = sizes[test_random_int(state, 0, 11)];

        if (axis == wide) {
            dim = test_random_int(state, 1, most);
        }
        if (test_random_int(state, 0, 60) == 0) {
            dim = 0;
        }
        dims[axis] = dim < most ? dim : most;
        most = dims[axis] > 0 ? most / dims[axis] : most;
    }
}

static inline void test_print_call(const test_call_t *call, const char *family,
                                   int threads)
{
    (void)fprintf(stderr, "%s, %s, %d threads:", iso_op_string(call->op),
                  family, threads);
    for (int i = 0; i < call->n_inputs; i++) {
        const iso_shape_t shape = iso_tensor_shape(&call->inputs[i]);
        char text[ISO_SHAPE_TEXT_BYTES];

        (void)fprintf(stderr, " %s", iso_shape_text(&shape, text));
    }
    (void)fprintf(stderr, "\n");
}

/* Runs the call by the reference device and every light one. */
static inline void test_light_check(test_call_t *call)
{
    static const iso_family_t families[] = {ISO_FAMILY_SCALAR,
                                            ISO_FAMILY_HASWELL, ISO_FAMILY_SKX};
    const iso_tensor_t *inputs[TEST_CALL_INPUTS];
    iso_tensor_t found;

    CU_ASSERT_EQUAL_FATAL(test_call_run(call, iso_ref_run), ISO_OK);
    found = call->output;
    found.data = iso_alloc(iso_tensor_bytes(&found) + 64);
    CU_ASSERT_PTR_NOT_NULL_FATAL(found.data);
    for (int i = 0; i < call->n_inputs; i++) {
        inputs[i] = &call->inputs[i];
    }
    for (int k = 0; k < 6; k++) {
        const iso_family_t family = families[k / 2];
        const iso__light_t light = {iso__light_isa_of(family), k % 2 + 1};
        const size_t bytes = iso_tensor_bytes(&found);
        bool same;

        if (!iso_family_supported(family)) {
            continue;
        }
        memset(found.data, 0xa5, bytes + 64);
        same = iso__light_run(&light, call->node, inputs, &found) &&
               memcmp(found.data, call->output.data, bytes) == 0 &&
               ((uint8_t *)found.data)[bytes] == 0xa5;
        CU_ASSERT(same);
        if (!same) {
            test_print_call(call, iso_family_string(family), light.threads);
        }
    }
    iso_free(found.data);
    test_call_end(call);
}

#endif
