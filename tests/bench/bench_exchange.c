/*
 * Exchanges of strided slabs: packing, as exec/exchanger.h does it, beside
 * derived datatypes (MPI_Alltoallw with a subarray for each part). Not a test.
 *
 *     mpirun -n 2 bench_exchange [--repeats N]
 *
 * f32 values [rows, cols, inner], cut along cols on at least one side, so that
 * runs of inner elements (or of a piece of cols) are contiguous. Both ways run
 * interleaved; a time is that of the slowest rank, and medians are printed.
 * GB/s are of the bytes that go from worker to worker.
 */
#include "base/mem.h"
#include "bench.h"
#include "exec/exchanger.h"
#include "par/par.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPEATS_MOST = 101, MOST_WORKERS = 64 };

static int n_workers;
static int worker;

/* ---- Derived datatypes ---- */

/* A side of MPI_Alltoallw: a part of the tensor for each worker. */
typedef struct side {
    int counts[MOST_WORKERS];
    int displs[MOST_WORKERS];
    MPI_Datatype types[MOST_WORKERS];
} side_t;

static MPI_Datatype type_of(const iso_box_t *part, const iso_box_t *holder)
{
    int dims[ISO_MAX_RANK];
    int sizes[ISO_MAX_RANK];
    int starts[ISO_MAX_RANK];
    MPI_Datatype type;

    for (int axis = 0; axis < part->rank; axis++) {
        dims[axis] = (int)iso_range_length(holder->range[axis]);
        sizes[axis] = (int)iso_range_length(part->range[axis]);
        starts[axis] =
            (int)(part->range[axis].begin - holder->range[axis].begin);
    }
    ISO_CHECK_MPI(MPI_Type_create_subarray(part->rank, dims, sizes, starts,
                                           MPI_ORDER_C, MPI_FLOAT, &type));
    ISO_CHECK_MPI(MPI_Type_commit(&type));
    return type;
}

static void make_side(const iso_exchange_t *exchange, bool sends, side_t *side)
{
    iso_box_t holder;

    iso_layout_box(sends ? &exchange->from : &exchange->to, &exchange->shape,
                   worker, &holder);
    for (int peer = 0; peer < n_workers; peer++) {
        iso_box_t part;

        iso_exchange_part(exchange, sends ? worker : peer,
                          sends ? peer : worker, &part);
        side->displs[peer] = 0;
        side->counts[peer] = iso_box_count(&part) > 0 ? 1 : 0;
        if (side->counts[peer] > 0) {
            side->types[peer] = type_of(&part, &holder);
        } else {
            ISO_CHECK_MPI(MPI_Type_dup(MPI_BYTE, &side->types[peer]));
        }
    }
}

static void free_side(side_t *side)
{
    for (int peer = 0; peer < n_workers; peer++) {
        ISO_CHECK_MPI(MPI_Type_free(&side->types[peer]));
    }
}

/* ---- Measuring ---- */

typedef struct job {
    iso_exchange_t exchange;
    iso_exchanger_t *exchanger;
    side_t out;
    side_t in;
    iso_tensor_t input;
    iso_tensor_t output;
} job_t;

static iso_tensor_t tensor_of(const iso_exchange_t *exchange,
                              const iso_layout_t *layout)
{
    iso_tensor_t tensor = {.dtype = exchange->dtype};
    iso_box_t box;

    iso_layout_box(layout, &exchange->shape, worker, &box);
    tensor.rank = box.rank;
    for (int axis = 0; axis < box.rank; axis++) {
        tensor.dims[axis] = iso_range_length(box.range[axis]);
    }
    tensor.data = iso_alloc(iso_tensor_bytes(&tensor));
    if (tensor.data == NULL) {
        iso_par_abort(__FILE__, __LINE__, "out of memory");
    }
    memset(tensor.data, worker, iso_tensor_bytes(&tensor));
    return tensor;
}

static void begin(job_t *job)
{
    const iso_exchanger_spec_t spec = {
        .exchanges = &job->exchange, .n_exchanges = 1, .worker = worker};

    if (iso_exchanger_create(&spec, MPI_COMM_WORLD, &job->exchanger) !=
        ISO_OK) {
        iso_par_abort(__FILE__, __LINE__, "out of memory");
    }
    make_side(&job->exchange, true, &job->out);
    make_side(&job->exchange, false, &job->in);
    job->input = tensor_of(&job->exchange, &job->exchange.from);
    job->output = tensor_of(&job->exchange, &job->exchange.to);
}

static void end(job_t *job)
{
    iso_free(job->input.data);
    iso_free(job->output.data);
    free_side(&job->out);
    free_side(&job->in);
    iso_exchanger_destroy(&job->exchanger);
}

static void run_packed(job_t *job)
{
    (void)iso_exchanger_run(job->exchanger, 0, &job->input, &job->output);
}

static void run_derived(job_t *job)
{
    ISO_CHECK_MPI(MPI_Alltoallw(job->input.data, job->out.counts,
                                job->out.displs, job->out.types,
                                job->output.data, job->in.counts,
                                job->in.displs, job->in.types, MPI_COMM_WORLD));
}

/* Collective: seconds of the slowest rank. */
static double time_of(void (*run)(job_t *job), job_t *job)
{
    double seconds;

    ISO_CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
    seconds = MPI_Wtime();
    run(job);
    seconds = MPI_Wtime() - seconds;
    ISO_CHECK_MPI(MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX,
                                MPI_COMM_WORLD));
    return seconds;
}

static void measure(job_t *job, int repeats)
{
    const double bytes = (double)iso_exchange_bytes(&job->exchange);
    double packed[REPEATS_MOST];
    double derived[REPEATS_MOST];
    char text[ISO_SHAPE_TEXT_BYTES];

    begin(job);
    for (int i = -1; i < repeats; i++) { /* the first is not counted */
        const double a = time_of(run_packed, job);
        const double b = time_of(run_derived, job);

        packed[i < 0 ? 0 : i] = a;
        derived[i < 0 ? 0 : i] = b;
    }
    if (worker == 0) {
        const double a = iso_timing_of(packed, repeats).median_s;
        const double b = iso_timing_of(derived, repeats).median_s;

        (void)printf("%-10s %-16s %12.0f %9.3f %8.2f %9.3f %8.2f %6.2f\n",
                     iso_exchange_kind_string(job->exchange.kind),
                     iso_shape_text(&job->exchange.shape, text), bytes, a * 1e3,
                     bytes / a * 1e-9, b * 1e3, bytes / b * 1e-9, b / a);
    }
    end(job);
}

/* ---- What is measured ---- */

static const int64_t shapes[][3] = {
    {256, 256, 1},  {2048, 2048, 1}, {64, 256, 49},
    {64, 64, 3136}, {4096, 16, 16},  {512, 8192, 1},
};

/* From all on worker 0, or split along rows or cols, to the same. */
static void measure_all(const int64_t *dims, int repeats)
{
    static iso_range_t rows[MOST_WORKERS];
    static iso_range_t cols[MOST_WORKERS];
    static iso_range_t halo[MOST_WORKERS];
    const iso_layout_t one = {.kind = ISO_LAYOUT_ONE};
    const iso_layout_t by_rows = {ISO_LAYOUT_SPLIT, 0, 0, rows};
    const iso_layout_t by_cols = {ISO_LAYOUT_SPLIT, 0, 1, cols};
    const iso_layout_t with_halo = {ISO_LAYOUT_SPLIT, 0, 1, halo};
    const struct {
        iso_layout_t from;
        iso_layout_t to;
    } moves[] = {{one, by_cols},
                 {by_cols, one},
                 {by_rows, by_cols},
                 {by_cols, by_rows},
                 {by_cols, with_halo}};

    iso_ranges_share(dims[0], 1, NULL, n_workers, rows);
    iso_ranges_share(dims[1], 1, NULL, n_workers, cols);
    for (int i = 0; i < n_workers; i++) {
        halo[i] = cols[i];
        halo[i].begin -= i > 0 ? 1 : 0;
        halo[i].end += i < n_workers - 1 ? 1 : 0;
    }
    for (size_t i = 0; i < sizeof moves / sizeof moves[0]; i++) {
        job_t job = {.exchange = {.value = "value",
                                  .dtype = ISO_DTYPE_F32,
                                  .shape = iso_shape_of(3, dims),
                                  .n_workers = n_workers,
                                  .from = moves[i].from,
                                  .to = moves[i].to}};

        job.exchange.kind = iso_exchange_kind_of(&moves[i].from, &moves[i].to);
        measure(&job, repeats);
    }
}

int main(int argc, char **argv)
{
    int repeats = 21;
    const bench_option_t options[] = {{"--repeats", NULL, &repeats, NULL}};

    ISO_CHECK_MPI(MPI_Init(&argc, &argv));
    bench_parse(argc, argv, 1, options);
    repeats = repeats > REPEATS_MOST ? REPEATS_MOST : repeats;
    n_workers = iso_par_size(MPI_COMM_WORLD);
    worker = iso_par_rank(MPI_COMM_WORLD);
    if (n_workers > MOST_WORKERS) {
        iso_par_abort(__FILE__, __LINE__, "too many ranks");
    }
    if (worker == 0) {
        bench_print_machine();
        (void)printf("%d workers, %d repeats\n%-10s %-16s %12s %9s %8s %9s %8s "
                     "%6s\n",
                     n_workers, repeats, "kind", "value", "bytes", "packed ms",
                     "GB/s", "types ms", "GB/s", "ratio");
    }
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        measure_all(shapes[i], repeats);
    }
    ISO_CHECK_MPI(MPI_Finalize());
    return 0;
}
