/*
 * 64-bit digests (XXH3) of everything that must be the same on all ranks.
 *
 * Integers are added as 8 little-endian bytes and texts with their length in
 * front, so that two different lists of fields never give the same stream.
 *
 *     iso_digest_t d;
 *     iso_digest_begin(&d);
 *     iso_digest_add_text(&d, name);
 *     iso_digest_add_int(&d, bytes);
 *     uint64_t value = iso_digest_end(&d);
 *
 * Arrays that are read in parts have another one: a sum over their elements,
 * which the parts can be added up to, whatever the cut.
 */
#ifndef ISO_DIGEST_H
#define ISO_DIGEST_H

#include <stddef.h>
#include <stdint.h>

/* State of a running digest; a value, nothing to free. */
typedef struct iso_digest {
    _Alignas(64) unsigned char state[640];
} iso_digest_t;

void iso_digest_begin(iso_digest_t *digest);
void iso_digest_add_bytes(iso_digest_t *digest, const void *bytes, size_t size);
void iso_digest_add_text(iso_digest_t *digest, const char *text);
void iso_digest_add_int(iso_digest_t *digest, int64_t value);
void iso_digest_add_double(iso_digest_t *digest, double value);
uint64_t iso_digest_end(const iso_digest_t *digest);

/* XXH3-64 of one block of bytes. */
uint64_t iso_digest_of(const void *bytes, size_t size);

/*
 * Sum modulo 2^64 over elements that lie behind each other in an array:
 * element i of the array adds output number i (from 0) of the generator
 * splitmix64 whose seed is the element's bits, an unsigned integer. Sums of
 * parts that together are the array add up to its own, in any order; an
 * element in another place gives another sum.
 *
 * width  [in]  bytes of an element: 1, 2, 4 or 8
 * first  [in]  index in the array of the first one here
 */
uint64_t iso_digest_elements(const void *elements, size_t width, uint64_t first,
                             size_t count);

#endif
