/* The elements of a model file: weights and slabs of them, in parts. */
#include "isotome/error.h"

#include "base/digest.h"
#include "base/mem.h"
#include "io/h5_dataset.h"
#include "model_impl.h"

#include <fcntl.h>
#include <inttypes.h>

enum {
    READ_BYTES = 1024 * 1024,      /* at once, then summed up in the cache */
    AHEAD_BYTES = 8 * 1024 * 1024, /* that the system is asked for early */
};

struct iso_weight_reader {
    iso_digest_t digest; /* of a whole, so far */
    iso_model_t *model;
    const iso_weight_info_t *info;
    bool is_whole;
    int axis;                   /* of the slab; 0 for a whole */
    int64_t begin;              /* of the slab on the axis */
    int64_t dims[ISO_MAX_RANK]; /* of the slab */
    int64_t rows;               /* of its first dim */
    int64_t next;               /* row */
    size_t row_bytes;           /* 0: there are no elements */
    hid_t dataset;              /* with its space and type, when there are */
    hid_t space;
    hid_t type;   /* of the elements in memory */
    int file;     /* to ask for what comes next; -1: not known */
    off_t place;  /* of the slab in it */
    uint64_t sum; /* of a slab, so far */
};

/* -- open -- */

iso_status_t iso_weight_part_bytes(const iso_weight_info_t *info, int axis,
                                   int64_t begin, int64_t end,
                                   size_t *bytes_out)
{
    if (axis < 0 || axis >= info->shape.rank) {
        return iso_fail(ISO_INVAL, "it has no axis %d; its rank is %d", axis,
                        info->shape.rank);
    }
    int64_t length = info->shape.dim[axis].size;
    if (begin < 0 || begin > end || end > length) {
        return iso_fail(ISO_INVAL,
                        "there is no slab %" PRId64 " to %" PRId64
                        " of axis %d; its length is %" PRId64,
                        begin, end, axis, length);
    }
    *bytes_out =
        length == 0 ? 0 : info->bytes / (size_t)length * (size_t)(end - begin);
    return ISO_OK;
}

static iso_status_t open_dataset(const iso_model_t *model, const char *name,
                                 hid_t *dataset_out)
{
    iso_text_t link = {0};
    hid_t group = H5Gopen2(model->file, "weights", H5P_DEFAULT);

    iso__model_link_of(name, &link);
    iso_status_t status = link.status;
    if (status == ISO_OK) {
        status = iso_h5_dataset_open(group, link.data, dataset_out);
    }
    iso_h5_close(&group);
    iso_text_free(&link);
    return status;
}

/* The dataset's own type in the byte order of memory. */
static hid_t memory_type(hid_t dataset)
{
    hid_t own = H5Dget_type(dataset);
    hid_t type = own < 0 ? own : H5Tcopy(own); /* its own is read-only */

    iso_h5_close(&own);
    if (type >= 0 && H5Tget_class(type) != H5T_ENUM &&
        H5Tset_order(type, H5T_ORDER_LE) < 0) {
        iso_h5_close(&type);
    }
    return type;
}

/* Where the rows are, behind each other: those of an inner axis are not. The
 * handle of HDF5's own driver for files (io/h5.h) is a descriptor. */
static void find_place(iso_weight_reader_t *reader)
{
    void *handle = NULL;
    const haddr_t offset = H5Dget_offset(reader->dataset);

    if (reader->axis == 0 && offset != HADDR_UNDEF &&
        H5Fget_vfd_handle(reader->model->file, H5P_DEFAULT, &handle) >= 0) {
        reader->file = *(const int *)handle;
        reader->place =
            (off_t)offset + (off_t)reader->begin * (off_t)reader->row_bytes;
    }
}

static iso_status_t open_elements(iso_weight_reader_t *reader)
{
    const iso_weight_info_t *info = reader->info;

    ISO_TRY(open_dataset(reader->model, info->name, &reader->dataset));
    reader->space = H5Dget_space(reader->dataset);
    reader->type = memory_type(reader->dataset);
    if (reader->space < 0 || reader->type < 0 ||
        H5Sget_simple_extent_ndims(reader->space) != info->shape.rank ||
        H5Tget_size(reader->type) != iso_dtype_bytes(info->dtype)) {
        return iso_h5_fail(ISO_INPUT, "it is not what it was");
    }
    find_place(reader);
    return ISO_OK;
}

/* What is to be read, from metadata alone. */
static iso_status_t lay_out(iso_weight_reader_t *reader, int axis,
                            int64_t begin, int64_t end)
{
    const iso_shape_t *shape = &reader->info->shape;
    size_t bytes = reader->info->bytes;

    for (int i = 0; i < shape->rank; i++) {
        reader->dims[i] = shape->dim[i].size;
    }
    if (!reader->is_whole) {
        ISO_TRY(iso_weight_part_bytes(reader->info, axis, begin, end, &bytes));
        reader->axis = axis;
        reader->begin = begin;
        reader->dims[axis] = end - begin;
    }
    reader->rows = shape->rank == 0 ? 1 : reader->dims[0];
    reader->row_bytes = bytes == 0 ? 0 : bytes / (size_t)reader->rows;
    if (!reader->is_whole && reader->model->format_version == 1) {
        return iso_fail(ISO_INPUT, "the file's format_version is 1, in which "
                                   "parts of weights cannot be verified; "
                                   "import the model again");
    }
    return ISO_OK;
}

/* A failure with the names of file and weight. */
static iso_status_t named(const iso_model_t *model,
                          const iso_weight_info_t *info, iso_status_t status)
{
    if (status == ISO_OK) {
        return ISO_OK;
    }
    return iso_fail_context(status, "model '%s': weight '%s'", model->path,
                            info->name);
}

iso_status_t iso_weight_reader_open(iso_model_t *model,
                                    const iso_weight_info_t *info, int axis,
                                    int64_t begin, int64_t end,
                                    iso_weight_reader_t **reader_out)
{
    iso_weight_reader_t *reader = iso_alloc(sizeof *reader);

    *reader_out = NULL;
    if (reader == NULL) {
        return named(model, info, ISO_NOMEM);
    }
    *reader = (iso_weight_reader_t){.model = model,
                                    .info = info,
                                    .is_whole = axis == ISO_READ_WHOLE,
                                    .dataset = H5I_INVALID_HID,
                                    .space = H5I_INVALID_HID,
                                    .type = H5I_INVALID_HID,
                                    .file = -1};
    iso_digest_begin(&reader->digest);
    iso_status_t status = lay_out(reader, axis, begin, end);
    if (status == ISO_OK && reader->row_bytes > 0) {
        iso_h5_scope_t scope = iso_h5_begin();
        status = open_elements(reader);
        iso_h5_end(&scope);
    }
    if (status != ISO_OK) {
        iso_weight_reader_close(&reader);
        return named(model, info, status);
    }
    *reader_out = reader;
    return ISO_OK;
}

void iso_weight_reader_close(iso_weight_reader_t **reader)
{
    iso_weight_reader_t *closing = *reader;

    if (closing == NULL) {
        return;
    }
    iso_h5_scope_t scope = iso_h5_begin();
    iso_h5_close(&closing->type);
    iso_h5_close(&closing->space);
    iso_h5_close(&closing->dataset);
    iso_h5_end(&scope);
    iso_free(closing);
    *reader = NULL;
}

/* -- parts -- */

/* So that the disk works while these rows are used. It is a hint: whether it
 * fails does not matter. */
static void read_ahead(const iso_weight_reader_t *reader, int64_t rows)
{
    const off_t end = (off_t)reader->rows * (off_t)reader->row_bytes;
    const off_t at = (off_t)(reader->next + rows) * (off_t)reader->row_bytes;

    if (reader->file >= 0 && at < end) {
        (void)posix_fadvise(reader->file, reader->place + at,
                            end - at < AHEAD_BYTES ? end - at : AHEAD_BYTES,
                            POSIX_FADV_WILLNEED);
    }
}

/* Select the next rows in the file; their dataspace in memory, to be closed.
 * Negative on failure. */
static hid_t select_rows(const iso_weight_reader_t *reader, int64_t rows)
{
    const int rank = reader->info->shape.rank;
    hsize_t start[ISO_MAX_RANK] = {0};
    hsize_t counts[ISO_MAX_RANK] = {0};

    if (rank == 0) {
        return H5Screate(H5S_SCALAR);
    }
    for (int i = 0; i < rank; i++) {
        counts[i] = (hsize_t)reader->dims[i];
    }
    counts[0] = (hsize_t)rows;
    start[reader->axis] = (hsize_t)reader->begin;
    start[0] += (hsize_t)reader->next;
    if (H5Sselect_hyperslab(reader->space, H5S_SELECT_SET, start, NULL, counts,
                            NULL) < 0 ||
        H5Sselect_valid(reader->space) <= 0) {
        return H5I_INVALID_HID;
    }
    return H5Screate_simple(rank, counts, NULL);
}

static iso_status_t read_rows(const iso_weight_reader_t *reader, int64_t rows,
                              void *data)
{
    iso_h5_scope_t scope = iso_h5_begin();
    hid_t memory = select_rows(reader, rows);
    iso_status_t status = ISO_OK;

    if (memory < 0 || H5Dread(reader->dataset, reader->type, memory,
                              reader->space, H5P_DEFAULT, data) < 0) {
        status = iso_h5_fail(ISO_INPUT, "its elements cannot be read");
    }
    iso_h5_close(&memory);
    iso_h5_end(&scope);
    return status;
}

/* Sum of the next rows of a slab. In the file they are runs, which in memory
 * lie behind each other: one of all rows when the slab is of the first axis,
 * else one for each index of the axes before it. */
static uint64_t sum_rows(const iso_weight_reader_t *reader, int64_t rows,
                         const void *data)
{
    const unsigned char *run = data;
    const int axis = reader->axis;
    const size_t width = iso_dtype_bytes(reader->info->dtype);
    uint64_t inner = 1;
    uint64_t n_runs = axis == 0 ? 1 : (uint64_t)rows;
    uint64_t first_run = axis == 0 ? 0 : (uint64_t)reader->next;
    uint64_t sum = 0;

    for (int i = axis + 1; i < reader->info->shape.rank; i++) {
        inner *= (uint64_t)reader->dims[i];
    }
    for (int i = 1; i < axis; i++) {
        n_runs *= (uint64_t)reader->dims[i];
        first_run *= (uint64_t)reader->dims[i];
    }
    const int64_t begin = reader->begin + (axis == 0 ? reader->next : 0);
    const int64_t length = axis == 0 ? rows : reader->dims[axis];
    const uint64_t step = (uint64_t)reader->info->shape.dim[axis].size * inner;
    const size_t count = (size_t)length * inner;
    uint64_t first = first_run * step + (uint64_t)begin * inner;

    for (; n_runs > 0; n_runs--) {
        sum += iso_digest_elements(run, width, first, count);
        run += count * width;
        first += step;
    }
    return sum;
}

static iso_status_t take_rows(iso_weight_reader_t *reader, int64_t rows,
                              void *data)
{
    const size_t bytes = (size_t)rows * reader->row_bytes;

    ISO_TRY(read_rows(reader, rows, data));
    if (reader->is_whole) {
        iso_digest_add_bytes(&reader->digest, data, bytes);
    } else {
        reader->sum += sum_rows(reader, rows, data);
    }
    reader->next += rows;
    reader->model->bytes_read += bytes;
    return ISO_OK;
}

static iso_status_t check_rows(const iso_weight_reader_t *reader, int64_t rows)
{
    if (rows < 0 || rows > reader->rows - reader->next) {
        return iso_fail(ISO_INVAL,
                        "%" PRId64 " rows from row %" PRId64
                        " are not there; it has %" PRId64,
                        rows, reader->next, reader->rows);
    }
    return ISO_OK;
}

iso_status_t iso_weight_reader_next(iso_weight_reader_t *reader, int64_t rows,
                                    void *data)
{
    iso_status_t status = check_rows(reader, rows);
    unsigned char *to = data;

    if (status == ISO_OK && reader->row_bytes == 0) {
        reader->next += rows;
        return ISO_OK;
    }
    if (status == ISO_OK) {
        read_ahead(reader, rows);
    }
    while (status == ISO_OK && rows > 0) {
        int64_t some = (int64_t)(READ_BYTES / reader->row_bytes);

        some = some < 1 ? 1 : some;
        some = some > rows ? rows : some;
        status = take_rows(reader, some, to);
        to += (size_t)some * reader->row_bytes;
        rows -= some;
    }
    return named(reader->model, reader->info, status);
}

static iso_status_t check_whole(const iso_weight_reader_t *reader)
{
    const uint64_t expected = reader->info->digest;
    const uint64_t found = iso_digest_end(&reader->digest);

    if (reader->next < reader->rows) {
        return iso_fail(ISO_INVAL,
                        "of its %" PRId64 " rows only %" PRId64 " were read",
                        reader->rows, reader->next);
    }
    if (reader->is_whole && found != expected) {
        return iso_fail(ISO_INPUT,
                        "its digest is %016" PRIx64 ", expected %016" PRIx64
                        "; the file is damaged",
                        found, expected);
    }
    return ISO_OK;
}

iso_status_t iso_weight_reader_end(iso_weight_reader_t *reader,
                                   uint64_t *sum_out)
{
    *sum_out = reader->sum;
    return named(reader->model, reader->info, check_whole(reader));
}

/* -- all at once -- */

static iso_status_t read_all(iso_model_t *model, const iso_weight_info_t *info,
                             int axis, int64_t begin, int64_t end, void *data,
                             uint64_t *sum_out)
{
    iso_weight_reader_t *reader = NULL;

    ISO_TRY(iso_weight_reader_open(model, info, axis, begin, end, &reader));
    iso_status_t status = iso_weight_reader_next(reader, reader->rows, data);
    if (status == ISO_OK) {
        status = iso_weight_reader_end(reader, sum_out);
    }
    iso_weight_reader_close(&reader);
    return status;
}

iso_status_t iso_model_read(iso_model_t *model, const iso_weight_info_t *info,
                            void *data)
{
    uint64_t sum = 0;

    return read_all(model, info, ISO_READ_WHOLE, 0, 0, data, &sum);
}

iso_status_t iso_model_read_part(iso_model_t *model,
                                 const iso_weight_info_t *info, int axis,
                                 int64_t begin, int64_t end, void *data,
                                 uint64_t *sum_out)
{
    if (axis == ISO_READ_WHOLE) {
        return named(model, info,
                     iso_fail(ISO_INVAL, "it has no axis %d; its rank is %d",
                              axis, info->shape.rank));
    }
    return read_all(model, info, axis, begin, end, data, sum_out);
}
