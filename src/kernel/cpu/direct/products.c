#include "kernel/cpu/direct/products.h"

#include "kernel/format.h"

#include <string.h>

/* Which tap of the geometry one of the weights is; -1: none. */
static int64_t tap_of(const iso_direct_t *direct, int axis, int64_t tap)
{
    const iso_tap_line_t *line = &direct->taps[axis];
    const int64_t from_first = tap - line->first;
    const int64_t at = from_first / line->step;

    return from_first % line->step == 0 && at >= 0 &&
                   at < direct->geometry.kernel[axis]
               ? at
               : -1;
}

/* Taps of an axis that do not read the padding. */
static void existing_taps(const iso_geometry_t *g, int axis, int64_t out,
                          int64_t *begin_out, int64_t *end_out)
{
    const int64_t first = out * g->step[axis] + g->shift[axis];
    int64_t begin = 0;
    int64_t end = g->kernel[axis];

    while (begin < end && first + begin * g->tap_step[axis] < 0) {
        begin++;
    }
    while (end > begin &&
           first + (end - 1) * g->tap_step[axis] >= g->in[axis]) {
        end--;
    }
    *begin_out = begin;
    *end_out = end;
}

/* Weights that are not finite meet the zeros of the padding, too. */
static iso_taps_t taps_of(const iso_direct_t *direct,
                          const iso_tile_place_t *tile)
{
    const iso_geometry_t *g = &direct->geometry;
    iso_taps_t taps = {.end = {g->kernel[0], g->kernel[1]}};

    if (direct->panels->is_finite) {
        existing_taps(g, 0, tile->plane, &taps.begin[0], &taps.end[0]);
        existing_taps(g, 1, tile->row, &taps.begin[1], &taps.end[1]);
    }
    return taps;
}

/* Tiles between the first and the last one of a row share a table, and may
 * read padding too. */
static iso_product_kind_t kind_of(const iso_direct_t *direct,
                                  const iso_tile_place_t *tile, int64_t tap)
{
    const iso_geometry_t *g = &direct->geometry;
    const int64_t first =
        tile->column * g->step[2] + g->shift[2] + tap * g->tap_step[2];
    const int64_t last = first + (tile->pixels - 1) * g->step[2];

    if (!direct->panels->is_finite || tile->pixels < 2) {
        return ISO_PRODUCT_OF_ALL;
    }
    if ((tile->place & ISO_PLACE_FIRST) != 0 &&
        (first < 0 || first >= g->in[2])) {
        return ISO_PRODUCT_NOT_OF_FIRST;
    }
    return (tile->place & ISO_PLACE_LAST) != 0 && (last < 0 || last >= g->in[2])
               ? ISO_PRODUCT_NOT_OF_LAST
               : ISO_PRODUCT_OF_ALL;
}

/* Which taps of the geometry a tap of the weights is. */
typedef struct place {
    bool exists; /* else it lies between the strides */
    int64_t tap[ISO_MAX_SPATIAL];
} place_t;

static place_t place_of(const iso_direct_t *direct, int64_t tap)
{
    place_t place = {.exists = true};

    for (int i = ISO_MAX_SPATIAL - 1; i >= 0; i--) {
        place.tap[i] = tap_of(direct, i, tap % direct->taps[i].count);
        place.exists = place.exists && place.tap[i] >= 0;
        tap /= direct->taps[i].count;
    }
    return place;
}

/* What reads nothing but zeros may be left out where weights are finite. */
static bool is_needed(const iso_direct_t *direct, const iso_taps_t *taps,
                      const place_t *place)
{
    bool reads = place->exists;

    for (int i = 0; i < 2; i++) {
        reads = reads && place->tap[i] >= taps->begin[i] &&
                place->tap[i] < taps->end[i];
    }
    return reads || !direct->panels->is_finite;
}

/* The products of the first channel of a block. */
static void add_first_channel(const iso_direct_t *direct,
                              const iso_reach_t *reach,
                              const iso_tile_place_t *tile,
                              const iso_taps_t *taps, iso_products_t *products,
                              iso_product_t *list)
{
    for (int64_t tap = 0; tap < direct->blocks.taps; tap++) {
        const place_t place = place_of(direct, tap);
        iso_product_t product = {.row = (uint16_t)tap,
                                 .kind = ISO_PRODUCT_OF_ZEROS};

        if (place.exists) {
            product.in = (int32_t)(place.tap[0] * reach->tap_step[0] +
                                   place.tap[1] * reach->tap_step[1] +
                                   place.tap[2] * reach->tap_step[2]);
            product.kind = (uint16_t)kind_of(direct, tile, place.tap[2]);
        }
        if (is_needed(direct, taps, &place)) {
            list[products->n++] = product;
            products->has_kinds =
                products->has_kinds || product.kind != ISO_PRODUCT_OF_ALL;
        }
    }
}

/* The other channels read the same elsewhere. */
static void make_products(const iso_direct_t *direct, const iso_reach_t *reach,
                          const iso_tile_place_t *tile, const iso_taps_t *taps,
                          iso_products_t *products, iso_product_t *list)
{
    const int64_t most = direct->blocks.channels < direct->channels
                             ? direct->blocks.channels
                             : direct->channels;
    const int64_t last =
        direct->channels - (direct->blocks.count - 1) * direct->blocks.channels;

    *products = (iso_products_t){.list = list};
    add_first_channel(direct, reach, tile, taps, products, list);

    const int64_t n = products->n;

    for (int64_t c = 1; c < most; c++) {
        const int32_t in =
            (int32_t)(c / ISO_BLOCK_CHANNELS * reach->block_step +
                      c % ISO_BLOCK_CHANNELS);
        const uint16_t row = (uint16_t)(c * direct->blocks.taps);

        for (int64_t i = 0; i < n; i++) {
            list[c * n + i] =
                (iso_product_t){.in = list[i].in + in,
                                .row = (uint16_t)(list[i].row + row),
                                .kind = list[i].kind};
        }
    }
    products->n = n * most;
    products->n_last = n * last;
}

/* ---- One tap ---- */

#define ONE(i)                \
    {                         \
        .in = (i), .row = (i) \
    }
#define FOUR(i)    ONE(i), ONE((i) + 1), ONE((i) + 2), ONE((i) + 3)
#define SIXTEEN(i) FOUR(i), FOUR((i) + 4), FOUR((i) + 8), FOUR((i) + 12)
#define SIXTY_FOUR(i) \
    SIXTEEN(i), SIXTEEN((i) + 16), SIXTEEN((i) + 32), SIXTEEN((i) + 48)

/* Of rows: the channels as they come. */
static const iso_product_t rows_list[ISO_BLOCK_MOST] = {
    SIXTY_FOUR(0), SIXTY_FOUR(64), SIXTY_FOUR(128), SIXTY_FOUR(192)};

iso_products_t iso__products_of_rows(const iso_direct_t *direct)
{
    const int64_t n = direct->blocks.channels < direct->channels
                          ? direct->blocks.channels
                          : direct->channels;

    return (iso_products_t){
        .list = rows_list,
        .n = n,
        .n_last = direct->channels -
                  (direct->blocks.count - 1) * direct->blocks.channels,
    };
}

/* ---- Of any kernel ---- */

const iso_products_t *iso__products_of(const iso_direct_t *direct,
                                       const iso_reach_t *reach,
                                       const iso_tile_place_t *tile,
                                       iso_product_tables_t *tables)
{
    const iso_taps_t taps = taps_of(direct, tile);
    iso_products_t *products = &tables->products[tile->place];

    if (memcmp(&taps, &tables->taps, sizeof taps) != 0) {
        memset(tables->is_made, 0, sizeof tables->is_made);
        tables->taps = taps;
    }
    if (!tables->is_made[tile->place]) {
        make_products(direct, reach, tile, &taps, products,
                      tables->lists[tile->place]);
        tables->is_made[tile->place] = true;
    }
    return products;
}
