/* A worker's loop. Each step adds its seconds to one of the times. */
#include "isotome/error.h"

#include "base/clock.h"
#include "exec/worker_impl.h"

#include <inttypes.h>
#include <string.h>

static double lap(double *since_s)
{
    double now_s = iso_clock_s();
    double spent_s = now_s - *since_s;

    *since_s = now_s;
    return spent_s;
}

/* What came this way is read where it lies. */
static void bind(const iso__worker_link_t *link, iso_program_t *program,
                 int64_t index, iso_form_t form)
{
    for (int p = 0; p < link->n_parcels; p++) {
        const iso_node_id_t input = link->ends[form][p];
        const void *payload = iso_channel_payload(link->channel, index, p);

        if (input == ISO_NO_NODE) {
            continue;
        }
        if (link->parcels[p].device != NULL) {
            iso_program_bind_direct(program, input, payload);
        } else {
            iso_program_bind_node(program, input, payload);
        }
    }
}

static iso_status_t receive(iso_worker_t *worker, int64_t index,
                            iso_form_t form, iso_stop_t *stop, bool *ready)
{
    for (int i = 0; i < worker->n_in && *ready; i++) {
        iso__worker_link_t *link = &worker->in[i];

        ISO_TRY(iso_channel_acquire(link->channel, index, form, stop, ready));
        if (*ready) {
            bind(link, worker->programs[form], index, form);
        }
    }
    return ISO_OK;
}

/* Copy an output into its message, where this end has that. */
static iso_status_t copy_output(const iso_program_t *program, int output,
                                const iso_parcel_t *parcel, iso_form_t form,
                                void *payload)
{
    if (parcel->device != NULL) {
        return iso_program_put(program, output, payload);
    }
    memcpy(payload, iso_program_output(program, output),
           iso_tensor_bytes(&parcel->form[form]));
    return ISO_OK;
}

static iso_status_t fill(const iso__worker_link_t *link,
                         const iso_program_t *program, int64_t index,
                         iso_form_t form)
{
    for (int p = 0; p < link->n_parcels; p++) {
        const int32_t output = link->ends[form][p];

        ISO_TRY(
            output == ISO_NO_NODE
                ? ISO_OK
                : copy_output(program, output, &link->parcels[p], form,
                              iso_channel_payload(link->channel, index, p)));
    }
    return ISO_OK;
}

static iso_status_t send(iso_worker_t *worker, int64_t index, iso_form_t form,
                         iso_stop_t *stop, bool *ready)
{
    for (int i = 0; i < worker->n_out && *ready; i++) {
        iso__worker_link_t *link = &worker->out[i];

        ISO_TRY(iso_channel_acquire(link->channel, index, form, stop, ready));
        if (!*ready) {
            return ISO_OK;
        }
        ISO_TRY(fill(link, worker->programs[form], index, form));
        iso_channel_post(link->channel, index, form);
    }
    return ISO_OK;
}

static iso_status_t deliver(iso_worker_t *worker, int64_t index,
                            iso_form_t form)
{
    for (int i = 0; i < worker->n_pickups; i++) {
        const iso__pickup_t *pickup = &worker->pickups[i];
        const void *rows = NULL;

        if (pickup->parcel < 0) {
            rows = iso_program_output(worker->programs[form],
                                      pickup->stage_output[form]);
        } else {
            rows = iso_channel_payload(
                iso__worker_link_from(worker, pickup->from_stage)->channel,
                index, pickup->parcel);
        }
        ISO_TRY(iso_deliver_write(worker->spec.deliver, pickup->output,
                                  &worker->spec.batches, index, rows));
    }
    return worker->spec.deliver == NULL
               ? ISO_OK
               : iso_deliver_end_batch(worker->spec.deliver,
                                       &worker->spec.batches, index);
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

/* What comes before the computing: rows are read by worker 0 alone. */
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
    const iso_graph_t *graph = iso__worker_graph(worker, form);
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
    iso_status_t status = ISO_OK;

    *ready = iso_stop_begins(stop, index);
    if (*ready) {
        status = take_in(worker, index, form, stop, times, ready);
    }
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

/* Done when micro-batch index is next. */
static int64_t samples_before(const iso_batches_t *batches, int64_t index)
{
    return index < batches->count ? iso_batches_first(batches, index)
                                  : batches->samples;
}

iso_status_t iso_worker_run(iso_worker_t *worker, int64_t first, int64_t end,
                            iso_stop_t *stop, iso_times_t *times)
{
    const iso_batches_t *batches = &worker->spec.batches;
    iso_progress_t *progress = worker->spec.progress;
    iso_status_t status = ISO_OK;
    double begin_s = iso_clock_s();
    bool ready = true;
    int64_t index = first;

    for (; index < end && status == ISO_OK && ready; index++) {
        iso_pulse_beat(worker->spec.pulse, samples_before(batches, index),
                       times);
        status = run_batch(worker, index, stop, times, &ready);
        if (status == ISO_OK && ready && progress != NULL) {
            iso_progress_update(progress, iso_batches_end(batches, index));
        }
    }
    iso_pulse_end(
        worker->spec.pulse,
        samples_before(batches, status == ISO_OK && ready ? index : index - 1),
        times);
    if (status != ISO_OK) {
        iso_stop_raise(stop);
    }
    /* The others are at the next micro-batch, and ask whether to go on. */
    if ((status != ISO_OK || !ready) && !worker->team_stopped && index < end) {
        (void)team_goes(worker, status, false);
    }
    times->total_s = iso_clock_s() - begin_s;
    return status;
}
