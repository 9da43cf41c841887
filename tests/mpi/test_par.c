#include "isotome/error.h"

#include "iso_test.h"
#include "par/par.h"

#include <string.h>

static void test_one_bad_rank_is_seen_by_all(void)
{
    int rank = iso_par_rank(MPI_COMM_WORLD);
    int size = iso_par_size(MPI_COMM_WORLD);
    iso_status_t local = ISO_OK;

    if (rank == size - 1) {
        local = iso_fail(ISO_IO, "the disk of rank %d is full", rank);
    }
    CU_ASSERT_EQUAL(iso_par_agree(local, MPI_COMM_WORLD), ISO_IO);
    CU_ASSERT_PTR_NOT_NULL(strstr(iso_error_text(), "is full"));
    if (size > 1) {
        CU_ASSERT_PTR_NOT_NULL(strstr(iso_error_text(), iso_par_host()));
    }
}

static void test_the_worst_status_wins(void)
{
    int rank = iso_par_rank(MPI_COMM_WORLD);
    int size = iso_par_size(MPI_COMM_WORLD);
    iso_status_t local = rank == 0 ? iso_fail(ISO_INVAL, "first")
                                   : iso_fail(ISO_SHAPE, "second");
    iso_status_t common = iso_par_agree(local, MPI_COMM_WORLD);

    CU_ASSERT_EQUAL(common, size > 1 ? ISO_SHAPE : ISO_INVAL);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(iso_error_text(), size > 1 ? "second" : "first"));
}

static void test_a_failure_of_all_names_no_rank(void)
{
    iso_status_t local = iso_fail(ISO_INPUT, "no such file");

    CU_ASSERT_EQUAL(iso_par_agree(local, MPI_COMM_WORLD), ISO_INPUT);
    CU_ASSERT_STRING_EQUAL(iso_error_text(), "no such file");
}

static void test_success_stays_success(void)
{
    CU_ASSERT_EQUAL(iso_par_agree(ISO_OK, MPI_COMM_WORLD), ISO_OK);
}

int main(int argc, char **argv)
{
    CU_TestInfo tests[] = {
        {"one bad rank is seen by all", test_one_bad_rank_is_seen_by_all},
        {"the worst status wins", test_the_worst_status_wins},
        {"a failure of all names no rank", test_a_failure_of_all_names_no_rank},
        {"success stays success", test_success_stays_success},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"par", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main_mpi(argc, argv, suites);
}
