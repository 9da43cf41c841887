#include "kernel/cpu/window.h"

#include "base/log.h"

#include <stdbool.h>

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0 ? 1 : 0);
}

static int64_t min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- Geometry ---- */

static iso_geometry_t geometry_of(const iso_window_t *window,
                                  const int64_t *in_dims,
                                  const int64_t *out_dims)
{
    const int missing = ISO_MAX_SPATIAL - window->n_spatial;
    iso_geometry_t g = {.plane = 1};

    for (int i = 0; i < ISO_MAX_SPATIAL; i++) {
        const int axis = i - missing;

        g.in[i] = axis < 0 ? 1 : in_dims[axis];
        g.out[i] = axis < 0 ? 1 : out_dims[axis];
        g.kernel[i] = axis < 0 ? 1 : window->kernel[axis];
        g.step[i] = 1;
        g.tap_step[i] = 1;
        g.divide[i] = 1;
        g.plane *= g.in[i];
    }
    return g;
}

/* A window of one element that moves by one reads the image as it lies: one
 * line instead of many. */
static void join_lines(iso_geometry_t *g)
{
    for (int i = 0; i < ISO_MAX_SPATIAL; i++) {
        if (g->kernel[i] != 1 || g->step[i] != 1 || g->shift[i] != 0 ||
            g->divide[i] != 1 || g->in[i] != g->out[i]) {
            return;
        }
    }
    for (int i = 0; i < ISO_MAX_SPATIAL; i++) {
        g->in[i] = i + 1 == ISO_MAX_SPATIAL ? g->plane : 1;
        g->out[i] = g->in[i];
    }
}

iso_geometry_t iso__geometry_of_conv(const iso_window_t *window,
                                     const int64_t *in_dims,
                                     const int64_t *out_dims)
{
    const int missing = ISO_MAX_SPATIAL - window->n_spatial;
    iso_geometry_t g = geometry_of(window, in_dims, out_dims);

    for (int i = 0; i < window->n_spatial; i++) {
        g.step[missing + i] = window->strides[i];
        g.shift[missing + i] = -window->pads_begin[i];
        g.tap_step[missing + i] = window->dilations[i];
    }
    join_lines(&g);
    return g;
}

/* o = i stride - pad + t dilation, solved for i. */
iso_geometry_t iso__geometry_of_transpose(const iso_window_t *window,
                                          const int64_t *in_dims,
                                          const int64_t *out_dims)
{
    const int missing = ISO_MAX_SPATIAL - window->n_spatial;
    iso_geometry_t g = geometry_of(window, in_dims, out_dims);

    for (int i = 0; i < window->n_spatial; i++) {
        g.divide[missing + i] = window->strides[i];
        g.shift[missing + i] = window->pads_begin[i];
        g.tap_step[missing + i] = -window->dilations[i];
    }
    return g;
}

int64_t iso__geometry_taps(const iso_geometry_t *geometry)
{
    return geometry->kernel[0] * geometry->kernel[1] * geometry->kernel[2];
}

int64_t iso__geometry_columns(const iso_geometry_t *geometry)
{
    return geometry->out[0] * geometry->out[1] * geometry->out[2];
}

/* ---- Columns ---- */

/* Do neighbours on a line read at a distance that packing knows? */
static bool is_line(const iso_geometry_t *g)
{
    return g->step[2] <= 2 && g->divide[2] == 1;
}

/* Most runs of a panel. */
static int runs_most(const iso_geometry_t *geometry, int lanes, int n_vectors)
{
    const int width = lanes * n_vectors;

    if (!is_line(geometry) || geometry->out[2] < 1) {
        return width;
    }
    return (int)min64(width, n_vectors + width / geometry->out[2] + 1);
}

static size_t round_up(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

static int64_t taps_at_once(const iso_geometry_t *geometry)
{
    return min64(iso__geometry_taps(geometry), ISO_BLOCK_MOST);
}

size_t iso__window_panel_bytes(const iso_geometry_t *geometry, int lanes,
                               int n_vectors)
{
    const size_t runs = (size_t)runs_most(geometry, lanes, n_vectors);
    const size_t taps = (size_t)taps_at_once(geometry);

    return round_up(sizeof(iso_window_panel_t)) +
           round_up(runs * sizeof(iso_run_t)) +
           round_up(runs * sizeof(int64_t)) +
           round_up(runs * taps * sizeof(uint16_t));
}

/* Where the first column of a run reads; returns its offset. */
static int64_t run_place(const iso_geometry_t *g, int64_t image,
                         const int64_t position[ISO_MAX_SPATIAL],
                         iso_run_t *run)
{
    int64_t offset = 0;

    for (int i = 0; i < ISO_MAX_SPATIAL; i++) {
        const int64_t read = position[i] * g->step[i] + g->shift[i];

        run->at[i] = floor_div(read, g->divide[i]);
        run->remainder[i] = read - run->at[i] * g->divide[i];
        offset = offset * g->in[i] + run->at[i];
    }
    return image * g->image_step + offset;
}

/* Runs of one vector, whose first column is `first`. */
static void vector_runs(const iso_geometry_t *g, int64_t first, int count,
                        iso_window_panel_t *panel)
{
    int lane = 0;

    while (lane < count) {
        const int64_t column = first + lane;
        const int64_t line = column / g->out[2];
        const int64_t position[ISO_MAX_SPATIAL] = {
            line / g->out[1] % g->out[0], line % g->out[1], column % g->out[2]};
        const int64_t line_rest = is_line(g) ? g->out[2] - position[2] : 1;
        iso_run_t *run = &panel->runs[panel->n_runs];

        run->first = lane;
        run->count = (int)min64(line_rest, count - lane);
        panel->run_from[panel->n_runs++] =
            run_place(g, line / g->out[1] / g->out[0], position, run) -
            lane * panel->step;
        lane += run->count;
    }
}

iso_window_panel_t *iso__window_begin(const iso_geometry_t *geometry, int lanes,
                                      int n_vectors, int64_t first,
                                      int64_t count, void *space)
{
    const int most = runs_most(geometry, lanes, n_vectors);
    iso_window_panel_t *panel = space;
    char *runs = (char *)space + round_up(sizeof *panel);
    char *run_from = runs + round_up((size_t)most * sizeof *panel->runs);
    char *masks = run_from + round_up((size_t)most * sizeof *panel->run_from);

    *panel = (iso_window_panel_t){
        .n_vectors = n_vectors,
        .step = is_line(geometry) ? geometry->step[2] : 1,
        .plane = geometry->plane,
        .runs = (iso_run_t *)(void *)runs,
        .run_from = (int64_t *)(void *)run_from,
        .masks = (uint16_t *)(void *)masks,
    };
    ISO_ASSERT(n_vectors <= ISO_WINDOW_VECTORS && lanes <= 16);
    for (int v = 0; v < n_vectors; v++) {
        const int64_t left = count - (int64_t)v * lanes;

        if (left > 0) {
            vector_runs(geometry, first + (int64_t)v * lanes,
                        (int)min64(left, lanes), panel);
        }
        panel->run_end[v] = panel->n_runs;
    }
    ISO_ASSERT(panel->n_runs <= most);
    return panel;
}

/* ---- Taps ---- */

/* What a tap adds to the position of a run, and the remainder it needs. */
typedef struct tap_place {
    int64_t add[ISO_MAX_SPATIAL];
    int64_t remainder[ISO_MAX_SPATIAL];
} tap_place_t;

static tap_place_t tap_place(const iso_geometry_t *g, int64_t tap)
{
    const int64_t index[ISO_MAX_SPATIAL] = {tap / g->kernel[2] / g->kernel[1],
                                            tap / g->kernel[2] % g->kernel[1],
                                            tap % g->kernel[2]};
    tap_place_t place;

    for (int i = 0; i < ISO_MAX_SPATIAL; i++) {
        const int64_t back = -index[i] * g->tap_step[i];

        place.add[i] = -floor_div(back, g->divide[i]);
        place.remainder[i] = back + place.add[i] * g->divide[i];
    }
    return place;
}

void iso__window_taps(const iso_geometry_t *geometry, int64_t first_tap,
                      int n_taps, int64_t *tap_from_out)
{
    for (int t = 0; t < n_taps; t++) {
        const tap_place_t place = tap_place(geometry, first_tap + t);

        tap_from_out[t] =
            (place.add[0] * geometry->in[1] + place.add[1]) * geometry->in[2] +
            place.add[2];
    }
}

/* First lane of a run whose position, from `at` on, is at least `least`. */
static int64_t first_at(const iso_run_t *run, int64_t at, int64_t step,
                        int64_t least)
{
    const int64_t lanes = (least - at + step - 1) / step;

    return at >= least ? 0 : min64(run->count, lanes);
}

/* Lanes of a run that read inside the image. */
static uint16_t run_mask(const iso_geometry_t *g, int64_t step,
                         const iso_run_t *run, const tap_place_t *tap)
{
    for (int i = 0; i < ISO_MAX_SPATIAL; i++) {
        const int64_t at = run->at[i] + tap->add[i];
        const bool is_outside = at < 0 || at >= g->in[i];

        if (run->remainder[i] != tap->remainder[i] ||
            (is_outside && i + 1 < ISO_MAX_SPATIAL)) {
            return 0;
        }
    }

    const int64_t at = run->at[2] + tap->add[2];
    const int64_t begin = first_at(run, at, step, 0);
    const int64_t end = first_at(run, at, step, g->in[2]);

    return (uint16_t)(((1U << end) - (1U << begin)) << run->first);
}

void iso__window_fill(const iso_geometry_t *geometry, int64_t first_tap,
                      int n_taps, const int64_t *tap_from,
                      iso_window_panel_t *panel)
{
    panel->n_taps = n_taps;
    panel->tap_from = tap_from;
    for (int t = 0; t < n_taps; t++) {
        const tap_place_t place = tap_place(geometry, first_tap + t);

        for (int r = 0; r < panel->n_runs; r++) {
            panel->masks[r * n_taps + t] =
                run_mask(geometry, panel->step, &panel->runs[r], &place);
        }
    }
}
