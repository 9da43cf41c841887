/* A model file: refused, or all of its weights can be read or are refused. */
#include "isotome/model_file.h"

#include "fuzz.h"

#include <hdf5.h>

#include <stdlib.h>

/* HDF5 (1.10) loses some of its own memory over a damaged file. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libhdf5\n";
}

static iso_status_t read_weight(iso_model_t *model,
                                const iso_weight_info_t *info)
{
    void *data = malloc(info->bytes + 1);
    uint64_t sum = 0;

    if (data == NULL) {
        fuzz_die("out of memory");
    }
    iso_status_t status = iso_model_read(model, info, data);
    const int axis = info->shape.rank - 1;
    if (status == ISO_OK && axis >= 0) {
        status = iso_model_read_part(
            model, info, axis, 0, info->shape.dim[axis].size / 2, data, &sum);
    }
    free(data);
    return status;
}

static iso_status_t use(iso_model_t *model)
{
    for (int i = 0; i < iso_model_weight_count(model); i++) {
        ISO_TRY(read_weight(model, iso_model_weight(model, i)));
    }
    return ISO_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    iso_model_t *model = NULL;
    const int64_t held = fuzz_begin();
    iso_status_t status = iso_model_open(fuzz_file(data, size), &model);

    if (status == ISO_OK) {
        status = use(model);
    }
    iso_model_close(&model);
    if (H5Fget_obj_count(H5F_OBJ_ALL, H5F_OBJ_ALL) != 0) {
        fuzz_die("objects of HDF5 are left open");
    }
    fuzz_end(status, held);
    return 0;
}
