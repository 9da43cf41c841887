/*
 * Model file: an HDF5 file with a graph and its weights, isotome-model(5).
 *
 *     /                 attributes format = "isotome-model", format_version,
 *                       arithmetic_version, root_digest, producer
 *     /graph            the graph as UTF-8 JSON (scalar string), with the
 *                       attribute digest (XXH3-64 of the bytes)
 *     /weights/<name>   one contiguous dataset each, little-endian, with the
 *                       attributes digest, part_digest and, for bf16 and
 *                       bool, stored_as
 *
 * "/" in a weight's name is stored as %2F, "%" as %25, and the dots of a name
 * that is only "." or ".." as %2E. The root digest is over (name, dtype,
 * shape, digests) of all weights in name order, so that a rank checks the whole
 * from metadata and its own part from its own bytes.
 *
 * A slab of a weight can be read alone. Its sum (iso_digest_elements) cannot be
 * checked alone, but the sums of slabs that cover the weight add up to its
 * part_digest, so that ranks check together what none of them reads whole:
 *
 *     iso_model_read_part(model, info, axis, begin, end, data, &sum);
 *     total = sum of all ranks, whose slabs cover the weight once
 *     if (total != info->part_digest) ... the file is damaged
 *
 * Reading is not collective: each rank opens the file by itself. Sizes are
 * checked against the file's length before anything is allocated; external
 * links, external storage and filters are refused.
 */
#ifndef ISO_MODEL_FILE_H
#define ISO_MODEL_FILE_H

#include "isotome/graph.h"

typedef struct iso_model iso_model_t;

/* A weight as the file describes it. Borrowed from the model. */
typedef struct iso_weight_info {
    const char *name;
    iso_dtype_t dtype;
    iso_shape_t shape;
    size_t bytes;
    uint64_t digest;
    uint64_t part_digest; /* no meaning in a file of version 1 */
} iso_weight_info_t;

/* Hands out a weight's bytes when they are to be written. */
typedef struct iso_weight_source {
    iso_status_t (*get)(void *arg, const char *name, iso_tensor_t *tensor_out);
    void *arg;
} iso_weight_source_t;

/*
 * Write graph and the weights it uses to path: to a temporary name beside
 * it, fsync, rename.
 *
 * Errors: ISO_IO (folder missing, disk full, ... with the path); ISO_INVAL
 * when a param of the graph has no weight or another shape.
 */
iso_status_t iso_model_write(const char *path, const iso_graph_t *graph,
                             const iso_weight_source_t *source);

/*
 * Open and read all metadata: graph, and what each weight is. *model_out is
 * NULL on failure.
 *
 * Errors: ISO_INPUT for a missing, empty, truncated, foreign or damaged file,
 * another format or arithmetic version, a root digest that does not match, a
 * weight missing or of another dtype or shape than the graph says; each names
 * file and dataset.
 */
iso_status_t iso_model_open(const char *path, iso_model_t **model_out);
void iso_model_close(iso_model_t **model);

/* Borrowed from the model. */
const iso_graph_t *iso_model_graph(const iso_model_t *model);
const char *iso_model_path(const iso_model_t *model);
const char *iso_model_producer(const iso_model_t *model);
uint64_t iso_model_root_digest(const iso_model_t *model);
int iso_model_weight_count(const iso_model_t *model);
/* In name order; one array, so that differences of pointers are indices. */
const iso_weight_info_t *iso_model_weight(const iso_model_t *model, int index);

/* NULL when there is none of this name. */
const iso_weight_info_t *iso_model_find(const iso_model_t *model,
                                        const char *name);

/*
 * Read a whole weight and compare its digest.
 *
 * data  [out]  info->bytes bytes, the caller's
 * Errors: ISO_INPUT naming file and dataset for a read that fails or a
 * digest that does not match.
 */
iso_status_t iso_model_read(iso_model_t *model, const iso_weight_info_t *info,
                            void *data);

/*
 * Bytes of the slab [begin, end) of an axis.
 *
 * Errors: ISO_INVAL for an axis or a range that the weight does not have.
 */
iso_status_t iso_weight_part_bytes(const iso_weight_info_t *info, int axis,
                                   int64_t begin, int64_t end,
                                   size_t *bytes_out);

/*
 * Read the slab [begin, end) of an axis, dense in the row-major order of its
 * own shape, and no other bytes. Whoever reads slabs compares their sums.
 *
 * data     [out]  iso_weight_part_bytes, the caller's
 * sum_out  [out]  the slab's part of info->part_digest; 0 when it is empty
 * Errors: ISO_INVAL as above, ISO_INPUT for a read that fails and for a file
 * of format version 1, which has no part_digest; each names file and dataset.
 */
iso_status_t iso_model_read_part(iso_model_t *model,
                                 const iso_weight_info_t *info, int axis,
                                 int64_t begin, int64_t end, void *data,
                                 uint64_t *sum_out);

/*
 * Reader: a weight, or a slab of it, in parts, so that a part can be used
 * while it is in the caches and the whole need not be in memory.
 *
 *     ISO_TRY(iso_weight_reader_open(model, info, axis, begin, end, &reader));
 *     for each part, in order:
 *         status = iso_weight_reader_next(reader, rows, data);
 *     status = iso_weight_reader_end(reader, &sum);
 *     iso_weight_reader_close(&reader);
 *
 * Parts are rows of the slab's own first dim; a scalar is one row.
 */
typedef struct iso_weight_reader iso_weight_reader_t;

enum { ISO_READ_WHOLE = -1 };

/*
 * axis  [in]  ISO_READ_WHOLE: all of the weight; begin and end are not looked
 *             at
 * Errors: those of iso_model_read_part, ISO_NOMEM; *reader_out is then NULL.
 */
iso_status_t iso_weight_reader_open(iso_model_t *model,
                                    const iso_weight_info_t *info, int axis,
                                    int64_t begin, int64_t end,
                                    iso_weight_reader_t **reader_out);

/*
 * Read the next rows.
 *
 * data  [out]  (rows, ...), dense
 * Errors: ISO_INVAL for more rows than are left; ISO_INPUT for a read that
 * fails; each names file and weight.
 */
iso_status_t iso_weight_reader_next(iso_weight_reader_t *reader, int64_t rows,
                                    void *data);

/*
 * When all rows have been read: compare the digest of a whole weight, or give
 * the slab's sum.
 *
 * sum_out  [out]  as of iso_model_read_part; of a whole weight it is 0
 * Errors: ISO_INPUT naming file and weight for a digest that does not match;
 * ISO_INVAL when rows are left.
 */
iso_status_t iso_weight_reader_end(iso_weight_reader_t *reader,
                                   uint64_t *sum_out);

/* At any time. */
void iso_weight_reader_close(iso_weight_reader_t **reader);

/* Bytes of weights read so far. */
size_t iso_model_bytes_read(const iso_model_t *model);

#endif
