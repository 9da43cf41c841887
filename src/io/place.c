#include "io/place.h"

#include "isotome/error.h"

#include "base/mem.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static bool ends_with(const char *text, size_t length, const char *ending)
{
    size_t ending_length = strlen(ending);

    return length >= ending_length &&
           memcmp(text + length - ending_length, ending, ending_length) == 0;
}

static bool is_hdf5_name(const char *path, size_t length)
{
    return ends_with(path, length, ".h5") || ends_with(path, length, ".hdf5");
}

/* The first ":" that stands between an HDF5 file and "/DATASET", or NULL. */
static const char *find_dataset(const char *text)
{
    for (const char *colon = strstr(text, ":/"); colon != NULL;
         colon = strstr(colon + 1, ":/")) {
        if (is_hdf5_name(text, (size_t)(colon - text))) {
            return colon;
        }
    }
    return NULL;
}

/* A dataset has one spelling: "/a/b" without empty parts or ".". */
static bool is_dataset_name(const char *dataset)
{
    for (const char *part = dataset; *part == '/';) {
        part++;
        size_t length = strcspn(part, "/");
        if (length == 0 || (length == 1 && part[0] == '.')) {
            return false;
        }
        part += length;
    }
    return true;
}

static char *copy_part(const char *text, size_t length)
{
    char *copy = iso_alloc(length + 1);

    if (copy != NULL) {
        memcpy(copy, text, length);
        copy[length] = '\0';
    }
    return copy;
}

/* What is wrong with a text that names no file that we can use. */
static iso_status_t fail_path(const char *text, const char *path)
{
    if (path[0] == '\0') {
        return iso_fail(ISO_INVAL,
                        "'%s' names no file; expected FILE.npy or "
                        "FILE.h5:/DATASET",
                        text);
    }
    if (is_hdf5_name(path, strlen(path))) {
        return iso_fail(ISO_INVAL,
                        "'%s' names no dataset in the HDF5 file; expected "
                        "'%s:/DATASET'",
                        text, text);
    }
    return iso_fail(ISO_INVAL,
                    "'%s' is neither FILE.npy nor FILE.h5:/DATASET "
                    "(or FILE.hdf5:/DATASET)",
                    text);
}

/* Check path and find the colon before its dataset; NULL for a .npy file. */
static iso_status_t split_path(const char *text, const char *path,
                               const char **colon_out)
{
    const char *colon = find_dataset(path);

    if (colon == NULL && !ends_with(path, strlen(path), ".npy")) {
        return fail_path(text, path);
    }
    if (colon != NULL && !is_dataset_name(colon + 1)) {
        return iso_fail(ISO_INVAL,
                        "'%s': '%s' is not the name of a dataset; expected "
                        "/NAME or /GROUP/NAME",
                        text, colon + 1);
    }
    *colon_out = colon;
    return ISO_OK;
}

iso_status_t iso_place_parse(const char *text, iso_place_t *place_out)
{
    iso_place_t place = {0};
    const char *colon = NULL;
    const char *equals = strchr(text, '=');
    const char *path = equals == NULL ? text : equals + 1;

    ISO_TRY(split_path(text, path, &colon));
    size_t length = colon == NULL ? strlen(path) : (size_t)(colon - path);
    place.path = copy_part(path, length);
    bool complete = place.path != NULL;
    if (colon != NULL) {
        place.dataset = iso_text_copy(colon + 1);
        complete = complete && place.dataset != NULL;
    }
    if (equals != NULL && equals != text) {
        place.name = copy_part(text, (size_t)(equals - text));
        complete = complete && place.name != NULL;
    }
    if (!complete) {
        iso_place_free(&place);
        return ISO_NOMEM;
    }
    *place_out = place;
    return ISO_OK;
}

void iso_place_free(iso_place_t *place)
{
    iso_free(place->name);
    iso_free(place->path);
    iso_free(place->dataset);
    *place = (iso_place_t){0};
}
