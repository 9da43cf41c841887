#include "base/digest.h"

#include "base/log.h"
#include "base/random.h"

#include <string.h>

/* Shows the struct of the state, so that it can live in a value. */
#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>
#if ISO_XXH_DISPATCH
#include <xxh_x86dispatch.h> /* the widest vectors that the CPU has */
#endif

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

/* Of one element, an unsigned integer. */
static inline uint64_t bits_of(const unsigned char *element, size_t width)
{
    uint16_t two = 0;
    uint32_t four = 0;
    uint64_t eight = 0;

    switch (width) {
    case 1:
        return *element;
    case 2:
        memcpy(&two, element, sizeof two);
        return two;
    case 4:
        memcpy(&four, element, sizeof four);
        return four;
    default:
        memcpy(&eight, element, sizeof eight);
        return eight;
    }
}

/* Inlined with a constant width, so that an element is one load and only the
 * sum is a chain. */
static inline __attribute__((always_inline)) uint64_t
sum_of_width(const unsigned char *elements, size_t width, uint64_t first,
             size_t count)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < count; i++) {
        sum += iso_random_mix((first + i + 1) * ISO_RANDOM_STEP +
                              bits_of(elements + i * width, width));
    }
    return sum;
}

static inline __attribute__((always_inline)) uint64_t
sum_elements(const unsigned char *elements, size_t width, uint64_t first,
             size_t count)
{
    switch (width) {
    case 1:
        return sum_of_width(elements, 1, first, count);
    case 2:
        return sum_of_width(elements, 2, first, count);
    case 4:
        return sum_of_width(elements, 4, first, count);
    default:
        return sum_of_width(elements, 8, first, count);
    }
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static uint64_t
sum_avx2(const unsigned char *elements, size_t width, uint64_t first,
         size_t count)
{
    return sum_elements(elements, width, first, count);
}

/* Which has products of 64 bits. */
__attribute__((target("avx512f,avx512dq,avx512vl"))) static uint64_t
sum_avx512(const unsigned char *elements, size_t width, uint64_t first,
           size_t count)
{
    return sum_elements(elements, width, first, count);
}
#endif

uint64_t iso_digest_elements(const void *elements, size_t width, uint64_t first,
                             size_t count)
{
    ISO_ASSERT(width == 1 || width == 2 || width == 4 || width == 8);
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl")) {
        return sum_avx512(elements, width, first, count);
    }
    if (__builtin_cpu_supports("avx2")) {
        return sum_avx2(elements, width, first, count);
    }
#endif
    return sum_elements(elements, width, first, count);
}
