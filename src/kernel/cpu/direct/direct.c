#include "kernel/cpu/direct/direct.h"

#include "base/log.h"
#include "kernel/cpu/direct/products.h"
#include "kernel/cpu/direct/strip.h"
#include "kernel/format.h"

#include <omp.h>
#include <string.h>

enum {
    /* Elements that a region reads: they stay in the second-level cache,
     * beside a panel of weights, while lane after lane meets them. */
    REGION_ELEMENTS = 96 * 1024,
    PARTIALS = 64 * 1024, /* elements, the strips lie behind them */
    /* Rows of a panel that all tiles of a region meet before the next ones
     * are read: they stay in the second-level cache. */
    PART_ROWS = 1024,
    PART_TILES = 4, /* tiles of a region that make parts worth while */
    TASKS_OF_THREAD = 4,
    TILE_ELEMENTS = ISO_TILE_PIXELS * 32, /* partial sums of a level */
    /* What a chain follows at once: it is still near. */
    BLOCK_TILES = ISO_DIRECT_BLOCK / (ISO_TILE_PIXELS * ISO_TILE_LANES),
    ROWS_MEET = 256, /* rows of such lengths meet in few sets of the cache */
};

_Static_assert((int)PARTIALS >= (int)ISO_TREE_DEPTH * (int)TILE_ELEMENTS,
               "partial sums fit");
_Static_assert((int)ISO_DIRECT_SPACE == (int)PARTIALS + (int)ISO_STRIP_MOST +
                                            (int)REGION_ELEMENTS +
                                            (int)ISO_DIRECT_BLOCK,
               "what a task lays out");
_Static_assert((int)ISO_SPACE_PARTIALS >= (int)ISO_DIRECT_SPACE, "it fits");

/* An extent cut into equal regions, but for the last. */
typedef struct cut {
    int64_t each;
    int64_t regions;
} cut_t;

typedef struct tasks {
    const iso_cpu_t *cpu;
    const iso_direct_t *direct;
    const iso_tile_isa_t *isa;
    bool lays_strips;
    int64_t row_tiles;   /* in a row of output */
    int64_t tile_pixels; /* of a tile, */
    int64_t wider_tiles; /* but the first ones have one more */
    cut_t images;
    cut_t rows;
    cut_t tiles;
    cut_t lanes;
    iso_products_t products; /* of rows */
} tasks_t;

/* Its pixels are tiles [tile, tile + tiles) of some rows of each image. */
typedef struct task {
    const tasks_t *tasks;
    iso_space_t *space;
    int64_t image;
    int64_t images;
    int64_t group;
    int64_t lane;
    int64_t lanes;
    int64_t tile;
    int64_t tiles;
    iso_pixels_t pixels;
    const float *in; /* of the first image: where pixel 0 of the region reads
                      * its first tap */
    int64_t in_image;
    int64_t row_step;
    int64_t column_step;
    iso_reach_t reach;
} task_t;

static int64_t min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static cut_t cut_of(int64_t n, int64_t most)
{
    const int64_t each = ceil_div(n, ceil_div(n, most));

    return (cut_t){.each = each, .regions = ceil_div(n, each)};
}

/* ---- Tiles of a row ---- */

static int64_t first_column(const tasks_t *tasks, int64_t tile)
{
    return tile * tasks->tile_pixels + min64(tile, tasks->wider_tiles);
}

static int64_t columns_of(const tasks_t *tasks, int64_t tile, int64_t tiles)
{
    return first_column(tasks, tile + tiles) - first_column(tasks, tile);
}

/* ---- Cutting ---- */

static int64_t count_of(const tasks_t *tasks)
{
    return tasks->images.regions * tasks->direct->groups *
           tasks->direct->geometry.out[0] * tasks->rows.regions *
           tasks->tiles.regions * tasks->lanes.regions;
}

/* Elements that so many rows of so many tiles read. */
static int64_t reads_of(const tasks_t *tasks, int64_t rows, int64_t tiles)
{
    const iso_pixels_t pixels = {
        .rows = rows,
        .columns = columns_of(tasks, 0, tiles),
    };
    const iso_strip_t strip = iso__strip_of(tasks->direct, &pixels);

    return iso__strip_count(&strip);
}

/* Most of n whose cost is within a region's elements, at least 1. */
static int64_t most_that_fit(int64_t n, int64_t one, int64_t two)
{
    const int64_t next = two - one; /* for each further one */
    const int64_t rest = REGION_ELEMENTS - one;

    return rest <= 0 ? 1 : min64(n, 1 + (next > 0 ? rest / next : n));
}

/* Whole images, else whole rows, else tiles. */
static void cut_pixels(tasks_t *tasks)
{
    const iso_geometry_t *g = &tasks->direct->geometry;
    const int64_t images = tasks->direct->images;
    const int64_t tiles = tasks->row_tiles;
    const int64_t row = reads_of(tasks, 1, tiles);
    const int64_t image = reads_of(tasks, g->out[1], tiles);

    tasks->images = cut_of(images, 1);
    tasks->rows = cut_of(
        g->out[1], most_that_fit(g->out[1], row,
                                 reads_of(tasks, min64(2, g->out[1]), tiles)));
    tasks->tiles = cut_of(tiles, tiles);
    if (tasks->rows.regions == 1 && g->out[0] == 1) {
        tasks->images = cut_of(images, most_that_fit(images, image, 2 * image));
    }
    if (tasks->rows.each == 1 && row > REGION_ELEMENTS) {
        const int64_t one = reads_of(tasks, 1, 1);
        const int64_t fit =
            most_that_fit(tiles, one, reads_of(tasks, 1, min64(2, tiles)));
        const int64_t parts = min64(PART_TILES, ISO_STRIP_MOST / one);

        tasks->tiles = cut_of(tiles, fit > parts ? fit : parts);
    }
    if (tasks->direct->chain != NULL && tasks->tiles.each > BLOCK_TILES) {
        tasks->tiles = cut_of(tiles, BLOCK_TILES);
    }
}

/* Give every thread something to do. */
static void cut_for_threads(tasks_t *tasks)
{
    const int64_t wanted = (int64_t)TASKS_OF_THREAD * tasks->cpu->threads;
    const int64_t lanes = tasks->direct->panels->spec.lanes;
    cut_t *cuts[] = {&tasks->images, &tasks->rows, &tasks->tiles};
    const int64_t extents[] = {tasks->direct->images,
                               tasks->direct->geometry.out[1],
                               tasks->row_tiles};

    for (int i = 0; i < 3; i++) {
        while (count_of(tasks) < tasks->cpu->threads && cuts[i]->each > 1) {
            *cuts[i] = cut_of(extents[i], ceil_div(cuts[i]->each, 2));
        }
    }
    while (count_of(tasks) < wanted && tasks->lanes.each > ISO_TILE_LANES) {
        const int64_t tiles =
            ceil_div(ceil_div(tasks->lanes.each, 2), ISO_TILE_LANES);

        tasks->lanes.each = tiles * ISO_TILE_LANES;
        tasks->lanes.regions = ceil_div(lanes, tasks->lanes.each);
    }
}

/* Can the kernels read the source where it lies? */
static bool reads_in_place(const iso_direct_t *direct)
{
    const iso_geometry_t *g = &direct->geometry;

    if (direct->source == ISO_SOURCE_PLAIN ||
        (direct->groups > 1 && direct->channels % ISO_BLOCK_CHANNELS != 0)) {
        return false;
    }
    if (direct->source == ISO_SOURCE_ROWS) {
        return direct->in_pixel % ROWS_MEET != 0 ||
               direct->channels > ISO_STRIP_MOST / ISO_TILE_PIXELS;
    }
    for (int i = 0; i < ISO_MAX_SPATIAL; i++) {
        const int64_t last = (g->out[i] - 1) * g->step[i] + g->shift[i] +
                             (g->kernel[i] - 1) * g->tap_step[i];

        if (g->shift[i] < 0 || last >= g->in[i]) {
            return false;
        }
    }
    return g->plane * (ISO_BLOCK_MOST + ISO_BLOCK_CHANNELS) < INT32_MAX;
}

static tasks_t tasks_of(const iso_cpu_t *cpu, const iso_direct_t *direct)
{
    const iso_tile_isa_t *isa = cpu->tile;
    const int64_t columns = direct->geometry.out[2];
    const int64_t lanes = direct->panels->spec.lanes;
    tasks_t tasks = {
        .cpu = cpu,
        .direct = direct,
        .isa = isa,
        .lays_strips = !reads_in_place(direct),
        .lanes = cut_of(lanes, lanes),
    };

    tasks.row_tiles = ceil_div(
        columns, columns <= isa->few.most ? isa->few.most : isa->many.most);
    tasks.tile_pixels = columns / tasks.row_tiles;
    tasks.wider_tiles = columns % tasks.row_tiles;
    if (direct->source == ISO_SOURCE_ROWS) {
        tasks.products = iso__products_of_rows(direct);
    }
    cut_pixels(&tasks);
    if (cpu->threads > 1) {
        cut_for_threads(&tasks);
    }
    return tasks;
}

/* ---- Tiles ---- */

static const iso_tile_shape_t *shape_of(const iso_tile_isa_t *isa,
                                        int64_t pixels, int64_t lanes)
{
    if (lanes <= (int64_t)isa->narrow.vectors * isa->lanes) {
        return &isa->narrow;
    }
    return pixels <= isa->few.most &&
                   lanes > (int64_t)isa->many.vectors * isa->lanes
               ? &isa->few
               : &isa->many;
}

/* offset: lanes of the output's block before the tile. */
static void set_finish(const iso_direct_t *direct, int offset,
                       iso_tile_finish_t *finish)
{
    const bool is_plain_before =
        direct->before.activate == NULL || direct->before.is_relu;
    const bool is_plain_after =
        direct->after.activate == NULL || direct->after.is_relu;

    *finish = (iso_tile_finish_t){
        .is_relu = direct->before.is_relu,
        .is_relu_after = direct->after.is_relu,
        .is_spread = direct->is_spread,
        .before = &direct->before,
        .after = &direct->after,
    };
    if (direct->addend == NULL && is_plain_before && direct->after.is_relu) {
        finish->is_relu = true; /* of what is one already: the same */
    }
    finish->is_general =
        direct->is_spread || offset != 0 || !is_plain_before || !is_plain_after;
}

/* Where the first pixel of a row of the task lies in the output. */
static int64_t out_at(const task_t *task, int64_t image, int64_t row,
                      int64_t lane)
{
    const iso_direct_t *direct = task->tasks->direct;
    const int64_t at =
        image * direct->out_image + task->pixels.plane * direct->out_step[0] +
        row * direct->out_step[1] + task->pixels.column * direct->out_step[2];

    if (direct->is_spread) {
        return at + lane * direct->out_channel;
    }
    return at + lane / ISO_BLOCK_CHANNELS * direct->out_channel +
           lane % ISO_BLOCK_CHANNELS;
}

/* What the tiles of a task have in common for some lanes. */
typedef struct lanes {
    const iso_tile_shape_t *shape;
    int64_t lane; /* of all groups */
    iso_tile_t tile;
    iso_tile_finish_t finish;
    int64_t partials_step; /* from tile to tile; 0: all use the same ones */
} lanes_t;

static lanes_t lanes_of(const task_t *task, int64_t lane)
{
    const tasks_t *tasks = task->tasks;
    const iso_direct_t *direct = tasks->direct;
    const iso_panels_spec_t *spec = &direct->panels->spec;
    const int64_t rest = task->lane + task->lanes - lane;
    const int64_t panel = spec->length * ISO_PANEL_LANES;
    const int64_t panels = ceil_div(spec->lanes, ISO_PANEL_LANES);
    lanes_t lanes = {
        .shape =
            shape_of(tasks->isa,
                     ceil_div(direct->geometry.out[2], tasks->row_tiles), rest),
        .lane = task->group * spec->lanes + lane,
    };

    lanes.tile = (iso_tile_t){
        .pixel_step = task->column_step,
        .products = &tasks->products,
        .n_blocks = direct->blocks.count,
        .block_channels = direct->blocks.channels,
        .channels_step = task->reach.block_step,
        .block_rows = direct->blocks.channels * direct->blocks.taps,
        .weights = direct->panels->data +
                   (task->group * panels + lane / ISO_PANEL_LANES) * panel +
                   lane % ISO_PANEL_LANES,
        .panel_step = panel,
        .lanes =
            (int)min64(rest, (int64_t)lanes.shape->vectors * tasks->isa->lanes),
        .out_pixel = direct->out_step[2],
        .out_channel = direct->out_channel,
    };
    if (!direct->is_spread) {
        lanes.tile.offset = (int)(lanes.lane % ISO_BLOCK_CHANNELS);
    }
    set_finish(direct, lanes.tile.offset, &lanes.finish);
    if (direct->bias != NULL) {
        lanes.finish.bias = direct->bias + lanes.lane;
    }
    if (direct->chain != NULL) {
        lanes.tile.out_pixel = lanes.tile.lanes;
    }
    return lanes;
}

/* ---- What a chain follows ---- */

static float *block_of(const task_t *task)
{
    return task->space->partials + ISO_DIRECT_SPACE - ISO_DIRECT_BLOCK;
}

static void run_chain(const task_t *task, const lanes_t *lanes)
{
    const iso__chain_block_t block = {
        .values = block_of(task),
        .row = task->pixels.column,
        .rows = task->pixels.columns,
        .column = lanes->lane,
        .columns = lanes->tile.lanes,
    };

    iso__chain_run_block(task->tasks->direct->chain, &block, task->space);
}

/* ---- All tiles of a task ---- */

/* The tiles of the task in one row of output. */
static void run_row(const task_t *task, lanes_t *lanes, int64_t image,
                    int64_t row, iso_product_tables_t *tables)
{
    const tasks_t *tasks = task->tasks;
    const iso_direct_t *direct = tasks->direct;
    const bool is_block = direct->chain != NULL;
    float *const base = is_block ? block_of(task) : direct->out;
    int64_t out =
        is_block ? 0 : out_at(task, task->image + image, row, lanes->lane);
    iso_tile_place_t place = {
        .plane = task->pixels.plane, .row = row, .column = task->pixels.column};
    iso_tile_t *tile = &lanes->tile;

    tile->in = task->in + image * task->in_image +
               (row - task->pixels.row) * task->row_step;
    for (int64_t t = task->tile; t < task->tile + task->tiles; t++) {
        const unsigned last = place.place;

        place.pixels = tasks->tile_pixels + (t < tasks->wider_tiles ? 1 : 0);
        place.place =
            (t == 0 ? (unsigned)ISO_PLACE_FIRST : 0U) |
            (t + 1 == tasks->row_tiles ? (unsigned)ISO_PLACE_LAST : 0U);
        if (direct->source != ISO_SOURCE_ROWS &&
            (t == task->tile || place.place != last)) {
            tile->products =
                iso__products_of(direct, &task->reach, &place, tables);
        }
        tile->out = base + out;
        if (direct->addend != NULL) {
            lanes->finish.addend = direct->addend + out;
        }
        lanes->shape->run[place.pixels](tile);
        tile->in += place.pixels * tile->pixel_step;
        tile->partials += lanes->partials_step;
        out += place.pixels * tile->out_pixel;
        place.column += place.pixels;
    }
}

/* All tiles of the task for some lanes and blocks. */
static void run_blocks(const task_t *task, lanes_t *lanes,
                       iso_product_tables_t *tables)
{
    lanes->tile.partials = task->space->partials;
    for (int64_t image = 0; image < task->images; image++) {
        for (int64_t row = task->pixels.row;
             row < task->pixels.row + task->pixels.rows; row++) {
            run_row(task, lanes, image, row, tables);
        }
    }
}

/* Blocks that all tiles go through together: the whole reduction where it is
 * short, or where the tiles are so many that their partial sums, which have
 * to be kept in between, have no room. */
static int64_t part_of(const task_t *task)
{
    const iso_blocks_t *blocks = &task->tasks->direct->blocks;
    const int64_t tiles = task->images * task->pixels.rows * task->tiles;
    const int64_t kept =
        tiles * iso__tree_levels(blocks->count) * TILE_ELEMENTS;
    const int64_t part = PART_ROWS / (blocks->channels * blocks->taps);

    return tiles == 1 || kept > PARTIALS || part < 1 ? blocks->count : part;
}

static void run_lanes(const task_t *task)
{
    const int64_t count = task->tasks->direct->blocks.count;
    const int64_t part = part_of(task);
    iso_product_tables_t tables;

    memset(tables.is_made, 0, sizeof tables.is_made);
    tables.taps = (iso_taps_t){{0}, {0}};
    for (int64_t lane = task->lane; lane < task->lane + task->lanes;) {
        lanes_t lanes = lanes_of(task, lane);

        lanes.tile.finish = &lanes.finish;
        if (part < count) {
            lanes.partials_step =
                iso__tree_levels(count) * (int64_t)TILE_ELEMENTS;
        }
        for (int64_t block = 0; block < count; block += part) {
            lanes.tile.first_block = block;
            lanes.tile.end_block = min64(block + part, count);
            run_blocks(task, &lanes, &tables);
        }
        if (task->tasks->direct->chain != NULL) {
            run_chain(task, &lanes);
        }
        lane += lanes.tile.lanes;
    }
}

/* ---- Sources ---- */

static void set_reach(task_t *task, int64_t plane, int64_t row, int64_t column)
{
    const iso_geometry_t *g = &task->tasks->direct->geometry;

    task->row_step = g->step[1] * row;
    task->column_step = g->step[2] * column;
    task->reach.tap_step[0] = g->tap_step[0] * plane;
    task->reach.tap_step[1] = g->tap_step[1] * row;
    task->reach.tap_step[2] = g->tap_step[2] * column;
}

static void read_in_place(task_t *task, const float *in)
{
    const iso_direct_t *direct = task->tasks->direct;
    const iso_geometry_t *g = &direct->geometry;
    const iso_strip_t strip = iso__strip_of(direct, &task->pixels);
    int64_t column = ISO_BLOCK_CHANNELS;

    task->reach.block_step = ISO_BLOCK_CHANNELS * g->plane;
    if (direct->source == ISO_SOURCE_ROWS) {
        column = direct->in_pixel;
        task->reach.block_step = ISO_BLOCK_CHANNELS;
    }
    set_reach(task, column * g->in[2] * g->in[1], column * g->in[2], column);
    task->in_image = direct->in_image;
    task->in =
        in + task->group * direct->channels * g->plane +
        ((strip.plane * g->in[1] + strip.row) * g->in[2] + strip.column) *
            column;
}

static void lay_strips(task_t *task, const float *in)
{
    const iso_direct_t *direct = task->tasks->direct;
    iso_strip_t strip = iso__strip_of(direct, &task->pixels);
    const int64_t count = iso__strip_count(&strip);
    float *to = task->space->partials + PARTIALS;

    ISO_ASSERT(task->images * count <=
               (int64_t)ISO_DIRECT_SPACE - ISO_DIRECT_BLOCK - PARTIALS);
    strip.channel = task->group * direct->channels;
    for (int64_t i = 0; i < task->images; i++) {
        iso__strip_fill(task->tasks->cpu, direct, &strip,
                        in + i * direct->in_image, to + i * count);
    }
    task->reach.block_step = direct->source == ISO_SOURCE_ROWS
                                 ? ISO_BLOCK_CHANNELS
                                 : count / strip.blocks;
    set_reach(task, strip.rows * strip.columns * strip.width,
              strip.columns * strip.width, strip.width);
    task->in = to;
    task->in_image = count;
}

/* ---- Tasks ---- */

/* Take region number `number` of a cut; the numbers left go to the caller. */
static int64_t take(const cut_t *cut, int64_t n, int64_t *number,
                    int64_t *count_out)
{
    const int64_t first = *number % cut->regions * cut->each;

    *number /= cut->regions;
    *count_out = min64(cut->each, n - first);
    return first;
}

static task_t task_of(const tasks_t *tasks, int64_t number, iso_space_t *space)
{
    const iso_direct_t *direct = tasks->direct;
    const iso_geometry_t *g = &direct->geometry;
    task_t task = {.tasks = tasks, .space = space};

    task.lane =
        take(&tasks->lanes, direct->panels->spec.lanes, &number, &task.lanes);
    task.tile = take(&tasks->tiles, tasks->row_tiles, &number, &task.tiles);
    task.pixels.row = take(&tasks->rows, g->out[1], &number, &task.pixels.rows);
    task.pixels.column = first_column(tasks, task.tile);
    task.pixels.columns = columns_of(tasks, task.tile, task.tiles);
    task.pixels.plane = number % g->out[0];
    number /= g->out[0];
    task.group = number % direct->groups;
    number /= direct->groups;
    task.image = take(&tasks->images, direct->images, &number, &task.images);
    return task;
}

static void run_task(const tasks_t *tasks, int64_t number, iso_space_t *space)
{
    const iso_direct_t *direct = tasks->direct;
    task_t task = task_of(tasks, number, space);
    const float *in = direct->in + task.image * direct->in_image;

    if (tasks->lays_strips) {
        lay_strips(&task, in);
    } else {
        read_in_place(&task, in);
    }
    run_lanes(&task);
}

void iso__direct_run_in(const iso_cpu_t *cpu, const iso_direct_t *direct,
                        iso_space_t *space)
{
    const iso_geometry_t *g = &direct->geometry;

    if (direct->images == 0 || g->out[0] == 0 || g->out[1] == 0 ||
        g->out[2] == 0) {
        return;
    }

    const tasks_t tasks = tasks_of(cpu, direct);
    const int64_t count = count_of(&tasks);

    if (cpu->threads == 1) { /* a team of one costs, too */
        for (int64_t t = 0; t < count; t++) {
            run_task(&tasks, t, space);
        }
        return;
    }
#pragma omp parallel for schedule(dynamic, 1) num_threads(cpu->threads)
    for (int64_t t = 0; t < count; t++) {
        run_task(&tasks, t, &space[omp_get_thread_num()]);
    }
}

void iso__direct_run(const iso_cpu_t *cpu, const iso_direct_t *direct)
{
    iso__direct_run_in(cpu, direct, cpu->space);
}
