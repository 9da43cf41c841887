#include "base/names.h"

#include "base/digest.h"
#include "base/mem.h"

#include <string.h>

typedef struct entry {
    const char *name; /* borrowed; NULL in a free place */
    uint64_t hash;
    int64_t value;
} entry_t;

struct iso_names {
    entry_t *entries;
    size_t capacity; /* a power of two, at most half full */
    size_t count;
};

enum { FIRST_CAPACITY = 16 };

iso_status_t iso_names_create(iso_names_t **names_out)
{
    iso_names_t *names = iso_alloc_zeroed(1, sizeof *names);

    if (names == NULL) {
        return ISO_NOMEM;
    }
    names->entries = iso_alloc_zeroed(FIRST_CAPACITY, sizeof *names->entries);
    if (names->entries == NULL) {
        iso_free(names);
        return ISO_NOMEM;
    }
    names->capacity = FIRST_CAPACITY;
    *names_out = names;
    return ISO_OK;
}

void iso_names_destroy(iso_names_t **names)
{
    if (*names != NULL) {
        iso_free((*names)->entries);
        iso_free(*names);
        *names = NULL;
    }
}

/* The place that holds name, or the free one where it belongs. */
static entry_t *find_place(entry_t *entries, size_t capacity, const char *name,
                           uint64_t hash)
{
    size_t at = (size_t)hash & (capacity - 1);

    while (entries[at].name != NULL &&
           (entries[at].hash != hash || strcmp(entries[at].name, name) != 0)) {
        at = (at + 1) & (capacity - 1);
    }
    return &entries[at];
}

static iso_status_t grow(iso_names_t *names)
{
    size_t capacity = names->capacity * 2;
    entry_t *entries = iso_alloc_zeroed(capacity, sizeof *entries);

    if (entries == NULL) {
        return ISO_NOMEM;
    }
    for (size_t i = 0; i < names->capacity; i++) {
        const entry_t *old = &names->entries[i];
        if (old->name != NULL) {
            *find_place(entries, capacity, old->name, old->hash) = *old;
        }
    }
    iso_free(names->entries);
    names->entries = entries;
    names->capacity = capacity;
    return ISO_OK;
}

iso_status_t iso_names_set(iso_names_t *names, const char *name, int64_t value)
{
    uint64_t hash = iso_digest_of(name, strlen(name));
    entry_t *place = find_place(names->entries, names->capacity, name, hash);

    if (place->name != NULL) {
        place->value = value;
        return ISO_OK;
    }
    if ((names->count + 1) * 2 > names->capacity) {
        ISO_TRY(grow(names));
        place = find_place(names->entries, names->capacity, name, hash);
    }
    *place = (entry_t){.name = name, .hash = hash, .value = value};
    names->count++;
    return ISO_OK;
}

bool iso_names_get(const iso_names_t *names, const char *name,
                   int64_t *value_out)
{
    uint64_t hash = iso_digest_of(name, strlen(name));
    const entry_t *place =
        find_place(names->entries, names->capacity, name, hash);

    if (place->name != NULL && value_out != NULL) {
        *value_out = place->value;
    }
    return place->name != NULL;
}

int64_t iso_names_count(const iso_names_t *names)
{
    return (int64_t)names->count;
}
