/*
 * Counted memory. Every allocation of the project comes through here, so
 * that a test can say "nothing is left" and a run can say what it took.
 *
 * Blocks are aligned to 64 bytes (a cache line and an AVX-512 vector) and
 * carry their size; iso_free(NULL) is allowed. Counters are atomic.
 */
#ifndef ISO_MEM_H
#define ISO_MEM_H

#include <stddef.h>
#include <stdint.h>

enum { ISO_MEM_ALIGNMENT = 64 };

/*
 * Allocate bytes; 0 gives a valid block of no use.
 *
 * Not collective.
 * Returns NULL and records ISO_NOMEM (with the size asked for) on failure.
 */
void *iso_alloc(size_t bytes);

/* As iso_alloc, filled with zero bytes; count * size is checked. */
void *iso_alloc_zeroed(size_t count, size_t size);

/* Grow or shrink; on failure NULL is returned and block stays as it was. */
void *iso_realloc(void *block, size_t bytes);

/*
 * Room for one more element at the end of an array, which doubles when it is
 * full.
 *
 *     void *grown = iso_array_grow(list, n, &most, sizeof *list);
 *
 *     if (grown == NULL) {
 *         return ISO_NOMEM;
 *     }
 *     list = grown;
 *
 * array  [in]      NULL for none yet
 * count  [in]      elements that are in use
 * most   [in,out]  elements there is room for; 0 for none yet
 * Returns the array, perhaps moved; on failure NULL, and array stays as it
 * was.
 */
void *iso_array_grow(void *array, int64_t count, int64_t *most, size_t size);

/* Copy of a text; NULL on failure. */
char *iso_text_copy(const char *text);

void iso_free(void *block);

/* What is held now, the most that was held, and calls so far. */
typedef struct iso_mem_count {
    int64_t blocks;
    int64_t allocations; /* calls that allocated, since the start */
    size_t bytes;
    size_t peak_bytes;
} iso_mem_count_t;

iso_mem_count_t iso_mem_count(void);

/*
 * Make the n-th allocation from now fail, once (1 = the next one); 0 turns
 * this off. For tests of the error paths.
 */
void iso_mem_fail_at(int64_t n);

/* Largest resident size of this process so far (VmHWM), 0 if unknown. */
size_t iso_mem_process_peak_bytes(void);

#endif
