#include "par/watchdog.h"

#include "isotome/error.h"

#include "base/mem.h"
#include "par/par.h"
#include "par/sockets.h"

#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    TICKS_PER_S = 10,
    NS_PER_TICK = 1000000000 / TICKS_PER_S,
    LOOK_TICKS = TICKS_PER_S,             /* between looks at sockets */
    LONG_TICKS = 2 * TICKS_PER_S,         /* a wait in which silence counts */
    LINGER_TICKS = 5 * TICKS_PER_S,       /* between a line and the end */
    CONFIRM_TICKS = 2 * TICKS_PER_S,      /* longer than keepalive takes */
    TURN_TICKS = TICKS_PER_S / 2,         /* longer than a launcher takes */
    FAR_TURN_TICKS = 5 * TICKS_PER_S / 2, /* to reach ranks, also of others */
    MOST_TURN = 120,                      /* before those that wait for all */
    MOST_RANK_TURN = 20,                  /* of these */
    HUSH_TICKS = 5 * TICKS_PER_S,
};

/* Seconds of silence before it is looked at again: with that, longer than a
 * cable that is plugged in again after five seconds takes to be heard. */
static const double silence_s = 5.5;

typedef struct watchdog {
    iso_watchdog_spec_t spec;
    iso_hosts_t *hosts;
    int rank;
    int turn_ticks;
    atomic_int deadline_ticks; /* 0: none */
    atomic_int stage;
    atomic_int n_stages;
    atomic_int worker;
    atomic_int most_workers;
    uint64_t number; /* the wait that lasts */
    int ticks;       /* it has lasted */
    int silent_ticks;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t ended;
    bool ends;
} watchdog_t;

static watchdog_t *running;
static atomic_int hushed_ticks; /* that are left */

static int lesser(int a, int b)
{
    return a < b ? a : b;
}

/* -- what it says -- */

static void add_peers(const iso_wait_t *wait, const iso_hosts_t *hosts,
                      iso_text_t *text)
{
    const char *host = iso_hosts_name(hosts, wait->peer);

    if (wait->n_peers == 1) {
        iso_text_add(text, "rank %d on %s", wait->peer, host);
    } else {
        iso_text_add(text, "the workers of the stage, rank %d to %d (%s...)",
                     wait->peer, wait->peer + wait->n_peers - 1, host);
    }
}

static void add_wait(const iso_wait_seen_t *seen, const iso_hosts_t *hosts,
                     iso_text_t *text)
{
    const iso_wait_t *wait = &seen->wait;
    const char *value = wait->value != NULL ? wait->value : "?";

    switch (wait->kind) {
    case ISO_WAIT_RECEIVE:
        iso_text_add(text, "'%s' of micro-batch %" PRId64 " from ", value,
                     wait->micro_batch);
        add_peers(wait, hosts, text);
        return;
    case ISO_WAIT_SEND:
        add_peers(wait, hosts, text);
        iso_text_add(text, " to take '%s' of micro-batch %" PRId64, value,
                     wait->micro_batch);
        return;
    case ISO_WAIT_EXCHANGE:
        iso_text_add(text, "the exchange (%s) of '%s' with ", wait->op, value);
        add_peers(wait, hosts, text);
        return;
    case ISO_WAIT_DONE:
        add_peers(wait, hosts, text);
        iso_text_add(text, " to have computed");
        return;
    case ISO_WAIT_READY:
        add_peers(wait, hosts, text);
        iso_text_add(text, " to have what the next micro-batch takes");
        return;
    case ISO_WAIT_ALL:
        break;
    }
    iso_text_add(text, "the other ranks while %s (%.*s)",
                 seen->phase != NULL ? seen->phase : "starting",
                 (int)strcspn(wait->op, "("), wait->op);
}

void iso_watchdog_say(const iso_wait_seen_t *seen, double waited_s,
                      const iso_hosts_t *hosts, iso_text_t *text)
{
    iso_text_add(text, "waited %.0f s for ", waited_s);
    add_wait(seen, hosts, text);
}

/* Each group after those before it, which has so many turns. */
int iso_watchdog_turn(const iso_wait_t *wait, const iso_watchdog_place_t *place,
                      int rank)
{
    enum { MOST_WORKERS = 3 };
    const int receivers =
        place->most_workers > 1 ? lesser(place->most_workers, MOST_WORKERS) : 0;
    const int senders = receivers + place->n_stages;
    const int ready = senders + place->n_stages;
    const int all = lesser(ready + 1, MOST_TURN);

    switch (wait->kind) {
    case ISO_WAIT_EXCHANGE:
    case ISO_WAIT_DONE:
        return lesser(place->worker, MOST_WORKERS - 1);
    case ISO_WAIT_RECEIVE:
        return lesser(receivers + place->stage, MOST_TURN);
    case ISO_WAIT_SEND:
        return lesser(ready - 1 - place->stage, MOST_TURN);
    case ISO_WAIT_READY:
        return lesser(ready, MOST_TURN);
    case ISO_WAIT_ALL:
        break;
    }
    return all + lesser(rank, MOST_RANK_TURN);
}

/* -- what it does -- */

/* One line by one call, whole also when others write. */
static void speak(iso_text_t *text)
{
    iso_text_add(text, "\n");
    if (text->status == ISO_OK) {
        (void)!write(STDERR_FILENO, text->data, text->length);
    }
    iso_text_free(text);
}

static _Noreturn void end_process(const watchdog_t *dog)
{
    if (dog->spec.before_exit != NULL) {
        dog->spec.before_exit();
    }
    _exit(iso_status_exit_code(ISO_DEADLINE));
}

static void begin_line(const watchdog_t *dog, iso_text_t *text)
{
    const int stage = atomic_load(&dog->stage);

    iso_text_add(text, "isotome: rank %d on %s", dog->rank,
                 iso_hosts_name(dog->hosts, dog->rank));
    if (stage >= 0) {
        iso_text_add(text, " (stage %d)", stage);
    }
    iso_text_add(text, ": ");
}

static _Noreturn void end_for_deadline(const watchdog_t *dog,
                                       const iso_wait_seen_t *seen)
{
    iso_text_t text = {0};

    begin_line(dog, &text);
    iso_watchdog_say(seen, (double)dog->ticks / TICKS_PER_S, dog->hosts, &text);
    iso_text_add(&text, "; it was lost, is stopped, or is slower than "
                        "--deadline allows");
    speak(&text);
    end_process(dog);
}

static void say_silence(const watchdog_t *dog, const iso_wait_seen_t *seen,
                        int peer)
{
    iso_text_t text = {0};

    begin_line(dog, &text);
    iso_text_add(&text, "host %s (", iso_hosts_name(dog->hosts, peer));
    iso_hosts_add_ranks(dog->hosts, peer, &text);
    iso_text_add(&text, ") does not answer; ");
    iso_watchdog_say(seen, (double)dog->ticks / TICKS_PER_S, dog->hosts, &text);
    iso_text_add(&text, "; see to that host and its network");
    speak(&text);
}

static bool is_overdue(const watchdog_t *dog, const iso_wait_seen_t *seen)
{
    const int least = seen->least_s * TICKS_PER_S;
    const int deadline = atomic_load(&dog->deadline_ticks);
    const iso_watchdog_place_t place = {.stage = atomic_load(&dog->stage),
                                        .n_stages = atomic_load(&dog->n_stages),
                                        .worker = atomic_load(&dog->worker),
                                        .most_workers =
                                            atomic_load(&dog->most_workers)};

    return deadline > 0 &&
           dog->ticks - (deadline > least ? deadline : least) >=
               dog->turn_ticks *
                   iso_watchdog_turn(&seen->wait, &place, dog->rank);
}

/* First the rank that waits for a message from that host, then those that
 * otherwise wait for it, then those that only have a connection. */
static int missing_turn(const watchdog_t *dog, const iso_wait_t *wait, int peer)
{
    if (wait->kind == ISO_WAIT_ALL ||
        !iso_hosts_share(dog->hosts, wait->peer, peer)) {
        return 2;
    }
    return wait->kind == ISO_WAIT_RECEIVE && atomic_load(&dog->worker) == 0 ? 0
                                                                            : 1;
}

/*
 * A silent host is looked at again before it counts. Then a line says so, and
 * the launcher has a while to find out and end the job, or the host to come
 * back: mpirun may hang when a rank ends first and it misses a host after that.
 * Keepalive is switched on before anything happens.
 */
static void look_at_sockets(watchdog_t *dog, const iso_wait_seen_t *seen)
{
    const int peer = iso_sockets_find_silent(dog->hosts, silence_s);

    if (peer < 0 || dog->ticks < LONG_TICKS) {
        dog->silent_ticks = 0;
        return;
    }
    const int speaks = CONFIRM_TICKS + (LINGER_TICKS + FAR_TURN_TICKS) *
                                           missing_turn(dog, &seen->wait, peer);

    dog->silent_ticks++;
    if (dog->silent_ticks == speaks) {
        say_silence(dog, seen, peer);
    }
    if (dog->silent_ticks >= speaks + LINGER_TICKS) {
        end_process(dog);
    }
}

static void tick(watchdog_t *dog, int64_t n)
{
    iso_wait_seen_t seen;
    const bool waits = iso_wait_look(&seen);

    dog->ticks = waits && seen.number == dog->number ? dog->ticks + 1 : 0;
    dog->number = seen.number;
    if (atomic_load(&hushed_ticks) > 0) {
        (void)atomic_fetch_sub(&hushed_ticks, 1);
        return;
    }
    if (waits && is_overdue(dog, &seen)) {
        end_for_deadline(dog, &seen);
    }
    if (n % LOOK_TICKS == 0 || dog->ticks >= LONG_TICKS) {
        look_at_sockets(dog, &seen);
    }
}

static void *watch(void *arg)
{
    watchdog_t *dog = arg;
    struct timespec until;
    int64_t n = 0;

    (void)pthread_mutex_lock(&dog->mutex);
    while (!dog->ends) {
        (void)clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += NS_PER_TICK;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        if (pthread_cond_timedwait(&dog->ended, &dog->mutex, &until) != 0) {
            tick(dog, n++);
        }
    }
    (void)pthread_mutex_unlock(&dog->mutex);
    return NULL;
}

void iso_watchdog_hush(void)
{
    atomic_store(&hushed_ticks, HUSH_TICKS);
}

/* -- start and end -- */

/* Signals are for the thread that calls MPI. */
static int start_thread(watchdog_t *dog)
{
    pthread_condattr_t attributes;
    sigset_t all;
    sigset_t before;

    (void)pthread_mutex_init(&dog->mutex, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&dog->ended, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error = pthread_create(&dog->thread, NULL, watch, dog);

    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

static void free_dog(watchdog_t *dog)
{
    (void)pthread_cond_destroy(&dog->ended);
    (void)pthread_mutex_destroy(&dog->mutex);
    iso_hosts_free(&dog->hosts);
    iso_free(dog);
}

/* At least one, where there is a deadline at all. */
static int ticks_of(double deadline_s)
{
    const double ticks = deadline_s * TICKS_PER_S;

    if (ticks >= INT_MAX / 2) {
        return INT_MAX / 2; /* turns come behind it */
    }
    return ticks > 0 && ticks < 1 ? 1 : (int)ticks;
}

static iso_status_t start(const iso_watchdog_spec_t *spec, MPI_Comm comm,
                          iso_hosts_t *hosts)
{
    watchdog_t *dog = iso_alloc_zeroed(1, sizeof *dog);

    if (dog == NULL) {
        iso_hosts_free(&hosts);
        return ISO_NOMEM;
    }
    dog->spec = *spec;
    dog->hosts = hosts;
    dog->rank = iso_par_rank(comm);
    dog->turn_ticks =
        iso_hosts_are_several(hosts) ? FAR_TURN_TICKS : TURN_TICKS;
    atomic_store(&dog->stage, -1);
    atomic_store(&dog->deadline_ticks, ticks_of(spec->deadline_s));
    const int error = start_thread(dog);

    if (error != 0) {
        free_dog(dog);
        return iso_fail(ISO_IO, "cannot start a thread: %s", strerror(error));
    }
    running = dog;
    return ISO_OK;
}

iso_status_t iso_watchdog_start(const iso_watchdog_spec_t *spec, MPI_Comm comm)
{
    iso_hosts_t *hosts = NULL;

    if (iso_par_size(comm) == 1) {
        return ISO_OK;
    }
    ISO_TRY(iso_hosts_gather(comm, &hosts));
    const iso_status_t status = iso_par_agree(start(spec, comm, hosts), comm);

    if (status != ISO_OK) {
        iso_watchdog_end();
    }
    return status;
}

void iso_watchdog_set_deadline(double deadline_s)
{
    if (running != NULL) {
        atomic_store(&running->deadline_ticks, ticks_of(deadline_s));
    }
}

void iso_watchdog_set_place(const iso_watchdog_place_t *place)
{
    if (running != NULL) {
        atomic_store(&running->stage, place->stage);
        atomic_store(&running->n_stages, place->n_stages);
        atomic_store(&running->worker, place->worker);
        atomic_store(&running->most_workers, place->most_workers);
    }
}

const iso_hosts_t *iso_watchdog_hosts(void)
{
    return running != NULL ? running->hosts : NULL;
}

void iso_watchdog_end(void)
{
    watchdog_t *dog = running;

    if (dog == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&dog->mutex);
    dog->ends = true;
    (void)pthread_cond_signal(&dog->ended);
    (void)pthread_mutex_unlock(&dog->mutex);
    (void)pthread_join(dog->thread, NULL);
    running = NULL;
    free_dog(dog);
}
