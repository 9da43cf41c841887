#include "isotome/error.h"

#include "base/mem.h"
#include "iso_test.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

static void test_blocks_are_aligned_and_counted(void)
{
    static const size_t sizes[] = {0, 1, 63, 64, 65, 4096, 1000003};
    enum { COUNT = sizeof sizes / sizeof sizes[0] };
    iso_mem_count_t before = iso_mem_count();
    void *blocks[COUNT];
    size_t total = 0;

    for (int i = 0; i < COUNT; i++) {
        blocks[i] = iso_alloc(sizes[i]);
        CU_ASSERT_PTR_NOT_NULL_FATAL(blocks[i]);
        CU_ASSERT_EQUAL((uintptr_t)blocks[i] % ISO_MEM_ALIGNMENT, 0);
        memset(blocks[i], 0xff, sizes[i]);
        total += sizes[i];
    }
    iso_mem_count_t held = iso_mem_count();
    CU_ASSERT_EQUAL(held.blocks, before.blocks + COUNT);
    CU_ASSERT_EQUAL(held.allocations, before.allocations + COUNT);
    CU_ASSERT_EQUAL(held.bytes, before.bytes + total);
    CU_ASSERT(held.peak_bytes >= held.bytes);
    for (int i = 0; i < COUNT; i++) {
        iso_free(blocks[i]);
    }
    iso_mem_count_t after = iso_mem_count();
    CU_ASSERT_EQUAL(after.blocks, before.blocks);
    CU_ASSERT_EQUAL(after.bytes, before.bytes);
    CU_ASSERT_EQUAL(after.peak_bytes, held.peak_bytes);
    iso_free(NULL);
}

static void test_zeroed(void)
{
    int64_t before = iso_mem_count().blocks;
    const char zeros[3 * 111] = {0};
    char *block = iso_alloc_zeroed(3, 111);

    CU_ASSERT_PTR_NOT_NULL_FATAL(block);
    CU_ASSERT_EQUAL(memcmp(block, zeros, sizeof zeros), 0);
    iso_free(block);
    block = iso_alloc_zeroed(0, 8);
    CU_ASSERT_PTR_NOT_NULL(block);
    iso_free(block);
    block = iso_alloc_zeroed(8, 0);
    CU_ASSERT_PTR_NOT_NULL(block);
    iso_free(block);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

static void test_sizes_that_cannot_be(void)
{
    int64_t before = iso_mem_count().blocks;

    iso_error_clear();
    CU_ASSERT_PTR_NULL(iso_alloc(SIZE_MAX));
    CU_ASSERT_PTR_NOT_NULL(
        strstr(iso_error_text(), "18446744073709551615 bytes"));
    CU_ASSERT_PTR_NULL(iso_alloc(SIZE_MAX - 64));
    CU_ASSERT_PTR_NULL(iso_alloc(PTRDIFF_MAX));
    CU_ASSERT_PTR_NULL(iso_alloc_zeroed(SIZE_MAX / 2, 3));
    CU_ASSERT_PTR_NULL(iso_alloc_zeroed((SIZE_MAX >> 32) + 1, (size_t)1 << 32));
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

static void test_realloc(void)
{
    iso_mem_count_t before = iso_mem_count();
    char *block = iso_realloc(NULL, 5);

    CU_ASSERT_PTR_NOT_NULL_FATAL(block);
    memcpy(block, "abcd", 5);
    block = iso_realloc(block, 5000);
    CU_ASSERT_PTR_NOT_NULL_FATAL(block);
    CU_ASSERT_STRING_EQUAL(block, "abcd");
    CU_ASSERT_PTR_NULL(iso_realloc(block, SIZE_MAX));
    CU_ASSERT_STRING_EQUAL(block, "abcd");
    block = iso_realloc(block, 2);
    CU_ASSERT_PTR_NOT_NULL_FATAL(block);
    CU_ASSERT_EQUAL(memcmp(block, "ab", 2), 0);
    CU_ASSERT_EQUAL(iso_mem_count().bytes, before.bytes + 2);
    iso_free(block);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before.blocks);
}

static void test_array_grow(void)
{
    iso_mem_count_t before = iso_mem_count();
    int64_t most = 0;
    int32_t *array = NULL;

    for (int32_t i = 0; i < 1000; i++) {
        int32_t *grown = iso_array_grow(array, i, &most, sizeof *array);

        CU_ASSERT_PTR_NOT_NULL_FATAL(grown);
        CU_ASSERT(most > i);
        array = grown;
        array[i] = i;
    }
    CU_ASSERT_EQUAL(most, 1024);
    CU_ASSERT_EQUAL(iso_mem_count().allocations - before.allocations, 8);
    CU_ASSERT_EQUAL(array[0], 0);
    CU_ASSERT_EQUAL(array[999], 999);
    iso_mem_fail_at(1);
    CU_ASSERT_PTR_NULL(iso_array_grow(array, 1024, &most, sizeof *array));
    iso_mem_fail_at(0);
    CU_ASSERT_EQUAL(most, 1024);
    CU_ASSERT_EQUAL(array[999], 999);
    iso_free(array);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before.blocks);
}

static void test_text_copy(void)
{
    int64_t before = iso_mem_count().blocks;
    char *empty = iso_text_copy("");
    char *text = iso_text_copy("conv1");

    CU_ASSERT_PTR_NOT_NULL_FATAL(empty);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    CU_ASSERT_STRING_EQUAL(empty, "");
    CU_ASSERT_STRING_EQUAL(text, "conv1");
    iso_free(empty);
    iso_free(text);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

static void test_chosen_failure(void)
{
    iso_mem_count_t before = iso_mem_count();

    iso_mem_fail_at(2);
    void *first = iso_alloc(1);
    void *second = iso_alloc(1);
    void *third = iso_alloc(1);
    CU_ASSERT_PTR_NOT_NULL(first);
    CU_ASSERT_PTR_NULL(second);
    CU_ASSERT_PTR_NOT_NULL(third);
    CU_ASSERT_EQUAL(iso_mem_count().allocations, before.allocations + 2);
    iso_free(first);
    iso_free(third);

    iso_mem_fail_at(1);
    iso_mem_fail_at(0);
    first = iso_alloc(1);
    CU_ASSERT_PTR_NOT_NULL(first);
    iso_free(first);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before.blocks);
}

enum { THREAD_CALLS = 2000 };

static void *allocate_much(void *arg)
{
    bool *failed = arg;

    for (size_t i = 0; i < THREAD_CALLS; i++) {
        void *block = iso_alloc(i);
        *failed = *failed || block == NULL;
        iso_free(block);
    }
    return NULL;
}

static void test_threads_count_together(void)
{
    enum { THREADS = 4, CALLS = THREADS * THREAD_CALLS };
    pthread_t threads[THREADS];
    bool failed[THREADS] = {false};
    iso_mem_count_t before = iso_mem_count();

    for (int i = 0; i < THREADS; i++) {
        CU_ASSERT_EQUAL_FATAL(
            pthread_create(&threads[i], NULL, allocate_much, &failed[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        CU_ASSERT_EQUAL(pthread_join(threads[i], NULL), 0);
        CU_ASSERT_FALSE(failed[i]);
    }
    iso_mem_count_t after = iso_mem_count();
    CU_ASSERT_EQUAL(after.blocks, before.blocks);
    CU_ASSERT_EQUAL(after.bytes, before.bytes);
    CU_ASSERT_EQUAL(after.allocations, before.allocations + CALLS);
}

static void test_process_peak(void)
{
    const size_t bytes = (size_t)32 << 20;
    char *block = iso_alloc_zeroed(1, bytes);

    CU_ASSERT_PTR_NOT_NULL_FATAL(block);
    CU_ASSERT(iso_mem_process_peak_bytes() > bytes);
    iso_free(block);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"blocks are aligned and counted", test_blocks_are_aligned_and_counted},
        {"zeroed", test_zeroed},
        {"sizes that cannot be", test_sizes_that_cannot_be},
        {"realloc", test_realloc},
        {"array grow", test_array_grow},
        {"text copy", test_text_copy},
        {"chosen failure", test_chosen_failure},
        {"threads count together", test_threads_count_together},
        {"process peak", test_process_peak},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"mem", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
