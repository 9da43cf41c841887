/*
 * HDF5 with this project's errors: what the model file and the arrays of a
 * job share. Nothing here is collective: hdf5.h of a parallel build brings
 * mpi.h along, and no function of MPI is called.
 *
 * HDF5 keeps a stack of messages; iso_h5_fail() ends our one line with the
 * innermost of them. HDF5's own printing is off between iso_h5_begin() and
 * iso_h5_end(), and afterwards as the program around us had it. So is its
 * loading of plugins, which a file can ask for: a file never brings code.
 *
 *     iso_h5_scope_t scope = iso_h5_begin();
 *     hid_t file = H5I_INVALID_HID;
 *     iso_status_t status = iso_h5_open("x.h5", &file, &bytes);
 *     ...
 *     iso_h5_close(&file);
 *     iso_h5_end(&scope);
 */
#ifndef ISO_H5_H
#define ISO_H5_H

#include "isotome/status.h"

#include "io/draft.h"

#include <hdf5.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How errors were printed and what plugins could be loaded before. A value,
 * nothing to free. */
typedef struct iso_h5_scope {
    H5E_auto2_t print;
    void *print_arg;
    unsigned plugins;
} iso_h5_scope_t;

iso_h5_scope_t iso_h5_begin(void);
void iso_h5_end(const iso_h5_scope_t *scope);

/*
 * Record a failure of the HDF5 call just made, as "<format>: <HDF5's text>".
 * Call it before any other function of HDF5.
 */
iso_status_t iso_h5_fail(iso_status_t status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Close whatever id this is, if it is one; sets it to H5I_INVALID_HID. */
void iso_h5_close(hid_t *id);

/*
 * Open a file read-only, without locking it.
 *
 * bytes_out  [out]  length of the file
 * Errors: ISO_INPUT naming the file: missing, not a regular file, empty, not
 * HDF5, truncated or damaged.
 */
iso_status_t iso_h5_open(const char *path, hid_t *file_out, size_t *bytes_out);

/*
 * Create an HDF5 file in a draft. HDF5 (1.10) crashes when it is closed
 * after a write that failed; so it writes through a driver that never fails,
 * and the draft remembers. Ask iso_draft_status after writing and closing.
 *
 * draft  [in]  not owned; must outlive the file
 * Errors: ISO_IO.
 */
iso_status_t iso_h5_create(iso_draft_t *draft, hid_t *file_out);

/* Type of a text of length UTF-8 bytes, to be closed; negative on failure. */
hid_t iso_h5_text_type(size_t length);

/* Attributes of a group or dataset: one text of fixed length, one integer. */
bool iso_h5_has_attr(hid_t object, const char *name);

/* Errors: ISO_INPUT naming the attribute: missing, another type, too long. */
iso_status_t iso_h5_get_text(hid_t object, const char *name, char *buffer,
                             size_t size);
iso_status_t iso_h5_get_u64(hid_t object, const char *name,
                            uint64_t *value_out);

/* Errors: ISO_IO. */
iso_status_t iso_h5_put_text(hid_t object, const char *name, const char *text);
iso_status_t iso_h5_put_u64(hid_t object, const char *name, uint64_t value);

#endif
