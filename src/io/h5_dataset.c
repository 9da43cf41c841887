#include "io/h5_dataset.h"

#include "isotome/error.h"

#include "base/mem.h"

#include <string.h>

static const char stored_as[] = "stored_as";

enum {
    STORED_AS_BYTES = 16,
    FILTER_NAME_BYTES = 64,
    MOST_DEFLATED = 1032, /* bytes that one byte of gzip's can become */
};

/* -- types -- */

/* HDF5's IEEE half; it has no predefined name in 1.10. */
static hid_t half_type(void)
{
    hid_t type = H5Tcopy(H5T_IEEE_F32LE);

    if (type >= 0 && (H5Tset_fields(type, 15, 10, 5, 0, 10) < 0 ||
                      H5Tset_size(type, 2) < 0 || H5Tset_ebias(type, 15) < 0)) {
        iso_h5_close(&type);
    }
    return type;
}

/* The type that stores this dtype; to be closed. Negative on failure. */
static hid_t type_of(iso_dtype_t dtype)
{
    switch (dtype) {
    case ISO_DTYPE_F32:
        return H5Tcopy(H5T_IEEE_F32LE);
    case ISO_DTYPE_F16:
        return half_type();
    case ISO_DTYPE_BF16:
        return H5Tcopy(H5T_STD_U16LE);
    case ISO_DTYPE_F64:
        return H5Tcopy(H5T_IEEE_F64LE);
    case ISO_DTYPE_I8:
        return H5Tcopy(H5T_STD_I8LE);
    case ISO_DTYPE_U8:
    case ISO_DTYPE_BOOL:
        return H5Tcopy(H5T_STD_U8LE);
    case ISO_DTYPE_I32:
        return H5Tcopy(H5T_STD_I32LE);
    case ISO_DTYPE_I64:
        return H5Tcopy(H5T_STD_I64LE);
    case ISO_DTYPE_COUNT:
        break;
    }
    return H5I_INVALID_HID;
}

/* What a dataset of this dtype says in stored_as; "" for none. */
static const char *stored_as_of(iso_dtype_t dtype)
{
    return dtype == ISO_DTYPE_BOOL || dtype == ISO_DTYPE_BF16
               ? iso_dtype_string(dtype)
               : "";
}

/* An enum of one byte with FALSE = 0 and TRUE = 1 is h5py's bool. */
static bool is_enum_bool(hid_t type)
{
    signed char no = -1;
    signed char yes = -1;

    return H5Tget_class(type) == H5T_ENUM && H5Tget_size(type) == 1 &&
           H5Tget_nmembers(type) == 2 &&
           H5Tenum_valueof(type, "FALSE", &no) >= 0 &&
           H5Tenum_valueof(type, "TRUE", &yes) >= 0 && no == 0 && yes == 1;
}

static bool type_is(hid_t type, iso_dtype_t dtype)
{
    hid_t expected = type_of(dtype);
    bool equal = expected >= 0 && H5Tequal(type, expected) > 0;

    iso_h5_close(&expected);
    return equal;
}

static iso_dtype_t dtype_of(hid_t type, const char *stored)
{
    H5T_class_t class = H5Tget_class(type);

    if (is_enum_bool(type)) {
        return ISO_DTYPE_BOOL;
    }
    if ((class != H5T_INTEGER && class != H5T_FLOAT) ||
        H5Tset_order(type, H5T_ORDER_LE) < 0) {
        return ISO_DTYPE_COUNT;
    }
    int dtype = 0;
    while (dtype < ISO_DTYPE_COUNT &&
           !(strcmp(stored, stored_as_of((iso_dtype_t)dtype)) == 0 &&
             type_is(type, (iso_dtype_t)dtype))) {
        dtype++;
    }
    return (iso_dtype_t)dtype;
}

static iso_status_t read_dtype(hid_t dataset, iso_dtype_t *dtype_out)
{
    char stored[STORED_AS_BYTES] = "";

    if (iso_h5_has_attr(dataset, stored_as)) {
        ISO_TRY(iso_h5_get_text(dataset, stored_as, stored, sizeof stored));
    }
    hid_t own = H5Dget_type(dataset);
    hid_t type = own < 0 ? own : H5Tcopy(own); /* its own is read-only */
    *dtype_out = type < 0 ? ISO_DTYPE_COUNT : dtype_of(type, stored);
    iso_h5_close(&type);
    iso_h5_close(&own);
    if (*dtype_out == ISO_DTYPE_COUNT) {
        return iso_fail(ISO_INPUT,
                        "the type of its elements is not supported (expected "
                        "f16, f32, f64, i8, u8, i32, i64 or bool)");
    }
    return ISO_OK;
}

/* -- shapes -- */

static iso_status_t read_dims(hid_t dataset, iso_tensor_t *header)
{
    hsize_t dims[ISO_MAX_RANK] = {0};
    iso_status_t status = ISO_OK;
    hid_t space = H5Dget_space(dataset);
    int rank = space < 0 || H5Sis_simple(space) <= 0 ||
                       H5Sget_simple_extent_type(space) == H5S_NULL
                   ? -1
                   : H5Sget_simple_extent_ndims(space);

    if (rank < 0) {
        status = iso_fail(ISO_INPUT, "it has no shape");
    } else if (rank > ISO_MAX_RANK) {
        status = iso_fail(ISO_INPUT,
                          "it has %d dimensions, expected at most "
                          "%d",
                          rank, ISO_MAX_RANK);
    } else if (H5Sget_simple_extent_dims(space, dims, NULL) < 0) {
        status = iso_h5_fail(ISO_INPUT, "its shape");
    }
    iso_h5_close(&space);
    ISO_TRY(status);
    header->rank = rank;
    for (int i = 0; i < rank; i++) {
        if (dims[i] > INT64_MAX) {
            return iso_fail(ISO_INPUT, "a dimension is over 2^63");
        }
        header->dims[i] = (int64_t)dims[i];
    }
    return ISO_OK;
}

iso_status_t iso_h5_dataset_header(hid_t dataset, iso_tensor_t *header_out)
{
    iso_tensor_t header = {0};
    size_t bytes = 0;

    ISO_TRY(read_dtype(dataset, &header.dtype));
    ISO_TRY(read_dims(dataset, &header));
    iso_shape_t shape = iso_tensor_shape(&header);
    if (iso_tensor_bytes_of(header.dtype, &shape, &bytes) != ISO_OK) {
        char text[ISO_SHAPE_TEXT_BYTES];
        return iso_fail(ISO_INPUT, "its shape %s is over 2^62 bytes",
                        iso_shape_text(&shape, text));
    }
    *header_out = header;
    return ISO_OK;
}

static hid_t space_of(const iso_tensor_t *header)
{
    hsize_t dims[ISO_MAX_RANK] = {0};

    if (header->rank == 0) {
        return H5Screate(H5S_SCALAR);
    }
    for (int i = 0; i < header->rank; i++) {
        dims[i] = (hsize_t)header->dims[i];
    }
    return H5Screate_simple(header->rank, dims, NULL);
}

/* -- create and open -- */

static iso_status_t create_group(hid_t parent, const char *name)
{
    iso_status_t status = ISO_OK;
    hid_t group = H5I_INVALID_HID;
    hid_t creation = H5Pcreate(H5P_GROUP_CREATE);
    hid_t link = H5Pcreate(H5P_LINK_CREATE);

    if (creation >= 0 && link >= 0 &&
        H5Pset_obj_track_times(creation, false) >= 0 &&
        H5Pset_char_encoding(link, H5T_CSET_UTF8) >= 0) {
        group = H5Gcreate2(parent, name, link, creation, H5P_DEFAULT);
    }
    if (group < 0) {
        status = iso_h5_fail(ISO_IO, "cannot create the group '%s'", name);
    }
    iso_h5_close(&group);
    iso_h5_close(&link);
    iso_h5_close(&creation);
    return status;
}

iso_status_t iso_h5_groups_create(hid_t parent, const char *path)
{
    iso_status_t status = ISO_OK;
    char *group = iso_text_copy(path);

    if (group == NULL) {
        return ISO_NOMEM;
    }
    char *end = strchr(group + (group[0] == '/'), '/');
    while (end != NULL && status == ISO_OK) {
        *end = '\0';
        if (H5Lexists(parent, group, H5P_DEFAULT) <= 0) {
            status = create_group(parent, group);
        }
        *end = '/';
        end = strchr(end + 1, '/');
    }
    iso_free(group);
    return status;
}

/* Lists for a dataset that is contiguous and alike in every run: its space
 * now, no fill, no times; its name in UTF-8. */
static bool make_lists(hid_t *creation_out, hid_t *link_out)
{
    *creation_out = H5Pcreate(H5P_DATASET_CREATE);
    *link_out = H5Pcreate(H5P_LINK_CREATE);
    return *creation_out >= 0 && *link_out >= 0 &&
           H5Pset_layout(*creation_out, H5D_CONTIGUOUS) >= 0 &&
           H5Pset_alloc_time(*creation_out, H5D_ALLOC_TIME_EARLY) >= 0 &&
           H5Pset_fill_time(*creation_out, H5D_FILL_TIME_NEVER) >= 0 &&
           H5Pset_obj_track_times(*creation_out, false) >= 0 &&
           H5Pset_char_encoding(*link_out, H5T_CSET_UTF8) >= 0;
}

iso_status_t iso_h5_dataset_create(hid_t parent, const char *name,
                                   const iso_tensor_t *header,
                                   hid_t *dataset_out)
{
    hid_t creation = H5I_INVALID_HID;
    hid_t link = H5I_INVALID_HID;
    hid_t dataset = H5I_INVALID_HID;
    size_t bytes = 0;
    iso_status_t status = ISO_OK;
    iso_shape_t shape = iso_tensor_shape(header);

    ISO_TRY(iso_tensor_bytes_of(header->dtype, &shape, &bytes));
    hid_t type = type_of(header->dtype);
    hid_t space = space_of(header);
    if (type >= 0 && space >= 0 && make_lists(&creation, &link)) {
        dataset =
            H5Dcreate2(parent, name, type, space, link, creation, H5P_DEFAULT);
    }
    if (dataset < 0) {
        status = iso_h5_fail(ISO_IO, "cannot create the dataset");
    } else if (stored_as_of(header->dtype)[0] != '\0') {
        status =
            iso_h5_put_text(dataset, stored_as, stored_as_of(header->dtype));
    }
    if (status != ISO_OK) {
        iso_h5_close(&dataset);
    }
    iso_h5_close(&link);
    iso_h5_close(&creation);
    iso_h5_close(&space);
    iso_h5_close(&type);
    *dataset_out = dataset;
    return status;
}

static herr_t refuse_link(const char *parent_file, const char *parent_group,
                          const char *child_file, const char *child_object,
                          unsigned *flags, hid_t access, void *arg)
{
    bool *refused = arg;

    (void)parent_file;
    (void)parent_group;
    (void)child_file;
    (void)child_object;
    (void)access;
    *flags = H5F_ACC_RDONLY;
    *refused = true;
    return -1;
}

/* Open without following a link into another file. */
static iso_status_t open_here(hid_t parent, const char *name,
                              hid_t *dataset_out)
{
    bool refused = false;
    iso_status_t status = ISO_OK;
    hid_t dataset = H5I_INVALID_HID;
    hid_t access = H5Pcreate(H5P_DATASET_ACCESS);

    if (access >= 0 && H5Pset_elink_cb(access, refuse_link, &refused) >= 0) {
        dataset = H5Dopen2(parent, name, access);
    }
    if (refused) {
        status = iso_fail(ISO_INPUT, "it is a link into another file, which "
                                     "is not followed");
    } else if (dataset < 0) {
        status = iso_h5_fail(ISO_INPUT, "there is no such dataset");
    }
    iso_h5_close(&access);
    *dataset_out = dataset;
    return status;
}

/* Those of HDF5 itself; others are plugins. */
static bool is_own_filter(H5Z_filter_t filter)
{
    switch (filter) {
    case H5Z_FILTER_DEFLATE:
    case H5Z_FILTER_SHUFFLE:
    case H5Z_FILTER_FLETCHER32:
    case H5Z_FILTER_SZIP:
    case H5Z_FILTER_NBIT:
    case H5Z_FILTER_SCALEOFFSET:
        return true;
    default:
        return false;
    }
}

static iso_status_t check_filters(hid_t creation)
{
    const int count = H5Pget_nfilters(creation);

    for (int i = 0; i < count; i++) {
        char name[FILTER_NAME_BYTES] = "";
        unsigned flags = 0;
        size_t n_values = 0;
        const H5Z_filter_t filter =
            H5Pget_filter2(creation, (unsigned)i, &flags, &n_values, NULL,
                           sizeof name, name, NULL);

        if (!is_own_filter(filter)) {
            return iso_fail(ISO_INPUT,
                            "its elements went through filter %d (%.*s), a "
                            "plugin, which is not loaded; write it with gzip "
                            "or without filters",
                            (int)filter, FILTER_NAME_BYTES,
                            name[0] == '\0' ? "unknown" : name);
        }
    }
    return ISO_OK;
}

/* Bytes of a chunk, at most SIZE_MAX; 0 when there are no chunks. */
static size_t chunk_bytes_of(hid_t creation, size_t width)
{
    hsize_t dims[H5S_MAX_RANK] = {0};
    size_t bytes = width;
    int rank = 0;

    if (H5Pget_layout(creation) == H5D_CHUNKED) {
        rank = H5Pget_chunk(creation, H5S_MAX_RANK, dims);
    }
    for (int i = 0; i < rank; i++) {
        bytes = dims[i] == 0 || bytes <= SIZE_MAX / dims[i]
                    ? bytes * (size_t)dims[i]
                    : SIZE_MAX;
    }
    return rank <= 0 ? 0 : bytes;
}

/* HDF5 allocates whole chunks. They must be of a size that this file can hold,
 * by however much gzip makes them smaller. */
static iso_status_t check_chunks(hid_t dataset, hid_t creation)
{
    hsize_t file_bytes = 0;
    hid_t file = H5Iget_file_id(dataset);
    hid_t type = H5Dget_type(dataset);
    const size_t width = type < 0 ? 0 : H5Tget_size(type);
    const iso_status_t status =
        file >= 0 && H5Fget_filesize(file, &file_bytes) >= 0
            ? ISO_OK
            : iso_h5_fail(ISO_INPUT, "the length of its file");

    iso_h5_close(&type);
    iso_h5_close(&file);
    ISO_TRY(status);
    const size_t chunk_bytes = chunk_bytes_of(creation, width);
    if (chunk_bytes / MOST_DEFLATED > file_bytes) {
        return iso_fail(ISO_INPUT,
                        "its chunks are of %zu bytes, which a file of %llu "
                        "bytes does not hold",
                        chunk_bytes, (unsigned long long)file_bytes);
    }
    return ISO_OK;
}

static iso_status_t check_creation(hid_t dataset, hid_t creation)
{
    if (creation < 0 || H5Pget_layout(creation) == H5D_VIRTUAL ||
        H5Pget_external_count(creation) != 0) {
        return iso_fail(ISO_INPUT, "its elements are in other files, which "
                                   "are not read");
    }
    ISO_TRY(check_filters(creation));
    return check_chunks(dataset, creation);
}

iso_status_t iso_h5_dataset_open(hid_t parent, const char *name,
                                 hid_t *dataset_out)
{
    hid_t dataset = H5I_INVALID_HID;

    ISO_TRY(open_here(parent, name, &dataset));
    hid_t creation = H5Dget_create_plist(dataset);
    iso_status_t status = check_creation(dataset, creation);
    iso_h5_close(&creation);
    if (status != ISO_OK) {
        iso_h5_close(&dataset);
        return status;
    }
    *dataset_out = dataset;
    return ISO_OK;
}

iso_status_t iso_h5_dataset_offset(hid_t dataset, size_t *offset_out)
{
    hid_t creation = H5Dget_create_plist(dataset);
    bool contiguous =
        creation >= 0 && H5Pget_layout(creation) == H5D_CONTIGUOUS;
    haddr_t offset = H5Dget_offset(dataset);

    iso_h5_close(&creation);
    if (!contiguous) {
        return iso_fail(ISO_INPUT, "its elements do not lie in one piece");
    }
    *offset_out = offset == HADDR_UNDEF ? 0 : (size_t)offset;
    return ISO_OK;
}

/* -- slabs -- */

/* Indices [first, first + count) of one axis. */
typedef struct range {
    int axis;
    int64_t first;
    int64_t count;
} range_t;

/* Where a slab is in the file and in memory. */
typedef struct slab {
    hid_t type;   /* of the elements in memory */
    hid_t file;   /* dataspace of the dataset, the slab selected */
    hid_t memory; /* dataspace of the slab alone */
} slab_t;

static void close_slab(slab_t *slab)
{
    iso_h5_close(&slab->type);
    iso_h5_close(&slab->file);
    iso_h5_close(&slab->memory);
}

/* The type to move elements as. An enum is moved as it is. */
static hid_t memory_type(hid_t dataset, iso_dtype_t dtype)
{
    hid_t own = H5Dget_type(dataset);

    if (own >= 0 && H5Tget_class(own) == H5T_ENUM) {
        return own;
    }
    iso_h5_close(&own);
    return type_of(dtype);
}

/* False when HDF5 fails or the dataset is not as the header says. */
static bool make_slab(hid_t dataset, const iso_tensor_t *header,
                      const range_t *range, slab_t *slab)
{
    iso_tensor_t part = *header;
    hsize_t start[ISO_MAX_RANK] = {0};
    hsize_t counts[ISO_MAX_RANK] = {0};

    slab->type = memory_type(dataset, header->dtype);
    slab->file = H5Dget_space(dataset);
    if (slab->type < 0 || slab->file < 0 ||
        H5Sget_simple_extent_ndims(slab->file) != header->rank) {
        return false;
    }
    if (header->rank == 0) {
        slab->memory = H5Screate(H5S_SCALAR);
        return slab->memory >= 0;
    }
    start[range->axis] = (hsize_t)range->first;
    part.dims[range->axis] = range->count;
    for (int i = 0; i < header->rank; i++) {
        counts[i] = (hsize_t)part.dims[i];
    }
    slab->memory = space_of(&part);
    return slab->memory >= 0 &&
           H5Sselect_hyperslab(slab->file, H5S_SELECT_SET, start, NULL, counts,
                               NULL) >= 0 &&
           H5Sselect_valid(slab->file) > 0;
}

static iso_status_t check_range(const iso_tensor_t *header,
                                const range_t *range)
{
    if (range->axis < 0 ||
        range->axis >= (header->rank == 0 ? 1 : header->rank)) {
        return iso_fail(ISO_INVAL, "it has no axis %d; its rank is %d",
                        range->axis, header->rank);
    }
    int64_t length = header->rank == 0 ? 1 : header->dims[range->axis];
    if (range->first < 0 || range->count < 0 || range->first > length ||
        range->count > length - range->first) {
        return iso_fail(ISO_INVAL,
                        "%lld rows from row %lld of axis %d are not there; it "
                        "has %lld",
                        (long long)range->count, (long long)range->first,
                        range->axis, (long long)length);
    }
    return ISO_OK;
}

/* Whether there is nothing to move. */
static bool is_empty(const iso_tensor_t *header, const range_t *range)
{
    return range->count == 0 || iso_tensor_count(header) == 0;
}

iso_status_t iso_h5_dataset_read_slab(hid_t dataset, const iso_tensor_t *header,
                                      int axis, int64_t first, int64_t count,
                                      void *data)
{
    const range_t range = {axis, first, count};
    slab_t slab = {H5I_INVALID_HID, H5I_INVALID_HID, H5I_INVALID_HID};
    iso_status_t status = ISO_OK;

    ISO_TRY(check_range(header, &range));
    if (is_empty(header, &range)) {
        return ISO_OK;
    }
    if (!make_slab(dataset, header, &range, &slab) ||
        H5Dread(dataset, slab.type, slab.memory, slab.file, H5P_DEFAULT, data) <
            0) {
        status = iso_h5_fail(ISO_INPUT, "its elements cannot be read");
    }
    close_slab(&slab);
    return status;
}

iso_status_t iso_h5_dataset_read(hid_t dataset, const iso_tensor_t *header,
                                 int64_t first, int64_t count, void *data)
{
    return iso_h5_dataset_read_slab(dataset, header, 0, first, count, data);
}

iso_status_t iso_h5_dataset_write(hid_t dataset, const iso_tensor_t *header,
                                  int64_t first, int64_t count,
                                  const void *data)
{
    const range_t range = {0, first, count};
    slab_t slab = {H5I_INVALID_HID, H5I_INVALID_HID, H5I_INVALID_HID};
    iso_status_t status = ISO_OK;

    ISO_TRY(check_range(header, &range));
    if (is_empty(header, &range)) {
        return ISO_OK;
    }
    if (!make_slab(dataset, header, &range, &slab) ||
        H5Dwrite(dataset, slab.type, slab.memory, slab.file, H5P_DEFAULT,
                 data) < 0) {
        status = iso_h5_fail(ISO_IO, "its elements cannot be written");
    }
    close_slab(&slab);
    return status;
}
