/* Shard options axis by axis: ranges, what each shard reads. */
#include "shard_asked.h"

static void check_ranges(const iso_range_t *found, int count,
                         const int64_t *ends)
{
    for (int i = 0; i < count; i++) {
        CU_ASSERT_EQUAL(found[i].begin, i == 0 ? 0 : ends[i - 1]);
        CU_ASSERT_EQUAL(found[i].end, ends[i]);
    }
}

/* Slabs of an operand, as begins and ends. */
static void check_slabs(const asked_t *asked, const iso_shard_option_t *option,
                        int operand, int axis, const int64_t *bounds)
{
    CU_ASSERT_EQUAL(option->operands[operand].use, ISO_SHARD_SLICED);
    CU_ASSERT_EQUAL(option->operands[operand].axis, axis);
    for (int shard = 0; shard < option->count; shard++, bounds += 2) {
        iso_slab_t slab = {-7, {-7, -7}};

        CU_ASSERT_EQUAL(
            iso_shard_slab(&asked->op, option, shard, operand, &slab), ISO_OK);
        CU_ASSERT_EQUAL(slab.axis, axis);
        CU_ASSERT_EQUAL(slab.range.begin, bounds[0]);
        CU_ASSERT_EQUAL(slab.range.end, bounds[1]);
    }
}

#define CHECK_RANGES(option, ...)                   \
    check_ranges((option)->ranges, (option)->count, \
                 (const int64_t[]){__VA_ARGS__})
#define CHECK_SLABS(asked, option, operand, axis, ...) \
    check_slabs(asked, option, operand, axis, (const int64_t[]){__VA_ARGS__})

/* ---- Convolutions ---- */

static void test_conv_bias(void)
{
    asked_t asked = ask("x = input f32[8,512,8,8]\nw = param f32[16,512,3,3]\n"
                        "b = param f32[16]\ny = conv(x, w, b) pads=i:1,1,1,1\n",
                        3, 0);
    const iso_shard_option_t *batch = find(&asked, ISO_SHARD_BATCH, 3);
    const iso_shard_option_t *channel = find(&asked, ISO_SHARD_OUT_CHANNEL, 3);
    const iso_shard_option_t *sums = find(&asked, ISO_SHARD_IN_CHANNEL, 2);

    CU_ASSERT_EQUAL(batch->operands[2].use, ISO_SHARD_SHARED);
    CU_ASSERT_EQUAL(batch->operands[2].elements, 16);
    CHECK_SLABS(&asked, batch, 0, 0, 0, 3, 3, 6, 6, 8);
    CHECK_SLABS(&asked, channel, 1, 0, 0, 6, 6, 11, 11, 16);
    CHECK_SLABS(&asked, channel, 2, 0, 0, 6, 6, 11, 11, 16);
    CU_ASSERT_EQUAL(channel->operands[0].use, ISO_SHARD_SHARED);
    /* 16 channels x 9 taps in a block: 32 blocks, cut in the middle. The
     * bias stays where the sum is made. */
    CU_ASSERT_EQUAL(sums->output_axis, ISO_SHARD_PARTIAL_SUMS);
    CU_ASSERT_EQUAL(sums->length, 32);
    CHECK_RANGES(sums, 16, 32);
    CHECK_SLABS(&asked, sums, 0, 1, 0, 256, 256, 512);
    CHECK_SLABS(&asked, sums, 1, 1, 0, 256, 256, 512);
    CU_ASSERT_EQUAL(sums->operands[2].use, ISO_SHARD_KEPT);
    CU_ASSERT_EQUAL(sums->returned_elements, INT64_C(2) * 8 * 16 * 64);
    CU_ASSERT_EQUAL(iso_shard_moved_bytes(sums, 0),
                    (size_t)4 *
                        (8 * 512 * 64 + 16 * 512 * 9 + 2 * 8 * 16 * 64));
    CU_ASSERT_EQUAL(iso_shard_widest(sums), INT64_C(8) * 16 * 64 / 2);
    end(&asked);
}

/* 32 blocks in 3: 11, 11, 10 are not whole subtrees, so that more partial sums
 * are given back than there are shards. */
static void test_partial_sums(void)
{
    asked_t asked =
        ask(CONV("1,512,5,5", "2,512,3,3", ""), 3, ISO_SHARD_BIT(IN_CHANNEL));
    const iso_shard_option_t *option = find(&asked, ISO_SHARD_IN_CHANNEL, 3);

    CU_ASSERT_EQUAL(asked.list->count, 2);
    CHECK_RANGES(option, 11, 22, 32);
    CHECK_SLABS(&asked, option, 0, 1, 0, 176, 176, 352, 352, 512);
    /* [0,8) [8,10) [10,11) | [11,12) [12,16) [16,20) [20,22) | [22,24)
     * [24,32) */
    CU_ASSERT_EQUAL(option->returned_elements, INT64_C(9) * 18);
    CU_ASSERT_EQUAL(iso_shard_elements(option, 0), 7); /* 6.19 */
    CU_ASSERT_EQUAL(iso_shard_elements(option, 2), 6); /* 5.63 */
    CU_ASSERT_EQUAL(iso_shard_widest(option), 7);
    end(&asked);
    /* A last block that is short: 20 channels in blocks of 16. */
    asked = ask(CONV("1,20,5,5", "2,20,3,3", ""), 5, ISO_SHARD_BIT(IN_CHANNEL));
    CU_ASSERT_EQUAL_FATAL(asked.list->count, 1);
    CHECK_SLABS(&asked, &asked.list->options[0], 1, 1, 0, 16, 16, 20);
    end(&asked);
}

static void test_groups(void)
{
    asked_t asked = ask("x = input f32[2,12,8,8,8]\nw = param f32[24,2,3,3,3]\n"
                        "b = param f32[24]\ny = conv(x, w, b) groups=i:6\n",
                        100, 0);
    const iso_shard_option_t *option = find(&asked, ISO_SHARD_GROUP, 4);

    CU_ASSERT_EQUAL(count_of(&asked, ISO_SHARD_OUT_CHANNEL), 0);
    CU_ASSERT_EQUAL(count_of(&asked, ISO_SHARD_IN_CHANNEL), 0);
    CU_ASSERT_EQUAL(count_of(&asked, ISO_SHARD_GROUP), 5);
    CU_ASSERT_EQUAL(count_of(&asked, ISO_SHARD_BATCH), 1);
    CU_ASSERT_EQUAL(count_of(&asked, ISO_SHARD_HEIGHT), 5);
    CU_ASSERT_EQUAL(option->unit, 4);
    CU_ASSERT_EQUAL(option->length, 24);
    CU_ASSERT_EQUAL(option->output_axis, 1);
    CHECK_RANGES(option, 8, 16, 20, 24);
    CHECK_SLABS(&asked, option, 0, 1, 0, 4, 4, 8, 8, 10, 10, 12);
    CHECK_SLABS(&asked, option, 1, 0, 0, 8, 8, 16, 16, 20, 20, 24);
    CHECK_SLABS(&asked, option, 2, 0, 0, 8, 8, 16, 16, 20, 20, 24);
    CU_ASSERT_EQUAL(iso_shard_shared(option), 0);
    CU_ASSERT_EQUAL(iso_shard_moved_bytes(option, 0),
                    (size_t)4 * (2 * 12 * 512 + 24 * 54 + 24 + 2 * 24 * 216));
    CU_ASSERT_EQUAL(iso_shard_widest(option), INT64_C(2) * 24 * 216 / 3);
    end(&asked);
    /* Depthwise. */
    asked = ask(CONV("1,5,4,4", "5,1,3,3", "groups=i:5"), 100,
                ISO_SHARD_BIT(GROUP));
    CU_ASSERT_EQUAL(asked.list->count, 4);
    end(&asked);
}

static void test_height(void)
{
    /* 11 rows, padding 2 above and 1 below, taps 2 apart, stride 2:
     * (11 + 3 - 5) / 2 + 1 = 5 rows. */
    asked_t asked = ask(CONV("2,3,11,7", "4,3,3,3",
                             "strides=i:2,1 dilations=i:2,1 pads=i:2,0,1,0"),
                        2, ISO_SHARD_BIT(HEIGHT));
    const iso_shard_option_t *option = find(&asked, ISO_SHARD_HEIGHT, 2);

    CHECK_RANGES(option, 3, 5);
    CU_ASSERT_EQUAL(option->output_axis, 2);
    CHECK_SLABS(&asked, option, 0, 2, 0, 7, 4, 11);
    CU_ASSERT_EQUAL(option->operands[0].elements, INT64_C(2) * 3 * 14 * 7);
    CU_ASSERT_EQUAL(option->operands[1].use, ISO_SHARD_SHARED);
    CU_ASSERT_EQUAL(iso_shard_moved_bytes(option, 0),
                    (size_t)4 * (2 * 3 * 14 * 7 + 2 * 108 + 2 * 4 * 5 * 5));
    end(&asked);
    /* A window that lies in the padding reads nothing. */
    asked =
        ask(CONV("1,1,2", "1,1,2", "pads=i:5,5"), 11, ISO_SHARD_BIT(HEIGHT));
    option = find(&asked, ISO_SHARD_HEIGHT, 11);
    CU_ASSERT_EQUAL(option->operands[0].use, ISO_SHARD_SLICED);
    CU_ASSERT_EQUAL(option->operands[0].elements, 4);
    end(&asked);
    /* Rows that no window reads do not move. */
    asked = ask(CONV("1,1,9,1", "1,1,1,1", "strides=i:4,1"), 3,
                ISO_SHARD_BIT(HEIGHT));
    CU_ASSERT_EQUAL(find(&asked, ISO_SHARD_HEIGHT, 3)->operands[0].elements, 3);
    CU_ASSERT_EQUAL(find(&asked, ISO_SHARD_HEIGHT, 2)->operands[0].elements, 6);
    end(&asked);
}

/* ---- Matrices ---- */

static void test_heads(void)
{
    asked_t asked = ask(MATMUL("2,12,32,600", "2,12,600,32"), 12, 0);
    const iso_shard_option_t *heads =
        find_at(&asked, ISO_SHARD_MATRICES, 1, 12);

    CU_ASSERT_PTR_NOT_NULL_FATAL(heads);
    CU_ASSERT_PTR_NOT_NULL(find_at(&asked, ISO_SHARD_MATRICES, 0, 2));
    CU_ASSERT_EQUAL(count_of(&asked, ISO_SHARD_MATRICES), 1 + 11);
    CU_ASSERT_EQUAL(count_of(&asked, ISO_SHARD_ROWS), 11);
    CU_ASSERT_EQUAL(count_of(&asked, ISO_SHARD_COLS), 11);
    CU_ASSERT_EQUAL(count_of(&asked, ISO_SHARD_REDUCTION), 2);
    CU_ASSERT_EQUAL(heads->operands[0].axis, 1);
    CU_ASSERT_EQUAL(heads->operands[1].axis, 1);
    CU_ASSERT_EQUAL(iso_shard_shared(heads), 0);
    CU_ASSERT_EQUAL(iso_shard_moved_bytes(heads, 0),
                    (size_t)4 * 24 * (2 * 32 * 600 + 32 * 32));
    /* Rows read all of B, as in a plain product. */
    CU_ASSERT_EQUAL(find(&asked, ISO_SHARD_ROWS, 2)->flat_axes, 1);
    CU_ASSERT_EQUAL(find(&asked, ISO_SHARD_ROWS, 2)->output_axis, 2);
    CU_ASSERT_EQUAL(iso_shard_shared(find(&asked, ISO_SHARD_ROWS, 2)), 2U);
    CHECK_SLABS(&asked, find(&asked, ISO_SHARD_REDUCTION, 2), 0, 3, 0, 512, 512,
                600);
    CHECK_SLABS(&asked, find(&asked, ISO_SHARD_REDUCTION, 2), 1, 2, 0, 512, 512,
                600);
    /* rows, cols, batch axes, reduction */
    CU_ASSERT_EQUAL(asked.list->options[0].axis, ISO_SHARD_ROWS);
    CU_ASSERT_EQUAL(asked.list->options[11].axis, ISO_SHARD_COLS);
    CU_ASSERT_EQUAL(asked.list->options[22].output_axis, 0);
    CU_ASSERT_EQUAL(asked.list->options[23].output_axis, 1);
    CU_ASSERT_EQUAL(asked.list->options[34].axis, ISO_SHARD_REDUCTION);
    end(&asked);
}

static void test_all_rows(void)
{
    asked_t asked = ask("a = input f32[3,5,4]\nb = param f32[4,2]\n"
                        "c = param f32[2]\ny = matmul(a, b, c)\n",
                        4, 0);
    const iso_shard_option_t *option = find(&asked, ISO_SHARD_ROWS, 4);

    CU_ASSERT_EQUAL(option->flat_axes, 2);
    CU_ASSERT_EQUAL(option->output_axis, 1);
    CU_ASSERT_EQUAL(option->length, 15);
    CHECK_RANGES(option, 4, 8, 12, 15);
    CHECK_SLABS(&asked, option, 0, 1, 0, 4, 4, 8, 8, 12, 12, 15);
    CU_ASSERT_EQUAL(option->operands[0].elements, 60);
    CU_ASSERT_EQUAL(iso_shard_shared(option), 2U | 4U);
    CU_ASSERT_EQUAL(iso_shard_widest(option), 8);
    CU_ASSERT_EQUAL(count_of(&asked, ISO_SHARD_MATRICES), 0);
    end(&asked);
    /* More dims of B that are 1 are no batch; one A is none either. */
    asked = ask(MATMUL("3,5,4", "1,1,4,2"), 2, 0);
    CU_ASSERT_EQUAL(find(&asked, ISO_SHARD_ROWS, 2)->flat_axes, 3);
    CU_ASSERT_EQUAL(find(&asked, ISO_SHARD_ROWS, 2)->length, 15);
    end(&asked);
    asked = ask(MATMUL("1,5,4", "4,2"), 2, 0);
    CU_ASSERT_EQUAL(find(&asked, ISO_SHARD_ROWS, 2)->flat_axes, 1);
    CHECK_SLABS(&asked, find(&asked, ISO_SHARD_ROWS, 2), 0, 1, 0, 3, 3, 5);
    end(&asked);
    /* A batch of B alone shares A. */
    asked = ask(MATMUL("5,4", "3,4,2"), 3, 0);
    CU_ASSERT_EQUAL(iso_shard_shared(find(&asked, ISO_SHARD_MATRICES, 3)), 1U);
    CU_ASSERT_EQUAL(find(&asked, ISO_SHARD_ROWS, 2)->flat_axes, 1);
    CU_ASSERT_EQUAL(find(&asked, ISO_SHARD_ROWS, 2)->operands[0].axis, 0);
    end(&asked);
}

static void test_gemm(void)
{
    asked_t asked = ask("a = input f32[600,6]\nb = param f32[8,600]\n"
                        "c = param f32[8]\ny = gemm(a, b, c) "
                        "trans_a=i:1 trans_b=i:1\n",
                        2, 0);
    const iso_shard_option_t *rows = find(&asked, ISO_SHARD_ROWS, 2);
    const iso_shard_option_t *cols = find(&asked, ISO_SHARD_COLS, 2);

    CU_ASSERT_EQUAL(asked.list->count, 3);
    CHECK_SLABS(&asked, rows, 0, 1, 0, 3, 3, 6);
    CU_ASSERT_EQUAL(iso_shard_shared(rows), 2U | 4U);
    CHECK_SLABS(&asked, cols, 1, 0, 0, 4, 4, 8);
    CHECK_SLABS(&asked, cols, 2, 0, 0, 4, 4, 8);
    CHECK_SLABS(&asked, find(&asked, ISO_SHARD_REDUCTION, 2), 0, 0, 0, 512, 512,
                600);
    CHECK_SLABS(&asked, find(&asked, ISO_SHARD_REDUCTION, 2), 1, 1, 0, 512, 512,
                600);
    end(&asked);
    /* alpha rounds after the sum, so that there are no partial sums. */
    asked = ask("a = input f32[1,600]\nb = param f32[600,2]\n"
                "y = gemm(a, b) alpha=f:0.5\n",
                2, 0);
    CU_ASSERT_EQUAL(asked.list->count, 1);
    CU_ASSERT_EQUAL(asked.list->options[0].axis, ISO_SHARD_COLS);
    end(&asked);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"conv with bias", test_conv_bias},
        {"partial sums", test_partial_sums},
        {"groups", test_groups},
        {"height", test_height},
        {"heads", test_heads},
        {"all rows", test_all_rows},
        {"gemm", test_gemm},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"shard_rules", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
