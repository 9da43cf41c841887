#include "iso_test.h"
#include "iso_test_definition.h"
#include "kernel/arith.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static uint32_t bits_of(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* ---- Blocks ---- */

/* Blocks cover the reduction in order, none is empty or longer than 256. */
static void check_cover(iso_blocks_t blocks)
{
    int64_t at = 0;

    for (int64_t i = 0; i < blocks.count; i++) {
        const int64_t begin = iso_blocks_begin(&blocks, i);
        const int64_t end = iso_blocks_end(&blocks, i);

        CU_ASSERT_EQUAL(begin, at);
        CU_ASSERT(end > begin && end - begin <= ISO_BLOCK_MOST);
        at = end;
    }
    CU_ASSERT_EQUAL(at, blocks.length);
}

static void test_matmul_blocks(void)
{
    const int64_t sizes[] = {0, 1, 2, 255, 256, 257, 511, 512, 513, 4093};

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const iso_blocks_t blocks = iso_blocks_of_matmul(sizes[i]);

        CU_ASSERT_EQUAL(blocks.length, sizes[i]);
        CU_ASSERT_EQUAL(blocks.count, (sizes[i] + 255) / 256);
        check_cover(blocks);
    }

    const iso_blocks_t large = iso_blocks_of_matmul((INT64_C(1) << 31) + 1);

    CU_ASSERT_EQUAL(large.count, (INT64_C(1) << 23) + 1);
    CU_ASSERT_EQUAL(iso_blocks_begin(&large, INT64_C(1) << 23), INT64_C(1)
                                                                    << 31);
    CU_ASSERT_EQUAL(iso_blocks_end(&large, INT64_C(1) << 23),
                    (INT64_C(1) << 31) + 1);
}

static void test_conv_blocks(void)
{
    for (int64_t taps = 1; taps < 600; taps++) {
        for (int64_t channels = 0; channels < 70; channels += 3) {
            const iso_blocks_t blocks = iso_blocks_of_conv(channels, taps);

            CU_ASSERT_EQUAL(blocks.length, channels * taps);
            check_cover(blocks);
        }
    }
    CU_ASSERT_EQUAL(iso_blocks_of_conv(64, 9).channels, 16); /* not 28 */
    CU_ASSERT_EQUAL(iso_blocks_of_conv(3, 49).channels, 4);
    CU_ASSERT_EQUAL(iso_blocks_of_conv(3, 49).count, 1);
    CU_ASSERT_EQUAL(iso_blocks_of_conv(64, 1).channels, 256);
    CU_ASSERT_EQUAL(iso_blocks_of_conv(3, 256).channels, 1);
    CU_ASSERT_EQUAL(iso_blocks_of_conv(3, 257).channels, 0);
    CU_ASSERT_EQUAL(iso_blocks_of_conv(3, 257).count, 6);

    const iso_blocks_t wide = iso_blocks_of_conv(3, 600);

    CU_ASSERT_EQUAL(iso_blocks_begin(&wide, 4), 600 + 256);
    CU_ASSERT_EQUAL(iso_blocks_end(&wide, 5), 1200);
}

/* ---- The tree ---- */

static float tree_of(const float *blocks, int64_t count)
{
    definition_tree_t tree;

    definition_tree_begin(&tree);
    for (int64_t i = 0; i < count; i++) {
        definition_tree_push(&tree, blocks[i]);
    }
    return definition_tree_finish(&tree);
}

/* The definition, pair by pair. */
static float tree_defined(const float *blocks, int64_t count)
{
    float level[64];

    memcpy(level, blocks, (size_t)count * sizeof *level);
    while (count > 1) {
        for (int64_t i = 0; i < count; i += 2) {
            level[i / 2] = i + 1 < count ? level[i] + level[i + 1] : level[i];
        }
        count = (count + 1) / 2;
    }
    return count == 0 ? 0.0F : level[0] + 0.0F;
}

/* Block values whose sum depends on the order at every step. */
static void fill(float *blocks, int count)
{
    uint32_t state = 12345;

    for (int i = 0; i < count; i++) {
        state = state * 1664525U + 1013904223U;
        blocks[i] = ldexpf((float)(int32_t)state, (int)(state >> 8 & 15U) - 40);
    }
}

static void test_tree_is_the_definition(void)
{
    float blocks[64];

    fill(blocks, 64);
    for (int count = 0; count <= 64; count++) {
        CU_ASSERT_EQUAL(bits_of(tree_of(blocks, count)),
                        bits_of(tree_defined(blocks, count)));
    }
}

static void test_tree_golden(void)
{
    /* ((1 + 2^-24) + (2^-24 + 2^-24)) + 2^-24: the pairs decide. */
    const float e = 0x1p-24F;
    const float blocks[] = {1.0F, e, e, e, e};

    CU_ASSERT_EQUAL(bits_of(tree_of(blocks, 2)), 0x3f800000U);
    CU_ASSERT_EQUAL(bits_of(tree_of(blocks, 3)), 0x3f800000U);
    CU_ASSERT_EQUAL(bits_of(tree_of(blocks, 4)), 0x3f800001U);
    CU_ASSERT_EQUAL(bits_of(tree_of(blocks, 5)), 0x3f800002U);
}

static void test_tree_is_never_negative_zero(void)
{
    const float blocks[] = {-0.0F, -0.0F, -0.0F};

    for (int count = 0; count <= 3; count++) {
        CU_ASSERT_EQUAL(bits_of(tree_of(blocks, count)), 0U);
    }
}

/* A cut at a power of two of blocks: each side's tree, then one addition. */
static void test_tree_cut_at_powers_of_two(void)
{
    float blocks[64];

    fill(blocks, 64);
    for (int width = 1; width < 64; width *= 2) {
        for (int count = width + 1; count <= 2 * width; count++) {
            const float left = tree_defined(blocks, width);
            const float right = tree_defined(blocks + width, count - width);

            CU_ASSERT_EQUAL(bits_of(tree_of(blocks, count)),
                            bits_of((left + right) + 0.0F));
        }
    }

    /* More parts of 8 blocks each, themselves summed by the tree. */
    float parts[8];

    for (int i = 0; i < 8; i++) {
        parts[i] = tree_of(&blocks[(ptrdiff_t)8 * i], 8);
    }
    CU_ASSERT_EQUAL(bits_of(tree_of(parts, 8)), bits_of(tree_of(blocks, 64)));
}

/* ---- Lanes, NaN ---- */

static void test_lanes(void)
{
    float lanes[ISO_LANES];
    float product[ISO_LANES];

    for (int i = 0; i < ISO_LANES; i++) {
        lanes[i] = i == 0 ? 1.0F : 0x1p-24F;
        product[i] = 1.0F + (float)i * 0x1p-20F;
    }

    /* l0 + l8 rounds back to 1; l4 + l12 and all that follow meet lane 0 as
     * 1, 2 and 4 times 2^-23. */
    CU_ASSERT_EQUAL(bits_of(definition_lanes_sum(lanes)), 0x3f800007U);
    CU_ASSERT_EQUAL(lanes[0], 1.0F);

    float expected[8];

    for (int i = 0; i < 8; i++) {
        expected[i] = product[i] * product[i + 8];
    }
    for (int i = 0; i < 4; i++) {
        expected[i] *= expected[i + 4];
    }
    expected[0] *= expected[2];
    expected[1] *= expected[3];
    CU_ASSERT_EQUAL(definition_lanes_prod(product), expected[0] * expected[1]);
}

static void test_canonical_nan(void)
{
    const uint32_t odd_bits[] = {0x7f800001U, 0xffc00000U, 0x7fc12345U};

    for (size_t i = 0; i < 3; i++) {
        float value;

        memcpy(&value, &odd_bits[i], sizeof value);
        CU_ASSERT_EQUAL(bits_of(iso_canonical(value)), ISO_NAN_BITS);
    }
    CU_ASSERT_EQUAL(bits_of(iso_canonical(-0.0F)), 0x80000000U);
    CU_ASSERT_EQUAL(iso_canonical(INFINITY), INFINITY);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"blocks of a matmul", test_matmul_blocks},
        {"blocks of a conv", test_conv_blocks},
        {"tree is the definition", test_tree_is_the_definition},
        {"tree, golden values", test_tree_golden},
        {"tree is never -0", test_tree_is_never_negative_zero},
        {"tree cut at powers of two", test_tree_cut_at_powers_of_two},
        {"lanes", test_lanes},
        {"canonical NaN", test_canonical_nan},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"arith", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
