/*
 * A command that the ranks of a job run together: its arguments were read by
 * each of them, and rank 0 alone speaks.
 *
 *     iso_status_t status = iso_job_begin(read_arguments(...));
 *     if (status == ISO_OK) { status = work(MPI_COMM_WORLD); }
 *     return iso_job_end(status);
 */
#ifndef ISO_JOB_H
#define ISO_JOB_H

#include "isotome/status.h"

/* Start MPI and make the outcome of reading the arguments common. Collective.
 * local  [in]  this rank's */
iso_status_t iso_job_begin(iso_status_t local);

/* Rank 0 prints a failure; end MPI. Collective; the exit code of the status,
 * which is the same on every rank. */
int iso_job_end(iso_status_t status);

#endif
