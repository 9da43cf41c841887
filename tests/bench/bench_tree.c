/*
 * What fixed blocks and the tree over them cost: contractions as they are
 * computed, beside the same driver and the same micro-kernel with one straight
 * chain of the same products. Not a test.
 *
 *     bench_tree [--repeats N] [--quick]
 *
 * The chain goes through the reduction as BLIS does: the micro-kernel adds to
 * the tile that it made before, in pieces as long as the packing space holds
 * (convolutions: as many whole channels). Results of up to 4 rows, whose wide
 * operand is read where it lies, take one call for the whole reduction. It
 * needs no partial sums, so that its regions may be larger.
 *
 * The two run interleaved, on one thread, in time of the processor. The cost
 * of a shape is the median over the repeats of (blocks and tree / chain - 1);
 * the spread is the larger one of the two.
 */
#include "isotome/error.h"

#include "base/mem.h"
#include "bench.h"
#include "kernel/cpu/contract.h"

#include <blis.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPEATS_MOST = 101, FEW_ROWS = 4, TEXT_BYTES = 48 };

static int repeats = 15;
static bool is_quick;

/* ---- The chain ---- */

static sgemm_ukr_ft blis_kernel;
static cntx_t *blis_context;
static bool blis_is_by_row;

static void find_blis(void)
{
    void_fp found;

    blis_context = bli_gks_query_nat_cntx();
    found = bli_cntx_get_l3_nat_ukr_dt(BLIS_FLOAT, BLIS_GEMM_UKR, blis_context);
    memcpy(&blis_kernel, &found, sizeof blis_kernel);
    blis_is_by_row = bli_cntx_get_l3_nat_ukr_prefs_dt(BLIS_FLOAT, BLIS_GEMM_UKR,
                                                      blis_context);
}

static void add_block(const iso_micro_t *micro, int64_t k, const float *narrow,
                      const float *wide, bool is_first, float *tile)
{
    float one = 1.0F;
    float beta = is_first ? 0.0F : 1.0F;
    float *n = (float *)narrow;
    float *w = (float *)wide;
    auxinfo_t next = {.a_next = n, .b_next = w};

    if (blis_is_by_row) {
        blis_kernel(micro->narrow, micro->wide, k, &one, n, w, &beta, tile,
                    micro->wide, 1, &next, blis_context);
    } else {
        blis_kernel(micro->wide, micro->narrow, k, &one, w, n, &beta, tile, 1,
                    micro->wide, &next, blis_context);
    }
}

/* ---- Contractions ---- */

typedef struct job {
    char text[TEXT_BYTES];
    iso_geometry_t geometry;
    iso_contraction_t tree;
    iso_contraction_t chain;
    float *narrow;
    float *wide;
    int64_t out_count;
    double flops;
} job_t;

static void set_chain(job_t *job)
{
    iso_blocks_t *blocks = &job->chain.blocks;
    const int64_t taps = job->tree.blocks.taps;
    const int64_t channels = job->tree.blocks.length / taps;

    job->chain = job->tree;
    job->chain.out = bench_values(job->out_count);
    blocks->channels =
        job->tree.rows <= FEW_ROWS ? channels : ISO_BLOCK_MOST / taps;
    blocks->count = (channels + blocks->channels - 1) / blocks->channels;
    job->chain.chain = blocks->count > 1 ? add_block : NULL;
}

/* (m, k) times (k, n). */
static void begin_matrix(job_t *job, int64_t m, int64_t n, int64_t k)
{
    *job = (job_t){.narrow = bench_values(m * k),
                   .wide = bench_values(k * n),
                   .out_count = m * n,
                   .flops = 2.0 * (double)(m * n) * (double)k};
    (void)snprintf(job->text, sizeof job->text, "matmul %lld x %lld x %lld",
                   (long long)m, (long long)n, (long long)k);
    job->tree = (iso_contraction_t){
        .blocks = iso_blocks_of_matmul(k),
        .rows = m,
        .columns = n,
        .image_columns = n,
        .narrow = {job->narrow, .lane_step = k, .channel_step = 1, .k_step = 1},
        .wide = {job->wide, .lane_step = 1, .channel_step = n, .k_step = n},
        .out = bench_values(m * n),
        .out_row = n,
        .out_column = 1,
    };
    set_chain(job);
}

typedef struct conv {
    int64_t images;
    int64_t in;
    int64_t size;
    int64_t out;
    int64_t kernel;
    int64_t stride;
} conv_t;

static iso_geometry_t geometry_of(const conv_t *conv)
{
    const int64_t pad = conv->kernel / 2;
    const int64_t out =
        (conv->size + 2 * pad - conv->kernel) / conv->stride + 1;
    const iso_window_t window = {.n_spatial = 2,
                                 .kernel = {conv->kernel, conv->kernel},
                                 .strides = {conv->stride, conv->stride},
                                 .dilations = {1, 1},
                                 .pads_begin = {pad, pad},
                                 .pads_end = {pad, pad}};
    iso_geometry_t geometry = iso__geometry_of_conv(
        &window, (const int64_t[]){conv->size, conv->size},
        (const int64_t[]){out, out});

    geometry.image_step = conv->in * geometry.plane;
    return geometry;
}

static void begin_conv(job_t *job, const conv_t *conv)
{
    const iso_geometry_t geometry = geometry_of(conv);
    const int64_t positions = iso__geometry_columns(&geometry);
    const int64_t taps = iso__geometry_taps(&geometry);

    *job = (job_t){.geometry = geometry,
                   .narrow = bench_values(conv->out * conv->in * taps),
                   .wide = bench_values(conv->images * geometry.image_step),
                   .out_count = conv->images * conv->out * positions};
    job->flops = 2.0 * (double)job->out_count * (double)(conv->in * taps);
    (void)snprintf(job->text, sizeof job->text,
                   "conv %lldx%lld s%lld n%lld %lld -> %lld @ %lld",
                   (long long)conv->kernel, (long long)conv->kernel,
                   (long long)conv->stride, (long long)conv->images,
                   (long long)conv->in, (long long)conv->out,
                   (long long)conv->size);
    job->tree = (iso_contraction_t){
        .blocks = iso_blocks_of_conv(conv->in, taps),
        .rows = conv->out,
        .columns = conv->images * positions,
        .image_columns = positions,
        .narrow = {job->narrow, conv->in * taps, taps, 1},
        .wide = {.data = job->wide},
        .geometry = &job->geometry,
        .out = bench_values(job->out_count),
        .out_row = positions,
        .out_column = 1,
        .out_image = conv->out * positions,
    };
    set_chain(job);
}

static void end(job_t *job)
{
    iso_free(job->tree.out);
    iso_free(job->chain.out);
    iso_free(job->wide);
    iso_free(job->narrow);
}

/* ---- Measuring ---- */

/* Did both compute the same sums? Every product is at most 1. */
static void compare(const job_t *job)
{
    const double most = 1e-5 * (double)job->tree.blocks.length;

    for (int64_t i = 0; i < job->out_count; i++) {
        if (!(fabs((double)job->tree.out[i] - (double)job->chain.out[i]) <
              most)) {
            bench_need(
                iso_fail(ISO_INTERNAL, "%s: element %lld is %g, the chain's %g",
                         job->text, (long long)i, (double)job->tree.out[i],
                         (double)job->chain.out[i]));
        }
    }
}

static double run(const iso_cpu_t *cpu, const iso_contraction_t *c, int runs)
{
    const double begin_s = bench_cpu_s();

    for (int i = 0; i < runs; i++) {
        iso__contract_plain(cpu, c);
    }
    return (bench_cpu_s() - begin_s) / runs;
}

/* The cost as a share. */
static double measure(const iso_cpu_t *cpu, const job_t *job)
{
    static const double least_s = 0.01;
    double tree[REPEATS_MOST] = {0};
    double chain[REPEATS_MOST] = {0};
    double costs[REPEATS_MOST] = {0};

    (void)run(cpu, &job->chain, 1);

    const double once_s = run(cpu, &job->tree, 1);
    const int runs = is_quick || once_s > least_s ? 1 : (int)(least_s / once_s);

    compare(job);
    for (int i = 0; i < repeats; i++) {
        /* Each is first half of the times. */
        if (i % 2 == 0) {
            chain[i] = run(cpu, &job->chain, runs);
        }
        tree[i] = run(cpu, &job->tree, runs);
        if (i % 2 != 0) {
            chain[i] = run(cpu, &job->chain, runs);
        }
        costs[i] = tree[i] / chain[i] - 1.0;
    }

    const iso_timing_t of_tree = iso_timing_of(tree, repeats);
    const iso_timing_t of_chain = iso_timing_of(chain, repeats);
    const double cost = iso_timing_of(costs, repeats).median_s;

    (void)printf("%-34s %3lld x %3lld  chain %6.1f GF/s  blocks and tree %6.1f "
                 "GF/s  cost %5.1f %%  spread %4.1f %%\n",
                 job->text, (long long)job->tree.blocks.count,
                 (long long)iso_blocks_end(&job->tree.blocks, 0),
                 job->flops / of_chain.median_s * 1e-9,
                 job->flops / of_tree.median_s * 1e-9, 100.0 * cost,
                 100.0 * fmax(of_tree.spread, of_chain.spread));
    return cost;
}

/* ---- What is measured ---- */

/* Rows, columns, reduction: BERT, GPT-2, heads of ResNet and VGG, and one
 * form at lengths that double. */
static const int64_t matrices[][3] = {
    {128, 768, 256},  {128, 768, 512},   {128, 768, 768},   {128, 768, 1024},
    {128, 768, 2048}, {128, 768, 3072},  {128, 768, 4096},  {128, 768, 8192},
    {128, 3072, 768}, {512, 1024, 1024}, {512, 1024, 4096}, {1024, 768, 3072},
    {512, 512, 8192}, {16, 1000, 2048},  {1, 4096, 4096},   {4, 3072, 768},
};

/* ResNet-50 and ResNet-20. */
static const conv_t convs[] = {
    {1, 64, 56, 64, 3, 1},    {1, 128, 28, 128, 3, 1}, {1, 256, 14, 256, 3, 1},
    {1, 512, 7, 512, 3, 1},   {8, 256, 14, 256, 3, 1}, {8, 128, 56, 128, 3, 2},
    {16, 64, 8, 64, 3, 1},    {1, 256, 56, 64, 1, 1},  {1, 512, 28, 128, 1, 1},
    {1, 1024, 14, 256, 1, 1}, {8, 2048, 7, 512, 1, 1}, {8, 512, 28, 1024, 1, 2},
};

enum {
    N_MATRICES = sizeof matrices / sizeof *matrices,
    N_CONVS = sizeof convs / sizeof *convs
};

static void sum_up(const char *what, double *costs, int count)
{
    if (count > 0) {
        const double median = iso_timing_of(costs, count).median_s;

        (void)printf("%s: %d shapes, median cost %.1f %%, worst %.1f %%\n",
                     what, count, 100.0 * median, 100.0 * costs[count - 1]);
    }
}

/* Measures a job, unless it is too much for --quick. */
static void add(const iso_cpu_t *cpu, job_t *job, double *costs, int *count)
{
    static const double quick_flops = 1.2e8;

    if (!is_quick || job->flops < quick_flops) {
        costs[*count] = measure(cpu, job);
        (*count)++;
    }
    end(job);
}

static void measure_all(const iso_cpu_t *cpu)
{
    double costs[N_MATRICES + N_CONVS];
    double all[N_MATRICES + N_CONVS];
    int n_matrices = 0;
    int count = 0;
    job_t job;

    for (int i = 0; i < N_MATRICES; i++) {
        begin_matrix(&job, matrices[i][0], matrices[i][1], matrices[i][2]);
        add(cpu, &job, costs, &count);
    }
    n_matrices = count;
    for (int i = 0; i < N_CONVS; i++) {
        begin_conv(&job, &convs[i]);
        add(cpu, &job, costs, &count);
    }
    memcpy(all, costs, sizeof all);
    sum_up("products", costs, n_matrices);
    sum_up("convolutions", costs + n_matrices, count - n_matrices);
    sum_up("all", all, count);
}

int main(int argc, char **argv)
{
    const bench_option_t options[] = {{"--repeats", NULL, &repeats, NULL},
                                      {"--quick", NULL, NULL, &is_quick}};
    iso_cpu_t *cpu = NULL;

    bench_parse(argc, argv, 2, options);
    repeats = is_quick ? 3 : repeats > REPEATS_MOST ? REPEATS_MOST : repeats;
    bench_print_machine();
    bench_need(iso_cpu_create(1, &cpu));
    if (iso_cpu_family(cpu) == ISO_FAMILY_SCALAR) {
        bench_need(iso_fail(ISO_UNSUPPORTED,
                            "the family 'scalar' has no micro-kernel that "
                            "adds to a tile; choose another ISOTOME_KERNELS"));
    }
    find_blis();
    (void)printf("%d repeats; %-22s %9s\n", repeats, "", "blocks");
    measure_all(cpu);
    iso_cpu_destroy(&cpu);
    return EXIT_SUCCESS;
}
