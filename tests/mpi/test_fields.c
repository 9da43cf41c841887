#include "isotome/error.h"

#include "iso_test.h"
#include "par/fields.h"
#include "par/par.h"

#include <stdio.h>
#include <string.h>

enum { N_FIELDS = 5 };

static const char *const names[N_FIELDS] = {"program", "graph", "weights",
                                            "split", "plan"};

static void fill(iso_field_t *fields)
{
    for (int i = 0; i < N_FIELDS; i++) {
        fields[i] = (iso_field_t){
            names[i], UINT64_C(0xfedcba9876543210) * (uint64_t)(i + 1),
            "common"};
    }
}

static void test_equal_fields_agree(void)
{
    iso_field_t fields[N_FIELDS];

    fill(fields);
    CU_ASSERT_EQUAL(iso_fields_agree(fields, N_FIELDS, MPI_COMM_WORLD), ISO_OK);
    CU_ASSERT_EQUAL(iso_fields_agree(fields, 0, MPI_COMM_WORLD), ISO_OK);
}

/* One rank holds another value of field i: that field is named, with both
 * values. */
static void check_odd_rank(int odd, int i)
{
    iso_field_t fields[N_FIELDS];
    char expected[64];

    fill(fields);
    if (iso_par_rank(MPI_COMM_WORLD) == odd) {
        fields[i].digest ^= UINT64_C(1) << (i * 13);
        fields[i].text = "odd one out";
    }
    CU_ASSERT_EQUAL(iso_fields_agree(fields, N_FIELDS, MPI_COMM_WORLD),
                    ISO_DISAGREE);
    (void)snprintf(expected, sizeof expected,
                   "ranks disagree on %s:", names[i]);
    CU_ASSERT_PTR_NOT_NULL(strstr(iso_error_text(), expected));
    CU_ASSERT_PTR_NOT_NULL(strstr(iso_error_text(), "'common'"));
    CU_ASSERT_PTR_NOT_NULL(strstr(iso_error_text(), "'odd one out'"));
    CU_ASSERT_PTR_NOT_NULL(strstr(iso_error_text(), iso_par_host()));
}

static void test_each_rank_and_field_is_found(void)
{
    int size = iso_par_size(MPI_COMM_WORLD);

    for (int odd = 0; size > 1 && odd < size; odd++) {
        for (int i = 0; i < N_FIELDS; i++) {
            check_odd_rank(odd, i);
        }
    }
}

/* Digests whose sum or xor over ranks is equal are still different. */
static void test_swapped_digests_are_found(void)
{
    int rank = iso_par_rank(MPI_COMM_WORLD);
    int size = iso_par_size(MPI_COMM_WORLD);
    iso_field_t fields[2] = {{"a", rank == 0 ? 1 : 2, "a"},
                             {"b", rank == 0 ? 2 : 1, "b"}};

    CU_ASSERT_EQUAL(iso_fields_agree(fields, 2, MPI_COMM_WORLD),
                    size == 1 ? ISO_OK : ISO_DISAGREE);
}

static void test_ranks_are_listed_as_runs(void)
{
    int rank = iso_par_rank(MPI_COMM_WORLD);
    int size = iso_par_size(MPI_COMM_WORLD);
    iso_field_t field = {"split", rank == 0 ? 7 : 8, rank == 0 ? "x" : "y"};

    if (size == 4) {
        CU_ASSERT_EQUAL(iso_fields_agree(&field, 1, MPI_COMM_WORLD),
                        ISO_DISAGREE);
        CU_ASSERT_PTR_NOT_NULL(strstr(iso_error_text(), "rank 1-3 ("));
    }
}

int main(int argc, char **argv)
{
    CU_TestInfo tests[] = {
        {"equal fields agree", test_equal_fields_agree},
        {"each rank and field is found", test_each_rank_and_field_is_found},
        {"swapped digests are found", test_swapped_digests_are_found},
        {"ranks are listed as runs", test_ranks_are_listed_as_runs},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"fields", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main_mpi(argc, argv, suites);
}
