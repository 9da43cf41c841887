/*
 * Watchdog: a thread beside the one that calls MPI, which ends this process
 * when a wait (wait.h) has lasted longer than the deadline, or when the host
 * of another rank does not answer (sockets.h); the launcher then ends the
 * other processes.
 *
 * It says in one line who waits, for what and for whom, and exits with the
 * code of ISO_DEADLINE. It never calls MPI. Time is counted in ticks of the
 * thread: while a whole job is stopped nothing passes.
 *
 * Several ranks wait when one is lost. They take turns after the deadline, so
 * that the one that is next to the trouble speaks first and the launcher ends
 * the others before they do: workers that have begun to compute; receivers, in
 * the order of stages, as each may wait for those before it; senders, against
 * the order; workers that wait for one that receives or sends; those that wait
 * for all.
 *
 *     ISO_TRY(iso_watchdog_start(&spec, comm));
 *     ...
 *     iso_watchdog_end();
 */
#ifndef ISO_WATCHDOG_H
#define ISO_WATCHDOG_H

#include "isotome/status.h"

#include "par/hosts.h"
#include "par/wait.h"

/* Where this rank stands among those that may wait. */
typedef struct iso_watchdog_place {
    int stage; /* -1: none */
    int n_stages;
    int worker;
    int most_workers; /* of any stage */
} iso_watchdog_place_t;

typedef struct iso_watchdog_spec {
    double deadline_s;         /* 0: none */
    void (*before_exit)(void); /* NULL: nothing. On the watchdog's thread, while
                                * the other one may be anywhere */
} iso_watchdog_spec_t;

/* Start it, once at a time; a job of one rank has none. Collective over comm.
 * Errors: ISO_NOMEM, ISO_IO: no thread. */
iso_status_t iso_watchdog_start(const iso_watchdog_spec_t *spec, MPI_Comm comm);

/* As more is known. Not collective, as are those that follow. */
void iso_watchdog_set_deadline(double deadline_s);
void iso_watchdog_set_place(const iso_watchdog_place_t *place);

/* Hosts of the job's ranks, borrowed; NULL when none runs. */
const iso_hosts_t *iso_watchdog_hosts(void);

void iso_watchdog_end(void);

/*
 * Be quiet for five seconds: a launcher, which continues all processes before
 * it ends them, or somebody else has sent a signal. So a rank that hears that
 * another one has spoken does not speak as well. Safe in a signal handler.
 */
void iso_watchdog_hush(void);

/* -- its parts, for tests -- */

/* Turns after the deadline at which a rank speaks. One takes half a second, or
 * 2.5 s where ranks are on several hosts. */
int iso_watchdog_turn(const iso_wait_t *wait, const iso_watchdog_place_t *place,
                      int rank);

/* Add "waited 3 s for ...", without rank and host. hosts [in] NULL: unknown */
void iso_watchdog_say(const iso_wait_seen_t *seen, double waited_s,
                      const iso_hosts_t *hosts, iso_text_t *text);

#endif
