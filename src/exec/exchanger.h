/*
 * Exchanger: carries out the exchanges of a stage (plan/shard/exchange.h)
 * between its workers over MPI.
 *
 *     iso_exchanger_spec_t spec = {.exchanges = local->exchanges,
 *                                  .n_exchanges = local->n_exchanges,
 *                                  .worker = local->worker};
 *     ISO_TRY(iso_exchanger_create(&spec, stage_comm, &exchanger));
 *     iso_exchanger_run(exchanger, pause.number, pause.input, pause.output);
 *
 * The kind of an exchange is the collective call that does it; a halo and a
 * send are messages between those that have something for each other. What a
 * worker keeps is copied and not sent. Parts that are contiguous in their
 * tensor are sent from there and received there; others are packed, which is
 * faster than derived datatypes where all send at once and somewhat slower
 * from and to one (tests/bench/bench_exchange.c). MPI counts in ints: an
 * exchange of more bytes is done by messages in pieces, on all workers alike.
 */
#ifndef ISO_EXCHANGER_H
#define ISO_EXCHANGER_H

#include "isotome/tensor.h"

#include "plan/shard/exchange.h"

#include <mpi.h>

typedef struct iso_exchanger iso_exchanger_t;

typedef struct iso_exchanger_spec {
    const iso_exchange_t *exchanges; /* (n_exchanges) the same everywhere */
    int n_exchanges;
    int worker;
    int first_rank; /* of worker 0 in the job, for messages */
    bool verifies;  /* what is exchanged, by digests; the same everywhere */
    int most_count; /* largest count for MPI; 0: what an int holds. The same
                     * everywhere; tests make it small */
} iso_exchanger_spec_t;

/*
 * Reserve all that the exchanges take.
 *
 * Not collective.
 * spec  [in]  exchanges are borrowed for the call, the names of their values
 *              until it is destroyed
 * comm  [in]  of the stage: rank w is worker w; borrowed. Between the workers
 *             nobody else sends messages in it while an exchange runs
 * Errors: ISO_NOMEM; ISO_SHAPE when a value's bytes cannot be counted.
 */
iso_status_t iso_exchanger_create(const iso_exchanger_spec_t *spec,
                                  MPI_Comm comm,
                                  iso_exchanger_t **exchanger_out);
void iso_exchanger_destroy(iso_exchanger_t **exchanger);

/*
 * Do one exchange; allocates nothing. An MPI failure ends the job.
 *
 * Collective: all workers, the same numbers in the same order.
 * input   [in]   what this worker has of the value; NULL when nothing
 * output  [out]  what it gets; its data is written. NULL when nothing
 * Errors: ISO_DISAGREE, on this worker alone, when what came from another one
 * does not have its digest; only where that is verified.
 */
iso_status_t iso_exchanger_run(iso_exchanger_t *exchanger, int number,
                               const iso_tensor_t *input,
                               const iso_tensor_t *output);

/* Bytes that this worker sent to others in this exchange, over all runs:
 * iso_exchange_sent_bytes for each. */
double iso_exchanger_sent_bytes(const iso_exchanger_t *exchanger, int number);

/* Bytes reserved for packing. */
size_t iso_exchanger_buffer_bytes(const iso_exchanger_t *exchanger);

#endif
