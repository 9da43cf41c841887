/*
 * Each test of a suite gives back all counted memory that it takes:
 *
 *     {"machine", NULL, NULL, test_remember_blocks, test_check_blocks, tests}
 */
#ifndef ISO_TEST_MEMORY_H
#define ISO_TEST_MEMORY_H

#include "base/mem.h"
#include "iso_test.h"

static int64_t test_blocks_before;

static inline void test_remember_blocks(void)
{
    test_blocks_before = iso_mem_count().blocks;
}

static inline void test_check_blocks(void)
{
    CU_ASSERT_EQUAL(iso_mem_count().blocks, test_blocks_before);
}

#endif
