/*
 * Links: messages go to and fro between two ranks while the others wait, one
 * pair after the other; a link is fitted to the medians over all pairs of its
 * kind. Neighbours and pairs far apart are sampled.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "lab/calibrate_impl.h"
#include "par/par.h"
#include "plan/machine_fit.h"

#include <math.h>
#include <string.h>

enum {
    N_SIZES = 19,
    LARGEST = 4 << 20,
    MOST_NEAR = 8,
    MOST_FAR = 4,
    MOST_PAIRS = MOST_NEAR + MOST_FAR,
};

/* Dense where the limit of eager messages may be, which is a power of two,
 * often less a header. */
static const size_t sizes[N_SIZES] = {
    8,        512,       1 << 10,   2 << 10,  3 << 10,  4 << 10,  6 << 10,
    8 << 10,  12 << 10,  16 << 10,  24 << 10, 32 << 10, 48 << 10, 64 << 10,
    96 << 10, 128 << 10, 256 << 10, 1 << 20,  LARGEST};

typedef struct pair {
    int a;
    int b;
} pair_t;

/* Seconds of one size of message. */
typedef double pair_times_t[MOST_PAIRS][ISO__CALIBRATE_REPEATS];

/* -- which pairs -- */

/* The nearest, or farthest, rank after this one with such a link; -1: none. */
static int partner_of(const iso_machine_t *machine, iso_link_kind_t kind,
                      int rank, bool far)
{
    const int world = iso_machine_world(machine);

    for (int i = 1; rank + i < world; i++) {
        const int other = far ? world - i : rank + i;
        if (iso_machine_link_kind(machine, rank, other) == kind) {
            return other;
        }
    }
    return -1;
}

/* Add at most `most` pairs whose first ranks lie evenly over the world. */
static int add_pairs(const iso_machine_t *machine, iso_link_kind_t kind,
                     bool far, int most, pair_t *pairs)
{
    const int world = iso_machine_world(machine);
    int candidates = 0;
    int seen = 0;
    int added = 0;

    for (int rank = 0; rank < world; rank++) {
        candidates += partner_of(machine, kind, rank, far) >= 0 ? 1 : 0;
    }
    const int step = candidates > most ? (candidates + most - 1) / most : 1;

    for (int rank = 0; rank < world; rank++) {
        const int other = partner_of(machine, kind, rank, far);

        if (other >= 0 && seen++ % step == 0) {
            pairs[added++] = (pair_t){rank, other};
        }
    }
    return added;
}

/* pairs [out] (MOST_PAIRS); the number of them is returned. */
static int find_pairs(const iso_machine_t *machine, iso_link_kind_t kind,
                      pair_t *pairs)
{
    const int near = add_pairs(machine, kind, false, MOST_NEAR, pairs);

    return near + add_pairs(machine, kind, true, MOST_FAR, pairs + near);
}

/* -- messages -- */

/* More than a core's first cache, so that both ends are about as far, as
 * workers are. */
enum { BETWEEN_BYTES = 64 * 1024 };

static void to_and_fro(MPI_Comm comm, char *buffer, int bytes, int peer,
                       bool begins)
{
    if (begins) {
        ISO_CHECK_MPI(MPI_Send(buffer, bytes, MPI_BYTE, peer, 0, comm));
    }
    ISO_CHECK_MPI(
        MPI_Recv(buffer, bytes, MPI_BYTE, peer, 0, comm, MPI_STATUS_IGNORE));
    if (!begins) {
        ISO_CHECK_MPI(MPI_Send(buffer, bytes, MPI_BYTE, peer, 0, comm));
    }
}

/* seconds [out] (N_SIZES, REPEATS) of one message, at both ends. */
static void time_pair(MPI_Comm comm, char *buffer, int peer, bool begins,
                      double seconds[N_SIZES][ISO__CALIBRATE_REPEATS])
{
    char room[BETWEEN_BYTES] = {0};

    for (int i = 0; i < N_SIZES; i++) {
        for (int repeat = -2; repeat < ISO__CALIBRATE_REPEATS; repeat++) {
            iso__calibrate_compute_between(room, BETWEEN_BYTES);

            const double begin_s = iso_clock_s();

            to_and_fro(comm, buffer, (int)sizes[i], peer, begins);
            if (repeat >= 0) { /* those before warm up */
                seconds[i][repeat] = (iso_clock_s() - begin_s) / 2.0;
            }
        }
    }
}

/* The same times on every rank. Collective. */
static void measure_pair(MPI_Comm comm, char *buffer, pair_t pair,
                         double seconds[N_SIZES][ISO__CALIBRATE_REPEATS])
{
    const int rank = iso_par_rank(comm);

    ISO_CHECK_MPI(MPI_Barrier(comm));
    if (rank == pair.a) {
        time_pair(comm, buffer, pair.b, true, seconds);
    } else if (rank == pair.b) {
        time_pair(comm, buffer, pair.a, false, seconds);
    }
    ISO_CHECK_MPI(MPI_Bcast(seconds, N_SIZES * ISO__CALIBRATE_REPEATS,
                            MPI_DOUBLE, pair.a, comm));
}

/* -- figures -- */

/* times of all pairs, by size. */
static void set_link(iso_machine_t *machine, iso_link_kind_t kind,
                     pair_times_t times[N_SIZES], int n_pairs)
{
    iso_link_figures_t figures = {.cost_class = ISO_COST_MEASURED};
    double medians[N_SIZES];

    for (int i = 0; i < N_SIZES; i++) {
        const iso_timing_t timing =
            iso_timing_of(&times[i][0][0], n_pairs * ISO__CALIBRATE_REPEATS);
        medians[i] = timing.median_s;
        figures.spread = fmax(figures.spread, timing.spread);
    }
    if (iso_link_fit(sizes, medians, N_SIZES, &figures.link)) {
        iso_machine_set_link(machine, kind, &figures);
    }
}

/* Collective. */
static void measure_kind(MPI_Comm comm, char *buffer, iso_link_kind_t kind,
                         iso_machine_t *machine)
{
    pair_t pairs[MOST_PAIRS];
    pair_times_t times[N_SIZES];
    const int n_pairs = find_pairs(machine, kind, pairs);

    for (int p = 0; p < n_pairs; p++) {
        double seconds[N_SIZES][ISO__CALIBRATE_REPEATS] = {{0}};

        measure_pair(comm, buffer, pairs[p], seconds);
        for (int i = 0; i < N_SIZES; i++) {
            memcpy(times[i][p], seconds[i], sizeof seconds[i]);
        }
    }
    if (n_pairs > 0) {
        set_link(machine, kind, times, n_pairs);
    }
}

iso_status_t iso__calibrate_links(MPI_Comm comm, iso_machine_t *machine)
{
    char *buffer = iso_alloc_zeroed(LARGEST, 1);
    iso_status_t status =
        iso_par_agree(buffer != NULL ? ISO_OK : ISO_NOMEM, comm);

    for (int kind = 0; status == ISO_OK && kind < ISO_LINK_KIND_COUNT; kind++) {
        measure_kind(comm, buffer, (iso_link_kind_t)kind, machine);
    }
    iso_free(buffer);
    return status;
}
