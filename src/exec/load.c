#include "exec/load.h"

#include "isotome/error.h"

#include "base/mem.h"
#include "exec/slab_sums.h"

/* What was read of a weight; the axis of all of it is ISO_AXIS_WHOLE. */
typedef struct part {
    iso_slab_sum_t slab;
    void *data;
} part_t;

struct iso_load {
    iso_model_t *model; /* borrowed */
    int n_parts;
    part_t *parts; /* (n_parts), no two with the same slab */
    int n_sums;
    iso_slab_sum_t *sums; /* (n_sums), those of parts that are not whole */
    size_t check_bytes;
};

/* -- parts -- */

/* What a part is, without its sum. An empty slab begins at 0. */
static iso_status_t slab_of(const iso_load_t *load,
                            const iso_weight_part_t *wanted,
                            iso_slab_sum_t *slab_out)
{
    const iso_weight_info_t *info = iso_model_find(load->model, wanted->weight);
    const iso_slab_t *slab = &wanted->slab;

    if (info == NULL) {
        return iso_fail(ISO_INPUT, "model '%s': weight '%s' is missing",
                        iso_model_path(load->model), wanted->weight);
    }
    *slab_out = (iso_slab_sum_t){
        .weight = info - iso_model_weight(load->model, 0), .axis = slab->axis};
    if (slab->axis != ISO_AXIS_WHOLE && iso_range_length(slab->range) > 0) {
        slab_out->begin = slab->range.begin;
        slab_out->end = slab->range.end;
    }
    return ISO_OK;
}

/* NULL when it was not read. */
static const part_t *find_part(const iso_load_t *load,
                               const iso_slab_sum_t *slab)
{
    for (int i = 0; i < load->n_parts; i++) {
        const iso_slab_sum_t *known = &load->parts[i].slab;

        if (known->weight == slab->weight && known->axis == slab->axis &&
            known->begin == slab->begin && known->end == slab->end) {
            return &load->parts[i];
        }
    }
    return NULL;
}

/* -- reading -- */

static iso_status_t reserve(const iso_load_t *load,
                            const iso_weight_info_t *info, part_t *part)
{
    const iso_slab_sum_t *slab = &part->slab;
    size_t bytes = info->bytes;
    iso_status_t status = ISO_OK;

    if (slab->axis != ISO_AXIS_WHOLE) {
        status = iso_weight_part_bytes(info, (int)slab->axis, slab->begin,
                                       slab->end, &bytes);
    }
    if (status == ISO_OK) {
        part->data = iso_alloc(bytes);
        status = part->data == NULL ? ISO_NOMEM : ISO_OK;
    }
    if (status != ISO_OK) {
        return iso_fail_context(status, "model '%s': weight '%s'",
                                iso_model_path(load->model), info->name);
    }
    return ISO_OK;
}

static iso_status_t read_part(iso_load_t *load, const iso_slab_sum_t *slab)
{
    const iso_weight_info_t *info =
        iso_model_weight(load->model, (int)slab->weight);
    part_t *part = &load->parts[load->n_parts];

    part->slab = *slab;
    load->n_parts++;
    ISO_TRY(reserve(load, info, part));
    if (slab->axis == ISO_AXIS_WHOLE) {
        return iso_model_read(load->model, info, part->data);
    }
    ISO_TRY(iso_model_read_part(load->model, info, (int)slab->axis, slab->begin,
                                slab->end, part->data, &part->slab.sum));
    if (slab->end > slab->begin) {
        load->sums[load->n_sums] = part->slab;
        load->n_sums++;
    }
    return ISO_OK;
}

static iso_status_t read_local(iso_load_t *load, const iso_local_t *local)
{
    iso_status_t status = ISO_OK;

    for (int i = 0; status == ISO_OK && i < local->n_weights; i++) {
        iso_slab_sum_t slab;

        status = slab_of(load, &local->weights[i], &slab);
        if (status == ISO_OK && find_part(load, &slab) == NULL) {
            status = read_part(load, &slab);
        }
    }
    return status;
}

static iso_status_t read_locals(iso_load_t *load,
                                const iso_local_t *const *locals)
{
    size_t most = 0;
    iso_status_t status = ISO_OK;

    for (int form = 0; form < ISO_FORM_COUNT; form++) {
        most += locals[form] == NULL ? 0 : (size_t)locals[form]->n_weights;
    }
    load->parts = iso_alloc_zeroed(most, sizeof *load->parts);
    load->sums = iso_alloc_zeroed(most, sizeof *load->sums);
    if (load->parts == NULL || load->sums == NULL) {
        return ISO_NOMEM;
    }
    for (int form = 0; status == ISO_OK && form < ISO_FORM_COUNT; form++) {
        if (locals[form] != NULL) {
            status = read_local(load, locals[form]);
        }
    }
    return status;
}

iso_status_t iso_load_parts(iso_model_t *model,
                            const iso_local_t *const *locals,
                            iso_load_t **load_out)
{
    iso_load_t *load = iso_alloc_zeroed(1, sizeof *load);

    *load_out = NULL;
    if (load == NULL) {
        return ISO_NOMEM;
    }
    load->model = model;
    iso_status_t status = read_locals(load, locals);
    if (status != ISO_OK) {
        iso_load_free(&load);
        return status;
    }
    *load_out = load;
    return ISO_OK;
}

void iso_load_free(iso_load_t **load)
{
    if (*load == NULL) {
        return;
    }
    for (int i = 0; i < (*load)->n_parts; i++) {
        iso_free((*load)->parts[i].data);
    }
    iso_free((*load)->sums);
    iso_free((*load)->parts);
    iso_free(*load);
    *load = NULL;
}

/* -- use -- */

iso_status_t iso_load_verify(iso_load_t *load, MPI_Comm comm)
{
    size_t before = iso_model_bytes_read(load->model);
    iso_status_t status =
        iso_slab_sums_verify(load->model, load->sums, load->n_sums, comm);

    load->check_bytes += iso_model_bytes_read(load->model) - before;
    return status;
}

size_t iso_load_check_bytes(const iso_load_t *load)
{
    return load->check_bytes;
}

iso_status_t iso_load_bind(const iso_load_t *load, const iso_local_t *local,
                           iso_program_t *program)
{
    for (int i = 0; i < local->n_weights; i++) {
        const iso_weight_part_t *wanted = &local->weights[i];
        iso_slab_sum_t slab;

        ISO_TRY(slab_of(load, wanted, &slab));
        const part_t *part = find_part(load, &slab);
        if (part == NULL) {
            return iso_fail(ISO_INVAL,
                            "node '%s': its part of weight '%s' is not loaded",
                            wanted->node, wanted->weight);
        }
        ISO_TRY(iso_program_bind(program, wanted->node, part->data));
    }
    return ISO_OK;
}
