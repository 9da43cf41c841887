/*
 * Elements in a file beside the model. The model names the file, and a model
 * may come from anywhere: it must stay inside the model's folder.
 */
#include "isotome/error.h"

#include "base/mem.h"
#include "base/text.h"
#include "model/onnx/onnx_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What the tensor says of its file. */
typedef struct place {
    const char *tensor;
    const char *location; /* NULL when it is not given */
    int64_t offset;
    int64_t length; /* -1 when it is not given */
} place_t;

static iso_status_t read_entry(const Onnx__StringStringEntryProto *entry,
                               place_t *place)
{
    const char *key = entry->key != NULL ? entry->key : "";
    const char *value = entry->value != NULL ? entry->value : "";

    if (strcmp(key, "location") == 0) {
        place->location = value;
    } else if (strcmp(key, "offset") == 0) {
        return iso_text_parse_int(value, "external offset", 0, INT64_MAX,
                                  &place->offset);
    } else if (strcmp(key, "length") == 0) {
        return iso_text_parse_int(value, "external length", 0, INT64_MAX,
                                  &place->length);
    }
    return ISO_OK;
}

/* A path that goes down only: no root, no "..", no drive or backslash. */
static bool stays_inside(const char *location)
{
    const char *part = location;

    if (location[0] == '\0' || location[0] == '/' ||
        strpbrk(location, "\\:") != NULL) {
        return false;
    }
    while (part != NULL) {
        if (strncmp(part, "..", 2) == 0 &&
            (part[2] == '/' || part[2] == '\0')) {
            return false;
        }
        part = strchr(part, '/');
        part = part == NULL ? NULL : part + 1;
    }
    return true;
}

static iso_status_t place_of(const Onnx__TensorProto *proto, size_t bytes,
                             place_t *place)
{
    *place = (place_t){.tensor = proto->name != NULL ? proto->name : "",
                       .length = -1};
    for (size_t i = 0; i < proto->n_external_data; i++) {
        if (read_entry(proto->external_data[i], place) != ISO_OK) {
            return iso_fail_context(ISO_INPUT, "tensor '%s'", place->tensor);
        }
    }
    if (place->location == NULL || !stays_inside(place->location)) {
        return iso_fail(ISO_INPUT,
                        "tensor '%s': external data in '%s', expected a "
                        "file in the folder of the model",
                        place->tensor,
                        place->location == NULL ? "" : place->location);
    }
    if (place->length >= 0 && (uint64_t)place->length != bytes) {
        return iso_fail(ISO_INPUT,
                        "tensor '%s': %lld bytes of external data, expected "
                        "%zu by its dims and type",
                        place->tensor, (long long)place->length, bytes);
    }
    return ISO_OK;
}

/* -- reading -- */

/* "folder of the model/location"; the caller's. */
static char *path_of(const char *model_path, const char *location)
{
    const char *slash = strrchr(model_path, '/');
    size_t folder_bytes = slash == NULL ? 0 : (size_t)(slash - model_path) + 1;
    size_t location_bytes = strlen(location) + 1;
    char *path = iso_alloc(folder_bytes + location_bytes);

    if (path != NULL) {
        memcpy(path, model_path, folder_bytes);
        memcpy(path + folder_bytes, location, location_bytes);
    }
    return path;
}

/* Is path in folder, or folder itself? Both without links. */
static bool is_in(const char *folder, const char *path)
{
    size_t length = strlen(folder);

    if (strncmp(path, folder, length) != 0) {
        return false;
    }
    return path[length] == '/' || path[length] == '\0' ||
           folder[length - 1] == '/';
}

/* real: the path without links, which must not lead out of the model's
 * folder. */
static iso_status_t check_inside(const char *model_path, const char *real,
                                 const place_t *place)
{
    char *path = path_of(model_path, ".");
    char *folder;
    bool inside;

    if (path == NULL) {
        return ISO_NOMEM;
    }
    folder = realpath(path, NULL);
    inside = folder != NULL && is_in(folder, real);
    free(folder);
    iso_free(path);
    if (!inside) {
        return iso_fail(ISO_INPUT,
                        "tensor '%s': external data '%s' is a link to '%s', "
                        "expected a file in the folder of the model; copy it "
                        "there",
                        place->tensor, place->location, real);
    }
    return ISO_OK;
}

static iso_status_t check_range(int fd, const char *path, const place_t *place,
                                size_t bytes)
{
    struct stat info;

    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
        return iso_fail(ISO_INPUT,
                        "tensor '%s': external data '%s' is not a file",
                        place->tensor, path);
    }
    if (place->offset > info.st_size ||
        bytes > (uint64_t)(info.st_size - place->offset)) {
        return iso_fail(ISO_INPUT,
                        "tensor '%s': external data '%s' has %lld bytes, "
                        "expected %zu from byte %lld on",
                        place->tensor, path, (long long)info.st_size, bytes,
                        (long long)place->offset);
    }
    return ISO_OK;
}

static iso_status_t read_bytes(int fd, const char *path, const place_t *place,
                               char *data, size_t bytes)
{
    size_t done = 0;

    while (done < bytes) {
        ssize_t got =
            pread(fd, data + done, bytes - done, place->offset + (off_t)done);

        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return iso_fail(ISO_INPUT,
                            "tensor '%s': cannot read external data '%s': %s",
                            place->tensor, path,
                            got < 0 ? strerror(errno) : "it became shorter");
        }
        done += (size_t)got;
    }
    return ISO_OK;
}

static iso_status_t read_place(const char *path, const place_t *place,
                               size_t bytes, void **data_out)
{
    /* O_NONBLOCK: a named pipe must be refused, not waited for. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    iso_status_t status;

    if (fd < 0) {
        return iso_fail(ISO_INPUT,
                        "tensor '%s': cannot open external data '%s': %s",
                        place->tensor, path, strerror(errno));
    }
    status = check_range(fd, path, place, bytes);
    if (status != ISO_OK) {
        goto close_file;
    }
    *data_out = iso_alloc(bytes);
    if (*data_out == NULL) {
        status = ISO_NOMEM;
        goto close_file;
    }
    status = read_bytes(fd, path, place, *data_out, bytes);
    if (status != ISO_OK) {
        iso_free(*data_out);
        *data_out = NULL;
    }
close_file:
    (void)close(fd);
    return status;
}

iso_status_t iso__onnx_external_load(const char *model_path,
                                     const Onnx__TensorProto *proto,
                                     size_t bytes, void **data_out)
{
    iso_status_t status;
    place_t place;
    char *path;
    char *real;

    *data_out = NULL;
    ISO_TRY(place_of(proto, bytes, &place));
    path = path_of(model_path, place.location);
    if (path == NULL) {
        return ISO_NOMEM;
    }
    real = realpath(path, NULL);
    if (real == NULL) {
        status = iso_fail(ISO_INPUT,
                          "tensor '%s': cannot open external data '%s': %s",
                          place.tensor, path, strerror(errno));
    } else {
        status = check_inside(model_path, real, &place);
    }
    if (status == ISO_OK) {
        status = read_place(real, &place, bytes, data_out);
    }
    free(real);
    iso_free(path);
    return status;
}
