#include "exec/report.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "par/par.h"

#include <inttypes.h>

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
    return ISO_OK;
}

void iso_report_free(iso_report_t *report)
{
    iso_free(report->ranks);
    report->ranks = NULL;
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

static void print_rank(const iso_report_rank_t *rank, int number, FILE *file)
{
    const iso_times_t *times = &rank->times;
    char read[ISO_TEXT_NUMBER_BYTES];
    char planned_read[ISO_TEXT_NUMBER_BYTES];
    char peak[ISO_TEXT_NUMBER_BYTES];
    char planned_peak[ISO_TEXT_NUMBER_BYTES];

    if (rank->stage < 0) {
        (void)fprintf(file, "%4d  %5s  %-12s  idle: no layer left for it\n",
                      number, "-", rank->host);
        return;
    }
    (void)fprintf(
        file,
        "%4d  %5d  %-12s  %8.3f %8.3f %8.3f %8.3f %8.3f %8.3f  %s of %s  "
        "%s of %s\n",
        number, rank->stage, rank->host, times->load_s, times->read_s,
        times->receive_s, times->compute_s, times->send_s, times->write_s,
        iso_text_bytes((size_t)rank->read_bytes, read),
        iso_text_bytes((size_t)rank->planned_read_bytes, planned_read),
        iso_text_bytes((size_t)rank->peak_bytes, peak),
        iso_text_bytes((size_t)rank->planned_peak_bytes, planned_peak));
}

void iso_report_print(const iso_report_t *report, FILE *file)
{
    double seconds = whole_s(report);
    char measured[ISO_TEXT_NUMBER_BYTES];
    char planned[ISO_TEXT_NUMBER_BYTES];

    (void)fprintf(file, "where the time went (seconds), and measured of "
                        "planned:\n"
                        "rank  stage  host              load     read  "
                        "receive  compute     send    write  weights read  "
                        "peak memory\n");
    for (int rank = 0; rank < report->size; rank++) {
        print_rank(&report->ranks[rank], rank, file);
    }
    (void)fprintf(file,
                  "%" PRId64 " samples in micro-batches of %" PRId64
                  " took %s (predicted %s), %.1f samples/s on %s\n",
                  report->samples, report->micro_batch,
                  iso_text_seconds(seconds, measured),
                  iso_text_seconds(report->planned_s, planned),
                  seconds > 0 ? (double)report->samples / seconds : 0.0,
                  report->ranks[0].device);
}

static json_t *rank_json(const iso_report_rank_t *rank, int number)
{
    const iso_times_t *times = &rank->times;

    return json_pack(
        "{s:i, s:i, s:s, s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, "
        "s:f, s:f, s:f}",
        "rank", number, "stage", rank->stage, "host", rank->host, "device",
        rank->device, "load_s", times->load_s, "read_s", times->read_s,
        "receive_s", times->receive_s, "compute_s", times->compute_s, "send_s",
        times->send_s, "write_s", times->write_s, "total_s", times->total_s,
        "sent_bytes", rank->sent_bytes, "weight_bytes_read", rank->read_bytes,
        "weight_bytes_planned", rank->planned_read_bytes, "peak_bytes",
        rank->peak_bytes, "peak_bytes_planned", rank->planned_peak_bytes);
}

iso_status_t iso_report_write(const iso_report_t *report, const char *path)
{
    json_t *ranks = json_array();
    iso_status_t status = ISO_NOMEM;

    for (int rank = 0; rank < report->size; rank++) {
        json_array_append_new(ranks, rank_json(&report->ranks[rank], rank));
    }
    json_t *file =
        json_pack("{s:s, s:I, s:I, s:f, s:f, s:o}", "format", "isotome-report",
                  "samples", (json_int_t)report->samples, "micro_batch",
                  (json_int_t)report->micro_batch, "seconds", whole_s(report),
                  "seconds_planned", report->planned_s, "ranks", ranks);

    if (file != NULL) {
        status = iso_json_write(file, path);
        json_decref(file);
    }
    return status;
}
