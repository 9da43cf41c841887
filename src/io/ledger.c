#include "io/ledger.h"

#include "isotome/error.h"

#include "base/mem.h"
#include "io/draft.h"
#include "io/ledger_impl.h"
#include "io/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Beside its digests: words, two numbers, the check. */
enum { LINE_BYTES = 96, DIGEST_BYTES = 17 };

static iso_status_t fail_write(const iso_ledger_t *ledger, int error)
{
    bool full = error == ENOSPC || error == EDQUOT || error == EFBIG;

    return iso_fail(ISO_IO, "%scannot write '%s': %s%s",
                    full ? "disk full: " : "", ledger->path, strerror(error),
                    full ? "; free some space and run again with --resume"
                         : "");
}

/* Behind the lines that count. */
static iso_status_t append(iso_ledger_t *ledger, const char *bytes, size_t size)
{
    size_t put = 0;

    while (put < size) {
        ssize_t count = pwrite(ledger->file, bytes + put, size - put,
                               (off_t)(ledger->bytes + put));
        if (count < 0 && errno != EINTR) {
            return fail_write(ledger, errno);
        }
        put += count > 0 ? (size_t)count : 0;
    }
    ledger->bytes += size;
    return ISO_OK;
}

/* Take a new file back when a signal ends the process before it says
 * anything. */
static void track(iso_ledger_t *ledger, bool is_empty)
{
    if (is_empty && !ledger->is_empty) {
        iso_draft_adopt(ledger->path);
    } else if (!is_empty && ledger->is_empty) {
        iso_draft_disown(ledger->path);
    }
    ledger->is_empty = is_empty;
}

static iso_status_t begin_anew(iso_ledger_t *ledger,
                               const iso_ledger_spec_t *spec)
{
    iso_text_t head = {0};
    iso_status_t status = ISO_NOMEM;

    iso__ledger_print_head(spec, &head, &ledger->check);
    if (head.status == ISO_OK) {
        ledger->bytes = 0;
        status = ftruncate(ledger->file, 0) == 0 ? ISO_OK
                                                 : fail_write(ledger, errno);
    }
    if (status == ISO_OK) {
        status = append(ledger, head.data, head.length);
    }
    ledger->head_bytes = ledger->bytes;
    ledger->head_check = ledger->check;
    ledger->n_ranges = 0;
    ledger->done = 0;
    ledger->finished = false;
    iso_text_free(&head);
    track(ledger, true);
    return status;
}

static iso_status_t fail_in_the_way(const iso_ledger_t *ledger)
{
    if (ledger->finished) {
        return iso_fail(ISO_IO,
                        "'%s' says that a job has finished this output; give "
                        "--resume to leave it so, --force to begin anew",
                        ledger->path);
    }
    return iso_fail(ISO_IO,
                    "'%s' says that %" PRId64
                    " samples are finished; give --resume to go on, --force "
                    "to begin anew",
                    ledger->path, ledger->done);
}

static iso_status_t begin(iso_ledger_t *ledger, const iso_ledger_spec_t *spec)
{
    bool known = false;
    struct stat info;

    ledger->file =
        open(spec->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
             0666);
    if (ledger->file < 0) {
        return iso_fail(ISO_IO, "cannot write '%s': %s", spec->path,
                        strerror(errno));
    }
    if (fstat(ledger->file, &info) != 0 || !S_ISREG(info.st_mode)) {
        return iso_fail(ISO_IO, "cannot write '%s': not a regular file",
                        spec->path);
    }
    ISO_TRY(iso_lock_file(ledger->file, spec->path));
    if (fstat(ledger->file, &info) == 0 && info.st_size == 0) {
        track(ledger, true);
    }
    ISO_TRY(iso__ledger_read(ledger, spec, &known));
    if (!known || (ledger->done == 0 && !ledger->finished)) {
        return begin_anew(ledger, spec);
    }
    if (spec->resume) {
        return ftruncate(ledger->file, (off_t)ledger->bytes) == 0
                   ? ISO_OK
                   : fail_write(ledger, errno);
    }
    return spec->force || (ledger->finished && spec->gone)
               ? begin_anew(ledger, spec)
               : fail_in_the_way(ledger);
}

iso_status_t iso_ledger_open(const iso_ledger_spec_t *spec,
                             iso_ledger_t **ledger_out)
{
    iso_ledger_t *ledger = iso_alloc_zeroed(1, sizeof *ledger);
    iso_status_t status = ISO_NOMEM;

    if (ledger == NULL) {
        return ISO_NOMEM;
    }
    ledger->file = -1;
    ledger->n_outputs = spec->n_outputs;
    ledger->path = iso_text_copy(spec->path);
    ledger->line_bytes = LINE_BYTES + (size_t)spec->n_outputs * DIGEST_BYTES;
    ledger->line = iso_alloc(ledger->line_bytes);
    if (ledger->path != NULL && ledger->line != NULL) {
        status = begin(ledger, spec);
    }
    if (status != ISO_OK) {
        bool was_begun = ledger->is_empty;

        iso_ledger_close(&ledger, was_begun);
        return status;
    }
    *ledger_out = ledger;
    return ISO_OK;
}

int iso_ledger_range_count(const iso_ledger_t *ledger)
{
    return ledger->n_ranges;
}

iso_ledger_range_t iso_ledger_range(const iso_ledger_t *ledger, int i)
{
    return (iso_ledger_range_t){
        .first = ledger->ranges[i].first,
        .end = ledger->ranges[i].end,
        .digests = &ledger->digests[(size_t)i * (size_t)ledger->n_outputs],
    };
}

bool iso_ledger_is_finished(const iso_ledger_t *ledger)
{
    return ledger->finished;
}

int64_t iso_ledger_done(const iso_ledger_t *ledger)
{
    return ledger->done;
}

iso_status_t iso_ledger_cut(iso_ledger_t *ledger, int count)
{
    const iso__range_t *last = count > 0 ? &ledger->ranges[count - 1] : NULL;

    ledger->bytes = last != NULL ? last->end_bytes : ledger->head_bytes;
    ledger->check = last != NULL ? last->check : ledger->head_check;
    ledger->done = last != NULL ? last->end : 0;
    ledger->n_ranges = count;
    ledger->finished = false;
    return ftruncate(ledger->file, (off_t)ledger->bytes) == 0
               ? ISO_OK
               : fail_write(ledger, errno);
}

/* length  [in]  of what is in ledger->line, without its check */
static iso_status_t add_line(iso_ledger_t *ledger, size_t length)
{
    const uint64_t check =
        iso__ledger_check(ledger->check, ledger->line, length);

    length +=
        (size_t)snprintf(ledger->line + length, ledger->line_bytes - length,
                         " %016" PRIx64 "\n", check);
    ISO_TRY(append(ledger, ledger->line, length));
    ledger->check = check;
    return ISO_OK;
}

iso_status_t iso_ledger_add(iso_ledger_t *ledger, int64_t end,
                            const uint64_t *digests)
{
    size_t length =
        (size_t)snprintf(ledger->line, ledger->line_bytes,
                         "range %" PRId64 " %" PRId64, ledger->done, end);

    for (int i = 0; i < ledger->n_outputs; i++) {
        length +=
            (size_t)snprintf(ledger->line + length, ledger->line_bytes - length,
                             " %016" PRIx64, digests[i]);
    }
    ISO_TRY(add_line(ledger, length));
    ledger->done = end;
    track(ledger, false);
    return ISO_OK;
}

iso_status_t iso_ledger_finish(iso_ledger_t *ledger)
{
    ISO_TRY(add_line(ledger, (size_t)snprintf(ledger->line, ledger->line_bytes,
                                              "finished")));
    ledger->finished = true;
    track(ledger, false);
    return ISO_OK;
}

iso_status_t iso_ledger_sync(const iso_ledger_t *ledger)
{
    return fsync(ledger->file) == 0 ? ISO_OK : fail_write(ledger, errno);
}

void iso_ledger_close(iso_ledger_t **ledger, bool remove)
{
    iso_ledger_t *closing = *ledger;

    if (closing == NULL) {
        return;
    }
    if (closing->file >= 0) {
        if (remove) {
            (void)unlink(closing->path);
        }
        (void)close(closing->file);
    }
    if (closing->path != NULL) {
        track(closing, false);
    }
    iso_free(closing->path);
    iso_free(closing->line);
    iso_free(closing->ranges);
    iso_free(closing->digests);
    iso_free(closing);
    *ledger = NULL;
}
