/*
 * Direct: values that messages take out of a device's memory, and bring into
 * it, without a copy in the host's.
 *
 * At the sender:
 *
 *     iso_device_t *maker = iso_program_maker(program, i); // NULL: the host
 *     ISO_TRY(iso_device_alloc(maker, bytes, &message));
 *     iso_program_keep(program, i);
 *     ISO_TRY(iso_program_run(program));
 *     ISO_TRY(iso_program_put(program, i, message));
 *
 * at the receiver:
 *
 *     iso_device_t *reader = iso_program_reader(program, input);
 *     ISO_TRY(iso_device_alloc(reader, bytes, &message));
 *     iso_program_bind_direct(program, input, message);
 *
 * A GPU does so when it is let, because not every MPI can. A throttled device
 * does so always: it is there to try what is done with a second device where
 * there is none, and its memory is the host's.
 */
#ifndef ISO_DIRECT_H
#define ISO_DIRECT_H

#include "device/device.h"

/* From now on GPUs of this device are direct. Before programs are made. */
void iso_device_let_direct(iso_device_t *device);

/* Has it a device that is direct? */
bool iso_device_is_direct(const iso_device_t *device);

/*
 * Memory of one device, aligned to 64 bytes at least. device [in] what
 * iso_program_maker or iso_program_reader said. Errors: ISO_NOMEM.
 */
iso_status_t iso_device_alloc(iso_device_t *device, size_t bytes,
                              void **data_out);
void iso_device_free(iso_device_t *device, void *data);

/*
 * Memory of the host for messages that are not direct, filled with zeros:
 * pinned when one of this device's is a GPU, which copies from there and to
 * there at full speed.
 *
 * device  [in]  NULL: no GPU. The same when it is freed
 * Errors: ISO_NOMEM.
 */
iso_status_t iso_device_alloc_host(const iso_device_t *device, size_t bytes,
                                   void **data_out);
void iso_device_free_host(const iso_device_t *device, void *data);

/* The direct device that makes graph output number index; NULL: there is
 * none. Borrowed from the program's device. */
iso_device_t *iso_program_maker(const iso_program_t *program, int index);

/* This output, which has a maker and is no other output as well, is wanted by
 * iso_program_put alone: iso_program_output says nothing of it. */
void iso_program_keep(iso_program_t *program, int index);

/*
 * Copy this output, after a run, to memory of its maker; the copy is done when
 * this returns. Errors: ISO_INTERNAL.
 */
iso_status_t iso_program_put(const iso_program_t *program, int index, void *to);

/* The direct device that alone reads this input; NULL: there is none.
 * Borrowed from the program's device. */
iso_device_t *iso_program_reader(const iso_program_t *program,
                                 iso_node_id_t input);

/* As iso_program_bind_node, to memory of the input's reader. Nobody reads what
 * iso_program_leaf then says. */
void iso_program_bind_direct(iso_program_t *program, iso_node_id_t input,
                             const void *data);

#endif
