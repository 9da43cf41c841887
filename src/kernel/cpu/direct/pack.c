#include "kernel/cpu/direct/pack.h"

#include "base/mem.h"
#include "kernel/cpu/cpu_impl.h"
#include "kernel/format.h"

#include <math.h>
#include <string.h>

enum { MATMUL_ROWS = 8 /* of k: a part is more than a line of the cache */ };

static int64_t lanes_of_panel(const iso_panels_spec_t *spec)
{
    return spec->kind == ISO_PANELS_DEPTHWISE ? ISO_BLOCK_CHANNELS
                                              : ISO_PANEL_LANES;
}

/* The last panel of each group has what is no lane; the others are written
 * from end to end. */
static void clear_padding(const iso_panels_t *panels)
{
    const iso_panels_spec_t *spec = &panels->spec;
    const int64_t width = lanes_of_panel(spec);
    const int64_t group_panels = (spec->lanes + width - 1) / width;
    const int64_t panel = spec->length * width;

    for (int64_t group = 0; spec->lanes % width != 0 && group < spec->groups;
         group++) {
        memset(panels->data + ((group + 1) * group_panels - 1) * panel, 0,
               (size_t)panel * sizeof *panels->data);
    }
}

iso_status_t iso_panels_create_from(const iso_panels_spec_t *spec,
                                    const float *data, bool is_finite,
                                    iso_panels_t **panels_out)
{
    iso_panels_t *panels = iso_alloc(sizeof *panels);

    *panels_out = panels;
    if (panels == NULL) {
        return ISO_NOMEM;
    }
    *panels = (iso_panels_t){.spec = *spec,
                             .is_finite = is_finite,
                             .is_borrowed = true,
                             .data = (float *)data};
    return ISO_OK;
}

iso_status_t iso_panels_create(const iso_panels_spec_t *spec,
                               iso_panels_t **panels_out)
{
    float *data = iso_alloc((size_t)iso_panels_count(spec) * sizeof *data);

    *panels_out = NULL;
    if (data == NULL ||
        iso_panels_create_from(spec, data, true, panels_out) != ISO_OK) {
        iso_free(data);
        return ISO_NOMEM;
    }
    (*panels_out)->is_borrowed = false;
    clear_padding(*panels_out);
    return ISO_OK;
}

void iso_panels_destroy(iso_panels_t **panels)
{
    if (*panels != NULL) {
        if (!(*panels)->is_borrowed) {
            iso_free((*panels)->data);
        }
        iso_free(*panels);
        *panels = NULL;
    }
}

int64_t iso_panels_part(const iso_panels_spec_t *spec)
{
    switch (spec->kind) {
    case ISO_PANELS_MATMUL:
        return MATMUL_ROWS;
    case ISO_PANELS_CONV_TRANSPOSED:
        return 1;
    default:
        return lanes_of_panel(spec);
    }
}

/* Some lanes of a panel that has lanes of another part, too. */
static bool fill_some(const float *data, int64_t count, int64_t length,
                      int64_t width, float *panel)
{
    bool is_finite = true;

    for (int64_t i = 0; i < count * length; i++) {
        panel[i % length * width + i / length] = data[i];
        is_finite = is_finite && isfinite(data[i]);
    }
    return is_finite;
}

/* Rows are lanes: (groups, lanes, length). */
static bool fill_lanes(const iso_cpu_t *cpu, const iso_panels_t *panels,
                       int64_t first, int64_t count, const float *data)
{
    const iso_panels_spec_t *spec = &panels->spec;
    const int64_t width = lanes_of_panel(spec);
    const int64_t group_panels = (spec->lanes + width - 1) / width;
    bool is_finite = true;

    while (count > 0) {
        const int64_t group = first / spec->lanes;
        const int64_t lane = first % spec->lanes;
        const int64_t left = spec->lanes - lane;
        int64_t n = width - lane % width;
        float *panel = panels->data + (group * group_panels + lane / width) *
                                          spec->length * width;
        bool is_some;

        n = n < left ? n : left;
        n = n < count ? n : count;
        is_some = lane % width != 0 || (n != width && n != left);
        is_finite =
            (is_some
                 ? fill_some(data, n, spec->length, width, panel + lane % width)
                 : cpu->isa->pack_weights(data, spec->length, 1, n,
                                          spec->length, width, panel)) &&
            is_finite;
        data += n * spec->length;
        first += n;
        count -= n;
    }
    return is_finite;
}

/* Rows are products: (length, lanes). */
static bool fill_products(const iso_cpu_t *cpu, const iso_panels_t *panels,
                          int64_t first, int64_t count, const float *data)
{
    const iso_panels_spec_t *spec = &panels->spec;
    bool is_finite = true;

    for (int64_t lane = 0; lane < spec->lanes; lane += ISO_PANEL_LANES) {
        const int64_t left = spec->lanes - lane;

        is_finite =
            cpu->isa->pack_weights(
                data + lane, 1, spec->lanes,
                left < ISO_PANEL_LANES ? left : ISO_PANEL_LANES, count,
                ISO_PANEL_LANES,
                panels->data + lane * spec->length + first * ISO_PANEL_LANES) &&
            is_finite;
    }
    return is_finite;
}

/* Rows are channels that are read: (groups, channels, lanes, taps). */
static bool fill_channels(const iso_cpu_t *cpu, const iso_panels_t *panels,
                          int64_t first, int64_t count, const float *data)
{
    const iso_panels_spec_t *spec = &panels->spec;
    const int64_t channels = spec->length / spec->taps;
    const int64_t group_panels =
        (spec->lanes + ISO_PANEL_LANES - 1) / ISO_PANEL_LANES;
    const int64_t panel = spec->length * ISO_PANEL_LANES;
    bool is_finite = true;

    for (int64_t row = first; row < first + count; row++) {
        float *to = panels->data + row / channels * group_panels * panel +
                    row % channels * spec->taps * ISO_PANEL_LANES;

        for (int64_t lane = 0; lane < spec->lanes; lane += ISO_PANEL_LANES) {
            const int64_t left = spec->lanes - lane;

            is_finite = cpu->isa->pack_weights(
                            data + lane * spec->taps, spec->taps, 1,
                            left < ISO_PANEL_LANES ? left : ISO_PANEL_LANES,
                            spec->taps, ISO_PANEL_LANES, to) &&
                        is_finite;
            to += panel;
        }
        data += spec->lanes * spec->taps;
    }
    return is_finite;
}

void iso_panels_fill(const iso_cpu_t *cpu, iso_panels_t *panels, int64_t first,
                     int64_t count, const float *data)
{
    bool is_finite;

    switch (panels->spec.kind) {
    case ISO_PANELS_MATMUL:
        is_finite = fill_products(cpu, panels, first, count, data);
        break;
    case ISO_PANELS_CONV_TRANSPOSED:
        is_finite = fill_channels(cpu, panels, first, count, data);
        break;
    default:
        is_finite = fill_lanes(cpu, panels, first, count, data);
        break;
    }
    panels->is_finite = panels->is_finite && is_finite;
}
