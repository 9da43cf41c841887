#include "isotome/run.h"

#include "isotome/error.h"
#include "isotome/model_file.h"

#include "base/clock.h"
#include "base/digest.h"
#include "base/log.h"
#include "base/mem.h"
#include "exec/adopt.h"
#include "exec/deadline.h"
#include "exec/interrupt.h"
#include "exec/job_machine.h"
#include "exec/job_plan.h"
#include "exec/load.h"
#include "exec/overwrite.h"
#include "exec/rehearsal.h"
#include "exec/report.h"
#include "exec/watch.h"
#include "exec/worker.h"
#include "io/packed.h"
#include "kernel/arith.h"
#include "par/affinity.h"
#include "par/fields.h"
#include "par/par.h"
#include "par/watchdog.h"
#include "plan/node_seconds.h"
#include "plan/plan_local.h"

#include <inttypes.h>
#include <string.h>

/* What one rank holds of a job, in the order it is made. */
typedef struct job {
    const iso_run_options_t *options;
    const iso_watch_t *watch;   /* NULL: nobody watches */
    iso_rehearsal_t *rehearsal; /* NULL: this is no rehearsal */
    MPI_Comm comm;
    int rank;
    iso_affinity_t binding;
    iso_job_plan_t plan;
    iso_feed_t *feed;
    uint64_t inputs; /* digest */
    iso_batches_t batches;
    bool finished;          /* by an earlier job */
    iso_deliver_t *deliver; /* at rank 0, as is the report */
    iso_draft_t *report;    /* NULL: none is wanted */
    iso_adopted_t adopted;
    iso_partition_t *partitions[ISO_FORM_COUNT];
    iso_plan_local_t locals[ISO_FORM_COUNT];
    iso_forms_t forms;
    MPI_Comm team;         /* the workers of this rank's stage */
    iso_device_map_t *map; /* NULL when the caller has one */
    iso_device_t *device;
    bool *is_direct; /* (ranks) */
    iso_worker_t *worker;
    iso_packed_t *packed; /* NULL: none */
    iso_load_t *load;
    iso_progress_t progress;
    iso_pulse_t *pulse; /* NULL: none is wanted */
    iso_times_t times;
} job_t;

static bool is_idle(const job_t *job)
{
    return job->rank >= iso_plan_used(job->plan.plan);
}

static int stage_of(const job_t *job)
{
    return is_idle(job) ? -1 : iso_plan_part(job->plan.plan, job->rank)->stage;
}

/* A run with outputs, which a later one can go on with. */
static bool is_interruptible(const job_t *job)
{
    return job->watch == NULL && job->rehearsal == NULL;
}

static bool shows_progress(const job_t *job)
{
    return job->rank == 0 && job->options->progress;
}

/* What is rehearsed, as samples and as a digest. */
static iso_status_t make_inputs(job_t *job, int64_t *samples_out,
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
static iso_status_t open_inputs(job_t *job, int64_t *samples_out,
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
static iso_status_t compare_inputs(const job_t *job, int64_t samples,
                                   uint64_t digest)
{
    MPI_Comm readers = MPI_COMM_NULL;
    char text[ISO_FIELD_TEXT_BYTES];
    iso_field_t field = {"the inputs", digest, text};
    iso_status_t status = ISO_OK;

    (void)snprintf(text, sizeof text, "%" PRId64 " samples, %s", samples,
                   job->options->n_inputs > 0 ? job->options->inputs[0] : "");
    ISO_CHECK_MPI(MPI_Comm_split(job->comm, is_idle(job) ? MPI_UNDEFINED : 0,
                                 job->rank, &readers));
    if (readers != MPI_COMM_NULL) {
        status = iso_fields_agree(&field, 1, readers);
        ISO_CHECK_MPI(MPI_Comm_free(&readers));
    }
    return iso_par_agree(status, job->comm);
}

/* Open and compare the inputs, then tell every rank, also an idle one, how
 * many samples there are. Collective. */
static iso_status_t count_samples(job_t *job)
{
    int64_t samples = 0;
    iso_status_t status = ISO_OK;

    if (!is_idle(job)) {
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

static iso_status_t cut(job_t *job)
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
static iso_status_t open_deliver(job_t *job)
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
        .sync_s = job->options->sync_s,
        .samples = job->batches.samples,
        .traits = traits,
        .n_traits = sizeof traits / sizeof traits[0],
    };

    return iso_deliver_open(&spec, &job->deliver);
}

static iso_status_t open_outputs(job_t *job)
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
static void share_done(job_t *job)
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

static iso_status_t make_worker(job_t *job)
{
    iso_worker_spec_t spec = {
        .plan = job->plan.plan,
        .forms = &job->forms,
        .stage = stage_of(job),
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
    if (shows_progress(job)) {
        spec.progress = &job->progress;
    }
    return iso_worker_create(&spec, job->comm, &job->worker);
}

static iso_status_t open_device(job_t *job)
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

/* Values that are watched are in the host's memory. Collective. */
static iso_status_t reserve(job_t *job)
{
    iso_status_t status = is_idle(job) ? ISO_OK : cut(job);

    if (status == ISO_OK && !is_idle(job)) {
        status = open_device(job);
    }
    ISO_TRY(iso_par_agree(status, job->comm));
    ISO_TRY(iso_direct_agree(job->watch == NULL ? job->device : NULL, job->comm,
                             &job->is_direct));
    if (!is_idle(job)) {
        status = make_worker(job);
    }
    return iso_par_agree(status, job->comm);
}

static iso_status_t load(job_t *job)
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
static void keep_packed(job_t *job)
{
    const double begin_s = iso_clock_s();

    iso_load_keep(job->load);
    job->times.load_s += iso_clock_s() - begin_s;
}

/* Collective. */
static iso_status_t create_pulse(job_t *job)
{
    const iso_pulse_spec_t spec = {
        .path = is_interruptible(job) ? job->options->status_path : NULL,
        .stage = stage_of(job),
        .worker =
            is_idle(job) ? 0 : iso_plan_part(job->plan.plan, job->rank)->worker,
        .begin = job->batches.begin,
        .samples = job->batches.samples,
    };

    return iso_pulse_create(&spec, job->comm, &job->pulse);
}

/* Outputs first: a name that is taken should not cost a load. Collective. */
static iso_status_t prepare(job_t *job)
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
    ISO_CHECK_MPI(MPI_Comm_split(job->comm,
                                 is_idle(job) ? MPI_UNDEFINED : stage_of(job),
                                 job->rank, &job->team));
    ISO_TRY(reserve(job));
    iso_wait_phase("loading weights", 0);
    if (!is_idle(job)) {
        status = load(job);
    }
    ISO_TRY(iso_par_agree(status, job->comm));
    if (!is_idle(job)) {
        status = iso_load_verify(job->load, job->team);
    }
    ISO_TRY(iso_par_agree(status, job->comm));
    if (!is_idle(job)) {
        keep_packed(job);
    }
    return ISO_OK;
}

/* All micro-batches. Collective. */
static iso_status_t run_all(job_t *job, iso_stop_t *stop)
{
    iso_status_t status = ISO_OK;

    if (job->worker != NULL) {
        status = iso_worker_run(job->worker, 0, job->batches.count, stop,
                                &job->times);
    }
    return iso_par_agree(status, job->comm);
}

/* The parts of a rehearsal. Collective. */
static iso_status_t run_parts(job_t *job, iso_stop_t *stop)
{
    const iso_rehearsal_t *rehearsal = job->rehearsal;
    int64_t first = 0;

    for (int i = 0; i < rehearsal->n_parts; i++) {
        const int64_t end = first + rehearsal->parts[i];
        iso_status_t status = ISO_OK;

        memset(&rehearsal->times[i], 0, sizeof rehearsal->times[i]);
        ISO_CHECK_MPI(MPI_Barrier(job->comm));
        if (job->worker != NULL) {
            status = iso_worker_run(job->worker, first, end, stop,
                                    &rehearsal->times[i]);
        }
        ISO_TRY(iso_par_agree(status, job->comm));
        first = end;
    }
    return ISO_OK;
}

/* The rank that reads first: worker 0 of the first stage. */
static int source_of(const job_t *job)
{
    const iso_plan_t *plan = job->plan.plan;
    int rank = iso_plan_used(plan) - 1;

    while (rank > 0 && (iso_plan_part(plan, rank)->stage != 0 ||
                        iso_plan_part(plan, rank)->worker != 0)) {
        rank--;
    }
    return rank;
}

/* The loop. Whatever happened, every rank comes out of it together, with all
 * messages taken. Collective. */
static iso_status_t work(job_t *job)
{
    iso_stop_t *stop = NULL;
    iso_status_t status = ISO_OK;

    if (is_interruptible(job)) {
        iso_interrupt_enter(ISO_INTERRUPT_NOTED);
    }
    iso_adopt_end(&job->adopted); /* what is finished is rank 0's to keep */
    ISO_TRY(iso_stop_create(job->comm, source_of(job), &stop));
    if (shows_progress(job)) {
        iso_progress_begin(&job->progress, job->batches.begin,
                           job->batches.samples);
    }
    status = job->rehearsal != NULL ? run_parts(job, stop) : run_all(job, stop);
    iso_progress_end(&job->progress);
    if (job->worker != NULL) {
        iso_worker_finish(job->worker);
    }
    iso_pulse_stop(job->pulse);
    iso_stop_destroy(&stop);
    return status;
}

static void fill_report(const job_t *job, iso_report_rank_t *mine)
{
    (void)snprintf(mine->host, sizeof mine->host, "%s", iso_par_host());
    mine->binding = job->binding;
    mine->stage = stage_of(job);
    if (is_idle(job)) {
        return;
    }
    const iso_plan_part_t *planned = iso_plan_part(job->plan.plan, job->rank);

    (void)snprintf(mine->device, sizeof mine->device, "%s",
                   iso_device_text(job->device));
    mine->times = job->times;
    mine->planned_compute_s = planned->compute_s *
                              (double)job->batches.samples /
                              (double)iso_plan_micro_batch(job->plan.plan);
    mine->worker = planned->worker;
    mine->sent_bytes = iso_worker_sent_bytes(job->worker);
    mine->direct_bytes = iso_worker_direct_bytes(job->worker);
    mine->exchanged_bytes = iso_worker_exchanged_bytes(job->worker);
    mine->read_bytes = (double)(iso_model_bytes_read(job->plan.model) -
                                iso_load_check_bytes(job->load));
    mine->packed_bytes = (double)iso_load_packed_bytes(job->load);
    mine->planned_read_bytes = (double)planned->weight_bytes;
    mine->peak_bytes = (double)iso_mem_process_peak_bytes();
    mine->planned_peak_bytes = (double)planned->peak_bytes;
}

/* What this rank sent in each exchange of the plan, in full micro-batches. */
static void fill_exchanges(const job_t *job, double *bytes)
{
    const iso_plan_t *plan = job->plan.plan;
    int number = 0;

    for (int i = 0; i < iso_plan_exchange_count(plan); i++) {
        if (iso_plan_exchange(plan, i)->stage == stage_of(job)) {
            bytes[i] = iso_worker_exchange_bytes(job->worker, number++);
        }
    }
}

/* Collective. A job smaller than the plan's micro-batch has no full one. */
static iso_status_t sum_exchanges(const job_t *job, iso_report_t *all)
{
    const iso_plan_t *plan = job->plan.plan;
    const iso_batches_t *batches = &job->batches;
    bool full = batches->size[ISO_FORM_FULL] == iso_plan_micro_batch(plan);
    int64_t count = batches->count - (batches->size[ISO_FORM_TAIL] > 0 ? 1 : 0);
    double *bytes =
        iso_alloc_zeroed((size_t)iso_plan_exchange_count(plan), sizeof *bytes);
    iso_status_t status =
        iso_par_agree(bytes == NULL ? ISO_NOMEM : ISO_OK, job->comm);

    if (status != ISO_OK || bytes == NULL) {
        iso_free(bytes);
        return status;
    }
    if (full) {
        fill_exchanges(job, bytes);
    }
    status =
        iso_report_sum_exchanges(plan, bytes, full ? count : 0, job->comm, all);
    iso_free(bytes);
    return status;
}

/* At rank 0: the report is written before the outputs get their names, so
 * that a job with all its outputs has not failed. */
static iso_status_t show_results(job_t *job, const iso_report_t *all,
                                 FILE *table)
{
    if (job->report != NULL) {
        ISO_TRY(iso_report_write(all, job->report));
    }
    ISO_TRY(iso_deliver_commit(&job->deliver));
    if (job->report != NULL) {
        ISO_TRY(iso_draft_publish(job->report));
    }
    return table != NULL ? iso_report_print(all, table) : ISO_OK;
}

/* What the plan said of the parts, and what there is to do in a micro-batch. */
static iso_status_t fill_rehearsal(const job_t *job)
{
    iso_rehearsal_t *rehearsal = job->rehearsal;
    const iso_plan_t *plan = job->plan.plan;

    for (int i = 0; i < rehearsal->n_parts; i++) {
        rehearsal->planned_s[i] = iso_plan_seconds(
            plan, rehearsal->parts[i] * iso_plan_micro_batch(plan));
    }
    rehearsal->flops = 0;
    for (int i = 0; !is_idle(job) && i < iso_plan_stage_count(plan); i++) {
        const iso_stage_t *stage =
            iso_partition_stage(job->partitions[ISO_FORM_FULL], i);
        double flops = 0;

        ISO_TRY(iso_graph_flops(stage->graph, &flops));
        rehearsal->flops += flops;
    }
    return ISO_OK;
}

/* Collective. all->ranks and exchanges are the caller's to free. */
static iso_status_t gather_report(job_t *job, iso_report_t *all)
{
    iso_report_rank_t mine;

    *all = (iso_report_t){
        .samples = job->batches.samples - job->batches.begin,
        .micro_batch = job->batches.size[ISO_FORM_FULL],
        .planned_s = iso_plan_seconds(job->plan.plan, job->batches.samples -
                                                          job->batches.begin),
    };
    memset(&mine, 0, sizeof mine);
    fill_report(job, &mine);
    return iso_report_gather(&mine, job->comm, all);
}

/* Collective. */
static iso_status_t finish(job_t *job, FILE *table)
{
    iso_report_t all;
    iso_status_t status = ISO_OK;

    iso_wait_phase("writing the outputs", ISO_DEADLINE_DISK_S);
    if (job->rehearsal != NULL) {
        ISO_TRY(gather_report(job, &job->rehearsal->report));
        return iso_par_agree(fill_rehearsal(job), job->comm);
    }
    ISO_TRY(gather_report(job, &all));
    status = sum_exchanges(job, &all);
    if (status == ISO_OK && job->rank == 0) {
        status = show_results(job, &all, table);
    }
    iso_report_free(&all);
    return iso_par_agree(status, job->comm);
}

/* Cores that ranks share are said before a long job, not after it; not of a
 * run that is one of many. A rank without a stage waits, which takes a core as
 * well. Collective. */
static iso_status_t check_binding(job_t *job)
{
    job->binding = iso_affinity_here(is_idle(job) ? 1 : job->options->threads);
    return job->watch == NULL && job->rehearsal == NULL
               ? iso_affinity_check(&job->binding, job->comm)
               : ISO_OK;
}

/* At rank 0: say in the ledger what is finished when that is not all. */
static iso_status_t suspend(job_t *job, int64_t *done_out, bool *kept_out)
{
    if (job->deliver == NULL) {
        return ISO_OK;
    }
    *done_out = iso_deliver_done(job->deliver);
    return *done_out < job->batches.samples
               ? iso_deliver_suspend(&job->deliver, kept_out)
               : ISO_OK;
}

/* Whether the loop came to its end. Collective. */
static iso_status_t check_all_done(job_t *job)
{
    int64_t done = 0;
    bool kept = false;

    if (!is_interruptible(job)) {
        return ISO_OK;
    }
    ISO_TRY(iso_par_agree(suspend(job, &done, &kept), job->comm));
    int64_t both[2] = {done, kept ? 1 : 0};

    ISO_CHECK_MPI(MPI_Bcast(both, 2, MPI_INT64_T, 0, job->comm));
    if (both[0] == job->batches.samples) {
        return ISO_OK;
    }
    return iso_fail(ISO_INTERRUPTED,
                    "told to end: %" PRId64 " of %" PRId64
                    " samples are finished%s",
                    both[0], job->batches.samples,
                    both[1] != 0 ? "; run again with --resume to go on" : "");
}

/* At rank 0, of a job that has not ended well: what is finished is not lost. */
static void keep_finished(job_t *job)
{
    if (job->deliver == NULL) {
        return;
    }
    const int64_t done = iso_deliver_done(job->deliver);

    if (iso_deliver_abandon(&job->deliver) && !job->finished) {
        iso_log(ISO_LOG_NOTE,
                "%" PRId64 " of %" PRId64
                " samples are finished; run again with --resume to go on",
                done, job->batches.samples);
    }
}

static void say_finished(const job_t *job)
{
    if (job->rank == 0) {
        iso_log(ISO_LOG_NOTE, "finished by an earlier job; nothing to do");
    }
}

/* What the watchdog wants to know of the plan. */
static void tell_watchdog(const job_t *job)
{
    const iso_plan_t *plan = job->plan.plan;
    iso_watchdog_place_t place = {
        .stage = stage_of(job),
        .n_stages = iso_plan_stage_count(plan),
        .worker = is_idle(job) ? 0 : iso_plan_part(plan, job->rank)->worker,
    };

    for (int stage = 0; stage < place.n_stages; stage++) {
        if (iso_plan_width(plan, stage) > place.most_workers) {
            place.most_workers = iso_plan_width(plan, stage);
        }
    }
    iso_watchdog_set_place(&place);
    if (job->options->deadline_s < 0) {
        iso_watchdog_set_deadline(iso_deadline_of(plan));
    }
}

/* Collective, as is each of the seven; each ends with a common status. */
static iso_status_t run_job(job_t *job, FILE *table)
{
    iso_wait_phase("making the plan", 0);
    ISO_TRY(iso_job_plan_agree(job->options, job->comm, &job->plan));
    tell_watchdog(job);
    iso_wait_phase("opening the inputs", 0);
    ISO_TRY(check_binding(job));
    ISO_TRY(count_samples(job));
    ISO_TRY(prepare(job));
    if (job->finished) {
        say_finished(job);
        return ISO_OK;
    }
    iso_wait_phase("coming to an end", 0);
    ISO_TRY(work(job));
    ISO_TRY(check_all_done(job));
    return finish(job, table);
}

static void free_job(job_t *job)
{
    iso_worker_destroy(&job->worker);
    iso_load_free(&job->load);
    iso_packed_close(&job->packed);
    iso_free(job->is_direct);
    iso_device_close(&job->device);
    iso_device_map_destroy(&job->map);
    for (int form = 0; form < ISO_FORM_COUNT; form++) {
        iso_plan_local_free(&job->locals[form]);
        iso_partition_destroy(&job->partitions[form]);
    }
    iso_adopt_end(&job->adopted);
    iso_draft_close(&job->report);
    iso_feed_close(&job->feed);
    iso_job_plan_free(&job->plan);
    if (job->team != MPI_COMM_NULL) {
        ISO_CHECK_MPI(MPI_Comm_free(&job->team));
    }
}

/* Collective. */
static iso_status_t run(job_t *job, MPI_Comm comm, FILE *table)
{
    job->team = MPI_COMM_NULL;
    ISO_CHECK_MPI(MPI_Comm_dup(comm, &job->comm));
    ISO_CHECK_MPI(MPI_Comm_set_errhandler(job->comm, MPI_ERRORS_RETURN));
    job->rank = iso_par_rank(job->comm);
    if (is_interruptible(job)) {
        iso_interrupt_enter(ISO_INTERRUPT_EXITS);
    }
    const double deadline_s = job->options->deadline_s;
    const iso_watchdog_spec_t watchdog = {
        .deadline_s = deadline_s < 0 ? ISO_DEADLINE_LEAST_S : deadline_s,
        .before_exit = iso_draft_remove_all,
    };
    iso_status_t status = iso_watchdog_start(&watchdog, job->comm);

    if (status == ISO_OK) {
        status = run_job(job, table);
    }
    keep_finished(job);
    iso_pulse_close(&job->pulse, status);
    iso_watchdog_end();
    free_job(job);
    iso_interrupt_enter(ISO_INTERRUPT_NONE);
    ISO_CHECK_MPI(MPI_Comm_free(&job->comm));
    return status;
}

iso_status_t iso_run(const iso_run_options_t *options, MPI_Comm comm,
                     FILE *table)
{
    return iso_run_watched(options, comm, table, NULL);
}

iso_status_t iso_run_watched(const iso_run_options_t *options, MPI_Comm comm,
                             FILE *table, const iso_watch_t *watch)
{
    job_t job = {.options = options, .watch = watch};

    return run(&job, comm, table);
}

iso_status_t iso_rehearse(const iso_run_options_t *options, MPI_Comm comm,
                          iso_rehearsal_t *rehearsal)
{
    job_t job = {.options = options, .rehearsal = rehearsal};

    rehearsal->report = (iso_report_t){0};
    return run(&job, comm, NULL);
}
