/*
 * Collectives among all ranks of the job, for equal parts of a few sizes:
 * what they take beside what their messages would, one by one, over the links
 * (iso_machine_collective).
 */
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "lab/calibrate_impl.h"
#include "par/par.h"
#include "plan/machine_fit.h"

#include <math.h>

enum { N_SIZES = 5, MOST_PART = 1 << 20, MOST_BYTES = 16 << 20 };

/* Of a collective call over the messages it stands for. */
enum { MOST_FACTOR = 100 };

/* Buffers of one rank; the counts are those of every rank. */
typedef struct room {
    MPI_Comm comm;
    int world;
    char *send;    /* (world) parts */
    char *receive; /* (world) parts */
    int *counts;   /* (world) */
    int *offsets;  /* (world) */
    size_t sizes[N_SIZES];
} room_t;

static void room_free(room_t *room)
{
    iso_free(room->send);
    iso_free(room->receive);
    iso_free(room->counts);
    iso_free(room->offsets);
}

static iso_status_t room_make(room_t *room)
{
    const size_t world = (size_t)room->world;
    size_t most = MOST_BYTES / world;

    most = most < MOST_PART ? most : MOST_PART;
    room->sizes[0] = 8;
    for (int i = 1; i < N_SIZES; i++) { /* 2 KiB to 1 MiB in few ranks */
        room->sizes[i] = 8 + (most >> 3 * (N_SIZES - 1 - i));
    }
    room->send = iso_alloc_zeroed(world, room->sizes[N_SIZES - 1]);
    room->receive = iso_alloc_zeroed(world, room->sizes[N_SIZES - 1]);
    room->counts = iso_alloc_zeroed(world, sizeof *room->counts);
    room->offsets = iso_alloc_zeroed(world, sizeof *room->offsets);
    return room->send != NULL && room->receive != NULL &&
                   room->counts != NULL && room->offsets != NULL
               ? ISO_OK
               : ISO_NOMEM;
}

/* -- the calls -- */

/* One part to, from or between all ranks; rank 0 is the root. Collective. */
static void call(const room_t *room, iso_collective_t collective, int bytes)
{
    switch (collective) {
    case ISO_COLLECTIVE_BCAST:
        ISO_CHECK_MPI(MPI_Bcast(room->send, bytes, MPI_BYTE, 0, room->comm));
        break;
    case ISO_COLLECTIVE_SCATTERV:
        ISO_CHECK_MPI(MPI_Scatterv(room->send, room->counts, room->offsets,
                                   MPI_BYTE, room->receive, bytes, MPI_BYTE, 0,
                                   room->comm));
        break;
    case ISO_COLLECTIVE_GATHERV:
        ISO_CHECK_MPI(MPI_Gatherv(room->send, bytes, MPI_BYTE, room->receive,
                                  room->counts, room->offsets, MPI_BYTE, 0,
                                  room->comm));
        break;
    case ISO_COLLECTIVE_ALLGATHERV:
        ISO_CHECK_MPI(MPI_Allgatherv(room->send, bytes, MPI_BYTE, room->receive,
                                     room->counts, room->offsets, MPI_BYTE,
                                     room->comm));
        break;
    case ISO_COLLECTIVE_ALLTOALLV:
        ISO_CHECK_MPI(MPI_Alltoallv(room->send, room->counts, room->offsets,
                                    MPI_BYTE, room->receive, room->counts,
                                    room->offsets, MPI_BYTE, room->comm));
        break;
    case ISO_COLLECTIVE_COUNT:
        break;
    }
}

/* A call takes as long as its slowest rank; the same on all. Collective. */
static iso_timing_t time_call(const room_t *room, iso_collective_t collective,
                              size_t bytes)
{
    double mine[ISO__CALIBRATE_REPEATS] = {0};
    double slowest[ISO__CALIBRATE_REPEATS] = {0};

    for (int i = 0; i < room->world; i++) {
        room->counts[i] = (int)bytes;
        room->offsets[i] = i * (int)bytes;
    }
    for (int repeat = -2; repeat < ISO__CALIBRATE_REPEATS; repeat++) {
        ISO_CHECK_MPI(MPI_Barrier(room->comm));
        const double begin_s = iso_clock_s();

        call(room, collective, (int)bytes);
        if (repeat >= 0) { /* those before warm up */
            mine[repeat] = iso_clock_s() - begin_s;
        }
    }
    ISO_CHECK_MPI(MPI_Allreduce(mine, slowest, ISO__CALIBRATE_REPEATS,
                                MPI_DOUBLE, MPI_MAX, room->comm));
    return iso_timing_of(slowest, ISO__CALIBRATE_REPEATS);
}

/* -- the messages they stand for -- */

/* Messages of one rank that follow one another, by kind of link. */
typedef struct messages {
    int count[ISO_LINK_KIND_COUNT];
} messages_t;

/* From one rank to all others. */
static messages_t messages_from(const iso_machine_t *machine, int rank)
{
    messages_t messages = {{0}};

    for (int other = 0; other < iso_machine_world(machine); other++) {
        if (other != rank) {
            messages.count[iso_machine_link_kind(machine, rank, other)]++;
        }
    }
    return messages;
}

/* From the rank with most messages to other hosts. */
static messages_t messages_from_all(const iso_machine_t *machine)
{
    messages_t most = messages_from(machine, 0);

    for (int rank = 1; rank < iso_machine_world(machine); rank++) {
        const messages_t messages = messages_from(machine, rank);
        if (messages.count[ISO_LINK_OTHER_HOST] >
            most.count[ISO_LINK_OTHER_HOST]) {
            most = messages;
        }
    }
    return most;
}

/* Rounds that each wait for the slowest link. */
static messages_t rounds(const iso_machine_t *machine, int count)
{
    messages_t messages = {{0}};
    const bool one_host =
        messages_from(machine, 0).count[ISO_LINK_OTHER_HOST] == 0;

    messages.count[one_host ? ISO_LINK_SAME_HOST : ISO_LINK_OTHER_HOST] = count;
    return messages;
}

static int log2_of(int world)
{
    int levels = 0;

    for (int64_t reached = 1; reached < world; reached *= 2) {
        levels++;
    }
    return levels;
}

static messages_t messages_of(const iso_machine_t *machine,
                              iso_collective_t collective)
{
    const int world = iso_machine_world(machine);

    switch (collective) {
    case ISO_COLLECTIVE_BCAST:
        return rounds(machine, log2_of(world));
    case ISO_COLLECTIVE_ALLGATHERV:
        return rounds(machine, world - 1);
    case ISO_COLLECTIVE_ALLTOALLV:
        return messages_from_all(machine);
    default:
        return messages_from(machine, 0);
    }
}

/* -- figures -- */

/* Of messages of so many bytes: their latencies, and the time of the bytes. */
static void sum_messages(const iso_machine_t *machine, messages_t messages,
                         size_t bytes, double *latency_s, double *bytes_s)
{
    *latency_s = 0.0;
    *bytes_s = 0.0;
    for (int kind = 0; kind < ISO_LINK_KIND_COUNT; kind++) {
        const iso_link_t link =
            iso_machine_link_figures(machine, (iso_link_kind_t)kind)->link;
        const double of_bytes_s = (double)bytes / link.bytes_per_s;

        *latency_s += messages.count[kind] *
                      (iso_link_seconds(link, (double)bytes) - of_bytes_s);
        *bytes_s += messages.count[kind] * of_bytes_s;
    }
}

/*
 * A call that is very much slower than its messages waited for a rank that
 * had no processor: the default stays, and rank 0 says so.
 */
static bool is_plausible(const room_t *room, iso_collective_t collective,
                         const iso_collective_figures_t *figures)
{
    const double most = fmax(figures->latency_factor, figures->bytes_factor);

    if (most > MOST_FACTOR && iso_par_rank(room->comm) == 0) {
        iso_log(ISO_LOG_WARNING,
                "%s took %.0f times as long as its messages, so that its "
                "default stays; calibrate with a free core for each rank",
                iso_collective_string(collective), most);
    }
    return most <= MOST_FACTOR;
}

/* Collective. */
static void measure(const room_t *room, iso_collective_t collective,
                    iso_machine_t *machine)
{
    iso_collective_figures_t figures = {.cost_class = ISO_COST_MEASURED};
    const messages_t messages = messages_of(machine, collective);
    double medians[N_SIZES];
    double latencies[N_SIZES];
    double byte_seconds[N_SIZES];

    for (int i = 0; i < N_SIZES; i++) {
        const iso_timing_t timing = time_call(room, collective, room->sizes[i]);

        medians[i] = timing.median_s;
        figures.spread = fmax(figures.spread, timing.spread);
        sum_messages(machine, messages, room->sizes[i], &latencies[i],
                     &byte_seconds[i]);
    }
    if (iso_collective_fit(latencies, byte_seconds, medians, N_SIZES,
                           &figures) &&
        is_plausible(room, collective, &figures)) {
        iso_machine_set_collective(machine, collective, &figures);
    }
}

iso_status_t iso__calibrate_collectives(MPI_Comm comm, iso_machine_t *machine)
{
    room_t room = {.comm = comm, .world = iso_par_size(comm)};
    iso_status_t status = iso_par_agree(room_make(&room), comm);

    if (status == ISO_OK && room.world > 1) {
        for (int i = 0; i < ISO_COLLECTIVE_COUNT; i++) {
            measure(&room, (iso_collective_t)i, machine);
        }
    }
    room_free(&room);
    return status;
}
