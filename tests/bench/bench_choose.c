/*
 * How good the chooser's and the arranger's choices are, and how near their
 * predictions: each op of a list is computed in every way that there is
 * (whole at worker 0, and every option of plan/shard/option.h), as a stage of
 * one op: its inputs at worker 0, the value wanted there, weights resident.
 * Not a test.
 *
 *     mpirun -n 2 --bind-to core isotome calibrate -o M.json
 *     mpirun -n 2 --bind-to core bench_choose --machine M.json
 *            [--repeats N] [--all] [--quick]
 *
 * The ways of an op run interleaved, each once before it is timed: a stage
 * meets its micro-batches one after the other, and the other ways' weights
 * would have taken the caches. A time is that of the slowest worker from a
 * barrier on, medians are printed. Regret is the time of what was chosen
 * over that of the fastest way measured, less 1. The error is that of the
 * predicted time. With --all every way gets a line. Every way must give the
 * bits of the whole op.
 */
#include "isotome/error.h"

#include "bench.h"
#include "bench_link.h"
#include "bench_ops.h"
#include "bench_way.h"
#include "par/par.h"
#include "plan/shard/arrange.h"
#include "plan/shard/choose.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPEATS_MOST = 501, WAYS_MOST = 64, WORKERS_MOST = 64, TEXT_BYTES = 32 };

/* Virtual cores move: messages between the same two may take three times as
 * long a minute later. An op counts when the link was the calibrated one before
 * and after, within this factor; else it is measured again a few times. */
static const double most_slowness = 2.0;
enum { MOST_TRIES = 3 };

/* An op is repeated until this much time was spent on it. */
static const double least_s = 1.0;

static const char *machine_path;
static int repeats = 9;
static bool is_quick;
static bool prints_all;
static int n_workers;
static int worker;
static iso_machine_t *machine;
static iso_device_t *device;

/* ---- A way to compute an op ---- */

typedef struct way {
    char text[TEXT_BYTES];
    double predicted_s;
    iso_stage_cut_t *cut;
    bench_way_t *run;
    double seconds[REPEATS_MOST];
    iso_timing_t timing;
} way_t;

/* An op in all ways. */
typedef struct trial {
    const bench_op_t *op;
    iso_graph_t *stage;
    iso_node_id_t node;
    int n_ways;
    int chosen;   /* by choose.h */
    int arranged; /* by arrange.h */
    way_t ways[WAYS_MOST];
    bool counts;
    double slowness; /* of the link, when it was looked at last */
} trial_t;

/* Collective: a failure of one worker ends all. */
static void need(iso_status_t status)
{
    status = iso_par_agree(status, MPI_COMM_WORLD);
    if (status != ISO_OK) {
        if (worker == 0) {
            (void)fprintf(stderr, "%s\n", iso_error_text());
        }
        ISO_CHECK_MPI(MPI_Finalize());
        exit(EXIT_FAILURE);
    }
}

/* ---- The ways there are ---- */

static way_t *add_way(trial_t *trial, const char *text, double predicted_s)
{
    way_t *way = &trial->ways[trial->n_ways];

    if (trial->n_ways == WAYS_MOST) {
        iso_par_abort(__FILE__, __LINE__, "an op has too many ways");
    }
    trial->n_ways++;
    (void)snprintf(way->text, sizeof way->text, "%s", text);
    way->predicted_s = predicted_s;
    need(iso_stage_cut_create(trial->stage, n_workers, &way->cut));
    return way;
}

/*
 * An option's pieces in worker order: each worker's is as long as its shard.
 *
 * inner  [in]  what one index of the axis is of the option's length; pieces
 *              are rounded to it
 */
static void spread_pieces(const iso_shard_candidate_t *candidate, int64_t inner,
                          iso_range_t *ranges_out)
{
    int64_t at = 0; /* in the option's length */

    for (int w = 0; w < n_workers; w++) {
        ranges_out[w].begin = (at + inner / 2) / inner;
        for (int i = 0; i < candidate->option.count; i++) {
            if (candidate->ranks[i] == w) {
                at += iso_range_length(candidate->option.ranges[i]);
            }
        }
        ranges_out[w].end = (at + inner / 2) / inner;
    }
}

/*
 * The rows of all matrices of a batch, which are one axis here, are none in a
 * stage: the first of their axes that is longer than 1 is cut, in whole
 * matrices as near as may be.
 */
static void cut_of(const trial_t *trial, const iso_shard_candidate_t *candidate,
                   iso_node_cut_t *cut_out, iso_range_t *ranges)
{
    const iso_shape_t *shape =
        &iso_graph_node(trial->stage, trial->node)->shape;
    const iso_shard_option_t *option = &candidate->option;
    int64_t inner = 1;

    *cut_out = (iso_node_cut_t){.kind = ISO_CUT_PARTIAL, .ranges = ranges};
    if (option->output_axis != ISO_SHARD_PARTIAL_SUMS) {
        cut_out->kind = ISO_CUT_SPLIT;
        cut_out->axis = option->output_axis - option->flat_axes + 1;
        while (cut_out->axis < option->output_axis &&
               shape->dim[cut_out->axis].size == 1) {
            cut_out->axis++;
        }
        for (int axis = cut_out->axis + 1; axis <= option->output_axis;
             axis++) {
            inner *= shape->dim[axis].size;
        }
    }
    spread_pieces(candidate, inner, ranges);
}

/* "rows 2"; of the batch axes of a product there may be several. */
static void name_option(const iso_shard_option_t *option, char *text,
                        size_t bytes)
{
    if (option->axis == ISO_SHARD_MATRICES) {
        (void)snprintf(text, bytes, "batch(%d) %d", option->output_axis,
                       option->count);
    } else {
        (void)snprintf(text, bytes, "%s %d",
                       iso_shard_axis_string(option->axis), option->count);
    }
}

static void add_candidate(trial_t *trial,
                          const iso_shard_candidate_t *candidate)
{
    iso_range_t ranges[WORKERS_MOST];
    iso_node_cut_t cut;
    char text[TEXT_BYTES];

    cut_of(trial, candidate, &cut, ranges);
    name_option(&candidate->option, text, sizeof text);
    way_t *way = add_way(trial, text, candidate->seconds);

    need(iso_stage_cut_set(way->cut, trial->node, &cut));
}

/* What choose.h says: all ways, and the one it takes. */
static void ask_chooser(trial_t *trial)
{
    const iso_node_t *node = iso_graph_node(trial->stage, trial->node);
    const iso_shard_op_t op = {.graph = trial->stage, .node = trial->node};
    iso_shard_worker_t workers[WORKERS_MOST];
    iso_shard_question_t question = {.op = op,
                                     .n_workers = n_workers,
                                     .workers = workers,
                                     .machine = machine};
    iso_shard_choice_t *choice = NULL;
    iso_arena_t *arena = NULL;
    int ranks[WORKERS_MOST];

    for (int i = 0; i < n_workers; i++) {
        ranks[i] = i;
    }
    for (int i = 0; i < node->n_inputs; i++) {
        const iso_node_t *operand =
            iso_graph_node(trial->stage, node->inputs[i]);

        question.resident |= operand->op == ISO_OP_PARAM ? 1U << i : 0U;
    }
    need(iso_arena_create(&arena));
    need(iso_shard_workers_of(&op, machine, ranks, n_workers, arena, workers));
    question.whole_elements_per_s = workers[0].elements_per_s;
    need(iso_shard_choose(&question, &choice));
    (void)add_way(trial, "whole", choice->whole_seconds);
    trial->chosen = 0;
    for (int i = 0; i < choice->n_candidates; i++) {
        if (i == choice->chosen) {
            trial->chosen = trial->n_ways;
        }
        /* Without ranks there are too few workers for it. */
        if (choice->candidates[i].ranks != NULL) {
            add_candidate(trial, &choice->candidates[i]);
        }
    }
    iso_shard_choice_destroy(&choice);
    iso_arena_destroy(&arena);
}

static bool same_cut(const iso_node_cut_t *a, const iso_node_cut_t *b)
{
    if (a->kind != b->kind) {
        return false;
    }
    if (a->kind == ISO_CUT_ONE || a->kind == ISO_CUT_ALL) {
        return true;
    }
    return (a->kind == ISO_CUT_PARTIAL || a->axis == b->axis) &&
           memcmp(a->ranges, b->ranges,
                  (size_t)n_workers * sizeof *a->ranges) == 0;
}

static void name_cut(const trial_t *trial, const iso_node_cut_t *cut,
                     char *text, size_t bytes)
{
    switch (cut->kind) {
    case ISO_CUT_ONE:
        (void)snprintf(text, bytes, "whole");
        break;
    case ISO_CUT_ALL:
        (void)snprintf(text, bytes, "on all");
        break;
    case ISO_CUT_SPLIT:
        (void)snprintf(text, bytes, "%s, arranged",
                       iso_cut_axis_name(trial->stage, trial->node, cut->axis));
        break;
    case ISO_CUT_PARTIAL:
        (void)snprintf(text, bytes, "%s, arranged",
                       iso_cut_reduction_name(trial->stage, trial->node));
        break;
    }
}

/* What arrange.h says; it may be a way that is there already. */
static void ask_arranger(trial_t *trial)
{
    iso_stage_cut_t *cut = NULL;
    double seconds = 0.0;
    char text[TEXT_BYTES];
    int ranks[WORKERS_MOST];

    for (int i = 0; i < n_workers; i++) {
        ranks[i] = i;
    }
    const iso_arrange_options_t options = {
        .machine = machine, .ranks = ranks, .n_workers = n_workers};

    need(iso_arrange(trial->stage, &options, &cut, &seconds));
    for (int i = 0; i < trial->n_ways; i++) {
        if (same_cut(&trial->ways[i].cut->nodes[trial->node],
                     &cut->nodes[trial->node])) {
            trial->arranged = i;
            iso_stage_cut_destroy(&cut);
            return;
        }
    }
    name_cut(trial, &cut->nodes[trial->node], text, sizeof text);
    trial->arranged = trial->n_ways;
    way_t *way = add_way(trial, text, seconds);

    iso_stage_cut_destroy(&way->cut);
    way->cut = cut;
}

/* ---- Measuring ---- */

static void check_bits(const trial_t *trial)
{
    for (int i = 1; i < trial->n_ways; i++) {
        need(bench_way_digest(trial->ways[i].run) ==
                     bench_way_digest(trial->ways[0].run)
                 ? ISO_OK
                 : iso_fail(ISO_INTERNAL, "%s: '%s' gives other bits",
                            trial->op->what, trial->ways[i].text));
    }
}

/* Seconds of one time through all ways. */
static double prepare(trial_t *trial)
{
    double once_s = 0.0;

    for (int i = 0; i < trial->n_ways; i++) {
        way_t *way = &trial->ways[i];

        need(bench_way_create(device, trial->stage, way->cut, MPI_COMM_WORLD,
                              &way->run));
        (void)bench_way_run(way->run);
        once_s += bench_way_run(way->run);
    }
    check_bits(trial);
    return once_s;
}

static void time_ways(trial_t *trial, int count)
{
    for (int r = 0; r < count; r++) {
        for (int i = 0; i < trial->n_ways; i++) {
            (void)bench_way_run(trial->ways[i].run);
            trial->ways[i].seconds[r] = bench_way_run(trial->ways[i].run);
        }
    }
    for (int i = 0; i < trial->n_ways; i++) {
        trial->ways[i].timing = iso_timing_of(trial->ways[i].seconds, count);
    }
}

/* Of a message, over what the machine's figures say; 1 without measured ones,
 * which say nothing. The same on all workers. */
static double link_slowness(void)
{
    return machine_path == NULL
               ? 1.0
               : bench_link_s(MPI_COMM_WORLD) /
                     iso_link_seconds(iso_machine_link(machine, 0, 1),
                                      BENCH_LINK_BYTES);
}

static bool is_as_calibrated(trial_t *trial)
{
    trial->slowness = link_slowness();
    return trial->slowness < most_slowness &&
           trial->slowness > 1.0 / most_slowness;
}

static void measure(trial_t *trial)
{
    const double once_s = prepare(trial);
    int count = repeats;

    /* All workers have the same times. */
    if (!is_quick && once_s * repeats * 2.0 < least_s) {
        count = (int)fmin(least_s / once_s / 2.0, REPEATS_MOST);
    }
    for (int i = 0; i < MOST_TRIES && !trial->counts; i++) {
        const bool begins = is_as_calibrated(trial);

        time_ways(trial, count);
        trial->counts = begins && is_as_calibrated(trial);
    }
}

/* ---- Results ---- */

static struct {
    int n_ops;
    double chosen[BENCH_OPS_MOST];   /* regrets */
    double arranged[BENCH_OPS_MOST]; /* regrets */
    double errors[BENCH_OPS_MOST];   /* sizes, of what the chooser took */
    int n_ways;
    double all_errors[BENCH_OPS_MOST * WAYS_MOST]; /* sizes, of all ways */
} results;

static double error_of(const way_t *way)
{
    return way->predicted_s / way->timing.median_s - 1.0;
}

static const way_t *best_of(const trial_t *trial)
{
    const way_t *best = &trial->ways[0];

    for (int i = 1; i < trial->n_ways; i++) {
        if (trial->ways[i].timing.median_s < best->timing.median_s) {
            best = &trial->ways[i];
        }
    }
    return best;
}

static void print_ways(const trial_t *trial)
{
    for (int i = 0; i < trial->n_ways; i++) {
        const way_t *way = &trial->ways[i];

        (void)printf("    %-24s %9.3f ms predicted %9.3f ms measured (spread "
                     "%4.1f %%)  error %6.1f %%\n",
                     way->text, way->predicted_s * 1e3,
                     way->timing.median_s * 1e3, 100.0 * way->timing.spread,
                     100.0 * error_of(way));
    }
}

static void keep(const trial_t *trial)
{
    if (!trial->counts) {
        (void)printf("%-30s not counted: messages take %.1f times what they "
                     "did when the machine was calibrated\n",
                     trial->op->what, trial->slowness);
        return;
    }

    const way_t *best = best_of(trial);
    const way_t *chosen = &trial->ways[trial->chosen];
    const way_t *arranged = &trial->ways[trial->arranged];
    const double regret = chosen->timing.median_s / best->timing.median_s - 1.0;
    const double other =
        arranged->timing.median_s / best->timing.median_s - 1.0;

    (void)printf("%-30s %-15s %-15s %6.1f %% %9.3f %9.3f %6.1f %%   %-22s "
                 "%6.1f %%\n",
                 trial->op->what, chosen->text, best->text, 100.0 * regret,
                 chosen->predicted_s * 1e3, chosen->timing.median_s * 1e3,
                 100.0 * error_of(chosen), arranged->text, 100.0 * other);
    if (prints_all) {
        print_ways(trial);
    }
    results.chosen[results.n_ops] = regret;
    results.arranged[results.n_ops] = other;
    results.errors[results.n_ops] = fabs(error_of(chosen));
    results.n_ops++;
    for (int i = 0; i < trial->n_ways; i++) {
        results.all_errors[results.n_ways] = fabs(error_of(&trial->ways[i]));
        results.n_ways++;
    }
}

static void run_op(const bench_op_t *op)
{
    static trial_t all;
    trial_t *trial = &all;

    *trial = (trial_t){.op = op};
    need(bench_op_graph(op, &trial->stage, &trial->node));
    ask_chooser(trial);
    ask_arranger(trial);
    measure(trial);
    if (worker == 0) {
        keep(trial);
        (void)fflush(stdout);
    }
    for (int i = 0; i < trial->n_ways; i++) {
        bench_way_destroy(&trial->ways[i].run);
        iso_stage_cut_destroy(&trial->ways[i].cut);
    }
    iso_graph_destroy(&trial->stage);
}

static void sum_up(void)
{
    const int n = results.n_ops;

    if (n == 0) {
        (void)printf("no op counts: calibrate again\n");
        return;
    }

    const double chosen = iso_timing_of(results.chosen, n).median_s;
    const double arranged = iso_timing_of(results.arranged, n).median_s;
    const double error = iso_timing_of(results.errors, n).median_s;
    const double all =
        iso_timing_of(results.all_errors, results.n_ways).median_s;

    (void)printf("chooser: %d ops, regret median %.1f %%, worst %.1f %%\n", n,
                 100.0 * chosen, 100.0 * results.chosen[n - 1]);
    (void)printf("arranger: %d ops, regret median %.1f %%, worst %.1f %%\n", n,
                 100.0 * arranged, 100.0 * results.arranged[n - 1]);
    (void)printf("predictions: |error| median %.1f %% of what was chosen, "
                 "%.1f %% of all %d ways\n",
                 100.0 * error, 100.0 * all, results.n_ways);
}

static void run_all(void)
{
    int n_ops = 0;
    const bench_op_t *ops = bench_ops(is_quick, &n_ops);

    for (int i = 0; i < n_ops; i++) {
        run_op(&ops[i]);
    }
    if (worker == 0) {
        sum_up();
    }
}

static void open_machine(void)
{
    need(machine_path != NULL ? iso_machine_read(machine_path, &machine)
                              : iso_machine_default(n_workers, 0, 0, &machine));
    need(iso_machine_world(machine) >= n_workers
             ? ISO_OK
             : iso_fail(ISO_INVAL, "%s describes %d ranks, this job has %d",
                        machine_path, iso_machine_world(machine), n_workers));
    if (worker == 0) {
        const iso_cost_class_t figures =
            iso_machine_rank(machine, 0)->cost_class;

        bench_print_machine();
        (void)printf(
            "%d workers, %s figures%s\n%-30s %-15s %-15s %8s %9s %9s %8s   "
            "%-22s %8s\n",
            n_workers, iso_cost_class_string(figures),
            machine_path == NULL ? ": give those of this machine as --machine"
                                 : "",
            "op", "chosen", "fastest", "regret", "predicted", "measured",
            "error", "arranged", "regret");
    }
    ISO_CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char **argv)
{
    const bench_option_t options[] = {{"--machine", &machine_path, NULL, NULL},
                                      {"--repeats", NULL, &repeats, NULL},
                                      {"--all", NULL, NULL, &prints_all},
                                      {"--quick", NULL, NULL, &is_quick}};

    ISO_CHECK_MPI(MPI_Init(&argc, &argv));
    bench_parse(argc, argv, 4, options);
    repeats = is_quick ? 1 : repeats > REPEATS_MOST ? REPEATS_MOST : repeats;
    n_workers = iso_par_size(MPI_COMM_WORLD);
    worker = iso_par_rank(MPI_COMM_WORLD);
    if (n_workers < 2 || n_workers > WORKERS_MOST) {
        iso_par_abort(__FILE__, __LINE__, "run it on 2 to 64 ranks");
    }
    need(iso_device_open("cpu", 1, &device));
    open_machine();
    run_all();
    iso_machine_destroy(&machine);
    iso_device_close(&device);
    ISO_CHECK_MPI(MPI_Finalize());
    return EXIT_SUCCESS;
}
