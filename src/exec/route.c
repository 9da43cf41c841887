#include "exec/route.h"

#include "base/log.h"
#include "base/mem.h"
#include "plan/buffers.h"

const char *iso_route_output_node(const iso_forms_t *forms, int output)
{
    const iso_output_t *named = iso_graph_output(forms->model, output);

    return iso_graph_node(forms->model, named->node)->name;
}

/* Dtype and shape that a value has in each form, where it is made. */
static iso_status_t fill_parcel(const iso_forms_t *forms, int from_stage,
                                iso_parcel_t *parcel)
{
    for (int form = 0; form < ISO_FORM_COUNT; form++) {
        if (forms->partition[form] == NULL) {
            continue;
        }
        const iso_graph_t *graph =
            iso_partition_stage(forms->partition[form], from_stage)->graph;
        iso_node_id_t id = iso_graph_find(graph, parcel->name);

        ISO_ASSERT(id != ISO_NO_NODE);
        const iso_node_t *node = iso_graph_node(graph, id);

        ISO_TRY(iso_tensor_view(node->dtype, &node->shape, NULL,
                                &parcel->form[form]));
    }
    return ISO_OK;
}

iso_status_t iso_route_parcels(const iso_forms_t *forms, int from_stage,
                               int to_stage, iso_parcel_t **parcels_out,
                               int *count_out)
{
    iso_boundary_t *transfers = NULL;
    int n_transfers = 0;
    int count = 0;

    *parcels_out = NULL;
    *count_out = 0;
    ISO_TRY(iso_transfers_list(forms->model, forms->partition[ISO_FORM_FULL],
                               &transfers, &n_transfers));
    iso_parcel_t *parcels =
        iso_alloc_zeroed((size_t)n_transfers, sizeof *parcels);
    iso_status_t status = parcels != NULL ? ISO_OK : ISO_NOMEM;

    for (int i = 0; status == ISO_OK && i < n_transfers; i++) {
        if (transfers[i].from_stage == from_stage &&
            transfers[i].to_stage == to_stage) {
            parcels[count].id = i;
            parcels[count].name = transfers[i].name;
            status = fill_parcel(forms, from_stage, &parcels[count]);
            count++;
        }
    }
    iso_free(transfers);
    if (status != ISO_OK || count == 0) {
        iso_free(parcels);
        return status;
    }
    *parcels_out = parcels;
    *count_out = count;
    return ISO_OK;
}
