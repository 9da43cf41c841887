#include "io/lock.h"

#include "isotome/error.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>

enum { ATTEMPTS = 300 };
static const double attempt_period_s = 0.2;

static bool is_under(int file, const char *path)
{
    struct stat here;
    struct stat there;

    return fstat(file, &here) == 0 && lstat(path, &there) == 0 &&
           here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

iso_status_t iso_lock_file(int file, const char *path)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int attempt = 0;

    while (fcntl(file, F_OFD_SETLK, &lock) != 0) {
        if (errno != EAGAIN && errno != EACCES && errno != EINTR) {
            break; /* no locks here */
        }
        if (++attempt == ATTEMPTS) {
            return iso_fail(ISO_IO,
                            "'%s' is being written by another job; wait for "
                            "it to end or choose another output",
                            path);
        }
        iso_clock_wait(iso_clock_s() + attempt_period_s);
    }
    if (!is_under(file, path)) {
        return iso_fail(
            ISO_IO, "another job has just ended with '%s'; run again", path);
    }
    return ISO_OK;
}
