/*
 * Pulse: how far each rank is, told to rank 0 every few seconds and written to
 * a small JSON file, for people who see nothing of the job but its name in a
 * queue.
 *
 *     ISO_TRY(iso_pulse_create(&spec, comm, &pulse));
 *     iso_pulse_beat(pulse, done, &times);   before each micro-batch
 *     iso_pulse_end(pulse, done, &times);    after the last one
 *     iso_pulse_stop(pulse);                 when all have ended
 *     iso_pulse_close(&pulse, state);        what became of the job
 */
#ifndef ISO_PULSE_H
#define ISO_PULSE_H

#include "isotome/status.h"

#include "exec/times.h"

#include <mpi.h>

#include <stdint.h>

typedef struct iso_pulse iso_pulse_t;

typedef struct iso_pulse_spec {
    const char *path; /* of the file, at rank 0; borrowed. NULL: no pulse */
    int stage;        /* of this rank; -1: idle */
    int worker;
    int64_t begin;   /* samples done by earlier jobs */
    int64_t samples; /* of the whole job */
} iso_pulse_spec_t;

/*
 * Write the first state of the file. Without a path at rank 0 there is no
 * pulse, and the other functions do nothing.
 *
 * Collective over comm, which is duplicated. Errors, the same on every rank:
 * ISO_IO when the file cannot be written, ISO_NOMEM.
 */
iso_status_t iso_pulse_create(const iso_pulse_spec_t *spec, MPI_Comm comm,
                              iso_pulse_t **pulse_out);

/*
 * done   [in]  samples behind this rank, those of earlier jobs included
 * times  [in]  of the loop until now
 * Not collective; waits for nobody. A file that cannot be written is a warning,
 * once.
 */
void iso_pulse_beat(iso_pulse_t *pulse, int64_t done, const iso_times_t *times);

/* As above, now: after the loop. */
void iso_pulse_end(iso_pulse_t *pulse, int64_t done, const iso_times_t *times);

/* Receive what is under way. Collective. */
void iso_pulse_stop(iso_pulse_t *pulse);

/* Write the last state, end being the job's. Collective; after iso_pulse_stop
 * when there was a beat. */
void iso_pulse_close(iso_pulse_t **pulse, iso_status_t end);

#endif
