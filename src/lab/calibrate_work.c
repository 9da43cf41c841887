/*
 * Rates of the op classes, through the device as in a run: a graph of one
 * node for each probe. A class with several probes gets all their work over
 * all their time.
 */
#include "isotome/error.h"

#include "base/clock.h"
#include "base/mem.h"
#include "graph/cost.h"
#include "lab/calibrate_impl.h"
#include "par/par.h"
#include "plan/machine_fit.h"
#include "plan/node_seconds.h"

#include <math.h>

enum { MOST_OPERANDS = 3, MOST_ATTRS = 3, MOST_INTS = 4 };

/* A repetition runs a program as often as this takes; after most_s the fewest
 * repetitions are enough, and fewer of what takes longer in one run, so that
 * a slow device is not waited for. */
static const double least_s = 1e-3;
static const double most_s = 0.1;
enum { MOST_RUNS = 1000, LEAST_REPEATS = 7, SLOW_REPEATS = 3 };

/* What is left of a time when another is taken from it is at least this share:
 * neither is exact. */
static const double least_share = 0.25;

enum { MORE_COPIES = 16 };

typedef struct probe {
    iso_op_t op;
    struct {
        int rank;
        int64_t dims[4];
    } operands[MOST_OPERANDS]; /* rank 0 ends them */
    struct {
        const char *name; /* NULL ends them */
        int count;
        int64_t ints[MOST_INTS];
    } attrs[MOST_ATTRS];
} probe_t;

#define CONV(n, in, size, out, kernel, stride, groups)                     \
    {                                                                      \
        ISO_OP_CONV,                                                       \
            {{4, {n, in, size, size}},                                     \
             {4, {out, (in) / (groups), kernel, kernel}}},                 \
        {                                                                  \
            {"pads",                                                       \
             4,                                                            \
             {(kernel) / 2, (kernel) / 2, (kernel) / 2, (kernel) / 2}},    \
                {"strides", 2, {stride, stride}}, {"groups", 1, {groups}}, \
        }                                                                  \
    }

/* Shapes of known networks; each class has one. Values that are no weights
 * stay within the caches, but for those of 1x1 convolutions and of attention,
 * which do little with each: what does not is the memory probe's. */
static const probe_t probes[] = {
    CONV(4, 64, 56, 64, 1, 1, 1),
    CONV(4, 64, 56, 256, 1, 1, 1),
    CONV(4, 256, 56, 64, 1, 1, 1),
    CONV(4, 1024, 14, 256, 1, 1, 1),
    CONV(1, 64, 56, 64, 3, 1, 1),
    CONV(1, 256, 14, 256, 3, 1, 1),
    CONV(1, 64, 28, 64, 5, 1, 1),
    CONV(1, 3, 112, 64, 7, 2, 1),
    CONV(4, 16, 32, 16, 3, 1, 1),
    CONV(1, 128, 28, 128, 3, 1, 16),
    CONV(1, 128, 28, 128, 3, 1, 128),
    /* whole layers and small ones; attention; one token or a few */
    {ISO_OP_MATMUL, {{2, {512, 512}}, {2, {512, 512}}}, {{0}}},
    {ISO_OP_MATMUL, {{2, {128, 768}}, {2, {768, 768}}}, {{0}}},
    {ISO_OP_MATMUL, {{2, {64, 128}}, {2, {128, 128}}}, {{0}}},
    {ISO_OP_MATMUL, {{3, {96, 128, 128}}, {3, {96, 128, 64}}}, {{0}}},
    {ISO_OP_MATMUL, {{3, {12, 512, 64}}, {3, {12, 64, 512}}}, {{0}}},
    {ISO_OP_MATMUL, {{2, {4, 1024}}, {2, {1024, 1024}}}, {{0}}},
    {ISO_OP_MATMUL, {{2, {8, 1024}}, {2, {1024, 1024}}}, {{0}}},
    {ISO_OP_ADD, {{4, {1, 64, 28, 28}}, {4, {1, 64, 28, 28}}}, {{0}}},
    {ISO_OP_RELU, {{4, {1, 64, 28, 28}}}, {{0}}},
    {ISO_OP_SIGMOID, {{4, {1, 64, 28, 28}}}, {{0}}},
    {ISO_OP_ERF, {{2, {64, 768}}}, {{0}}},
    {ISO_OP_REDUCE_MEAN, {{4, {1, 256, 14, 14}}}, {{"axes", 2, {2, 3}}}},
    {ISO_OP_REDUCE_MAX, {{2, {64, 768}}}, {{"axes", 1, {1}}}},
    {ISO_OP_SOFTMAX, {{3, {12, 64, 64}}}, {{"axis", 1, {2}}}},
    {ISO_OP_LAYER_NORM,
     {{2, {64, 768}}, {1, {768}}, {1, {768}}},
     {{"axis", 1, {1}}}},
    {ISO_OP_MAX_POOL,
     {{4, {1, 64, 56, 56}}},
     {{"kernel", 2, {3, 3}},
      {"strides", 2, {2, 2}},
      {"pads", 4, {1, 1, 1, 1}}}},
    {ISO_OP_AVG_POOL,
     {{4, {1, 64, 28, 28}}},
     {{"kernel", 2, {2, 2}}, {"strides", 2, {2, 2}}}},
    {ISO_OP_TRANSPOSE, {{4, {1, 64, 12, 64}}}, {{"perm", 4, {0, 2, 1, 3}}}},
    {ISO_OP_CONCAT,
     {{4, {1, 64, 28, 28}}, {4, {1, 64, 28, 28}}},
     {{"axis", 1, {1}}}},
};
enum { N_PROBES = sizeof probes / sizeof *probes };

/* 32 MiB in and 32 MiB out: more than the caches hold when all ranks do it. */
static const probe_t memory_probe = {ISO_OP_RELU, {{2, {8192, 1024}}}, {{0}}};

/* -- one probe as a program -- */

typedef struct bench {
    iso_graph_t *graph;
    iso_program_t *program;
    float *operands[MOST_OPERANDS];
    iso_node_id_t y;
    iso_node_cost_t cost;
} bench_t;

static void bench_end(bench_t *bench)
{
    iso_program_destroy(&bench->program);
    for (int i = 0; i < MOST_OPERANDS; i++) {
        iso_free(bench->operands[i]);
    }
    iso_graph_destroy(&bench->graph);
}

static const char *operand_name(int index)
{
    static const char *const names[MOST_OPERANDS] = {"x", "w", "b"};

    return names[index];
}

/* Values in [-1, 1), no two neighbours alike. */
static void fill(float *values, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        values[i] = (float)(i * 7919 % 1009) / 504.5F - 1.0F;
    }
}

/* Layers have weights that are known before; attention multiplies values. */
static bool is_weight(const probe_t *probe, int index)
{
    return index > 0 &&
           iso_op_info(probe->op)->op_class == ISO_OP_CLASS_CONTRACT &&
           (probe->op == ISO_OP_CONV || probe->operands[index].rank <= 2);
}

static iso_status_t add_operand(const probe_t *probe, int index, bench_t *bench,
                                iso_node_id_t *id_out)
{
    const iso_shape_t shape =
        iso_shape_of(probe->operands[index].rank, probe->operands[index].dims);
    const int64_t count = iso_shape_count(&shape);

    bench->operands[index] = iso_alloc((size_t)count * sizeof(float));
    if (bench->operands[index] == NULL) {
        return ISO_NOMEM;
    }
    fill(bench->operands[index], count);
    return is_weight(probe, index)
               ? iso_graph_add_param(bench->graph, operand_name(index),
                                     ISO_DTYPE_F32, &shape, id_out)
               : iso_graph_add_input(bench->graph, operand_name(index),
                                     ISO_DTYPE_F32, &shape, id_out);
}

/* attrs [out] (MOST_ATTRS); the number of them is returned. */
static int attrs_of(const probe_t *probe, iso_attr_t *attrs)
{
    int count = 0;

    while (count < MOST_ATTRS && probe->attrs[count].name != NULL) {
        attrs[count] = (iso_attr_t){.name = probe->attrs[count].name,
                                    .kind = ISO_ATTR_INTS,
                                    .count = probe->attrs[count].count,
                                    .value.ints = probe->attrs[count].ints};
        count++;
    }
    return count;
}

/* copies: nodes that do the same, of which the last one is the output. */
static iso_status_t build_graph(const probe_t *probe, int copies,
                                bench_t *bench)
{
    iso_node_id_t operands[MOST_OPERANDS];
    iso_attr_t attrs[MOST_ATTRS];
    iso_node_spec_t spec = {.op = probe->op,
                            .inputs = operands,
                            .n_attrs = attrs_of(probe, attrs),
                            .attrs = attrs};

    ISO_TRY(iso_graph_create(&bench->graph));
    while (spec.n_inputs < MOST_OPERANDS &&
           probe->operands[spec.n_inputs].rank > 0) {
        ISO_TRY(
            add_operand(probe, spec.n_inputs, bench, &operands[spec.n_inputs]));
        spec.n_inputs++;
    }
    for (int i = 0; i < copies; i++) {
        ISO_TRY(iso_graph_add(bench->graph, &spec, &bench->y));
    }
    ISO_TRY(iso_graph_add_output(bench->graph, "y", bench->y));
    return iso_node_cost_of(bench->graph, bench->y, &bench->cost);
}

static iso_status_t bench_begin(iso_device_t *device, bench_t *bench)
{
    const iso_program_options_t options = {.buffer = NULL};

    ISO_TRY(
        iso_program_create(device, bench->graph, &options, &bench->program));
    for (int i = 0; i < MOST_OPERANDS && bench->operands[i] != NULL; i++) {
        ISO_TRY(iso_program_bind(bench->program, operand_name(i),
                                 bench->operands[i]));
    }
    return ISO_OK;
}

static iso_status_t timing_from(double *seconds, int count,
                                iso_timing_t *timing_out)
{
    *timing_out = iso_timing_of(seconds, count);
    return timing_out->median_s > 0.0
               ? ISO_OK
               : iso_fail(ISO_UNSUPPORTED,
                          "the clock of %s stands still: "
                          "nothing can be measured",
                          iso_par_host());
}

/* Seconds of runs in a row. */
static iso_status_t run(bench_t *bench, int runs, double *seconds_out)
{
    const double begin_s = iso_clock_s();

    for (int i = 0; i < runs; i++) {
        ISO_TRY(iso_program_run(bench->program));
    }
    *seconds_out = iso_clock_s() - begin_s;
    return ISO_OK;
}

static int runs_for(double one_s)
{
    return one_s * MOST_RUNS > least_s ? (int)ceil(least_s / one_s) : MOST_RUNS;
}

static iso_status_t time_bench(bench_t *bench, iso_timing_t *timing_out)
{
    double seconds[ISO__CALIBRATE_REPEATS] = {0};
    double warm_s = 0.0;
    double spent_s = 0.0;
    int count = 0;

    ISO_TRY(run(bench, 1, &warm_s));
    const int least = warm_s > most_s ? SLOW_REPEATS : LEAST_REPEATS;

    if (warm_s <= most_s) {
        ISO_TRY(run(bench, 1, &warm_s));
    }
    const int runs = runs_for(warm_s);

    while (count < least ||
           (count < ISO__CALIBRATE_REPEATS && spent_s < most_s)) {
        double run_s = 0.0;

        ISO_TRY(run(bench, runs, &run_s));
        spent_s += run_s;
        seconds[count++] = run_s / runs;
    }
    return timing_from(seconds, count, timing_out);
}

/* What a probe costs, and what it took. */
typedef struct measured {
    bool is_measured; /* else the device does not compute it */
    iso_node_cost_t cost;
    iso_timing_t timing;
} measured_t;

/* Collective: the ranks begin together. */
static iso_status_t time_probe(iso_device_t *device, MPI_Comm comm,
                               bench_t *bench, iso_timing_t *timing_out)
{
    ISO_TRY(iso_par_agree(bench_begin(device, bench), comm));
    return iso_par_agree(time_bench(bench, timing_out), comm);
}

/* What the device does not compute is known without asking, and so by all
 * ranks alike. Collective. */
static iso_status_t time_copies(const iso__calibrated_t *device,
                                const probe_t *probe, int copies, MPI_Comm comm,
                                measured_t *measured)
{
    bench_t bench = {0};
    iso_status_t status =
        iso_par_agree(build_graph(probe, copies, &bench), comm);

    *measured = (measured_t){.cost = bench.cost};
    if (status == ISO_OK) {
        measured->is_measured =
            iso_device_does(&device->spec, bench.graph, bench.y);
    }
    if (measured->is_measured) {
        status = time_probe(device->device, comm, &bench, &measured->timing);
    }
    bench_end(&bench);
    return status;
}

/*
 * One probe. On a device with memory of its own a program brings its operands
 * and takes its value away, which is the crossing's time: what many more of the
 * same node take is theirs alone. Collective.
 */
static iso_status_t measure(const iso__calibrated_t *device,
                            const probe_t *probe, MPI_Comm comm,
                            measured_t *measured)
{
    measured_t many;

    ISO_TRY(time_copies(device, probe, 1, comm, measured));
    if (!iso__calibrated_is_apart(device) || !measured->is_measured) {
        return ISO_OK;
    }
    ISO_TRY(time_copies(device, probe, 1 + MORE_COPIES, comm, &many));
    measured->timing.spread = many.timing.spread;
    measured->timing.median_s =
        fmax(many.timing.median_s - measured->timing.median_s,
             least_share * many.timing.median_s) /
        MORE_COPIES;
    return ISO_OK;
}

/* -- figures -- */

static double bytes_of(const iso_node_cost_t *cost)
{
    return (double)cost->operand_bytes + (double)cost->output_bytes;
}

/* Seconds of the work alone: where the time of the bytes is counted beside
 * it, what is left. */
static double work_seconds(const measured_t *measured,
                           const iso_machine_rank_t *figures)
{
    const double seconds = measured->timing.median_s;

    return iso_rate_class_waits(measured->cost.rate_class)
               ? fmax(seconds -
                          iso_cost_bytes_seconds(&measured->cost, figures),
                      least_share * seconds)
               : seconds;
}

/* The rate of a class from all its probes that were measured; without any it
 * stays what is usual. */
static void set_rate(const measured_t *measured, iso_rate_class_t rate_class,
                     iso_machine_rank_t *figures)
{
    double work = 0.0;
    double seconds = 0.0;
    double spread = 0.0;

    for (int i = 0; i < N_PROBES; i++) {
        if (measured[i].is_measured &&
            measured[i].cost.rate_class == rate_class) {
            work += iso_rate_class_unit(rate_class) == ISO_RATE_BYTES
                        ? bytes_of(&measured[i].cost)
                        : measured[i].cost.flops;
            seconds += work_seconds(&measured[i], figures);
            spread = fmax(spread, measured[i].timing.spread);
        }
    }
    figures->rates[rate_class] =
        seconds > 0.0 ? (iso_rate_t){work / seconds, spread, ISO_COST_MEASURED}
                      : (iso_rate_t){0.0, 0.0, ISO_COST_DEFAULT};
}

/* Collective. Figures have the memory's bandwidth; copies in the caches are
 * measured like all probes, and say how long others wait for their bytes. */
static iso_status_t measure_rates(const iso__calibrated_t *device,
                                  MPI_Comm comm, iso_machine_rank_t *figures)
{
    measured_t measured[N_PROBES];

    for (int i = 0; i < N_PROBES; i++) {
        ISO_TRY(measure(device, &probes[i], comm, &measured[i]));
    }
    set_rate(measured, ISO_RATE_MOVE, figures);
    for (int i = 0; i < ISO_RATE_CLASS_COUNT; i++) {
        set_rate(measured, (iso_rate_class_t)i, figures);
    }
    return ISO_OK;
}

static iso_status_t fail_incapable(const iso__calibrated_t *device,
                                   const char *what)
{
    return iso_fail(ISO_UNSUPPORTED,
                    "device '%s' cannot be measured: it does not compute %s "
                    "in f32 exactly",
                    device->spec.name, what);
}

/* Collective. */
static iso_status_t measure_memory(const iso__calibrated_t *device,
                                   MPI_Comm comm, double *bytes_per_s_out)
{
    measured_t measured;

    ISO_TRY(measure(device, &memory_probe, comm, &measured));
    if (!measured.is_measured) {
        return fail_incapable(device, "relu");
    }
    *bytes_per_s_out = bytes_of(&measured.cost) / measured.timing.median_s;
    return ISO_OK;
}

/* -- crossings -- */

enum { LINE_FLOATS = 16, BLOCK_FLOATS = 1 << 20 };

/* To a device with memory of its own and back, by a program that does next to
 * nothing between. Collective. */
static iso_status_t measure_crossing(const iso__calibrated_t *device,
                                     MPI_Comm comm,
                                     iso_machine_device_t *figures)
{
    static const probe_t line = {ISO_OP_RELU, {{1, {LINE_FLOATS}}}, {{0}}};
    static const probe_t block = {ISO_OP_RELU, {{1, {BLOCK_FLOATS}}}, {{0}}};
    measured_t one;
    measured_t other;

    ISO_TRY(time_copies(device, &line, 1, comm, &one));
    ISO_TRY(time_copies(device, &block, 1, comm, &other));

    const double line_s = one.timing.median_s / 2.0;
    const double block_s = other.timing.median_s / 2.0;

    figures->crossing_latency_s = line_s;
    figures->crossing_bytes_per_s =
        sizeof(float) * BLOCK_FLOATS /
        fmax(block_s - line_s, least_share * block_s);
    return ISO_OK;
}

/* A device is as certain as its rates. */
static void set_class(iso_machine_rank_t *figures)
{
    figures->cost_class = ISO_COST_MEASURED;
    for (int i = 0; i < ISO_RATE_CLASS_COUNT; i++) {
        if (figures->rates[i].cost_class > figures->cost_class) {
            figures->cost_class = figures->rates[i].cost_class;
        }
    }
}

iso_status_t iso__calibrate_work(const iso__calibrated_t *device, MPI_Comm comm,
                                 iso_machine_device_t *figures)
{
    iso_machine_rank_t *speed = &figures->figures;

    ISO_TRY(measure_memory(device, comm, &speed->memory_bytes_per_s));
    ISO_TRY(measure_rates(device, comm, speed));
    ISO_TRY(iso__calibrate_copies(comm, figures));
    if (iso__calibrated_is_apart(device)) {
        ISO_TRY(measure_crossing(device, comm, figures));
    }
    speed->flops_per_s = speed->rates[ISO_RATE_MATMUL_LARGE].per_s;
    set_class(speed);
    return speed->flops_per_s > 0.0 ? ISO_OK : fail_incapable(device, "matmul");
}
