/*
 * The header of an .npy file: 6 magic bytes, 2 of version, the length of the
 * text (2 bytes in version 1, 4 later), then the text of a Python dict padded
 * with blanks up to a newline:
 *
 *     {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
 *
 * Only this form is read: the three keys, each once and in any order.
 * Messages do not name the file; the caller puts its name in front.
 * https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
 */
#ifndef ISO_NPY_HEADER_IMPL_H
#define ISO_NPY_HEADER_IMPL_H

#include "isotome/tensor.h"

enum {
    ISO_NPY_START_BYTES = 12,  /* magic, version and length at most */
    ISO_NPY_HEADER_BYTES = 512 /* enough for every header written here */
};

/*
 * Read what goes before the text: where the text starts and how long it is,
 * at most 1 MiB.
 *
 * start  [in]  the first size bytes of the file, all of a shorter one
 * Errors: ISO_INPUT.
 */
iso_status_t iso__npy_parse_start(const unsigned char *start, size_t size,
                                  size_t *offset_out, size_t *length_out);

/* Parse the text, which a zero follows. Errors: ISO_INPUT. */
iso_status_t iso__npy_parse_header(const char *text, size_t length,
                                   iso_tensor_t *header_out);

/*
 * Write a whole version 1 header; the elements after it start at a multiple
 * of 64 bytes.
 *
 * buffer  [out]  (ISO_NPY_HEADER_BYTES)
 * Errors: ISO_INVAL for a type without a NumPy name.
 */
iso_status_t iso__npy_print_header(const iso_tensor_t *header, char *buffer,
                                   size_t *size_out);

#endif
