/*
 * NumPy's .npy files (format 1.0 to 3.0, C order, little-endian): header and
 * ranges of rows, so that a file larger than memory can be streamed.
 *
 * The header is the one place that an outsider controls: sizes are checked
 * against the length of the file before anything is allocated.
 */
#ifndef ISO_NPY_H
#define ISO_NPY_H

#include "isotome/tensor.h"

typedef struct iso_npy iso_npy_t;

/*
 * Open for reading; *header_out gets dtype and shape, data NULL.
 *
 * Errors: ISO_INPUT for a missing, empty, truncated or foreign file, Fortran
 * order, an unknown type or a shape that the file's length does not match.
 */
iso_status_t iso_npy_open(const char *path, iso_npy_t **npy_out,
                          iso_tensor_t *header_out);

/*
 * Create a file at path (truncating what is there) for this dtype and shape
 * and set its full length. The caller chooses path; see
 * io/array_out.h for writing under a temporary name.
 */
iso_status_t iso_npy_create(const char *path, const iso_tensor_t *header,
                            iso_npy_t **npy_out);

/*
 * Read or write rows [first, first + count) of the first dimension (a scalar
 * has one row).
 *
 * data  [out] or [in]  (count, dims[1], ...)
 * Errors: ISO_INPUT / ISO_IO with the system's text.
 */
iso_status_t iso_npy_read(iso_npy_t *npy, int64_t first, int64_t count,
                          void *data);
iso_status_t iso_npy_write(iso_npy_t *npy, int64_t first, int64_t count,
                           const void *data);

/* Where in the file row 0 begins, in bytes; rows lie behind each other. */
size_t iso_npy_offset(const iso_npy_t *npy);

/* Flush to disk (fsync) and close a written file, or close a read one. Sets
 * *npy to NULL also on failure. */
iso_status_t iso_npy_close(iso_npy_t **npy);

/* Read a whole small file; data is owned by the caller, iso_free(). */
iso_status_t iso_npy_load(const char *path, iso_tensor_t *tensor_out);

/* Write a whole tensor to path. */
iso_status_t iso_npy_save(const char *path, const iso_tensor_t *tensor);

#endif
