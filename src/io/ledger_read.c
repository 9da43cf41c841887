/* What is in a ledger: line by line, until one is not whole. */
#include "isotome/error.h"

#include "base/digest.h"
#include "base/mem.h"
#include "io/ledger_impl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHECK_DIGITS = 16 };

static const char title[] = "isotome-ledger 1";

typedef struct reader {
    const iso_ledger_spec_t *spec;
    char *text; /* the file; lines that were read end with a zero */
    size_t length;
    size_t at;      /* behind the last line that counts */
    uint64_t check; /* of that line */
    int n_outputs;
    int room;          /* ranges that the lists have room for */
    char differs[128]; /* what is not as in the spec; "": nothing is */
} reader_t;

uint64_t iso__ledger_check(uint64_t before, const char *line, size_t length)
{
    iso_digest_t digest;

    iso_digest_begin(&digest);
    iso_digest_add_int(&digest, (int64_t)before);
    iso_digest_add_bytes(&digest, line, length);
    return iso_digest_end(&digest);
}

/* The last line that was added to the text is ended with its check. */
static void end_line(iso_text_t *text, size_t begin, uint64_t *check)
{
    if (text->status == ISO_OK) {
        *check =
            iso__ledger_check(*check, text->data + begin, text->length - begin);
    }
    iso_text_add(text, " %016" PRIx64 "\n", *check);
}

void iso__ledger_print_head(const iso_ledger_spec_t *spec, iso_text_t *text,
                            uint64_t *check_out)
{
    uint64_t check = 0;

    iso_text_add(text, "%s", title);
    end_line(text, 0, &check);
    for (int i = 0; i < spec->n_traits; i++) {
        size_t begin = text->length;

        iso_text_add(text, "of %016" PRIx64 " %s", spec->traits[i].digest,
                     spec->traits[i].name);
        end_line(text, begin, &check);
    }
    size_t begin = text->length;

    iso_text_add(text, "samples %" PRId64 " outputs %d", spec->samples,
                 spec->n_outputs);
    end_line(text, begin, &check);
    *check_out = check;
}

static bool read_hex(const char **at, uint64_t *value_out)
{
    char *end = NULL;

    errno = 0;
    *value_out = strtoull(*at, &end, 16);
    bool whole = errno == 0 && end - *at == CHECK_DIGITS;
    *at = end;
    return whole;
}

/* A number with a blank, or the end, behind it. */
static bool read_number(const char **at, int64_t *value_out)
{
    char *end = NULL;

    errno = 0;
    *value_out = strtoll(*at, &end, 10);
    bool whole = errno == 0 && end > *at && *value_out >= 0 &&
                 (*end == ' ' || *end == '\0');
    *at = *end == ' ' ? end + 1 : end;
    return whole;
}

static bool read_word(const char **at, const char *word)
{
    const size_t length = strlen(word);
    bool is_there = strncmp(*at, word, length) == 0;

    *at += is_there ? length : 0;
    return is_there;
}

/* The next line without its check; NULL when it is not whole. */
static const char *next_line(reader_t *reader)
{
    char *line = reader->text + reader->at;
    char *end = memchr(line, '\n', reader->length - reader->at);
    uint64_t check = 0;

    if (end == NULL || end - line < CHECK_DIGITS + 1 ||
        end[-CHECK_DIGITS - 1] != ' ') {
        return NULL;
    }
    const char *digits = end - CHECK_DIGITS;
    size_t length = (size_t)(digits - 1 - line);

    if (!read_hex(&digits, &check) || digits != end ||
        check != iso__ledger_check(reader->check, line, length)) {
        return NULL;
    }
    line[length] = '\0';
    reader->check = check;
    reader->at += (size_t)(end + 1 - line);
    return line;
}

static void note_difference(reader_t *reader, const char *name)
{
    if (reader->differs[0] == '\0') {
        (void)snprintf(reader->differs, sizeof reader->differs, "%s", name);
    }
}

static void compare_trait(reader_t *reader, int i, const char *at)
{
    uint64_t digest = 0;
    bool whole = read_hex(&at, &digest) && read_word(&at, " ");

    if (i >= reader->spec->n_traits || !whole ||
        strcmp(at, reader->spec->traits[i].name) != 0) {
        note_difference(reader, "the program's version");
    } else if (digest != reader->spec->traits[i].digest) {
        note_difference(reader, at);
    }
}

/* "samples N outputs M" */
static bool read_counts(reader_t *reader, const char *at)
{
    int64_t samples = 0;
    int64_t outputs = 0;

    if (!read_number(&at, &samples) || !read_word(&at, "outputs ") ||
        !read_number(&at, &outputs) || outputs > INT16_MAX) {
        return false;
    }
    if (samples != reader->spec->samples) {
        note_difference(reader, "the number of samples");
    }
    if (outputs != reader->spec->n_outputs) {
        note_difference(reader, "the outputs");
    }
    reader->n_outputs = (int)outputs;
    return true;
}

/* Whether the head is whole. */
static bool read_head(reader_t *reader)
{
    const char *line = next_line(reader);

    for (int i = 0; line != NULL; i++) {
        const char *at = next_line(reader);

        line = at;
        if (line != NULL && read_word(&at, "samples ")) {
            if (i < reader->spec->n_traits) {
                note_difference(reader, "the program's version");
            }
            return read_counts(reader, at);
        }
        if (line != NULL && read_word(&at, "of ")) {
            compare_trait(reader, i, at);
        }
    }
    return false;
}

static bool make_room(reader_t *reader, iso_ledger_t *ledger)
{
    if (ledger->n_ranges < reader->room) {
        return true;
    }
    const int room = reader->room == 0 ? 64 : reader->room * 2;
    iso__range_t *ranges =
        iso_realloc(ledger->ranges, (size_t)room * sizeof *ranges);

    if (ranges == NULL) {
        return false;
    }
    ledger->ranges = ranges;
    uint64_t *digests = iso_realloc(
        ledger->digests,
        (size_t)room * (size_t)(reader->n_outputs + 1) * sizeof *digests);
    if (digests == NULL) {
        return false;
    }
    ledger->digests = digests;
    reader->room = room;
    return true;
}

/* "range FIRST END DIGEST..."; there is room. */
static bool read_range(const reader_t *reader, iso_ledger_t *ledger,
                       const char *at)
{
    const int64_t done = ledger->done;
    iso__range_t *range = &ledger->ranges[ledger->n_ranges];
    uint64_t *digests =
        &ledger->digests[(size_t)ledger->n_ranges * (size_t)reader->n_outputs];

    if (!read_number(&at, &range->first) || !read_number(&at, &range->end) ||
        range->first != done || range->end <= done) {
        return false;
    }
    for (int i = 0; i < reader->n_outputs; i++) {
        if (!read_hex(&at, &digests[i])) {
            return false;
        }
        at += *at == ' ' ? 1 : 0;
    }
    range->end_bytes = reader->at;
    range->check = reader->check;
    return *at == '\0';
}

static iso_status_t read_ranges(reader_t *reader, iso_ledger_t *ledger)
{
    ledger->head_bytes = reader->at;
    ledger->head_check = reader->check;
    for (const char *at = NULL;
         !ledger->finished && (at = next_line(reader)) != NULL;) {
        if (!make_room(reader, ledger)) {
            return ISO_NOMEM;
        }
        if (strcmp(at, "finished") == 0) {
            ledger->finished = true;
        } else if (read_word(&at, "range ") && read_range(reader, ledger, at)) {
            ledger->done = ledger->ranges[ledger->n_ranges++].end;
        } else {
            break;
        }
        ledger->bytes = reader->at;
        ledger->check = reader->check;
    }
    return ISO_OK;
}

/* The whole file, with a zero behind it. */
static iso_status_t read_file(const iso_ledger_t *ledger, reader_t *reader)
{
    struct stat info;
    size_t got = 0;
    ssize_t count = 1;

    if (fstat(ledger->file, &info) != 0) {
        return iso_fail(ISO_INPUT, "cannot read '%s': %s", ledger->path,
                        strerror(errno));
    }
    reader->text = iso_alloc((size_t)info.st_size + 1);
    if (reader->text == NULL) {
        return ISO_NOMEM;
    }
    while (got < (size_t)info.st_size && count > 0) {
        count = pread(ledger->file, reader->text + got,
                      (size_t)info.st_size - got, (off_t)got);
        if (count < 0 && errno == EINTR) {
            count = 1;
        } else if (count < 0) {
            return iso_fail(ISO_INPUT, "cannot read '%s': %s", ledger->path,
                            strerror(errno));
        } else {
            got += (size_t)count;
        }
    }
    reader->length = got;
    reader->text[got] = '\0';
    return ISO_OK;
}

static bool begins_anyway(const iso_ledger_spec_t *spec)
{
    return spec->force && !spec->resume;
}

/* Finished samples are not thrown away unasked. */
static iso_status_t fail_damaged(const iso_ledger_t *ledger)
{
    return iso_fail(ISO_INPUT,
                    "'%s' is damaged in its first lines, which say what job "
                    "it is of; give --force without --resume to begin anew",
                    ledger->path);
}

static iso_status_t read_lines(iso_ledger_t *ledger, reader_t *reader,
                               bool *known_out)
{
    ISO_TRY(read_file(ledger, reader));
    const bool torn = memchr(reader->text, '\n', reader->length) == NULL;

    if (!torn && strncmp(reader->text, title, sizeof title - 1) != 0) {
        return iso_fail(ISO_INPUT,
                        "'%s' is not a ledger of isotome, and is in the way "
                        "of this job's; move it or choose another output",
                        ledger->path);
    }
    const bool has_ranges = strstr(reader->text, "\nrange ") != NULL;

    *known_out = read_head(reader);
    if (!*known_out) {
        return has_ranges && !begins_anyway(reader->spec) ? fail_damaged(ledger)
                                                          : ISO_OK;
    }
    ledger->bytes = reader->at;
    ledger->check = reader->check;
    return read_ranges(reader, ledger);
}

static iso_status_t fail_other(const iso_ledger_t *ledger,
                               const reader_t *reader)
{
    return iso_fail(ISO_INPUT,
                    "'%s' is of another job, in %s: resume it with what it "
                    "was begun with, or give --force without --resume to "
                    "begin anew",
                    ledger->path, reader->differs);
}

iso_status_t iso__ledger_read(iso_ledger_t *ledger,
                              const iso_ledger_spec_t *spec, bool *known_out)
{
    reader_t reader = {.spec = spec};
    iso_status_t status = read_lines(ledger, &reader, known_out);

    if (status == ISO_OK && *known_out && spec->resume &&
        (ledger->done > 0 || ledger->finished) && reader.differs[0] != '\0') {
        status = fail_other(ledger, &reader);
    }
    iso_free(reader.text);
    return status;
}
