/*
 * Values in channel blocks (kernel/format.h) for tests: copied by plain
 * loops, with lanes behind the last channel that would be noticed in any
 * result; and a context of the fast kernels for each instruction set.
 */
#ifndef ISO_TEST_BLOCKED_H
#define ISO_TEST_BLOCKED_H

#include "iso_test_call.h"
#include "kernel/cpu/cpu_impl.h"
#include "kernel/cpu/light_isa.h"

enum { TEST_GUARD = 64 }; /* elements behind a result */

static const iso_family_t test_families[] = {
    ISO_FAMILY_SCALAR, ISO_FAMILY_HASWELL, ISO_FAMILY_SKX};

/* A context as one of another family would be, but for the kernels of BLIS,
 * of which a process has one family. */
static inline iso_cpu_t test_cpu_of(const iso_cpu_t *cpu, iso_family_t family)
{
    iso_cpu_t other = *cpu;

    other.family = family;
    other.light.isa = iso__light_isa_of(family);
    return other;
}

static inline float test_float_of(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t test_bits_of(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline int64_t test_blocked_count(const iso_tensor_t *plain)
{
    int64_t count = plain->dims[0] * ((plain->dims[1] + 15) / 16) * 16;

    for (int axis = 2; axis < plain->rank; axis++) {
        count *= plain->dims[axis];
    }
    return count;
}

/* Where element number index of a plain value is in blocks. */
static inline int64_t test_blocked_at(const iso_tensor_t *plain, int64_t index)
{
    const int64_t channels = plain->dims[1];
    int64_t plane = 1;

    for (int axis = 2; axis < plain->rank; axis++) {
        plane *= plain->dims[axis];
    }

    const int64_t image = index / (channels * plane);
    const int64_t c = index / plane % channels;
    const int64_t block = image * ((channels + 15) / 16) + c / 16;

    return (block * plane + index % plane) * 16 + c % 16;
}

/* A copy in blocks; lanes without a channel are NaN or huge. iso_free. */
static inline float *test_block(const iso_tensor_t *plain)
{
    const int64_t count = test_blocked_count(plain);
    const float *from = plain->data;
    float *to = iso_alloc((size_t)count * sizeof *to);

    CU_ASSERT_PTR_NOT_NULL_FATAL(to);
    for (int64_t i = 0; i < count; i++) {
        to[i] = test_float_of(i % 3 == 0 ? 0x7fc54321U : 0x7f7fffffU);
    }
    for (int64_t i = 0; i < iso_tensor_count(plain); i++) {
        to[test_blocked_at(plain, i)] = from[i];
    }
    return to;
}

/* Room for a result in either format, and a guard behind it. iso_free. */
static inline float *test_result(const iso_tensor_t *plain, iso_format_t format)
{
    const int64_t count = format == ISO_FORMAT_BLOCKED
                              ? test_blocked_count(plain)
                              : iso_tensor_count(plain);
    float *result = iso_alloc((size_t)(count + TEST_GUARD) * sizeof *result);

    CU_ASSERT_PTR_NOT_NULL_FATAL(result);
    memset(result, 0xa5, (size_t)(count + TEST_GUARD) * sizeof *result);
    return result;
}

/* Are the bits of a result those of a plain value, the guard untouched? */
static inline bool test_result_is(const float *result, iso_format_t format,
                                  const iso_tensor_t *want)
{
    const bool is_blocked = format == ISO_FORMAT_BLOCKED;
    const int64_t count = iso_tensor_count(want);
    const int64_t last = is_blocked ? test_blocked_count(want) : count;
    const float *expected = want->data;

    for (int64_t i = 0; i < count; i++) {
        const int64_t at = is_blocked ? test_blocked_at(want, i) : i;

        if (test_bits_of(result[at]) != test_bits_of(expected[i])) {
            (void)fprintf(stderr, "element %lld is %a, expected %a\n",
                          (long long)i, (double)result[at],
                          (double)expected[i]);
            return false;
        }
    }
    for (int64_t i = last; i < last + TEST_GUARD; i++) {
        if (test_bits_of(result[i]) != 0xa5a5a5a5U) {
            (void)fprintf(stderr, "written behind the end\n");
            return false;
        }
    }
    return true;
}

#endif
