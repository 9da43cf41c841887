#include "exec/deliver.h"

#include "base/clock.h"
#include "base/mem.h"
#include "exec/deliver_impl.h"

/* Seconds from one line of the ledger to the next: what a job that is killed
 * has to do again, at most, beside the micro-batches under way. */
static const double record_period_s = 1;

void iso__deliver_begin_digests(iso_deliver_t *deliver)
{
    for (int i = 0; i < deliver->n_sinks; i++) {
        iso_digest_begin(&deliver->sinks[i].digest);
    }
}

iso__rows_range_t iso__deliver_rows(const iso__sink_t *sink, int64_t first,
                                    int64_t end)
{
    const int64_t each = sink->rows.per_sample;

    if (each == 0) {
        return (iso__rows_range_t){
            0, sink->rows.one.rank > 0 ? sink->rows.one.dims[0] : 1};
    }
    return (iso__rows_range_t){first * each, (end - first) * each};
}

static size_t row_bytes_of(const iso__sink_t *sink)
{
    const iso_tensor_t *one = &sink->rows.one;
    const int64_t rows = one->rank > 0 ? one->dims[0] : 1;

    return rows > 0 ? iso_tensor_bytes(one) / (size_t)rows : 0;
}

int64_t iso_deliver_done(const iso_deliver_t *deliver)
{
    return deliver->done;
}

bool iso_deliver_is_finished(const iso_deliver_t *deliver)
{
    return iso_ledger_is_finished(deliver->ledger);
}

bool iso_deliver_wants(const iso_deliver_t *deliver, int output)
{
    return deliver->sinks[output].index >= 0;
}

iso_status_t iso_deliver_write(iso_deliver_t *deliver, int output,
                               const iso_batches_t *batches, int64_t index,
                               const void *rows)
{
    iso__sink_t *sink = &deliver->sinks[output];
    const iso__rows_range_t range =
        iso__deliver_rows(sink, iso_batches_first(batches, index),
                          iso_batches_end(batches, index));

    ISO_TRY(iso_array_out_write(deliver->files, sink->index, range.first,
                                range.count, rows));
    iso_digest_add_bytes(&sink->digest, rows,
                         (size_t)range.count * row_bytes_of(sink));
    return ISO_OK;
}

/* A line in the ledger for what was written since its last one. */
static iso_status_t record(iso_deliver_t *deliver)
{
    int count = 0;

    if (deliver->done <= iso_ledger_done(deliver->ledger)) {
        return ISO_OK;
    }
    for (int i = 0; i < deliver->n_sinks; i++) {
        const iso__sink_t *sink = &deliver->sinks[i];

        if (sink->index >= 0) {
            deliver->digests[count++] = iso_digest_end(&sink->digest);
        }
    }
    ISO_TRY(iso_ledger_add(deliver->ledger, deliver->done, deliver->digests));
    if (!deliver->fleeting) {
        iso_array_out_keep(deliver->files);
    }
    iso__deliver_begin_digests(deliver);
    return ISO_OK;
}

/* Rows first: what the ledger says is on the disk then. */
static iso_status_t sync_all(iso_deliver_t *deliver)
{
    ISO_TRY(iso_array_out_sync(deliver->files));
    ISO_TRY(record(deliver));
    return iso_ledger_sync(deliver->ledger);
}

iso_status_t iso_deliver_end_batch(iso_deliver_t *deliver,
                                   const iso_batches_t *batches, int64_t index)
{
    const double now_s = iso_clock_s();

    deliver->done = iso_batches_end(batches, index);
    if (now_s - deliver->recorded_s < record_period_s) {
        return ISO_OK;
    }
    deliver->recorded_s = now_s;
    if (now_s - deliver->synced_s < deliver->sync_period_s) {
        return record(deliver);
    }
    ISO_TRY(sync_all(deliver));
    deliver->synced_s = iso_clock_s();
    return ISO_OK;
}

/* -- end -- */

void iso__deliver_forget(iso_deliver_t **deliver, bool remove_ledger)
{
    iso_deliver_t *closing = *deliver;

    iso_array_out_abandon(&closing->files);
    iso_ledger_close(&closing->ledger, remove_ledger);
    for (int i = 0; i < closing->n_paths; i++) {
        iso_free(closing->paths[i]);
    }
    iso_free(closing->paths);
    iso_free(closing->digests);
    iso_free(closing->sinks);
    iso_free(closing);
    *deliver = NULL;
}

bool iso__deliver_is_empty(const iso_deliver_t *deliver)
{
    return deliver->fleeting || deliver->ledger == NULL ||
           (iso_ledger_done(deliver->ledger) == 0 &&
            !iso_ledger_is_finished(deliver->ledger));
}

static iso_status_t commit(iso_deliver_t *deliver)
{
    deliver->leaves_ledger |= !iso__deliver_is_empty(deliver);
    ISO_TRY(sync_all(deliver));
    ISO_TRY(iso_ledger_finish(deliver->ledger));
    ISO_TRY(iso_ledger_sync(deliver->ledger));
    return iso_array_out_commit(&deliver->files);
}

iso_status_t iso_deliver_commit(iso_deliver_t **deliver)
{
    iso_status_t status = commit(*deliver);
    bool remove = status == ISO_OK ? !(*deliver)->leaves_ledger
                                   : iso__deliver_is_empty(*deliver);

    iso__deliver_forget(deliver, remove);
    return status;
}

iso_status_t iso_deliver_suspend(iso_deliver_t **deliver, bool *kept_out)
{
    iso_status_t status = sync_all(*deliver);

    *kept_out = !iso__deliver_is_empty(*deliver);
    iso__deliver_forget(deliver, !*kept_out);
    return status;
}

bool iso_deliver_abandon(iso_deliver_t **deliver)
{
    const bool kept = !iso__deliver_is_empty(*deliver);

    if ((*deliver)->files != NULL && kept) {
        (void)sync_all(*deliver); /* another failure is being told */
    }
    iso__deliver_forget(deliver, !kept);
    return kept;
}
