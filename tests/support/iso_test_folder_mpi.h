/*
 * A folder of its own for a test program of several ranks, which rank 0 makes
 * and removes:
 *
 *     {"rehearsal", scratch_begin_mpi, NULL, NULL, NULL, tests}
 */
#ifndef ISO_TEST_FOLDER_MPI_H
#define ISO_TEST_FOLDER_MPI_H

#include "base/mem.h"
#include "iso_test.h"
#include "iso_test_folder.h"
#include "par/par.h"

static int64_t scratch_blocks; /* counted memory at the beginning */

/* For CU_SuiteInfo. Collective. */
static inline int scratch_begin_mpi(void)
{
    char path[512] = "";

    if (iso_par_rank(MPI_COMM_WORLD) == 0) {
        scratch_begin();
        (void)!getcwd(path, sizeof path);
    }
    MPI_Bcast(path, (int)sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
    scratch_blocks = iso_mem_count().blocks;
    return chdir(path) != 0 ? 1 : 0;
}

/* The last test: no memory, and no file but this many. Collective. */
static inline void scratch_check_mpi(int files)
{
    MPI_Barrier(MPI_COMM_WORLD);
    CU_ASSERT_EQUAL(scratch_count(), files);
    CU_ASSERT_EQUAL(iso_mem_count().blocks, scratch_blocks);
}

#endif
