/*
 * Packing weights into panels (kernel/panels.h), in parts as they come from
 * a file.
 */
#ifndef ISO_PACK_H
#define ISO_PACK_H

#include "kernel/cpu.h"
#include "kernel/panels.h"

struct iso_panels {
    iso_panels_spec_t spec;
    bool is_finite; /* no infinity and no NaN in what was packed */
    bool is_borrowed;
    float *data; /* (iso_panels_count), aligned to 64 */
};

/* Reserve panels, whose padding is +0. Errors: ISO_NOMEM. */
iso_status_t iso_panels_create(const iso_panels_spec_t *spec,
                               iso_panels_t **panels_out);

/* Panels that were packed before: data is borrowed, and only read. Errors:
 * ISO_NOMEM. */
iso_status_t iso_panels_create_from(const iso_panels_spec_t *spec,
                                    const float *data, bool is_finite,
                                    iso_panels_t **panels_out);
void iso_panels_destroy(iso_panels_t **panels);

/* Parts begin at a multiple of this many rows of the weight's first dim. */
int64_t iso_panels_part(const iso_panels_spec_t *spec);

/*
 * Pack rows [first, first + count) of the weight's first dim; data are those
 * rows, row-major. Parts may come in any order; each row once.
 */
void iso_panels_fill(const iso_cpu_t *cpu, iso_panels_t *panels, int64_t first,
                     int64_t count, const float *data);

#endif
