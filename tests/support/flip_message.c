/*
 * To be put before MPI (LD_PRELOAD): flips one bit of what rank FLIP_RANK
 * receives, as a bad cable or bad memory would, in the way that FLIP says:
 *
 *     header    of the message that arrives third, in its first bytes
 *     payload   of that message, in its elements
 *     exchange  of what the third exchange brings
 */
#include <mpi.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_MESSAGES = 64, THIRD = 3, HEADER_AT = 9, PAYLOAD_AT = 130 };

static struct {
    MPI_Request request;
    unsigned char *bytes;
} messages[MOST_MESSAGES];

static int n_messages;
static int arrived;
static int exchanged;

static bool flips(const char *what)
{
    const char *wanted = getenv("FLIP");
    const char *rank = getenv("FLIP_RANK");
    int here = 0;

    PMPI_Comm_rank(MPI_COMM_WORLD, &here);
    return wanted != NULL && rank != NULL && strcmp(wanted, what) == 0 &&
           strtol(rank, NULL, 10) == here;
}

static void arrive(MPI_Request request)
{
    for (int i = 0; i < n_messages; i++) {
        if (messages[i].request != request || ++arrived != THIRD) {
            continue;
        }
        if (flips("header")) {
            messages[i].bytes[HEADER_AT] ^= 1;
        }
        if (flips("payload")) {
            messages[i].bytes[PAYLOAD_AT] ^= 1;
        }
    }
}

int MPI_Recv_init(void *buffer, int count, MPI_Datatype type, int source,
                  int tag, MPI_Comm comm, MPI_Request *request)
{
    const int code =
        PMPI_Recv_init(buffer, count, type, source, tag, comm, request);

    if (n_messages < MOST_MESSAGES) {
        messages[n_messages].request = *request;
        messages[n_messages].bytes = buffer;
        n_messages++;
    }
    return code;
}

int MPI_Test(MPI_Request *request, int *done, MPI_Status *status)
{
    const MPI_Request before = *request;
    const int code = PMPI_Test(request, done, status);

    if (*done != 0) {
        arrive(before);
    }
    return code;
}

int MPI_Waitany(int count, MPI_Request requests[], int *index,
                MPI_Status *status)
{
    MPI_Request before[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};

    memcpy(before, requests,
           (size_t)(count < 2 ? count : 2) * sizeof(MPI_Request));
    const int code = PMPI_Waitany(count, requests, index, status);

    if (*index >= 0 && *index < 2) {
        arrive(before[*index]);
    }
    return code;
}

/* NOLINTNEXTLINE(readability-function-size): MPI's parameters */
int MPI_Allgatherv(const void *out, int out_count, MPI_Datatype out_type,
                   void *in, const int in_counts[], const int displs[],
                   MPI_Datatype in_type, MPI_Comm comm)
{
    const int code = PMPI_Allgatherv(out, out_count, out_type, in, in_counts,
                                     displs, in_type, comm);
    int rank = 0;

    /* A byte that came from the other one of two. */
    PMPI_Comm_rank(comm, &rank);
    if (++exchanged == THIRD && flips("exchange")) {
        ((unsigned char *)in)[displs[1 - rank]] ^= 1;
    }
    return code;
}
