#include "isotome/error.h"

#include "base/json.h"
#include "lab/bench_impl.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* An array of n objects; NULL when memory runs out. */
static json_t *list_of(const iso__bench_t *bench, int n,
                       json_t *(*one)(const iso__bench_t *bench, int index))
{
    json_t *list = json_array();

    for (int i = 0; i < n; i++) {
        if (json_array_append_new(list, one(bench, i)) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static json_t *rank_json(const iso__bench_t *bench, int index)
{
    const iso_report_rank_t *rank = &bench->sizes[0].report.ranks[index];
    const iso__bench_rank_t *reached = &bench->ranks[index];
    iso_text_t cores = {0};

    iso_cores_add_text(&rank->binding.cores, &cores);
    json_t *json =
        json_pack("{s:i, s:s, s:s, s:s?, s:f, s:f}", "rank", index, "host",
                  rank->host, "cpu", reached->cpu, "cores", cores.data,
                  "peak_flops_per_s", reached->peak.flops_per_s,
                  "read_bytes_per_s", reached->peak.read_bytes_per_s);

    iso_text_free(&cores);
    return json;
}

static json_t *stages_json(const iso__bench_size_t *size)
{
    json_t *list = json_array();

    for (int i = 0; i < iso__bench_stage_count(size); i++) {
        const iso__bench_stage_t stage = iso__bench_stage_of(size, i);

        if (json_array_append_new(
                list, json_pack("{s:i, s:i, s:f, s:f, s:f, s:f}", "stage", i,
                                "workers", stage.workers, "compute",
                                stage.compute, "exchange", stage.exchange,
                                "wait", stage.wait, "busy", 1 - stage.wait)) !=
            0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static json_t *size_json(const iso__bench_t *bench, int index)
{
    const iso__bench_size_t *size = &bench->sizes[index];
    const iso_peak_t peak = iso__bench_peak(bench, size);
    const double each_s = size->stream.median_s;

    return json_pack(
        "{s:I, s:f, s:f, s:f, s:f, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f, "
        "s:i, s:o, s:f, s:f}",
        "micro_batch", (json_int_t)size->micro_batch, "latency_s",
        size->alone.median_s, "latency_spread", size->alone.spread,
        "latency_planned_s", size->planned_latency_s, "latency_error",
        iso__bench_error(size->alone.median_s, size->planned_latency_s),
        "micro_batches_in_stream", (json_int_t)size->many, "samples_per_s",
        (double)size->micro_batch / each_s, "samples_spread",
        size->stream.spread, "samples_planned_per_s",
        size->planned_each_s > 0
            ? (double)size->micro_batch / size->planned_each_s
            : 0.0,
        "samples_error", iso__bench_error(each_s, size->planned_each_s),
        "flops", size->flops, "flops_per_s", size->flops / each_s, "peak_share",
        size->flops / each_s / peak.flops_per_s, "slowest_stage",
        iso__bench_slowest(size), "stages", stages_json(size), "peak_bytes",
        iso__bench_peak_bytes(size), "peak_bytes_planned",
        iso__bench_planned_peak_bytes(size));
}

static json_t *load_json(const iso__bench_t *bench)
{
    return json_pack("{s:f, s:f, s:f, s:f, s:f}", "bytes", bench->loaded_bytes,
                     "seconds", bench->load.median_s, "spread",
                     bench->load.spread, "bytes_per_s",
                     bench->loaded_bytes / bench->load.median_s, "first_s",
                     bench->first_load_s);
}

static json_t *bench_json(const iso__bench_t *bench)
{
    const iso_bench_options_t *options = bench->options;
    const iso_report_t *report = &bench->sizes[0].report;
    char digest[32];

    (void)snprintf(digest, sizeof digest, "%016" PRIx64,
                   iso_model_root_digest(bench->model));
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:i, s:I, s:o, s:o, "
        "s:o}",
        "format", "isotome-bench", "version", ISO_VERSION, "build", ISO_BUILD,
        "compiler", ISO_COMPILER, "flags", ISO_COMPILER_FLAGS, "model",
        options->run.model, "root_digest", digest, "device",
        report->ranks[0].device, "threads", options->run.threads, "repeats",
        options->repeats, "seed", (json_int_t)options->seed, "ranks",
        list_of(bench, report->size, rank_json), "load", load_json(bench),
        "micro_batches", list_of(bench, bench->n_sizes, size_json));
}

iso_status_t iso__bench_write(const iso__bench_t *bench)
{
    json_t *file = bench_json(bench);
    char *text = NULL;
    iso_status_t status = ISO_NOMEM;

    if (file != NULL) {
        status = iso_json_print(file, 2, &text);
        json_decref(file);
    }
    if (status != ISO_OK) {
        return iso_fail(status, "out of memory: cannot write the figures");
    }
    iso_draft_write(bench->draft, 0, text, strlen(text));
    iso_draft_write(bench->draft, strlen(text), "\n", 1);
    free(text);
    ISO_TRY(iso_draft_sync(bench->draft));
    return iso_draft_publish(bench->draft);
}
