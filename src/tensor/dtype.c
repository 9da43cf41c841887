#include "isotome/dtype.h"

#include <string.h>

typedef struct dtype_info {
    const char *text;
    const char *npy;
    size_t bytes;
    int onnx;
} dtype_info_t;

static const dtype_info_t infos[] = {
#define X(name, text_, bytes_, npy_, onnx_) \
    [ISO_DTYPE_##name] = {                  \
        .text = (text_), .npy = (npy_), .bytes = (bytes_), .onnx = (onnx_)},
    ISO_DTYPE_MAP(X)
#undef X
        [ISO_DTYPE_COUNT] = {.text = "unknown", .onnx = -1},
};

_Static_assert(sizeof infos / sizeof infos[0] == ISO_DTYPE_COUNT + 1,
               "one row for each type");

static const dtype_info_t *info_of(iso_dtype_t dtype)
{
    return &infos[(unsigned)dtype < ISO_DTYPE_COUNT ? dtype : ISO_DTYPE_COUNT];
}

const char *iso_dtype_string(iso_dtype_t dtype)
{
    return info_of(dtype)->text;
}

size_t iso_dtype_bytes(iso_dtype_t dtype)
{
    return info_of(dtype)->bytes;
}

const char *iso_dtype_npy(iso_dtype_t dtype)
{
    return info_of(dtype)->npy;
}

iso_dtype_t iso_dtype_from_string(const char *text)
{
    int dtype = 0;

    while (dtype < ISO_DTYPE_COUNT && strcmp(infos[dtype].text, text) != 0) {
        dtype++;
    }
    return (iso_dtype_t)dtype;
}

iso_dtype_t iso_dtype_from_npy(const char *descr)
{
    int dtype = 0;

    if (descr[0] == '\0' || strchr("<=|", descr[0]) == NULL) {
        return ISO_DTYPE_COUNT;
    }
    while (dtype < ISO_DTYPE_COUNT &&
           (infos[dtype].npy == NULL ||
            strcmp(infos[dtype].npy + 1, descr + 1) != 0)) {
        dtype++;
    }
    return (iso_dtype_t)dtype;
}

iso_dtype_t iso_dtype_from_onnx(int code)
{
    int dtype = 0;

    while (dtype < ISO_DTYPE_COUNT && infos[dtype].onnx != code) {
        dtype++;
    }
    return (iso_dtype_t)dtype;
}
