/*
 * The segments of a plan's stages under a device map, as text for people.
 */
#ifndef ISO_PLAN_SEGMENTS_H
#define ISO_PLAN_SEGMENTS_H

#include "isotome/device_map.h"
#include "isotome/plan.h"

/*
 * A row for each segment, and what crosses to the next ones; of a stage with
 * several workers, as if one computed it whole.
 *
 * machine   [in]   the figures of each stage's first rank are map's for it
 * names     [in]   also a line for each value that crosses
 * text_out  [out]  owned by the caller, iso_free()
 * Errors: those of iso_placement_create; ISO_NOMEM.
 */
iso_status_t iso_plan_segments_text(const iso_plan_t *plan,
                                    iso_device_map_t *map,
                                    const iso_machine_t *machine, bool names,
                                    char **text_out);

#endif
