/*
 * Which messages of a job go from and to a device's memory (device/direct.h).
 *
 * Both ends of a channel must know whether its tensors travel in messages of
 * their own. The ranks agree here, before channels are made: they do so when
 * one of the two ends, at least, has a direct device; where each end has its
 * tensors is then its own affair.
 */
#ifndef ISO_EXEC_DIRECT_H
#define ISO_EXEC_DIRECT_H

#include "device/direct.h"

#include <mpi.h>

/*
 * Let the GPUs of all ranks be direct when the MPI of all of them takes their
 * memory, and tell all ranks who has a direct device.
 *
 * Collective over comm.
 * device      [in]   this rank's; NULL: its messages are in the host's memory
 * is_direct_out [out]  (size of comm), the same everywhere; to be freed by
 *                    iso_free
 * Errors: ISO_NOMEM, common.
 */
iso_status_t iso_direct_agree(iso_device_t *device, MPI_Comm comm,
                              bool **is_direct_out);

#endif
