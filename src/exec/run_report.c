/* What became of a job: its report, and its outputs under their names. */
#include "isotome/error.h"

#include "base/mem.h"
#include "exec/deadline.h"
#include "exec/report.h"
#include "exec/run_impl.h"
#include "par/par.h"
#include "par/wait.h"
#include "plan/node_seconds.h"

#include <string.h>

/* Not those of earlier jobs. */
static int64_t samples_of(const iso__job_t *job)
{
    return job->batches.samples - job->batches.begin;
}

static void fill_report(const iso__job_t *job, iso_report_rank_t *mine)
{
    (void)snprintf(mine->host, sizeof mine->host, "%s", iso_par_host());
    mine->binding = job->binding;
    mine->stage = iso__job_stage(job);
    if (iso__job_is_idle(job)) {
        return;
    }
    const iso_plan_part_t *planned = iso_plan_part(job->plan.plan, job->rank);

    (void)snprintf(mine->device, sizeof mine->device, "%s",
                   iso_device_text(job->device));
    mine->times = job->times;
    mine->planned_compute_s = planned->compute_s * (double)samples_of(job) /
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
static void fill_exchanges(const iso__job_t *job, double *bytes)
{
    const iso_plan_t *plan = job->plan.plan;
    int number = 0;

    for (int i = 0; i < iso_plan_exchange_count(plan); i++) {
        if (iso_plan_exchange(plan, i)->stage == iso__job_stage(job)) {
            bytes[i] = iso_worker_exchange_bytes(job->worker, number++);
        }
    }
}

/* Collective. A job smaller than the plan's micro-batch has no full one. */
static iso_status_t sum_exchanges(const iso__job_t *job, iso_report_t *all)
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
static iso_status_t show_results(iso__job_t *job, const iso_report_t *all,
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
static iso_status_t fill_rehearsal(const iso__job_t *job)
{
    iso_rehearsal_t *rehearsal = job->rehearsal;
    const iso_plan_t *plan = job->plan.plan;

    for (int i = 0; i < rehearsal->n_parts; i++) {
        rehearsal->planned_s[i] = iso_plan_seconds(
            plan, rehearsal->parts[i] * iso_plan_micro_batch(plan));
    }
    rehearsal->flops = 0;
    for (int i = 0; !iso__job_is_idle(job) && i < iso_plan_stage_count(plan);
         i++) {
        const iso_stage_t *stage =
            iso_partition_stage(job->partitions[ISO_FORM_FULL], i);
        double flops = 0;

        ISO_TRY(iso_graph_flops(stage->graph, &flops));
        rehearsal->flops += flops;
    }
    return ISO_OK;
}

/* Collective. all->ranks and exchanges are the caller's to free. */
static iso_status_t gather_report(iso__job_t *job, iso_report_t *all)
{
    iso_report_rank_t mine;

    *all = (iso_report_t){
        .samples = samples_of(job),
        .micro_batch = job->batches.size[ISO_FORM_FULL],
        .planned_s = iso_plan_seconds(job->plan.plan, samples_of(job)),
    };
    memset(&mine, 0, sizeof mine);
    fill_report(job, &mine);
    return iso_report_gather(&mine, job->comm, all);
}

iso_status_t iso__job_finish(iso__job_t *job, FILE *table)
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
