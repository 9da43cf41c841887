/*
 * Arena: many small blocks that die together. A graph and a plan live in
 * one each, so that destroying them is one call and a half-built one cannot
 * leak.
 *
 *     iso_arena_t *arena;
 *     ISO_TRY(iso_arena_create(&arena));
 *     node->name = iso_arena_text(arena, "conv1");
 *     iso_arena_destroy(&arena);
 */
#ifndef ISO_ARENA_H
#define ISO_ARENA_H

#include "isotome/status.h"

#include <stddef.h>

typedef struct iso_arena iso_arena_t;

iso_status_t iso_arena_create(iso_arena_t **arena_out);

/* Frees everything that came from it; sets *arena to NULL. */
void iso_arena_destroy(iso_arena_t **arena);

/* Zeroed block aligned to 16 bytes; NULL (ISO_NOMEM recorded) on failure. */
void *iso_arena_alloc(iso_arena_t *arena, size_t bytes);

/* As above for count elements of size bytes; the product is checked. */
void *iso_arena_array(iso_arena_t *arena, size_t count, size_t size);

/* Copy of a text / of bytes / a formatted text, owned by the arena. */
char *iso_arena_text(iso_arena_t *arena, const char *text);
void *iso_arena_copy(iso_arena_t *arena, const void *bytes, size_t size);
char *iso_arena_format(iso_arena_t *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Bytes handed out so far. */
size_t iso_arena_bytes(const iso_arena_t *arena);

#endif
