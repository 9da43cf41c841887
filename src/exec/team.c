#include "exec/team.h"

#include "isotome/error.h"

#include "base/clock.h"
#include "base/mem.h"
#include "exec/exchanger.h"
#include "par/par.h"

#include <limits.h>
#include <stdio.h>

enum { NEVER = INT_MAX };

struct iso_team {
    MPI_Comm comm;
    int first_rank;
    int n_workers;
    int n_exchanges[ISO_FORM_COUNT];
    iso_exchanger_t *exchangers[ISO_FORM_COUNT];
    int failed_after; /* exchanges of the latest run; NEVER: it did not fail */
    bool misled;
    bool has_run;                    /* since the workers last met */
    char text[ISO_ERROR_TEXT_BYTES]; /* of a failure, while others go on */
};

static iso_status_t make_exchangers(const iso_team_spec_t *team_spec,
                                    iso_team_t *team)
{
    const iso_local_t *const *local = team_spec->local;

    for (int form = 0; form < ISO_FORM_COUNT; form++) {
        if (local[form] == NULL) {
            continue;
        }
        iso_exchanger_spec_t spec = {.exchanges = local[form]->exchanges,
                                     .n_exchanges = local[form]->n_exchanges,
                                     .worker = local[form]->worker,
                                     .first_rank = team->first_rank,
                                     .verifies = team_spec->verifies};

        team->n_exchanges[form] = local[form]->n_exchanges;
        ISO_TRY(
            iso_exchanger_create(&spec, team->comm, &team->exchangers[form]));
    }
    return ISO_OK;
}

iso_status_t iso_team_create(const iso_team_spec_t *spec, iso_team_t **team_out)
{
    iso_team_t *team = iso_alloc_zeroed(1, sizeof *team);

    *team_out = NULL;
    if (team == NULL) {
        return ISO_NOMEM;
    }
    team->comm = spec->comm;
    team->first_rank = spec->first_rank;
    team->n_workers = iso_par_size(spec->comm);
    team->failed_after = NEVER;
    iso_status_t status = make_exchangers(spec, team);

    if (status != ISO_OK) {
        iso_team_destroy(&team);
        return status;
    }
    *team_out = team;
    return ISO_OK;
}

void iso_team_destroy(iso_team_t **team)
{
    if (*team == NULL) {
        return;
    }
    for (int form = 0; form < ISO_FORM_COUNT; form++) {
        iso_exchanger_destroy(&(*team)->exchangers[form]);
    }
    iso_free(*team);
    *team = NULL;
}

bool iso_team_go(iso_team_t *team, bool mine)
{
    int all[2] = {mine ? 1 : 0, team->failed_after};

    if (team->n_workers > 1) {
        const iso_wait_t wait = {.kind = team->has_run ? ISO_WAIT_DONE
                                                       : ISO_WAIT_READY,
                                 .peer = team->first_rank,
                                 .n_peers = team->n_workers};

        iso_wait_begin(&wait);
        ISO_CHECK_MPI(
            MPI_Allreduce(MPI_IN_PLACE, all, 2, MPI_INT, MPI_MIN, team->comm));
        iso_wait_end();
    }
    team->has_run = false;
    team->misled = team->failed_after > all[1] && team->failed_after != NEVER;
    return all[0] == 1;
}

bool iso_team_misled(const iso_team_t *team)
{
    return team->misled;
}

/* Keep the text: what is exchanged after a failure may leave others. */
static iso_status_t note_failure(iso_team_t *team, iso_program_t *program,
                                 int exchanges, iso_status_t status)
{
    (void)snprintf(team->text, sizeof team->text, "%s", iso_error_text());
    team->failed_after = exchanges;
    iso_program_skip(program);
    return status;
}

iso_status_t iso_team_run(iso_team_t *team, iso_form_t form,
                          iso_program_t *program, iso_times_t *times)
{
    iso_pause_t pause = {.node = ISO_NO_NODE};
    iso_status_t failed = iso_program_begin(program);
    int exchanges = 0;
    bool done = false;

    team->failed_after = NEVER;
    team->has_run = true;
    if (failed != ISO_OK) {
        failed = note_failure(team, program, exchanges, failed);
    }
    while (!done) {
        double since_s = iso_clock_s();
        iso_status_t status = iso_program_advance(program, &pause);
        double computed_s = iso_clock_s();

        times->compute_s += computed_s - since_s;
        if (status != ISO_OK) {
            failed = note_failure(team, program, exchanges, status);
            continue;
        }
        done = pause.node == ISO_NO_NODE;
        if (!done) {
            status = iso_exchanger_run(team->exchangers[form], pause.number,
                                       pause.input, pause.output);
            exchanges++;
            times->exchange_s += iso_clock_s() - computed_s;
            if (status != ISO_OK && failed == ISO_OK) {
                failed = note_failure(team, program, exchanges, status);
            }
        }
    }
    return failed == ISO_OK ? ISO_OK : iso_fail(failed, "%s", team->text);
}

double iso_team_exchange_bytes(const iso_team_t *team, iso_form_t form,
                               int number)
{
    return iso_exchanger_sent_bytes(team->exchangers[form], number);
}

double iso_team_sent_bytes(const iso_team_t *team)
{
    double bytes = 0.0;

    for (int form = 0; form < ISO_FORM_COUNT; form++) {
        for (int i = 0; i < team->n_exchanges[form]; i++) {
            bytes += iso_team_exchange_bytes(team, (iso_form_t)form, i);
        }
    }
    return bytes;
}
