/* A deliver as made by deliver_open.c and used by deliver.c. */
#ifndef ISO_DELIVER_IMPL_H
#define ISO_DELIVER_IMPL_H

#include "base/digest.h"
#include "exec/deliver.h"
#include "exec/rows.h"
#include "io/array_out.h"

/* One model output. */
typedef struct iso__sink {
    iso_rows_t rows;
    int index;           /* in the array file set; -1: not wanted */
    iso_digest_t digest; /* of the rows since the ledger's last line */
} iso__sink_t;

struct iso_deliver {
    iso_array_out_t *files;
    iso_ledger_t *ledger;
    int n_sinks;
    iso__sink_t *sinks; /* (n_sinks) in the order of the model's outputs */
    uint64_t *digests;  /* (n_sinks) room for those of the wanted ones */
    char **paths;       /* (n_paths) of the files */
    int n_paths;
    uint64_t places; /* digest of what the outputs are called */
    bool fleeting;
    bool leaves_ledger; /* when finished, for the next job */
    double sync_period_s;
    int64_t done; /* samples written */
    double recorded_s;
    double synced_s;
};

/* Rows of an output for samples [first, end). */
typedef struct iso__rows_range {
    int64_t first;
    int64_t count;
} iso__rows_range_t;

iso__rows_range_t iso__deliver_rows(const iso__sink_t *sink, int64_t first,
                                    int64_t end);

/* The digests of all sinks begin anew. */
void iso__deliver_begin_digests(iso_deliver_t *deliver);

/* Close all. */
void iso__deliver_forget(iso_deliver_t **deliver, bool remove_ledger);

/* Nothing is finished: there is nothing to go on with. */
bool iso__deliver_is_empty(const iso_deliver_t *deliver);

#endif
