/*
 * Slab sums: the check of weights that workers read in slabs, none of them
 * the whole.
 *
 * The sums of slabs that cover a weight once add up to its part_digest
 * (model_file.h). Rank 0 takes the slabs of all workers, equal ones once, and
 * puts them together to coverings: from index 0 on, each time the next slab
 * that begins where the latest ended or later. A weight that two nodes have
 * cut along different axes, or in different places, so has several coverings,
 * each of them checked. What no worker has read (a channel that no node needs)
 * rank 0 reads for the check and keeps not: so every byte that any worker has
 * read is checked, and no check is left out.
 *
 *     iso_model_read_part(model, info, axis, begin, end, data, &mine.sum);
 *     ISO_TRY(iso_slab_sums_verify(model, &mine, 1, comm));
 */
#ifndef ISO_SLAB_SUMS_H
#define ISO_SLAB_SUMS_H

#include "isotome/model_file.h"

#include <mpi.h>

/* A slab that was read. Sent as five integers. */
typedef struct iso_slab_sum {
    int64_t weight; /* index in the model */
    int64_t axis;
    int64_t begin; /* of the slab on the axis; it is not empty */
    int64_t end;
    uint64_t sum;
} iso_slab_sum_t;

/*
 * Check the slabs of all ranks. Collective over comm.
 *
 * model  [in]  the same file on every rank
 * sums   [in]  (count) what this rank has read; may be none
 * Errors, the same on every rank: ISO_INPUT naming file and weight when sums
 * are not the file's; ISO_NOMEM; those of iso_model_read_part.
 */
iso_status_t iso_slab_sums_verify(iso_model_t *model,
                                  const iso_slab_sum_t *sums, int count,
                                  MPI_Comm comm);

#endif
