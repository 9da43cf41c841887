/* From the plan to a worker that has its weights. */
#include "isotome/error.h"
#include "isotome/model_file.h"

#include "base/clock.h"
#include "base/digest.h"
#include "exec/deadline.h"
#include "exec/direct.h"
#include "exec/job_machine.h"
#include "exec/overwrite.h"
#include "exec/run_impl.h"
#include "io/packed.h"
#include "kernel/arith.h"
#include "par/fields.h"
#include "par/par.h"
#include "par/wait.h"

#include <inttypes.h>
#include <string.h>

/* What is rehearsed, as samples and as a digest. */
static iso_status_t make_inputs(iso__job_t *job, int64_t *samples_out,
                                uint64_t *digest_out)
{
    const iso_rehearsal_t *rehearsal = job->rehearsal;
    iso_digest_t digest;

    iso_digest_begin(&digest);
    iso_digest_add_int(&digest, (int64_t)rehearsal->seed);
    for (int i = 0; i < rehearsal->n_parts; i++) {
        iso_digest_add_int(&digest, rehearsal->parts[i]);
        *samples_out +=
            rehearsal->parts[i] * iso_plan_micro_batch(job->plan.plan);
    }
    *digest_out = iso_digest_end(&digest);
    return iso_feed_make(iso_model_graph(job->plan.model),
                         iso_plan_batch(job->plan.plan), rehearsal->seed,
                         &job->feed);
}

/* Every rank with a stage opens every input: the first to read it, all to see
 * that they were given the same. */
static iso_status_t open_inputs(iso__job_t *job, int64_t *samples_out,
                                uint64_t *digest_out)
{
    const iso_run_options_t *options = job->options;

    ISO_TRY(iso_feed_open(iso_model_graph(job->plan.model),
                          iso_plan_batch(job->plan.plan), options->inputs,
                          options->n_inputs, &job->feed));
    ISO_TRY(iso_feed_samples(job->feed, samples_out));
    return iso_feed_digest(job->feed, digest_out);
}

/* Collective: ranks without a stage have no inputs to compare. */
static iso_status_t compare_inputs(const iso__job_t *job, int64_t samples,
                                   uint64_t digest)
{
    MPI_Comm readers = MPI_COMM_NULL;
    char text[ISO_FIELD_TEXT_BYTES];
    iso_field_t field = {"the inputs", digest, text};
    iso_status_t status = ISO_OK;

    (void)snprintf(text, sizeof text, "%" PRId64 " samples, %s", samples,
                   job->options->n_inputs > 0 ? job->options->inputs[0] : "");
    ISO_CHECK_MPI(MPI_Comm_split(job->comm,
                                 iso__job_is_idle(job) ? MPI_UNDEFINED : 0,
                                 job->rank, &readers));
    if (readers != MPI_COMM_NULL) {
        status = iso_fields_agree(&field, 1, readers);
        ISO_CHECK_MPI(MPI_Comm_free(&readers));
    }
    return iso_par_agree(status, job->comm);
}

iso_status_t iso__job_count_samples(iso__job_t *job)
{
    int64_t samples = 0;
    iso_status_t status = ISO_OK;

    if (!iso__job_is_idle(job)) {
        status = job->rehearsal != NULL
                     ? make_inputs(job, &samples, &job->inputs)
                     : open_inputs(job, &samples, &job->inputs);
    }
    ISO_TRY(iso_par_agree(status, job->comm));
    ISO_TRY(compare_inputs(job, samples, job->inputs));
    ISO_CHECK_MPI(MPI_Bcast(&samples, 1, MPI_INT64_T, 0, job->comm));
    job->batches =
        iso_batches_of(0, samples, iso_plan_micro_batch(job->plan.plan));
    return ISO_OK;
}

static iso_status_t cut(iso__job_t *job)
{
    const iso_graph_t *graph = iso_model_graph(job->plan.model);

    job->forms.model = graph;
    for (int form = 0; form < ISO_FORM_COUNT; form++) {
        if (job->batches.size[form] == 0) {
            continue;
        }
        ISO_TRY(iso_plan_partition(job->plan.plan, graph,
                                   job->batches.size[form],
                                   &job->partitions[form]));
        job->forms.partition[form] = job->partitions[form];
        ISO_TRY(iso_plan_local_create(job->plan.plan, job->partitions[form],
                                      job->rank, &job->locals[form]));
    }
    return ISO_OK;
}

/* The bytes of the outputs depend on these and on nothing else: not on plan,
 * ranks, threads or devices. */
static iso_status_t open_deliver(iso__job_t *job)
{
    const iso_graph_t *graph = iso_model_graph(job->plan.model);
    const iso_ledger_trait_t traits[] = {
        {"the arithmetic's version", ISO_ARITHMETIC_VERSION},
        {"the model's graph", iso_graph_digest(graph)},
        {"the model's weights", iso_model_root_digest(job->plan.model)},
        {"the inputs", job->inputs},
    };
    iso_deliver_spec_t spec = {
        .graph = graph,
        .batch = iso_plan_batch(job->plan.plan),
        .places = job->options->outputs,
        .n_places = job->options->n_outputs,
        .force = job->options->force,
        .resume = job->options->resume,
        .fleeting = !iso__job_is_interruptible(job),
        .sync_s = job->options->sync_s,
        .samples = job->batches.samples,
        .traits = traits,
        .n_traits = sizeof traits / sizeof traits[0],
    };

    return iso_deliver_open(&spec, &job->deliver);
}

static iso_status_t open_outputs(iso__job_t *job)
{
    ISO_TRY(iso_overwrite_check(job->options));
    ISO_TRY(open_deliver(job));
    if (job->options->report_path == NULL ||
        iso_deliver_is_finished(job->deliver)) {
        return ISO_OK;
    }
    return iso_draft_create(job->options->report_path, true, &job->report);
}

/* What rank 0 has found of an earlier job. Collective. */
static void share_done(iso__job_t *job)
{
    int64_t done = 0;
    int64_t finished = 0;

    if (job->deliver != NULL) {
        done = iso_deliver_done(job->deliver);
        finished = iso_deliver_is_finished(job->deliver) ? 1 : 0;
    }
    int64_t both[2] = {done, finished};

    ISO_CHECK_MPI(MPI_Bcast(both, 2, MPI_INT64_T, 0, job->comm));
    job->finished = both[1] != 0;
    job->batches = iso_batches_of(both[0], job->batches.samples,
                                  iso_plan_micro_batch(job->plan.plan));
}

static iso_status_t make_worker(iso__job_t *job)
{
    iso_worker_spec_t spec = {
        .plan = job->plan.plan,
        .forms = &job->forms,
        .stage = iso__job_stage(job),
        .team = job->team,
        .batches = job->batches,
        .device = job->device,
        .is_direct = job->is_direct,
        .feed = job->feed,
        .deliver = job->deliver,
        .watch = job->watch,
        .pulse = job->pulse,
        .verifies = job->options->verify_transfers,
    };

    for (int form = 0; form < ISO_FORM_COUNT; form++) {
        spec.local[form] = job->locals[form].local;
    }
    if (iso__job_shows_progress(job)) {
        spec.progress = &job->progress;
    }
    return iso_worker_create(&spec, job->comm, &job->worker);
}

static iso_status_t open_device(iso__job_t *job)
{
    const int rank = iso_par_rank(job->comm);
    iso_device_map_t *map = job->options->map;

    if (map == NULL) {
        ISO_TRY(iso_device_map_create(job->options->device, &job->map));
        map = job->map;
    }
    iso_device_map_set_rank(map, iso_machine_rank(job->plan.machine, rank));
    iso_device_map_set_seat(map, iso_job_seat(job->plan.machine, rank));
    return iso_device_open_map(map, job->options->threads, &job->device);
}

/* Somebody looks at what is in messages: it must be in the host's memory. */
static bool sees_messages(const iso__job_t *job)
{
    return job->watch != NULL || job->options->verify_transfers;
}

/* Collective. */
static iso_status_t reserve(iso__job_t *job)
{
    iso_status_t status = iso__job_is_idle(job) ? ISO_OK : cut(job);

    if (status == ISO_OK && !iso__job_is_idle(job)) {
        status = open_device(job);
    }
    ISO_TRY(iso_par_agree(status, job->comm));
    ISO_TRY(iso_direct_agree(sees_messages(job) ? NULL : job->device, job->comm,
                             &job->is_direct));
    if (!iso__job_is_idle(job)) {
        status = make_worker(job);
    }
    return iso_par_agree(status, job->comm);
}

static iso_status_t load(iso__job_t *job)
{
    const double begin_s = iso_clock_s();
    iso_load_spec_t spec = {
        .model = job->plan.model,
        .device = job->device,
        .threads = job->options->threads,
    };

    if (job->options->packed_path != NULL) {
        ISO_TRY(iso_packed_open(job->options->packed_path, &job->packed));
        spec.packed = job->packed;
    }
    for (int form = 0; form < ISO_FORM_COUNT; form++) {
        spec.locals[form] = job->locals[form].local;
        spec.programs[form] = iso_worker_program(job->worker, (iso_form_t)form);
    }
    ISO_TRY(iso_load_parts(&spec, &job->load));
    job->times.load_s = iso_clock_s() - begin_s;
    return ISO_OK;
}

/* For the next job, which finds it packed. */
static void keep_packed(iso__job_t *job)
{
    const double begin_s = iso_clock_s();

    iso_load_keep(job->load);
    job->times.load_s += iso_clock_s() - begin_s;
}

/* Collective. */
static iso_status_t create_pulse(iso__job_t *job)
{
    const iso_pulse_spec_t spec = {
        .path =
            iso__job_is_interruptible(job) ? job->options->status_path : NULL,
        .stage = iso__job_stage(job),
        .worker = iso__job_is_idle(job)
                      ? 0
                      : iso_plan_part(job->plan.plan, job->rank)->worker,
        .begin = job->batches.begin,
        .samples = job->batches.samples,
    };

    return iso_pulse_create(&spec, job->comm, &job->pulse);
}

/* Collective. */
static iso_status_t load_all(iso__job_t *job)
{
    iso_status_t status = ISO_OK;

    iso_wait_phase("loading weights", 0);
    if (!iso__job_is_idle(job)) {
        status = load(job);
    }
    ISO_TRY(iso_par_agree(status, job->comm));
    if (!iso__job_is_idle(job)) {
        status = iso_load_verify(job->load, job->team);
    }
    ISO_TRY(iso_par_agree(status, job->comm));
    if (!iso__job_is_idle(job)) {
        keep_packed(job);
    }
    return ISO_OK;
}

iso_status_t iso__job_prepare(iso__job_t *job)
{
    iso_status_t status = ISO_OK;

    if (job->rank == 0 && job->rehearsal == NULL) {
        status = open_outputs(job);
    }
    iso_wait_phase("creating the outputs", ISO_DEADLINE_DISK_S);
    ISO_TRY(iso_par_agree(status, job->comm));
    share_done(job);
    if (job->finished) {
        return ISO_OK;
    }
    iso_wait_phase("reserving memory", 0);
    ISO_TRY(iso_adopt(job->comm, &job->adopted));
    ISO_TRY(create_pulse(job));
    ISO_CHECK_MPI(MPI_Comm_split(
        job->comm, iso__job_is_idle(job) ? MPI_UNDEFINED : iso__job_stage(job),
        job->rank, &job->team));
    ISO_TRY(reserve(job));
    return load_all(job);
}
