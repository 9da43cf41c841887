/*
 * To be preloaded: calls that write to files of one folder fail.
 *
 *     ISO_FAULT_FOLDER   absolute path; other files are left alone
 *     ISO_FAULT_AT       number of the first call that fails, from 1
 *     ISO_FAULT_ERROR    ENOSPC: so do all that follow, as on a full disk;
 *                        EIO: once
 *     ISO_FAULT_MARK     file that is made when a call fails
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_long calls;

static const char *variable(const char *name)
{
    const char *value = getenv(name);

    return value == NULL ? "" : value;
}

static bool is_inside(const char *path)
{
    const char *folder = variable("ISO_FAULT_FOLDER");
    const size_t length = strlen(folder);

    return length > 0 && strncmp(path, folder, length) == 0 &&
           path[length] == '/';
}

static bool is_path_inside(const char *path)
{
    char whole[PATH_MAX];
    char here[PATH_MAX / 2];

    if (path[0] == '/' || getcwd(here, sizeof here) == NULL) {
        return is_inside(path);
    }
    (void)snprintf(whole, sizeof whole, "%s/%s", here, path);
    return is_inside(whole);
}

static bool is_file_inside(int file)
{
    char name[64];
    char path[PATH_MAX];

    (void)snprintf(name, sizeof name, "/proc/self/fd/%d", file);
    const ssize_t length = readlink(name, path, sizeof path - 1);
    if (length < 0) {
        return false;
    }
    path[length] = '\0';
    return is_inside(path);
}

/* The function that is called in the end. */
static void *next(const char *name)
{
    void *function = dlsym(RTLD_NEXT, name);

    if (function == NULL) {
        abort();
    }
    return function;
}

#define NEXT(type, name) (*(type *)(void *)&(void *){next(name)})

typedef int open_t(const char *path, int flags, ...);

static void leave_mark(void)
{
    const int file = NEXT(open_t *, "open")(variable("ISO_FAULT_MARK"),
                                            O_WRONLY | O_CREAT, 0600);

    if (file >= 0) {
        (void)close(file);
    }
}

/* The error of this call; 0: none. */
static int fault(bool inside)
{
    const bool full = strcmp(variable("ISO_FAULT_ERROR"), "ENOSPC") == 0;
    const long first = strtol(variable("ISO_FAULT_AT"), NULL, 10);

    if (!inside) {
        return 0;
    }
    const long call = atomic_fetch_add(&calls, 1) + 1;
    if (full ? call < first : call != first) {
        return 0;
    }
    leave_mark();
    return full ? ENOSPC : EIO;
}

static bool fails(bool inside)
{
    const int error = fault(inside);

    if (error != 0) {
        errno = error;
    }
    return error != 0;
}

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name) */

int open(const char *path, int flags, ...)
{
    int mode = 0;

    if ((flags & O_CREAT) != 0) {
        va_list args;
        va_start(args, flags);
        mode = va_arg(args, int);
        va_end(args);
        if (fails(is_path_inside(path))) {
            return -1;
        }
    }
    return NEXT(open_t *, "open")(path, flags, mode);
}

ssize_t write(int file, const void *bytes, size_t size)
{
    typedef ssize_t write_t(int, const void *, size_t);

    return fails(is_file_inside(file))
               ? -1
               : NEXT(write_t *, "write")(file, bytes, size);
}

ssize_t pwrite(int file, const void *bytes, size_t size, off_t at)
{
    typedef ssize_t pwrite_t(int, const void *, size_t, off_t);

    return fails(is_file_inside(file))
               ? -1
               : NEXT(pwrite_t *, "pwrite")(file, bytes, size, at);
}

int ftruncate(int file, off_t bytes)
{
    typedef int ftruncate_t(int, off_t);

    return fails(is_file_inside(file))
               ? -1
               : NEXT(ftruncate_t *, "ftruncate")(file, bytes);
}

int posix_fallocate(int file, off_t at, off_t bytes)
{
    typedef int posix_fallocate_t(int, off_t, off_t);
    const int error = fault(is_file_inside(file));

    return error != 0
               ? error
               : NEXT(posix_fallocate_t *, "posix_fallocate")(file, at, bytes);
}

int fsync(int file)
{
    typedef int fsync_t(int);

    return fails(is_file_inside(file)) ? -1 : NEXT(fsync_t *, "fsync")(file);
}

int rename(const char *from, const char *to)
{
    typedef int rename_t(const char *, const char *);

    return fails(is_path_inside(to)) ? -1
                                     : NEXT(rename_t *, "rename")(from, to);
}

int link(const char *from, const char *to)
{
    typedef int link_t(const char *, const char *);

    return fails(is_path_inside(to)) ? -1 : NEXT(link_t *, "link")(from, to);
}

/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
