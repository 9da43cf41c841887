/* Any rank removes rank 0's temporary files, as long as it has adopted them. */
#include "base/mem.h"
#include "exec/adopt.h"
#include "io/draft.h"
#include "iso_test_folder_mpi.h"

#include <stdbool.h>

enum { DRAFTS = 3, PATH_BYTES = 600 };

static char home[PATH_BYTES];
static iso_draft_t *drafts[DRAFTS]; /* at rank 0 */

static bool is_first(void)
{
    return iso_par_rank(MPI_COMM_WORLD) == 0;
}

static bool is_last(void)
{
    return iso_par_rank(MPI_COMM_WORLD) == iso_par_size(MPI_COMM_WORLD) - 1;
}

/* Under names that are relative and absolute. */
static void create_drafts(void)
{
    char names[DRAFTS][PATH_BYTES + 8] = {"a.npy", "./b.npy"};

    CU_ASSERT_PTR_NOT_NULL(getcwd(home, sizeof home));
    (void)snprintf(names[2], sizeof names[2], "%s/c.npy", home);
    for (int i = 0; is_first() && i < DRAFTS; i++) {
        CU_ASSERT_EQUAL(iso_draft_create(names[i], false, &drafts[i]), ISO_OK);
    }
}

static void close_drafts(void)
{
    for (int i = 0; i < DRAFTS; i++) {
        iso_draft_close(&drafts[i]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* The last rank, which is in another folder, is told to end. */
static void end_last(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (is_last()) {
        CU_ASSERT_EQUAL(chdir("/"), 0);
        iso_draft_remove_all();
        CU_ASSERT_EQUAL(chdir(home), 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void test_any_rank_removes(void)
{
    iso_adopted_t adopted = {0};

    create_drafts();
    CU_ASSERT_EQUAL(iso_adopt(MPI_COMM_WORLD, &adopted), ISO_OK);
    CU_ASSERT_EQUAL(scratch_count(), DRAFTS);
    end_last();
    /* On one rank the names stay relative. */
    CU_ASSERT_EQUAL(scratch_count(),
                    iso_par_size(MPI_COMM_WORLD) == 1 ? DRAFTS - 1 : 0);
    iso_adopt_end(&adopted);
    close_drafts();
}

/* A published file has lost that name; what is disowned stays. */
static void test_others_stay(void)
{
    iso_adopted_t adopted = {0};

    create_drafts();
    CU_ASSERT_EQUAL(iso_adopt(MPI_COMM_WORLD, &adopted), ISO_OK);
    if (is_first()) {
        CU_ASSERT_EQUAL(iso_draft_publish(drafts[0]), ISO_OK);
    }
    iso_adopt_end(&adopted);
    if (!is_first()) {
        iso_draft_remove_all();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CU_ASSERT_EQUAL(scratch_count(), DRAFTS);
    MPI_Barrier(MPI_COMM_WORLD);
    close_drafts();
    if (is_first()) {
        scratch_clear();
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void test_nothing_to_adopt(void)
{
    iso_adopted_t adopted = {0};

    CU_ASSERT_EQUAL(iso_adopt(MPI_COMM_WORLD, &adopted), ISO_OK);
    CU_ASSERT_EQUAL(adopted.bytes, 0);
    iso_adopt_end(&adopted);
}

/* At any rank, the first or the last. */
static void check_no_memory(bool is_chosen)
{
    iso_status_t status = ISO_NOMEM;
    int n = 0;

    create_drafts();
    while (status != ISO_OK && n < 10) {
        iso_adopted_t adopted = {0};

        n++;
        iso_mem_fail_at(is_chosen ? n : 0);
        status = iso_adopt(MPI_COMM_WORLD, &adopted);
        iso_mem_fail_at(0);
        CU_ASSERT(status == ISO_OK || status == ISO_NOMEM);
        iso_adopt_end(&adopted);
    }
    CU_ASSERT(n > 1 && status == ISO_OK);
    close_drafts();
}

static void test_no_memory(void)
{
    check_no_memory(is_first());
    check_no_memory(is_last());
}

static void test_nothing_is_left(void)
{
    scratch_check_mpi(0);
}

int main(int argc, char **argv)
{
    CU_TestInfo tests[] = {
        {"any rank removes", test_any_rank_removes},
        {"others stay", test_others_stay},
        {"nothing to adopt", test_nothing_to_adopt},
        {"no memory", test_no_memory},
        {"nothing is left", test_nothing_is_left},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"adopt", scratch_begin_mpi, NULL, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main_mpi(argc, argv, suites);
}
