/* A machine as stored; private to its files but for the names. */
#ifndef ISO_MACHINE_IMPL_H
#define ISO_MACHINE_IMPL_H

#include "isotome/machine.h"

#include "base/arena.h"

struct iso_machine {
    iso_arena_t *arena; /* host names and ranks */
    int world;
    iso_machine_rank_t *ranks; /* (world) */
    iso_link_figures_t links[ISO_LINK_KIND_COUNT];
    iso_collective_figures_t collectives[ISO_COLLECTIVE_COUNT];
};

/* By their enums, as files have them; they end with NULL. */
extern const char *const iso__cost_class_names[];
extern const char *const iso__link_kind_names[];
extern const char *const iso__collective_names[];

/* A machine of world ranks that are all zero, with default links and
 * collectives. Errors: ISO_NOMEM. */
iso_status_t iso__machine_create(int world, iso_machine_t **machine_out);

/* Make cost_class of a rank the least certain of its own and its rates', and
 * give it a default copy rate when it has none. */
void iso__machine_rank_settle(iso_machine_rank_t *rank);

#endif
