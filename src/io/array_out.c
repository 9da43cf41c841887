#include "io/array_out.h"

#include "isotome/error.h"

#include "base/digest.h"
#include "base/log.h"
#include "base/mem.h"
#include "io/draft.h"
#include "io/h5_dataset.h"
#include "io/place.h"
#include "tensor/npy.h"

#include <string.h>

typedef struct out_file {
    iso_draft_t *draft;
    hid_t h5; /* until rows are written; none for .npy */
} out_file_t;

typedef struct out_array {
    int file;
    char *name;    /* of the dataset; NULL for .npy */
    size_t offset; /* of row 0 in the file */
    size_t row_bytes;
    int64_t rows;
} out_array_t;

enum { READ_BYTES = 1 << 20 };

struct iso_array_out {
    bool force;
    bool resume;
    int n_files;
    int n_arrays;
    out_file_t *files;
    out_array_t *arrays;
};

iso_status_t iso_array_out_begin(bool force, bool resume, iso_array_out_t **out)
{
    iso_array_out_t *begun = iso_alloc_zeroed(1, sizeof *begun);

    if (begun == NULL) {
        return ISO_NOMEM;
    }
    begun->force = force;
    begun->resume = resume;
    *out = begun;
    return ISO_OK;
}

static iso_status_t fail_array(iso_status_t status, const iso_array_out_t *out,
                               const out_array_t *array)
{
    const char *path = iso_draft_path(out->files[array->file].draft);

    return array->name == NULL ? iso_fail_context(status, "'%s'", path)
                               : iso_fail_context(status, "'%s', dataset '%s'",
                                                  path, array->name);
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

/* HDF5 is done with the file; the draft stays. */
static iso_status_t finish_h5(out_file_t *file)
{
    iso_status_t status = ISO_OK;

    if (file->h5 >= 0 && H5Fclose(file->h5) < 0) {
        status = iso_h5_fail(ISO_IO, "cannot close '%s'",
                             iso_draft_path(file->draft));
    }
    file->h5 = H5I_INVALID_HID;
    return status;
}

static void remove_last_file(iso_array_out_t *out)
{
    out_file_t *file = &out->files[out->n_files - 1];

    (void)finish_h5(file);
    iso_draft_close(&file->draft);
    out->n_files--;
}

/* The file as HDF5, new or as it is there. */
static iso_status_t start_h5(const iso_array_out_t *out, out_file_t *file)
{
    size_t bytes = 0;

    if (out->resume) {
        return iso_h5_open(iso_draft_temp_path(file->draft), &file->h5, &bytes);
    }
    return iso_h5_create(file->draft, &file->h5);
}

static iso_status_t add_file(iso_array_out_t *out, const iso_place_t *place)
{
    size_t count = (size_t)out->n_files + 1;
    out_file_t *files = iso_realloc(out->files, count * sizeof *files);

    if (files == NULL) {
        return ISO_NOMEM;
    }
    out->files = files;
    out_file_t *file = &files[out->n_files];
    *file = (out_file_t){.h5 = H5I_INVALID_HID};
    ISO_TRY(out->resume
                ? iso_draft_open_part(place->path, out->force, &file->draft)
                : iso_draft_create_part(place->path, out->force, &file->draft));
    out->n_files++;
    iso_status_t status = place->dataset != NULL ? start_h5(out, file) : ISO_OK;
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
static iso_status_t create_dataset(const out_file_t *file, const char *name,
                                   const iso_tensor_t *header,
                                   hid_t *dataset_out)
{
    hsize_t bytes = 0;

    ISO_TRY(iso_h5_groups_create(file->h5, name));
    ISO_TRY(iso_h5_dataset_create(file->h5, name, header, dataset_out));
    if (H5Fget_filesize(file->h5, &bytes) < 0) {
        return iso_h5_fail(ISO_IO, "cannot tell the size of the file");
    }
    ISO_TRY(iso_draft_reserve(file->draft, (size_t)bytes));
    return iso_draft_status(file->draft);
}

static bool same_header(const iso_tensor_t *a, const iso_tensor_t *b)
{
    bool same = a->dtype == b->dtype && a->rank == b->rank;

    for (int i = 0; same && i < a->rank; i++) {
        same = a->dims[i] == b->dims[i];
    }
    return same;
}

static iso_status_t check_found(const iso_tensor_t *found,
                                const iso_tensor_t *header)
{
    if (!same_header(found, header)) {
        return iso_fail(ISO_INPUT,
                        "its type or shape is not what this job makes");
    }
    return ISO_OK;
}

static iso_status_t find_dataset(const out_file_t *file, const char *name,
                                 const iso_tensor_t *header, hid_t *dataset_out)
{
    iso_tensor_t found;

    ISO_TRY(iso_h5_dataset_open(file->h5, name, dataset_out));
    ISO_TRY(iso_h5_dataset_header(*dataset_out, &found));
    return check_found(&found, header);
}

static iso_status_t place_dataset(const iso_array_out_t *out,
                                  const iso_tensor_t *header,
                                  out_array_t *array)
{
    const out_file_t *file = &out->files[array->file];
    hid_t dataset = H5I_INVALID_HID;
    iso_status_t status =
        out->resume ? find_dataset(file, array->name, header, &dataset)
                    : create_dataset(file, array->name, header, &dataset);

    if (status == ISO_OK) {
        status = iso_h5_dataset_offset(dataset, &array->offset);
    }
    iso_h5_close(&dataset);
    return status == ISO_OK ? ISO_OK : fail_array(status, out, array);
}

/* Create the .npy file, or find it. */
static iso_status_t place_npy(const iso_array_out_t *out,
                              const iso_tensor_t *header, out_array_t *array)
{
    iso_draft_t *draft = out->files[array->file].draft;
    iso_tensor_t found = *header;
    iso_npy_t *npy = NULL;
    iso_status_t status =
        out->resume ? iso_npy_open(iso_draft_temp_path(draft), &npy, &found)
                    : iso_npy_create(iso_draft_temp_path(draft), header, &npy);

    if (status == ISO_OK) {
        array->offset = iso_npy_offset(npy);
        status = check_found(&found, header);
        iso_status_t closed = iso_npy_close(&npy);
        status = status == ISO_OK ? closed : status;
    }
    return status == ISO_OK ? ISO_OK : fail_array(status, out, array);
}

static iso_status_t add_array(iso_array_out_t *out, int file,
                              const iso_place_t *place,
                              const iso_tensor_t *header)
{
    size_t count = (size_t)out->n_arrays + 1;
    out_array_t *arrays = iso_realloc(out->arrays, count * sizeof *arrays);
    iso_status_t status = ISO_OK;

    if (arrays == NULL) {
        return ISO_NOMEM;
    }
    out->arrays = arrays;
    out_array_t *array = &arrays[out->n_arrays];
    *array = (out_array_t){.file = file,
                           .rows = header->rank > 0 ? header->dims[0] : 1};
    array->row_bytes =
        array->rows > 0 ? iso_tensor_bytes(header) / (size_t)array->rows : 0;
    if (place->dataset == NULL) {
        status = place_npy(out, header, array);
    } else {
        array->name = iso_text_copy(place->dataset);
        status =
            array->name != NULL ? place_dataset(out, header, array) : ISO_NOMEM;
    }
    if (status != ISO_OK) {
        iso_free(array->name);
        return status;
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
        ISO_TRY(add_file(out, place));
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

iso_status_t iso_array_out_start(iso_array_out_t *out)
{
    iso_h5_scope_t scope = iso_h5_begin();
    iso_status_t status = ISO_OK;

    for (int i = 0; status == ISO_OK && i < out->n_files; i++) {
        status = finish_h5(&out->files[i]);
        if (status == ISO_OK) {
            status = iso_draft_status(out->files[i].draft);
        }
    }
    iso_h5_end(&scope);
    return status;
}

static iso_status_t check_rows(const out_array_t *array, int64_t first,
                               int64_t count)
{
    if (first < 0 || count < 0 || first > array->rows ||
        count > array->rows - first) {
        return iso_fail(ISO_INVAL,
                        "%lld rows from row %lld are outside an output of "
                        "%lld",
                        (long long)count, (long long)first,
                        (long long)array->rows);
    }
    return ISO_OK;
}

iso_status_t iso_array_out_write(iso_array_out_t *out, int index, int64_t first,
                                 int64_t count, const void *rows)
{
    const out_array_t *array = &out->arrays[index];
    iso_draft_t *draft = out->files[array->file].draft;

    ISO_ASSERT(out->files[array->file].h5 < 0);
    iso_status_t status = check_rows(array, first, count);

    if (status != ISO_OK) {
        return fail_array(status, out, array);
    }
    iso_draft_write(draft, array->offset + (size_t)first * array->row_bytes,
                    rows, (size_t)count * array->row_bytes);
    return iso_draft_status(draft);
}

iso_status_t iso_array_out_digest(const iso_array_out_t *out, int index,
                                  int64_t first, int64_t count,
                                  uint64_t *digest_out)
{
    const out_array_t *array = &out->arrays[index];
    const iso_draft_t *draft = out->files[array->file].draft;
    size_t offset = array->offset + (size_t)first * array->row_bytes;
    size_t left = (size_t)count * array->row_bytes;
    unsigned char *bytes = iso_alloc(READ_BYTES);
    bool could = true;
    iso_digest_t digest;

    if (bytes == NULL) {
        return ISO_NOMEM;
    }
    iso_digest_begin(&digest);
    while (could && left > 0) {
        size_t size = left < READ_BYTES ? left : READ_BYTES;

        could = iso_draft_read(draft, offset, bytes, size);
        iso_digest_add_bytes(&digest, bytes, could ? size : 0);
        offset += size;
        left -= size;
    }
    iso_free(bytes);
    *digest_out = iso_digest_end(&digest);
    return could ? ISO_OK
                 : iso_fail(ISO_IO, "cannot read '%s'",
                            iso_draft_temp_path(draft));
}

iso_status_t iso_array_out_sync(const iso_array_out_t *out)
{
    for (int i = 0; i < out->n_files; i++) {
        ISO_TRY(iso_draft_sync(out->files[i].draft));
    }
    return ISO_OK;
}

/* -- end -- */

void iso_array_out_keep(iso_array_out_t *out)
{
    for (int i = 0; i < out->n_files; i++) {
        iso_draft_keep(out->files[i].draft);
    }
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
    iso_status_t status = iso_array_out_start(*out);

    if (status == ISO_OK) {
        status = iso_array_out_sync(*out);
    }
    if (status == ISO_OK) {
        status = publish_all(*out);
    }
    iso_array_out_abandon(out);
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
