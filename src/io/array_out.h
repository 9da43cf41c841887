/*
 * Outputs of a job: any number of arrays, each a .npy file or a dataset of
 * an HDF5 file, that appear under their names all at once at the end or not
 * at all.
 *
 *     ISO_TRY(iso_array_out_begin(force, &out));
 *     ISO_TRY(iso_array_out_add(out, "y.npy", &header, &index));
 *     ISO_TRY(iso_array_out_write(out, index, first, count, rows));
 *     ISO_TRY(iso_array_out_commit(&out));   or iso_array_out_abandon(&out)
 *
 * Files are written under a temporary name in the same folder, at their full
 * size from the start (so that a full disk is known at once), and renamed.
 * Several datasets of one HDF5 file make one file.
 */
#ifndef ISO_ARRAY_OUT_H
#define ISO_ARRAY_OUT_H

#include "isotome/tensor.h"

#include <stdbool.h>

typedef struct iso_array_out iso_array_out_t;

/* force: an existing file may be replaced (by commit, not before). */
iso_status_t iso_array_out_begin(bool force, iso_array_out_t **out);

/*
 * Announce an array; its file is created.
 *
 * header     [in]  dtype and whole shape
 * index_out  [out] its number for write
 * Errors: ISO_INVAL for a place that is malformed or named twice; ISO_IO:
 * exists (says --force), folder missing, no permission, disk full.
 */
iso_status_t iso_array_out_add(iso_array_out_t *out, const char *place,
                               const iso_tensor_t *header, int *index_out);

iso_status_t iso_array_out_write(iso_array_out_t *out, int index, int64_t first,
                                 int64_t count, const void *rows);

/* Flush, close, fsync and rename all; on failure everything is abandoned.
 * Sets *out to NULL in both cases. */
iso_status_t iso_array_out_commit(iso_array_out_t **out);

/* Close and remove the temporary files. */
void iso_array_out_abandon(iso_array_out_t **out);

#endif
