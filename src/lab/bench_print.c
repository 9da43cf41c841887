#include "base/table.h"
#include "lab/bench_impl.h"

#include <inttypes.h>

static const double giga = 1e-9;

static void add_head(const iso__bench_t *bench, iso_text_t *text)
{
    const iso_report_t *report = &bench->sizes[0].report;
    const int repeats = bench->options->repeats;

    iso_text_add(text, "%s on %d %s of %s: medians of %d %s\n",
                 bench->options->run.model, report->size,
                 report->size == 1 ? "rank" : "ranks", report->ranks[0].device,
                 repeats, repeats == 1 ? "repeat" : "repeats");
}

static void add_ranks(const iso__bench_t *bench, iso_text_t *text)
{
    enum { CPU_LENGTH = 40, CORES_LENGTH = 24 };
    const iso_report_t *report = &bench->sizes[0].report;
    iso_text_t cells = {0};

    iso_text_add(&cells, "rank\thost\tcores\tcpu\tpeak\treads\n");
    for (int rank = 0; rank < report->size; rank++) {
        const iso_report_rank_t *one = &report->ranks[rank];
        const iso__bench_rank_t *reached = &bench->ranks[rank];
        iso_text_t cores = {0};

        iso_cores_add_text(&one->binding.cores, &cores);
        iso_text_add(&cells, "%d\t%.*s\t%.*s\t%.*s\t%.1f GF/s\t%.1f GB/s\n",
                     rank, ISO_TABLE_HOST_LENGTH, one->host, CORES_LENGTH,
                     cores.length > 0 ? cores.data : "?", CPU_LENGTH,
                     reached->cpu, giga * reached->peak.flops_per_s,
                     giga * reached->peak.read_bytes_per_s);
        iso_text_free(&cores);
    }
    iso_table_add(text, "rlllrr", &cells);
    iso_text_free(&cells);
}

/* How much longer than predicted; a default prediction may be far off. */
static void add_error(double measured_s, double planned_s, iso_text_t *cells)
{
    iso_text_add(cells, "\t%+.0f %%",
                 100 * iso__bench_error(measured_s, planned_s));
}

static void add_size(const iso__bench_t *bench, const iso__bench_size_t *size,
                     iso_text_t *cells)
{
    const double samples = (double)size->micro_batch;
    const double flops_per_s = size->flops / size->stream.median_s;
    char number[ISO_TEXT_NUMBER_BYTES];

    iso_text_add(cells, "%" PRId64 "\t%s\t%.1f %%", size->micro_batch,
                 iso_text_seconds(size->alone.median_s, number),
                 100 * size->alone.spread);
    iso_text_add(cells, "\t%s",
                 iso_text_seconds(size->planned_latency_s, number));
    add_error(size->alone.median_s, size->planned_latency_s, cells);
    iso_text_add(cells, "\t%.1f\t%.1f %%\t%.1f",
                 samples / size->stream.median_s, 100 * size->stream.spread,
                 size->planned_each_s > 0 ? samples / size->planned_each_s : 0);
    add_error(size->stream.median_s, size->planned_each_s, cells);
    iso_text_add(cells, "\t%.1f\t%.0f %%\t%d", giga * flops_per_s,
                 100 * flops_per_s / iso__bench_peak(bench, size).flops_per_s,
                 iso__bench_slowest(size));
    iso_text_add(cells, "\t%s\n",
                 iso_text_bytes((size_t)iso__bench_peak_bytes(size), number));
}

static void add_sizes(const iso__bench_t *bench, iso_text_t *text)
{
    iso_text_t cells = {0};

    iso_text_add(&cells,
                 "micro-batch\tlatency\tspread\tpredicted\terror\tsamples/s\t"
                 "spread\tpredicted\terror\tGF/s\tof peak\tslowest\tmemory\n");
    for (int i = 0; i < bench->n_sizes; i++) {
        add_size(bench, &bench->sizes[i], &cells);
    }
    iso_table_add(text, "rrrrrrrrrrrrr", &cells);
    iso_text_free(&cells);
}

static void add_stages(const iso__bench_t *bench, iso_text_t *text)
{
    iso_text_t cells = {0};

    iso_text_add(
        &cells, "micro-batch\tstage\tworkers\tcompute\texchange\twait\tbusy\n");
    for (int i = 0; i < bench->n_sizes; i++) {
        const iso__bench_size_t *size = &bench->sizes[i];

        for (int number = 0; number < iso__bench_stage_count(size); number++) {
            const iso__bench_stage_t stage = iso__bench_stage_of(size, number);

            iso_text_add(&cells,
                         "%" PRId64 "\t%d\t%d\t%.1f %%\t%.1f %%\t%.1f %%\t"
                         "%.1f %%\n",
                         size->micro_batch, number, stage.workers,
                         100 * stage.compute, 100 * stage.exchange,
                         100 * stage.wait, 100 * (1 - stage.wait));
        }
    }
    iso_table_add(text, "rrrrrrr", &cells);
    iso_text_free(&cells);
}

static void add_end(const iso__bench_t *bench, iso_text_t *text)
{
    char bytes[ISO_TEXT_NUMBER_BYTES];
    char seconds[ISO_TEXT_NUMBER_BYTES];
    char first[ISO_TEXT_NUMBER_BYTES];

    iso_text_add(
        text,
        "loading %s of weights took %s (spread %.1f %%), %.2f GB/s; the first "
        "time %s\n",
        iso_text_bytes((size_t)bench->loaded_bytes, bytes),
        iso_text_seconds(bench->load.median_s, seconds),
        100 * bench->load.spread,
        giga * bench->loaded_bytes / bench->load.median_s,
        iso_text_seconds(bench->first_load_s, first));
    if (bench->options->run.machine_path == NULL &&
        bench->options->run.plan_path == NULL) {
        iso_text_add(text, "predicted from default figures; for those of this "
                           "machine: isotome calibrate, then --machine\n");
    }
}

iso_status_t iso__bench_print(const iso__bench_t *bench, FILE *file)
{
    iso_text_t text = {0};

    add_head(bench, &text);
    add_ranks(bench, &text);
    iso_text_add(&text, "\n");
    add_sizes(bench, &text);
    iso_text_add(&text, "\n");
    add_stages(bench, &text);
    iso_text_add(&text, "\n");
    add_end(bench, &text);
    const iso_status_t status = text.status;

    if (status == ISO_OK) {
        (void)fputs(text.data, file);
    }
    iso_text_free(&text);
    return status;
}
