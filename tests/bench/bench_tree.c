/*
 * What fixed blocks and the tree over them cost: contractions by packed
 * weights as they are computed, beside the same driver and the same tile
 * kernels compiled with one straight chain through the same products, which
 * keeps no partial sums. Not a test.
 *
 *     bench_tree [--repeats N] [--quick]
 *
 * The two run interleaved, on one thread, in time of the processor. The cost
 * of a shape is the median over the repeats of (blocks and tree / chain - 1);
 * the spread is the larger one of the two.
 */
#include "isotome/error.h"

#include "base/mem.h"
#include "bench.h"
#include "bench_direct.h"
#include "bench_tree_chain.h"
#include "kernel/arith.h"
#include "kernel/cpu/cpu_impl.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPEATS_MOST = 101, TEXT_BYTES = 48 };

static int repeats = 15;
static bool is_quick;

/* ---- Contractions ---- */

typedef struct job {
    char text[TEXT_BYTES];
    iso_blocks_t blocks;
    bench_direct_t *tree;
    bench_direct_t *chain;
    int64_t out_count;
    double flops;
} job_t;

/* The same kernels in two contexts. */
typedef struct contexts {
    iso_cpu_t *tree;
    iso_cpu_t *chain;
} contexts_t;

static const iso_tile_isa_t *chain_of(iso_family_t family)
{
    switch (family) {
    case ISO_FAMILY_SCALAR:
        return &bench_chain_portable;
    case ISO_FAMILY_SKX:
        return &bench_chain_avx512;
    default:
        return &bench_chain_avx2;
    }
}

static void begin_product(const contexts_t *cpu, const bench_product_t *product,
                          job_t *job)
{
    float *a = bench_values(product->m * product->k);
    float *b = bench_values(product->k * product->n);

    *job = (job_t){
        .blocks = iso_blocks_of_matmul(product->k),
        .tree = bench_direct_matmul(cpu->tree, product, 1, a, b),
        .chain = bench_direct_matmul(cpu->chain, product, 1, a, b),
        .out_count = product->m * product->n,
        .flops = bench_product_flops(product),
    };
    (void)snprintf(job->text, sizeof job->text, "matmul %lld x %lld x %lld",
                   (long long)product->m, (long long)product->n,
                   (long long)product->k);
    iso_free(a);
    iso_free(b);
}

static void begin_conv(const contexts_t *cpu, const bench_conv_t *conv,
                       job_t *job)
{
    const int64_t taps = conv->kernel[0] * conv->kernel[1];
    float *x = bench_values(conv->images * conv->in * conv->size * conv->size);
    float *w = bench_values(conv->out * conv->in * taps);

    *job = (job_t){
        .blocks = iso_blocks_of_conv(conv->in, taps),
        .tree = bench_direct_conv(cpu->tree, conv, x, w),
        .chain = bench_direct_conv(cpu->chain, conv, x, w),
        .out_count = conv->images * conv->out * bench_conv_out_size(conv, 0) *
                     bench_conv_out_size(conv, 1),
        .flops = bench_conv_flops(conv),
    };
    (void)snprintf(job->text, sizeof job->text,
                   "conv %lldx%lld s%lld n%lld %lld -> %lld @ %lld",
                   (long long)conv->kernel[0], (long long)conv->kernel[1],
                   (long long)conv->stride, (long long)conv->images,
                   (long long)conv->in, (long long)conv->out,
                   (long long)conv->size);
    iso_free(x);
    iso_free(w);
}

static void end(job_t *job)
{
    bench_direct_destroy(&job->tree);
    bench_direct_destroy(&job->chain);
}

/* ---- Measuring ---- */

/* Did both compute the same sums? Every product is at most 1. */
static void compare(const job_t *job)
{
    const double most = 1e-5 * (double)job->blocks.length;
    float *tree = bench_values(job->out_count);
    float *chain = bench_values(job->out_count);

    bench_direct_output(job->tree, tree);
    bench_direct_output(job->chain, chain);
    for (int64_t i = 0; i < job->out_count; i++) {
        if (!(fabs((double)tree[i] - (double)chain[i]) < most)) {
            bench_need(iso_fail(
                ISO_INTERNAL, "%s: element %lld is %g, the chain's %g",
                job->text, (long long)i, (double)tree[i], (double)chain[i]));
        }
    }
    iso_free(tree);
    iso_free(chain);
}

static double run(bench_direct_t *direct, int runs)
{
    const double begin_s = bench_cpu_s();

    for (int i = 0; i < runs; i++) {
        bench_direct_run(direct);
    }
    return (bench_cpu_s() - begin_s) / runs;
}

/* The cost as a share. */
static double measure(const job_t *job)
{
    static const double least_s = 0.01;
    double tree[REPEATS_MOST] = {0};
    double chain[REPEATS_MOST] = {0};
    double costs[REPEATS_MOST] = {0};

    (void)run(job->chain, 1);

    const double once_s = run(job->tree, 1);
    const int runs = is_quick || once_s > least_s ? 1 : (int)(least_s / once_s);

    compare(job);
    for (int i = 0; i < repeats; i++) {
        /* Each is first half of the times. */
        if (i % 2 == 0) {
            chain[i] = run(job->chain, runs);
        }
        tree[i] = run(job->tree, runs);
        if (i % 2 != 0) {
            chain[i] = run(job->chain, runs);
        }
        costs[i] = tree[i] / chain[i] - 1.0;
    }

    const iso_timing_t of_tree = iso_timing_of(tree, repeats);
    const iso_timing_t of_chain = iso_timing_of(chain, repeats);
    const double cost = iso_timing_of(costs, repeats).median_s;

    (void)printf("%-34s %3lld x %3lld  chain %6.1f GF/s  blocks and tree %6.1f "
                 "GF/s  cost %5.1f %%  spread %4.1f %%\n",
                 job->text, (long long)job->blocks.count,
                 (long long)iso_blocks_end(&job->blocks, 0),
                 job->flops / of_chain.median_s * 1e-9,
                 job->flops / of_tree.median_s * 1e-9, 100.0 * cost,
                 100.0 * fmax(of_tree.spread, of_chain.spread));
    return cost;
}

/* ---- What is measured ---- */

/* Rows, columns, reduction: BERT, GPT-2, heads of ResNet and VGG, and one
 * form at lengths that double. */
static const bench_product_t matrices[] = {
    {128, 768, 256},  {128, 768, 512},   {128, 768, 768},   {128, 768, 1024},
    {128, 768, 2048}, {128, 768, 3072},  {128, 768, 4096},  {128, 768, 8192},
    {128, 3072, 768}, {512, 1024, 1024}, {512, 1024, 4096}, {1024, 768, 3072},
    {512, 512, 8192}, {16, 1000, 2048},  {1, 4096, 4096},   {4, 3072, 768},
};

/* ResNet-50 and ResNet-20. */
static const bench_conv_t convs[] = {
    {1, 64, 56, 64, {3, 3}, 1, 1, 1, false},
    {1, 128, 28, 128, {3, 3}, 1, 1, 1, false},
    {1, 256, 14, 256, {3, 3}, 1, 1, 1, false},
    {1, 512, 7, 512, {3, 3}, 1, 1, 1, false},
    {8, 256, 14, 256, {3, 3}, 1, 1, 1, false},
    {8, 128, 56, 128, {3, 3}, 2, 1, 1, false},
    {16, 64, 8, 64, {3, 3}, 1, 1, 1, false},
    {1, 256, 56, 64, {1, 1}, 1, 1, 1, false},
    {1, 512, 28, 128, {1, 1}, 1, 1, 1, false},
    {1, 1024, 14, 256, {1, 1}, 1, 1, 1, false},
    {8, 2048, 7, 512, {1, 1}, 1, 1, 1, false},
    {8, 512, 28, 1024, {1, 1}, 2, 1, 1, false},
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
static void add(job_t *job, double *costs, int *count)
{
    static const double quick_flops = 1.2e8;

    if (!is_quick || job->flops < quick_flops) {
        costs[*count] = measure(job);
        (*count)++;
    }
    end(job);
}

static void measure_all(const contexts_t *cpu)
{
    double costs[N_MATRICES + N_CONVS];
    double all[N_MATRICES + N_CONVS];
    int n_matrices = 0;
    int count = 0;
    job_t job;

    for (int i = 0; i < N_MATRICES; i++) {
        begin_product(cpu, &matrices[i], &job);
        add(&job, costs, &count);
    }
    n_matrices = count;
    for (int i = 0; i < N_CONVS; i++) {
        begin_conv(cpu, &convs[i], &job);
        add(&job, costs, &count);
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
    contexts_t cpu = {NULL, NULL};

    bench_parse(argc, argv, 2, options);
    repeats = is_quick ? 3 : repeats > REPEATS_MOST ? REPEATS_MOST : repeats;
    bench_print_machine();
    bench_need(iso_cpu_create(1, &cpu.tree));
    bench_need(iso_cpu_create(1, &cpu.chain));
    cpu.chain->tile = chain_of(iso_cpu_family(cpu.chain));
    (void)printf("%d repeats; %-22s %9s\n", repeats, "", "blocks");
    measure_all(&cpu);
    iso_cpu_destroy(&cpu.tree);
    iso_cpu_destroy(&cpu.chain);
    return EXIT_SUCCESS;
}
