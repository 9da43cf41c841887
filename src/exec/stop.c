#include "exec/stop.h"

#include "base/mem.h"
#include "par/par.h"

struct iso_stop {
    MPI_Comm comm;
    MPI_Request heard; /* the posted receive; null once it came */
    int word;          /* rank that stopped; content of the message */
    bool raised;       /* by this rank */
    int size;
    int me;
    MPI_Request *told; /* (size) of the words sent; null: none to that rank */
};

static void listen(iso_stop_t *stop)
{
    ISO_CHECK_MPI(MPI_Irecv(&stop->word, 1, MPI_INT, MPI_ANY_SOURCE, 0,
                            stop->comm, &stop->heard));
}

/* NULL when memory runs out. */
static iso_stop_t *reserve(int size)
{
    iso_stop_t *stop = iso_alloc_zeroed(1, sizeof *stop);

    if (stop == NULL) {
        return NULL;
    }
    stop->size = size;
    stop->told = iso_alloc_zeroed((size_t)size, sizeof(MPI_Request));
    if (stop->told == NULL) {
        iso_free(stop);
        return NULL;
    }
    for (int rank = 0; rank < size; rank++) {
        stop->told[rank] = MPI_REQUEST_NULL;
    }
    return stop;
}

iso_status_t iso_stop_create(MPI_Comm comm, iso_stop_t **stop_out)
{
    iso_stop_t *stop = reserve(iso_par_size(comm));

    *stop_out = NULL;
    iso_status_t status =
        iso_par_agree(stop != NULL ? ISO_OK : ISO_NOMEM, comm);

    if (status != ISO_OK || stop == NULL) {
        if (stop != NULL) {
            iso_free(stop->told);
        }
        iso_free(stop);
        return status;
    }
    stop->me = iso_par_rank(comm);
    ISO_CHECK_MPI(MPI_Comm_dup(comm, &stop->comm));
    listen(stop);
    *stop_out = stop;
    return ISO_OK;
}

/* Not blocking: a rank that has heard one word takes the next only in
 * iso_stop_destroy(), and comes there only with this rank. */
void iso_stop_raise(iso_stop_t *stop)
{
    if (stop->raised) {
        return;
    }
    stop->raised = true;
    for (int rank = 0; rank < stop->size; rank++) {
        if (rank != stop->me) {
            ISO_CHECK_MPI(MPI_Isend(&stop->me, 1, MPI_INT, rank, 0, stop->comm,
                                    &stop->told[rank]));
        }
    }
}

bool iso_stop_wait(iso_stop_t *stop, MPI_Request *request)
{
    int done = 0;

    ISO_CHECK_MPI(MPI_Test(request, &done, MPI_STATUS_IGNORE));
    if (done != 0) {
        return true;
    }
    if (stop->heard == MPI_REQUEST_NULL) {
        return false;
    }
    MPI_Request both[2] = {*request, stop->heard};
    int which = 0;

    ISO_CHECK_MPI(MPI_Waitany(2, both, &which, MPI_STATUS_IGNORE));
    *request = both[0];
    stop->heard = both[1];
    return which == 0;
}

void iso_stop_destroy(iso_stop_t **stop)
{
    if (*stop == NULL) {
        return;
    }
    int raised = (*stop)->raised ? 1 : 0;
    int others = 0;

    ISO_CHECK_MPI(
        MPI_Allreduce(&raised, &others, 1, MPI_INT, MPI_SUM, (*stop)->comm));
    others -= raised;
    if ((*stop)->heard == MPI_REQUEST_NULL) {
        others--;
    } else if (others > 0) {
        ISO_CHECK_MPI(MPI_Wait(&(*stop)->heard, MPI_STATUS_IGNORE));
        others--;
    } else {
        ISO_CHECK_MPI(MPI_Cancel(&(*stop)->heard));
        ISO_CHECK_MPI(MPI_Wait(&(*stop)->heard, MPI_STATUS_IGNORE));
    }
    for (; others > 0; others--) {
        ISO_CHECK_MPI(MPI_Recv(&(*stop)->word, 1, MPI_INT, MPI_ANY_SOURCE, 0,
                               (*stop)->comm, MPI_STATUS_IGNORE));
    }
    ISO_CHECK_MPI(
        MPI_Waitall((*stop)->size, (*stop)->told, MPI_STATUSES_IGNORE));
    ISO_CHECK_MPI(MPI_Comm_free(&(*stop)->comm));
    iso_free((*stop)->told);
    iso_free(*stop);
    *stop = NULL;
}
