/* Shared by the files of the layer split; private to them. */
#ifndef ISO_LAYER_SPLIT_IMPL_H
#define ISO_LAYER_SPLIT_IMPL_H

#include "isotome/layer_split.h"

/* A split of world zero counts. Errors: ISO_NOMEM; *split_out is empty. */
iso_status_t iso__layer_split_alloc(int world, iso_layer_split_t *split_out);

/*
 * Can layers be split over world stages, each at least one layer?
 * Errors: ISO_INVAL saying how many stages are possible.
 */
iso_status_t iso__layer_split_possible(int64_t layers, int world);

#endif
