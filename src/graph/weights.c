#include "isotome/error.h"

#include "base/arena.h"
#include "base/mem.h"
#include "base/names.h"
#include "graph/pass.h"

/* A tensor does not move while others are added, because passes hold on to
 * what they found; so each has its own block in the arena. */
struct iso_weights {
    iso_arena_t *arena; /* names and iso_tensor_t, not the elements */
    iso_names_t *names; /* name to place in the array */
    iso_tensor_t **tensors;
    int64_t count;
    int64_t most;
};

iso_status_t iso_weights_create(iso_weights_t **weights_out)
{
    iso_weights_t *weights = iso_alloc_zeroed(1, sizeof *weights);
    iso_status_t status;

    *weights_out = NULL;
    if (weights == NULL) {
        return ISO_NOMEM;
    }
    status = iso_arena_create(&weights->arena);
    if (status == ISO_OK) {
        status = iso_names_create(&weights->names);
    }
    if (status != ISO_OK) {
        iso_weights_destroy(&weights);
        return status;
    }
    *weights_out = weights;
    return ISO_OK;
}

void iso_weights_destroy(iso_weights_t **weights)
{
    iso_weights_t *dead = *weights;

    if (dead == NULL) {
        return;
    }
    for (int64_t i = 0; i < dead->count; i++) {
        iso_free(dead->tensors[i]->data);
    }
    iso_free(dead->tensors);
    iso_names_destroy(&dead->names);
    iso_arena_destroy(&dead->arena);
    iso_free(dead);
    *weights = NULL;
}

iso_status_t iso_weights_add(iso_weights_t *weights, const char *name,
                             const iso_tensor_t *tensor)
{
    iso_tensor_t *kept;
    void *tensors;
    char *copy;

    if (iso_weights_find(weights, name) != NULL) {
        return iso_fail(ISO_INVAL, "there are two weights named '%s'", name);
    }
    tensors = iso_array_grow(weights->tensors, weights->count, &weights->most,
                             sizeof(iso_tensor_t *));
    if (tensors == NULL) {
        return ISO_NOMEM;
    }
    weights->tensors = tensors;
    kept = iso_arena_copy(weights->arena, tensor, sizeof *tensor);
    copy = iso_arena_text(weights->arena, name);
    if (kept == NULL || copy == NULL) {
        return ISO_NOMEM;
    }
    ISO_TRY(iso_names_set(weights->names, copy, weights->count));
    weights->tensors[weights->count] = kept;
    weights->count++;
    return ISO_OK;
}

const iso_tensor_t *iso_weights_find(const iso_weights_t *weights,
                                     const char *name)
{
    int64_t place = 0;

    return iso_names_get(weights->names, name, &place) ? weights->tensors[place]
                                                       : NULL;
}
