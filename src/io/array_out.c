#include "io/array_out.h"

#include "isotome/error.h"

#include "base/mem.h"
#include "io/draft.h"
#include "io/h5_dataset.h"
#include "io/place.h"
#include "tensor/npy.h"

#include <string.h>

typedef struct out_file {
    iso_draft_t *draft;
    iso_npy_t *npy; /* or an HDF5 file */
    hid_t h5;
} out_file_t;

typedef struct out_array {
    int file;
    char *name; /* of the dataset; NULL for .npy */
    hid_t dataset;
    iso_tensor_t header;
} out_array_t;

struct iso_array_out {
    bool force;
    int n_files;
    int n_arrays;
    out_file_t *files;
    out_array_t *arrays;
};

iso_status_t iso_array_out_begin(bool force, iso_array_out_t **out)
{
    iso_array_out_t *begun = iso_alloc_zeroed(1, sizeof *begun);

    if (begun == NULL) {
        return ISO_NOMEM;
    }
    begun->force = force;
    *out = begun;
    return ISO_OK;
}

static iso_status_t fail_array(iso_status_t status, const iso_array_out_t *out,
                               const out_array_t *array)
{
    return iso_fail_context(status, "'%s', dataset '%s'",
                            iso_draft_path(out->files[array->file].draft),
                            array->name);
}

/* -- files -- */

/* Index of the file with this name, -1 when there is none. */
static int find_file(const iso_array_out_t *out, const char *path)
{
    int i = out->n_files - 1;

    while (i >= 0 && !iso_draft_is_for(out->files[i].draft, path)) {
        i--;
    }
    return i;
}

/* Close what writes to the file; the draft stays. */
static iso_status_t finish_file(out_file_t *file)
{
    iso_status_t status = ISO_OK;

    if (file->npy != NULL) {
        status = iso_npy_close(&file->npy);
    }
    if (file->h5 >= 0) {
        if (H5Fclose(file->h5) < 0) {
            status = iso_h5_fail(ISO_IO, "cannot close '%s'",
                                 iso_draft_path(file->draft));
        }
        file->h5 = H5I_INVALID_HID;
    }
    return status;
}

static void remove_last_file(iso_array_out_t *out)
{
    out_file_t *file = &out->files[out->n_files - 1];

    (void)finish_file(file);
    iso_draft_close(&file->draft);
    out->n_files--;
}

static iso_status_t start_file(out_file_t *file, const iso_place_t *place,
                               const iso_tensor_t *header)
{
    if (place->dataset != NULL) {
        return iso_h5_create(file->draft, &file->h5);
    }
    iso_status_t status =
        iso_npy_create(iso_draft_temp_path(file->draft), header, &file->npy);
    if (status != ISO_OK) {
        return iso_fail_context(status, "'%s'", place->path);
    }
    return ISO_OK;
}

static iso_status_t add_file(iso_array_out_t *out, const iso_place_t *place,
                             const iso_tensor_t *header)
{
    size_t count = (size_t)out->n_files + 1;
    out_file_t *files = iso_realloc(out->files, count * sizeof *files);

    if (files == NULL) {
        return ISO_NOMEM;
    }
    out->files = files;
    out_file_t *file = &files[out->n_files];
    *file = (out_file_t){.h5 = H5I_INVALID_HID};
    ISO_TRY(iso_draft_create(place->path, out->force, &file->draft));
    out->n_files++;
    iso_status_t status = start_file(file, place, header);
    if (status != ISO_OK) {
        remove_last_file(out);
    }
    return status;
}

/* -- arrays -- */

/* Whether one name is the other, or a group on the way to it. */
static bool names_conflict(const char *a, const char *b)
{
    size_t length_a = strlen(a);
    size_t length_b = strlen(b);
    size_t length = length_a < length_b ? length_a : length_b;
    const char *longer = length_a < length_b ? b : a;

    return strncmp(a, b, length) == 0 &&
           (longer[length] == '\0' || longer[length] == '/');
}

static iso_status_t check_place(const iso_array_out_t *out,
                                const iso_place_t *place, int file)
{
    for (int i = 0; i < out->n_arrays; i++) {
        const out_array_t *other = &out->arrays[i];
        if (other->file != file) {
            continue;
        }
        if (place->dataset == NULL) {
            return iso_fail(ISO_INVAL,
                            "'%s' is named for two outputs; give each a file "
                            "of its own",
                            place->path);
        }
        if (names_conflict(place->dataset, other->name)) {
            return iso_fail(ISO_INVAL,
                            "'%s': outputs '%s' and '%s' are in each other's "
                            "way; give them other names",
                            place->path, other->name, place->dataset);
        }
    }
    return ISO_OK;
}

/* Create the dataset and take the disk space of the whole file. */
static iso_status_t start_dataset(const out_file_t *file, out_array_t *array)
{
    hsize_t bytes = 0;

    ISO_TRY(iso_h5_groups_create(file->h5, array->name));
    ISO_TRY(iso_h5_dataset_create(file->h5, array->name, &array->header,
                                  &array->dataset));
    if (H5Fget_filesize(file->h5, &bytes) < 0) {
        return iso_h5_fail(ISO_IO, "cannot tell the size of the file");
    }
    ISO_TRY(iso_draft_reserve(file->draft, (size_t)bytes));
    return iso_draft_status(file->draft);
}

static iso_status_t add_array(iso_array_out_t *out, int file,
                              const iso_place_t *place,
                              const iso_tensor_t *header)
{
    size_t count = (size_t)out->n_arrays + 1;
    out_array_t *arrays = iso_realloc(out->arrays, count * sizeof *arrays);

    if (arrays == NULL) {
        return ISO_NOMEM;
    }
    out->arrays = arrays;
    out_array_t *array = &arrays[out->n_arrays];
    *array = (out_array_t){
        .file = file, .dataset = H5I_INVALID_HID, .header = *header};
    if (place->dataset != NULL) {
        array->name = iso_text_copy(place->dataset);
        if (array->name == NULL) {
            return ISO_NOMEM;
        }
        iso_status_t status = start_dataset(&out->files[file], array);
        if (status != ISO_OK) {
            (void)fail_array(status, out, array);
            iso_h5_close(&array->dataset);
            iso_free(array->name);
            return status;
        }
    }
    out->n_arrays++;
    return ISO_OK;
}

static iso_status_t add_place(iso_array_out_t *out, const iso_place_t *place,
                              const iso_tensor_t *header)
{
    int file = find_file(out, place->path);
    bool is_new = file < 0;

    if (is_new) {
        ISO_TRY(add_file(out, place, header));
        file = out->n_files - 1;
    }
    iso_status_t status = check_place(out, place, file);
    if (status == ISO_OK) {
        status = add_array(out, file, place, header);
    }
    if (status != ISO_OK && is_new) {
        remove_last_file(out);
    }
    return status;
}

iso_status_t iso_array_out_add(iso_array_out_t *out, const char *place,
                               const iso_tensor_t *header, int *index_out)
{
    iso_place_t parsed = {0};

    ISO_TRY(iso_place_parse(place, &parsed));
    iso_h5_scope_t scope = iso_h5_begin();
    iso_status_t status = add_place(out, &parsed, header);
    iso_h5_end(&scope);
    iso_place_free(&parsed);
    if (status == ISO_OK) {
        *index_out = out->n_arrays - 1;
    }
    return status;
}

/* -- write -- */

static iso_status_t write_dataset(const iso_array_out_t *out,
                                  const out_array_t *array, int64_t first,
                                  int64_t count, const void *rows)
{
    iso_status_t status = iso_h5_dataset_write(array->dataset, &array->header,
                                               first, count, rows);
    if (status != ISO_OK) {
        return fail_array(status, out, array);
    }
    return iso_draft_status(out->files[array->file].draft);
}

iso_status_t iso_array_out_write(iso_array_out_t *out, int index, int64_t first,
                                 int64_t count, const void *rows)
{
    const out_array_t *array = &out->arrays[index];

    if (array->name == NULL) {
        return iso_npy_write(out->files[array->file].npy, first, count, rows);
    }
    iso_h5_scope_t scope = iso_h5_begin();
    iso_status_t status = write_dataset(out, array, first, count, rows);
    iso_h5_end(&scope);
    return status;
}

/* -- end -- */

static iso_status_t finish_all(iso_array_out_t *out)
{
    for (int i = 0; i < out->n_arrays; i++) {
        iso_h5_close(&out->arrays[i].dataset);
    }
    for (int i = 0; i < out->n_files; i++) {
        ISO_TRY(finish_file(&out->files[i]));
        ISO_TRY(iso_draft_sync(out->files[i].draft));
    }
    return ISO_OK;
}

static iso_status_t publish_all(const iso_array_out_t *out)
{
    for (int i = 0; i < out->n_files; i++) {
        iso_status_t status = iso_draft_publish(out->files[i].draft);
        if (status != ISO_OK) {
            for (int done = 0; done < i; done++) {
                iso_draft_withdraw(out->files[done].draft);
            }
            return status;
        }
    }
    return ISO_OK;
}

static void destroy(iso_array_out_t **out)
{
    iso_array_out_t *closing = *out;

    for (int i = 0; i < closing->n_arrays; i++) {
        iso_h5_close(&closing->arrays[i].dataset);
        iso_free(closing->arrays[i].name);
    }
    while (closing->n_files > 0) {
        remove_last_file(closing);
    }
    iso_free(closing->arrays);
    iso_free(closing->files);
    iso_free(closing);
    *out = NULL;
}

iso_status_t iso_array_out_commit(iso_array_out_t **out)
{
    iso_h5_scope_t scope = iso_h5_begin();
    iso_status_t status = finish_all(*out);

    if (status == ISO_OK) {
        status = publish_all(*out);
    }
    destroy(out);
    iso_h5_end(&scope);
    return status;
}

void iso_array_out_abandon(iso_array_out_t **out)
{
    if (*out != NULL) {
        iso_h5_scope_t scope = iso_h5_begin();
        destroy(out);
        iso_h5_end(&scope);
    }
}
