/* A machine as stored; private to its two files but for the names. */
#ifndef ISO_MACHINE_IMPL_H
#define ISO_MACHINE_IMPL_H

#include "isotome/machine.h"

#include "base/arena.h"

struct iso_machine {
    iso_arena_t *arena; /* host names and ranks */
    int world;
    iso_machine_rank_t *ranks; /* (world) */
    iso_link_t same_host;
    iso_link_t other_host;
};

/* By iso_cost_class_t, as files have them; ends with NULL. */
extern const char *const iso__cost_class_names[];

/* A machine of world ranks that are all zero. Errors: ISO_NOMEM. */
iso_status_t iso__machine_create(int world, iso_machine_t **machine_out);

#endif
