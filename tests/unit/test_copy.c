/*
 * Copies of boxes: every element of the box arrives where it belongs, and
 * nothing else of the target changes.
 */
#include "base/mem.h"
#include "iso_test.h"
#include "iso_test_call.h"
#include "tensor/copy.h"

#include <stdio.h>
#include <string.h>

enum { SEED = 20250611, TRIALS = 3000, MOST_RANK = 5, MOST_DIM = 5 };
enum { UNTOUCHED = 0xa5 };

/* A tensor and the corner of a box in it. */
typedef struct end {
    int64_t dims[ISO_MAX_RANK];
    int64_t begin[ISO_MAX_RANK];
    uint8_t *data;
    size_t bytes;
} end_t;

static iso_copy_end_t place_of(const end_t *end)
{
    return (iso_copy_end_t){end->dims, end->begin};
}

/* Every byte says its place, as far as a byte can. */
static void allocate(end_t *end, int rank, size_t element_bytes, bool filled)
{
    end->bytes = element_bytes;
    for (int axis = 0; axis < rank; axis++) {
        end->bytes *= (size_t)end->dims[axis];
    }
    end->data = iso_alloc(end->bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(end->data);
    for (size_t i = 0; i < end->bytes; i++) {
        end->data[i] = filled ? (uint8_t)(i * 31 + (i >> 8) * 7) : UNTOUCHED;
    }
}

/* Byte offset of the element that is number `number` of the box. */
static size_t offset_of(const end_t *end, int rank, const int64_t *box,
                        int64_t number, size_t element_bytes)
{
    size_t offset = 0;
    size_t stride = element_bytes;

    for (int axis = rank - 1; axis >= 0; axis--) {
        offset += (size_t)(end->begin[axis] + number % box[axis]) * stride;
        stride *= (size_t)end->dims[axis];
        number /= box[axis];
    }
    return offset;
}

static int64_t count_of(int rank, const int64_t *box)
{
    int64_t count = 1;

    for (int axis = 0; axis < rank; axis++) {
        count *= box[axis];
    }
    return count;
}

/* The same by element, checked against what iso_copy_run left in to. */
static bool arrived(const end_t *from, const end_t *to, int rank,
                    const int64_t *box, size_t element_bytes)
{
    const int64_t count = count_of(rank, box);
    uint8_t *expected = iso_alloc(to->bytes);
    bool same;

    CU_ASSERT_PTR_NOT_NULL_FATAL(expected);
    memset(expected, UNTOUCHED, to->bytes);
    for (int64_t i = 0; i < count; i++) {
        memcpy(expected + offset_of(to, rank, box, i, element_bytes),
               from->data + offset_of(from, rank, box, i, element_bytes),
               element_bytes);
    }
    same = memcmp(expected, to->data, to->bytes) == 0;
    iso_free(expected);
    return same;
}

static void random_end(uint64_t *state, int rank, const int64_t *box,
                       end_t *end)
{
    for (int axis = 0; axis < rank; axis++) {
        const int64_t more = test_random_int(state, 0, 1) == 0
                                 ? 0
                                 : test_random_int(state, 0, 3);

        end->dims[axis] = box[axis] + more;
        end->begin[axis] = test_random_int(state, 0, more);
    }
}

static void test_random_boxes(void)
{
    uint64_t state = SEED;

    (void)printf("seed %d ", SEED);
    for (int trial = 0; trial < TRIALS; trial++) {
        const int rank = (int)test_random_int(&state, 0, MOST_RANK);
        const size_t element_bytes = (size_t)1 << test_random_int(&state, 0, 3);
        int64_t box[ISO_MAX_RANK];
        iso_copy_t copy;
        end_t from;
        end_t to;

        for (int axis = 0; axis < rank; axis++) {
            box[axis] =
                test_random_int(&state, trial % 8 == 0 ? 0 : 1, MOST_DIM);
        }
        random_end(&state, rank, box, &from);
        random_end(&state, rank, box, &to);
        allocate(&from, rank, element_bytes, true);
        allocate(&to, rank, element_bytes, false);
        iso_copy_of(element_bytes, rank, box, place_of(&from), place_of(&to),
                    &copy);
        iso_copy_run(&copy, from.data, to.data);
        CU_ASSERT_EQUAL(iso_copy_bytes(&copy),
                        (size_t)count_of(rank, box) * element_bytes);
        CU_ASSERT_TRUE(arrived(&from, &to, rank, box, element_bytes));
        iso_free(from.data);
        iso_free(to.data);
    }
}

static iso_copy_t copy_of(int rank, const int64_t *box, const int64_t *dims,
                          const int64_t *begin)
{
    static const int64_t zeros[ISO_MAX_RANK] = {0};
    iso_copy_t copy;

    iso_copy_of(4, rank, box, (iso_copy_end_t){dims, begin},
                (iso_copy_end_t){box, zeros}, &copy);
    return copy;
}

/* What is contiguous is one run, which is what saves packing. */
static void test_runs(void)
{
    static const int64_t dims[] = {1, 6, 4, 5};
    iso_copy_t copy = copy_of(4, dims, dims, (const int64_t[]){0, 0, 0, 0});

    CU_ASSERT_EQUAL(copy.rank, 0);
    CU_ASSERT_EQUAL(copy.run_bytes, 480);
    copy = copy_of(4, (const int64_t[]){1, 2, 4, 5}, dims,
                   (const int64_t[]){0, 3, 0, 0});
    CU_ASSERT_EQUAL(copy.rank, 0);
    CU_ASSERT_EQUAL(copy.run_bytes, 160);
    CU_ASSERT_EQUAL(copy.from_first, 240);
    CU_ASSERT_EQUAL(copy.to_first, 0);
    copy = copy_of(4, (const int64_t[]){1, 6, 1, 5}, dims,
                   (const int64_t[]){0, 0, 2, 0});
    CU_ASSERT_EQUAL(copy.rank, 1);
    CU_ASSERT_EQUAL(copy.run_bytes, 20);
    CU_ASSERT_EQUAL(copy.count[0], 6);
    copy = copy_of(4, (const int64_t[]){1, 6, 4, 2}, dims,
                   (const int64_t[]){0, 0, 0, 3});
    CU_ASSERT_EQUAL(copy.rank, 1);
    CU_ASSERT_EQUAL(copy.run_bytes, 8);
    CU_ASSERT_EQUAL(copy.count[0], 24);
}

/* No element: nothing is read or written, whatever the pointers. */
static void test_empty(void)
{
    static const int64_t dims[] = {0, INT64_MAX, 3};
    const iso_copy_t copy = copy_of(3, dims, dims, (const int64_t[]){0, 0, 0});

    CU_ASSERT_EQUAL(iso_copy_bytes(&copy), 0);
    iso_copy_run(&copy, NULL, NULL);
}

/* Offsets above 2^32 are counted; nothing is copied. */
static void test_large(void)
{
    static const int64_t dims[] = {1 << 20, 1 << 20};
    const iso_copy_t copy = copy_of(2, (const int64_t[]){1 << 19, 1 << 20},
                                    dims, (const int64_t[]){1 << 19, 0});

    CU_ASSERT_EQUAL(copy.from_first, (size_t)1 << 41);
    CU_ASSERT_EQUAL(iso_copy_bytes(&copy), (size_t)1 << 41);
    CU_ASSERT_EQUAL(copy.rank, 0);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"random boxes", test_random_boxes},
        {"runs", test_runs},
        {"an empty box", test_empty},
        {"a large box", test_large},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"copy", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };
    const int status = iso_test_main(suites);

    return iso_mem_count().blocks == 0 ? status : 1;
}
