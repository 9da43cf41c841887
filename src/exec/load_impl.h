/* A load by parts: read and packed in load.c, or found packed and kept for the
 * next job in load_packed.c. */
#ifndef ISO_LOAD_IMPL_H
#define ISO_LOAD_IMPL_H

#include "device/weight.h"
#include "exec/load.h"
#include "exec/slab_sums.h"

/* What a rank has of a weight; the axis of all of it is ISO_AXIS_WHOLE. */
typedef struct iso__load_part {
    iso_slab_sum_t slab;
    iso_weight_uses_t uses;
    iso_weight_t *weight;
    int64_t rows; /* of the first dim of the slab */
    size_t row_bytes;
    iso_packed_entry_t entry; /* its map holds the weight, unless NULL */
} iso__load_part_t;

struct iso_load {
    iso_model_t *model;         /* borrowed */
    const iso_device_t *device; /* borrowed */
    const iso_packed_t *packed; /* borrowed; NULL: nothing is kept packed */
    int n_parts;
    iso__load_part_t *parts; /* (n_parts), no two with the same slab */
    int n_sums;
    iso_slab_sum_t *sums; /* (n_sums), those of parts that are not whole */
    size_t check_bytes;
    size_t packed_bytes;
};

static inline const iso_weight_info_t *
iso__load_info(const iso_load_t *load, const iso__load_part_t *part)
{
    return iso_model_weight(load->model, (int)part->slab.weight);
}

/*
 * Make a part's weight of a file of packed ones, if there is one: part->weight
 * is NULL when there is none. A file that cannot be used is warned of.
 *
 * view  [in]  dtype and dims of the slab
 * Errors: ISO_NOMEM.
 */
iso_status_t iso__load_find(iso_load_t *load, const iso_tensor_t *view,
                            iso__load_part_t *part);

#endif
