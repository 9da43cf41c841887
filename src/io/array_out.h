/*
 * Outputs of a job: any number of arrays, each a .npy file or a dataset of
 * an HDF5 file, that appear under their names all at once at the end or not
 * at all.
 *
 *     ISO_TRY(iso_array_out_begin(force, false, &out));
 *     ISO_TRY(iso_array_out_add(out, "y.npy", &header, &index));
 *     ISO_TRY(iso_array_out_start(out));
 *     ISO_TRY(iso_array_out_write(out, index, first, count, rows));
 *     ISO_TRY(iso_array_out_commit(&out));   or iso_array_out_abandon(&out)
 *
 * Files are written as FILE.part in the same folder, at their full size from
 * the start (so that a full disk is known at once), and renamed. Several
 * datasets of one HDF5 file make one file. HDF5 is done with a file before its
 * first row is written: rows go to their place by themselves, so that a
 * process that dies at any moment leaves a file that another one can go on
 * with.
 */
#ifndef ISO_ARRAY_OUT_H
#define ISO_ARRAY_OUT_H

#include "isotome/tensor.h"

#include <stdbool.h>

typedef struct iso_array_out iso_array_out_t;

/*
 * force   [in]  an existing file may be replaced (by commit, not before)
 * resume  [in]  go on with the parts that are there, which are kept; else they
 *               are replaced
 */
iso_status_t iso_array_out_begin(bool force, bool resume,
                                 iso_array_out_t **out);

/*
 * Announce an array; its file is created, or found.
 *
 * header     [in]  dtype and whole shape
 * index_out  [out] its number for write
 * Errors: ISO_INVAL for a place that is malformed or named twice; ISO_IO:
 * exists (says --force), folder missing, no permission, disk full; ISO_INPUT
 * for a part that is not what was announced.
 */
iso_status_t iso_array_out_add(iso_array_out_t *out, const char *place,
                               const iso_tensor_t *header, int *index_out);

/* All are announced; from here on rows are written. Errors: ISO_IO. */
iso_status_t iso_array_out_start(iso_array_out_t *out);

/* rows  [in]  (count, dims[1], ...). Errors: ISO_IO. */
iso_status_t iso_array_out_write(iso_array_out_t *out, int index, int64_t first,
                                 int64_t count, const void *rows);

/* Digest (base/digest.h) of the bytes of rows that are in the file. Errors:
 * ISO_IO, ISO_NOMEM. */
iso_status_t iso_array_out_digest(const iso_array_out_t *out, int index,
                                  int64_t first, int64_t count,
                                  uint64_t *digest_out);

/* What was written is on the disk. Errors: ISO_IO. */
iso_status_t iso_array_out_sync(const iso_array_out_t *out);

/* From here on the parts stay, whatever happens. */
void iso_array_out_keep(iso_array_out_t *out);

/* Flush, close and rename all. On a failure none has its name; parts that are
 * not kept are removed. Sets *out to NULL in both cases. */
iso_status_t iso_array_out_commit(iso_array_out_t **out);

/* Close; parts that are not kept are removed. */
void iso_array_out_abandon(iso_array_out_t **out);

#endif
