/* Which boundary values a worker has in the memory of a device. */
#include "exec/worker_impl.h"
#include "par/par.h"

#include <string.h>

/* Does this stage deliver it, from the host's memory? */
static bool is_delivered(const iso_worker_t *worker, const char *name)
{
    const iso_worker_spec_t *spec = &worker->spec;
    const int count = iso_graph_output_count(spec->forms->model);
    bool found = false;

    for (int i = 0; spec->deliver != NULL && i < count; i++) {
        found =
            found || (iso_deliver_wants(spec->deliver, i) &&
                      strcmp(iso_route_output_node(spec->forms, i), name) == 0);
    }
    return found;
}

/* The direct device at this end in one form; NULL: the host. */
static iso_device_t *device_in(const iso_worker_t *worker, int form,
                               int32_t end, bool sends)
{
    const iso_program_t *program = worker->programs[form];

    return end == ISO_NO_NODE ? NULL
           : sends            ? iso_program_maker(program, end)
                              : iso_program_reader(program, end);
}

/* It is the same in both forms, as is a message's place. */
static iso_device_t *device_of(const iso_worker_t *worker,
                               const iso__worker_link_t *link, int parcel,
                               bool sends)
{
    iso_device_t *device = NULL;

    for (int form = 0; form < ISO_FORM_COUNT; form++) {
        if (worker->programs[form] == NULL) {
            continue;
        }
        iso_device_t *one =
            device_in(worker, form, link->ends[form][parcel], sends);

        if (one == NULL || (device != NULL && device != one)) {
            return NULL;
        }
        device = one;
    }
    return device;
}

void iso__worker_find_devices(const iso_worker_t *worker,
                              iso__worker_link_t *link, bool sends)
{
    if (!worker->spec.is_direct[iso_par_rank(worker->comm)]) {
        return;
    }
    for (int p = 0; p < link->n_parcels; p++) {
        iso_parcel_t *parcel = &link->parcels[p];

        if (sends || !is_delivered(worker, parcel->name)) {
            parcel->device = device_of(worker, link, p, sends);
        }
    }
}

/* Is this output sent from the host's memory? */
static bool leaves_by_host(const iso_worker_t *worker, int form, int output)
{
    bool found = false;

    for (int i = 0; i < worker->n_out; i++) {
        const iso__worker_link_t *link = &worker->out[i];

        for (int p = 0; p < link->n_parcels; p++) {
            found = found || (link->ends[form][p] == output &&
                              link->parcels[p].device == NULL);
        }
    }
    return found;
}

static void keep_of_link(const iso_worker_t *worker,
                         const iso__worker_link_t *link, int form)
{
    for (int p = 0; p < link->n_parcels; p++) {
        const int32_t output = link->ends[form][p];

        if (link->parcels[p].device != NULL &&
            !leaves_by_host(worker, form, output)) {
            iso_program_keep(worker->programs[form], output);
        }
    }
}

void iso__worker_keep_outputs(const iso_worker_t *worker)
{
    for (int form = 0; form < ISO_FORM_COUNT; form++) {
        for (int i = 0; worker->programs[form] != NULL && i < worker->n_out;
             i++) {
            keep_of_link(worker, &worker->out[i], form);
        }
    }
}
