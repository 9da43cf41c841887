/*
 * Ledger: which samples of a job are finished, in a file that is only
 * appended to, so that another process can go on where this one died.
 *
 *     isotome-ledger 1                               dc37cdd0d3f1a1a4
 *     of 1f0c8d5e7a6b9c42 the model's weights        ...
 *     samples 200000 outputs 1                       ...
 *     range 0 5120 5f3e...                           ...
 *     finished                                       ...
 *
 * Text in lines; at the end of each stands a digest of the line and of the
 * one at the end of the line before. A range names the samples behind the
 * last one's, and has a digest of the bytes of each output. What comes behind a
 * line that is not whole does not count: a process dies at any moment, and
 * after a power failure anything may be there.
 */
#ifndef ISO_LEDGER_H
#define ISO_LEDGER_H

#include "isotome/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct iso_ledger iso_ledger_t;

/* One thing that the output's bytes depend on. */
typedef struct iso_ledger_trait {
    const char *name; /* "the model's weights", one line */
    uint64_t digest;
} iso_ledger_trait_t;

typedef struct iso_ledger_spec {
    const char *path;
    const iso_ledger_trait_t *traits; /* (n_traits) */
    int n_traits;
    int n_outputs;
    int64_t samples;
    bool resume; /* go on with what is there; else it must not be lost */
    bool force;  /* begin anew, whatever is there, unless to resume */
    bool gone;   /* the outputs are not there: a finished one is begun anew */
} iso_ledger_spec_t;

/* Samples [first, end) are finished. */
typedef struct iso_ledger_range {
    int64_t first;
    int64_t end;
    const uint64_t *digests; /* (n_outputs); the ledger's */
} iso_ledger_range_t;

/*
 * Open and lock the ledger of a job; a new one is begun where there is none or
 * one without finished samples.
 *
 * spec  [in]  all is borrowed for the call
 * Errors: ISO_IO: somebody else writes to it; there are finished samples and
 * neither resume nor force; system errors. ISO_INPUT: it is of another job,
 * naming the trait that differs; it is not a ledger. ISO_NOMEM.
 */
iso_status_t iso_ledger_open(const iso_ledger_spec_t *spec,
                             iso_ledger_t **ledger_out);

/* What a ledger that was gone on with says. */
int iso_ledger_range_count(const iso_ledger_t *ledger);
iso_ledger_range_t iso_ledger_range(const iso_ledger_t *ledger, int i);
bool iso_ledger_is_finished(const iso_ledger_t *ledger);

/* Samples [0, this) are finished. */
int64_t iso_ledger_done(const iso_ledger_t *ledger);

/* Forget all ranges from this one on. Errors: ISO_IO. */
iso_status_t iso_ledger_cut(iso_ledger_t *ledger, int count);

/*
 * Samples from iso_ledger_done() to end are finished. Allocates nothing.
 *
 * digests  [in]  (n_outputs)
 * Errors: ISO_IO.
 */
iso_status_t iso_ledger_add(iso_ledger_t *ledger, int64_t end,
                            const uint64_t *digests);

/* All outputs are whole. Errors: ISO_IO. */
iso_status_t iso_ledger_finish(iso_ledger_t *ledger);

/* What was said is on the disk. Errors: ISO_IO. */
iso_status_t iso_ledger_sync(const iso_ledger_t *ledger);

/* Close; remove it, or leave it for the next one. */
void iso_ledger_close(iso_ledger_t **ledger, bool remove);

#endif
