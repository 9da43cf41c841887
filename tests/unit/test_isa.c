/* The innermost loops of each instruction set against those in plain C. */
#include "base/mem.h"
#include "iso_test.h"
#include "kernel/cpu/isa.h"
#include "kernel/family.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PANEL = ISO_WIDE_MOST * ISO_BLOCK_MOST, SOURCE = 1 << 16 };

typedef struct space {
    float source[SOURCE];
    float want[PANEL];
    float got[PANEL];
} space_t;

static space_t *space;
static uint64_t random_state = 1;

static int64_t random_in(int64_t least, int64_t most)
{
    random_state = random_state * UINT64_C(6364136223846793005) +
                   UINT64_C(1442695040888963407);
    return least +
           (int64_t)((random_state >> 33) % (uint64_t)(most - least + 1));
}

static int begin(void)
{
    space = iso_alloc_zeroed(1, sizeof *space);
    if (space == NULL) {
        return 1;
    }
    for (int i = 0; i < SOURCE; i++) {
        space->source[i] = (float)random_in(-999999, 999999) * 0x1p-19F;
    }
    return 0;
}

static int end(void)
{
    iso_free(space);
    return iso_mem_count().blocks == 0 ? 0 : 1;
}

/* Tables that this CPU runs; the plain one is the measure. */
static int tables(const iso_isa_t *tables_out[2])
{
    int count = 0;

    if (iso_family_supported(ISO_FAMILY_HASWELL)) {
        tables_out[count++] = iso__isa_avx2();
    }
    if (iso_family_supported(ISO_FAMILY_SKX)) {
        tables_out[count++] = iso__isa_avx512();
    }
    return count;
}

static void fill_panels(void)
{
    for (int i = 0; i < PANEL; i++) {
        space->want[i] = space->got[i] = 77.0F;
    }
}

static bool same_bits(const float *a, const float *b, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        uint32_t x;
        uint32_t y;

        memcpy(&x, &a[i], sizeof x);
        memcpy(&y, &b[i], sizeof y);
        if (x != y) {
            return false;
        }
    }
    return true;
}

static bool panels_agree(void)
{
    return same_bits(space->want, space->got, PANEL);
}

/* Nothing is written past the panel. */
static bool rest_is_kept(int64_t used)
{
    for (int64_t i = used; i < PANEL; i++) {
        if (space->got[i] != 77.0F) {
            return false;
        }
    }
    return true;
}

static void test_pack(void)
{
    static const int64_t widths[] = {1, 2, 4, 6, 12, 16, 32, 64};
    const iso_isa_t *isas[2];
    const int count = tables(isas);

    for (int i = 0; i < 600; i++) {
        const int64_t width = widths[random_in(0, 7)];
        const int64_t k = random_in(0, 256);
        const int64_t lanes = random_in(1, width);
        const int64_t lane_step = i % 3 == 0 ? 1 : random_in(1, 500);
        const int64_t k_step = i % 3 == 1 ? 1 : random_in(1, 120);

        for (int t = 0; t < count; t++) {
            fill_panels();
            iso__isa_portable()->pack(space->source, lane_step, k_step, lanes,
                                      k, width, space->want);
            isas[t]->pack(space->source, lane_step, k_step, lanes, k, width,
                          space->got);
            CU_ASSERT_TRUE(panels_agree());
            CU_ASSERT_TRUE(rest_is_kept(width * k));
        }
    }
}

/* What pack must give, without any of its paths. */
static void test_pack_is_right(void)
{
    for (int i = 0; i < 200; i++) {
        const int64_t width = random_in(1, 64);
        const int64_t k = random_in(0, 40);
        const int64_t lanes = random_in(1, width);
        const int64_t lane_step = i % 3 == 0 ? 1 : random_in(1, 500);
        const int64_t k_step = i % 3 == 1 ? 1 : random_in(1, 500);

        fill_panels();
        iso__isa_portable()->pack(space->source, lane_step, k_step, lanes, k,
                                  width, space->got);
        for (int64_t e = 0; e < width * k; e++) {
            const int64_t lane = e % width;
            const float want =
                lane < lanes
                    ? space->source[lane * lane_step + e / width * k_step]
                    : 0.0F;

            CU_ASSERT_EQUAL(space->got[e], want);
        }
    }
}

/* As pack, and an element that is not finite is seen wherever it is. */
static void check_pack_weights(const iso_isa_t *isa, int64_t width, int64_t k,
                               int64_t lanes, int64_t lane_step, int64_t k_step)
{
    static const float odd[] = {INFINITY, -INFINITY, NAN};
    float *place = &space->source[random_in(0, lanes - 1) * lane_step +
                                  random_in(0, k - 1) * k_step];
    const float kept = *place;

    for (int i = -1; i < 3; i++) {
        *place = i < 0 ? kept : odd[i];
        fill_panels();
        iso__isa_portable()->pack(space->source, lane_step, k_step, lanes, k,
                                  width, space->want);
        const bool is_finite = isa->pack_weights(
            space->source, lane_step, k_step, lanes, k, width, space->got);

        CU_ASSERT_EQUAL(is_finite, i < 0);
        CU_ASSERT_TRUE(panels_agree());
        CU_ASSERT_TRUE(rest_is_kept(width * k));
    }
    *place = kept;
}

static void test_pack_weights(void)
{
    const iso_isa_t *isas[3] = {iso__isa_portable()};
    const int count = 1 + tables(&isas[1]);

    for (int i = 0; i < 200; i++) {
        const int64_t width = i % 2 == 0 ? 16 : 32;
        const int64_t k = random_in(1, 256);
        const int64_t lanes = random_in(1, width);
        const bool is_rows = i % 3 == 0;
        const int64_t step =
            is_rows ? random_in(lanes, 250) : random_in(k, 500);

        for (int t = 0; t < count; t++) {
            check_pack_weights(isas[t], width, k, lanes, is_rows ? 1 : step,
                               is_rows ? step : 1);
        }
    }
    for (int t = 0; t < count; t++) {
        CU_ASSERT_TRUE(
            isas[t]->pack_weights(space->source, 9, 1, 9, 0, 32, space->got));
    }
}

static iso_geometry_t random_geometry(void)
{
    iso_geometry_t g = {.plane = 1};

    for (int i = 0; i < ISO_MAX_SPATIAL; i++) {
        g.in[i] = random_in(1, i == 0 ? 2 : 20);
        g.out[i] = random_in(1, i == 0 ? 2 : 20);
        g.kernel[i] = random_in(1, i == 0 ? 1 : 4);
        g.step[i] = random_in(1, 3);
        g.shift[i] = random_in(-6, 3);
        g.tap_step[i] = random_in(0, 3) == 0 ? -1 : random_in(1, 2);
        g.divide[i] = random_in(0, 2) == 0 ? random_in(2, 3) : 1;
        g.plane *= g.in[i];
    }
    g.image_step = 3 * g.plane;
    return g;
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0 ? 1 : 0);
}

/* What a column and a tap read, straight from the definition. */
static float read_tap(const iso_geometry_t *g, int64_t column, int64_t channel,
                      int64_t tap)
{
    const int64_t taps[] = {tap / g->kernel[2] / g->kernel[1],
                            tap / g->kernel[2] % g->kernel[1],
                            tap % g->kernel[2]};
    const int64_t line = column / g->out[2];
    const int64_t place[] = {line / g->out[1] % g->out[0], line % g->out[1],
                             column % g->out[2]};
    const int64_t image = line / g->out[1] / g->out[0];
    int64_t offset = 0;

    for (int i = 0; i < ISO_MAX_SPATIAL; i++) {
        const int64_t at =
            place[i] * g->step[i] + g->shift[i] + taps[i] * g->tap_step[i];
        const int64_t from = floor_div(at, g->divide[i]);

        if (from * g->divide[i] != at || from < 0 || from >= g->in[i]) {
            return 0.0F;
        }
        offset = offset * g->in[i] + from;
    }
    return space->source[image * g->image_step + channel * g->plane + offset];
}

static void check_window(const iso_isa_t *isa, const iso_geometry_t *g,
                         int n_vectors)
{
    const int64_t width = (int64_t)n_vectors * isa->lanes;
    const int64_t columns = 2 * iso__geometry_columns(g);
    const int64_t first = random_in(0, columns - 1);
    const int64_t count = columns - first < width ? columns - first : width;
    const int64_t taps = iso__geometry_taps(g);
    const size_t bytes = iso__window_panel_bytes(g, isa->lanes, n_vectors);
    int64_t tap_from[16];
    void *table = iso_alloc(bytes);
    int64_t bad = 0;

    CU_ASSERT_PTR_NOT_NULL_FATAL(table);
    iso_window_panel_t *panel =
        iso__window_begin(g, isa->lanes, n_vectors, first, count, table);

    iso__window_taps(g, 0, (int)taps, tap_from);
    iso__window_fill(g, 0, (int)taps, tap_from, panel);
    fill_panels();
    isa->pack_window(panel, space->source, 2, space->got);
    for (int64_t e = 0; e < 2 * taps * width; e++) {
        const int64_t k = e / width;
        const int64_t lane = e % width;
        const float want =
            lane < count ? read_tap(g, first + lane, k / taps, k % taps) : 0.0F;

        bad += space->got[e] != want;
    }
    CU_ASSERT_EQUAL(bad, 0);
    CU_ASSERT_TRUE(rest_is_kept(2 * taps * width));
    iso_free(table);
}

static void test_pack_window(void)
{
    const iso_isa_t *isas[3] = {NULL, NULL, iso__isa_portable()};
    const int count = tables(isas);

    for (int i = 0; i < 400; i++) {
        const iso_geometry_t g = random_geometry();

        check_window(isas[2], &g, (int)random_in(1, 4));
        for (int t = 0; t < count; t++) {
            check_window(isas[t], &g, (int)random_in(1, 4));
        }
    }
}

static void check_micro(int64_t rows, int64_t width,
                        void (*micro)(int64_t, const float *, const float *,
                                      int64_t, float *))
{
    const int64_t k = random_in(0, 256);
    const int64_t step = width + random_in(0, 9);
    const float *wide = space->source + ISO_BLOCK_MOST * rows;
    int64_t bad = 0;

    fill_panels();
    micro(k, space->source, wide, step, space->got);
    for (int64_t e = 0; e < rows * width; e++) {
        float chain = 0.0F;

        for (int64_t i = 0; i < k; i++) {
            chain = fmaf(space->source[i * rows + e / width],
                         wide[i * step + e % width], chain);
        }
        bad += !same_bits(&chain, &space->got[e], 1);
    }
    CU_ASSERT_EQUAL(bad, 0);
    CU_ASSERT_TRUE(rest_is_kept(rows * width));
}

static void test_micro_kernels(void)
{
    const iso_isa_t *isas[3] = {NULL, NULL, iso__isa_portable()};
    const int count = tables(isas);

    for (int i = 0; i < 20; i++) {
        for (int t = 0; t < 3; t++) {
            if (t >= count && t < 2) {
                continue;
            }
            check_micro(1, 4 * (int64_t)isas[t]->lanes, isas[t]->micro_1);
            check_micro(2, 4 * (int64_t)isas[t]->lanes, isas[t]->micro_2);
            check_micro(4, 2 * (int64_t)isas[t]->lanes, isas[t]->micro_4);
        }
    }
}

static void check_finish(const iso_isa_t *isa, const iso_finish_t *finish,
                         const iso_finish_tile_t *tile)
{
    iso_finish_tile_t want = *tile;
    iso_finish_tile_t got = *tile;

    fill_panels();
    want.out = space->want;
    got.out = space->got;
    iso__isa_portable()->finish(finish, &want);
    isa->finish(finish, &got);
    CU_ASSERT_TRUE(panels_agree());
}

static void test_finish_and_fold(void)
{
    const iso_isa_t *isas[2];
    const int count = tables(isas);
    const float *partials[] = {space->source + 500, space->source + 1003,
                               space->source + 1700};

    space->source[5] = NAN;
    space->source[9] = -NAN;
    space->source[11] = -0.0F;
    space->source[12] = INFINITY;
    for (int i = 0; i < 300; i++) {
        const iso_finish_t finish = {.is_scaled = i % 2 == 0,
                                     .scale = 0.3F,
                                     .is_addend_scaled = i % 5 == 0,
                                     .addend_scale = -2.1F,
                                     .is_relu = i % 3 == 0};
        const iso_finish_tile_t tile = {
            .rows = random_in(1, 12),
            .count = random_in(1, 64),
            .sum = space->source,
            .sum_row = 64,
            .addend = i % 4 == 0 ? NULL : space->source + 900,
            .addend_row = random_in(0, 90),
            .addend_step = random_in(0, 3),
            .out_row = i % 7 == 0 ? 1 : 256,
            .out_step = i % 7 == 0 ? 12 : random_in(1, 4)};

        for (int t = 0; t < count; t++) {
            check_finish(isas[t], &finish, &tile);
            fill_panels();
            iso__isa_portable()->fold(space->source, 384, i % 4, partials,
                                      space->want);
            isas[t]->fold(space->source, 384, i % 4, partials, space->got);
            CU_ASSERT_TRUE(panels_agree());
        }
    }
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"pack is right", test_pack_is_right},
        {"pack", test_pack},
        {"pack weights", test_pack_weights},
        {"pack a window", test_pack_window},
        {"micro-kernels", test_micro_kernels},
        {"finish and fold", test_finish_and_fold},
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        {"isa", begin, end, NULL, NULL, tests},
        CU_SUITE_INFO_NULL,
    };

    return iso_test_main(suites);
}
