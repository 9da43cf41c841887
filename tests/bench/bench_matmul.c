/*
 * Products with constant weights: packed panels beside the better of oneDNN
 * (its packed weights, and dnnl_sgemm) and, where ISOTOME_ORT names it, ONNX
 * Runtime. One thread each, in turns, compared in value. Not a test.
 *
 *     bench_matmul [--list all|tiny] [--repeats N] [--rows F.tsv]
 *                  [--models DIR]   products-M-N-K-COPIES.onnx of make_onnx
 *     bench_matmul [--list all|tiny] --print-models   M N K COPIES for it
 *
 * Of few rows, memory is the limit: the weights are held so many times that no
 * cache holds them, and every contestant takes the next copy each time. Their
 * bytes a second stand beside what one core can read.
 */
#include "base/mem.h"
#include "bench.h"
#include "bench_direct.h"
#include "bench_dnnl.h"
#include "bench_ort.h"
#include "bench_race.h"
#include "bench_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FEW_ROWS = 4 };

static double run_own(void *arg, int times)
{
    const double begin_s = bench_cpu_s();

    for (int i = 0; i < times; i++) {
        bench_direct_run(arg);
    }
    return bench_cpu_s() - begin_s;
}

static double run_dnnl(void *arg, int times)
{
    const double begin_s = bench_cpu_s();

    for (int i = 0; i < times; i++) {
        bench_dnnl_run(arg);
    }
    return bench_cpu_s() - begin_s;
}

typedef struct ort_job {
    bench_ort_t *ort;
    int copies;    /* products in one run of its model */
    double call_s; /* of a run that computes nothing */
} ort_job_t;

/* One of the model's runs is all copies; without what a call costs. */
static double run_ort(void *arg, int times)
{
    const ort_job_t *job = arg;
    const int runs = (times + job->copies - 1) / job->copies;
    const double whole_s = bench_ort_run(job->ort, runs);
    double seconds = whole_s - runs * job->call_s;

    /* A product so small is not measured by this. */
    seconds = seconds > 0.1 * whole_s ? seconds : 0.1 * whole_s;
    return seconds * times / ((double)runs * job->copies);
}

typedef struct bench {
    iso_cpu_t *cpu;
    const char *models; /* NULL: no ONNX Runtime */
    double call_s;
    double read_bytes_per_s;
    int repeats;
    bool is_tiny; /* only to see that it runs: no bars, no memory */
    bench_rows_t rows;
} bench_t;

static int copies_of(const bench_t *bench, const bench_product_t *product)
{
    const size_t bytes = (size_t)(product->n * product->k) * sizeof(float);

    if (product->m > FEW_ROWS) {
        return 1;
    }
    return bench->is_tiny ? 2
                          : (int)((bench_uncached_bytes() + bytes - 1) / bytes);
}

/* For make_onnx: M N K COPIES of each product, and of one of a call's cost. */
static void print_models(const bench_t *bench, int count,
                         const bench_product_t *products)
{
    (void)printf("1 1 1 1\n");
    for (int i = 0; i < count; i++) {
        (void)printf("%d %d %d %d\n", (int)products[i].m, (int)products[i].n,
                     (int)products[i].k, copies_of(bench, &products[i]));
    }
}

/* NULL: it is not to be had. */
static bench_ort_t *start_ort(const char *models,
                              const bench_product_t *product, int copies)
{
    char path[1024];

    if (models == NULL) {
        return NULL;
    }
    (void)snprintf(path, sizeof path, "%s/products-%d-%d-%d-%d.onnx", models,
                   (int)product->m, (int)product->n, (int)product->k, copies);
    if (access(path, R_OK) != 0) {
        (void)printf("no %s: without ONNX Runtime\n", path);
        return NULL;
    }
    return bench_ort_start(path, 1, 1);
}

/* The contestants of one product. */
typedef struct field {
    bench_direct_t *own;
    bench_dnnl_t *packed;
    bench_dnnl_t *sgemm;
    ort_job_t ort;
    int count;
    bench_runner_t runners[BENCH_RUNNERS_MOST];
} field_t;

static void add_runner(field_t *field, const char *name,
                       double (*run)(void *arg, int times), void *arg)
{
    field->runners[field->count] =
        (bench_runner_t){.name = name, .run = run, .arg = arg};
    field->count++;
}

static void field_begin(const bench_t *bench, const bench_product_t *product,
                        const float *a, const float *b, field_t *field)
{
    const int copies = copies_of(bench, product);

    *field = (field_t){.count = 0};
    field->own = bench_direct_matmul(bench->cpu, product, copies, a, b);
    add_runner(field, "isotome", run_own, field->own);
    field->packed = bench_dnnl_matmul(product, copies, a, b);
    field->sgemm = bench_dnnl_sgemm(product, copies, a, b);
    if (field->packed != NULL) {
        add_runner(field, "oneDNN matmul", run_dnnl, field->packed);
        add_runner(field, "oneDNN sgemm", run_dnnl, field->sgemm);
    }
    field->ort = (ort_job_t){start_ort(bench->models, product, copies), copies,
                             bench->call_s};
    if (field->ort.ort != NULL) {
        add_runner(field, "ONNX Runtime", run_ort, &field->ort);
    }
}

static void field_compare(const field_t *field, const char *name, int64_t count)
{
    float *ours = bench_values(count);
    float *theirs = bench_values(count);

    bench_direct_output(field->own, ours);
    if (field->packed != NULL) {
        bench_dnnl_output(field->packed, theirs);
        bench_compare(name, ours, theirs, count);
        bench_dnnl_output(field->sgemm, theirs);
        bench_compare(name, ours, theirs, count);
    }
    if (field->ort.ort != NULL) {
        float *output = bench_ort_output(field->ort.ort, count);

        bench_compare(name, ours, output, count);
        iso_free(output);
    }
    iso_free(ours);
    iso_free(theirs);
}

static void field_end(field_t *field)
{
    bench_ort_stop(&field->ort.ort);
    bench_dnnl_destroy(&field->sgemm);
    bench_dnnl_destroy(&field->packed);
    bench_direct_destroy(&field->own);
}

static void measure(bench_t *bench, const bench_product_t *product)
{
    const int64_t n_weights = product->n * product->k;
    const double gflop = bench_product_flops(product) * 1e-9;
    float *a = bench_values(product->m * product->k);
    float *b = bench_values(n_weights);
    field_t field;
    char name[64];

    (void)snprintf(name, sizeof name, "matmul %dx%dx%d", (int)product->m,
                   (int)product->n, (int)product->k);
    field_begin(bench, product, a, b, &field);
    bench_race(field.runners, field.count, bench->repeats);
    field_compare(&field, name, product->m * product->n);

    const double own_s = field.runners[0].median_s;
    const bench_runner_t *best =
        bench_race_best_peer(field.runners, field.count);

    bench_rows_add(&bench->rows,
                   &(bench_row_t){
                       .name = name,
                       .unit = "GF/s",
                       .peer_name = best != NULL ? best->name : NULL,
                       .isotome = gflop / own_s,
                       .peer = best != NULL ? gflop / best->median_s : 0,
                   });
    if (product->m <= FEW_ROWS) {
        (void)snprintf(name, sizeof name, "matmul %dx%dx%d weights",
                       (int)product->m, (int)product->n, (int)product->k);
        bench_rows_add(&bench->rows,
                       &(bench_row_t){
                           .name = name,
                           .unit = "GB/s",
                           .peer_name = "reading",
                           .isotome = 4e-9 * (double)n_weights / own_s,
                           .peer = bench->read_bytes_per_s * 1e-9,
                           .bar = bench->is_tiny ? 0 : 0.9,
                           .is_alone = true,
                       });
    }
    field_end(&field);
    iso_free(a);
    iso_free(b);
}

/* Seconds that a call of ONNX Runtime takes by itself. */
static double call_seconds(const char *models)
{
    enum { REPEATS = 9, CALLS = 200 };
    const bench_product_t nothing = {1, 1, 1};
    bench_ort_t *ort = start_ort(models, &nothing, 1);
    double seconds[REPEATS] = {0};

    if (ort == NULL) {
        return 0;
    }
    for (int r = 0; r < REPEATS; r++) {
        seconds[r] = bench_ort_run(ort, CALLS) / CALLS;
    }
    bench_ort_stop(&ort);
    return iso_timing_of(seconds, REPEATS).median_s;
}

int main(int argc, char **argv)
{
    const char *list = "all";
    const char *path = NULL;
    bench_t bench = {.repeats = 9};
    int count = 0;
    bool prints_models = false;
    const bench_option_t options[] = {
        {"--print-models", NULL, NULL, &prints_models},
        {"--list", &list, NULL, NULL},
        {"--rows", &path, NULL, NULL},
        {"--models", &bench.models, NULL, NULL},
        {"--repeats", NULL, &bench.repeats, NULL}};

    bench_parse(argc, argv, sizeof options / sizeof *options, options);

    const bench_product_t *products = bench_product_list(list, &count);

    if (products == NULL || bench.repeats > BENCH_REPEATS_MOST) {
        (void)fprintf(stderr,
                      "bench_matmul: no list '%s', or over %d repeats\n", list,
                      BENCH_REPEATS_MOST);
        return 2;
    }
    bench.is_tiny = strcmp(list, "tiny") == 0;
    if (prints_models) {
        print_models(&bench, count, products);
        return 0;
    }
    bench_print_machine();
    if (bench_dnnl_version() == NULL) {
        (void)printf("built without oneDNN (libdnnl-dev)\n");
    }
    bench.read_bytes_per_s = bench_read_bytes_per_s();
    bench.call_s = call_seconds(bench.models);
    bench_need(iso_cpu_create(1, &bench.cpu));
    bench.rows = bench_rows_open(path);
    for (int i = 0; i < count; i++) {
        measure(&bench, &products[i]);
    }
    bench_rows_add_mean(&bench.rows, "matmul geomean", bench.is_tiny ? 0 : 1.0);
    bench_rows_close(&bench.rows);
    iso_cpu_destroy(&bench.cpu);
    return 0;
}
