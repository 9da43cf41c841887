#include "isotome/error.h"

#include "base/log.h"
#include "base/mem.h"
#include "exec/worker_impl.h"
#include "par/par.h"
#include "plan/buffers.h"

#include <string.h>

static int output_of(const iso_graph_t *graph, const char *name)
{
    for (int i = 0; i < iso_graph_output_count(graph); i++) {
        if (strcmp(iso_graph_output(graph, i)->name, name) == 0) {
            return i;
        }
    }
    ISO_UNREACHABLE("a stage emits every value that leaves it");
}

/* Reserving. */

static iso_status_t make_programs(iso_worker_t *worker)
{
    size_t most = 0;

    for (int form = 0; form < ISO_FORM_COUNT; form++) {
        const iso_graph_t *graph = iso__worker_graph(worker, (iso_form_t)form);
        size_t bytes = 0;

        if (graph == NULL) {
            continue;
        }
        ISO_TRY(iso_program_buffer_bytes(worker->spec.device, graph,
                                         worker->spec.watch != NULL, &bytes));
        most = bytes > most ? bytes : most;
    }
    worker->buffer = iso_alloc(most);
    if (worker->buffer == NULL) {
        return ISO_NOMEM;
    }
    iso_program_options_t options = {.buffer = worker->buffer,
                                     .buffer_bytes = most,
                                     .keeps_values =
                                         worker->spec.watch != NULL};

    for (int form = 0; form < ISO_FORM_COUNT; form++) {
        const iso_graph_t *graph = iso__worker_graph(worker, (iso_form_t)form);

        if (graph == NULL) {
            continue;
        }
        ISO_TRY(iso_program_create(worker->spec.device, graph, &options,
                                   &worker->programs[form]));
        ISO_TRY(iso_feed_bind(worker->spec.feed, worker->programs[form]));
    }
    return ISO_OK;
}

/* The input that a value goes to. A param or constant of this stage has its
 * value already, also when it is a model output on its way through. */
static iso_node_id_t input_of(const iso_graph_t *graph, const char *name)
{
    iso_node_id_t id = iso_graph_find(graph, name);

    return id != ISO_NO_NODE && iso_graph_node(graph, id)->op == ISO_OP_INPUT
               ? id
               : ISO_NO_NODE;
}

/* A worker may have nothing of a value that passes in pieces, when the tail
 * has fewer samples than there are workers. */
static int32_t piece_output_of(const iso_graph_t *graph,
                               const iso_parcel_t *parcel, int form)
{
    return iso_tensor_count(&parcel->form[form]) == 0
               ? ISO_NO_NODE
               : output_of(graph, parcel->name);
}

static iso_status_t find_ends(const iso_worker_t *worker,
                              iso__worker_link_t *link, bool sends)
{
    for (int form = 0; form < ISO_FORM_COUNT; form++) {
        const iso_graph_t *graph = iso__worker_graph(worker, (iso_form_t)form);

        if (graph == NULL) {
            continue;
        }
        link->ends[form] =
            iso_alloc_zeroed((size_t)link->n_parcels, sizeof *link->ends[form]);
        if (link->ends[form] == NULL) {
            return ISO_NOMEM;
        }
        for (int i = 0; i < link->n_parcels; i++) {
            const iso_parcel_t *parcel = &link->parcels[i];

            link->ends[form][i] = sends ? piece_output_of(graph, parcel, form)
                                        : input_of(graph, parcel->name);
        }
    }
    return ISO_OK;
}

static iso_status_t make_link(iso_worker_t *worker, int peer_stage,
                              iso__worker_link_t *links, int *count)
{
    const iso_worker_spec_t *spec = &worker->spec;
    bool sends = peer_stage > spec->stage;
    int from = sends ? spec->stage : peer_stage;
    int to = sends ? peer_stage : spec->stage;
    iso__worker_link_t *link = &links[*count];

    iso_route_t route = {.plan = spec->plan,
                         .forms = spec->forms,
                         .local = spec->local,
                         .worker = iso_par_rank(spec->team),
                         .from_stage = from,
                         .to_stage = to};

    ISO_TRY(iso_route_parcels(&route, &link->parcels, &link->n_parcels));
    if (link->n_parcels == 0) {
        return ISO_OK;
    }
    *count += 1;
    link->peer_stage = peer_stage;
    ISO_TRY(find_ends(worker, link, sends));
    iso__worker_find_devices(worker, link, sends);

    const int peer = iso_plan_rank_of(spec->plan, peer_stage, route.worker);
    iso_channel_spec_t channel = {
        .sends = sends,
        .verifies = spec->verifies,
        .is_apart = spec->is_direct[peer] ||
                    spec->is_direct[iso_par_rank(worker->comm)],
        .peer = peer,
        .n_slots = iso_channel_slots(from, to),
        .n_batches = spec->batches.count,
        .n_parcels = link->n_parcels,
        .parcels = link->parcels,
        .device = spec->device,
    };

    return iso_channel_create(&channel, worker->comm, &link->channel);
}

static iso_status_t make_links(iso_worker_t *worker)
{
    const iso_worker_spec_t *spec = &worker->spec;
    int n_stages = iso_plan_stage_count(spec->plan);
    size_t room = (size_t)n_stages;

    worker->in = iso_alloc_zeroed(room, sizeof *worker->in);
    worker->out = iso_alloc_zeroed(room, sizeof *worker->out);
    if (worker->in == NULL || worker->out == NULL) {
        return ISO_NOMEM;
    }
    for (int stage = 0; stage < spec->stage; stage++) {
        ISO_TRY(make_link(worker, stage, worker->in, &worker->n_in));
    }
    for (int stage = spec->stage + 1; stage < n_stages; stage++) {
        ISO_TRY(make_link(worker, stage, worker->out, &worker->n_out));
    }
    iso__worker_keep_outputs(worker);
    return ISO_OK;
}

const iso__worker_link_t *iso__worker_link_from(const iso_worker_t *worker,
                                                int stage)
{
    for (int i = 0; i < worker->n_in; i++) {
        if (worker->in[i].peer_stage == stage) {
            return &worker->in[i];
        }
    }
    ISO_UNREACHABLE("an output of an early stage has a link to the last one");
}

static void find_pickup(const iso_worker_t *worker, iso__pickup_t *pickup)
{
    const iso_forms_t *forms = worker->spec.forms;
    const char *name = iso_route_output_node(forms, pickup->output);

    pickup->parcel = -1;
    pickup->from_stage = iso_partition_output_stage(
        forms->partition[ISO_FORM_FULL], pickup->output);
    if (pickup->from_stage == worker->spec.stage) {
        for (int form = 0; form < ISO_FORM_COUNT; form++) {
            const iso_graph_t *graph =
                iso__worker_graph(worker, (iso_form_t)form);

            if (graph != NULL) {
                pickup->stage_output[form] = output_of(graph, name);
            }
        }
        return;
    }
    const iso__worker_link_t *link =
        iso__worker_link_from(worker, pickup->from_stage);

    for (int i = 0; i < link->n_parcels; i++) {
        if (strcmp(link->parcels[i].name, name) == 0) {
            pickup->parcel = i;
        }
    }
    ISO_ASSERT(pickup->parcel >= 0);
}

static iso_status_t make_pickups(iso_worker_t *worker)
{
    int count = iso_graph_output_count(worker->spec.forms->model);

    if (worker->spec.deliver == NULL) {
        return ISO_OK;
    }
    worker->pickups = iso_alloc_zeroed((size_t)count, sizeof *worker->pickups);
    if (worker->pickups == NULL) {
        return ISO_NOMEM;
    }
    for (int output = 0; output < count; output++) {
        if (iso_deliver_wants(worker->spec.deliver, output)) {
            iso__pickup_t *pickup = &worker->pickups[worker->n_pickups++];

            pickup->output = output;
            find_pickup(worker, pickup);
        }
    }
    return ISO_OK;
}

static iso_status_t make_team(iso_worker_t *worker)
{
    const iso_worker_spec_t *spec = &worker->spec;
    const iso_team_spec_t team = {
        .comm = spec->team,
        .local = spec->local,
        .first_rank = iso_plan_rank_of(spec->plan, spec->stage, 0),
        .verifies = spec->verifies,
    };

    return iso_team_create(&team, &worker->team);
}

iso_status_t iso_worker_create(const iso_worker_spec_t *spec, MPI_Comm comm,
                               iso_worker_t **worker_out)
{
    iso_worker_t *worker = iso_alloc_zeroed(1, sizeof *worker);

    *worker_out = NULL;
    if (worker == NULL) {
        return ISO_NOMEM;
    }
    worker->spec = *spec;
    worker->comm = comm;
    iso_status_t status = iso_feed_reserve(
        spec->feed, iso__worker_graph(worker, ISO_FORM_FULL), &spec->batches);

    if (status == ISO_OK) {
        status = make_programs(worker);
    }
    if (status == ISO_OK) {
        status = make_team(worker);
    }
    if (status == ISO_OK) {
        status = make_links(worker);
    }
    if (status == ISO_OK) {
        status = make_pickups(worker);
    }
    if (status != ISO_OK) {
        iso_worker_destroy(&worker);
        return status;
    }
    *worker_out = worker;
    return ISO_OK;
}

iso_program_t *iso_worker_program(const iso_worker_t *worker, iso_form_t form)
{
    return worker->programs[form];
}

void iso_worker_finish(iso_worker_t *worker)
{
    for (int i = 0; i < worker->n_out; i++) {
        iso_channel_announce(worker->out[i].channel);
    }
    for (int i = 0; i < worker->n_in; i++) {
        iso_channel_finish(worker->in[i].channel);
    }
    for (int i = 0; i < worker->n_out; i++) {
        iso_channel_finish(worker->out[i].channel);
    }
}

static void free_links(iso__worker_link_t *links, int count)
{
    for (int i = 0; i < count; i++) {
        iso_channel_destroy(&links[i].channel);
        for (int form = 0; form < ISO_FORM_COUNT; form++) {
            iso_free(links[i].ends[form]);
        }
        iso_free(links[i].parcels);
    }
    iso_free(links);
}

void iso_worker_destroy(iso_worker_t **worker)
{
    iso_worker_t *gone = *worker;

    if (gone == NULL) {
        return;
    }
    free_links(gone->in, gone->n_in);
    free_links(gone->out, gone->n_out);
    iso_team_destroy(&gone->team);
    for (int form = 0; form < ISO_FORM_COUNT; form++) {
        iso_program_destroy(&gone->programs[form]);
    }
    iso_free(gone->buffer);
    iso_free(gone->pickups);
    iso_free(gone);
    *worker = NULL;
}

double iso_worker_sent_bytes(const iso_worker_t *worker)
{
    double bytes = 0;

    for (int i = 0; i < worker->n_out; i++) {
        bytes += iso_channel_sent_bytes(worker->out[i].channel);
    }
    return bytes;
}

double iso_worker_direct_bytes(const iso_worker_t *worker)
{
    double bytes = 0;

    for (int i = 0; i < worker->n_in; i++) {
        bytes += iso_channel_direct_bytes(worker->in[i].channel);
    }
    for (int i = 0; i < worker->n_out; i++) {
        bytes += iso_channel_direct_bytes(worker->out[i].channel);
    }
    return bytes;
}

double iso_worker_exchanged_bytes(const iso_worker_t *worker)
{
    return iso_team_sent_bytes(worker->team);
}

double iso_worker_exchange_bytes(const iso_worker_t *worker, int number)
{
    return iso_team_exchange_bytes(worker->team, ISO_FORM_FULL, number);
}
