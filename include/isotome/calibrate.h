/*
 * Calibrate: measure the ranks of a communicator and the links between them,
 * and write the machine file (isotome-machine(5)) that plans are made from.
 *
 *     iso_calibrate_options_t options = {.path = "machine.json",
 *                                        .threads = 1};
 *     iso_status_t status = iso_calibrate(&options, MPI_COMM_WORLD, stdout);
 *     if (status != ISO_OK) { puts(iso_error_text()); }
 *
 * All ranks work at the same time, as in a run: they share the memory
 * bandwidth of their hosts.
 */
#ifndef ISO_CALIBRATE_H
#define ISO_CALIBRATE_H

#include "isotome/status.h"

#include <mpi.h>

#include <stdbool.h>
#include <stdio.h>

typedef struct iso_calibrate_options {
    const char *path;   /* of the machine file, borrowed */
    int threads;        /* of each rank, >= 1 */
    bool force;         /* replace the file if it exists */
    const char *device; /* a rule (device_map.h) whose devices are measured one
                         * after the other, and "cpu" with them; the first
                         * one's figures are those of the rank. NULL: "cpu"
                         * alone, as the rank's. Borrowed */
} iso_calibrate_options_t;

/*
 * Collective over comm, which is duplicated.
 *
 * table  [in]  where rank 0 prints the figures; NULL: nowhere
 * Returns the same status on every rank, with the same text (error.h):
 * ISO_DISAGREE when the ranks run different programs or measure different
 * devices; ISO_INVAL for a rule that cannot be read; ISO_IO, ISO_NOMEM,
 * ISO_UNSUPPORTED on a CPU without FMA, and for a device that is not there. On
 * a failure no file exists under the name (one that existed before is
 * untouched).
 */
iso_status_t iso_calibrate(const iso_calibrate_options_t *options,
                           MPI_Comm comm, FILE *table);

#endif
