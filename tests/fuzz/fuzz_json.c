/*
 * Mutations for targets that read JSON: most bytes that libFuzzer changes make
 * a text that is no JSON. One place of the tree is changed to a value that
 * readers must be afraid of, or to what stands in another place.
 */
#include "base/random.h"
#include "fuzz.h"

#include <jansson.h>

static iso_random_t state;

static size_t below(size_t count)
{
    return (size_t)iso_random_below(&state, count);
}

static json_t *feared_number(void)
{
    static const json_int_t numbers[] = {
        0,         1,         -1,        2,          3,
        7,         64,        255,       65536,      1 << 20,
        1 << 30,   INT32_MAX, 1LL << 31, 1LL << 32,  1LL << 40,
        1LL << 62, INT64_MAX, INT64_MIN, -INT32_MAX, 1000000};
    static const double reals[] = {0.0, -0.0, 0.5, -1.5, 1e-308, 1e308, 4e18};

    if (below(4) == 0) {
        return json_real(reals[below(sizeof reals / sizeof *reals)]);
    }
    return json_integer(numbers[below(sizeof numbers / sizeof *numbers)]);
}

static json_t *feared_value(void)
{
    static const char *const texts[] = {"",
                                        "x",
                                        "N",
                                        "f32",
                                        "bool",
                                        "cpu|ref",
                                        "%s%n",
                                        "w0",
                                        "a\nb",
                                        "\x1b[2J",
                                        "N*N*N",
                                        "N/0",
                                        "9999999999999999999",
                                        "-1",
                                        "relu",
                                        "conv",
                                        "matmul",
                                        "(N+1)/2",
                                        "[1,2]"};

    switch (below(8)) {
    case 0:
        return json_null();
    case 1:
        return json_boolean(below(2));
    case 2:
        return json_array();
    case 3:
        return json_object();
    case 4:
    case 5:
        return json_string(texts[below(sizeof texts / sizeof *texts)]);
    default:
        return feared_number();
    }
}

/* A member of an array or object; where says which. */
typedef struct place {
    json_t *parent;
    const char *key; /* NULL in an array */
    size_t index;
    json_t *value;
} place_t;

static size_t size_of(const json_t *value)
{
    return json_is_array(value) ? json_array_size(value)
                                : json_object_size(value);
}

static place_t member_of(json_t *parent, size_t index)
{
    place_t place = {.parent = parent, .index = index};

    if (json_is_array(parent)) {
        place.value = json_array_get(parent, index);
        return place;
    }
    void *at = json_object_iter(parent);
    while (index > 0) {
        at = json_object_iter_next(parent, at);
        index--;
    }
    place.key = json_object_iter_key(at);
    place.value = json_object_iter_value(at);
    return place;
}

/* Some place below root; its value is NULL when there is none. */
static place_t some_place(json_t *root)
{
    place_t place = {.value = root};

    while (size_of(place.value) > 0 && (place.parent == NULL || below(4) > 0)) {
        place = member_of(place.value, below(size_of(place.value)));
    }
    if (place.parent == NULL) {
        place.value = NULL;
    }
    return place;
}

static void put(const place_t *place, json_t *value)
{
    if (place->key == NULL) {
        (void)json_array_set_new(place->parent, place->index, value);
    } else {
        (void)json_object_set_new(place->parent, place->key, value);
    }
}

static void drop(const place_t *place)
{
    if (place->key == NULL) {
        (void)json_array_remove(place->parent, place->index);
    } else {
        (void)json_object_del(place->parent, place->key);
    }
}

static void change(json_t *root)
{
    const place_t place = some_place(root);
    const place_t other = some_place(root);

    if (place.value == NULL) {
        return;
    }
    switch (below(8)) {
    case 0:
        drop(&place);
        break;
    case 1: /* NOLINT(bugprone-branch-clone) */
    case 2:
        put(&place, json_deep_copy(other.value));
        break;
    case 3:
        if (json_is_array(place.value)) {
            (void)json_array_append_new(place.value, feared_value());
        }
        break;
    case 4:
        if (json_is_integer(place.value)) {
            const json_int_t value = json_integer_value(place.value);
            put(&place, json_integer(value / 2 + (json_int_t)below(3)));
        }
        break;
    default:
        put(&place, feared_value());
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most,
                               unsigned seed)
{
    json_t *root = NULL;

    state = (iso_random_t){.state = seed};
    if (below(8) > 0) {
        root = json_loadb((const char *)data, size, 0, NULL);
    }
    if (root == NULL) {
        return LLVMFuzzerMutate(data, size, most);
    }
    for (size_t left = 1 + below(3); left > 0; left--) {
        change(root);
    }
    const size_t length = json_dumpb(root, (char *)data, most, JSON_COMPACT);
    json_decref(root);
    return length < most ? length : most;
}
