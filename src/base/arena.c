#include "base/arena.h"

#include "isotome/error.h"

#include "base/mem.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum {
    ARENA_ALIGNMENT = 16,
    FIRST_CHUNK_BYTES = 4096,
    LAST_CHUNK_BYTES = 1 << 20,
};

/* A piece of memory that blocks are cut from; they follow the struct. */
typedef struct chunk {
    _Alignas(ARENA_ALIGNMENT) struct chunk *next;
    size_t used;
    size_t capacity;
} chunk_t;

struct iso_arena {
    chunk_t *chunks; /* the first one is being filled, the others are full */
    size_t next_bytes;
    size_t bytes;
};

iso_status_t iso_arena_create(iso_arena_t **arena_out)
{
    iso_arena_t *arena = iso_alloc_zeroed(1, sizeof *arena);

    if (arena == NULL) {
        return ISO_NOMEM;
    }
    arena->next_bytes = FIRST_CHUNK_BYTES;
    *arena_out = arena;
    return ISO_OK;
}

void iso_arena_destroy(iso_arena_t **arena)
{
    if (*arena == NULL) {
        return;
    }
    chunk_t *chunk = (*arena)->chunks;
    while (chunk != NULL) {
        chunk_t *next = chunk->next;
        iso_free(chunk);
        chunk = next;
    }
    iso_free(*arena);
    *arena = NULL;
}

/*
 * Add a chunk with room for bytes. One that was made for a single large
 * block goes behind the chunk being filled, whose rest stays in use.
 */
static chunk_t *add_chunk(iso_arena_t *arena, size_t bytes)
{
    size_t capacity = bytes;

    if (bytes <= arena->next_bytes / 4) {
        capacity = arena->next_bytes;
        if (arena->next_bytes < LAST_CHUNK_BYTES) {
            arena->next_bytes *= 2;
        }
    }
    chunk_t *chunk = iso_alloc(sizeof *chunk + capacity);
    if (chunk == NULL) {
        return NULL;
    }
    chunk->used = 0;
    chunk->capacity = capacity;
    if (capacity == bytes && arena->chunks != NULL) {
        chunk->next = arena->chunks->next;
        arena->chunks->next = chunk;
    } else {
        chunk->next = arena->chunks;
        arena->chunks = chunk;
    }
    return chunk;
}

void *iso_arena_alloc(iso_arena_t *arena, size_t bytes)
{
    chunk_t *chunk = arena->chunks;

    if (bytes > PTRDIFF_MAX / 2) {
        (void)iso_fail(ISO_NOMEM, "out of memory: cannot allocate %zu bytes",
                       bytes);
        return NULL;
    }
    size_t rounded = (bytes + ARENA_ALIGNMENT - 1) / ARENA_ALIGNMENT;
    rounded = (rounded == 0 ? 1 : rounded) * ARENA_ALIGNMENT;
    if (chunk == NULL || chunk->capacity - chunk->used < rounded) {
        chunk = add_chunk(arena, rounded);
    }
    if (chunk == NULL) {
        return NULL;
    }
    char *block = (char *)(chunk + 1) + chunk->used;
    chunk->used += rounded;
    arena->bytes += bytes;
    return memset(block, 0, rounded);
}

void *iso_arena_array(iso_arena_t *arena, size_t count, size_t size)
{
    if (size != 0 && count > SIZE_MAX / size) {
        (void)iso_fail(ISO_NOMEM,
                       "out of memory: cannot allocate %zu times %zu bytes",
                       count, size);
        return NULL;
    }
    return iso_arena_alloc(arena, count * size);
}

char *iso_arena_text(iso_arena_t *arena, const char *text)
{
    return iso_arena_copy(arena, text, strlen(text) + 1);
}

void *iso_arena_copy(iso_arena_t *arena, const void *bytes, size_t size)
{
    void *block = iso_arena_alloc(arena, size);

    if (block != NULL && size > 0) {
        memcpy(block, bytes, size);
    }
    return block;
}

char *iso_arena_format(iso_arena_t *arena, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0) {
        (void)iso_fail(ISO_NOMEM, "cannot print a text in the form '%s'",
                       format);
        return NULL;
    }
    char *text = iso_arena_alloc(arena, (size_t)length + 1);
    if (text != NULL) {
        va_start(args, format);
        (void)vsnprintf(text, (size_t)length + 1, format, args);
        va_end(args);
    }
    return text;
}

size_t iso_arena_bytes(const iso_arena_t *arena)
{
    return arena->bytes;
}
