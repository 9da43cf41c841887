/*
 * Arrays in HDF5 files: element types both ways, contiguous datasets, rows
 * and slabs of any axis as hyperslabs.
 *
 * bool is stored as u8 and bf16 as u16, each with an attribute stored_as
 * that says so; f16 is HDF5's IEEE half. Texts of errors do not name the
 * file or the dataset: the caller does, by iso_fail_context.
 */
#ifndef ISO_H5_DATASET_H
#define ISO_H5_DATASET_H

#include "isotome/tensor.h"

#include "io/h5.h"

/*
 * Create the groups of a path (its last part is not one) that are not there.
 *
 * Errors: ISO_NOMEM, ISO_IO.
 */
iso_status_t iso_h5_groups_create(hid_t parent, const char *path);

/*
 * Create a contiguous little-endian dataset whose space is allocated at once
 * and not filled. Groups and datasets carry no times, so that the same calls
 * give the same bytes.
 *
 * Errors: ISO_INVAL (size over 2^62), ISO_IO.
 */
iso_status_t iso_h5_dataset_create(hid_t parent, const char *name,
                                   const iso_tensor_t *header,
                                   hid_t *dataset_out);

/*
 * Open a dataset whose elements are in this file.
 *
 * Errors: ISO_INPUT: missing, not a dataset, behind an external link, in
 * external storage or put together from other files.
 */
iso_status_t iso_h5_dataset_open(hid_t parent, const char *name,
                                 hid_t *dataset_out);

/*
 * Dtype and dims; data is NULL. Integers and floats of other byte order and
 * the bool of h5py (an enum) are understood.
 *
 * Errors: ISO_INPUT: a type that there is none for, more than ISO_MAX_RANK
 * dims, over 2^62 bytes.
 */
iso_status_t iso_h5_dataset_header(hid_t dataset, iso_tensor_t *header_out);

/*
 * Move rows [first, first + count) of the first dim (a scalar has one row).
 *
 * header  [in]  what the dataset is taken to be; if it is not, the call fails
 * data    [out] or [in]  (count, dims[1], ...)
 * Errors: ISO_INVAL for rows that are not there; ISO_INPUT, ISO_IO.
 */
iso_status_t iso_h5_dataset_read(hid_t dataset, const iso_tensor_t *header,
                                 int64_t first, int64_t count, void *data);
iso_status_t iso_h5_dataset_write(hid_t dataset, const iso_tensor_t *header,
                                  int64_t first, int64_t count,
                                  const void *data);

/*
 * Where in the file the elements of a contiguous dataset begin, in bytes; 0
 * for one without elements. Errors: ISO_INPUT: it is not contiguous.
 */
iso_status_t iso_h5_dataset_offset(hid_t dataset, size_t *offset_out);

/*
 * Read indices [first, first + count) of one axis, which need not be the
 * first; of a scalar, axis 0 has one index.
 *
 * data  [out]  (dims[0], ..., count, ..., dims[rank - 1]), dense
 * Errors: as above; ISO_INVAL for an axis that is not there.
 */
iso_status_t iso_h5_dataset_read_slab(hid_t dataset, const iso_tensor_t *header,
                                      int axis, int64_t first, int64_t count,
                                      void *data);

#endif
