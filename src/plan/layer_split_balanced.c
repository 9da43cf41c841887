/*
 * The balanced split by dynamic programming, in model order: stage s of W
 * runs on rank W-1-s.
 *
 * Two passes over the same table, row s of which is about stages s .. W-1
 * and column l about the layers from l on. The first finds the smallest
 * possible time of the slowest stage; the second, among the splits whose
 * stages are all within it, the most even one: the least sum of squared
 * times. (Both at once would be wrong: the best pair of a suffix need not be
 * part of the best whole.) Walking the table from the front then takes as
 * many layers for each stage as still give that sum.
 */
#include "isotome/error.h"

#include "base/mem.h"
#include "base/text.h"
#include "plan/layer_split_impl.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

/* What both passes look at. */
typedef struct problem {
    const iso_balance_t *balance;
    bool memory_counts;
    double quantum_s; /* times are whole multiples of this; see rounded() */
    double *seconds;  /* (n_layers + 1) sum of the layers before */
    size_t *bytes;    /* (n_layers + 1) */
    double *table;    /* (world + 1, n_layers + 1) */
} problem_t;

static int stages_of(const problem_t *problem)
{
    return problem->balance->world;
}

static double *row_of(const problem_t *problem, int stage)
{
    return problem->table + (int64_t)stage * (problem->balance->n_layers + 1);
}

static const iso_rank_power_t *rank_of(const problem_t *problem, int stage)
{
    return &problem->balance->ranks[stages_of(problem) - 1 - stage];
}

/*
 * A time as a multiple of the quantum, about 2^-26 of all times together: so
 * sums are exact and squares nearly so, and stages of equal layers take
 * equally long wherever they stand.
 */
static double rounded(const problem_t *problem, double seconds)
{
    return nearbyint(seconds / problem->quantum_s) * problem->quantum_s;
}

/* -- one stage -- */

/* Seconds on a rank of speed 1, and bytes, of layers [begin, end). */
typedef struct load {
    double seconds;
    size_t bytes;
} load_t;

static load_t load_of(const problem_t *problem, int stage, int64_t begin,
                      int64_t end)
{
    const iso_balance_t *balance = problem->balance;
    load_t load = {problem->seconds[end] - problem->seconds[begin],
                   problem->bytes[end] - problem->bytes[begin] +
                       balance->reserve_bytes};

    if (stage == 0 && balance->first != NULL) {
        load.seconds += rounded(problem, balance->first->seconds);
        load.bytes += balance->first->bytes;
    }
    if (stage == stages_of(problem) - 1 && balance->last != NULL) {
        load.seconds += rounded(problem, balance->last->seconds);
        load.bytes += balance->last->bytes;
    }
    return load;
}

static double stage_seconds(const problem_t *problem, int stage, int64_t end,
                            double compute_s)
{
    bool sends = stage < stages_of(problem) - 1;

    return compute_s +
           (sends
                ? rounded(problem, problem->balance->layers[end - 1].boundary_s)
                : 0.0);
}

/* -- the two passes -- */

/* What is least over the ends of a stage's range. */
typedef struct choice {
    double value; /* INFINITY: no end is possible */
    int64_t end;
} choice_t;

typedef enum pass {
    PASS_SLOWEST, /* least of the largest stage time */
    PASS_EVEN,    /* least sum of squared stage times, none over the limit */
} pass_t;

/*
 * Best end of the stage that begins at layer begin, the later end on a tie.
 * A longer range only computes longer and takes more memory, so the search
 * ends where either is too much.
 */
static choice_t choose_end(const problem_t *problem, pass_t pass,
                           double limit_s, int stage, int64_t begin)
{
    const double *after = row_of(problem, stage + 1);
    const iso_rank_power_t *rank = rank_of(problem, stage);
    int64_t stages_after = stages_of(problem) - 1 - stage;
    int64_t last_end = problem->balance->n_layers - stages_after;
    int64_t end = stages_after == 0 ? last_end : begin + 1;
    choice_t best = {INFINITY, -1};

    for (; end <= last_end; end++) {
        load_t load = load_of(problem, stage, begin, end);
        double compute_s = load.seconds / rank->speed;
        double longest_s = pass == PASS_SLOWEST ? best.value : limit_s;

        if ((problem->memory_counts && load.bytes > rank->memory_bytes) ||
            compute_s > longest_s) {
            break;
        }
        double stage_s = stage_seconds(problem, stage, end, compute_s);
        double value = pass == PASS_SLOWEST ? fmax(stage_s, after[end])
                                            : stage_s * stage_s + after[end];
        bool allowed = pass == PASS_SLOWEST || stage_s <= limit_s;
        if (allowed && value <= best.value && isfinite(value)) {
            best = (choice_t){value, end};
        }
    }
    return best;
}

/* Fill the table from the last stage to the first; returns the value for
 * the whole model, INFINITY when nothing is possible. */
static double fill_table(const problem_t *problem, pass_t pass, double limit_s)
{
    int world = stages_of(problem);
    int64_t n_layers = problem->balance->n_layers;
    double *row = row_of(problem, world);

    for (int64_t begin = 0; begin <= n_layers; begin++) {
        row[begin] = begin == n_layers ? 0.0 : INFINITY;
    }
    for (int stage = world - 1; stage >= 0; stage--) {
        row = row_of(problem, stage);
        for (int64_t begin = 0; begin <= n_layers; begin++) {
            bool reachable = begin >= stage && (stage > 0 || begin == 0);
            row[begin] =
                reachable && begin < n_layers
                    ? choose_end(problem, pass, limit_s, stage, begin).value
                    : INFINITY;
        }
    }
    return row_of(problem, 0)[0];
}

static void read_table(const problem_t *problem, double limit_s,
                       iso_layer_split_t *split)
{
    int world = stages_of(problem);
    int64_t begin = 0;

    for (int stage = 0; stage < world; stage++) {
        int64_t end = choose_end(problem, PASS_EVEN, limit_s, stage, begin).end;
        split->counts[world - 1 - stage] = end - begin;
        begin = end;
    }
}

/* -- does not fit -- */

/* Names the rank that is most over its limit in the split that memory does
 * not constrain. */
static iso_status_t fail_to_fit(problem_t *problem, iso_layer_split_t *split)
{
    char need_text[ISO_TEXT_NUMBER_BYTES];
    char limit_text[ISO_TEXT_NUMBER_BYTES];
    int world = stages_of(problem);
    int worst = 0;
    size_t worst_need = 0;
    double worst_ratio = -1.0;
    int64_t begin = 0;

    problem->memory_counts = false;
    double slowest_s = fill_table(problem, PASS_SLOWEST, INFINITY);
    (void)fill_table(problem, PASS_EVEN, slowest_s);
    read_table(problem, slowest_s, split);
    for (int rank = world - 1; rank >= 0; rank--) {
        int64_t end = begin + split->counts[rank];
        size_t need = load_of(problem, world - 1 - rank, begin, end).bytes;
        size_t limit = problem->balance->ranks[rank].memory_bytes;
        double ratio = (double)need / ((double)limit + 1.0);
        if (ratio > worst_ratio) {
            worst = rank;
            worst_need = need;
            worst_ratio = ratio;
        }
        begin = end;
    }
    size_t limit = problem->balance->ranks[worst].memory_bytes;
    return iso_fail(ISO_INVAL,
                    "the model does not fit on %d ranks: rank %d would need "
                    "%s (%zu B) but has %s (%zu B); use more ranks or more "
                    "memory for each",
                    world, worst, iso_text_bytes(worst_need, need_text),
                    worst_need, iso_text_bytes(limit, limit_text), limit);
}

/* -- checks and sums -- */

static iso_status_t check_cost(const iso_layer_cost_t *cost, const char *what,
                               int64_t index)
{
    if (!(cost->seconds >= 0.0 && cost->seconds < INFINITY) ||
        !(cost->boundary_s >= 0.0 && cost->boundary_s < INFINITY)) {
        return iso_fail(ISO_INVAL,
                        "%s %lld costs %g s and %g s to send, expected finite "
                        "numbers, at least 0",
                        what, (long long)index, cost->seconds,
                        cost->boundary_s);
    }
    return ISO_OK;
}

static iso_status_t check_balance(const iso_balance_t *balance)
{
    ISO_TRY(iso__layer_split_possible(balance->n_layers, balance->world));
    for (int rank = 0; rank < balance->world; rank++) {
        double speed = balance->ranks[rank].speed;
        if (!(speed > 0.0 && speed < INFINITY)) {
            return iso_fail(ISO_INVAL,
                            "rank %d has speed %g, expected a finite number "
                            "over 0",
                            rank, speed);
        }
    }
    for (int64_t i = 0; i < balance->n_layers; i++) {
        ISO_TRY(check_cost(&balance->layers[i], "layer", i));
    }
    if (balance->first != NULL) {
        ISO_TRY(check_cost(balance->first, "extra of stage", 0));
    }
    if (balance->last != NULL) {
        ISO_TRY(
            check_cost(balance->last, "extra of stage", balance->world - 1));
    }
    return ISO_OK;
}

/* No sum of times that the passes make may reach infinity, which stands for
 * "not possible" there. */
static iso_status_t check_total(problem_t *problem)
{
    const iso_balance_t *balance = problem->balance;
    double seconds = 0.0;
    double boundaries_s = 0.0;
    double least_speed = INFINITY;

    for (int64_t i = 0; i < balance->n_layers; i++) {
        seconds += balance->layers[i].seconds;
        boundaries_s += balance->layers[i].boundary_s;
    }
    seconds += balance->first != NULL ? balance->first->seconds : 0.0;
    seconds += balance->last != NULL ? balance->last->seconds : 0.0;
    for (int rank = 0; rank < balance->world; rank++) {
        least_speed = fmin(least_speed, balance->ranks[rank].speed);
    }
    double most_s = seconds / least_speed + boundaries_s;

    if (!isfinite(most_s * most_s * balance->world)) {
        return iso_fail(ISO_INVAL,
                        "the layers cost %g s at speed %g, more than can be "
                        "counted",
                        seconds, least_speed);
    }
    double all_s = seconds + boundaries_s;

    problem->quantum_s =
        all_s > 0.0 ? fmax(ldexp(1.0, ilogb(all_s) - 25), DBL_MIN) : 1.0;
    return ISO_OK;
}

static iso_status_t add_bytes(size_t *sum, size_t bytes)
{
    if (bytes > SIZE_MAX - *sum) {
        return iso_fail(ISO_INVAL, "the layers have more than %zu bytes",
                        SIZE_MAX);
    }
    *sum += bytes;
    return ISO_OK;
}

/* Prefix sums; the extras are added to see that no later sum overflows. */
static iso_status_t sum_layers(problem_t *problem)
{
    const iso_balance_t *balance = problem->balance;
    double seconds = 0.0;
    size_t bytes = 0;

    for (int64_t i = 0; i < balance->n_layers; i++) {
        problem->seconds[i] = seconds;
        problem->bytes[i] = bytes;
        seconds += rounded(problem, balance->layers[i].seconds);
        ISO_TRY(add_bytes(&bytes, balance->layers[i].bytes));
    }
    problem->seconds[balance->n_layers] = seconds;
    problem->bytes[balance->n_layers] = bytes;
    ISO_TRY(add_bytes(&bytes, balance->reserve_bytes));
    if (balance->first != NULL) {
        ISO_TRY(add_bytes(&bytes, balance->first->bytes));
    }
    if (balance->last != NULL) {
        ISO_TRY(add_bytes(&bytes, balance->last->bytes));
    }
    return ISO_OK;
}

static iso_status_t allocate_problem(problem_t *problem)
{
    size_t columns = (size_t)problem->balance->n_layers + 1;
    size_t rows = (size_t)stages_of(problem) + 1;

    problem->seconds = iso_alloc_zeroed(columns, sizeof *problem->seconds);
    problem->bytes = iso_alloc_zeroed(columns, sizeof *problem->bytes);
    if (columns > SIZE_MAX / sizeof *problem->table / rows) {
        return iso_fail(ISO_NOMEM, "out of memory: a table of %zu by %zu", rows,
                        columns);
    }
    problem->table = iso_alloc_zeroed(rows * columns, sizeof *problem->table);
    if (problem->seconds == NULL || problem->bytes == NULL ||
        problem->table == NULL) {
        return ISO_NOMEM;
    }
    return ISO_OK;
}

static iso_status_t solve(problem_t *problem, iso_layer_split_t *split,
                          double *slowest_s_out)
{
    double slowest_s = fill_table(problem, PASS_SLOWEST, INFINITY);

    if (!isfinite(slowest_s)) {
        return fail_to_fit(problem, split);
    }
    (void)fill_table(problem, PASS_EVEN, slowest_s);
    read_table(problem, slowest_s, split);
    if (slowest_s_out != NULL) {
        *slowest_s_out = slowest_s;
    }
    return ISO_OK;
}

iso_status_t iso_layer_split_balanced(const iso_balance_t *balance,
                                      iso_layer_split_t *split_out,
                                      double *slowest_s_out)
{
    problem_t problem = {.balance = balance, .memory_counts = true};
    iso_status_t status;

    *split_out = (iso_layer_split_t){0};
    ISO_TRY(check_balance(balance));
    ISO_TRY(check_total(&problem));
    status = allocate_problem(&problem);
    if (status == ISO_OK) {
        status = sum_layers(&problem);
    }
    if (status == ISO_OK) {
        status = iso__layer_split_alloc(balance->world, split_out);
    }
    if (status == ISO_OK) {
        status = solve(&problem, split_out, slowest_s_out);
    }
    if (status != ISO_OK) {
        iso_layer_split_free(split_out);
    }
    iso_free(problem.seconds);
    iso_free(problem.bytes);
    iso_free(problem.table);
    return status;
}
