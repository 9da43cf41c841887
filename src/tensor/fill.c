#include "tensor/fill.h"

#include <string.h>

static void fill_floats(iso_random_t *random, const iso_tensor_t *tensor)
{
    for (int64_t i = 0; i < iso_tensor_count(tensor); i++) {
        float value = iso_random_float(random);

        if (tensor->dtype == ISO_DTYPE_F64) {
            ((double *)tensor->data)[i] = (double)value;
        } else {
            ((float *)tensor->data)[i] = value;
        }
    }
}

static void fill_integers(iso_random_t *random, const iso_tensor_t *tensor)
{
    size_t bytes = iso_dtype_bytes(tensor->dtype);
    unsigned char *data = tensor->data;

    memset(data, 0, iso_tensor_bytes(tensor));
    for (int64_t i = 0; i < iso_tensor_count(tensor); i++) {
        uint64_t most = tensor->dtype == ISO_DTYPE_U8 ? 256 : 2;

        data[(size_t)i * bytes] = (unsigned char)iso_random_below(random, most);
    }
}

void iso_tensor_fill_random(iso_random_t *random, const iso_tensor_t *tensor)
{
    if (tensor->dtype == ISO_DTYPE_F32 || tensor->dtype == ISO_DTYPE_F64) {
        fill_floats(random, tensor);
    } else {
        fill_integers(random, tensor);
    }
}
