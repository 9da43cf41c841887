#include "par/par.h"

#include "isotome/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int iso_par_rank(MPI_Comm comm)
{
    int rank = 0;

    ISO_CHECK_MPI(MPI_Comm_rank(comm, &rank));
    return rank;
}

int iso_par_size(MPI_Comm comm)
{
    int size = 1;

    ISO_CHECK_MPI(MPI_Comm_size(comm, &size));
    return size;
}

const char *iso_par_host(void)
{
    static char host[MPI_MAX_PROCESSOR_NAME];

    if (host[0] == '\0') {
        int length = 0;

        ISO_CHECK_MPI(MPI_Get_processor_name(host, &length));
    }
    return host;
}

/* What the lowest failing rank tells the others. */
typedef struct failure {
    char host[MPI_MAX_PROCESSOR_NAME];
    char text[ISO_ERROR_TEXT_BYTES];
} failure_t;

static void tell_failure(iso_status_t status, int rank, int failed,
                         MPI_Comm comm)
{
    failure_t failure;
    int size = iso_par_size(comm);

    memset(&failure, 0, sizeof failure);
    if (iso_par_rank(comm) == rank) {
        (void)snprintf(failure.host, sizeof failure.host, "%s", iso_par_host());
        (void)snprintf(failure.text, sizeof failure.text, "%s",
                       iso_error_text());
    }
    ISO_CHECK_MPI(
        MPI_Bcast(&failure, (int)sizeof failure, MPI_BYTE, rank, comm));
    if (failed == size) {
        (void)iso_fail(status, "%s", failure.text);
    } else {
        (void)iso_fail(status, "rank %d on %s: %s", rank, failure.host,
                       failure.text);
    }
}

iso_status_t iso_par_agree(iso_status_t local, MPI_Comm comm)
{
    struct {
        int status;
        int rank;
    } mine = {(int)local, iso_par_rank(comm)}, worst = {0, 0};

    ISO_CHECK_MPI(MPI_Allreduce(&mine, &worst, 1, MPI_2INT, MPI_MINLOC, comm));
    if (worst.status != ISO_OK) {
        int is_worst = mine.status == worst.status ? 1 : 0;
        int failed = 0;

        ISO_CHECK_MPI(
            MPI_Allreduce(&is_worst, &failed, 1, MPI_INT, MPI_SUM, comm));
        tell_failure((iso_status_t)worst.status, worst.rank, failed, comm);
    }
    return (iso_status_t)worst.status;
}

_Noreturn void iso_par_abort(const char *file, int line, const char *text)
{
    char host[MPI_MAX_PROCESSOR_NAME] = "?";
    int length = 0;
    int rank = -1;

    (void)MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    (void)MPI_Get_processor_name(host, &length);
    (void)fprintf(stderr, "isotome: rank %d on %s: %s:%d: fatal: %s\n", rank,
                  host, file, line, text);
    (void)fflush(stderr);
    (void)MPI_Abort(MPI_COMM_WORLD, iso_status_exit_code(ISO_INTERNAL));
    abort();
}
