#include "exec/load.h"

#include "isotome/error.h"

#include "base/mem.h"

struct iso_load {
    int n_weights;
    const char **names; /* (n_weights), borrowed from the stage */
    void **data;        /* (n_weights) */
};

static iso_status_t read_weights(iso_load_t *load, iso_model_t *model,
                                 const iso_stage_t *stage)
{
    for (int i = 0; i < stage->n_params; i++) {
        const iso_weight_info_t *info = iso_model_find(model, stage->params[i]);

        if (info == NULL) {
            return iso_fail(ISO_INPUT, "%s: weight '%s' is missing",
                            iso_model_path(model), stage->params[i]);
        }
        load->names[i] = stage->params[i];
        load->data[i] = iso_alloc(info->bytes);
        load->n_weights = i + 1;
        if (load->data[i] == NULL) {
            return iso_fail_context(ISO_NOMEM, "weight '%s'", info->name);
        }
        ISO_TRY(iso_model_read(model, info, load->data[i]));
    }
    return ISO_OK;
}

iso_status_t iso_load_stage(iso_model_t *model, const iso_stage_t *stage,
                            iso_load_t **load_out)
{
    iso_load_t *load = iso_alloc_zeroed(1, sizeof *load);
    iso_status_t status = ISO_NOMEM;

    *load_out = NULL;
    if (load == NULL) {
        return ISO_NOMEM;
    }
    load->names =
        iso_alloc_zeroed((size_t)stage->n_params, sizeof *load->names);
    load->data = iso_alloc_zeroed((size_t)stage->n_params, sizeof *load->data);
    if (load->names != NULL && load->data != NULL) {
        status = read_weights(load, model, stage);
    }
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
    for (int i = 0; (*load)->data != NULL && i < (*load)->n_weights; i++) {
        iso_free((*load)->data[i]);
    }
    iso_free((*load)->data);
    iso_free((*load)->names);
    iso_free(*load);
    *load = NULL;
}

iso_status_t iso_load_bind(const iso_load_t *load, iso_program_t *program)
{
    for (int i = 0; i < load->n_weights; i++) {
        ISO_TRY(iso_program_bind(program, load->names[i], load->data[i]));
    }
    return ISO_OK;
}
