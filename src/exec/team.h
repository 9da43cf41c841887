/*
 * Team: the workers of one stage, who run a program together: each computes
 * its pieces, all meet at the exchanges.
 *
 * A worker that fails goes on to take part in every exchange of the
 * micro-batch, so that nobody waits for it; then iso_team_go tells the others.
 * What it sent may make others fail too: iso_team_misled tells these.
 */
#ifndef ISO_TEAM_H
#define ISO_TEAM_H

#include "device/device.h"
#include "exec/batches.h"
#include "exec/times.h"
#include "plan/shard/local.h"

#include <mpi.h>

typedef struct iso_team iso_team_t;

typedef struct iso_team_spec {
    MPI_Comm comm;                   /* its ranks are the stage's workers */
    const iso_local_t *const *local; /* (ISO_FORM_COUNT); NULL: no such form */
    int first_rank;                  /* of worker 0 in the job, for messages */
    bool verifies;                   /* what is exchanged, by digests */
} iso_team_spec_t;

/* Not collective. All of spec is borrowed, but for local itself. Everything is
 * reserved here. */
iso_status_t iso_team_create(const iso_team_spec_t *spec,
                             iso_team_t **team_out);
void iso_team_destroy(iso_team_t **team);

/* Collective: true when every worker says so. */
bool iso_team_go(iso_team_t *team, bool mine);

/* After iso_team_run and iso_team_go: did this worker fail only after an
 * exchange with one that had failed before? Then its failure means nothing. */
bool iso_team_misled(const iso_team_t *team);

/*
 * Run the program of a form. Collective. Adds to compute_s and exchange_s.
 * Returns this worker's own status: follow it with iso_team_go.
 */
iso_status_t iso_team_run(iso_team_t *team, iso_form_t form,
                          iso_program_t *program, iso_times_t *times);

/* Bytes that this worker sent to others in exchange number of a form. */
double iso_team_exchange_bytes(const iso_team_t *team, iso_form_t form,
                               int number);
/* In all of them. */
double iso_team_sent_bytes(const iso_team_t *team);

#endif
