/*
 * A machine file of a suite, in a folder that is made for it:
 *
 *     {"machine", machine_path_make, machine_path_remove, ...}
 */
#ifndef MACHINE_PATH_H
#define MACHINE_PATH_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char machine_folder[] = "/tmp/isotome-machine-XXXXXX";
static char machine_path[sizeof machine_folder + 16];

static inline int machine_path_make(void)
{
    if (mkdtemp(machine_folder) == NULL) {
        return 1;
    }
    (void)snprintf(machine_path, sizeof machine_path, "%s/machine.json",
                   machine_folder);
    return 0;
}

static inline int machine_path_remove(void)
{
    (void)unlink(machine_path);
    return rmdir(machine_folder);
}

#endif
