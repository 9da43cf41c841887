#include "exec/slab_sums.h"

#include "isotome/error.h"

#include "base/log.h"
#include "base/mem.h"
#include "par/par.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

enum {
    SUM_FIELDS = 5,                /* of iso_slab_sum_t, when it is sent */
    READ_BYTES = 16 * 1024 * 1024, /* at once, for the check alone */
};

_Static_assert(sizeof(iso_slab_sum_t) == SUM_FIELDS * sizeof(int64_t),
               "a slab sum has no padding");

/* -- coverings, at rank 0 -- */

/* The slabs of one weight along one axis, and what they must add up to. */
typedef struct group {
    iso_model_t *model;
    const iso_weight_info_t *info;
    int axis;
    int64_t length;       /* of the axis */
    iso_slab_sum_t *sums; /* (count) by begin, then end */
    int count;
} group_t;

static int compare_int(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int compare_slabs(const iso_slab_sum_t *a, const iso_slab_sum_t *b)
{
    const int order[] = {
        compare_int(a->weight, b->weight), compare_int(a->axis, b->axis),
        compare_int(a->begin, b->begin), compare_int(a->end, b->end)};

    for (int i = 0; i < 3; i++) {
        if (order[i] != 0) {
            return order[i];
        }
    }
    return order[3];
}

static int compare_for_sort(const void *a, const void *b)
{
    return compare_slabs(a, b);
}

/* Read what no worker has read (often nothing), in pieces, and add it to the
 * sum. */
static iso_status_t add_unread(const group_t *group, int64_t begin, int64_t end,
                               uint64_t *sum)
{
    size_t index_bytes = group->info->bytes / (size_t)group->length;
    int64_t step = end - begin;

    if (step == 0 || index_bytes == 0) {
        return ISO_OK;
    }
    if (step > (int64_t)(READ_BYTES / index_bytes)) {
        step = (int64_t)(READ_BYTES / index_bytes) + 1;
    }
    void *data = iso_alloc((size_t)step * index_bytes);
    iso_status_t status = data == NULL ? ISO_NOMEM : ISO_OK;
    while (status == ISO_OK && begin < end) {
        int64_t stop = end - begin > step ? begin + step : end;
        uint64_t piece = 0;
        status = iso_model_read_part(group->model, group->info, group->axis,
                                     begin, stop, data, &piece);
        *sum += piece;
        begin = stop;
    }
    iso_free(data);
    return status;
}

static iso_status_t compare_sum(const group_t *group, uint64_t found)
{
    uint64_t expected = group->info->part_digest;

    if (found == expected) {
        return ISO_OK;
    }
    return iso_fail(ISO_INPUT,
                    "model '%s': weight '%s': its slabs of axis %d have the "
                    "sum %016" PRIx64 ", expected %016" PRIx64
                    "; the file is damaged",
                    iso_model_path(group->model), group->info->name,
                    group->axis, found, expected);
}

/* Slabs that are equal must have been read alike; keep one of each. */
static iso_status_t merge_equal(group_t *group)
{
    int kept = 1;

    for (int i = 1; i < group->count; i++) {
        const iso_slab_sum_t *slab = &group->sums[i];
        const iso_slab_sum_t *before = &group->sums[kept - 1];
        if (compare_slabs(before, slab) != 0) {
            group->sums[kept] = *slab;
            kept++;
        } else if (before->sum != slab->sum) {
            return iso_fail(
                ISO_INPUT,
                "model '%s': weight '%s': workers read different bytes in its "
                "slab %" PRId64 " to %" PRId64
                " of axis %d; the file is damaged",
                iso_model_path(group->model), group->info->name, slab->begin,
                slab->end, group->axis);
        }
    }
    group->count = kept;
    return ISO_OK;
}

/* Take the slabs of one covering out of the group and check it. The first
 * slab is always taken. */
static iso_status_t check_covering(group_t *group)
{
    int64_t at = 0;
    uint64_t sum = 0;
    int left = 0;

    for (int i = 0; i < group->count; i++) {
        const iso_slab_sum_t *slab = &group->sums[i];
        if (slab->begin < at) {
            group->sums[left] = *slab;
            left++;
            continue;
        }
        iso_status_t status = add_unread(group, at, slab->begin, &sum);
        if (status != ISO_OK) {
            return status;
        }
        sum += slab->sum;
        at = slab->end;
    }
    group->count = left;
    ISO_TRY(add_unread(group, at, group->length, &sum));
    return compare_sum(group, sum);
}

static iso_status_t check_group(iso_model_t *model, iso_slab_sum_t *sums,
                                int count)
{
    ISO_ASSERT(sums->weight >= 0 &&
               sums->weight < iso_model_weight_count(model));
    const iso_weight_info_t *info = iso_model_weight(model, (int)sums->weight);
    group_t group = {.model = model,
                     .info = info,
                     .axis = (int)sums->axis,
                     .length = info->shape.dim[sums->axis].size,
                     .sums = sums,
                     .count = count};

    ISO_TRY(merge_equal(&group));
    while (group.count > 0) {
        ISO_TRY(check_covering(&group));
    }
    return ISO_OK;
}

static iso_status_t check_all(iso_model_t *model, iso_slab_sum_t *sums,
                              int count)
{
    int end = 0;

    if (sums == NULL) {
        return ISO_OK; /* not rank 0 */
    }
    qsort(sums, (size_t)count, sizeof *sums, compare_for_sort);
    for (int begin = 0; begin < count; begin = end) {
        while (end < count && sums[end].weight == sums[begin].weight &&
               sums[end].axis == sums[begin].axis) {
            end++;
        }
        ISO_TRY(check_group(model, &sums[begin], end - begin));
    }
    return ISO_OK;
}

/* -- from all ranks to rank 0 -- */

/* What rank 0 receives; elsewhere nothing. */
typedef struct gathering {
    int *counts; /* (ranks) */
    int *places; /* (ranks) where each rank's begin in sums */
    int total;
    iso_slab_sum_t *sums; /* (total) */
} gathering_t;

static void free_gathering(gathering_t *all)
{
    iso_free(all->counts);
    iso_free(all->places);
    iso_free(all->sums);
}

static iso_status_t reserve_ranks(gathering_t *all, size_t ranks)
{
    all->counts = iso_alloc_zeroed(ranks, sizeof *all->counts);
    all->places = iso_alloc_zeroed(ranks, sizeof *all->places);
    return all->counts == NULL || all->places == NULL ? ISO_NOMEM : ISO_OK;
}

static iso_status_t reserve_sums(gathering_t *all, int ranks)
{
    for (int rank = 0; rank < ranks; rank++) {
        if (all->counts[rank] > INT32_MAX - all->total) {
            return iso_fail(ISO_INVAL, "the workers read over 2^31 slabs");
        }
        all->places[rank] = all->total;
        all->total += all->counts[rank];
    }
    all->sums = iso_alloc_zeroed((size_t)all->total, sizeof *all->sums);
    return all->sums == NULL ? ISO_NOMEM : ISO_OK;
}

/* Collective. */
static iso_status_t gather(const iso_slab_sum_t *sums, int count, MPI_Comm comm,
                           gathering_t *all)
{
    bool is_root = iso_par_rank(comm) == 0;
    int ranks = iso_par_size(comm);
    iso_status_t status = ISO_OK;
    MPI_Datatype type = MPI_DATATYPE_NULL;

    if (is_root) {
        status = reserve_ranks(all, (size_t)ranks);
    }
    ISO_TRY(iso_par_agree(status, comm));
    ISO_CHECK_MPI(
        MPI_Gather(&count, 1, MPI_INT, all->counts, 1, MPI_INT, 0, comm));
    if (is_root) {
        status = reserve_sums(all, ranks);
    }
    ISO_TRY(iso_par_agree(status, comm));
    ISO_CHECK_MPI(MPI_Type_contiguous(SUM_FIELDS, MPI_INT64_T, &type));
    ISO_CHECK_MPI(MPI_Type_commit(&type));
    ISO_CHECK_MPI(MPI_Gatherv(sums, count, type, all->sums, all->counts,
                              all->places, type, 0, comm));
    ISO_CHECK_MPI(MPI_Type_free(&type));
    return ISO_OK;
}

iso_status_t iso_slab_sums_verify(iso_model_t *model,
                                  const iso_slab_sum_t *sums, int count,
                                  MPI_Comm comm)
{
    gathering_t all = {0};
    iso_status_t status = gather(sums, count, comm, &all);

    if (status == ISO_OK) {
        status = check_all(model, all.sums, all.total);
        status = iso_par_agree(status, comm);
    }
    free_gathering(&all);
    return status;
}
