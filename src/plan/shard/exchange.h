/*
 * Exchange: one value brought from one layout to another among the workers of
 * a stage, as an explicit step that all workers take together. It says who
 * sends which part to whom; carrying it out is src/exec's.
 */
#ifndef ISO_EXCHANGE_H
#define ISO_EXCHANGE_H

#include "isotome/dtype.h"
#include "isotome/machine.h"

#include "plan/shard/layout.h"

typedef enum iso_exchange_kind {
    ISO_EXCHANGE_SEND,       /* one -> another one */
    ISO_EXCHANGE_SCATTER,    /* one -> split */
    ISO_EXCHANGE_BROADCAST,  /* one -> all */
    ISO_EXCHANGE_GATHER,     /* split -> one */
    ISO_EXCHANGE_ALL_GATHER, /* split -> all */
    ISO_EXCHANGE_ALL_TO_ALL, /* split -> split along another axis */
    ISO_EXCHANGE_HALO,       /* split -> split along the same axis */
} iso_exchange_kind_t;

/* "scatter"; "tree-reduce" is a SEND for each partial sum. */
const char *iso_exchange_kind_string(iso_exchange_kind_t kind);

typedef struct iso_exchange {
    iso_exchange_kind_t kind;
    iso_dtype_t dtype;
    const char *value; /* node of the stage; borrowed */
    iso_shape_t shape; /* of the whole value, static */
    int n_workers;
    iso_layout_t from; /* ONE, or SPLIT with disjoint ranges */
    iso_layout_t to;
} iso_exchange_t;

iso_exchange_kind_t iso_exchange_kind_of(const iso_layout_t *from,
                                         const iso_layout_t *to);

/* Which part of the value goes from one worker to another (to itself: what
 * it keeps); the box is in indices of the whole value. */
void iso_exchange_part(const iso_exchange_t *exchange, int from, int to,
                       iso_box_t *box_out);

/* Bytes that a worker sends to others; SIZE_MAX when they cannot be counted. */
size_t iso_exchange_sent_bytes(const iso_exchange_t *exchange, int worker);
/* Over all workers. */
size_t iso_exchange_bytes(const iso_exchange_t *exchange);
/* Of every worker: what it sends to others, and what it gets from them.
 * sent_out, received_out  [out]  (n_workers), SIZE_MAX as above */
void iso_exchange_count_bytes(const iso_exchange_t *exchange, size_t *sent_out,
                              size_t *received_out);

/*
 * Predicted seconds: messages of the algorithm used, one latency each, on the
 * links between the ranks; what a worker keeps is copied, and so are parts
 * that are not contiguous where they come from or go to.
 *
 * ranks  [in]  (n_workers) of the machine
 */
double iso_exchange_seconds(const iso_exchange_t *exchange,
                            const iso_machine_t *machine, const int *ranks);

#endif
