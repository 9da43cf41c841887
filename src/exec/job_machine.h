/* The machine of a job: default figures with its real hosts and memory. */
#ifndef ISO_JOB_MACHINE_H
#define ISO_JOB_MACHINE_H

#include "isotome/machine.h"

#include <mpi.h>

/*
 * A rank may use its share of its host's memory.
 *
 * Collective over comm; the same machine on every rank. Errors: ISO_NOMEM.
 */
iso_status_t iso_job_machine(MPI_Comm comm, iso_machine_t **machine_out);

/* A rank's number among the ranks of its host, from 0; and how many those
 * are. */
int iso_job_seat(const iso_machine_t *machine, int rank);
int iso_job_seat_count(const iso_machine_t *machine, int rank);

#endif
