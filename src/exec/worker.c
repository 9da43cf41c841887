#include "exec/worker.h"

#include "isotome/error.h"

#include "base/log.h"
#include "base/mem.h"
#include "par/par.h"
#include "plan/buffers.h"

#include <inttypes.h>
#include <string.h>

/* A channel to one other stage and what its parcels are on this side: an
 * input of the stage graph or one of its outputs, in each form. */
typedef struct link {
    iso_channel_t *channel;
    int peer_stage;
    int n_parcels;
    iso_parcel_t *parcels;         /* (n_parcels) */
    int32_t *ends[ISO_FORM_COUNT]; /* (n_parcels) node id of an input
                                    * (ISO_NO_NODE: only delivered) or number
                                    * of an output */
} link_t;

/* Where the rows of a wanted model output come from at the last stage. */
typedef struct pickup {
    int output; /* of the model */
    int from_stage;
    int parcel; /* in the link from that stage; -1 when made here */
    int stage_output[ISO_FORM_COUNT]; /* of this stage's graph */
} pickup_t;

struct iso_worker {
    iso_worker_spec_t spec;
    MPI_Comm comm;
    iso_team_t *team;
    iso_seen_t seen;   /* what the watch is told */
    bool team_stopped; /* all workers know that they stop */
    iso_program_t *programs[ISO_FORM_COUNT];
    void *buffer; /* activations of both programs */
    int n_in;
    int n_out;
    link_t *in;  /* (n_stages) room; (n_in) used */
    link_t *out; /* (n_stages) room; (n_out) used */
    int n_pickups;
    pickup_t *pickups;
};

static const iso_graph_t *stage_graph(const iso_worker_t *worker,
                                      iso_form_t form)
{
    const iso_local_t *local = worker->spec.local[form];

    return local == NULL ? NULL : local->graph;
}

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
        const iso_graph_t *graph = stage_graph(worker, (iso_form_t)form);
        size_t bytes = 0;

        if (graph == NULL) {
            continue;
        }
        ISO_TRY(iso_program_buffer_bytes(graph, &bytes));
        most = bytes > most ? bytes : most;
    }
    worker->buffer = iso_alloc(most);
    if (worker->buffer == NULL) {
        return ISO_NOMEM;
    }
    iso_program_options_t options = {.buffer = worker->buffer,
                                     .buffer_bytes = most};

    for (int form = 0; form < ISO_FORM_COUNT; form++) {
        const iso_graph_t *graph = stage_graph(worker, (iso_form_t)form);

        if (graph == NULL) {
            continue;
        }
        ISO_TRY(iso_program_create(worker->spec.device, graph, &options,
                                   &worker->programs[form]));
        ISO_TRY(iso_load_bind(worker->spec.load, worker->spec.local[form],
                              worker->programs[form]));
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

static iso_status_t find_ends(const iso_worker_t *worker, link_t *link,
                              bool sends)
{
    for (int form = 0; form < ISO_FORM_COUNT; form++) {
        const iso_graph_t *graph = stage_graph(worker, (iso_form_t)form);

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
                              link_t *links, int *count)
{
    const iso_worker_spec_t *spec = &worker->spec;
    bool sends = peer_stage > spec->stage;
    int from = sends ? spec->stage : peer_stage;
    int to = sends ? peer_stage : spec->stage;
    link_t *link = &links[*count];

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
    iso_channel_spec_t channel = {
        .sends = sends,
        .peer = iso_plan_rank_of(spec->plan, peer_stage, route.worker),
        .n_slots = iso_channel_slots(from, to),
        .n_batches = spec->batches.count,
        .n_parcels = link->n_parcels,
        .parcels = link->parcels,
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
    return ISO_OK;
}

static const link_t *link_from(const iso_worker_t *worker, int stage)
{
    for (int i = 0; i < worker->n_in; i++) {
        if (worker->in[i].peer_stage == stage) {
            return &worker->in[i];
        }
    }
    ISO_UNREACHABLE("an output of an early stage has a link to the last one");
}

static void find_pickup(const iso_worker_t *worker, pickup_t *pickup)
{
    const iso_forms_t *forms = worker->spec.forms;
    const char *name = iso_route_output_node(forms, pickup->output);

    pickup->parcel = -1;
    pickup->from_stage = iso_partition_output_stage(
        forms->partition[ISO_FORM_FULL], pickup->output);
    if (pickup->from_stage == worker->spec.stage) {
        for (int form = 0; form < ISO_FORM_COUNT; form++) {
            const iso_graph_t *graph = stage_graph(worker, (iso_form_t)form);

            if (graph != NULL) {
                pickup->stage_output[form] = output_of(graph, name);
            }
        }
        return;
    }
    const link_t *link = link_from(worker, pickup->from_stage);

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
            pickup_t *pickup = &worker->pickups[worker->n_pickups++];

            pickup->output = output;
            find_pickup(worker, pickup);
        }
    }
    return ISO_OK;
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
        spec->feed, stage_graph(worker, ISO_FORM_FULL), &spec->batches);

    if (status == ISO_OK) {
        status = make_programs(worker);
    }
    if (status == ISO_OK) {
        status = iso_team_create(spec->team, spec->local, &worker->team);
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

/* Running. Each step adds its seconds to one of the times. */

static double lap(double *since_s)
{
    double now_s = iso_clock_s();
    double spent_s = now_s - *since_s;

    *since_s = now_s;
    return spent_s;
}

static iso_status_t receive(iso_worker_t *worker, int64_t index,
                            iso_form_t form, iso_stop_t *stop, bool *ready)
{
    for (int i = 0; i < worker->n_in && *ready; i++) {
        link_t *link = &worker->in[i];

        ISO_TRY(iso_channel_acquire(link->channel, index, form, stop, ready));
        for (int p = 0; p < link->n_parcels && *ready; p++) {
            if (link->ends[form][p] != ISO_NO_NODE) {
                iso_program_bind_node(
                    worker->programs[form], link->ends[form][p],
                    iso_channel_payload(link->channel, index, p));
            }
        }
    }
    return ISO_OK;
}

/* Copy what goes this way into its message. */
static void fill(const link_t *link, const iso_program_t *program,
                 int64_t index, iso_form_t form)
{
    for (int p = 0; p < link->n_parcels; p++) {
        if (link->ends[form][p] == ISO_NO_NODE) {
            continue;
        }
        memcpy(iso_channel_payload(link->channel, index, p),
               iso_program_output(program, link->ends[form][p]),
               iso_tensor_bytes(&link->parcels[p].form[form]));
    }
}

static iso_status_t send(iso_worker_t *worker, int64_t index, iso_form_t form,
                         iso_stop_t *stop, bool *ready)
{
    for (int i = 0; i < worker->n_out && *ready; i++) {
        link_t *link = &worker->out[i];

        ISO_TRY(iso_channel_acquire(link->channel, index, form, stop, ready));
        if (!*ready) {
            return ISO_OK;
        }
        fill(link, worker->programs[form], index, form);
        iso_channel_post(link->channel, index, form);
    }
    return ISO_OK;
}

static iso_status_t deliver(iso_worker_t *worker, int64_t index,
                            iso_form_t form)
{
    for (int i = 0; i < worker->n_pickups; i++) {
        const pickup_t *pickup = &worker->pickups[i];
        const void *rows = NULL;

        if (pickup->parcel < 0) {
            rows = iso_program_output(worker->programs[form],
                                      pickup->stage_output[form]);
        } else {
            rows = iso_channel_payload(
                link_from(worker, pickup->from_stage)->channel, index,
                pickup->parcel);
        }
        ISO_TRY(iso_deliver_write(worker->spec.deliver, pickup->output,
                                  &worker->spec.batches, index, rows));
    }
    return ISO_OK;
}

/* Say which samples a failure is about: indices in its text count within the
 * micro-batch. */
static iso_status_t name_samples(const iso_worker_t *worker, int64_t index,
                                 iso_status_t status)
{
    const iso_batches_t *batches = &worker->spec.batches;

    if (status == ISO_OK) {
        return ISO_OK;
    }
    return iso_fail_context(status, "samples %" PRId64 " to %" PRId64,
                            iso_batches_first(batches, index),
                            iso_batches_end(batches, index) - 1);
}

/* What comes before the computing: all of it is worker 0's. */
static iso_status_t take_in(iso_worker_t *worker, int64_t index,
                            iso_form_t form, iso_stop_t *stop,
                            iso_times_t *times, bool *ready)
{
    double since_s = iso_clock_s();

    ISO_TRY(name_samples(
        worker, index,
        iso_feed_read(worker->spec.feed, &worker->spec.batches, index)));
    times->read_s += lap(&since_s);
    ISO_TRY(receive(worker, index, form, stop, ready));
    times->receive_s += lap(&since_s);
    return ISO_OK;
}

/* What comes after it. */
static iso_status_t give_out(iso_worker_t *worker, int64_t index,
                             iso_form_t form, iso_stop_t *stop,
                             iso_times_t *times, bool *ready)
{
    double since_s = iso_clock_s();

    ISO_TRY(send(worker, index, form, stop, ready));
    times->send_s += lap(&since_s);
    if (!*ready) {
        return ISO_OK;
    }
    ISO_TRY(deliver(worker, index, form));
    times->write_s += lap(&since_s);
    for (int i = 0; i < worker->n_in; i++) {
        iso_channel_release(worker->in[i].channel, index);
    }
    return ISO_OK;
}

/* arg is the worker; what else there is to say is in worker->seen. */
static iso_status_t pass_on(void *arg, iso_node_id_t node,
                            const iso_tensor_t *value)
{
    iso_worker_t *worker = arg;

    worker->seen.node = node;
    worker->seen.value = value;
    return worker->spec.watch->see(worker->spec.watch->arg, &worker->seen);
}

/* What the stage computes with is there. */
static iso_status_t show_inputs(iso_worker_t *worker, iso_form_t form)
{
    const iso_graph_t *graph = stage_graph(worker, form);
    iso_status_t status = ISO_OK;

    for (iso_node_id_t id = 0;
         status == ISO_OK && id < iso_graph_node_count(graph); id++) {
        if (iso_graph_node(graph, id)->op == ISO_OP_INPUT) {
            status = pass_on(worker, id,
                             iso_program_leaf(worker->programs[form], id));
        }
    }
    return status;
}

/* From here on each value is seen as it is made. */
static iso_status_t watch_batch(iso_worker_t *worker, int64_t index,
                                iso_form_t form)
{
    const iso_batches_t *batches = &worker->spec.batches;

    if (worker->spec.watch == NULL) {
        return ISO_OK;
    }
    worker->seen = (iso_seen_t){
        .first_sample = iso_batches_first(batches, index),
        .samples = batches->size[form],
        .stage = worker->spec.stage,
        .whole = iso_partition_stage(worker->spec.forms->partition[form],
                                     worker->spec.stage)
                     ->graph,
        .local = worker->spec.local[form],
    };
    iso_program_observe(worker->programs[form], pass_on, worker);
    return show_inputs(worker, form);
}

/* Go on only when all workers of the stage can. */
static bool team_goes(iso_worker_t *worker, iso_status_t status, bool ready)
{
    bool go = iso_team_go(worker->team, status == ISO_OK && ready);

    worker->team_stopped = !go;
    return go;
}

/* *ready turns false when this rank, or another, has to stop. */
static iso_status_t run_batch(iso_worker_t *worker, int64_t index,
                              iso_stop_t *stop, iso_times_t *times, bool *ready)
{
    iso_form_t form = iso_batches_form(&worker->spec.batches, index);
    iso_status_t status = take_in(worker, index, form, stop, times, ready);

    if (status == ISO_OK && *ready) {
        status = watch_batch(worker, index, form);
    }
    *ready = team_goes(worker, status, *ready);
    if (!*ready) {
        return status;
    }
    status = name_samples(
        worker, index,
        iso_team_run(worker->team, form, worker->programs[form], times));
    *ready = team_goes(worker, status, true);
    if (!*ready) {
        return iso_team_misled(worker->team) ? ISO_OK : status;
    }
    return give_out(worker, index, form, stop, times, ready);
}

iso_status_t iso_worker_run(iso_worker_t *worker, iso_stop_t *stop,
                            iso_times_t *times)
{
    const iso_batches_t *batches = &worker->spec.batches;
    iso_progress_t *progress = worker->spec.progress;
    iso_status_t status = ISO_OK;
    double begin_s = iso_clock_s();
    bool ready = true;
    int64_t index = 0;

    for (; index < batches->count && status == ISO_OK && ready; index++) {
        status = run_batch(worker, index, stop, times, &ready);
        if (status == ISO_OK && ready && progress != NULL) {
            iso_progress_update(progress, iso_batches_end(batches, index));
        }
    }
    if (status != ISO_OK) {
        iso_stop_raise(stop);
    }
    /* The others are at the next micro-batch, and ask whether to go on. */
    if ((status != ISO_OK || !ready) && !worker->team_stopped &&
        index < batches->count) {
        (void)team_goes(worker, status, false);
    }
    times->total_s = iso_clock_s() - begin_s;
    return status;
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

static void free_links(link_t *links, int count)
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

double iso_worker_exchanged_bytes(const iso_worker_t *worker)
{
    return iso_team_sent_bytes(worker->team);
}

double iso_worker_exchange_bytes(const iso_worker_t *worker, int number)
{
    return iso_team_exchange_bytes(worker->team, ISO_FORM_FULL, number);
}
