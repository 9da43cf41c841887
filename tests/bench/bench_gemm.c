/*
 * Speed of the contractions: matrix products beside bli_sgemm with the same
 * kernel family, and convolutions of known networks. Not a test.
 *
 *     bench_gemm [threads] [repeats] [part of a convolution's name]
 *
 * Candidates run interleaved; medians are printed. With one thread the time
 * is that of the processor, so that other programs disturb it less.
 */
#include "isotome/graph.h"

#include "base/mem.h"
#include "base/text.h"
#include "bench.h"
#include "kernel/cpu.h"

#include <blis.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPEATS_MOST = 101, MAX_OPERANDS = 3 };

static int repeats;

/* Of the processor with one thread, on the wall with more. */
static double (*now_s)(void) = bench_wall_s;

static double median(double *values, int count)
{
    return iso_timing_of(values, count).median_s;
}

/* ---- One node ---- */

typedef struct job {
    iso_graph_t *graph;
    const iso_node_t *node;
    iso_tensor_t operands[MAX_OPERANDS];
    iso_tensor_t output;
} job_t;

typedef struct shape {
    int rank;
    int64_t dims[4];
} shape_t;

static iso_tensor_t tensor_of(const iso_shape_t *shape)
{
    iso_tensor_t tensor;

    bench_need(iso_tensor_view(ISO_DTYPE_F32, shape, NULL, &tensor));
    tensor.data = bench_values(iso_tensor_count(&tensor));
    return tensor;
}

static void job_begin(job_t *job, iso_op_t op, const shape_t *a,
                      const shape_t *b, int n_attrs, const iso_attr_t *attrs)
{
    const iso_shape_t shapes[] = {iso_shape_of(a->rank, a->dims),
                                  iso_shape_of(b->rank, b->dims)};
    iso_node_id_t ids[2];
    iso_node_id_t id;

    bench_need(iso_graph_create(&job->graph));
    for (int i = 0; i < 2; i++) {
        bench_need(iso_graph_add_input(job->graph, i == 0 ? "a" : "b",
                                       ISO_DTYPE_F32, &shapes[i], &ids[i]));
        job->operands[i] = tensor_of(&shapes[i]);
    }

    const iso_node_spec_t spec = {.name = "y",
                                  .op = op,
                                  .n_inputs = 2,
                                  .inputs = ids,
                                  .n_attrs = n_attrs,
                                  .attrs = attrs};

    bench_need(iso_graph_add(job->graph, &spec, &id));
    job->node = iso_graph_node(job->graph, id);
    job->output = tensor_of(&job->node->shape);
}

static void job_end(job_t *job)
{
    iso_free(job->operands[0].data);
    iso_free(job->operands[1].data);
    iso_free(job->output.data);
    iso_graph_destroy(&job->graph);
}

static double job_run(const job_t *job, iso_cpu_t *cpu)
{
    const iso_tensor_t *inputs[] = {&job->operands[0], &job->operands[1]};
    const double start = now_s();

    bench_need(iso_cpu_run(cpu, job->node, inputs, &job->output));
    return now_s() - start;
}

/* ---- Matrix products ---- */

static double blis_run(const job_t *job, bool trans_b)
{
    float one = 1.0F;
    float zero = 0.0F;
    const dim_t m = job->output.dims[0];
    const dim_t n = job->output.dims[1];
    const dim_t k = job->operands[0].dims[1];
    const double start = now_s();

    bli_sgemm(BLIS_NO_TRANSPOSE, trans_b ? BLIS_TRANSPOSE : BLIS_NO_TRANSPOSE,
              m, n, k, &one, job->operands[0].data, k, 1, job->operands[1].data,
              trans_b ? k : n, 1, &zero, job->output.data, n, 1);
    return now_s() - start;
}

static void bench_matrix(iso_cpu_t *cpu, int64_t m, int64_t n, int64_t k,
                         bool trans_b)
{
    static const int64_t yes = 1;
    const iso_attr_t attr = {.name = "trans_b",
                             .kind = ISO_ATTR_INTS,
                             .count = 1,
                             .value.ints = &yes};
    const shape_t a = {2, {m, k}};
    const shape_t b = {2, {trans_b ? n : k, trans_b ? k : n}};
    const double flops = 2.0 * (double)m * (double)n * (double)k;
    double ours[REPEATS_MOST] = {0};
    double theirs[REPEATS_MOST] = {0};
    job_t job;

    job_begin(&job, ISO_OP_GEMM, &a, &b, trans_b ? 1 : 0, &attr);
    (void)job_run(&job, cpu);
    (void)blis_run(&job, trans_b);
    for (int i = 0; i < repeats; i++) {
        ours[i] = job_run(&job, cpu);
        theirs[i] = blis_run(&job, trans_b);
    }

    const double own = median(ours, repeats);
    const double blis = median(theirs, repeats);
    const double weight_bytes = 4.0 * (double)n * (double)k;

    (void)printf("%5lld x %5lld x %5lld%s  %8.3f ms  %7.1f GF/s  BLIS %7.1f "
                 "GF/s  ratio %.2f  weights %.1f GB/s\n",
                 (long long)m, (long long)n, (long long)k,
                 trans_b ? " trans" : "      ", own * 1e3, flops / own * 1e-9,
                 flops / blis * 1e-9, blis / own, weight_bytes / own * 1e-9);
    job_end(&job);
}

/* ---- Convolutions ---- */

typedef struct conv_case {
    const char *what;
    int64_t images;
    int64_t in;
    int64_t size;
    int64_t out;
    int64_t kernel;
    int64_t stride;
    int64_t groups;
} conv_case_t;

static const conv_case_t convs[] = {
    {"ResNet-50 7x7 s2", 1, 3, 224, 64, 7, 2, 1},
    {"ResNet-50 1x1", 1, 64, 56, 64, 1, 1, 1},
    {"ResNet-50 3x3", 1, 64, 56, 64, 3, 1, 1},
    {"ResNet-50 1x1", 1, 64, 56, 256, 1, 1, 1},
    {"ResNet-50 1x1", 1, 256, 56, 64, 1, 1, 1},
    {"ResNet-50 3x3 s2", 1, 128, 56, 128, 3, 2, 1},
    {"ResNet-50 3x3", 1, 128, 28, 128, 3, 1, 1},
    {"ResNet-50 1x1", 1, 512, 28, 128, 1, 1, 1},
    {"ResNet-50 1x1", 1, 128, 28, 512, 1, 1, 1},
    {"ResNet-50 1x1 s2", 1, 512, 28, 1024, 1, 2, 1},
    {"ResNet-50 3x3", 1, 256, 14, 256, 3, 1, 1},
    {"ResNet-50 1x1", 1, 1024, 14, 256, 1, 1, 1},
    {"ResNet-50 1x1", 1, 256, 14, 1024, 1, 1, 1},
    {"ResNet-50 3x3", 1, 512, 7, 512, 3, 1, 1},
    {"ResNet-50 1x1", 1, 2048, 7, 512, 1, 1, 1},
    {"ResNet-50 1x1", 1, 512, 7, 2048, 1, 1, 1},
    {"ResNet-50 3x3", 8, 256, 14, 256, 3, 1, 1},
    {"ResNet-50 3x3", 8, 512, 7, 512, 3, 1, 1},
    {"ResNet-20 3x3", 64, 16, 32, 16, 3, 1, 1},
    {"ResNet-20 3x3", 64, 64, 8, 64, 3, 1, 1},
    {"depthwise 3x3", 1, 128, 56, 128, 3, 1, 128},
    {"depthwise 3x3", 1, 512, 14, 512, 3, 1, 512},
};

static void bench_conv(iso_cpu_t *cpu, const conv_case_t *conv)
{
    const int64_t pad = conv->kernel / 2;
    const int64_t pads[] = {pad, pad, pad, pad};
    const int64_t strides[] = {conv->stride, conv->stride};
    const iso_attr_t attrs[] = {
        {"pads", ISO_ATTR_INTS, 4, {.ints = pads}},
        {"strides", ISO_ATTR_INTS, 2, {.ints = strides}},
        {"groups", ISO_ATTR_INTS, 1, {.ints = &conv->groups}}};
    const shape_t x = {4, {conv->images, conv->in, conv->size, conv->size}};
    const shape_t w = {
        4, {conv->out, conv->in / conv->groups, conv->kernel, conv->kernel}};
    double ours[REPEATS_MOST] = {0};
    job_t job;

    job_begin(&job, ISO_OP_CONV, &x, &w, 3, attrs);

    const double flops = 2.0 * (double)iso_tensor_count(&job.output) *
                         (double)(w.dims[1] * w.dims[2] * w.dims[3]);

    (void)job_run(&job, cpu);
    for (int i = 0; i < repeats; i++) {
        ours[i] = job_run(&job, cpu);
    }

    const double own = median(ours, repeats);

    (void)printf("%-18s n%lld %4lld -> %4lld @ %3lld  %8.3f ms  %7.1f GF/s\n",
                 conv->what, (long long)conv->images, (long long)conv->in,
                 (long long)conv->out, (long long)conv->size, own * 1e3,
                 flops / own * 1e-9);
    job_end(&job);
}

static void bench_matrices(iso_cpu_t *cpu)
{
    bench_matrix(cpu, 1024, 1024, 1024, false);
    bench_matrix(cpu, 1024, 1024, 1024, true);
    bench_matrix(cpu, 512, 512, 512, false);
    bench_matrix(cpu, 50, 64, 64, false);
    bench_matrix(cpu, 16, 4096, 1024, false);
    bench_matrix(cpu, 1, 4096, 25088, true);
    bench_matrix(cpu, 1, 4096, 4096, false);
    bench_matrix(cpu, 4, 4096, 4096, true);
    bench_matrix(cpu, 4, 4096, 4096, false);
}

/* Argument index, in [1, most]. */
static int number(int argc, char **argv, int index, int64_t most, int fallback)
{
    int64_t value = fallback;

    if (argc > index) {
        bench_need(
            iso_text_parse_int(argv[index], "argument", 1, most, &value));
    }
    return (int)value;
}

int main(int argc, char **argv)
{
    const int threads = number(argc, argv, 1, 64, 1);
    iso_cpu_t *cpu = NULL;

    repeats = number(argc, argv, 2, REPEATS_MOST, 15);
    if (threads == 1) {
        now_s = bench_cpu_s;
    }
    bench_need(iso_cpu_create(threads, &cpu));
    bli_thread_set_num_threads(threads);
    bench_print_machine();
    (void)printf("%d threads, %d repeats\n", threads, repeats);
    if (argc <= 3) {
        bench_matrices(cpu);
    }
    for (size_t i = 0; i < sizeof convs / sizeof *convs; i++) {
        if (argc <= 3 || strstr(convs[i].what, argv[3]) != NULL) {
            bench_conv(cpu, &convs[i]);
        }
    }
    iso_cpu_destroy(&cpu);
    return 0;
}
