/* Counts of MPI calls at the edge of an int; no MPI in here. */
#include "iso_test.h"
#include "par/counts.h"

#include <limits.h>
#include <stdint.h>

static const size_t edge = (size_t)INT_MAX;

static void test_fits(void)
{
    CU_ASSERT_TRUE(iso_count_fits(0, INT_MAX));
    CU_ASSERT_TRUE(iso_count_fits(edge, INT_MAX));
    CU_ASSERT_FALSE(iso_count_fits(edge + 1, INT_MAX));
    CU_ASSERT_FALSE(iso_count_fits(SIZE_MAX, INT_MAX));
    CU_ASSERT_FALSE(iso_count_fits((size_t)1 << 32, INT_MAX));
    CU_ASSERT_TRUE(iso_count_fits(1, 1));
    CU_ASSERT_FALSE(iso_count_fits(2, 1));
}

/* Pieces are in order, none is empty or too long, and they are all. */
static void check_pieces(size_t bytes, int most)
{
    const size_t count = iso_piece_count(bytes, most);
    size_t sum = 0;

    for (size_t i = 0; i < count; i++) {
        const int piece = iso_piece_bytes(bytes, most, i);

        CU_ASSERT_TRUE(piece > 0 && piece <= most);
        CU_ASSERT_TRUE(i == count - 1 || piece == most);
        CU_ASSERT_EQUAL(i * (size_t)most, sum);
        sum += (size_t)piece;
    }
    CU_ASSERT_EQUAL(sum, bytes);
}

static void test_pieces(void)
{
    static const size_t large[] = {0,
                                   1,
                                   (size_t)INT_MAX - 1,
                                   (size_t)INT_MAX,
                                   (size_t)INT_MAX + 1,
                                   (size_t)1 << 32,
                                   ((size_t)1 << 33) + 5,
                                   2 * (size_t)INT_MAX,
                                   3 * (size_t)INT_MAX + 1};

    for (size_t i = 0; i < sizeof large / sizeof large[0]; i++) {
        check_pieces(large[i], INT_MAX);
        check_pieces(large[i], INT_MAX - 1);
        check_pieces(large[i], 1 << 30);
    }
    for (size_t bytes = 0; bytes < 50; bytes++) {
        for (int most = 1; most < 50; most++) {
            check_pieces(bytes, most);
        }
    }
    CU_ASSERT_EQUAL(iso_piece_count(edge, INT_MAX), 1);
    CU_ASSERT_EQUAL(iso_piece_count(edge + 1, INT_MAX), 2);
    CU_ASSERT_EQUAL(iso_piece_bytes(edge + 1, INT_MAX, 1), 1);
    CU_ASSERT_EQUAL(iso_piece_count(SIZE_MAX, 1), SIZE_MAX);
    CU_ASSERT_EQUAL(iso_piece_count(SIZE_MAX, INT_MAX), SIZE_MAX / edge + 1);
    CU_ASSERT_EQUAL(iso_piece_bytes(SIZE_MAX, INT_MAX, SIZE_MAX / edge),
                    (int)(SIZE_MAX % edge));
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"what fits", test_fits},
        {"pieces", test_pieces},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"counts", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
