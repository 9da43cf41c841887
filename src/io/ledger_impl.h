/* A ledger as written by ledger.c and read by ledger_read.c. */
#ifndef ISO_LEDGER_IMPL_H
#define ISO_LEDGER_IMPL_H

#include "base/text.h"
#include "io/ledger.h"

#include <stddef.h>

/* One range as read; its digests lie in the ledger's list. */
typedef struct iso__range {
    int64_t first;
    int64_t end;
    size_t end_bytes; /* of its line in the file */
    uint64_t check;   /* of its line */
} iso__range_t;

struct iso_ledger {
    int file;
    char *path;
    int n_outputs;
    char *line; /* (line_bytes) room for any line */
    size_t line_bytes;
    uint64_t check; /* of the last line */
    size_t bytes;   /* all lines that count */
    int64_t done;
    bool finished;
    bool is_empty;     /* no range yet: a signal removes it */
    size_t head_bytes; /* lines before the first range */
    uint64_t head_check;
    int n_ranges; /* as read */
    iso__range_t *ranges;
    uint64_t *digests; /* (n_ranges, n_outputs) */
};

/* The lines at the head of a ledger of this job, and the check of the last. */
void iso__ledger_print_head(const iso_ledger_spec_t *spec, iso_text_t *text,
                            uint64_t *check_out);

/* The check of a line without the blank before its check. */
uint64_t iso__ledger_check(uint64_t before, const char *line, size_t length);

/*
 * Read what is in the file: lines that count.
 *
 * known_out  [out]  the head is whole: there is a ledger of some job
 * Errors: ISO_INPUT, also for a head that is not this job's; ISO_NOMEM.
 */
iso_status_t iso__ledger_read(iso_ledger_t *ledger,
                              const iso_ledger_spec_t *spec, bool *known_out);

#endif
