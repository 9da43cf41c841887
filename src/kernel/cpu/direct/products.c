#include "kernel/cpu/direct/products.h"

#include "kernel/format.h"

#include <string.h>

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

/* Append the products of one channel of a block. */
static void add_channel(const iso_direct_t *direct, const iso_reach_t *reach,
                        const iso_tile_place_t *tile, const iso_taps_t *taps,
                        int64_t channel, iso_products_t *products,
                        iso_product_t *list)
{
    const int64_t *kernel = direct->geometry.kernel;
    const int64_t in = channel / ISO_BLOCK_CHANNELS * reach->block_step +
                       channel % ISO_BLOCK_CHANNELS;

    for (int64_t d = taps->begin[0]; d < taps->end[0]; d++) {
        for (int64_t h = taps->begin[1]; h < taps->end[1]; h++) {
            for (int64_t w = 0; w < kernel[2]; w++) {
                const int64_t tap = (d * kernel[1] + h) * kernel[2] + w;
                const iso_product_kind_t kind = kind_of(direct, tile, w);

                list[products->n++] = (iso_product_t){
                    .in = (int32_t)(in + d * reach->tap_step[0] +
                                    h * reach->tap_step[1] +
                                    w * reach->tap_step[2]),
                    .row = (uint16_t)(channel * direct->blocks.taps + tap),
                    .kind = (uint16_t)kind,
                };
                products->has_kinds =
                    products->has_kinds || kind != ISO_PRODUCT_OF_ALL;
            }
        }
    }
}

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
    for (int64_t c = 0; c < most; c++) {
        add_channel(direct, reach, tile, taps, c, products, list);
        if (c + 1 == last) {
            products->n_last = products->n;
        }
    }
}

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
