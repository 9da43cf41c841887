#include "base/digest.h"

#include "base/log.h"
#include "base/random.h"

#include <string.h>

/* Shows the struct of the state, so that it can live in a value. */
#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>

_Static_assert(sizeof(XXH3_state_t) <= sizeof(iso_digest_t),
               "the state of XXH3 fits");
_Static_assert(_Alignof(iso_digest_t) % _Alignof(XXH3_state_t) == 0,
               "the state of XXH3 is aligned");

static XXH3_state_t *state_of(iso_digest_t *digest)
{
    return (XXH3_state_t *)(void *)digest->state;
}

void iso_digest_begin(iso_digest_t *digest)
{
    memset(digest, 0, sizeof *digest);
    (void)XXH3_64bits_reset(state_of(digest));
}

void iso_digest_add_bytes(iso_digest_t *digest, const void *bytes, size_t size)
{
    if (size > 0) {
        (void)XXH3_64bits_update(state_of(digest), bytes, size);
    }
}

void iso_digest_add_text(iso_digest_t *digest, const char *text)
{
    size_t length = strlen(text);

    iso_digest_add_int(digest, (int64_t)length);
    iso_digest_add_bytes(digest, text, length);
}

void iso_digest_add_int(iso_digest_t *digest, int64_t value)
{
    unsigned char bytes[8];
    uint64_t rest = (uint64_t)value;

    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (unsigned char)(rest & 0xffU);
        rest >>= 8;
    }
    iso_digest_add_bytes(digest, bytes, sizeof bytes);
}

void iso_digest_add_double(iso_digest_t *digest, double value)
{
    int64_t bits = 0;

    _Static_assert(sizeof bits == sizeof value, "a double has 8 bytes");
    memcpy(&bits, &value, sizeof bits);
    iso_digest_add_int(digest, bits);
}

uint64_t iso_digest_end(const iso_digest_t *digest)
{
    return XXH3_64bits_digest(
        (const XXH3_state_t *)(const void *)digest->state);
}

uint64_t iso_digest_of(const void *bytes, size_t size)
{
    return XXH3_64bits(bytes, size);
}

/* -- sums over elements -- */

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "the first bytes of an integer are its low ones");

/* Inlined with a constant width, so that an element is one load and only the
 * sum is a chain. */
static inline uint64_t sum_elements(const unsigned char *elements, size_t width,
                                    uint64_t first, size_t count)
{
    uint64_t place = (first + 1) * ISO_RANDOM_STEP;
    uint64_t sum = 0;

    for (size_t i = 0; i < count; i++) {
        uint64_t bits = 0;
        memcpy(&bits, elements + i * width, width);
        sum += iso_random_mix(place + bits);
        place += ISO_RANDOM_STEP;
    }
    return sum;
}

uint64_t iso_digest_elements(const void *elements, size_t width, uint64_t first,
                             size_t count)
{
    ISO_ASSERT(width == 1 || width == 2 || width == 4 || width == 8);
    switch (width) {
    case 1:
        return sum_elements(elements, 1, first, count);
    case 2:
        return sum_elements(elements, 2, first, count);
    case 4:
        return sum_elements(elements, 4, first, count);
    default:
        return sum_elements(elements, 8, first, count);
    }
}
