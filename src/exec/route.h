/*
 * Routes: which values go from one stage to another. Boundaries of the
 * partition, and model outputs of an early stage on their way to the last
 * one, which delivers them.
 *
 * Both ends make the same list from the same partition.
 */
#ifndef ISO_ROUTE_H
#define ISO_ROUTE_H

#include "isotome/partition.h"

#include "exec/channel.h"
#include "plan/plan_local.h"

/* A job cut into stages, in each form; a tail that there is none of is
 * NULL. Borrowed. */
typedef struct iso_forms {
    const iso_graph_t *model; /* with its outputs' names and order */
    const iso_partition_t *partition[ISO_FORM_COUNT];
} iso_forms_t;

/* One rank's side of a route. Borrowed for the call. */
typedef struct iso_route {
    const iso_plan_t *plan;
    const iso_forms_t *forms;
    const iso_local_t *const *local; /* (ISO_FORM_COUNT) of this rank */
    int worker;                      /* which this rank is, in its stage */
    int from_stage;
    int to_stage;
} iso_route_t;

/*
 * Parcels that this rank sends or receives on a route: those that pass in
 * pieces, its piece; the others, whole, on worker 0. *parcels_out is owned by
 * the caller (iso_free), NULL when *count_out is 0.
 */
iso_status_t iso_route_parcels(const iso_route_t *route,
                               iso_parcel_t **parcels_out, int *count_out);

/* Name of the node behind model output number output. */
const char *iso_route_output_node(const iso_forms_t *forms, int output);

#endif
