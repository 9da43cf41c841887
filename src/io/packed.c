#include "io/packed.h"

#include "isotome/error.h"

#include "base/digest.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "io/draft.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    VERSION = 1, /* of the file's format */
    HEADER_BYTES = 4096,
    ALIGNMENT = 64,
    LARGE_BYTES = 2 * 1024 * 1024, /* a large page */
    NAME_BYTES = 32,
};

static const char magic[16] = "isotome-packed\n";

/* In the byte order of the machine that wrote it; another machine reads
 * another number. */
static const uint64_t byte_order = 0x0102030405060708U;

typedef struct header_piece {
    uint64_t place; /* in the file */
    uint64_t bytes;
    uint64_t note;
    uint64_t digest;
} header_piece_t;

/* The first bytes of a file; zeros follow. */
typedef struct header {
    char magic[16];
    uint64_t byte_order;
    uint64_t version;
    uint64_t file_bytes;
    uint64_t note;
    uint64_t n_pieces;
    header_piece_t pieces[ISO_PACKED_PIECES];
    char key[ISO_PACKED_KEY_BYTES]; /* zeros behind it */
    uint64_t digest;                /* of all of the header before it */
} header_t;

_Static_assert(sizeof(header_t) <= HEADER_BYTES, "a header fits its place");
_Static_assert(offsetof(header_t, digest) + sizeof(uint64_t) ==
                   sizeof(header_t),
               "the digest of a header is over all else of it");

struct iso_packed {
    char *path;
    int folder;
};

/* -- the folder -- */

static iso_status_t check_folder(const iso_packed_t *packed)
{
    struct stat info;

    if (fstat(packed->folder, &info) != 0) {
        return iso_fail(ISO_IO, "folder of packed weights '%s': %s",
                        packed->path, strerror(errno));
    }
    if (info.st_uid != geteuid()) {
        return iso_fail(ISO_IO,
                        "folder of packed weights '%s' belongs to user %ju, "
                        "expected %ju; name a folder of your own, such as "
                        "'%s/packed'",
                        packed->path, (uintmax_t)info.st_uid,
                        (uintmax_t)geteuid(), packed->path);
    }
    if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        return iso_fail(ISO_IO,
                        "others may write in the folder of packed weights "
                        "'%s': chmod go-w '%s', or name a folder of your own, "
                        "such as '%s/packed'",
                        packed->path, packed->path, packed->path);
    }
    return ISO_OK;
}

static iso_status_t open_folder(iso_packed_t *packed)
{
    if (packed->path == NULL) {
        return ISO_NOMEM;
    }
    if (mkdir(packed->path, S_IRWXU) != 0 && errno != EEXIST) {
        return iso_fail(ISO_IO,
                        "cannot make the folder of packed weights '%s': %s",
                        packed->path, strerror(errno));
    }
    packed->folder = open(packed->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (packed->folder < 0) {
        return iso_fail(ISO_IO,
                        "cannot open the folder of packed weights '%s': %s",
                        packed->path, strerror(errno));
    }
    return check_folder(packed);
}

iso_status_t iso_packed_open(const char *folder, iso_packed_t **packed_out)
{
    iso_packed_t *packed = iso_alloc_zeroed(1, sizeof *packed);

    *packed_out = NULL;
    if (packed == NULL) {
        return ISO_NOMEM;
    }
    packed->folder = -1;
    packed->path = iso_text_copy(folder);
    iso_status_t status = open_folder(packed);
    if (status != ISO_OK) {
        iso_packed_close(&packed);
        return status;
    }
    *packed_out = packed;
    return ISO_OK;
}

void iso_packed_close(iso_packed_t **packed)
{
    if (*packed == NULL) {
        return;
    }
    if ((*packed)->folder >= 0) {
        (void)close((*packed)->folder);
    }
    iso_free((*packed)->path);
    iso_free(*packed);
    *packed = NULL;
}

/* -- what a file is -- */

static void name_of(const iso_packed_entry_t *entry, char name[NAME_BYTES])
{
    (void)snprintf(name, NAME_BYTES, "%016" PRIx64 ".packed",
                   iso_digest_of(entry->key, strlen(entry->key)));
}

static uint64_t round_up(uint64_t bytes, uint64_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

/* All but notes and digests, which follow from what was made. */
static void lay_out(const iso_packed_entry_t *entry, header_t *header)
{
    const size_t key_bytes = strlen(entry->key);
    uint64_t end = HEADER_BYTES;

    ISO_ASSERT(entry->n_pieces >= 0 && entry->n_pieces <= ISO_PACKED_PIECES);
    ISO_ASSERT(key_bytes < ISO_PACKED_KEY_BYTES);
    memset(header, 0, sizeof *header);
    memcpy(header->magic, magic, sizeof magic);
    header->byte_order = byte_order;
    header->version = VERSION;
    header->n_pieces = (uint64_t)entry->n_pieces;
    memcpy(header->key, entry->key, key_bytes);
    for (int i = 0; i < entry->n_pieces; i++) {
        header_piece_t *piece = &header->pieces[i];

        piece->bytes = entry->pieces[i].bytes;
        piece->place = round_up(end, piece->bytes >= LARGE_BYTES ? LARGE_BYTES
                                                                 : ALIGNMENT);
        end = piece->place + piece->bytes;
    }
    header->file_bytes = end;
}

static uint64_t digest_of_header(const header_t *header)
{
    return iso_digest_of(header, offsetof(header_t, digest));
}

/* -- find -- */

/* What is wrong with a file; NULL: nothing. */
static const char *fault_of_file(const struct stat *info)
{
    if (!S_ISREG(info->st_mode)) {
        return "it is not a regular file";
    }
    if (info->st_uid != geteuid()) {
        return "it belongs to another user";
    }
    if ((info->st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        return "others may write to it";
    }
    if (info->st_size < HEADER_BYTES) {
        return "it is truncated";
    }
    return NULL;
}

/* expected is filled in but for notes and digests, which are taken over. */
static const char *fault_of_header(const header_t *header, off_t file_bytes,
                                   header_t *expected)
{
    if (memcmp(header->magic, magic, sizeof magic) != 0) {
        return "it is no file of packed weights";
    }
    if (header->byte_order != byte_order || header->version != VERSION) {
        return "it was written by another version or on another machine";
    }
    if (header->digest != digest_of_header(header)) {
        return "its header is damaged";
    }
    if (memcmp(header->key, expected->key, sizeof header->key) != 0) {
        return "it is of another weight";
    }
    expected->note = header->note;
    for (int i = 0; i < ISO_PACKED_PIECES; i++) {
        expected->pieces[i].note = header->pieces[i].note;
        expected->pieces[i].digest = header->pieces[i].digest;
    }
    expected->digest = header->digest;
    if (memcmp(header, expected, sizeof *header) != 0) {
        return "its header is not what was expected";
    }
    if ((uint64_t)file_bytes != header->file_bytes) {
        return (uint64_t)file_bytes < header->file_bytes ? "it is truncated"
                                                         : "it is too long";
    }
    return NULL;
}

static bool read_header(int file, header_t *header)
{
    char *at = (char *)header;
    size_t left = sizeof *header;

    while (left > 0) {
        const ssize_t got =
            pread(file, at, left, (off_t)(sizeof *header - left));

        if (got == 0 || (got < 0 && errno != EINTR)) {
            return false;
        }
        if (got > 0) {
            at += got;
            left -= (size_t)got;
        }
    }
    return true;
}

/* Map the file and verify the pieces; the digest is what brings them in. */
static const char *map_pieces(int file, const header_t *header,
                              iso_packed_entry_t *entry)
{
    void *map = mmap(NULL, header->file_bytes, PROT_READ, MAP_SHARED, file, 0);

    if (map == MAP_FAILED) {
        return strerror(errno);
    }
    entry->map = map;
    entry->map_bytes = header->file_bytes;
    entry->note = header->note;
    for (int i = 0; i < entry->n_pieces; i++) {
        const header_piece_t *piece = &header->pieces[i];

        entry->pieces[i].note = piece->note;
        entry->pieces[i].data = (char *)map + piece->place;
        if (iso_digest_of(entry->pieces[i].data, piece->bytes) !=
            piece->digest) {
            iso_packed_release(entry);
            return "it is damaged";
        }
    }
    return NULL;
}

static const char *use_file(int file, iso_packed_entry_t *entry)
{
    struct stat info;
    header_t header;
    header_t expected;

    if (fstat(file, &info) != 0) {
        return strerror(errno);
    }
    const char *fault = fault_of_file(&info);
    if (fault != NULL) {
        return fault;
    }
    if (!read_header(file, &header)) {
        return "its header cannot be read";
    }
    lay_out(entry, &expected);
    fault = fault_of_header(&header, info.st_size, &expected);
    return fault == NULL ? map_pieces(file, &header, entry) : fault;
}

iso_status_t iso_packed_find(const iso_packed_t *packed,
                             iso_packed_entry_t *entry)
{
    char name[NAME_BYTES];

    name_of(entry, name);
    entry->map = NULL;
    /* O_NONBLOCK: a named pipe must be refused, not waited for. */
    const int file = openat(packed->folder, name,
                            O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0 && errno == ENOENT) {
        return ISO_OK;
    }
    const char *fault = file < 0 ? strerror(errno) : use_file(file, entry);
    if (file >= 0) {
        (void)close(file);
    }
    return fault == NULL
               ? ISO_OK
               : iso_fail(ISO_INPUT, "file of packed weights '%s/%s': %s",
                          packed->path, name, fault);
}

void iso_packed_release(iso_packed_entry_t *entry)
{
    if (entry->map != NULL) {
        (void)munmap(entry->map, entry->map_bytes);
        entry->map = NULL;
    }
}

/* -- put -- */

static void write_all(const iso_packed_entry_t *entry, iso_draft_t *draft)
{
    header_t header;

    lay_out(entry, &header);
    header.note = entry->note;
    for (int i = 0; i < entry->n_pieces; i++) {
        const iso_packed_piece_t *piece = &entry->pieces[i];

        header.pieces[i].note = piece->note;
        header.pieces[i].digest = iso_digest_of(piece->data, piece->bytes);
        iso_draft_write(draft, header.pieces[i].place, piece->data,
                        piece->bytes);
    }
    header.digest = digest_of_header(&header);
    iso_draft_set_length(draft, header.file_bytes);
    iso_draft_write(draft, 0, &header, sizeof header);
}

static iso_status_t put_at(const char *path, const iso_packed_entry_t *entry)
{
    iso_draft_t *draft = NULL;

    ISO_TRY(iso_draft_create(path, true, &draft));
    iso_draft_make_private(draft);
    write_all(entry, draft);
    iso_status_t status = iso_draft_replace(draft);
    iso_draft_close(&draft);
    return status;
}

iso_status_t iso_packed_put(const iso_packed_t *packed,
                            const iso_packed_entry_t *entry)
{
    char name[NAME_BYTES];
    iso_text_t path = {0};

    name_of(entry, name);
    iso_text_add(&path, "%s/%s", packed->path, name);
    iso_status_t status = path.status;
    if (status == ISO_OK) {
        status = put_at(path.data, entry);
    }
    iso_text_free(&path);
    return status;
}
