#include "exec/route.h"

#include "base/mem.h"

#include <string.h>

const char *iso_route_output_node(const iso_forms_t *forms, int output)
{
    const iso_output_t *named = iso_graph_output(forms->model, output);

    return iso_graph_node(forms->model, named->node)->name;
}

/* The node of a local graph that is this value: an output of the sender, an
 * input of the receiver; NULL when this worker has nothing of it. */
static const iso_node_t *piece_of(const iso_local_t *local, const char *name)
{
    const iso_graph_t *graph = local->graph;

    for (int i = 0; i < iso_graph_output_count(graph); i++) {
        const iso_output_t *output = iso_graph_output(graph, i);

        if (strcmp(output->name, name) == 0) {
            return iso_graph_node(graph, output->node);
        }
    }
    iso_node_id_t id = iso_graph_find(graph, name);

    return id == ISO_NO_NODE ? NULL : iso_graph_node(graph, id);
}

static const iso_node_t *whole_of(const iso_route_t *route, iso_form_t form,
                                  const char *name)
{
    const iso_graph_t *graph =
        iso_partition_stage(route->forms->partition[form], route->from_stage)
            ->graph;

    return iso_graph_node(graph, iso_graph_find(graph, name));
}

/* Shape in one form. Where this worker has nothing of the value there are no
 * elements of it. */
static iso_shape_t shape_of(const iso_route_t *route, iso_form_t form,
                            bool in_pieces, const iso_node_t *whole)
{
    const iso_node_t *piece = NULL;
    iso_shape_t shape = whole->shape;

    if (!in_pieces) {
        return shape;
    }
    piece = piece_of(route->local[form], whole->name);
    if (piece == NULL) {
        shape.dim[0] = iso_dim_of(0);
        return shape;
    }
    return piece->shape;
}

static iso_status_t fill_parcel(const iso_route_t *route, bool in_pieces,
                                iso_parcel_t *parcel)
{
    for (int i = 0; i < ISO_FORM_COUNT; i++) {
        iso_form_t form = (iso_form_t)i;

        if (route->forms->partition[form] == NULL) {
            continue;
        }
        const iso_node_t *whole = whole_of(route, form, parcel->name);
        iso_shape_t shape = shape_of(route, form, in_pieces, whole);

        ISO_TRY(
            iso_tensor_view(whole->dtype, &shape, NULL, &parcel->form[form]));
    }
    return ISO_OK;
}

/* Is this rank concerned? */
static bool takes_part(const iso_route_t *route, int index)
{
    const iso_boundary_t *value = iso_plan_boundary(route->plan, index);
    bool in_pieces = iso_plan_passes_pieces(route->plan, index);

    return value->from_stage == route->from_stage &&
           value->to_stage == route->to_stage &&
           (in_pieces
                ? piece_of(route->local[ISO_FORM_FULL], value->name) != NULL
                : route->worker == 0);
}

iso_status_t iso_route_parcels(const iso_route_t *route,
                               iso_parcel_t **parcels_out, int *count_out)
{
    int n_boundaries = iso_plan_boundary_count(route->plan);
    iso_parcel_t *parcels =
        iso_alloc_zeroed((size_t)n_boundaries, sizeof *parcels);
    iso_status_t status = parcels != NULL ? ISO_OK : ISO_NOMEM;
    int count = 0;

    *parcels_out = NULL;
    *count_out = 0;
    for (int i = 0; status == ISO_OK && i < n_boundaries; i++) {
        if (takes_part(route, i)) {
            parcels[count].id = i;
            parcels[count].name = iso_plan_boundary(route->plan, i)->name;
            status = fill_parcel(route, iso_plan_passes_pieces(route->plan, i),
                                 &parcels[count]);
            count++;
        }
    }
    if (status != ISO_OK || count == 0) {
        iso_free(parcels);
        return status;
    }
    *parcels_out = parcels;
    *count_out = count;
    return ISO_OK;
}
