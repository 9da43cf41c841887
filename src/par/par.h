/*
 * Ranks that must act as one: checked MPI calls and agreement on failures.
 *
 * The rule for every part of the program that several ranks run: a failure
 * on one rank is made common by iso_par_agree() before the next collective
 * call, and nobody returns early between two of them.
 *
 *     iso_status_t status = read_my_part(...);
 *     ISO_TRY(iso_par_agree(status, comm));      // the same on every rank
 */
#ifndef ISO_PAR_H
#define ISO_PAR_H

#include "isotome/status.h"

#include "par/wait.h"

#include <mpi.h>

/*
 * Turn rank-local results into one common result.
 *
 * Collective over comm.
 * local  [in]  this rank's status; when it is a failure its text is recorded
 *              (error.h)
 * comm   [in]  communicator; not kept
 * Returns the worst (most negative) status of all ranks, the same on each;
 * on a failure every rank has the text of the lowest rank that had it, with
 * that rank and its host in front when comm has more than one rank and not
 * all failed with that status.
 */
iso_status_t iso_par_agree(iso_status_t local, MPI_Comm comm);

/*
 * Print one line with rank, host, place and text, then end every process.
 *
 * Not collective. Does not return.
 */
_Noreturn void iso_par_abort(const char *file, int line, const char *text);

/* Rank and size of a communicator. Not collective. */
int iso_par_rank(MPI_Comm comm);
int iso_par_size(MPI_Comm comm);

/* Name of this process's host; constant text after the first call. */
const char *iso_par_host(void);

/* Abort when an MPI call fails; always on, also in release builds. The call is
 * a wait (wait.h). */
#define ISO_CHECK_MPI(call)      \
    (iso_wait_begin_call(#call), \
     iso__par_check((call), __FILE__, __LINE__, #call))

static inline void iso__par_check(int code, const char *file, int line,
                                  const char *text)
{
    iso_wait_end();
    if (code != MPI_SUCCESS) {
        iso_par_abort(file, line, text);
    }
}

#endif
