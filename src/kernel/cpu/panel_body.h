/*
 * The functions of isa.h in terms of vec_*.h, which the including file has
 * included; it also defines PANEL_TABLE, the function that gives the table.
 */
#include "kernel/arith.h"
#include "kernel/cpu/isa.h"

#include <string.h>

static uint32_t first_lanes(int64_t n)
{
    return n >= VEC_LANES ? (1U << VEC_LANES) - 1U : (1U << n) - 1U;
}

/* ---- Packing ---- */

/* Lanes are contiguous. */
static void pack_rows(const float *from, int64_t k_step, int64_t count,
                      int64_t k, int64_t width, float *panel)
{
    for (int64_t lane = 0; lane < width; lane += VEC_LANES) {
        const int64_t out = width - lane;
        const int64_t in = count - lane < 0 ? 0 : count - lane;
        const vec_mask_t out_mask = vec_mask(first_lanes(out));
        const vec_mask_t in_mask = vec_mask(first_lanes(in));

        for (int64_t i = 0; i < k; i++) {
            const float *row = from + i * k_step + lane;
            float *to = panel + i * width + lane;

            if (in >= VEC_LANES) {
                vec_store(to, vec_load(row));
            } else {
                vec_store_masked(to, out_mask,
                                 vec_load_masked(vec_zero(), in_mask, row));
            }
        }
    }
}

/* One square where k is contiguous, transposed: rows[i] is product i of the
 * lanes. */
static inline void load_square(const float *from, int64_t lane_step,
                               int64_t count, int64_t k, vec_t rows[VEC_LANES])
{
    const vec_mask_t in_mask = vec_mask(first_lanes(k));

    for (int i = 0; i < VEC_LANES; i++) {
        const float *row = from + i * lane_step;

        if (i >= count) {
            rows[i] = vec_zero();
        } else if (k >= VEC_LANES) {
            rows[i] = vec_load(row);
        } else {
            rows[i] = vec_load_masked(vec_zero(), in_mask, row);
        }
    }
    vec_transpose(rows);
}

/* `step` is the width of the panel. */
static void pack_square(const float *from, int64_t lane_step, int64_t count,
                        int64_t k, int64_t step, vec_mask_t out_mask,
                        float *panel)
{
    vec_t rows[VEC_LANES];

    load_square(from, lane_step, count, k, rows);
    for (int i = 0; i < VEC_LANES && i < k; i++) {
        vec_store_masked(panel + i * step, out_mask, rows[i]);
    }
}

static void pack_columns(const float *from, int64_t lane_step, int64_t count,
                         int64_t k, int64_t width, float *panel)
{
    for (int64_t lane = 0; lane < width; lane += VEC_LANES) {
        const vec_mask_t out_mask = vec_mask(first_lanes(width - lane));

        for (int64_t i = 0; i < k; i += VEC_LANES) {
            pack_square(from + lane * lane_step + i, lane_step, count - lane,
                        k - i, width, out_mask, panel + i * width + lane);
        }
    }
}

static void pack(const float *from, int64_t lane_step, int64_t k_step,
                 int64_t count, int64_t k, int64_t width, float *panel)
{
    if (lane_step == 1) {
        pack_rows(from, k_step, count, k, width, panel);
        return;
    }
    if (k_step == 1 && width == 1) {
        pack_rows(from, k, k, 1, k, panel);
        return;
    }
    if (k_step == 1) {
        pack_columns(from, lane_step, count, k, width, panel);
        return;
    }
    for (int64_t i = 0; i < k; i++) {
        for (int64_t lane = 0; lane < width; lane++) {
            *panel++ = lane < count ? from[lane * lane_step + i * k_step] : 0;
        }
    }
}

/* Infinities and NaNs times zero are NaNs, and nothing else is. */
static inline vec_nan_t find_infinite(vec_nan_t found, vec_t a)
{
    const vec_t b = vec_mul(a, vec_zero());

    return vec_find_nan(found, b, b);
}

/* A panel's width is whole vectors, its rows begin at a multiple of them. */
static vec_nan_t stream_rows(const float *from, int64_t k_step, int64_t count,
                             int64_t k, int64_t width, float *panel)
{
    vec_nan_t found = vec_no_nan();

    for (int64_t i = 0; i < k; i++) {
        for (int64_t lane = 0; lane < width; lane += VEC_LANES) {
            const float *row = from + i * k_step + lane;
            const int64_t in = count - lane < 0 ? 0 : count - lane;
            const vec_t a =
                in >= VEC_LANES
                    ? vec_load(row)
                    : vec_load_masked(vec_zero(), vec_mask(first_lanes(in)),
                                      row);

            found = find_infinite(found, a);
            vec_stream(panel + i * width + lane, a);
        }
    }
    return found;
}

static vec_nan_t stream_columns(const float *from, int64_t lane_step,
                                int64_t count, int64_t k, int64_t width,
                                float *panel)
{
    vec_nan_t found = vec_no_nan();

    for (int64_t lane = 0; lane < width; lane += VEC_LANES) {
        for (int64_t i = 0; i < k; i += VEC_LANES) {
            float *to = panel + i * width + lane;
            vec_t rows[VEC_LANES];

            load_square(from + lane * lane_step + i, lane_step, count - lane,
                        k - i, rows);
            for (int r = 0; r < VEC_LANES && i + r < k; r++) {
                found = find_infinite(found, rows[r]);
                vec_stream(to + r * width, rows[r]);
            }
        }
    }
    return found;
}

static bool pack_weights(const float *from, int64_t lane_step, int64_t k_step,
                         int64_t count, int64_t k, int64_t width, float *panel)
{
    const vec_nan_t found =
        lane_step == 1
            ? stream_rows(from, k_step, count, k, width, panel)
            : stream_columns(from, lane_step, count, k, width, panel);

    vec_stream_end();
    return !vec_found_nan(found);
}

/* Add the lanes of one run to a vector. */
static inline vec_t load_run(vec_t row, uint32_t mask, int64_t step,
                             const float *from)
{
    return step == 1 ? vec_load_masked(row, vec_mask(mask), from)
                     : vec_load_masked_2(row, mask, from);
}

/* Vector v of a panel, for all its products; step is a constant of the
 * callers. */
static inline void pack_vector(const iso_window_panel_t *window, int v,
                               int64_t step, const float *from,
                               int64_t channels, float *panel)
{
    const int64_t width = (int64_t)window->n_vectors * VEC_LANES;
    const int first = v > 0 ? window->run_end[v - 1] : 0;
    const int n_runs = window->run_end[v] - first;
    const int n_taps = window->n_taps;
    const int64_t *run_from = window->run_from + first;
    const uint16_t *masks = window->masks + (int64_t)first * n_taps;

    for (int64_t c = 0; c < channels; c++) {
        for (int t = 0; t < n_taps; t++) {
            const int64_t tap = c * window->plane + window->tap_from[t];
            vec_t row = vec_zero();

            for (int r = 0; r < n_runs; r++) {
                row = load_run(row, masks[r * n_taps + t], step,
                               from + (tap + run_from[r]));
            }
            vec_store(panel, row);
            panel += width;
        }
    }
}

static void pack_window(const iso_window_panel_t *window, const float *from,
                        int64_t channels, float *panel)
{
    for (int v = 0; v < window->n_vectors; v++) {
        float *to = panel + (int64_t)v * VEC_LANES;

        if (window->step == 1) {
            pack_vector(window, v, 1, from, channels, to);
        } else {
            pack_vector(window, v, 2, from, channels, to);
        }
    }
}

/* ---- The tree ---- */

static void fold(const float *tile, int64_t elements, int n,
                 const float *const *partials, float *out)
{
    for (int64_t i = 0; i < elements; i += VEC_LANES) {
        vec_t sum = vec_load(tile + i);

        for (int p = 0; p < n; p++) {
            sum = vec_add(vec_load(partials[p] + i), sum);
        }
        vec_store(out + i, sum);
    }
}

/* ---- Finishing ---- */

static vec_t canonical(vec_t x)
{
    const uint32_t bits = ISO_NAN_BITS;
    float nan;

    memcpy(&nan, &bits, sizeof nan);
    return vec_select_nan(x, vec_set(nan), x);
}

static vec_t load_addend(const iso_finish_tile_t *row, int64_t first,
                         vec_mask_t mask)
{
    const float *from = row->addend + first * row->addend_step;
    float gathered[VEC_LANES] = {0};

    if (row->addend_step == 0) {
        return vec_set(*from);
    }
    if (row->addend_step == 1) {
        return vec_load_masked(vec_zero(), mask, from);
    }
    for (int64_t i = 0; i < VEC_LANES && first + i < row->count; i++) {
        gathered[i] = from[i * row->addend_step];
    }
    return vec_load(gathered);
}

static void store_result(const iso_finish_tile_t *row, int64_t first,
                         vec_mask_t mask, vec_t value)
{
    float *out = row->out + first * row->out_step;
    float scattered[VEC_LANES];

    if (row->out_step == 1) {
        vec_store_masked(out, mask, value);
        return;
    }
    vec_store(scattered, value);
    for (int64_t i = 0; i < VEC_LANES && first + i < row->count; i++) {
        out[i * row->out_step] = scattered[i];
    }
}

static vec_t finish_vector(const iso_finish_t *finish,
                           const iso_finish_tile_t *row, int64_t first,
                           vec_mask_t mask)
{
    vec_t sum = vec_load_masked(vec_zero(), mask, row->sum + first);

    sum = vec_add(sum, vec_zero());
    if (finish->is_scaled) {
        sum = vec_mul(vec_set(finish->scale), sum);
    }
    if (row->addend != NULL) {
        vec_t addend = load_addend(row, first, mask);

        if (finish->is_addend_scaled) {
            addend = vec_mul(vec_set(finish->addend_scale), addend);
        }
        sum = vec_add(sum, addend);
    }
    return sum;
}

static vec_t relu(vec_t x)
{
    const vec_t zero = vec_zero();

    return vec_select_nan(x, x, vec_select_less(zero, x, x, zero));
}

static void finish_row(const iso_finish_t *finish, const iso_finish_tile_t *row)
{
    for (int64_t i = 0; i < row->count; i += VEC_LANES) {
        const vec_mask_t mask = vec_mask(first_lanes(row->count - i));
        vec_t sum = finish_vector(finish, row, i, mask);

        if (finish->is_relu) {
            sum = relu(sum);
        }
        sum = canonical(sum);
        if (finish->activate != NULL) {
            float values[VEC_LANES];

            vec_store(values, sum);
            finish->activate(finish->activation, &finish->coeff, values, values,
                             VEC_LANES);
            sum = vec_load(values);
        }
        store_result(row, i, mask, sum);
    }
}

static void finish_tile(const iso_finish_t *finish,
                        const iso_finish_tile_t *tile)
{
    iso_finish_tile_t row = *tile;

    for (int64_t r = 0; r < tile->rows; r++) {
        finish_row(finish, &row);
        row.sum += tile->sum_row;
        row.out += tile->out_row;
        if (row.addend != NULL) {
            row.addend += tile->addend_row;
        }
    }
}

/* ---- Micro-kernels ---- */

/* rows and vectors are constants of the callers, so that acc is registers. */
static inline void micro(int rows, int vectors, int64_t k, const float *narrow,
                         const float *wide, int64_t wide_step, float *tile)
{
    vec_t acc[4][4];

    for (int r = 0; r < rows; r++) {
        for (int v = 0; v < vectors; v++) {
            acc[r][v] = vec_zero();
        }
    }
    for (int64_t i = 0; i < k; i++) {
        for (int v = 0; v < vectors; v++) {
            const vec_t column = vec_load(wide + v * (int64_t)VEC_LANES);

            for (int r = 0; r < rows; r++) {
                acc[r][v] = vec_fma(vec_set(narrow[r]), column, acc[r][v]);
            }
        }
        wide += wide_step;
        narrow += rows;
    }
    for (int r = 0; r < rows; r++) {
        for (int v = 0; v < vectors; v++) {
            vec_store(tile, acc[r][v]);
            tile += VEC_LANES;
        }
    }
}

static void micro_1(int64_t k, const float *narrow, const float *wide,
                    int64_t wide_step, float *tile)
{
    micro(1, 4, k, narrow, wide, wide_step, tile);
}

static void micro_2(int64_t k, const float *narrow, const float *wide,
                    int64_t wide_step, float *tile)
{
    micro(2, 4, k, narrow, wide, wide_step, tile);
}

static void micro_4(int64_t k, const float *narrow, const float *wide,
                    int64_t wide_step, float *tile)
{
    micro(4, 2, k, narrow, wide, wide_step, tile);
}

const iso_isa_t *PANEL_TABLE(void)
{
    static const iso_isa_t table = {
        .lanes = VEC_LANES,
        .pack = pack,
        .pack_weights = pack_weights,
        .pack_window = pack_window,
        .fold = fold,
        .finish = finish_tile,
        .micro_1 = micro_1,
        .micro_2 = micro_2,
        .micro_4 = micro_4,
    };

    return &table;
}
