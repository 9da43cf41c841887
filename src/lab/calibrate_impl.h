/* The parts of a calibration, one file each; private to calibrate*.c. */
#ifndef ISO_CALIBRATE_IMPL_H
#define ISO_CALIBRATE_IMPL_H

#include "isotome/machine.h"

#include "device/device.h"

#include <mpi.h>

#include <stdio.h>

/* Times of one thing, at most; the median is kept. */
enum { ISO__CALIBRATE_REPEATS = 15 };

/* A device that is measured. */
typedef struct iso__calibrated {
    iso_device_spec_t spec;
    iso_device_map_t *map; /* all on it */
    iso_device_t *device;
} iso__calibrated_t;

/* Has it memory of its own? */
static inline bool iso__calibrated_is_apart(const iso__calibrated_t *device)
{
    return device->spec.type == ISO_DEVICE_CUDA;
}

/*
 * What a stage does between two messages or exchanges: it leaves nothing of
 * either in a cache of so many bytes.
 *
 * room  [in,out]  (bytes)
 */
static inline void iso__calibrate_compute_between(volatile char *room,
                                                  int bytes)
{
    enum { CACHE_LINE = 64 };

    for (int i = 0; i < bytes; i += CACHE_LINE) {
        room[i]++;
    }
}

/*
 * Measure what a device of this rank computes and copies: rates, bandwidths
 * and crossing; name, host and memory are left. Classes of work that it does
 * not compute exactly get no rate.
 *
 * Collective over comm: all ranks work at the same time. Errors: ISO_NOMEM,
 * ISO_UNSUPPORTED.
 */
iso_status_t iso__calibrate_work(const iso__calibrated_t *device, MPI_Comm comm,
                                 iso_machine_device_t *figures);

/* Measure copies within the host's memory: the copy bandwidth, and crossing as
 * it is between devices that work there. Collective over comm. Errors:
 * ISO_NOMEM. */
iso_status_t iso__calibrate_copies(MPI_Comm comm,
                                   iso_machine_device_t *figures);

/*
 * Measure the links between the ranks, a sample of pairs one after the other;
 * kinds of which there is no pair stay as they are.
 *
 * Collective over comm, whose ranks are those of machine; the same figures on
 * every rank.
 */
iso_status_t iso__calibrate_links(MPI_Comm comm, iso_machine_t *machine);

/* Measure the collectives, after the links. Collective, as above. */
iso_status_t iso__calibrate_collectives(MPI_Comm comm, iso_machine_t *machine);

/* Print the figures. device [in] text of rank 0's. Errors: ISO_NOMEM. */
iso_status_t iso__calibrate_print(const iso_machine_t *machine,
                                  const char *device, FILE *file);

#endif
