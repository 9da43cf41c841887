#include "exec/report.h"

#include "isotome/error.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/table.h"
#include "exec/slow.h"
#include "par/par.h"
#include "plan/plan_local.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

iso_status_t iso_report_gather(const iso_report_rank_t *mine, MPI_Comm comm,
                               iso_report_t *report)
{
    iso_status_t status = ISO_OK;

    report->size = iso_par_size(comm);
    report->ranks = NULL;
    if (iso_par_rank(comm) == 0) {
        report->ranks =
            iso_alloc_zeroed((size_t)report->size, sizeof *report->ranks);
        status = report->ranks != NULL ? ISO_OK : ISO_NOMEM;
    }
    status = iso_par_agree(status, comm);
    if (status != ISO_OK) {
        iso_report_free(report);
        return status;
    }
    ISO_CHECK_MPI(MPI_Gather(mine, (int)sizeof *mine, MPI_BYTE, report->ranks,
                             (int)sizeof *mine, MPI_BYTE, 0, comm));
    if (report->ranks != NULL) {
        iso_slow_find(report->ranks, report->size);
    }
    return ISO_OK;
}

iso_status_t iso_report_sum_exchanges(const iso_plan_t *plan, double *bytes,
                                      int64_t full_batches, MPI_Comm comm,
                                      iso_report_t *report)
{
    int count = iso_plan_exchange_count(plan);
    iso_report_exchange_t *list = iso_alloc_zeroed((size_t)count, sizeof *list);
    iso_status_t status =
        iso_par_agree(list == NULL ? ISO_NOMEM : ISO_OK, comm);

    if (status != ISO_OK || list == NULL) {
        iso_free(list);
        return status;
    }
    ISO_CHECK_MPI(
        MPI_Allreduce(MPI_IN_PLACE, bytes, count, MPI_DOUBLE, MPI_SUM, comm));
    for (int i = 0; i < count; i++) {
        const iso_plan_exchange_t *planned = iso_plan_exchange(plan, i);

        list[i] = (iso_report_exchange_t){
            .stage = planned->stage,
            .value = planned->value,
            .kind = iso_exchange_kind_string(planned->kind),
            .bytes = bytes[i],
            .planned_bytes = (double)planned->bytes * (double)full_batches,
        };
    }
    report->exchanges = list;
    report->n_exchanges = count;
    return ISO_OK;
}

void iso_report_free(iso_report_t *report)
{
    iso_free(report->ranks);
    iso_free(report->exchanges);
    report->ranks = NULL;
    report->exchanges = NULL;
}

/* The pipeline's time: from its start to the end of the last rank. */
static double whole_s(const iso_report_t *report)
{
    double most_s = 0;

    for (int rank = 0; rank < report->size; rank++) {
        double total_s = report->ranks[rank].times.total_s;

        most_s = total_s > most_s ? total_s : most_s;
    }
    return most_s;
}

static void add_of_planned(double measured_bytes, double planned_bytes,
                           iso_text_t *cells)
{
    char measured[ISO_TEXT_NUMBER_BYTES];
    char planned[ISO_TEXT_NUMBER_BYTES];

    iso_text_add(cells, "\t%s of %s",
                 iso_text_bytes((size_t)measured_bytes, measured),
                 iso_text_bytes((size_t)planned_bytes, planned));
}

/* Host and cores, as much of them as keeps the table in 130 columns; all of
 * the cores are in the JSON file. */
static void add_place(const iso_report_rank_t *rank, iso_text_t *cells)
{
    enum { HOST_LENGTH = 12, CORES_LENGTH = 7 };
    iso_text_t cores = {0};

    iso_cores_add_text(&rank->binding.cores, &cores);
    iso_text_add(cells, "\t%.*s\t", HOST_LENGTH, rank->host);
    if (cores.length > CORES_LENGTH) {
        iso_text_add(cells, "%.*s+", CORES_LENGTH - 1, cores.data);
    } else {
        iso_text_add(cells, "%s", cores.length > 0 ? cores.data : "?");
    }
    iso_text_free(&cores);
}

static void add_rank(const iso_report_rank_t *rank, int number,
                     iso_text_t *cells)
{
    const iso_times_t *times = &rank->times;

    if (rank->stage < 0) {
        iso_text_add(cells, "%d\tidle", number);
        add_place(rank, cells);
        iso_text_add(cells, "\n");
        return;
    }
    iso_text_add(cells, "%d\t%d.%d", number, rank->stage, rank->worker);
    add_place(rank, cells);
    iso_text_add(cells, "\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f",
                 times->load_s, times->read_s, times->receive_s,
                 times->compute_s, times->exchange_s, times->send_s,
                 times->write_s);
    add_of_planned(rank->read_bytes, rank->planned_read_bytes, cells);
    add_of_planned(rank->peak_bytes, rank->planned_peak_bytes, cells);
    iso_text_add(cells, "\n");
}

static void add_table(const iso_report_t *report, iso_text_t *text)
{
    iso_text_t cells = {0};

    iso_text_add(&cells,
                 "rank\tstage\thost\tcores\tload\tread\treceive\tcompute\t"
                 "exchange\tsend\twrite\tweights read\tpeak memory\n");
    for (int rank = 0; rank < report->size; rank++) {
        add_rank(&report->ranks[rank], rank, &cells);
    }
    iso_text_add(text, "where the time went (seconds), and measured of "
                       "planned bytes:\n");
    iso_table_add(text, "rrllrrrrrrrrr", &cells);
    iso_text_free(&cells);
}

static void add_packed(const iso_report_t *report, iso_text_t *text)
{
    char packed[ISO_TEXT_NUMBER_BYTES];
    double bytes = 0;

    for (int rank = 0; rank < report->size; rank++) {
        bytes += report->ranks[rank].packed_bytes;
    }
    if (bytes > 0) {
        iso_text_add(text, "%s of weights came packed from an earlier job\n",
                     iso_text_bytes((size_t)bytes, packed));
    }
}

static void add_direct(const iso_report_t *report, iso_text_t *text)
{
    char direct[ISO_TEXT_NUMBER_BYTES];
    double bytes = 0;

    for (int rank = 0; rank < report->size; rank++) {
        bytes += report->ranks[rank].direct_bytes;
    }
    if (bytes > 0) {
        iso_text_add(text,
                     "%s of messages went directly from or to the memory of a "
                     "device\n",
                     iso_text_bytes((size_t)bytes, direct));
    }
}

static void add_exchanges(const iso_report_t *report, iso_text_t *text)
{
    char measured[ISO_TEXT_NUMBER_BYTES];
    char planned[ISO_TEXT_NUMBER_BYTES];
    double bytes = 0.0;
    double planned_bytes = 0.0;

    for (int i = 0; i < report->n_exchanges; i++) {
        bytes += report->exchanges[i].bytes;
        planned_bytes += report->exchanges[i].planned_bytes;
    }
    if (report->n_exchanges > 0) {
        iso_text_add(text,
                     "%d %s in each micro-batch, %s of %s planned sent between "
                     "workers in all\n",
                     report->n_exchanges,
                     report->n_exchanges == 1 ? "exchange" : "exchanges",
                     iso_text_bytes((size_t)bytes, measured),
                     iso_text_bytes((size_t)planned_bytes, planned));
    }
}

static void add_slow(const iso_report_t *report, iso_text_t *text)
{
    for (int i = 0; i < report->size; i++) {
        const iso_report_rank_t *rank = &report->ranks[i];

        if (rank->slow_times > 0) {
            iso_text_add(text,
                         "rank %d on %s is slow: it computed for %.1f s, %.0f "
                         "times as long as predicted beside the other ranks\n",
                         i, rank->host, rank->times.compute_s,
                         rank->slow_times);
        }
    }
}

iso_status_t iso_report_print(const iso_report_t *report, FILE *file)
{
    iso_text_t text = {0};
    double seconds = whole_s(report);
    char measured[ISO_TEXT_NUMBER_BYTES];
    char planned[ISO_TEXT_NUMBER_BYTES];

    add_table(report, &text);
    add_slow(report, &text);
    add_packed(report, &text);
    add_direct(report, &text);
    add_exchanges(report, &text);
    iso_text_add(&text,
                 "%" PRId64 " samples in micro-batches of %" PRId64
                 " took %s (predicted %s), %.1f samples/s on %s\n",
                 report->samples, report->micro_batch,
                 iso_text_seconds(seconds, measured),
                 iso_text_seconds(report->planned_s, planned),
                 seconds > 0 ? (double)report->samples / seconds : 0.0,
                 report->ranks[0].device);
    iso_status_t status = text.status;
    if (status == ISO_OK) {
        (void)fputs(text.data, file);
    }
    iso_text_free(&text);
    return status;
}

static json_t *rank_json(const iso_report_rank_t *rank, int number)
{
    const iso_times_t *times = &rank->times;
    iso_text_t cores = {0};

    iso_cores_add_text(&rank->binding.cores, &cores);
    json_t *json = json_pack(
        "{s:i, s:i, s:i, s:s, s:s?, s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:f, "
        "s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:b}",
        "rank", number, "stage", rank->stage, "worker", rank->worker, "host",
        rank->host, "cores", cores.data, "device", rank->device, "load_s",
        times->load_s, "read_s", times->read_s, "receive_s", times->receive_s,
        "compute_s", times->compute_s, "exchange_s", times->exchange_s,
        "send_s", times->send_s, "write_s", times->write_s, "total_s",
        times->total_s, "sent_bytes", rank->sent_bytes, "direct_bytes",
        rank->direct_bytes, "exchanged_bytes", rank->exchanged_bytes,
        "weight_bytes_read", rank->read_bytes, "weight_bytes_packed",
        rank->packed_bytes, "weight_bytes_planned", rank->planned_read_bytes,
        "peak_bytes", rank->peak_bytes, "peak_bytes_planned",
        rank->planned_peak_bytes, "compute_s_planned", rank->planned_compute_s,
        "slow", rank->slow_times > 0 ? 1 : 0);

    iso_text_free(&cores);
    return json;
}

/* NULL when memory runs out. */
static json_t *ranks_json(const iso_report_t *report)
{
    json_t *ranks = json_array();

    for (int rank = 0; rank < report->size; rank++) {
        if (json_array_append_new(ranks,
                                  rank_json(&report->ranks[rank], rank)) != 0) {
            json_decref(ranks);
            return NULL;
        }
    }
    return ranks;
}

/* NULL when memory runs out. */
static json_t *exchanges_json(const iso_report_t *report)
{
    json_t *exchanges = json_array();

    for (int i = 0; i < report->n_exchanges; i++) {
        const iso_report_exchange_t *one = &report->exchanges[i];

        if (json_array_append_new(
                exchanges,
                json_pack("{s:i, s:s, s:s, s:f, s:f}", "stage", one->stage,
                          "value", one->value, "kind", one->kind, "bytes",
                          one->bytes, "bytes_planned", one->planned_bytes)) !=
            0) {
            json_decref(exchanges);
            return NULL;
        }
    }
    return exchanges;
}

static json_t *report_json(const iso_report_t *report)
{
    return json_pack("{s:s, s:I, s:I, s:f, s:f, s:o, s:o}", "format",
                     "isotome-report", "samples", (json_int_t)report->samples,
                     "micro_batch", (json_int_t)report->micro_batch, "seconds",
                     whole_s(report), "seconds_planned", report->planned_s,
                     "ranks", ranks_json(report), "exchanges",
                     exchanges_json(report));
}

iso_status_t iso_report_write(const iso_report_t *report, iso_draft_t *draft)
{
    json_t *file = report_json(report);
    char *text = NULL;
    iso_status_t status = ISO_NOMEM;

    if (file != NULL) {
        status = iso_json_print(file, 2, &text);
        json_decref(file);
    }
    if (status != ISO_OK) {
        return iso_fail(status, "out of memory: cannot write the report");
    }
    iso_draft_write(draft, 0, text, strlen(text));
    iso_draft_write(draft, strlen(text), "\n", 1);
    free(text);
    return iso_draft_sync(draft);
}
