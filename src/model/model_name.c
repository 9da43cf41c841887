/* Names of weights as names of HDF5 links, and the root digest. */
#include "isotome/error.h"

#include "base/digest.h"
#include "model_impl.h"

#include <stdlib.h>
#include <string.h>

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

void iso__model_link_of(const char *name, iso_text_t *link)
{
    const char *escaped = is_dots(name) ? "/%." : "/%";

    while (*name != '\0') {
        size_t plain = strcspn(name, escaped);
        if (plain == 0) {
            iso_text_add(link, "%%%02X", (unsigned)(unsigned char)*name);
            name++;
        } else {
            iso_text_add(link, "%.*s", (int)plain, name);
            name += plain;
        }
    }
}

/* Undo "%2F", "%25" and "%2E"; what else is there is left as it is. */
static void unescape(char *text)
{
    static const char *const codes[] = {"%2F", "%25", "%2E"};
    static const char chars[] = "/%.";
    char *to = text;

    for (const char *from = text; *from != '\0'; to++) {
        size_t i = 0;
        while (i < 3 && strncmp(from, codes[i], 3) != 0) {
            i++;
        }
        if (i < 3) {
            *to = chars[i];
            from += 3;
        } else {
            *to = *from;
            from++;
        }
    }
    *to = '\0';
}

iso_status_t iso__model_name_of(const char *link, iso_arena_t *arena,
                                const char **name_out)
{
    iso_text_t again = {0};
    char *name = iso_arena_text(arena, link);

    if (name == NULL) {
        return ISO_NOMEM;
    }
    unescape(name);
    iso__model_link_of(name, &again);
    iso_status_t status = again.status;
    if (status == ISO_OK &&
        (again.data == NULL || strcmp(again.data, link) != 0)) {
        status = iso_fail(ISO_INPUT,
                          "'%s' below /weights is not the name of "
                          "a weight",
                          link);
    }
    iso_text_free(&again);
    *name_out = name;
    return status;
}

static int compare_names(const void *a, const void *b)
{
    const iso_weight_info_t *weight_a = a;
    const iso_weight_info_t *weight_b = b;

    return strcmp(weight_a->name, weight_b->name);
}

void iso__model_sort(iso_weight_info_t *weights, int count)
{
    if (count > 0) {
        qsort(weights, (size_t)count, sizeof *weights, compare_names);
    }
}

uint64_t iso__model_digest(const iso_weight_info_t *weights, int count,
                           uint64_t format_version)
{
    iso_digest_t digest;

    iso_digest_begin(&digest);
    for (int i = 0; i < count; i++) {
        const iso_weight_info_t *weight = &weights[i];
        iso_digest_add_text(&digest, weight->name);
        iso_digest_add_text(&digest, iso_dtype_string(weight->dtype));
        iso_digest_add_int(&digest, weight->shape.rank);
        for (int axis = 0; axis < weight->shape.rank; axis++) {
            iso_digest_add_int(&digest, weight->shape.dim[axis].size);
        }
        iso_digest_add_int(&digest, (int64_t)weight->digest);
        if (format_version > 1) {
            iso_digest_add_int(&digest, (int64_t)weight->part_digest);
        }
    }
    return iso_digest_end(&digest);
}
