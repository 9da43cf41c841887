#include "par/fields.h"

#include "isotome/error.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "par/par.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* One rank's value of the field that differs. */
typedef struct holding {
    uint64_t digest;
    char text[ISO_FIELD_TEXT_BYTES];
    char host[MPI_MAX_PROCESSOR_NAME];
} holding_t;

static bool same_value(const holding_t *a, const holding_t *b)
{
    return a->digest == b->digest && strcmp(a->text, b->text) == 0;
}

/* "rank 0-2 (h1), 3 (h2)": runs of ranks on one host that hold a value. */
static void add_holders(iso_text_t *text, const holding_t *all, int size,
                        const holding_t *value)
{
    const char *separator = "rank ";

    for (int first = 0; first < size; first++) {
        if (!same_value(&all[first], value)) {
            continue;
        }
        int last = first;

        while (last + 1 < size && same_value(&all[last + 1], value) &&
               strcmp(all[last + 1].host, all[first].host) == 0) {
            last++;
        }
        iso_text_add(text, "%s%d", separator, first);
        if (last > first) {
            iso_text_add(text, "-%d", last);
        }
        iso_text_add(text, " (%s)", all[first].host);
        separator = ", ";
        first = last;
    }
}

/* At most this many different values are shown. */
enum { MOST_VALUES = 8 };

static void add_values(iso_text_t *text, const holding_t *all, int size)
{
    int shown = 0;
    int left_out = 0;

    for (int rank = 0; rank < size; rank++) {
        bool seen = false;

        for (int earlier = 0; earlier < rank && !seen; earlier++) {
            seen = same_value(&all[earlier], &all[rank]);
        }
        if (seen) {
            continue;
        }
        if (shown == MOST_VALUES) {
            left_out++;
            continue;
        }
        iso_text_add(text, "%s'%s' [%016" PRIx64 "] on ",
                     shown == 0 ? "" : "; ", all[rank].text, all[rank].digest);
        add_holders(text, all, size, &all[rank]);
        shown++;
    }
    if (left_out > 0) {
        iso_text_add(text, "; %d more values", left_out);
    }
}

/* Collective. Every rank gathers, so that every rank has the text. */
static iso_status_t show_difference(const iso_field_t *field, int others,
                                    MPI_Comm comm)
{
    int size = iso_par_size(comm);
    holding_t mine = {.digest = field->digest};
    holding_t *all = iso_alloc_zeroed((size_t)size, sizeof *all);
    iso_text_t text = {0};
    iso_status_t status = iso_par_agree(all ? ISO_OK : ISO_NOMEM, comm);

    if (status == ISO_OK && all != NULL) {
        (void)snprintf(mine.text, sizeof mine.text, "%s", field->text);
        (void)snprintf(mine.host, sizeof mine.host, "%s", iso_par_host());
        ISO_CHECK_MPI(MPI_Allgather(&mine, (int)sizeof mine, MPI_BYTE, all,
                                    (int)sizeof mine, MPI_BYTE, comm));
        add_values(&text, all, size);
        if (others > 0) {
            iso_text_add(&text, " (and %d more fields differ)", others);
        }
        status = iso_fail(ISO_DISAGREE, "ranks disagree on %s: %s", field->name,
                          text.data ? text.data : "");
    }
    iso_text_free(&text);
    iso_free(all);
    return status;
}

iso_status_t iso_fields_agree(const iso_field_t *fields, int n, MPI_Comm comm)
{
    uint64_t mine[2 * ISO_MAX_FIELDS] = {0};
    uint64_t least[2 * ISO_MAX_FIELDS];
    int first = -1;
    int differing = 0;

    ISO_ASSERT(n >= 0 && n <= ISO_MAX_FIELDS);
    for (int i = 0; i < n; i++) {
        mine[i] = fields[i].digest;
        mine[n + i] = ~fields[i].digest;
    }
    ISO_CHECK_MPI(
        MPI_Allreduce(mine, least, 2 * n, MPI_UINT64_T, MPI_MIN, comm));
    for (int i = n - 1; i >= 0; i--) {
        if (least[i] != ~least[n + i]) {
            first = i;
            differing++;
        }
    }
    if (first < 0) {
        return ISO_OK;
    }
    return show_difference(&fields[first], differing - 1, comm);
}
