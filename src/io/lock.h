/*
 * Lock: one process at a time writes to a file that a later one may go on
 * with.
 */
#ifndef ISO_LOCK_H
#define ISO_LOCK_H

#include "isotome/status.h"

/*
 * Lock the open file, which has this path, until it is closed; a process that
 * dies gives its locks back. Somebody else's lock is waited for, for a minute
 * at most: a job that follows a dead one on another host may come before the
 * file server has noticed. Where a file system has no locks, nothing is locked.
 *
 * Errors: ISO_IO: somebody else writes to it; it has been renamed or removed
 * meanwhile.
 */
iso_status_t iso_lock_file(int file, const char *path);

#endif
