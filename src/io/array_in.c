#include "io/array_in.h"

#include "isotome/error.h"

#include "base/mem.h"
#include "io/h5_dataset.h"
#include "io/place.h"
#include "tensor/npy.h"

struct iso_array_in {
    iso_place_t place;
    iso_tensor_t header;
    iso_npy_t *npy; /* or the two ids */
    hid_t file;
    hid_t dataset;
};

/* A dataset that was made but never written would read as zeros. */
static iso_status_t check_written(hid_t dataset, const iso_tensor_t *header)
{
    H5D_space_status_t space = H5D_SPACE_STATUS_ERROR;

    if (H5Dget_space_status(dataset, &space) < 0) {
        return iso_h5_fail(ISO_INPUT, "its storage");
    }
    if (space == H5D_SPACE_STATUS_NOT_ALLOCATED &&
        iso_tensor_count(header) > 0) {
        return iso_fail(ISO_INPUT, "it was never written and has no elements");
    }
    return ISO_OK;
}

static iso_status_t open_dataset(iso_array_in_t *array)
{
    size_t bytes = 0;

    ISO_TRY(iso_h5_open(array->place.path, &array->file, &bytes));
    iso_status_t status =
        iso_h5_dataset_open(array->file, array->place.dataset, &array->dataset);
    if (status == ISO_OK) {
        status = iso_h5_dataset_header(array->dataset, &array->header);
    }
    if (status == ISO_OK) {
        status = check_written(array->dataset, &array->header);
    }
    if (status != ISO_OK) {
        return iso_fail_context(status, "'%s', dataset '%s'", array->place.path,
                                array->place.dataset);
    }
    return ISO_OK;
}

static iso_status_t open_place(iso_array_in_t *array)
{
    if (array->place.dataset == NULL) {
        return iso_npy_open(array->place.path, &array->npy, &array->header);
    }
    iso_h5_scope_t scope = iso_h5_begin();
    iso_status_t status = open_dataset(array);
    iso_h5_end(&scope);
    return status;
}

iso_status_t iso_array_in_open(const char *place, iso_array_in_t **array_out)
{
    iso_array_in_t *array = iso_alloc_zeroed(1, sizeof *array);

    if (array == NULL) {
        return ISO_NOMEM;
    }
    array->file = H5I_INVALID_HID;
    array->dataset = H5I_INVALID_HID;
    iso_status_t status = iso_place_parse(place, &array->place);
    if (status == ISO_OK) {
        status = open_place(array);
    }
    if (status != ISO_OK) {
        iso_array_in_close(&array);
        return status;
    }
    *array_out = array;
    return ISO_OK;
}

void iso_array_in_close(iso_array_in_t **array)
{
    iso_array_in_t *closing = *array;

    if (closing == NULL) {
        return;
    }
    if (closing->npy != NULL) {
        (void)iso_npy_close(&closing->npy);
    }
    if (closing->file >= 0) {
        iso_h5_scope_t scope = iso_h5_begin();
        iso_h5_close(&closing->dataset);
        iso_h5_close(&closing->file);
        iso_h5_end(&scope);
    }
    iso_place_free(&closing->place);
    iso_free(closing);
    *array = NULL;
}

const iso_tensor_t *iso_array_in_header(const iso_array_in_t *array)
{
    return &array->header;
}

iso_status_t iso_array_in_read(iso_array_in_t *array, int64_t first,
                               int64_t count, void *data)
{
    if (array->npy != NULL) {
        return iso_npy_read(array->npy, first, count, data);
    }
    iso_h5_scope_t scope = iso_h5_begin();
    iso_status_t status =
        iso_h5_dataset_read(array->dataset, &array->header, first, count, data);
    iso_h5_end(&scope);
    if (status != ISO_OK) {
        return iso_fail_context(status, "'%s', dataset '%s'", array->place.path,
                                array->place.dataset);
    }
    return ISO_OK;
}
