#include "par/affinity.h"

#include "base/log.h"
#include "base/mem.h"
#include "par/par.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* As many as iso_cores_t holds; the system refuses a set that is too small for
 * the host. */
enum { SETS = ISO_CORES_MOST / CPU_SETSIZE };

_Static_assert(SETS *CPU_SETSIZE == ISO_CORES_MOST, "whole sets");

/* Add what a process or thread may run on. */
static void add_cores_of(pid_t process, iso_cores_t *cores)
{
    cpu_set_t sets[SETS];

    memset(sets, 0, sizeof sets);
    if (sched_getaffinity(process, sizeof sets, sets) != 0) {
        return;
    }
    for (int core = 0; core < ISO_CORES_MOST; core++) {
        if (CPU_ISSET_S((size_t)core, sizeof sets, sets)) {
            iso_cores_add(cores, core);
        }
    }
}

/* What anybody here may run on: the first process of the host or, with its
 * share of the host, of the container. */
static int cores_at_hand(void)
{
    iso_cores_t cores = {{0}};

    add_cores_of(1, &cores);
    const int count = iso_cores_count(&cores);

    return count > 0 ? count : (int)sysconf(_SC_NPROCESSORS_ONLN);
}

/* OpenMP may have bound each thread to a place of its own. */
iso_affinity_t iso_affinity_here(int threads)
{
    iso_affinity_t binding = {.threads = threads};

#pragma omp parallel num_threads(threads)
    {
#pragma omp critical
        add_cores_of(0, &binding.cores);
    }
    const int count = iso_cores_count(&binding.cores);

    binding.is_bound = count > 0 && count < cores_at_hand();
    return binding;
}

/* A rank as rank 0 sees it; plain bytes, gathered. */
typedef struct seat {
    char host[MPI_MAX_PROCESSOR_NAME];
    iso_affinity_t binding;
} seat_t;

/* Room for the ranks of one host. */
typedef struct one_host {
    iso_affinity_t *ranks; /* (size) */
    int *numbers;          /* (size) */
    bool *done;            /* (size) of the job: warned of */
} one_host_t;

static iso_status_t warn_of_host(const seat_t *seats, int first, int size,
                                 const one_host_t *room)
{
    iso_text_t text = {0};
    int n = 0;

    for (int rank = first; rank < size; rank++) {
        if (strcmp(seats[rank].host, seats[first].host) == 0) {
            room->done[rank] = true;
            room->numbers[n] = rank;
            room->ranks[n++] = seats[rank].binding;
        }
    }
    iso_status_t status = iso_affinity_add_warning(
        seats[first].host, room->ranks, room->numbers, n, &text);

    if (status == ISO_OK && text.length > 0) {
        iso_log(ISO_LOG_WARNING, "%s", text.data);
    }
    iso_text_free(&text);
    return status;
}

/* At rank 0. */
static iso_status_t warn(const seat_t *seats, int size)
{
    one_host_t room = {
        .ranks = iso_alloc_zeroed((size_t)size, sizeof *room.ranks),
        .numbers = iso_alloc_zeroed((size_t)size, sizeof *room.numbers),
        .done = iso_alloc_zeroed((size_t)size, sizeof *room.done),
    };
    iso_status_t status =
        room.ranks == NULL || room.numbers == NULL || room.done == NULL
            ? ISO_NOMEM
            : ISO_OK;

    for (int rank = 0; status == ISO_OK && rank < size; rank++) {
        if (!room.done[rank]) {
            status = warn_of_host(seats, rank, size, &room);
        }
    }
    iso_free(room.ranks);
    iso_free(room.numbers);
    iso_free(room.done);
    return status;
}

iso_status_t iso_affinity_check(const iso_affinity_t *mine, MPI_Comm comm)
{
    const int size = iso_par_size(comm);
    const bool is_root = iso_par_rank(comm) == 0;
    seat_t seat;
    seat_t *seats =
        is_root ? iso_alloc_zeroed((size_t)size, sizeof *seats) : NULL;
    iso_status_t status =
        iso_par_agree(is_root && seats == NULL ? ISO_NOMEM : ISO_OK, comm);

    if (status != ISO_OK) {
        return status;
    }
    memset(&seat, 0, sizeof seat);
    (void)snprintf(seat.host, sizeof seat.host, "%s", iso_par_host());
    seat.binding = *mine;
    ISO_CHECK_MPI(MPI_Gather(&seat, (int)sizeof seat, MPI_BYTE, seats,
                             (int)sizeof seat, MPI_BYTE, 0, comm));
    if (seats != NULL) {
        status = warn(seats, size);
    }
    iso_free(seats);
    return iso_par_agree(status, comm);
}
