#include "base/mem.h"

#include "isotome/error.h"

#include "base/log.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Large blocks are of whole pages of this size, if the system gives them: a
 * page fault for each 4 KiB costs more than reading the elements from a file.
 */
enum { HUGE_BYTES = 2 * 1024 * 1024 };

/* In front of each block; a whole alignment, so that the block keeps it. */
typedef struct mem_head {
    _Alignas(ISO_MEM_ALIGNMENT) size_t bytes;
    uint64_t mark; /* live_mark while the block is held */
} mem_head_t;

_Static_assert(sizeof(mem_head_t) == ISO_MEM_ALIGNMENT, "one alignment");

static const uint64_t live_mark = 0x69736f746f6d6521U;

static atomic_int_least64_t held_blocks;
static atomic_int_least64_t allocation_calls;
static atomic_size_t held_bytes;
static atomic_size_t held_peak_bytes;
static atomic_int_least64_t calls_to_failure;

static bool must_fail(void)
{
    int_least64_t left = atomic_load(&calls_to_failure);

    while (left > 0) {
        if (atomic_compare_exchange_weak(&calls_to_failure, &left, left - 1)) {
            return left == 1;
        }
    }
    return false;
}

static void count_block(size_t bytes)
{
    size_t now = atomic_fetch_add(&held_bytes, bytes) + bytes;
    size_t peak = atomic_load(&held_peak_bytes);

    (void)atomic_fetch_add(&held_blocks, 1);
    (void)atomic_fetch_add(&allocation_calls, 1);
    while (now > peak &&
           !atomic_compare_exchange_weak(&held_peak_bytes, &peak, now)) {
    }
}

static mem_head_t *head_of(void *block)
{
    mem_head_t *head = (mem_head_t *)block - 1;

    ISO_ASSERT(head->mark == live_mark);
    return head;
}

/* aligned_alloc wants a size that is a multiple of the alignment. */
static void *alloc_pages(size_t bytes)
{
    const size_t whole = (bytes + HUGE_BYTES - 1) / HUGE_BYTES * HUGE_BYTES;
    void *pages = aligned_alloc(HUGE_BYTES, whole);

#ifdef MADV_HUGEPAGE
    if (pages != NULL) {
        /* The last page stays small, so that no more is touched than asked. */
        (void)madvise(pages, bytes / HUGE_BYTES * HUGE_BYTES, MADV_HUGEPAGE);
    }
#endif
    return pages;
}

void *iso_alloc(size_t bytes)
{
    mem_head_t *head = NULL;

    if (bytes <= PTRDIFF_MAX - (size_t)2 * HUGE_BYTES && !must_fail()) {
        size_t blocks = (bytes + ISO_MEM_ALIGNMENT - 1) / ISO_MEM_ALIGNMENT;
        size_t whole = sizeof *head + blocks * ISO_MEM_ALIGNMENT;

        head = whole < HUGE_BYTES ? aligned_alloc(ISO_MEM_ALIGNMENT, whole)
                                  : alloc_pages(whole);
    }
    if (head == NULL) {
        (void)iso_fail(ISO_NOMEM, "out of memory: cannot allocate %zu bytes",
                       bytes);
        return NULL;
    }
    head->bytes = bytes;
    head->mark = live_mark;
    count_block(bytes);
    return head + 1;
}

void *iso_alloc_zeroed(size_t count, size_t size)
{
    if (size != 0 && count > SIZE_MAX / size) {
        (void)iso_fail(ISO_NOMEM,
                       "out of memory: cannot allocate %zu times %zu bytes",
                       count, size);
        return NULL;
    }
    void *block = iso_alloc(count * size);
    if (block != NULL) {
        memset(block, 0, count * size);
    }
    return block;
}

void *iso_realloc(void *block, size_t bytes)
{
    void *moved = iso_alloc(bytes);

    if (moved != NULL && block != NULL) {
        size_t old_bytes = head_of(block)->bytes;
        memcpy(moved, block, old_bytes < bytes ? old_bytes : bytes);
        iso_free(block);
    }
    return moved;
}

void *iso_array_grow(void *array, int64_t count, int64_t *most, size_t size)
{
    const int64_t more = *most == 0 ? 8 : 2 * *most;
    void *grown;

    if (count < *most) {
        return array;
    }
    grown = iso_realloc(array, (size_t)more * size);
    if (grown != NULL) {
        *most = more;
    }
    return grown;
}

char *iso_text_copy(const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = iso_alloc(bytes);

    if (copy != NULL) {
        memcpy(copy, text, bytes);
    }
    return copy;
}

void iso_free(void *block)
{
    if (block == NULL) {
        return;
    }
    mem_head_t *head = head_of(block);
    (void)atomic_fetch_sub(&held_blocks, 1);
    (void)atomic_fetch_sub(&held_bytes, head->bytes);
    head->mark = 0;
    free(head);
}

iso_mem_count_t iso_mem_count(void)
{
    return (iso_mem_count_t){
        .blocks = atomic_load(&held_blocks),
        .allocations = atomic_load(&allocation_calls),
        .bytes = atomic_load(&held_bytes),
        .peak_bytes = atomic_load(&held_peak_bytes),
    };
}

void iso_mem_fail_at(int64_t n)
{
    atomic_store(&calls_to_failure, n);
}

size_t iso_mem_process_peak_bytes(void)
{
    static const char field[] = "VmHWM:";
    char line[256];
    size_t peak_bytes = 0;
    FILE *file = fopen("/proc/self/status", "r");

    if (file == NULL) {
        return 0;
    }
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, field, sizeof field - 1) == 0) {
            peak_bytes = strtoul(line + sizeof field - 1, NULL, 10) * 1024U;
            break;
        }
    }
    (void)fclose(file);
    return peak_bytes;
}
