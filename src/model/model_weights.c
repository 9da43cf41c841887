/* The weights of a model file, from metadata alone. */
#include "isotome/error.h"

#include "base/mem.h"
#include "io/h5_dataset.h"
#include "model_impl.h"

/* The list while it grows. */
typedef struct listing {
    iso_model_t *model;
    iso_weight_info_t *weights;
    size_t count;
    size_t capacity;
    size_t bytes; /* of all weights so far */
    iso_status_t status;
} listing_t;

iso_status_t iso__model_check_storage(const iso_model_t *model, hid_t dataset,
                                      size_t bytes)
{
    hid_t creation = H5Dget_create_plist(dataset);
    bool plain = creation >= 0 && H5Pget_layout(creation) == H5D_CONTIGUOUS &&
                 H5Pget_nfilters(creation) == 0;

    iso_h5_close(&creation);
    if (!plain) {
        return iso_fail(ISO_INPUT, "it is not stored contiguously and without "
                                   "filters");
    }
    if (bytes == 0) {
        return ISO_OK;
    }
    haddr_t offset = H5Dget_offset(dataset);
    if (H5Dget_storage_size(dataset) != bytes || offset == HADDR_UNDEF ||
        bytes > model->file_bytes || offset > model->file_bytes - bytes) {
        return iso_fail(
            ISO_INPUT, "it has %zu bytes, which the file does not hold", bytes);
    }
    return ISO_OK;
}

/* Fill in all but the name. */
static iso_status_t describe(const iso_model_t *model, hid_t dataset,
                             iso_weight_info_t *weight)
{
    iso_tensor_t header = {0};

    ISO_TRY(iso_h5_dataset_header(dataset, &header));
    weight->dtype = header.dtype;
    weight->shape = iso_tensor_shape(&header);
    weight->bytes = iso_tensor_bytes(&header);
    ISO_TRY(iso__model_check_storage(model, dataset, weight->bytes));
    ISO_TRY(iso_h5_get_u64(dataset, "digest", &weight->digest));
    if (model->format_version == 1) {
        return ISO_OK;
    }
    return iso_h5_get_u64(dataset, "part_digest", &weight->part_digest);
}

static iso_status_t reserve(listing_t *listing)
{
    if (listing->count < listing->capacity) {
        return ISO_OK;
    }
    size_t capacity = listing->capacity == 0 ? 64 : listing->capacity * 2;
    iso_weight_info_t *weights =
        iso_realloc(listing->weights, capacity * sizeof *weights);
    if (weights == NULL) {
        return ISO_NOMEM;
    }
    listing->weights = weights;
    listing->capacity = capacity;
    return ISO_OK;
}

static iso_status_t add_link(listing_t *listing, hid_t group, const char *link,
                             H5L_type_t kind)
{
    iso_model_t *model = listing->model;
    iso_weight_info_t weight = {0};
    hid_t dataset = H5I_INVALID_HID;

    if (kind != H5L_TYPE_HARD) {
        return iso_fail(ISO_INPUT, "it is a link to elsewhere, which is not "
                                   "followed");
    }
    ISO_TRY(reserve(listing));
    ISO_TRY(iso__model_name_of(link, model->arena, &weight.name));
    ISO_TRY(iso_h5_dataset_open(group, link, &dataset));
    iso_status_t status = describe(model, dataset, &weight);
    iso_h5_close(&dataset);
    ISO_TRY(status);
    /* Datasets that share their bytes could claim any amount of memory. */
    if (weight.bytes > model->file_bytes - listing->bytes) {
        return iso_fail(ISO_INPUT, "it shares its bytes with another weight");
    }
    listing->bytes += weight.bytes;
    listing->weights[listing->count] = weight;
    listing->count++;
    return ISO_OK;
}

/* Called for each link; a negative result ends the walk. */
static herr_t visit_link(hid_t group, const char *link, const H5L_info_t *info,
                         void *arg)
{
    listing_t *listing = arg;

    listing->status = listing->count < INT32_MAX
                          ? add_link(listing, group, link, info->type)
                          : iso_fail(ISO_INPUT, "there are too many weights");
    if (listing->status != ISO_OK) {
        (void)iso_fail_context(listing->status, "weight '%s'", link);
        return -1;
    }
    return 0;
}

static iso_status_t keep(iso_model_t *model, const listing_t *listing)
{
    if (listing->count == 0) {
        return ISO_OK;
    }
    iso__model_sort(listing->weights, (int)listing->count);
    model->weights = iso_arena_copy(model->arena, listing->weights,
                                    listing->count * sizeof *listing->weights);
    model->n_weights = (int)listing->count;
    return model->weights == NULL ? ISO_NOMEM : ISO_OK;
}

static iso_status_t open_group(const iso_model_t *model, hid_t *group_out)
{
    H5L_info_t info = {0};

    if (H5Lget_info(model->file, "weights", &info, H5P_DEFAULT) < 0) {
        return iso_fail(ISO_INPUT, "/weights is missing");
    }
    if (info.type != H5L_TYPE_HARD) {
        return iso_fail(ISO_INPUT, "/weights is a link to elsewhere, which is "
                                   "not followed");
    }
    *group_out = H5Gopen2(model->file, "weights", H5P_DEFAULT);
    if (*group_out < 0) {
        return iso_h5_fail(ISO_INPUT, "/weights");
    }
    return ISO_OK;
}

iso_status_t iso__model_list_weights(iso_model_t *model)
{
    listing_t listing = {.model = model};
    hid_t group = H5I_INVALID_HID;

    ISO_TRY(open_group(model, &group));
    if (H5Literate(group, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, visit_link,
                   &listing) < 0 &&
        listing.status == ISO_OK) {
        listing.status = iso_h5_fail(ISO_INPUT, "/weights");
    }
    iso_h5_close(&group);
    if (listing.status == ISO_OK) {
        listing.status = keep(model, &listing);
    }
    iso_free(listing.weights);
    return listing.status;
}
