/*
 * Wait: what this rank waits for at the moment, for the watchdog to see
 * (watchdog.h) and to say when it lasts too long.
 *
 *     iso_wait_t wait = {.kind = ISO_WAIT_RECEIVE, .value = "relu_7",
 *                        .micro_batch = 3, .peer = 1, .n_peers = 1};
 *     iso_wait_begin(&wait);
 *     ... blocking calls ...
 *     iso_wait_end();
 *
 * Every MPI call in ISO_CHECK_MPI() is a wait by itself, for all ranks; one
 * that is within another is part of that one. There is one wait at a time:
 * only the thread that calls MPI begins and ends them, at the cost of a few
 * stores.
 */
#ifndef ISO_WAIT_H
#define ISO_WAIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum iso_wait_kind {
    ISO_WAIT_ALL,      /* for all ranks, in an MPI call */
    ISO_WAIT_RECEIVE,  /* for a message */
    ISO_WAIT_SEND,     /* for a peer to take a message */
    ISO_WAIT_EXCHANGE, /* within an exchange among workers */
    ISO_WAIT_DONE,     /* for all workers of the stage to have computed */
    ISO_WAIT_READY,    /* for all of them to have what they compute with */
} iso_wait_kind_t;

/* Texts are borrowed until the watchdog ends. */
typedef struct iso_wait {
    iso_wait_kind_t kind;
    const char *op;      /* MPI call, or kind of exchange; NULL */
    const char *value;   /* node whose value it is; NULL */
    int64_t micro_batch; /* of messages */
    int peer;            /* first rank of the peers; not of ISO_WAIT_ALL */
    int n_peers;         /* this rank may be among them */
} iso_wait_t;

void iso_wait_begin(const iso_wait_t *wait);
void iso_wait_end(void);

/* Begin to wait for all ranks in a call, whose text is constant. */
void iso_wait_begin_call(const char *call);

/*
 * Say what the ranks are at, for waits that know no more than that.
 *
 * phase    [in]  constant text, "loading weights"
 * least_s  [in]  a wait of this phase may last so long whatever the deadline
 */
void iso_wait_phase(const char *phase, int least_s);

/* The wait of this moment, as another thread sees it. */
typedef struct iso_wait_seen {
    uint64_t number; /* another one for every wait */
    iso_wait_t wait;
    const char *phase;
    int least_s;
} iso_wait_seen_t;

/* False when this rank does not wait. */
bool iso_wait_look(iso_wait_seen_t *seen_out);

#endif
