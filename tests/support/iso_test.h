/* Two entry points: one that never touches MPI, and one for mpirun. */
#ifndef ISO_TEST_H
#define ISO_TEST_H

#include <CUnit/CUnit.h>

/* A fatal assertion does not come back; the analyzer cannot see that. */
#ifdef __clang_analyzer__
#include <stdlib.h>
/* NOLINTNEXTLINE(readability-identifier-naming) */
#define CU_assertImplementation(value, line, text, file, function, fatal) \
    ((void)((value) || !(fatal) || (abort(), 0)))
#endif

enum { ISO_TEST_SKIP = 77 };

/* Exit code of a test whose data is not there: ISO_TEST_SKIP or, where the
 * environment variable ISO_TEST_DATA_REQUIRED is set, a failure. */
int iso_test_without(const char *data);

/* Serial: run the suites and return the process exit code. */
int iso_test_main(CU_SuiteInfo *suites);

/* Collective: as above, but every rank returns failure if one rank failed. */
int iso_test_main_mpi(int argc, char **argv, CU_SuiteInfo *suites);

#endif
