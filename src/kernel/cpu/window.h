/*
 * Windows: the wide operand of a convolution read where it lies.
 *
 * Columns are output positions of all images, rows are products (channel,
 * tap). A panel of columns is cut into runs of neighbours that read
 * neighbours (one run for each output line; single columns when the window
 * moves by more than two). For one tap a run reads at one offset, behind a
 * mask of the lanes that lie inside the image: everything else is the
 * padding, +0. Offsets and masks do not depend on the channel, so they are
 * tabled once for a panel.
 *
 * Transposed convolution is the same with positions divided: a tap exists
 * only where the division is exact.
 */
#ifndef ISO_WINDOW_H
#define ISO_WINDOW_H

#include "graph/param.h"
#include "kernel/arith.h"

#include <stddef.h>
#include <stdint.h>

enum { ISO_WINDOW_VECTORS = 8 }; /* of a panel, at most */

/* Spatial dims are three, the first ones 1 where there are fewer. */
typedef struct iso_geometry {
    int64_t in[ISO_MAX_SPATIAL];
    int64_t out[ISO_MAX_SPATIAL];
    int64_t kernel[ISO_MAX_SPATIAL];
    /* output o, tap t reads (o step + shift + t tap_step) / divide */
    int64_t step[ISO_MAX_SPATIAL];
    int64_t shift[ISO_MAX_SPATIAL];
    int64_t tap_step[ISO_MAX_SPATIAL];
    int64_t divide[ISO_MAX_SPATIAL];
    int64_t plane;      /* elements between channels */
    int64_t image_step; /* elements between images */
} iso_geometry_t;

iso_geometry_t iso__geometry_of_conv(const iso_window_t *window,
                                     const int64_t *in_dims,
                                     const int64_t *out_dims);
iso_geometry_t iso__geometry_of_transpose(const iso_window_t *window,
                                          const int64_t *in_dims,
                                          const int64_t *out_dims);

/* Taps of a kernel, output positions of an image. */
int64_t iso__geometry_taps(const iso_geometry_t *geometry);
int64_t iso__geometry_columns(const iso_geometry_t *geometry);

/* Neighbouring columns of one vector that read at equal distances. */
typedef struct iso_run {
    int64_t at[ISO_MAX_SPATIAL];        /* position at tap offset 0 */
    int64_t remainder[ISO_MAX_SPATIAL]; /* of the division */
    int first;                          /* lane */
    int count;
} iso_run_t;

/* The table of one panel for the taps [first_tap, first_tap + n_taps). */
typedef struct iso_window_panel {
    int n_vectors;
    int n_taps;
    int n_runs;
    int run_end[ISO_WINDOW_VECTORS]; /* by vector: runs up to this one */
    int64_t step;            /* elements between what neighbours read: 1, 2 */
    int64_t plane;           /* elements between channels */
    iso_run_t *runs;         /* (n_runs) */
    int64_t *run_from;       /* (n_runs) where lane 0 of the vector would
                              * read at tap offset 0 */
    const int64_t *tap_from; /* (n_taps) offset of each tap */
    uint16_t *masks;         /* (n_runs, n_taps) lanes inside the image */
} iso_window_panel_t;

/* Bytes of a panel's table, a multiple of 64. */
size_t iso__window_panel_bytes(const iso_geometry_t *geometry, int lanes,
                               int n_vectors);

/* Offsets of the taps [first_tap, first_tap + n_taps) in one channel. */
void iso__window_taps(const iso_geometry_t *geometry, int64_t first_tap,
                      int n_taps, int64_t *tap_from_out);

/*
 * Begin a panel's table.
 * first, count  [in]  columns
 * space         [in]  iso__window_panel_bytes, aligned to 64; the panel is
 *                     at its beginning
 */
iso_window_panel_t *iso__window_begin(const iso_geometry_t *geometry, int lanes,
                                      int n_vectors, int64_t first,
                                      int64_t count, void *space);

/*
 * Fill the table for the taps [first_tap, first_tap + n_taps).
 * tap_from  [in]  their offsets; borrowed
 */
void iso__window_fill(const iso_geometry_t *geometry, int64_t first_tap,
                      int n_taps, const int64_t *tap_from,
                      iso_window_panel_t *panel);

#endif
