/*
 * The kernels of a GPU: products of matrices beside cuBLAS (FP32, no TF32),
 * where its library is found at run time, and ResNet-50's convolutions. Each
 * figure is the median of some rounds; a round is a number of runs between
 * two waits.
 *
 *     bench_cuda [rounds]
 */
#include "isotome/error.h"

#include "kernel/cuda.h"
#include "kernel/cuda/context.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS_MOST = 64 };

typedef struct bench {
    iso_cuda_t *cuda;
    int rounds;
    void *scratch;
    size_t scratch_bytes;
} bench_t;

static double now_s(void)
{
    struct timespec time;

    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void must(iso_status_t status)
{
    if (status != ISO_OK) {
        (void)fprintf(stderr, "%s\n", iso_error_text());
        exit(1);
    }
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Does something once, on the stream of the kernels or another. */
typedef void once_fn(void *arg);

/* Median seconds of one, of rounds of `runs`. */
static double median_s(const bench_t *bench, int runs, once_fn *once,
                       once_fn *wait, void *arg)
{
    double seconds[ROUNDS_MOST] = {0};

    once(arg);
    wait(arg);
    for (int round = 0; round < bench->rounds; round++) {
        const double begin = now_s();

        for (int run = 0; run < runs; run++) {
            once(arg);
        }
        wait(arg);
        seconds[round] = (now_s() - begin) / runs;
    }
    qsort(seconds, (size_t)bench->rounds, sizeof seconds[0], compare);
    return seconds[bench->rounds / 2];
}

/* Numbers in [-1, 1) on the GPU. */
static void *some(const bench_t *bench, size_t count)
{
    float *host = malloc(count * sizeof *host);
    uint32_t state = 1;
    void *data = NULL;

    if (host == NULL) {
        exit(1);
    }
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525U + 1013904223U;
        host[i] = (float)(int32_t)state * 0x1p-31F;
    }
    must(iso_cuda_alloc(bench->cuda, count * sizeof *host, &data));
    must(iso_cuda_upload(bench->cuda, data, host, count * sizeof *host));
    must(iso_cuda_wait(bench->cuda));
    free(host);
    return data;
}

/* ---- A node ---- */

typedef struct node_run {
    const bench_t *bench;
    const iso_node_t *node;
    iso_tensor_t operands[2];
    const iso_tensor_t *inputs[2];
    iso_tensor_t output;
} node_run_t;

static void node_once(void *arg)
{
    const node_run_t *run = arg;

    must(iso_cuda_run(run->bench->cuda, run->node, run->inputs, &run->output,
                      run->bench->scratch));
}

static void node_wait(void *arg)
{
    const node_run_t *run = arg;

    must(iso_cuda_wait(run->bench->cuda));
}

/* Median seconds of an op of two operands. */
static double node_s(bench_t *bench, const iso_shape_t *a, const iso_shape_t *b,
                     const iso_node_spec_t *what, int runs)
{
    const iso_shape_t *shapes[2] = {a, b};
    iso_node_id_t ids[2];
    iso_node_id_t id = ISO_NO_NODE;
    iso_node_spec_t spec = *what;
    iso_graph_t *graph = NULL;
    node_run_t run = {.bench = bench};
    double seconds = 0;

    must(iso_graph_create(&graph));
    for (int i = 0; i < 2; i++) {
        must(iso_graph_add_input(graph, i == 0 ? "a" : "b", ISO_DTYPE_F32,
                                 shapes[i], &ids[i]));
        must(iso_tensor_view(ISO_DTYPE_F32, shapes[i], NULL, &run.operands[i]));
        run.operands[i].data =
            some(bench, (size_t)iso_tensor_count(&run.operands[i]));
        run.inputs[i] = &run.operands[i];
    }
    spec.inputs = ids;
    spec.n_inputs = 2;
    must(iso_graph_add(graph, &spec, &id));
    run.node = iso_graph_node(graph, id);
    must(iso_tensor_view(ISO_DTYPE_F32, &run.node->shape, NULL, &run.output));
    run.output.data = some(bench, (size_t)iso_tensor_count(&run.output));
    if (iso_cuda_scratch_bytes(graph, id) > bench->scratch_bytes) {
        iso_cuda_free(bench->cuda, bench->scratch);
        bench->scratch_bytes = iso_cuda_scratch_bytes(graph, id);
        must(
            iso_cuda_alloc(bench->cuda, bench->scratch_bytes, &bench->scratch));
    }
    seconds = median_s(bench, runs, node_once, node_wait, &run);
    for (int i = 0; i < 2; i++) {
        iso_cuda_free(bench->cuda, run.operands[i].data);
    }
    iso_cuda_free(bench->cuda, run.output.data);
    iso_graph_destroy(&graph);
    return seconds;
}

/* ---- cuBLAS, on the stream of the context ---- */

typedef struct blas {
    const bench_t *bench;
    void *handle;
    int (*create)(void **handle);
    int (*set_math)(void *handle, int mode);
    int (*set_stream)(void *handle, iso__cuda_stream_t stream);
    int (*sgemm)(void *handle, int trans_a, int trans_b, int m, int n, int k,
                 const float *alpha, const float *a, int lda, const float *b,
                 int ldb, const float *beta, float *c, int ldc);
    int size;
    float *a;
    float *b;
    float *c;
} blas_t;

/* The address of a function, which dlsym gives as that of an object. */
static bool find(void *library, const char *name, void *function_out)
{
    void *address = dlsym(library, name);

    memcpy(function_out, &address, sizeof address);
    return address != NULL;
}

static bool blas_begin(blas_t *blas)
{
    static const char *const names[] = {"libcublas.so", "libcublas.so.13",
                                        "libcublas.so.12"};
    void *library = NULL;

    for (int i = 0; i < 3 && library == NULL; i++) {
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    }
    return library != NULL && find(library, "cublasCreate_v2", &blas->create) &&
           find(library, "cublasSetMathMode", &blas->set_math) &&
           find(library, "cublasSetStream_v2", &blas->set_stream) &&
           find(library, "cublasSgemm_v2", &blas->sgemm) &&
           blas->create(&blas->handle) == 0 &&
           blas->set_math(blas->handle, 2) == 0 && /* pedantic: no TF32 */
           blas->set_stream(blas->handle, blas->bench->cuda->stream) == 0;
}

static void blas_once(void *arg)
{
    const blas_t *blas = arg;
    const float one = 1;
    const float zero = 0;
    const int n = blas->size;

    (void)blas->sgemm(blas->handle, 0, 0, n, n, n, &one, blas->a, n, blas->b, n,
                      &zero, blas->c, n);
}

static void blas_wait(void *arg)
{
    const blas_t *blas = arg;

    must(iso_cuda_wait(blas->bench->cuda));
}

/* ---- Products of matrices ---- */

static void bench_matmul(bench_t *bench, blas_t *blas, int n)
{
    const iso_shape_t shape = iso_shape_of(2, (const int64_t[]){n, n});
    const iso_node_spec_t spec = {.name = "y", .op = ISO_OP_MATMUL};
    const double flops = 2.0 * n * n * n;
    const double own = node_s(bench, &shape, &shape, &spec, 10);

    (void)printf("matmul %d^3: %.3f ms, %.1f TFLOP/s", n, own * 1e3,
                 flops / own * 1e-12);
    if (blas->handle != NULL) {
        double seconds = 0;
        const size_t count = (size_t)n * (size_t)n;

        blas->size = n;
        blas->a = some(bench, count);
        blas->b = some(bench, count);
        blas->c = some(bench, count);
        seconds = median_s(bench, 10, blas_once, blas_wait, blas);
        (void)printf("; cuBLAS %.3f ms, %.1f TFLOP/s: %.2f of it",
                     seconds * 1e3, flops / seconds * 1e-12, seconds / own);
        iso_cuda_free(bench->cuda, blas->a);
        iso_cuda_free(bench->cuda, blas->b);
        iso_cuda_free(bench->cuda, blas->c);
    }
    (void)printf("\n");
}

/* ---- ResNet-50 ---- */

typedef struct conv_case {
    int times; /* in the network */
    int64_t in_channels;
    int64_t out_channels;
    int64_t size;
    int64_t kernel;
    int64_t stride;
} conv_case_t;

static const conv_case_t convs[] = {
    {1, 3, 64, 224, 7, 2},     {1, 64, 64, 56, 1, 1},
    {3, 64, 64, 56, 3, 1},     {4, 64, 256, 56, 1, 1},
    {2, 256, 64, 56, 1, 1},    {1, 256, 128, 56, 1, 1},
    {1, 128, 128, 56, 3, 2},   {4, 128, 512, 28, 1, 1},
    {1, 256, 512, 56, 1, 2},   {3, 512, 128, 28, 1, 1},
    {3, 128, 128, 28, 3, 1},   {1, 512, 256, 28, 1, 1},
    {1, 256, 256, 28, 3, 2},   {6, 256, 1024, 14, 1, 1},
    {1, 512, 1024, 28, 1, 2},  {5, 1024, 256, 14, 1, 1},
    {5, 256, 256, 14, 3, 1},   {1, 1024, 512, 14, 1, 1},
    {1, 512, 512, 14, 3, 2},   {3, 512, 2048, 7, 1, 1},
    {1, 1024, 2048, 14, 1, 2}, {2, 2048, 512, 7, 1, 1},
    {2, 512, 512, 7, 3, 1},
};

static double bench_conv(bench_t *bench, const conv_case_t *c, int64_t batch)
{
    const int64_t pad = c->kernel / 2;
    const int64_t strides[] = {c->stride, c->stride};
    const int64_t pads[] = {pad, pad, pad, pad};
    const iso_attr_t attrs[] = {
        {.name = "strides", .count = 2, .value.ints = strides},
        {.name = "pads", .count = 4, .value.ints = pads}};
    const iso_node_spec_t spec = {
        .name = "y", .op = ISO_OP_CONV, .n_attrs = 2, .attrs = attrs};
    const iso_shape_t x = iso_shape_of(
        4, (const int64_t[]){batch, c->in_channels, c->size, c->size});
    const iso_shape_t w =
        iso_shape_of(4, (const int64_t[]){c->out_channels, c->in_channels,
                                          c->kernel, c->kernel});
    const int64_t out = (c->size + 2 * pad - c->kernel) / c->stride + 1;
    const double flops = 2.0 * (double)(batch * c->out_channels * out * out) *
                         (double)(c->in_channels * c->kernel * c->kernel);
    const double seconds = node_s(bench, &x, &w, &spec, 10);

    (void)printf("  %lld x %lld at %lld, %lldx%lld / %lld, batch %lld: %.3f "
                 "ms, %.1f TFLOP/s, %d times\n",
                 (long long)c->in_channels, (long long)c->out_channels,
                 (long long)c->size, (long long)c->kernel, (long long)c->kernel,
                 (long long)c->stride, (long long)batch, seconds * 1e3,
                 flops / seconds * 1e-12, c->times);
    return seconds * c->times;
}

static void bench_resnet(bench_t *bench, int64_t batch)
{
    double seconds = 0;

    for (size_t i = 0; i < sizeof convs / sizeof convs[0]; i++) {
        seconds += bench_conv(bench, &convs[i], batch);
    }
    (void)printf("ResNet-50, convolutions, batch %lld: %.2f ms\n",
                 (long long)batch, seconds * 1e3);
}

int main(int argc, char **argv)
{
    bench_t bench = {.rounds = argc > 1 ? atoi(argv[1]) : 9};
    blas_t blas = {.bench = &bench};

    if (bench.rounds < 1 || bench.rounds > ROUNDS_MOST) {
        (void)fprintf(stderr, "usage: bench_cuda [rounds], 1 to %d\n",
                      ROUNDS_MOST);
        return 2;
    }
    if (iso_cuda_create(0, &bench.cuda) != ISO_OK) {
        (void)printf("%s\n", iso_error_text());
        return 77;
    }
    (void)printf("%s, commit %s\n", iso_cuda_text(bench.cuda), BENCH_COMMIT);
    if (!blas_begin(&blas)) {
        blas.handle = NULL;
        (void)printf("cuBLAS is not found\n");
    }
    bench_matmul(&bench, &blas, 4096);
    bench_matmul(&bench, &blas, 1024);
    bench_matmul(&bench, &blas, 8192);
    bench_resnet(&bench, 64);
    bench_resnet(&bench, 1);
    iso_cuda_free(bench.cuda, bench.scratch);
    iso_cuda_destroy(&bench.cuda);
    return 0;
}
