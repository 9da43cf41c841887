#include "io/draft.h"

#include "isotome/error.h"

#include "base/digest.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "io/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

/* Linux moves at most 2^31 - 4096 bytes in one call. */
static const size_t call_bytes = (size_t)1 << 30;

enum { NAME_ATTEMPTS = 100 };

struct iso_draft {
    char *path;
    char *temp_path;
    char *folder;
    bool force;
    bool published;
    bool kept; /* the temporary file is not to be removed */
    int file;
    int error; /* errno of the first write that failed, 0 */
};

/* -- temporary files -- */

enum { MOST_TRACKED = 256 };

/* Names for iso_draft_remove_all(), which may come at any moment. */
static _Atomic(const char *) tracked[MOST_TRACKED];

/* Put a name in the place of another one; NULL is a free place. */
static void track(const char *old, const char *name)
{
    bool done = false;

    for (int i = 0; i < MOST_TRACKED && !done; i++) {
        const char *expected = old;

        done = atomic_compare_exchange_strong(&tracked[i], &expected, name);
    }
}

void iso_draft_remove_all(void)
{
    for (int i = 0; i < MOST_TRACKED; i++) {
        const char *name = atomic_load(&tracked[i]);

        if (name != NULL) {
            (void)unlink(name);
        }
    }
}

void iso_draft_add_names(iso_text_t *text)
{
    char here[PATH_MAX];

    for (int i = 0; i < MOST_TRACKED; i++) {
        const char *name = atomic_load(&tracked[i]);

        if (name != NULL && name[0] == '/') {
            iso_text_add(text, "%s%c", name, '\0');
        } else if (name != NULL && getcwd(here, sizeof here) != NULL) {
            iso_text_add(text, "%s/%s%c", here, name, '\0');
        }
    }
}

void iso_draft_adopt(const char *name)
{
    track(NULL, name);
}

void iso_draft_disown(const char *name)
{
    track(name, NULL);
}

/* -- names -- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == NULL ? path : slash + 1;
}

/* The folder of path, to be freed by the caller. */
static char *folder_of(const char *path)
{
    size_t length = (size_t)(base_name(path) - path);

    if (length == 0) {
        return iso_text_copy(".");
    }
    char *folder = iso_text_copy(path);
    if (folder != NULL) {
        folder[length > 1 ? length - 1 : 1] = '\0';
    }
    return folder;
}

/* Same on no two hosts, processes or moments. */
static uint64_t fresh_number(int attempt)
{
    struct timespec now = {0};
    iso_digest_t digest;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    iso_digest_begin(&digest);
    iso_digest_add_int(&digest, now.tv_sec);
    iso_digest_add_int(&digest, now.tv_nsec);
    iso_digest_add_int(&digest, getpid());
    iso_digest_add_int(&digest, attempt);
    return iso_digest_end(&digest);
}

/* -- create -- */

/* Refuse a final name that must not be replaced. */
static iso_status_t check_final_name(const iso_draft_t *draft)
{
    struct stat info;

    if (lstat(draft->path, &info) != 0) {
        return ISO_OK; /* what else is wrong shows when it is created */
    }
    /* A link is replaced itself, but /dev/stdout and its like must stay. */
    if (stat(draft->path, &info) == 0 && !S_ISREG(info.st_mode)) {
        return iso_fail(ISO_IO, "cannot write '%s': %s", draft->path,
                        S_ISDIR(info.st_mode) ? "it is a folder"
                                              : "not a regular file");
    }
    if (!draft->force) {
        return iso_fail(ISO_IO, "'%s' exists; give --force to replace it",
                        draft->path);
    }
    return ISO_OK;
}

static iso_status_t fail_create(const iso_draft_t *draft, int error)
{
    struct stat info;

    if (stat(draft->folder, &info) != 0 || !S_ISDIR(info.st_mode)) {
        return iso_fail(ISO_IO,
                        "cannot write '%s': there is no folder '%s'; create "
                        "it first",
                        draft->path, draft->folder);
    }
    return iso_fail(ISO_IO, "cannot write '%s': %s", draft->path,
                    strerror(error));
}

static iso_status_t create_file(iso_draft_t *draft)
{
    for (int attempt = 0; attempt < NAME_ATTEMPTS; attempt++) {
        iso_text_t name = {0};
        iso_text_add(&name, "%s.%016" PRIx64 ".tmp", draft->path,
                     fresh_number(attempt));
        if (name.status != ISO_OK) {
            iso_text_free(&name);
            return ISO_NOMEM;
        }
        /* Before there is a file: a signal may come right after it is made. */
        track(NULL, name.data);
        draft->file =
            open(name.data, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        int error = errno;
        if (draft->file >= 0) {
            draft->temp_path = name.data;
            return ISO_OK;
        }
        track(name.data, NULL);
        iso_text_free(&name);
        if (error != EEXIST) {
            return fail_create(draft, error);
        }
    }
    return fail_create(draft, EEXIST);
}

/* Its name; NULL when memory runs out. */
static char *part_of(const char *path)
{
    iso_text_t name = {0};

    iso_text_add(&name, "%s.part", path);
    if (name.status != ISO_OK) {
        iso_text_free(&name);
    }
    return name.data;
}

static iso_status_t fail_part(const iso_draft_t *draft, iso_status_t status,
                              const char *text)
{
    return iso_fail(status, "cannot open '%s': %s", draft->temp_path, text);
}

/* The file under this name, locked: nobody else writes to it. */
static iso_status_t lock_part(iso_draft_t *draft, int flags)
{
    struct stat info;

    draft->file =
        open(draft->temp_path,
             flags | O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
    if (draft->file < 0 && (flags & O_CREAT) != 0) {
        return fail_create(draft, errno);
    }
    if (draft->file < 0) {
        return fail_part(draft, ISO_INPUT, strerror(errno));
    }
    if (fstat(draft->file, &info) != 0 || !S_ISREG(info.st_mode)) {
        return fail_part(draft, ISO_INPUT, "not a regular file");
    }
    return iso_lock_file(draft->file, draft->temp_path);
}

static iso_status_t create_part(iso_draft_t *draft)
{
    draft->temp_path = part_of(draft->path);
    if (draft->temp_path == NULL) {
        return ISO_NOMEM;
    }
    draft->kept = true; /* until it is known to be nobody else's */
    ISO_TRY(lock_part(draft, O_CREAT));
    track(NULL, draft->temp_path);
    draft->kept = false;
    if (ftruncate(draft->file, 0) != 0) {
        return fail_create(draft, errno);
    }
    return ISO_OK;
}

static iso_status_t open_part(iso_draft_t *draft)
{
    draft->temp_path = part_of(draft->path);
    if (draft->temp_path == NULL) {
        return ISO_NOMEM;
    }
    draft->kept = true;
    return lock_part(draft, 0);
}

/* make  [in]  gives the draft its temporary file */
static iso_status_t begin(const char *path, bool force,
                          iso_status_t (*make)(iso_draft_t *draft),
                          iso_draft_t **draft_out)
{
    iso_status_t status = ISO_NOMEM;
    iso_draft_t *draft = iso_alloc_zeroed(1, sizeof *draft);

    if (draft == NULL) {
        return ISO_NOMEM;
    }
    draft->file = -1;
    draft->force = force;
    draft->path = iso_text_copy(path);
    draft->folder = folder_of(path);
    if (draft->path != NULL && draft->folder != NULL) {
        status = check_final_name(draft);
        if (status == ISO_OK) {
            status = make(draft);
        }
    }
    if (status != ISO_OK) {
        iso_draft_close(&draft);
        return status;
    }
    *draft_out = draft;
    return ISO_OK;
}

iso_status_t iso_draft_create(const char *path, bool force,
                              iso_draft_t **draft_out)
{
    return begin(path, force, create_file, draft_out);
}

iso_status_t iso_draft_create_part(const char *path, bool force,
                                   iso_draft_t **draft_out)
{
    return begin(path, force, create_part, draft_out);
}

iso_status_t iso_draft_open_part(const char *path, bool force,
                                 iso_draft_t **draft_out)
{
    return begin(path, force, open_part, draft_out);
}

void iso_draft_keep(iso_draft_t *draft)
{
    draft->kept = true;
    track(draft->temp_path, NULL);
}

void iso_draft_close(iso_draft_t **draft)
{
    iso_draft_t *closing = *draft;

    if (closing == NULL) {
        return;
    }
    if (closing->file >= 0) {
        (void)close(closing->file);
    }
    if (closing->temp_path != NULL) {
        if (!closing->published && !closing->kept) {
            (void)unlink(closing->temp_path);
        }
        track(closing->temp_path, NULL);
    }
    iso_free(closing->path);
    iso_free(closing->temp_path);
    iso_free(closing->folder);
    iso_free(closing);
    *draft = NULL;
}

const char *iso_draft_path(const iso_draft_t *draft)
{
    return draft->path;
}

const char *iso_draft_temp_path(const iso_draft_t *draft)
{
    return draft->temp_path;
}

bool iso_draft_same_name(const char *path_a, const char *path_b)
{
    struct stat info_a;
    struct stat info_b;
    char *folder_a = folder_of(path_a);
    char *folder_b = folder_of(path_b);

    bool same = folder_a != NULL && folder_b != NULL &&
                stat(folder_a, &info_a) == 0 && stat(folder_b, &info_b) == 0 &&
                info_a.st_dev == info_b.st_dev &&
                info_a.st_ino == info_b.st_ino &&
                strcmp(base_name(path_a), base_name(path_b)) == 0;
    iso_free(folder_a);
    iso_free(folder_b);
    return same;
}

bool iso_draft_is_for(const iso_draft_t *draft, const char *path)
{
    return iso_draft_same_name(draft->path, path);
}

/* -- write -- */

static iso_status_t fail_write(const iso_draft_t *draft, int error)
{
    bool full = error == ENOSPC || error == EDQUOT || error == EFBIG;

    return iso_fail(ISO_IO, "%scannot write '%s': %s%s",
                    full ? "disk full: " : "", draft->path, strerror(error),
                    full ? "; free some space or choose another folder" : "");
}

iso_status_t iso_draft_reserve(iso_draft_t *draft, size_t bytes)
{
    if (bytes == 0) {
        return ISO_OK;
    }
    int error;
    do {
        error = posix_fallocate(draft->file, 0, (off_t)bytes);
    } while (error == EINTR);
    /* Not every file system can: there a full disk is found when writing. */
    if (error == EINVAL || error == EOPNOTSUPP) {
        return ISO_OK;
    }
    return error == 0 ? ISO_OK : fail_write(draft, error);
}

void iso_draft_make_private(iso_draft_t *draft)
{
    if (draft->error == 0 && fchmod(draft->file, S_IRUSR | S_IWUSR) != 0) {
        draft->error = errno;
    }
}

void iso_draft_write(iso_draft_t *draft, size_t offset, const void *bytes,
                     size_t size)
{
    const char *at = bytes;

    while (size > 0 && draft->error == 0) {
        size_t wanted = size < call_bytes ? size : call_bytes;
        ssize_t put = pwrite(draft->file, at, wanted, (off_t)offset);
        if (put > 0) {
            at += put;
            offset += (size_t)put;
            size -= (size_t)put;
        } else if (put == 0) {
            draft->error = EIO;
        } else if (errno != EINTR) {
            draft->error = errno;
        }
    }
}

void iso_draft_set_length(iso_draft_t *draft, size_t bytes)
{
    if (draft->error == 0 && ftruncate(draft->file, (off_t)bytes) != 0) {
        draft->error = errno;
    }
}

bool iso_draft_read(const iso_draft_t *draft, size_t offset, void *bytes,
                    size_t size)
{
    char *at = bytes;

    while (size > 0) {
        size_t wanted = size < call_bytes ? size : call_bytes;
        ssize_t got = pread(draft->file, at, wanted, (off_t)offset);
        if (got == 0) {
            memset(at, 0, size);
            return true;
        }
        if (got < 0 && errno != EINTR) {
            return false;
        }
        if (got > 0) {
            at += got;
            offset += (size_t)got;
            size -= (size_t)got;
        }
    }
    return true;
}

iso_status_t iso_draft_status(const iso_draft_t *draft)
{
    return draft->error == 0 ? ISO_OK : fail_write(draft, draft->error);
}

/* -- publish -- */

iso_status_t iso_draft_sync(iso_draft_t *draft)
{
    ISO_TRY(iso_draft_status(draft));
    return fsync(draft->file) == 0 ? ISO_OK : fail_write(draft, errno);
}

/* Make a rename in the folder last. A folder that cannot be opened or
 * flushed (some network file systems) is left to its file system. */
static void sync_folder(const iso_draft_t *draft)
{
    int folder = open(draft->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (folder >= 0) {
        (void)fsync(folder);
        (void)close(folder);
    }
}

static iso_status_t fail_rename(const iso_draft_t *draft, int error)
{
    return iso_fail(ISO_IO, "cannot rename '%s' to '%s': %s", draft->temp_path,
                    draft->path, strerror(error));
}

static iso_status_t rename_file(const iso_draft_t *draft)
{
    ISO_TRY(check_final_name(draft));
    if (rename(draft->temp_path, draft->path) != 0) {
        return fail_rename(draft, errno);
    }
    return ISO_OK;
}

/* From some file systems: a file has one name. */
static bool has_no_links(int error)
{
    return error == EPERM || error == EOPNOTSUPP || error == ENOSYS ||
           error == EMLINK;
}

/* Give the file a second name and take the first one away. Unlike a rename
 * this cannot replace a file that somebody else just made; where it cannot be
 * done, looking before the rename has to do. */
static iso_status_t link_file(const iso_draft_t *draft)
{
    if (link(draft->temp_path, draft->path) == 0) {
        (void)unlink(draft->temp_path);
        return ISO_OK;
    }
    int error = errno;
    if (has_no_links(error)) {
        return rename_file(draft);
    }
    ISO_TRY(check_final_name(draft)); /* says it best */
    return fail_rename(draft, error);
}

iso_status_t iso_draft_publish(iso_draft_t *draft)
{
    ISO_ASSERT(!draft->published);
    ISO_TRY(draft->force ? rename_file(draft) : link_file(draft));
    draft->published = true;
    sync_folder(draft);
    return ISO_OK;
}

iso_status_t iso_draft_publish_part(const char *path, bool force)
{
    iso_draft_t *draft = NULL;
    struct stat info;
    char *part = part_of(path);

    if (part == NULL) {
        return ISO_NOMEM;
    }
    bool is_there = lstat(part, &info) == 0;

    iso_free(part);
    if (is_there) {
        ISO_TRY(iso_draft_open_part(path, force, &draft));
        iso_status_t status = iso_draft_publish(draft);
        iso_draft_close(&draft);
        return status;
    }
    if (lstat(path, &info) != 0) {
        return iso_fail(ISO_INPUT,
                        "'%s' was finished and is not there any more; give "
                        "--force without --resume to make it again",
                        path);
    }
    return ISO_OK;
}

iso_status_t iso_draft_replace(iso_draft_t *draft)
{
    ISO_ASSERT(!draft->published);
    ISO_TRY(iso_draft_status(draft));
    if (rename(draft->temp_path, draft->path) != 0) {
        return fail_rename(draft, errno);
    }
    draft->published = true;
    return ISO_OK;
}

void iso_draft_withdraw(iso_draft_t *draft)
{
    if (draft->published && rename(draft->path, draft->temp_path) == 0) {
        draft->published = false;
        sync_folder(draft);
    }
}
