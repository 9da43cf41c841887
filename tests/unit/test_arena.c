#include "base/arena.h"
#include "base/mem.h"
#include "iso_test.h"

#include <stdbool.h>
#include <string.h>

static bool is_zero(const unsigned char *block, size_t size)
{
    bool zero = true;

    for (size_t i = 0; i < size; i++) {
        zero = zero && block[i] == 0;
    }
    return zero;
}

/* Sizes from tiny to larger than a chunk; none may touch another. */
static void test_blocks_do_not_overlap(void)
{
    enum { COUNT = 3000 };
    static unsigned char *blocks[COUNT];
    static size_t sizes[COUNT];
    int64_t before = iso_mem_count().blocks;
    iso_arena_t *arena = NULL;
    size_t total = 0;
    bool good = true;

    CU_ASSERT_EQUAL_FATAL(iso_arena_create(&arena), ISO_OK);
    for (size_t i = 0; i < COUNT; i++) {
        sizes[i] = i % 97 == 0 ? 5000 + i : (i * 7919) % 300;
        blocks[i] = iso_arena_alloc(arena, sizes[i]);
        CU_ASSERT_PTR_NOT_NULL_FATAL(blocks[i]);
        good = good && (uintptr_t)blocks[i] % 16 == 0 &&
               is_zero(blocks[i], sizes[i]);
        memset(blocks[i], (int)(i % 251) + 1, sizes[i]);
        total += sizes[i];
    }
    for (size_t i = 0; i < COUNT; i++) {
        for (size_t j = 0; j < sizes[i]; j++) {
            good = good && blocks[i][j] == i % 251 + 1;
        }
    }
    CU_ASSERT(good);
    CU_ASSERT_EQUAL(iso_arena_bytes(arena), total);
    iso_arena_destroy(&arena);
    CU_ASSERT_PTR_NULL(arena);
    iso_arena_destroy(&arena);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

/* Ten thousand small blocks must not be ten thousand allocations. */
static void test_small_blocks_share_chunks(void)
{
    iso_mem_count_t before = iso_mem_count();
    iso_arena_t *arena = NULL;

    CU_ASSERT_EQUAL_FATAL(iso_arena_create(&arena), ISO_OK);
    for (int i = 0; i < 10000; i++) {
        CU_ASSERT_PTR_NOT_NULL(iso_arena_alloc(arena, 24));
        if (i % 100 == 0) {
            CU_ASSERT_PTR_NOT_NULL(iso_arena_alloc(arena, 3000));
        }
    }
    CU_ASSERT(iso_mem_count().allocations - before.allocations < 120);
    iso_arena_destroy(&arena);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before.blocks);
}

static void test_copies(void)
{
    int64_t before = iso_mem_count().blocks;
    const int numbers[] = {1, 2, 3};
    iso_arena_t *arena = NULL;

    CU_ASSERT_EQUAL_FATAL(iso_arena_create(&arena), ISO_OK);
    const char *text = iso_arena_text(arena, "conv1");
    const char *empty = iso_arena_text(arena, "");
    const int *copy = iso_arena_copy(arena, numbers, sizeof numbers);
    const char *made = iso_arena_format(arena, "%s_%d", "layer", 12);
    const char *wide = iso_arena_format(arena, "%20000d", 7);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    CU_ASSERT_PTR_NOT_NULL_FATAL(empty);
    CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
    CU_ASSERT_PTR_NOT_NULL_FATAL(made);
    CU_ASSERT_PTR_NOT_NULL_FATAL(wide);
    CU_ASSERT_STRING_EQUAL(text, "conv1");
    CU_ASSERT_STRING_EQUAL(empty, "");
    CU_ASSERT_EQUAL(memcmp(copy, numbers, sizeof numbers), 0);
    CU_ASSERT_STRING_EQUAL(made, "layer_12");
    CU_ASSERT_EQUAL(strlen(wide), 20000);
    CU_ASSERT_PTR_NOT_NULL(iso_arena_copy(arena, NULL, 0));
    iso_arena_destroy(&arena);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

static void test_failures(void)
{
    int64_t before = iso_mem_count().blocks;
    iso_arena_t *arena = NULL;

    iso_mem_fail_at(1);
    CU_ASSERT_EQUAL(iso_arena_create(&arena), ISO_NOMEM);
    CU_ASSERT_PTR_NULL(arena);
    CU_ASSERT_EQUAL_FATAL(iso_arena_create(&arena), ISO_OK);
    CU_ASSERT_PTR_NULL(iso_arena_alloc(arena, SIZE_MAX));
    CU_ASSERT_PTR_NULL(iso_arena_alloc(arena, SIZE_MAX / 2));
    CU_ASSERT_PTR_NULL(iso_arena_array(arena, SIZE_MAX / 4, 8));
    iso_mem_fail_at(1);
    CU_ASSERT_PTR_NULL(iso_arena_text(arena, "x"));
    CU_ASSERT_EQUAL(iso_arena_bytes(arena), 0);
    CU_ASSERT_PTR_NOT_NULL(iso_arena_array(arena, 3, 8));
    iso_mem_fail_at(1);
    CU_ASSERT_PTR_NULL(iso_arena_format(arena, "%9000d", 1));
    CU_ASSERT_EQUAL(iso_arena_bytes(arena), 24);
    iso_arena_destroy(&arena);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, before);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"blocks do not overlap", test_blocks_do_not_overlap},
        {"small blocks share chunks", test_small_blocks_share_chunks},
        {"copies", test_copies},
        {"failures", test_failures},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"arena", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
