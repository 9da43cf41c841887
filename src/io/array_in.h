/*
 * Arrays that are read in rows: a .npy file or a dataset of an HDF5 file,
 * "images.npy" or "data.h5:/train/images". A 100 GB input needs the memory
 * of the rows asked for.
 */
#ifndef ISO_ARRAY_IN_H
#define ISO_ARRAY_IN_H

#include "isotome/tensor.h"

typedef struct iso_array_in iso_array_in_t;

/*
 * Not collective; each rank opens by itself.
 * Errors: ISO_INPUT naming file (and dataset): missing, truncated, foreign,
 * a dtype that there is none for, external links.
 */
iso_status_t iso_array_in_open(const char *place, iso_array_in_t **array_out);
void iso_array_in_close(iso_array_in_t **array);

/* Dtype and shape; data is NULL. */
const iso_tensor_t *iso_array_in_header(const iso_array_in_t *array);

/* Rows [first, first + count) of the first dim into data. */
iso_status_t iso_array_in_read(iso_array_in_t *array, int64_t first,
                               int64_t count, void *data);

#endif
