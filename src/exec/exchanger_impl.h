/* What an exchange is at one worker; private to exchanger*.c. */
#ifndef ISO_EXCHANGER_IMPL_H
#define ISO_EXCHANGER_IMPL_H

#include "exec/exchanger.h"
#include "tensor/copy.h"

/* What goes to, or comes from, one worker. */
typedef struct iso__part {
    size_t bytes;    /* 0: nothing */
    size_t offset;   /* where it begins in the side's bytes */
    iso_copy_t copy; /* between the tensor and its place in the buffer */
} iso__part_t;

/* All that goes out of this worker, or comes in. The side's bytes, which MPI
 * sees, are the tensor itself when in place, else the buffer. */
typedef struct iso__side {
    iso__part_t *parts; /* (n_workers) */
    int *counts;        /* (n_workers) the parts' bytes and offsets, for */
    int *displs;        /* collective calls */
    bool in_place;
    size_t packed_bytes; /* in the buffer; 0 when in place */
    size_t tensor_bytes;
} iso__side_t;

typedef struct iso__step {
    iso_exchange_kind_t kind;
    const char *value; /* borrowed */
    bool by_messages;  /* not by the kind's collective call */
    int root;          /* of one -> ..., ... -> one */
    iso_dtype_t dtype;
    size_t value_bytes; /* of the whole value */
    size_t sent_bytes;  /* to others, in each run */
    int64_t n_runs;
    iso__side_t out;
    iso__side_t in;
    iso_copy_t own; /* from tensor to tensor: what this worker keeps */
} iso__step_t;

struct iso_exchanger {
    int n_workers;
    int worker;
    int first_rank;
    bool verifies;
    int n_steps;
    int most_count;
    MPI_Comm comm;
    iso__step_t *steps; /* (n_steps) */
    iso__part_t *parts; /* (n_steps, 2, n_workers) */
    int *counts;        /* (n_steps, 2, 2, n_workers) */
    unsigned char *out_buffer;
    unsigned char *in_buffer;
    size_t out_bytes; /* of the buffers */
    size_t in_bytes;
    MPI_Request *requests; /* (most pieces of any step) */
    uint64_t *sums;        /* (2, n_workers) digests of parts: out, in */
};

/*
 * Fill a step, whose sides have their arrays, from the exchange: what goes
 * where. A pure function, so that all workers decide alike.
 */
iso_status_t iso__step_fill(const iso_exchange_t *exchange, int worker,
                            int most_count, iso__step_t *step);

/* Messages, in pieces, of one run of the step. */
size_t iso__step_messages(const iso__step_t *step, int n_workers,
                          int most_count);

/* Carry a step out. Collective. input, output [in] first bytes; NULL where
 * the tensor has none. Errors: ISO_DISAGREE as iso_exchanger_run(). */
iso_status_t iso__step_run(const iso_exchanger_t *exchanger,
                           const iso__step_t *step, const unsigned char *input,
                           unsigned char *output);

#endif
