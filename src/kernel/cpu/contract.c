#include "kernel/cpu/contract.h"

#include "base/log.h"

#include <omp.h>
#include <stdbool.h>
#include <string.h>

/*
 * A task is a region of the result. It walks the blocks of the reduction;
 * for each block it packs the rows once (second-level cache), then one wide
 * panel after the other (first-level cache), and multiplies them tile by
 * tile. The tree runs in each tile: a tile of partial sums is kept for each
 * level of the binary counter, all tiles of the region beside one another.
 */
typedef struct task {
    const iso_cpu_t *cpu;
    const iso_contraction_t *c;
    const iso_micro_t *micro;
    iso_space_t *space;
    int64_t first_row;
    int64_t rows;
    int64_t first_column;
    int64_t columns;
    int64_t narrow_panels;
    int64_t wide_panels;
    size_t window_bytes; /* of one panel's table */
    const float *narrow; /* of the matrix of the batch at hand */
    const float *wide;
    const float *addend;
    float *out;
} task_t;

/* A dim of the result cut into equal regions. */
typedef struct cut {
    int64_t each; /* in a region, but for the last */
    int64_t regions;
} cut_t;

/* How the result is cut into tasks. */
typedef struct tasks {
    cut_t rows;    /* in narrow panels */
    cut_t columns; /* in wide panels */
    cut_t batch;
} tasks_t;

_Static_assert((int)ISO_SPACE_TILE >= (int)ISO_TILE_MOST, "tile fits");
_Static_assert(ISO_SPACE_WIDE >= ISO_WIDE_MOST * ISO_BLOCK_MOST, "panel fits");

static int64_t min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* ---- Cutting ---- */

/* Levels of the binary counter that are kept: all but the last block's. */
static int levels_of(int64_t blocks)
{
    int levels = 0;

    for (int64_t n = blocks - 1; n > 0; n /= 2) {
        levels++;
    }
    return levels;
}

static int vectors_of(const task_t *task)
{
    return (int)task->micro->wide / task->cpu->isa->lanes;
}

/* Most wide panels of a region with so many narrow panels. */
static int64_t wide_panels_most(const task_t *task, int64_t narrow_panels)
{
    const iso_contraction_t *c = task->c;
    const iso_micro_t *micro = task->micro;
    const int levels = levels_of(c->blocks.count);
    int64_t most = ceil_div(c->columns, micro->wide);

    if (micro->takes_step && c->geometry == NULL && c->wide.k_step == 1) {
        /* With few rows reading the wide operand is all the work: read each
         * column from end to end. */
        return 1;
    }
    if (levels > 0) {
        const int64_t column =
            narrow_panels * micro->narrow * micro->wide * levels;

        most = min64(most, ISO_SPACE_PARTIALS / column);
    }
    if (c->geometry != NULL) {
        most = min64(most,
                     (int64_t)(ISO_SPACE_WINDOWS_BYTES / task->window_bytes));
    }
    ISO_ASSERT(most > 0);
    return most;
}

/* Regions of at most `most` out of n, as equal as may be. */
static cut_t cut_of(int64_t n, int64_t most)
{
    const int64_t each = ceil_div(n, ceil_div(n, most));

    return (cut_t){.each = each, .regions = ceil_div(n, each)};
}

static int64_t count_of(const tasks_t *tasks)
{
    return tasks->rows.regions * tasks->columns.regions * tasks->batch.regions;
}

/* Halve regions while there are fewer tasks than wanted. */
static void cut_more(tasks_t *tasks, int64_t wanted, cut_t *cut, int64_t n,
                     int64_t least)
{
    while (count_of(tasks) < wanted && cut->each > least) {
        *cut = cut_of(n, ceil_div(cut->each, 2));
    }
}

static tasks_t tasks_of(const task_t *task)
{
    const iso_contraction_t *c = task->c;
    const iso_micro_t *micro = task->micro;
    const int threads = task->cpu->threads;
    const int64_t narrow_panels = ceil_div(c->rows, micro->narrow);
    const int64_t wide_panels = ceil_div(c->columns, micro->wide);
    const int64_t wanted = threads > 1 ? 4 * (int64_t)threads : 1;
    int64_t batch = 1;
    tasks_t tasks;

    for (int i = 0; i < c->batch.rank; i++) {
        batch *= c->batch.dims[i];
    }
    tasks.rows = cut_of(narrow_panels, ISO_SPACE_ROWS / micro->narrow);
    tasks.columns =
        cut_of(wide_panels, wide_panels_most(task, tasks.rows.each));
    tasks.batch = cut_of(batch, batch);
    cut_more(&tasks, wanted, &tasks.batch, batch, 1);
    cut_more(&tasks, wanted, &tasks.columns, wide_panels, 4);
    cut_more(&tasks, wanted, &tasks.rows, narrow_panels, 2);
    return tasks;
}

/* ---- Packing ---- */

static void pack_narrow_panel(const task_t *task, int64_t begin, int64_t end,
                              int64_t row, float *panel)
{
    const iso_operand_t *operand = &task->c->narrow;
    const int64_t width = task->micro->narrow;
    const int64_t taps = task->c->blocks.taps;
    const int64_t count = min64(width, task->rows - row);
    const float *from =
        task->narrow + (task->first_row + row) * operand->lane_step;
    const iso_isa_t *isa = task->cpu->isa;

    if (operand->channel_step == taps * operand->k_step) {
        isa->pack(from + begin * operand->k_step, operand->lane_step,
                  operand->k_step, count, end - begin, width, panel);
        return;
    }
    while (begin < end) {
        const int64_t tap = begin % taps;
        const int64_t n = min64(taps - tap, end - begin);

        isa->pack(from + begin / taps * operand->channel_step +
                      tap * operand->k_step,
                  operand->lane_step, operand->k_step, count, n, width, panel);
        panel += n * width;
        begin += n;
    }
}

static void pack_narrow(const task_t *task, int64_t begin, int64_t end)
{
    const int64_t width = task->micro->narrow;

    for (int64_t i = 0; i < task->narrow_panels; i++) {
        pack_narrow_panel(task, begin, end, i * width,
                          task->space->narrow + i * width * (end - begin));
    }
}

/* A wide panel and the elements between its rows. */
typedef struct wide_panel {
    const float *data;
    int64_t step;
} wide_panel_t;

static int64_t panel_columns(const task_t *task, int64_t panel)
{
    return min64(task->micro->wide, task->columns - panel * task->micro->wide);
}

static wide_panel_t plain_panel(const task_t *task, int64_t begin, int64_t end,
                                int64_t panel)
{
    const iso_operand_t *operand = &task->c->wide;
    const int64_t width = task->micro->wide;
    const int64_t count = panel_columns(task, panel);
    const float *from =
        task->wide + (task->first_column + panel * width) * operand->lane_step +
        begin * operand->k_step;

    if (task->micro->takes_step && operand->lane_step == 1 && count == width) {
        return (wide_panel_t){from, operand->k_step};
    }
    task->cpu->isa->pack(from, operand->lane_step, operand->k_step, count,
                         end - begin, width, task->space->wide);
    return (wide_panel_t){task->space->wide, width};
}

/* ---- Windows ---- */

static iso_window_panel_t *window_of(const task_t *task, int64_t panel)
{
    unsigned char *space = task->space->windows;

    return (iso_window_panel_t *)(void *)(space +
                                          (size_t)panel * task->window_bytes);
}

static void fill_windows(const task_t *task, int64_t first_tap, int64_t n_taps)
{
    const iso_geometry_t *geometry = task->c->geometry;
    int64_t *tap_from = task->space->tap_from;

    iso__window_taps(geometry, first_tap, (int)n_taps, tap_from);
    for (int64_t j = 0; j < task->wide_panels; j++) {
        iso__window_fill(geometry, first_tap, (int)n_taps, tap_from,
                         window_of(task, j));
    }
}

/* Tables of all panels; of their taps too, when all taps are in a block. */
static void begin_windows(const task_t *task)
{
    const iso_blocks_t *blocks = &task->c->blocks;

    for (int64_t j = 0; j < task->wide_panels; j++) {
        (void)iso__window_begin(task->c->geometry, task->cpu->isa->lanes,
                                vectors_of(task),
                                task->first_column + j * task->micro->wide,
                                panel_columns(task, j), window_of(task, j));
    }
    if (blocks->channels > 0) {
        fill_windows(task, 0, blocks->taps);
    }
}

static wide_panel_t window_panel(const task_t *task, int64_t begin, int64_t end,
                                 int64_t panel)
{
    const iso_window_panel_t *window = window_of(task, panel);
    const int64_t channel = begin / task->c->blocks.taps;

    task->cpu->isa->pack_window(window, task->wide + channel * window->plane,
                                (end - begin) / window->n_taps,
                                task->space->wide);
    return (wide_panel_t){task->space->wide, task->micro->wide};
}

/* ---- Finishing ---- */

/* Columns [column, column + count) of the result lie in one image. */
static void finish_columns(const task_t *task, const float *tile, int64_t rows,
                           int64_t column, int64_t count)
{
    const iso_contraction_t *c = task->c;
    const int64_t image = column / c->image_columns;
    const int64_t place = column % c->image_columns;
    iso_finish_tile_t part = {
        .rows = rows,
        .count = count,
        .sum = tile,
        .sum_row = task->micro->wide,
        .addend = task->addend,
        .addend_row = c->addend_row,
        .addend_step = c->addend_column,
        .out = task->out + image * c->out_image + place * c->out_column,
        .out_row = c->out_row,
        .out_step = c->out_column,
    };

    if (part.addend != NULL) {
        part.addend += place * c->addend_column;
    }
    task->cpu->isa->finish(&c->finish, &part);
}

static void finish_tile(const task_t *task, int64_t i, int64_t j,
                        const float *tile)
{
    const iso_contraction_t *c = task->c;
    const int64_t row = i * task->micro->narrow;
    const int64_t rows = min64(task->micro->narrow, task->rows - row);
    const int64_t columns = panel_columns(task, j);
    const int64_t first = task->first_column + j * task->micro->wide;
    task_t at = *task;

    at.out += (task->first_row + row) * c->out_row;
    if (at.addend != NULL) {
        at.addend += (task->first_row + row) * c->addend_row;
    }
    for (int64_t done = 0; done < columns;) {
        const int64_t column = first + done;
        const int64_t left = c->image_columns - column % c->image_columns;
        const int64_t count = min64(left, columns - done);

        finish_columns(&at, tile + done, rows, column, count);
        done += count;
    }
}

/* ---- Tiles ---- */

static int64_t tile_elements(const task_t *task)
{
    return task->micro->narrow * task->micro->wide;
}

/* Where the partial sum of a level of the counter is kept. */
static float *partial_of(const task_t *task, int level, int64_t i, int64_t j)
{
    const int64_t index =
        (level * task->wide_panels + j) * task->narrow_panels + i;

    return task->space->partials + index * tile_elements(task);
}

/*
 * Push a tile of block sums onto the counter. Pushed block number `block`
 * carries through the levels that are full below the first empty one; the
 * last block takes up all that is left.
 */
static void push_tile(const task_t *task, int64_t block, int64_t i, int64_t j)
{
    const bool is_last = block + 1 == task->c->blocks.count;
    const float *partials[ISO_TREE_DEPTH];
    float *tile = task->space->tile;
    int n = 0;
    int level = 0;

    for (int64_t full = block; full > 0; full /= 2, level++) {
        if (full % 2 == 1) {
            partials[n++] = partial_of(task, level, i, j);
        } else if (!is_last) {
            break;
        }
    }
    if (!is_last) {
        task->cpu->isa->fold(tile, tile_elements(task), n, partials,
                             partial_of(task, level, i, j));
        return;
    }
    if (n > 0) {
        task->cpu->isa->fold(tile, tile_elements(task), n, partials, tile);
    }
    finish_tile(task, i, j, tile);
}

/* A tile's part of a block: the k products of two panels. */
static void run_tile(const task_t *task, int64_t block, int64_t k, int64_t i,
                     int64_t j, const wide_panel_t *wide)
{
    const float *narrow = task->space->narrow + i * task->micro->narrow * k;

    /* An even block that is not the last one waits for its partner. */
    const bool waits = block % 2 == 0 && block + 1 < task->c->blocks.count;
    float *tile = waits ? partial_of(task, 0, i, j) : task->space->tile;

    iso__micro_run(task->micro, k, narrow, wide->data, wide->step, tile);
    if (!waits) {
        push_tile(task, block, i, j);
    }
}

static void run_block(const task_t *task, int64_t block)
{
    const iso_blocks_t *blocks = &task->c->blocks;
    const int64_t begin = iso_blocks_begin(blocks, block);
    const int64_t end = iso_blocks_end(blocks, block);

    pack_narrow(task, begin, end);
    if (task->c->geometry != NULL && blocks->channels == 0) {
        fill_windows(task, begin % blocks->taps, end - begin);
    }
    for (int64_t j = 0; j < task->wide_panels; j++) {
        const wide_panel_t wide = task->c->geometry != NULL
                                      ? window_panel(task, begin, end, j)
                                      : plain_panel(task, begin, end, j);

        for (int64_t i = 0; i < task->narrow_panels; i++) {
            run_tile(task, block, end - begin, i, j, &wide);
        }
    }
}

/* A reduction of nothing is +0. */
static void run_empty(const task_t *task)
{
    memset(task->space->tile, 0, sizeof task->space->tile);
    for (int64_t j = 0; j < task->wide_panels; j++) {
        for (int64_t i = 0; i < task->narrow_panels; i++) {
            finish_tile(task, i, j, task->space->tile);
        }
    }
}

/* ---- Tasks ---- */

/* Set the task to matrix number index of the batch. */
static void go_to_matrix(task_t *task, int64_t index)
{
    const iso_contraction_t *c = task->c;

    task->narrow = c->narrow.data;
    task->wide = c->wide.data;
    task->addend = c->addend;
    task->out = c->out;
    for (int i = c->batch.rank - 1; i >= 0; i--) {
        const int64_t at = index % c->batch.dims[i];

        index /= c->batch.dims[i];
        task->narrow += at * c->batch.narrow[i];
        task->wide += at * c->batch.wide[i];
        task->out += at * c->batch.out[i];
        if (task->addend != NULL) {
            task->addend += at * c->batch.addend[i];
        }
    }
}

static void run_task(task_t *task, const tasks_t *tasks, int64_t number)
{
    const iso_contraction_t *c = task->c;
    const iso_micro_t *micro = task->micro;
    const int64_t matrix = number % tasks->batch.regions * tasks->batch.each;
    const int64_t region = number / tasks->batch.regions;
    int64_t batch = 1;

    for (int i = 0; i < c->batch.rank; i++) {
        batch *= c->batch.dims[i];
    }
    task->first_row =
        region % tasks->rows.regions * tasks->rows.each * micro->narrow;
    task->first_column =
        region / tasks->rows.regions * tasks->columns.each * micro->wide;
    task->rows =
        min64(tasks->rows.each * micro->narrow, c->rows - task->first_row);
    task->columns = min64(tasks->columns.each * micro->wide,
                          c->columns - task->first_column);
    task->narrow_panels = ceil_div(task->rows, micro->narrow);
    task->wide_panels = ceil_div(task->columns, micro->wide);
    if (c->geometry != NULL) {
        begin_windows(task);
    }
    for (int64_t m = matrix; m < min64(batch, matrix + tasks->batch.each);
         m++) {
        go_to_matrix(task, m);
        for (int64_t b = 0; b < c->blocks.count; b++) {
            run_block(task, b);
        }
        if (c->blocks.count == 0) {
            run_empty(task);
        }
    }
}

static const iso_micro_t *micro_of(const iso_cpu_t *cpu, int64_t rows)
{
    static const int64_t most_rows[] = {1, 2, 4};

    for (int i = 0; i < 3; i++) {
        if (rows <= most_rows[i]) {
            return &cpu->few[i];
        }
    }
    return &cpu->micro;
}

void iso__contract(const iso_cpu_t *cpu, const iso_contraction_t *c)
{
    task_t begin = {
        .cpu = cpu,
        .c = c,
        .micro = micro_of(cpu, c->rows),
    };

    for (int i = 0; i < c->batch.rank; i++) {
        if (c->batch.dims[i] == 0) {
            return;
        }
    }
    if (c->rows == 0 || c->columns == 0) {
        return;
    }

    ISO_ASSERT(c->geometry != NULL ||
               c->wide.channel_step == c->blocks.taps * c->wide.k_step);
    if (c->geometry != NULL) {
        begin.window_bytes = iso__window_panel_bytes(
            c->geometry, cpu->isa->lanes, vectors_of(&begin));
    }

    const tasks_t tasks = tasks_of(&begin);
    const int64_t count = count_of(&tasks);

#pragma omp parallel for schedule(dynamic, 1) num_threads(cpu->threads)
    for (int64_t t = 0; t < count; t++) {
        task_t task = begin;

        task.space = &cpu->space[omp_get_thread_num()];
        run_task(&task, &tasks, t);
    }
}
