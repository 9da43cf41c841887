#include "kernel/cpu/direct/product.h"

#include "kernel/cpu/chain.h"
#include "kernel/cpu/direct/direct.h"

#include <omp.h>

enum {
    LEAST_ROWS = 8, /* that make up for packing */
    /* Packed operands lie behind what a task of the driver lays out. */
    PANELS = ISO_SPACE_PARTIALS - ISO_DIRECT_SPACE,
};

/* One product at a time. */
typedef struct product {
    const iso_cpu_t *cpu;
    const iso_contraction_t *c;
    iso_panels_spec_t spec;
} product_t;

/* Elements that the product of two matrices takes before a chain. */
static int64_t matrix_room(const iso_contraction_t *c)
{
    return c->chain != NULL ? c->rows * c->columns : 0;
}

static bool is_suited(const product_t *product)
{
    const iso_contraction_t *c = product->c;
    const bool is_plain = !c->finish.is_scaled && !c->finish.is_addend_scaled;
    const bool is_bias =
        c->addend == NULL || (c->addend_row == 0 && c->addend_column == 1);

    return c->geometry == NULL && c->blocks.taps == 1 && is_plain && is_bias &&
           c->rows >= LEAST_ROWS && c->columns >= LEAST_ROWS &&
           c->blocks.length >= 1 && c->narrow.k_step == 1 &&
           c->narrow.lane_step >= c->blocks.length && c->out_column == 1 &&
           c->image_columns == c->columns &&
           iso_panels_count(&product->spec) + matrix_room(c) <= PANELS;
}

static void pack(const product_t *product, const float *wide, float *panels)
{
    const iso_operand_t *operand = &product->c->wide;
    const int64_t length = product->spec.length;

    for (int64_t lane = 0; lane < product->spec.lanes;
         lane += ISO_PANEL_LANES) {
        const int64_t left = product->spec.lanes - lane;

        product->cpu->isa->pack(
            wide + lane * operand->lane_step, operand->lane_step,
            operand->k_step, left < ISO_PANEL_LANES ? left : ISO_PANEL_LANES,
            length, ISO_PANEL_LANES, panels + lane * length);
    }
}

static iso_geometry_t rows_geometry(int64_t rows)
{
    return (iso_geometry_t){.in = {1, 1, rows},
                            .out = {1, 1, rows},
                            .kernel = {1, 1, 1},
                            .step = {1, 1, 1},
                            .tap_step = {1, 1, 1},
                            .divide = {1, 1, 1},
                            .plane = rows};
}

/* One matrix of the batch. */
static void run_matrix(const product_t *product, int64_t number,
                       const iso_cpu_t *threads, iso_space_t *space)
{
    int64_t index = number;
    const iso_contraction_t *c = product->c;
    const float *wide = c->wide.data;
    iso_panels_t panels = {.spec = product->spec,
                           .data = space->partials + ISO_DIRECT_SPACE};
    iso_direct_t direct = {
        .panels = &panels,
        .blocks = c->blocks,
        .channels = c->blocks.length,
        .geometry = rows_geometry(c->rows),
        .taps = ISO_ONE_TAP,
        .images = 1,
        .groups = 1,
        .source = ISO_SOURCE_ROWS,
        .in = c->narrow.data,
        .in_pixel = c->narrow.lane_step,
        .out = c->out,
        .out_step = {0, 0, c->out_row},
        .out_channel = ISO_BLOCK_CHANNELS,
        .bias = c->addend,
        .before = c->finish,
        .after = {.activation = ISO_OP_COUNT},
    };

    for (int i = c->batch.rank - 1; i >= 0; i--) {
        const int64_t at = index % c->batch.dims[i];

        index /= c->batch.dims[i];
        direct.in += at * c->batch.narrow[i];
        wide += at * c->batch.wide[i];
        direct.out += at * c->batch.out[i];
        if (direct.bias != NULL) {
            direct.bias += at * c->batch.addend[i];
        }
    }
    pack(product, wide, panels.data);
    if (c->chain == NULL) {
        iso__direct_run_in(threads, &direct, space);
        return;
    }

    const iso__chain_block_t block = {
        .values = panels.data + iso_panels_count(&product->spec),
        .row = number * c->rows,
        .rows = c->rows,
        .columns = c->columns,
    };

    direct.out = panels.data + iso_panels_count(&product->spec);
    iso__direct_run_in(threads, &direct, space);
    iso__chain_run_block(c->chain, &block, space);
}

bool iso__direct_product(const iso_cpu_t *cpu, const iso_contraction_t *c)
{
    const product_t product = {.cpu = cpu,
                               .c = c,
                               .spec = {.kind = ISO_PANELS_MATMUL,
                                        .groups = 1,
                                        .lanes = c->columns,
                                        .length = c->blocks.length}};
    int64_t count = 1;

    if (!is_suited(&product)) {
        return false;
    }
    for (int i = 0; i < c->batch.rank; i++) {
        count *= c->batch.dims[i];
    }
    if (count < cpu->threads || cpu->threads == 1) {
        for (int64_t m = 0; m < count; m++) {
            run_matrix(&product, m, cpu, cpu->space);
        }
        return true;
    }
#pragma omp parallel for schedule(dynamic, 1) num_threads(cpu->threads)
    for (int64_t m = 0; m < count; m++) {
        iso_cpu_t alone = *cpu;

        alone.threads = 1;
        run_matrix(&product, m, &alone, &cpu->space[omp_get_thread_num()]);
    }
    return true;
}
