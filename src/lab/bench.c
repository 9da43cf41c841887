#include "isotome/bench.h"

#include "isotome/error.h"

#include "base/digest.h"
#include "base/mem.h"
#include "exec/rehearsal.h"
#include "lab/bench_impl.h"
#include "par/fields.h"
#include "par/par.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Each job loads the model anew, so repeats come in rounds: a job of each size
 * in each round. */
enum { ROUNDS = 3 };

/* Before each figure is taken: memory is touched, threads are awake. */
enum { WARM_UP = 2 };

/* A stream takes about this long, and has so many micro-batches for each stage
 * of the pipeline at least. */
static const double stream_s = 0.3;
enum { LEAST_FOR_STAGE = 4, MOST_IN_STREAM = 10000 };

static const int64_t usual_sizes[] = {1, 8, 64};
enum { N_USUAL = sizeof usual_sizes / sizeof *usual_sizes };

/* -- options -- */

/* Ranks with other options would measure something else. Collective. */
static iso_status_t compare_options(const iso__bench_t *bench)
{
    const iso_bench_options_t *options = bench->options;
    char text[ISO_FIELD_TEXT_BYTES];
    iso_digest_t digest;

    iso_digest_begin(&digest);
    for (int i = 0; i < options->n_sizes; i++) {
        iso_digest_add_int(&digest, options->sizes[i]);
    }
    iso_digest_add_int(&digest, options->repeats);
    iso_digest_add_int(&digest, (int64_t)options->seed);
    iso_digest_add_int(&digest, options->run.plan_path != NULL ? 1 : 0);
    (void)snprintf(text, sizeof text,
                   "%d sizes of micro-batch, %d repeats, seed %" PRIu64 "%s",
                   options->n_sizes, options->repeats, options->seed,
                   options->run.plan_path != NULL ? ", a plan" : "");
    const iso_field_t fields[] = {
        {"the program's build", iso_digest_of(ISO_BUILD, sizeof ISO_BUILD),
         ISO_BUILD},
        {"what to measure", iso_digest_end(&digest), text},
    };

    return iso_fields_agree(fields, 2, bench->comm);
}

/* A plan has its size, a model without a free dim has one. */
static iso_status_t choose_sizes(const iso__bench_t *bench,
                                 const int64_t **sizes_out, int *n_out)
{
    static const int64_t one = 1;
    const iso_bench_options_t *options = bench->options;
    const char **names = NULL;
    int n_free = 0;

    ISO_TRY(
        iso_graph_free_dims(iso_model_graph(bench->model), &names, &n_free));
    iso_free(names);
    *sizes_out = options->n_sizes > 0 ? options->sizes : usual_sizes;
    *n_out = options->n_sizes > 0 ? options->n_sizes : N_USUAL;
    if (n_free == 0 && options->n_sizes > 0 &&
        (options->n_sizes > 1 || options->sizes[0] != 1)) {
        return iso_fail(ISO_INVAL,
                        "model '%s' has a fixed batch: leave out "
                        "--micro-batch",
                        options->run.model);
    }
    if (n_free == 0 || options->run.plan_path != NULL) {
        *sizes_out = &one;
        *n_out = 1;
    }
    return ISO_OK;
}

/* -- room for figures -- */

static void free_bench(iso__bench_t *bench)
{
    for (int i = 0; bench->sizes != NULL && i < bench->n_sizes; i++) {
        iso_free(bench->sizes[i].latency_s);
        iso_free(bench->sizes[i].each_s);
        iso_free(bench->sizes[i].times);
        iso_report_free(&bench->sizes[i].report);
    }
    iso_free(bench->sizes);
    iso_free(bench->ranks);
    iso_free(bench->loads_s);
    iso_draft_close(&bench->draft);
    iso_model_close(&bench->model);
}

static iso_status_t make_size(const iso__bench_t *bench, int64_t micro_batch,
                              iso__bench_size_t *size)
{
    const size_t repeats = (size_t)bench->options->repeats;
    const size_t ranks = (size_t)iso_par_size(bench->comm);

    size->micro_batch = micro_batch;
    size->latency_s = iso_alloc_zeroed(repeats, sizeof *size->latency_s);
    size->each_s = iso_alloc_zeroed(repeats, sizeof *size->each_s);
    size->times = iso_alloc_zeroed(ranks, sizeof *size->times);
    return size->latency_s == NULL || size->each_s == NULL ||
                   size->times == NULL
               ? ISO_NOMEM
               : ISO_OK;
}

static iso_status_t make_room(iso__bench_t *bench)
{
    const int64_t *sizes = NULL;
    int n = 0;

    ISO_TRY(iso_model_open(bench->options->run.model, &bench->model));
    ISO_TRY(choose_sizes(bench, &sizes, &n));
    bench->most_loads = ROUNDS * n;
    bench->sizes = iso_alloc_zeroed((size_t)n, sizeof *bench->sizes);
    bench->loads_s =
        iso_alloc_zeroed((size_t)bench->most_loads, sizeof *bench->loads_s);
    bench->ranks = iso_alloc_zeroed((size_t)iso_par_size(bench->comm),
                                    sizeof *bench->ranks);
    if (bench->sizes == NULL || bench->loads_s == NULL ||
        bench->ranks == NULL) {
        return ISO_NOMEM;
    }
    bench->n_sizes = n;
    for (int i = 0; i < n; i++) {
        ISO_TRY(make_size(bench, sizes[i], &bench->sizes[i]));
    }
    return ISO_OK;
}

/* Collective. */
static iso_status_t reserve(iso__bench_t *bench)
{
    const iso_bench_options_t *options = bench->options;
    const iso_affinity_t binding = iso_affinity_here(options->run.threads);
    iso_status_t status = make_room(bench);

    if (status == ISO_OK && iso_par_rank(bench->comm) == 0 &&
        options->json_path != NULL) {
        status = iso_draft_create(options->json_path, options->run.force,
                                  &bench->draft);
    }
    ISO_TRY(iso_par_agree(status, bench->comm));
    return iso_affinity_check(&binding, bench->comm);
}

/* -- one job -- */

/* Parts of a job: a warm-up, then by turns one micro-batch and a stream. */
typedef struct job {
    iso_rehearsal_t rehearsal;
    int64_t *parts;
    iso_times_t *all; /* (ranks * n_parts) at rank 0 */
} job_t;

static void free_job(job_t *job)
{
    iso_report_free(&job->rehearsal.report);
    iso_free(job->parts);
    iso_free(job->rehearsal.times);
    iso_free(job->rehearsal.planned_s);
    iso_free(job->all);
}

static iso_status_t make_job(const iso__bench_t *bench, int repeats,
                             int64_t many, job_t *job)
{
    const int n = 1 + 2 * repeats;
    const size_t ranks = (size_t)iso_par_size(bench->comm);

    *job = (job_t){
        .rehearsal = {.seed = bench->options->seed,
                      .n_parts = n,
                      .times = iso_alloc_zeroed((size_t)n,
                                                sizeof *job->rehearsal.times),
                      .planned_s = iso_alloc_zeroed((size_t)n, sizeof(double))},
        .parts = iso_alloc_zeroed((size_t)n, sizeof *job->parts),
        .all = iso_alloc_zeroed((size_t)n * ranks, sizeof *job->all),
    };
    if (job->rehearsal.times == NULL || job->rehearsal.planned_s == NULL ||
        job->parts == NULL || job->all == NULL) {
        return ISO_NOMEM;
    }
    job->parts[0] = WARM_UP;
    for (int i = 1; i < n; i++) {
        job->parts[i] = i % 2 == 1 ? 1 : many;
    }
    job->rehearsal.parts = job->parts;
    return ISO_OK;
}

/* Run it; rank 0 gets the times of all. Collective. */
static iso_status_t run_job(const iso__bench_t *bench,
                            const iso__bench_size_t *size, job_t *job)
{
    const int bytes =
        (int)((size_t)job->rehearsal.n_parts * sizeof *job->rehearsal.times);
    iso_run_options_t run = bench->options->run;

    run.progress = false;
    run.plan.micro_batch = run.plan_path == NULL ? size->micro_batch : 0;
    ISO_TRY(iso_rehearse(&run, bench->comm, &job->rehearsal));
    ISO_CHECK_MPI(MPI_Gather(job->rehearsal.times, bytes, MPI_BYTE, job->all,
                             bytes, MPI_BYTE, 0, bench->comm));
    return ISO_OK;
}

static const iso_times_t *times_of(const job_t *job, int rank, int part)
{
    return &job->all[rank * job->rehearsal.n_parts + part];
}

/* Seconds of a part, from its start to the end of the last rank. At rank 0. */
static double part_s(const job_t *job, int part)
{
    double most_s = 0;

    for (int rank = 0; rank < job->rehearsal.report.size; rank++) {
        most_s = fmax(most_s, times_of(job, rank, part)->total_s);
    }
    return most_s;
}

/* -- what a job says, at rank 0 -- */

static double load_s(const iso_report_t *report)
{
    double most_s = 0;

    for (int rank = 0; rank < report->size; rank++) {
        most_s = fmax(most_s, report->ranks[rank].times.load_s);
    }
    return most_s;
}

/*
 * Seconds of a micro-batch in a stream: the first one comes out when the
 * pipeline is full, and takes as long as one alone; the others follow it.
 */
static double each_of(double all_s, double alone_s, int64_t count)
{
    return all_s > alone_s && count > 1
               ? (all_s - alone_s) / (double)(count - 1)
               : all_s / (double)count;
}

static void add_times(iso_times_t *sum, const iso_times_t *times)
{
    sum->receive_s += times->receive_s;
    sum->compute_s += times->compute_s;
    sum->exchange_s += times->exchange_s;
    sum->send_s += times->send_s;
    sum->total_s += times->total_s;
}

static void take_figures(iso__bench_t *bench, iso__bench_size_t *size,
                         const job_t *job)
{
    const iso_report_t *report = &job->rehearsal.report;

    for (int part = 1; part < job->rehearsal.n_parts; part += 2) {
        const double alone_s = part_s(job, part);

        size->latency_s[size->n_repeats] = alone_s;
        size->each_s[size->n_repeats++] =
            each_of(part_s(job, part + 1), alone_s, job->parts[part + 1]);
        for (int rank = 0; rank < report->size; rank++) {
            add_times(&size->times[rank], times_of(job, rank, part + 1));
        }
    }
    size->planned_latency_s = job->rehearsal.planned_s[1];
    size->planned_each_s = each_of(job->rehearsal.planned_s[2],
                                   job->rehearsal.planned_s[1], job->parts[2]);
    bench->loads_s[bench->n_loads++] = load_s(report);
}

static int64_t stream_length(double alone_s, int n_stages)
{
    const double wanted = ceil(stream_s * n_stages / fmax(alone_s, 1e-9));
    const double least = (double)LEAST_FOR_STAGE * n_stages;

    return (int64_t)fmin(fmax(wanted, least), MOST_IN_STREAM);
}

/* The first job of a size; its report is kept. */
static void take_first(iso__bench_t *bench, iso__bench_size_t *size, job_t *job)
{
    size->report = job->rehearsal.report;
    job->rehearsal.report = (iso_report_t){0};
    size->micro_batch = size->report.micro_batch;
    size->flops = job->rehearsal.flops;
    if (bench->first_load_s == 0) {
        bench->first_load_s = load_s(&size->report);
        for (int rank = 0; rank < size->report.size; rank++) {
            bench->loaded_bytes += size->report.ranks[rank].read_bytes;
        }
    }
}

/* -- all jobs -- */

/* A short job of each size, from the smallest on: how long a stream has to be,
 * and the memory that it took. Collective. */
static iso_status_t try_size(iso__bench_t *bench, iso__bench_size_t *size)
{
    job_t job;
    iso_status_t status =
        iso_par_agree(make_job(bench, 1, 1, &job), bench->comm);

    if (status == ISO_OK) {
        status = run_job(bench, size, &job);
    }
    if (status == ISO_OK && iso_par_rank(bench->comm) == 0) {
        const double alone_s = part_s(&job, 1);

        take_first(bench, size, &job);
        size->many = stream_length(alone_s, iso__bench_stage_count(size));
    }
    free_job(&job);
    ISO_CHECK_MPI(MPI_Bcast(&size->many, 1, MPI_INT64_T, 0, bench->comm));
    return status;
}

/* Collective. */
static iso_status_t measure_size(iso__bench_t *bench, iso__bench_size_t *size,
                                 int repeats)
{
    job_t job;
    iso_status_t status =
        iso_par_agree(make_job(bench, repeats, size->many, &job), bench->comm);

    if (status == ISO_OK) {
        status = run_job(bench, size, &job);
    }
    if (status == ISO_OK && iso_par_rank(bench->comm) == 0) {
        take_figures(bench, size, &job);
    }
    free_job(&job);
    return status;
}

/* What the cores reach, all ranks at the same time; those of a host share its
 * memory. Collective. */
static iso_status_t measure_peak(iso__bench_t *bench)
{
    MPI_Comm host = MPI_COMM_NULL;
    iso_peak_t peak = {0};

    ISO_CHECK_MPI(MPI_Comm_split_type(bench->comm, MPI_COMM_TYPE_SHARED, 0,
                                      MPI_INFO_NULL, &host));
    const size_t bytes = iso_peak_uncached_bytes() / (size_t)iso_par_size(host);

    ISO_CHECK_MPI(MPI_Comm_free(&host));
    ISO_CHECK_MPI(MPI_Barrier(bench->comm));
    ISO_TRY(iso_par_agree(
        iso_peak_measure(bench->options->run.threads, bytes, &peak),
        bench->comm));
    bench->mine.peak.flops_per_s =
        fmax(bench->mine.peak.flops_per_s, peak.flops_per_s);
    bench->mine.peak.read_bytes_per_s =
        fmax(bench->mine.peak.read_bytes_per_s, peak.read_bytes_per_s);
    return ISO_OK;
}

/* Repeats of a round; the first ones take what is left over. */
static int repeats_of(const iso__bench_t *bench, int round)
{
    const int repeats = bench->options->repeats;

    return repeats / ROUNDS + (round < repeats % ROUNDS ? 1 : 0);
}

/* Collective. */
static iso_status_t measure_round(iso__bench_t *bench, int repeats)
{
    for (int i = 0; i < bench->n_sizes; i++) {
        ISO_TRY(measure_size(bench, &bench->sizes[i], repeats));
    }
    return measure_peak(bench);
}

/* Collective. */
static iso_status_t measure(iso__bench_t *bench)
{
    for (int i = 0; i < bench->n_sizes; i++) {
        ISO_TRY(try_size(bench, &bench->sizes[i]));
    }
    for (int round = 0; round < ROUNDS && repeats_of(bench, round) > 0;
         round++) {
        ISO_TRY(measure_round(bench, repeats_of(bench, round)));
    }
    ISO_CHECK_MPI(MPI_Gather(&bench->mine, (int)sizeof bench->mine, MPI_BYTE,
                             bench->ranks, (int)sizeof bench->mine, MPI_BYTE, 0,
                             bench->comm));
    return ISO_OK;
}

/* At rank 0. */
static iso_status_t show(iso__bench_t *bench, FILE *table)
{
    for (int i = 0; i < bench->n_sizes; i++) {
        iso__bench_size_t *size = &bench->sizes[i];

        size->alone = iso_timing_of(size->latency_s, size->n_repeats);
        size->stream = iso_timing_of(size->each_s, size->n_repeats);
    }
    bench->load = iso_timing_of(bench->loads_s, bench->n_loads);
    if (bench->draft != NULL) {
        ISO_TRY(iso__bench_write(bench));
    }
    return table != NULL ? iso__bench_print(bench, table) : ISO_OK;
}

/* Collective. */
static iso_status_t bench_all(iso__bench_t *bench, FILE *table)
{
    iso_status_t status = ISO_OK;

    ISO_TRY(compare_options(bench));
    ISO_TRY(reserve(bench));
    iso_peak_cpu_name(bench->mine.cpu, sizeof bench->mine.cpu);
    ISO_TRY(measure(bench));
    if (iso_par_rank(bench->comm) == 0) {
        status = show(bench, table);
    }
    return iso_par_agree(status, bench->comm);
}

iso_status_t iso_bench(const iso_bench_options_t *options, MPI_Comm comm,
                       FILE *table)
{
    iso__bench_t bench = {.options = options};

    ISO_CHECK_MPI(MPI_Comm_dup(comm, &bench.comm));
    ISO_CHECK_MPI(MPI_Comm_set_errhandler(bench.comm, MPI_ERRORS_RETURN));
    iso_status_t status = bench_all(&bench, table);

    free_bench(&bench);
    ISO_CHECK_MPI(MPI_Comm_free(&bench.comm));
    return status;
}
