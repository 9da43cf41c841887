#include "exec/job_machine.h"

#include "isotome/error.h"

#include "base/mem.h"
#include "par/par.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A rank's host and the memory it may use; plain bytes, gathered. */
typedef struct seat {
    char host[MPI_MAX_PROCESSOR_NAME];
    uint64_t memory_bytes;
} seat_t;

/* Memory of the host shared out among the ranks on it. Collective. */
static seat_t seat_of_this_rank(MPI_Comm comm)
{
    seat_t seat;
    MPI_Comm node = MPI_COMM_NULL;
    long pages = sysconf(_SC_PHYS_PAGES);
    long page_bytes = sysconf(_SC_PAGESIZE);

    memset(&seat, 0, sizeof seat);
    (void)snprintf(seat.host, sizeof seat.host, "%s", iso_par_host());
    ISO_CHECK_MPI(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0,
                                      MPI_INFO_NULL, &node));
    if (pages > 0 && page_bytes > 0) {
        seat.memory_bytes = (uint64_t)pages * (uint64_t)page_bytes /
                            (uint64_t)iso_par_size(node);
    }
    ISO_CHECK_MPI(MPI_Comm_free(&node));
    return seat;
}

iso_status_t iso_job_machine(MPI_Comm comm, iso_machine_t **machine_out)
{
    int size = iso_par_size(comm);
    seat_t mine = seat_of_this_rank(comm);
    seat_t *seats = iso_alloc_zeroed((size_t)size, sizeof *seats);
    iso_status_t status =
        iso_par_agree(seats != NULL ? ISO_OK : ISO_NOMEM, comm);

    *machine_out = NULL;
    if (status != ISO_OK || seats == NULL) {
        iso_free(seats);
        return status;
    }
    ISO_CHECK_MPI(MPI_Allgather(&mine, (int)sizeof mine, MPI_BYTE, seats,
                                (int)sizeof mine, MPI_BYTE, comm));
    status = iso_machine_default(size, 0, 0, machine_out);
    for (int rank = 0; status == ISO_OK && rank < size; rank++) {
        iso_machine_rank_t facts = *iso_machine_rank(*machine_out, rank);

        facts.host = seats[rank].host;
        if (seats[rank].memory_bytes > 0) {
            facts.memory_bytes = (size_t)seats[rank].memory_bytes;
        }
        status = iso_machine_set_rank(*machine_out, rank, &facts);
    }
    iso_free(seats);
    return iso_par_agree(status, comm);
}

static bool shares_host(const iso_machine_t *machine, int a, int b)
{
    return strcmp(iso_machine_rank(machine, a)->host,
                  iso_machine_rank(machine, b)->host) == 0;
}

int iso_job_seat(const iso_machine_t *machine, int rank)
{
    int seat = 0;

    for (int other = 0; other < rank; other++) {
        seat += shares_host(machine, other, rank) ? 1 : 0;
    }
    return seat;
}

int iso_job_seat_count(const iso_machine_t *machine, int rank)
{
    int count = 0;

    for (int other = 0; other < iso_machine_world(machine); other++) {
        count += shares_host(machine, other, rank) ? 1 : 0;
    }
    return count;
}
