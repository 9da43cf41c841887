/*
 * Seating: which place of a machine each rank of a plan takes, so that the
 * workers of a stage are on one host where that can be, and stages that follow
 * each other are on one host or on neighbours.
 *
 *     ISO_TRY(iso_seating_create(machine, &grid, &seated));
 *
 * Hosts are taken in the order in which the machine names them first, which is
 * that of the network where a resource manager made the list. Ranks sit host
 * by host in rank order; only when that parts a stage the widest stages choose
 * first, each the host with the fewest free places that are enough.
 */
#ifndef ISO_SEATING_H
#define ISO_SEATING_H

#include "isotome/plan.h"

/*
 * The machine with its ranks in the order of their seats: rank r of a plan for
 * it runs on host iso_machine_rank(seated, r)->host, with those figures.
 *
 * grid        [in]   of at most as many ranks as the machine has; the places
 *                    that are left over come after those of its ranks
 * seated_out  [out]  owned by the caller
 * Errors: ISO_NOMEM.
 */
iso_status_t iso_seating_create(const iso_machine_t *machine,
                                const iso_grid_t *grid,
                                iso_machine_t **seated_out);

#endif
