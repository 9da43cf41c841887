/* Open addressing with linear steps; at most half of it is taken. */
#include "isotome/error.h"

#include "base/mem.h"
#include "plan/shard/arrange_impl.h"

#include <string.h>

static size_t first_slot(const iso__index_t *index, uint64_t key)
{
    /* The upper bits of a product with 2^64 / phi depend on all of the key. */
    return (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) &
           (index->capacity - 1);
}

/* Where the key is, or the free slot where it would be. */
static size_t slot_of(const iso__index_t *index, uint64_t key)
{
    size_t slot = first_slot(index, key);

    while (index->values[slot] >= 0 && index->keys[slot] != key) {
        slot = (slot + 1) & (index->capacity - 1);
    }
    return slot;
}

int32_t iso__index_find(const iso__index_t *index, uint64_t key)
{
    return index->capacity == 0 ? -1 : index->values[slot_of(index, key)];
}

static iso_status_t grow(iso__index_t *index)
{
    const size_t capacity = index->capacity == 0 ? 64 : index->capacity * 2;
    iso__index_t larger = {
        .keys = iso_alloc_zeroed(capacity, sizeof *larger.keys),
        .values = iso_alloc_zeroed(capacity, sizeof *larger.values),
        .capacity = capacity,
        .count = index->count};

    if (larger.keys == NULL || larger.values == NULL) {
        iso__index_free(&larger);
        return ISO_NOMEM;
    }
    memset(larger.values, 0xff, capacity * sizeof *larger.values);
    for (size_t i = 0; i < index->capacity; i++) {
        if (index->values[i] >= 0) {
            const size_t slot = slot_of(&larger, index->keys[i]);
            larger.keys[slot] = index->keys[i];
            larger.values[slot] = index->values[i];
        }
    }
    iso__index_free(index);
    *index = larger;
    return ISO_OK;
}

iso_status_t iso__index_add(iso__index_t *index, uint64_t key, int32_t value)
{
    if (index->count >= index->capacity / 2) {
        ISO_TRY(grow(index));
    }
    const size_t slot = slot_of(index, key);

    index->keys[slot] = key;
    index->values[slot] = value;
    index->count++;
    return ISO_OK;
}

void iso__index_free(iso__index_t *index)
{
    iso_free(index->keys);
    iso_free(index->values);
    *index = (iso__index_t){0};
}

void *iso__room_for_one(void *array, size_t *capacity, size_t count,
                        size_t size)
{
    if (count < *capacity) {
        return array;
    }
    const size_t wanted = *capacity == 0 ? 16 : *capacity * 2;

    if (wanted > SIZE_MAX / size) {
        (void)iso_fail(ISO_NOMEM, "out of memory: a list of %zu elements",
                       wanted);
        return NULL;
    }
    void *larger = iso_realloc(array, wanted * size);

    if (larger != NULL) {
        *capacity = wanted;
    }
    return larger;
}
