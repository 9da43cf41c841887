/* A model file from its path to an unpacked message. */
#include "isotome/error.h"

#include "base/mem.h"
#include "model/onnx/onnx_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file as bytes. Mapped, so that a model of many gigabytes is not held
 * twice while it is unpacked. */
typedef struct mapping {
    void *bytes;
    size_t size;
} mapping_t;

static iso_status_t check_size(const char *path, int fd, size_t *size_out)
{
    struct stat info;

    if (fstat(fd, &info) != 0) {
        return iso_fail(ISO_INPUT, "cannot read '%s': %s", path,
                        strerror(errno));
    }
    if (!S_ISREG(info.st_mode)) {
        return iso_fail(ISO_INPUT, "'%s' is not a regular file", path);
    }
    if (info.st_size == 0) {
        return iso_fail(ISO_INPUT, "'%s' is empty, expected an ONNX model",
                        path);
    }
    *size_out = (size_t)info.st_size;
    return ISO_OK;
}

static iso_status_t map_file(const char *path, mapping_t *mapping_out)
{
    /* O_NONBLOCK: a named pipe must be refused, not waited for. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    iso_status_t status;

    if (fd < 0) {
        return iso_fail(ISO_INPUT, "cannot open '%s': %s", path,
                        strerror(errno));
    }
    status = check_size(path, fd, &mapping_out->size);
    if (status == ISO_OK) {
        mapping_out->bytes =
            mmap(NULL, mapping_out->size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (mapping_out->bytes == MAP_FAILED) {
            status = iso_fail(ISO_INPUT, "cannot map '%s': %s", path,
                              strerror(errno));
        }
    }
    (void)close(fd);
    return status;
}

/* -- unpacking -- */

/* Unpack into counted memory: raw data can then be taken over as it is. */
static void *allocate(void *failed, size_t bytes)
{
    void *block = iso_alloc(bytes);

    if (block == NULL) {
        *(bool *)failed = true;
    }
    return block;
}

static void release(void *failed, void *block)
{
    (void)failed;
    iso_free(block);
}

static iso_status_t unpack(const char *path, const mapping_t *mapping,
                           Onnx__ModelProto **model_out)
{
    bool failed = false;
    ProtobufCAllocator allocator = {allocate, release, &failed};
    iso_status_t status = iso__onnx_check_bytes(mapping->bytes, mapping->size,
                                                &onnx__model_proto__descriptor);

    if (status != ISO_OK) {
        return iso_fail_context(status, "'%s'", path);
    }
    *model_out =
        onnx__model_proto__unpack(&allocator, mapping->size, mapping->bytes);
    if (*model_out == NULL && failed) {
        return ISO_NOMEM;
    }
    if (*model_out == NULL) {
        return iso_fail(ISO_INPUT, "'%s' is not an ONNX model, or is damaged",
                        path);
    }
    return ISO_OK;
}

iso_status_t iso__onnx_file_read(const char *path, Onnx__ModelProto **model_out)
{
    mapping_t mapping;
    iso_status_t status;

    *model_out = NULL;
    ISO_TRY(map_file(path, &mapping));
    status = unpack(path, &mapping, model_out);
    (void)munmap(mapping.bytes, mapping.size);
    return status;
}

void iso__onnx_file_free(Onnx__ModelProto **model)
{
    bool failed = false;
    ProtobufCAllocator allocator = {allocate, release, &failed};

    if (*model != NULL) {
        onnx__model_proto__free_unpacked(*model, &allocator);
        *model = NULL;
    }
}
