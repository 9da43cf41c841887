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

#endif
