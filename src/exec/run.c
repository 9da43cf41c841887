#include "isotome/run.h"

#include "isotome/error.h"

#include "base/log.h"
#include "base/mem.h"
#include "exec/deadline.h"
#include "exec/interrupt.h"
#include "exec/run_impl.h"
#include "io/packed.h"
#include "par/par.h"
#include "par/watchdog.h"

#include <inttypes.h>
#include <string.h>

/* All micro-batches. Collective. */
static iso_status_t run_all(iso__job_t *job, iso_stop_t *stop)
{
    iso_status_t status = ISO_OK;

    if (job->worker != NULL) {
        status = iso_worker_run(job->worker, 0, job->batches.count, stop,
                                &job->times);
    }
    return iso_par_agree(status, job->comm);
}

/* The parts of a rehearsal. Collective. */
static iso_status_t run_parts(iso__job_t *job, iso_stop_t *stop)
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
static int source_of(const iso__job_t *job)
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
static iso_status_t work(iso__job_t *job)
{
    iso_stop_t *stop = NULL;
    iso_status_t status = ISO_OK;

    if (iso__job_is_interruptible(job)) {
        iso_interrupt_enter(ISO_INTERRUPT_NOTED);
    }
    iso_adopt_end(&job->adopted); /* what is finished is rank 0's to keep */
    ISO_TRY(iso_stop_create(job->comm, source_of(job), &stop));
    if (iso__job_shows_progress(job)) {
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

/* Cores that ranks share are said before a long job, not after it; not of a
 * run that is one of many. A rank without a stage waits, which takes a core as
 * well. Collective. */
static iso_status_t check_binding(iso__job_t *job)
{
    job->binding =
        iso_affinity_here(iso__job_is_idle(job) ? 1 : job->options->threads);
    return job->watch == NULL && job->rehearsal == NULL
               ? iso_affinity_check(&job->binding, job->comm)
               : ISO_OK;
}

/* At rank 0: say in the ledger what is finished when that is not all. */
static iso_status_t suspend(iso__job_t *job, int64_t *done_out, bool *kept_out)
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
static iso_status_t check_all_done(iso__job_t *job)
{
    int64_t done = 0;
    bool kept = false;

    if (!iso__job_is_interruptible(job)) {
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
static void keep_finished(iso__job_t *job)
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

static void say_finished(const iso__job_t *job)
{
    if (job->rank == 0) {
        iso_log(ISO_LOG_NOTE, "finished by an earlier job; nothing to do");
    }
}

/* What the watchdog wants to know of the plan. */
static void tell_watchdog(const iso__job_t *job)
{
    const iso_plan_t *plan = job->plan.plan;
    iso_watchdog_place_t place = {
        .stage = iso__job_stage(job),
        .n_stages = iso_plan_stage_count(plan),
        .worker =
            iso__job_is_idle(job) ? 0 : iso_plan_part(plan, job->rank)->worker,
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
static iso_status_t run_job(iso__job_t *job, FILE *table)
{
    iso_wait_phase("making the plan", 0);
    ISO_TRY(iso_job_plan_agree(job->options, job->comm, &job->plan));
    tell_watchdog(job);
    iso_wait_phase("opening the inputs", 0);
    ISO_TRY(check_binding(job));
    ISO_TRY(iso__job_count_samples(job));
    ISO_TRY(iso__job_prepare(job));
    if (job->finished) {
        say_finished(job);
        return ISO_OK;
    }
    iso_wait_phase("coming to an end", 0);
    ISO_TRY(work(job));
    ISO_TRY(check_all_done(job));
    return iso__job_finish(job, table);
}

static void free_job(iso__job_t *job)
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
static iso_status_t run(iso__job_t *job, MPI_Comm comm, FILE *table)
{
    job->team = MPI_COMM_NULL;
    ISO_CHECK_MPI(MPI_Comm_dup(comm, &job->comm));
    ISO_CHECK_MPI(MPI_Comm_set_errhandler(job->comm, MPI_ERRORS_RETURN));
    job->rank = iso_par_rank(job->comm);
    if (iso__job_is_interruptible(job)) {
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
    iso__job_t job = {.options = options, .watch = watch};

    return run(&job, comm, table);
}

iso_status_t iso_rehearse(const iso_run_options_t *options, MPI_Comm comm,
                          iso_rehearsal_t *rehearsal)
{
    iso__job_t job = {.options = options, .rehearsal = rehearsal};

    rehearsal->report = (iso_report_t){0};
    return run(&job, comm, NULL);
}
