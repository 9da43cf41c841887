/*
 * The packing space of one thread, all of it reserved when a context is
 * made. The sizes suit a core with 1 MiB of second-level cache and are
 * constants of the build, because the planner counts them.
 */
#ifndef ISO_SPACE_H
#define ISO_SPACE_H

#include "kernel/cpu/window.h"

#include <stddef.h>

enum {
    ISO_SPACE_SLACK = 256, /* elements: BLIS's kernels read past a panel */
    ISO_SPACE_ROWS = 384,  /* rows of narrow panels at once */
    ISO_SPACE_NARROW = ISO_SPACE_ROWS * ISO_BLOCK_MOST + ISO_SPACE_SLACK,
    ISO_SPACE_WIDE = 64 * ISO_BLOCK_MOST + ISO_SPACE_SLACK,
    ISO_SPACE_TILE = 384,
    ISO_SPACE_PARTIALS = 2048 * 1024,
    ISO_SPACE_WINDOWS_BYTES = 256 * 1024,
};

typedef struct iso_space {
    float narrow[ISO_SPACE_NARROW];
    float wide[ISO_SPACE_WIDE];
    float tile[ISO_SPACE_TILE];
    float partials[ISO_SPACE_PARTIALS];
    int64_t tap_from[ISO_BLOCK_MOST];
    unsigned char windows[ISO_SPACE_WINDOWS_BYTES];
} iso_space_t;

#endif
