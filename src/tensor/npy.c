#include "tensor/npy.h"

#include "isotome/error.h"

#include "base/log.h"
#include "base/mem.h"
#include "npy_header_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "elements are read and written as they lie in memory");

/* Linux moves at most 2^31 - 4096 bytes in one call. */
static const size_t call_bytes = (size_t)1 << 30;

struct iso_npy {
    char *path;
    int file;
    bool writable;
    size_t data_offset; /* of the first element */
    size_t row_bytes;
    int64_t rows;
};

/* Set the sizes of the rows from the header of the file. */
static void set_rows(iso_npy_t *npy, const iso_tensor_t *header)
{
    iso_tensor_t row = *header;

    npy->rows = header->rank == 0 ? 1 : header->dims[0];
    if (header->rank > 0) {
        row.dims[0] = 1;
    }
    /* With no rows, the other dims are under no limit: keep them out. */
    npy->row_bytes = npy->rows == 0 ? 0 : iso_tensor_bytes(&row);
}

static void destroy(iso_npy_t *npy)
{
    if (npy->file >= 0) {
        (void)close(npy->file);
    }
    iso_free(npy->path);
    iso_free(npy);
}

static iso_npy_t *create(const char *path, bool writable)
{
    iso_npy_t *npy = iso_alloc_zeroed(1, sizeof *npy);

    if (npy == NULL) {
        return NULL;
    }
    npy->file = -1;
    npy->writable = writable;
    npy->path = iso_text_copy(path);
    if (npy->path == NULL) {
        iso_free(npy);
        return NULL;
    }
    return npy;
}

/* Read exactly size bytes at offset. */
static iso_status_t read_at(const iso_npy_t *npy, size_t offset, void *bytes,
                            size_t size)
{
    char *at = bytes;

    while (size > 0) {
        size_t wanted = size < call_bytes ? size : call_bytes;
        ssize_t got = pread(npy->file, at, wanted, (off_t)offset);
        if (got < 0 && errno != EINTR) {
            return iso_fail(ISO_INPUT, "cannot read '%s': %s", npy->path,
                            strerror(errno));
        }
        if (got == 0) {
            return iso_fail(ISO_INPUT, "'%s' ends %zu bytes too early",
                            npy->path, size);
        }
        if (got > 0) {
            at += got;
            offset += (size_t)got;
            size -= (size_t)got;
        }
    }
    return ISO_OK;
}

static iso_status_t fail_write(const iso_npy_t *npy, int error)
{
    if (error == ENOSPC || error == EDQUOT) {
        return iso_fail(ISO_IO,
                        "disk full: cannot write the %zu bytes of '%s': %s; "
                        "free some space or choose another folder",
                        npy->data_offset + (size_t)npy->rows * npy->row_bytes,
                        npy->path, strerror(error));
    }
    return iso_fail(ISO_IO, "cannot write '%s': %s", npy->path,
                    strerror(error));
}

static iso_status_t write_at(const iso_npy_t *npy, size_t offset,
                             const void *bytes, size_t size)
{
    const char *at = bytes;

    while (size > 0) {
        size_t wanted = size < call_bytes ? size : call_bytes;
        ssize_t put = pwrite(npy->file, at, wanted, (off_t)offset);
        if (put < 0 && errno != EINTR) {
            return fail_write(npy, errno);
        }
        if (put > 0) {
            at += put;
            offset += (size_t)put;
            size -= (size_t)put;
        }
    }
    return ISO_OK;
}

/* Length of a regular file. */
static iso_status_t file_length(const iso_npy_t *npy, size_t *length_out)
{
    struct stat info;

    if (fstat(npy->file, &info) != 0) {
        return iso_fail(ISO_INPUT, "cannot read '%s': %s", npy->path,
                        strerror(errno));
    }
    if (!S_ISREG(info.st_mode)) {
        return iso_fail(ISO_INPUT, "'%s' is not a regular file", npy->path);
    }
    *length_out = (size_t)info.st_size;
    return ISO_OK;
}

/* Read the header's text and parse it; checks its length against the file. */
static iso_status_t read_header(iso_npy_t *npy, size_t length,
                                iso_tensor_t *header_out)
{
    unsigned char start[ISO_NPY_START_BYTES];
    size_t start_bytes = length < sizeof start ? length : sizeof start;
    size_t text_offset = 0;
    size_t text_length = 0;

    ISO_TRY(read_at(npy, 0, start, start_bytes));
    ISO_TRY(
        iso__npy_parse_start(start, start_bytes, &text_offset, &text_length));
    if (text_length > length - text_offset) {
        return iso_fail(ISO_INPUT,
                        "truncated: the header needs %zu bytes, the file has "
                        "%zu",
                        text_offset + text_length, length);
    }
    char *text = iso_alloc(text_length + 1);
    if (text == NULL) {
        return ISO_NOMEM;
    }
    iso_status_t status = read_at(npy, text_offset, text, text_length);
    if (status == ISO_OK) {
        text[text_length] = '\0';
        status = iso__npy_parse_header(text, text_length, header_out);
    }
    iso_free(text);
    npy->data_offset = text_offset + text_length;
    return status;
}

static iso_status_t open_header(iso_npy_t *npy, iso_tensor_t *header_out)
{
    size_t length = 0;
    size_t bytes = 0;

    ISO_TRY(file_length(npy, &length));
    iso_status_t status = read_header(npy, length, header_out);
    if (status != ISO_OK) {
        return iso_fail_context(status, "'%s'", npy->path);
    }
    iso_shape_t shape = iso_tensor_shape(header_out);
    status = iso_tensor_bytes_of(header_out->dtype, &shape, &bytes);
    if (status != ISO_OK) {
        return iso_fail_context(ISO_INPUT, "'%s'", npy->path);
    }
    if (length - npy->data_offset != bytes) {
        char text[ISO_SHAPE_TEXT_BYTES];
        return iso_fail(ISO_INPUT,
                        "'%s': %s %s needs %zu bytes after the header, the "
                        "file has %zu; it is truncated or damaged",
                        npy->path, iso_dtype_string(header_out->dtype),
                        iso_shape_text(&shape, text), bytes,
                        length - npy->data_offset);
    }
    set_rows(npy, header_out);
    return ISO_OK;
}

iso_status_t iso_npy_open(const char *path, iso_npy_t **npy_out,
                          iso_tensor_t *header_out)
{
    iso_tensor_t header = {0};
    iso_status_t status = ISO_OK;
    iso_npy_t *npy = create(path, false);

    if (npy == NULL) {
        return ISO_NOMEM;
    }
    /* O_NONBLOCK: a named pipe must be refused, not waited for. */
    npy->file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (npy->file < 0) {
        status =
            iso_fail(ISO_INPUT, "cannot open '%s': %s", path, strerror(errno));
    } else {
        status = open_header(npy, &header);
    }
    if (status != ISO_OK) {
        destroy(npy);
        return status;
    }
    *npy_out = npy;
    *header_out = header;
    return ISO_OK;
}

/*
 * Reserve the whole file, so that a disk that is too small is found now and
 * not after hours. Not every file system can: there the length alone is set.
 */
static iso_status_t set_length(const iso_npy_t *npy, size_t length)
{
    int error = posix_fallocate(npy->file, 0, (off_t)length);

    if (error == EINVAL || error == EOPNOTSUPP) {
        error = ftruncate(npy->file, (off_t)length) == 0 ? 0 : errno;
    }
    return error == 0 ? ISO_OK : fail_write(npy, error);
}

/* Give the open, empty file its length and its header. */
static iso_status_t fill_file(const iso_npy_t *npy, const char *header,
                              size_t bytes)
{
    ISO_TRY(set_length(npy, npy->data_offset + bytes));
    return write_at(npy, 0, header, npy->data_offset);
}

static iso_status_t start_file(iso_npy_t *npy, const iso_tensor_t *header)
{
    char text[ISO_NPY_HEADER_BYTES];
    struct stat info;
    size_t bytes = 0;
    iso_shape_t shape = iso_tensor_shape(header);

    ISO_TRY(iso_tensor_bytes_of(header->dtype, &shape, &bytes));
    ISO_TRY(iso__npy_print_header(header, text, &npy->data_offset));
    set_rows(npy, header);
    npy->file = open(npy->path,
                     O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0666);
    if (npy->file < 0 || fstat(npy->file, &info) != 0) {
        return iso_fail(ISO_IO, "cannot create '%s': %s", npy->path,
                        strerror(errno));
    }
    /* Checked before anything is removed: a device is not ours to delete. */
    if (!S_ISREG(info.st_mode)) {
        return iso_fail(ISO_IO, "cannot write '%s': not a regular file",
                        npy->path);
    }
    iso_status_t status = fill_file(npy, text, bytes);
    if (status != ISO_OK) {
        (void)unlink(npy->path);
    }
    return status;
}

iso_status_t iso_npy_create(const char *path, const iso_tensor_t *header,
                            iso_npy_t **npy_out)
{
    iso_npy_t *npy = create(path, true);

    if (npy == NULL) {
        return ISO_NOMEM;
    }
    iso_status_t status = start_file(npy, header);
    if (status != ISO_OK) {
        destroy(npy);
        return status;
    }
    *npy_out = npy;
    return ISO_OK;
}

/* Offset and size in bytes of a range of rows. */
static iso_status_t find_range(const iso_npy_t *npy, int64_t first,
                               int64_t count, size_t *offset_out,
                               size_t *bytes_out)
{
    if (first < 0 || count < 0 || first > npy->rows ||
        count > npy->rows - first) {
        return iso_fail(ISO_INVAL,
                        "'%s': %lld rows from row %lld are outside its %lld "
                        "rows",
                        npy->path, (long long)count, (long long)first,
                        (long long)npy->rows);
    }
    *offset_out = npy->data_offset + (size_t)first * npy->row_bytes;
    *bytes_out = (size_t)count * npy->row_bytes;
    return ISO_OK;
}

iso_status_t iso_npy_read(iso_npy_t *npy, int64_t first, int64_t count,
                          void *data)
{
    size_t offset = 0;
    size_t bytes = 0;

    ISO_TRY(find_range(npy, first, count, &offset, &bytes));
    return read_at(npy, offset, data, bytes);
}

iso_status_t iso_npy_write(iso_npy_t *npy, int64_t first, int64_t count,
                           const void *data)
{
    size_t offset = 0;
    size_t bytes = 0;

    ISO_ASSERT(npy->writable);
    ISO_TRY(find_range(npy, first, count, &offset, &bytes));
    return write_at(npy, offset, data, bytes);
}

size_t iso_npy_offset(const iso_npy_t *npy)
{
    return npy->data_offset;
}

iso_status_t iso_npy_close(iso_npy_t **npy)
{
    iso_npy_t *closing = *npy;
    iso_status_t status = ISO_OK;

    *npy = NULL;
    if (closing == NULL) {
        return ISO_OK;
    }
    if (closing->writable && fsync(closing->file) != 0) {
        status = fail_write(closing, errno);
    }
    if (close(closing->file) != 0 && status == ISO_OK && closing->writable) {
        status = iso_fail(ISO_IO, "cannot close '%s': %s", closing->path,
                          strerror(errno));
    }
    closing->file = -1;
    destroy(closing);
    return status;
}

iso_status_t iso_npy_load(const char *path, iso_tensor_t *tensor_out)
{
    iso_npy_t *npy = NULL;
    iso_tensor_t tensor;
    iso_status_t status = ISO_NOMEM;

    ISO_TRY(iso_npy_open(path, &npy, &tensor));
    tensor.data = iso_alloc(iso_tensor_bytes(&tensor));
    if (tensor.data != NULL) {
        status = iso_npy_read(npy, 0, npy->rows, tensor.data);
    }
    (void)iso_npy_close(&npy);
    if (status != ISO_OK) {
        iso_free(tensor.data);
        return status;
    }
    *tensor_out = tensor;
    return ISO_OK;
}

iso_status_t iso_npy_save(const char *path, const iso_tensor_t *tensor)
{
    iso_npy_t *npy = NULL;

    ISO_TRY(iso_npy_create(path, tensor, &npy));
    iso_status_t status = iso_npy_write(npy, 0, npy->rows, tensor->data);
    iso_status_t close_status = iso_npy_close(&npy);
    if (status == ISO_OK) {
        status = close_status;
    }
    if (status != ISO_OK) {
        (void)unlink(path);
    }
    return status;
}
