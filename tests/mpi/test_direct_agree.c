/*
 * Who has a direct device: the same answer on all ranks, whatever their
 * devices are.
 */
#include "base/mem.h"
#include "exec/direct.h"
#include "iso_test.h"
#include "par/gpu_memory.h"
#include "par/par.h"

/* Every third rank has no device, as one that is idle. */
static const char *rule_of(int rank, int shift)
{
    static const char *const rules[] = {"throttled|cpu", "cpu", NULL};

    return rules[(rank + shift) % 3];
}

static void check_shifted(int shift)
{
    const int size = iso_par_size(MPI_COMM_WORLD);
    const char *rule = rule_of(iso_par_rank(MPI_COMM_WORLD), shift);
    iso_device_t *device = NULL;
    bool *is_direct = NULL;

    if (rule != NULL) {
        CU_ASSERT_EQUAL(iso_device_open(rule, 1, &device), ISO_OK);
    }
    CU_ASSERT_EQUAL(iso_direct_agree(device, MPI_COMM_WORLD, &is_direct),
                    ISO_OK);
    for (int rank = 0; rank < size; rank++) {
        CU_ASSERT_EQUAL(is_direct[rank], (rank + shift) % 3 == 0);
    }
    iso_free(is_direct);
    iso_device_close(&device);
}

static void test_all_know_who(void)
{
    const int64_t blocks = iso_mem_count().blocks;

    for (int shift = 0; shift < 3; shift++) {
        check_shifted(shift);
    }
    CU_ASSERT_EQUAL(iso_mem_count().blocks, blocks);
}

static void test_no_memory(void)
{
    const bool is_last =
        iso_par_rank(MPI_COMM_WORLD) == iso_par_size(MPI_COMM_WORLD) - 1;
    bool *is_direct = NULL;

    iso_mem_fail_at(is_last ? 1 : 0);
    CU_ASSERT_EQUAL(iso_direct_agree(NULL, MPI_COMM_WORLD, &is_direct),
                    ISO_NOMEM);
    iso_mem_fail_at(0);
    CU_ASSERT_PTR_NULL(is_direct);
}

/* MPI's own variables are asked for as often as one likes. */
static void test_mpi_is_asked_again(void)
{
    const bool takes = iso_par_takes_gpu_memory();

    for (int i = 0; i < 3; i++) {
        CU_ASSERT_EQUAL(iso_par_takes_gpu_memory(), takes);
    }
}

int main(int argc, char **argv)
{
    CU_TestInfo tests[] = {
        {"all know who", test_all_know_who},
        {"no memory", test_no_memory},
        {"MPI is asked again", test_mpi_is_asked_again},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"direct", NULL, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main_mpi(argc, argv, suites);
}
