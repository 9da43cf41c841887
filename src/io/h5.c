#include "io/h5.h"

#include "isotome/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TEXT_BYTES = 512 };

/* -- errors -- */

iso_h5_scope_t iso_h5_begin(void)
{
    iso_h5_scope_t scope = {0};

    (void)H5Eget_auto2(H5E_DEFAULT, &scope.print, &scope.print_arg);
    (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    (void)H5PLget_loading_state(&scope.plugins);
    (void)H5PLset_loading_state(0);
    return scope;
}

void iso_h5_end(const iso_h5_scope_t *scope)
{
    (void)H5PLset_loading_state(scope->plugins);
    (void)H5Eset_auto2(H5E_DEFAULT, scope->print, scope->print_arg);
}

/*
 * Keep the description of the innermost entry, which the walk shows first.
 * Of a failed system call only the system's text is worth reading.
 */
static herr_t keep_first(unsigned n, const H5E_error2_t *entry, void *arg)
{
    static const char system_mark[] = "error message = '";
    char *text = arg;

    if (n > 0 || entry->desc == NULL) {
        return 0;
    }
    const char *start = strstr(entry->desc, system_mark);
    if (start != NULL) {
        start += sizeof system_mark - 1;
        (void)snprintf(text, TEXT_BYTES, "%.*s", (int)strcspn(start, "'"),
                       start);
    } else {
        (void)snprintf(text, TEXT_BYTES, "%s", entry->desc);
    }
    return 0;
}

iso_status_t iso_h5_fail(iso_status_t status, const char *format, ...)
{
    char context[ISO_ERROR_TEXT_BYTES];
    char text[TEXT_BYTES] = "unknown error";
    va_list args;

    va_start(args, format);
    (void)vsnprintf(context, sizeof context, format, args);
    va_end(args);
    (void)H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first, text);
    return iso_fail(status, "%s: HDF5: %s", context, text);
}

void iso_h5_close(hid_t *id)
{
    if (*id >= 0) {
        (void)H5Idec_ref(*id);
    }
    *id = H5I_INVALID_HID;
}

/* -- open -- */

/* Length of a regular file that can be read. */
static iso_status_t check_file(const char *path, size_t *bytes_out)
{
    struct stat info = {0};
    /* O_NONBLOCK: a named pipe must be refused, not waited for. */
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int error = file < 0 || fstat(file, &info) != 0 ? errno : 0;

    if (file >= 0) {
        (void)close(file);
    }
    if (error != 0) {
        return iso_fail(ISO_INPUT, "cannot open '%s': %s", path,
                        strerror(error));
    }
    if (!S_ISREG(info.st_mode)) {
        return iso_fail(ISO_INPUT, "'%s' is not a regular file", path);
    }
    if (info.st_size == 0) {
        return iso_fail(ISO_INPUT, "'%s' is empty", path);
    }
    *bytes_out = (size_t)info.st_size;
    return ISO_OK;
}

iso_status_t iso_h5_open(const char *path, hid_t *file_out, size_t *bytes_out)
{
    iso_status_t status = ISO_OK;

    ISO_TRY(check_file(path, bytes_out));
    if (H5Fis_hdf5(path) <= 0) {
        return iso_fail(ISO_INPUT, "'%s' is not an HDF5 file", path);
    }
    /* Parallel file systems often have no locks, and readers need none. */
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    hid_t file = H5I_INVALID_HID;
    if (access >= 0 && H5Pset_fapl_sec2(access) >= 0 &&
        H5Pset_file_locking(access, false, true) >= 0) {
        file = H5Fopen(path, H5F_ACC_RDONLY, access);
    }
    if (file < 0) {
        status = iso_h5_fail(ISO_INPUT, "'%s' is truncated or damaged", path);
    }
    iso_h5_close(&access);
    *file_out = file;
    return status;
}

/* -- attributes -- */

hid_t iso_h5_text_type(size_t length)
{
    hid_t type = H5Tcopy(H5T_C_S1);

    /* HDF5 has no text of no bytes. */
    if (type >= 0 && (H5Tset_size(type, length > 0 ? length : 1) < 0 ||
                      H5Tset_strpad(type, H5T_STR_NULLPAD) < 0 ||
                      H5Tset_cset(type, H5T_CSET_UTF8) < 0)) {
        iso_h5_close(&type);
    }
    return type;
}

bool iso_h5_has_attr(hid_t object, const char *name)
{
    return H5Aexists(object, name) > 0;
}

/* Open an attribute that holds one element, and its type. */
static iso_status_t open_attr(hid_t object, const char *name, hid_t *attr_out,
                              hid_t *type_out)
{
    if (!iso_h5_has_attr(object, name)) {
        return iso_fail(ISO_INPUT, "attribute '%s' is missing", name);
    }
    *attr_out = H5Aopen(object, name, H5P_DEFAULT);
    if (*attr_out < 0) {
        return iso_h5_fail(ISO_INPUT, "attribute '%s'", name);
    }
    *type_out = H5Aget_type(*attr_out);
    hid_t space = H5Aget_space(*attr_out);
    hssize_t count = space < 0 ? -1 : H5Sget_simple_extent_npoints(space);
    iso_h5_close(&space);
    if (*type_out < 0 || count != 1) {
        return iso_fail(ISO_INPUT, "attribute '%s' is not one value", name);
    }
    return ISO_OK;
}

static iso_status_t read_text(hid_t attr, hid_t type, const char *name,
                              char *buffer, size_t size)
{
    if (H5Tget_class(type) != H5T_STRING || H5Tis_variable_str(type) != 0) {
        return iso_fail(ISO_INPUT,
                        "attribute '%s' is not a text of fixed length", name);
    }
    if (H5Tget_size(type) >= size) {
        return iso_fail(ISO_INPUT,
                        "attribute '%s' has %zu bytes, expected less than %zu",
                        name, H5Tget_size(type), size);
    }
    memset(buffer, 0, size);
    if (H5Aread(attr, type, buffer) < 0) {
        return iso_h5_fail(ISO_INPUT, "attribute '%s'", name);
    }
    return ISO_OK;
}

iso_status_t iso_h5_get_text(hid_t object, const char *name, char *buffer,
                             size_t size)
{
    hid_t attr = H5I_INVALID_HID;
    hid_t type = H5I_INVALID_HID;

    iso_status_t status = open_attr(object, name, &attr, &type);
    if (status == ISO_OK) {
        status = read_text(attr, type, name, buffer, size);
    }
    iso_h5_close(&type);
    iso_h5_close(&attr);
    return status;
}

iso_status_t iso_h5_get_u64(hid_t object, const char *name, uint64_t *value_out)
{
    hid_t attr = H5I_INVALID_HID;
    hid_t type = H5I_INVALID_HID;

    iso_status_t status = open_attr(object, name, &attr, &type);
    if (status == ISO_OK && (H5Tget_class(type) != H5T_INTEGER ||
                             H5Tget_size(type) > sizeof *value_out)) {
        status = iso_fail(ISO_INPUT, "attribute '%s' is not an integer", name);
    }
    if (status == ISO_OK && H5Aread(attr, H5T_NATIVE_UINT64, value_out) < 0) {
        status = iso_h5_fail(ISO_INPUT, "attribute '%s'", name);
    }
    iso_h5_close(&type);
    iso_h5_close(&attr);
    return status;
}

static iso_status_t put_attr(hid_t object, const char *name, hid_t type,
                             const void *value)
{
    iso_status_t status = ISO_OK;
    hid_t attr = H5I_INVALID_HID;
    hid_t space = H5Screate(H5S_SCALAR);

    if (space >= 0) {
        attr = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    }
    if (attr < 0 || H5Awrite(attr, type, value) < 0) {
        status = iso_h5_fail(ISO_IO, "cannot write attribute '%s'", name);
    }
    iso_h5_close(&attr);
    iso_h5_close(&space);
    return status;
}

iso_status_t iso_h5_put_text(hid_t object, const char *name, const char *text)
{
    hid_t type = iso_h5_text_type(strlen(text));

    if (type < 0) {
        return iso_h5_fail(ISO_IO, "cannot write attribute '%s'", name);
    }
    iso_status_t status = put_attr(object, name, type, text);
    iso_h5_close(&type);
    return status;
}

iso_status_t iso_h5_put_u64(hid_t object, const char *name, uint64_t value)
{
    return put_attr(object, name, H5T_STD_U64LE, &value);
}
