#include "exec/stop.h"

#include "base/mem.h"
#include "exec/interrupt.h"
#include "par/par.h"

/* What a rank may say, each once. */
typedef enum word {
    WORD_FAILED, /* to all */
    WORD_ASK,    /* to the source: end soon */
    WORD_END,    /* of the source, to all: the first micro-batch not begun */
    WORD_COUNT
} word_t;

enum { WORD_INTS = 2 }; /* a word, a micro-batch */

struct iso_stop {
    MPI_Comm comm;
    int size;
    int me;
    int source;
    bool failed;                         /* this rank or another */
    bool asked;                          /* the source knows */
    int64_t end;                         /* micro-batches not begun */
    MPI_Request heard;                   /* the posted receive */
    int64_t word[WORD_INTS];             /* what it receives */
    int n_heard;                         /* words received */
    int64_t said[WORD_COUNT][WORD_INTS]; /* what is being sent */
    int *n_said;                         /* (size) words sent to each */
    MPI_Request *told;                   /* (WORD_COUNT, size) */
};

static void listen(iso_stop_t *stop)
{
    ISO_CHECK_MPI(MPI_Irecv(stop->word, WORD_INTS, MPI_INT64_T, MPI_ANY_SOURCE,
                            0, stop->comm, &stop->heard));
}

/* Not blocking: whoever waits listens, and all are received in the end. */
static void tell(iso_stop_t *stop, int rank, word_t word, int64_t index)
{
    MPI_Request *request = &stop->told[(int)word * stop->size + rank];

    if (rank == stop->me) {
        return;
    }
    stop->said[word][0] = (int64_t)word;
    stop->said[word][1] = index;
    stop->n_said[rank]++;
    ISO_CHECK_MPI(MPI_Isend(stop->said[word], WORD_INTS, MPI_INT64_T, rank, 0,
                            stop->comm, request));
}

static void tell_all(iso_stop_t *stop, word_t word, int64_t index)
{
    for (int rank = 0; rank < stop->size; rank++) {
        tell(stop, rank, word, index);
    }
}

/* A word has come. */
static void take(iso_stop_t *stop)
{
    switch ((word_t)stop->word[0]) {
    case WORD_FAILED:
        stop->failed = true;
        break;
    case WORD_ASK:
        stop->asked = true;
        break;
    case WORD_END:
        stop->end = stop->word[1];
        break;
    case WORD_COUNT:
        break;
    }
    stop->n_heard++;
    listen(stop);
}

static void free_stop(iso_stop_t *stop)
{
    if (stop != NULL) {
        iso_free(stop->n_said);
        iso_free(stop->told);
        iso_free(stop);
    }
}

/* NULL when memory runs out. */
static iso_stop_t *reserve(int size)
{
    iso_stop_t *stop = iso_alloc_zeroed(1, sizeof *stop);

    if (stop == NULL) {
        return NULL;
    }
    stop->size = size;
    stop->end = INT64_MAX;
    stop->n_said = iso_alloc_zeroed((size_t)size, sizeof *stop->n_said);
    stop->told =
        iso_alloc_zeroed((size_t)size * WORD_COUNT, sizeof(MPI_Request));
    if (stop->n_said == NULL || stop->told == NULL) {
        free_stop(stop);
        return NULL;
    }
    for (int i = 0; i < size * (int)WORD_COUNT; i++) {
        stop->told[i] = MPI_REQUEST_NULL;
    }
    return stop;
}

iso_status_t iso_stop_create(MPI_Comm comm, int source, iso_stop_t **stop_out)
{
    iso_stop_t *stop = reserve(iso_par_size(comm));

    *stop_out = NULL;
    iso_status_t status =
        iso_par_agree(stop != NULL ? ISO_OK : ISO_NOMEM, comm);

    if (status != ISO_OK || stop == NULL) {
        free_stop(stop);
        return status;
    }
    stop->me = iso_par_rank(comm);
    stop->source = source;
    ISO_CHECK_MPI(MPI_Comm_dup(comm, &stop->comm));
    listen(stop);
    *stop_out = stop;
    return ISO_OK;
}

void iso_stop_raise(iso_stop_t *stop)
{
    if (stop->told[WORD_FAILED] != MPI_REQUEST_NULL || stop->failed) {
        return;
    }
    stop->failed = true;
    tell_all(stop, WORD_FAILED, 0);
}

bool iso_stop_begins(iso_stop_t *stop, int64_t index)
{
    int came = 1;

    while (came != 0) {
        ISO_CHECK_MPI(MPI_Test(&stop->heard, &came, MPI_STATUS_IGNORE));
        if (came != 0) {
            take(stop);
        }
    }
    if (iso_interrupt_came() && !stop->asked) {
        stop->asked = true;
        tell(stop, stop->source, WORD_ASK, index);
    }
    if (stop->asked && stop->me == stop->source && stop->end == INT64_MAX) {
        stop->end = index;
        tell_all(stop, WORD_END, index);
    }
    return !stop->failed && index < stop->end;
}

bool iso_stop_wait(iso_stop_t *stop, int64_t index, MPI_Request *request)
{
    int done = 0;

    ISO_CHECK_MPI(MPI_Test(request, &done, MPI_STATUS_IGNORE));
    while (done == 0) {
        MPI_Request both[2] = {*request, stop->heard};
        int which = 0;

        if (stop->failed || index >= stop->end) {
            return false;
        }
        ISO_CHECK_MPI(MPI_Waitany(2, both, &which, MPI_STATUS_IGNORE));
        *request = both[0];
        stop->heard = both[1];
        done = which == 0 ? 1 : 0;
        if (which == 1) {
            take(stop);
        }
    }
    return true;
}

void iso_stop_destroy(iso_stop_t **stop)
{
    iso_stop_t *gone = *stop;
    int expected = 0;

    if (gone == NULL) {
        return;
    }
    ISO_CHECK_MPI(MPI_Reduce_scatter_block(gone->n_said, &expected, 1, MPI_INT,
                                           MPI_SUM, gone->comm));
    while (gone->n_heard < expected) {
        ISO_CHECK_MPI(MPI_Wait(&gone->heard, MPI_STATUS_IGNORE));
        take(gone);
    }
    ISO_CHECK_MPI(MPI_Cancel(&gone->heard));
    ISO_CHECK_MPI(MPI_Wait(&gone->heard, MPI_STATUS_IGNORE));
    ISO_CHECK_MPI(MPI_Waitall(gone->size * (int)WORD_COUNT, gone->told,
                              MPI_STATUSES_IGNORE));
    ISO_CHECK_MPI(MPI_Comm_free(&gone->comm));
    free_stop(gone);
    *stop = NULL;
}
