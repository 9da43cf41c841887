#include "exec/pulse.h"

#include "isotome/error.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "io/draft.h"
#include "par/par.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const double period_s = 2;

enum { HOST_BYTES = 64, TIME_BYTES = 32 };

/* What one rank says; plain bytes. */
typedef struct beat {
    int32_t rank;
    int32_t stage;
    int32_t worker;
    char host[HOST_BYTES];
    int64_t done;
    double work_s; /* computing, reading and writing */
    double wait_s; /* for other ranks */
} beat_t;

struct iso_pulse {
    MPI_Comm comm;
    const char *path; /* at rank 0; else NULL */
    int size;
    int64_t begin;
    int64_t samples;
    double begin_s;
    double beat_s;    /* of this rank's last one */
    beat_t mine;      /* being sent */
    MPI_Request sent; /* null: none, or at rank 0 */
    int n_sent;
    beat_t heard;       /* at rank 0: being received */
    MPI_Request coming; /* null elsewhere */
    int n_heard;
    beat_t *all;     /* (size) at rank 0: the last of each */
    double *heard_s; /* (size) when */
    bool warned;
};

/* -- the file -- */

static const char *name_of(iso_status_t end)
{
    switch (end) {
    case ISO_OK:
        return "finished";
    case ISO_INTERRUPTED:
        return "interrupted";
    default:
        return "failed";
    }
}

static json_t *rank_json(const iso_pulse_t *pulse, int rank)
{
    const beat_t *beat = &pulse->all[rank];

    return json_pack("{s:i, s:s, s:i, s:i, s:I, s:f, s:f, s:f}", "rank", rank,
                     "host", beat->host, "stage", beat->stage, "worker",
                     beat->worker, "done", (json_int_t)beat->done, "work_s",
                     beat->work_s, "wait_s", beat->wait_s, "heard_s_ago",
                     iso_clock_s() - pulse->heard_s[rank]);
}

/* NULL when memory runs out. */
static json_t *ranks_json(const iso_pulse_t *pulse)
{
    json_t *ranks = json_array();

    for (int rank = 0; rank < pulse->size; rank++) {
        if (json_array_append_new(ranks, rank_json(pulse, rank)) != 0) {
            json_decref(ranks);
            return NULL;
        }
    }
    return ranks;
}

static json_t *state_json(const iso_pulse_t *pulse, const char *state)
{
    const int64_t done = pulse->all[0].done;
    const double spent_s = iso_clock_s() - pulse->begin_s;
    const double rate =
        spent_s > 0 ? (double)(done - pulse->begin) / spent_s : 0;
    const time_t now = time(NULL);
    char updated[TIME_BYTES] = "";
    struct tm parts;

    if (gmtime_r(&now, &parts) != NULL) {
        (void)strftime(updated, sizeof updated, "%Y-%m-%dT%H:%M:%SZ", &parts);
    }
    json_t *left = rate > 0 ? json_real((double)(pulse->samples - done) / rate)
                            : json_null();

    return json_pack("{s:s, s:s, s:s, s:I, s:I, s:f, s:o, s:o}", "format",
                     "isotome-status", "state", state, "updated", updated,
                     "samples", (json_int_t)pulse->samples, "done",
                     (json_int_t)done, "samples_per_s", rate, "left_s", left,
                     "ranks", ranks_json(pulse));
}

static iso_status_t put(const iso_pulse_t *pulse, const char *text)
{
    iso_draft_t *draft = NULL;

    ISO_TRY(iso_draft_create(pulse->path, true, &draft));
    iso_draft_write(draft, 0, text, strlen(text));
    iso_draft_write(draft, strlen(text), "\n", 1);
    iso_status_t status = iso_draft_replace(draft);

    iso_draft_close(&draft);
    return status;
}

/* At rank 0. */
static iso_status_t write_state(const iso_pulse_t *pulse, const char *state)
{
    json_t *json = state_json(pulse, state);
    char *text = NULL;
    iso_status_t status = ISO_NOMEM;

    if (json != NULL) {
        status = iso_json_print(json, 2, &text);
        json_decref(json);
    }
    if (status == ISO_OK) {
        status = put(pulse, text);
    }
    free(text);
    return status;
}

static void try_write(iso_pulse_t *pulse, const char *state)
{
    if (write_state(pulse, state) != ISO_OK && !pulse->warned) {
        iso_log(ISO_LOG_WARNING, "no status from here on: %s",
                iso_error_text());
        pulse->warned = true;
    }
}

/* -- the beats -- */

static void listen(iso_pulse_t *pulse)
{
    ISO_CHECK_MPI(MPI_Irecv(&pulse->heard, sizeof pulse->heard, MPI_BYTE,
                            MPI_ANY_SOURCE, 0, pulse->comm, &pulse->coming));
}

static void note(iso_pulse_t *pulse, const beat_t *beat)
{
    pulse->all[beat->rank] = *beat;
    pulse->heard_s[beat->rank] = iso_clock_s();
}

static void take(iso_pulse_t *pulse)
{
    note(pulse, &pulse->heard);
    pulse->n_heard++;
    listen(pulse);
}

static void take_all(iso_pulse_t *pulse)
{
    int came = 1;

    while (came != 0) {
        ISO_CHECK_MPI(MPI_Test(&pulse->coming, &came, MPI_STATUS_IGNORE));
        if (came != 0) {
            take(pulse);
        }
    }
}

/* Not before the last one has gone. */
static void say(iso_pulse_t *pulse, int64_t done, const iso_times_t *times)
{
    int gone = 0;

    ISO_CHECK_MPI(MPI_Test(&pulse->sent, &gone, MPI_STATUS_IGNORE));
    if (gone == 0) {
        return;
    }
    pulse->mine.done = done;
    pulse->mine.work_s = times->read_s + times->compute_s + times->write_s;
    pulse->mine.wait_s = times->receive_s + times->exchange_s + times->send_s;
    if (pulse->path != NULL) {
        note(pulse, &pulse->mine);
        return;
    }
    ISO_CHECK_MPI(MPI_Isend(&pulse->mine, sizeof pulse->mine, MPI_BYTE, 0, 0,
                            pulse->comm, &pulse->sent));
    pulse->n_sent++;
}

void iso_pulse_beat(iso_pulse_t *pulse, int64_t done, const iso_times_t *times)
{
    if (pulse == NULL) {
        return;
    }
    const double now_s = iso_clock_s();

    if (now_s - pulse->beat_s < period_s) {
        return;
    }
    pulse->beat_s = now_s;
    say(pulse, done, times);
    if (pulse->path != NULL) {
        take_all(pulse);
        try_write(pulse, "running");
    }
}

void iso_pulse_end(iso_pulse_t *pulse, int64_t done, const iso_times_t *times)
{
    if (pulse != NULL) {
        say(pulse, done, times);
    }
}

/* -- from creation to close -- */

/* At rank 0, with what is known of all ranks. */
static iso_status_t begin_file(iso_pulse_t *pulse)
{
    for (int rank = 0; rank < pulse->size; rank++) {
        pulse->heard_s[rank] = pulse->begin_s;
    }
    return write_state(pulse, "running");
}

static iso_status_t reserve(const iso_pulse_spec_t *spec, MPI_Comm comm,
                            iso_pulse_t **pulse_out)
{
    iso_pulse_t *pulse = iso_alloc_zeroed(1, sizeof *pulse);

    *pulse_out = pulse;
    if (pulse == NULL) {
        return ISO_NOMEM;
    }
    pulse->comm = MPI_COMM_NULL;
    pulse->sent = MPI_REQUEST_NULL;
    pulse->coming = MPI_REQUEST_NULL;
    pulse->size = iso_par_size(comm);
    pulse->begin = spec->begin;
    pulse->samples = spec->samples;
    pulse->begin_s = iso_clock_s();
    pulse->beat_s = pulse->begin_s;
    pulse->mine.rank = iso_par_rank(comm);
    pulse->mine.stage = spec->stage;
    pulse->mine.worker = spec->worker;
    pulse->mine.done = spec->begin;
    (void)snprintf(pulse->mine.host, HOST_BYTES, "%s", iso_par_host());
    if (pulse->mine.rank != 0) {
        return ISO_OK;
    }
    pulse->path = spec->path;
    pulse->all = iso_alloc_zeroed((size_t)pulse->size, sizeof *pulse->all);
    pulse->heard_s =
        iso_alloc_zeroed((size_t)pulse->size, sizeof *pulse->heard_s);
    return pulse->all != NULL && pulse->heard_s != NULL ? ISO_OK : ISO_NOMEM;
}

/* Collective when there is a communicator. */
static void free_pulse(iso_pulse_t **pulse)
{
    iso_pulse_t *gone = *pulse;

    if (gone != NULL) {
        if (gone->coming != MPI_REQUEST_NULL) {
            ISO_CHECK_MPI(MPI_Cancel(&gone->coming));
            ISO_CHECK_MPI(MPI_Wait(&gone->coming, MPI_STATUS_IGNORE));
        }
        if (gone->comm != MPI_COMM_NULL) {
            ISO_CHECK_MPI(MPI_Comm_free(&gone->comm));
        }
        iso_free(gone->all);
        iso_free(gone->heard_s);
        iso_free(gone);
    }
    *pulse = NULL;
}

iso_status_t iso_pulse_create(const iso_pulse_spec_t *spec, MPI_Comm comm,
                              iso_pulse_t **pulse_out)
{
    int wanted = spec->path != NULL ? 1 : 0;
    iso_pulse_t *pulse = NULL;

    *pulse_out = NULL;
    ISO_CHECK_MPI(MPI_Bcast(&wanted, 1, MPI_INT, 0, comm));
    if (wanted == 0) {
        return ISO_OK;
    }
    iso_status_t status = iso_par_agree(reserve(spec, comm, &pulse), comm);

    if (status == ISO_OK) {
        ISO_CHECK_MPI(MPI_Comm_dup(comm, &pulse->comm));
        ISO_CHECK_MPI(MPI_Gather(&pulse->mine, sizeof pulse->mine, MPI_BYTE,
                                 pulse->all, sizeof pulse->mine, MPI_BYTE, 0,
                                 comm));
        status = pulse->path != NULL ? begin_file(pulse) : ISO_OK;
        status = iso_par_agree(status, comm);
    }
    if (status != ISO_OK) {
        free_pulse(&pulse);
        return status;
    }
    if (pulse->path != NULL) {
        listen(pulse);
    }
    *pulse_out = pulse;
    return ISO_OK;
}

void iso_pulse_stop(iso_pulse_t *pulse)
{
    int expected = 0;

    if (pulse == NULL) {
        return;
    }
    ISO_CHECK_MPI(MPI_Reduce(&pulse->n_sent, &expected, 1, MPI_INT, MPI_SUM, 0,
                             pulse->comm));
    while (pulse->n_heard < expected) {
        ISO_CHECK_MPI(MPI_Wait(&pulse->coming, MPI_STATUS_IGNORE));
        take(pulse);
    }
    ISO_CHECK_MPI(MPI_Wait(&pulse->sent, MPI_STATUS_IGNORE));
}

void iso_pulse_close(iso_pulse_t **pulse, iso_status_t end)
{
    if (*pulse == NULL) {
        return;
    }
    if ((*pulse)->path != NULL) {
        try_write(*pulse, name_of(end));
    }
    free_pulse(pulse);
}
